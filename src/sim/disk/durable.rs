//! What would survive a power cut.
//!
//! A synced directory keeps its names, a synced file its content. Of what changed since, each change of a name
//! survives or not, independently of the others (a rename as one: the old name goes when the new one comes, also
//! between two directories), and each content is the old one, the new one, empty, the first half of the new one or as
//! many NULs.

use std::collections::BTreeSet;
use std::rc::Rc;

use nix::errno::Errno;

use super::{fingerprint_of, Caller, Disk, Inode, Kept, Name, Names, Node, Number, Result, ROOT};
use crate::files::Handle;

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Durable {
    /// The names that are safe, by directory.
    names: Vec<(Number, Rc<Names>)>,
    /// The contents that are safe; a file without one was never synced.
    contents: Vec<(Number, Rc<[u8]>)>,
    /// What was done to names since, in order.
    changes: Vec<Change>,
}

/// One change of names that is not synced yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Change {
    Bind { dir: Number, name: Name, number: Number },
    Unbind { dir: Number, name: Name },
    Move { dir: Number, name: Name, to_dir: Number, to_name: Name, number: Number },
}

impl Change {
    fn touches(&self) -> [(Number, &Name); 2] {
        match self {
            Change::Bind { dir, name, .. } | Change::Unbind { dir, name } => [(*dir, name), (*dir, name)],
            Change::Move { dir, name, to_dir, to_name, .. } => [(*dir, name), (*to_dir, to_name)],
        }
    }

    fn depends_on(&self, earlier: &Change) -> bool {
        self.touches().iter().any(|touched| earlier.touches().contains(touched))
    }

    fn number(&self) -> Option<Number> {
        match self {
            Change::Bind { number, .. } | Change::Move { number, .. } => Some(*number),
            Change::Unbind { .. } => None,
        }
    }
}

impl Durable {
    pub(super) fn refers_to(&self, number: Number) -> bool {
        self.changes.iter().any(|change| change.number() == Some(number))
            || self.names.iter().any(|(_, names)| names.iter().any(|(_, other)| *other == number))
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Bind { dir, name, number } => self.set(*dir, name, Some(*number)),
            Change::Unbind { dir, name } => self.set(*dir, name, None),
            Change::Move { dir, name, to_dir, to_name, number } => {
                self.set(*dir, name, None);
                self.set(*to_dir, to_name, Some(*number));
            }
        }
    }

    fn set(&mut self, dir: Number, name: &Name, number: Option<Number>) {
        let at = self.names.binary_search_by_key(&dir, |(dir, _)| *dir).unwrap_or_else(|at| {
            self.names.insert(at, (dir, Rc::default()));
            at
        });
        super::names::set_name(Rc::make_mut(&mut self.names[at].1), name, number);
    }

    fn names_of(&self, dir: Number) -> Rc<Names> {
        let at = self.names.binary_search_by_key(&dir, |(dir, _)| *dir);
        at.map(|at| self.names[at].1.clone()).unwrap_or_default()
    }

    fn content_of(&self, file: Number) -> Rc<[u8]> {
        let at = self.contents.binary_search_by_key(&file, |(file, _)| *file);
        at.map_or_else(|_| [].into(), |at| self.contents[at].1.clone())
    }

    fn sync_names(&mut self, dir: Number) {
        let mut goes: Vec<bool> = self
            .changes
            .iter()
            .map(|change| change.touches().iter().any(|(touched, _)| *touched == dir))
            .collect();
        // What an earlier change did to a name that a synced change has as well is synced with it.
        for later in (0..goes.len()).rev() {
            for earlier in 0..later {
                goes[earlier] |= goes[later] && self.changes[later].depends_on(&self.changes[earlier]);
            }
        }
        let changes = std::mem::take(&mut self.changes);
        for (change, goes) in changes.into_iter().zip(goes) {
            if goes {
                self.apply(&change);
            } else {
                self.changes.push(change);
            }
        }
    }

    fn sync_content(&mut self, file: Number, bytes: &Rc<[u8]>) {
        match self.contents.binary_search_by_key(&file, |(file, _)| *file) {
            Ok(at) => self.contents[at].1 = bytes.clone(),
            Err(at) => self.contents.insert(at, (file, bytes.clone())),
        }
    }

    fn forget(&mut self, number: Number) {
        self.names.retain(|(dir, _)| *dir != number);
        self.contents.retain(|(file, _)| *file != number);
    }
}

/// A file, and all that can be in it.
type Unsure = (Number, Vec<Rc<[u8]>>);

/// Every way to choose, as many times as it comes first: all alike and one at a time before all the others, so that a
/// bounded enumeration has these.
fn choices(unsure: &[Unsure]) -> impl Iterator<Item = Vec<usize>> {
    let counts: Vec<_> = unsure.iter().map(|(_, contents)| contents.len()).collect();
    let most = counts.iter().copied().max().unwrap_or(1);
    let of = counts.clone();
    let alike = (0..most).map(move |choice| of.iter().map(|count| choice.min(count - 1)).collect());
    let files = counts.len();
    let single = counts.clone().into_iter().enumerate().flat_map(move |(at, count)| {
        (0..count).map(move |choice| (0..files).map(|file| if file == at { choice } else { 0 }).collect())
    });
    let all = (0..counts.iter().product::<usize>()).map(move |mut number| {
        let digit = |count: &usize| {
            let digit = number % count;
            number /= count;
            digit
        };
        counts.iter().map(digit).collect()
    });
    alike.chain(single).chain(all)
}

impl Disk {
    /// From now on keep account of what would survive; all that is there now does.
    pub fn track_durability(&mut self) {
        let mut durable = Durable::default();
        for (number, kept) in &self.inodes {
            match &kept.inode.node {
                Node::File(bytes) => durable.contents.push((*number, bytes.clone())),
                Node::Directory { names, .. } => durable.names.push((*number, Rc::new(names.clone()))),
                Node::Symlink(_) | Node::Fifo => {}
            }
        }
        self.durable = Some(durable);
    }

    pub(super) fn note(&mut self, change: Change) {
        if let Some(durable) = &mut self.durable {
            durable.changes.push(change);
        }
    }

    pub(super) fn sync(&mut self, caller: Caller, handle: Handle) -> Result<()> {
        let number = self.handle(caller, handle)?.number;
        let content = match &self.get(number).node {
            Node::Directory { .. } => None,
            Node::File(bytes) => Some(bytes.clone()),
            Node::Symlink(_) | Node::Fifo => return Err(Errno::EINVAL),
        };
        if content.is_some() && !self.get(number).sealed {
            self.get_mut(number).sealed = true;
        }
        let Some(durable) = &mut self.durable else { return Ok(()) };
        match content {
            None => durable.sync_names(number),
            Some(bytes) => durable.sync_content(number, &bytes),
        }
        let unlinked: Vec<_> =
            self.inodes.iter().filter(|(_, kept)| kept.inode.links == 0).map(|(number, _)| *number).collect();
        for number in unlinked {
            self.free_if_unused(number);
        }
        Ok(())
    }

    pub(super) fn forget_durable(&mut self, number: Number) {
        if let Some(durable) = &mut self.durable {
            durable.forget(number);
        }
    }

    /// All that [`Disk::after_power_cut`] depends on.
    pub fn durable_fingerprint(&self) -> u128 {
        let unsynced = |(number, kept): &(Number, Rc<Kept>)| match (&kept.inode.node, &self.durable) {
            (Node::File(bytes), Some(durable)) if durable.content_of(*number) != *bytes => {
                Some((*number, bytes.clone()))
            }
            _ => None,
        };
        let contents: Vec<_> = self.inodes.iter().filter_map(unsynced).collect();
        fingerprint_of(&(&self.durable, contents))
    }

    /// The disks that a power cut can leave, each once, and whether these are all: at most `limit` of them are made.
    pub fn after_power_cut(&self, limit: usize) -> (Vec<Disk>, bool) {
        let Some(durable) = &self.durable else { return (vec![self.clone()], true) };
        let (mut disks, mut seen, mut all) = (Vec::new(), BTreeSet::new(), true);
        let changes = durable.changes.len();
        all &= changes < usize::BITS as usize && 1 << changes <= limit;
        for subset in 0..(1_usize << changes.min(20)).min(limit) {
            let mut safe = Durable { changes: Vec::new(), ..durable.clone() };
            // Counted down, so that a bounded enumeration begins with what was done in full.
            let survives = |at: usize| at >= 20 || subset >> at & 1 == 0;
            durable
                .changes
                .iter()
                .enumerate()
                .filter(|(at, _)| survives(*at))
                .for_each(|(_, change)| safe.apply(change));
            let base = self.only_named(&safe);
            let unsure = self.unsure(&safe, &base);
            for choice in choices(&unsure) {
                if disks.len() >= limit {
                    return (disks, false);
                }
                let disk = base.with_contents(&unsure, &choice);
                if seen.insert(fingerprint_of(&disk)) {
                    disks.push(disk);
                }
            }
        }
        (disks, all)
    }

    /// The files of which it is open what is in them, each with all that can be.
    fn unsure(&self, safe: &Durable, base: &Disk) -> Vec<Unsure> {
        let contents = base.inodes.iter().map(|(number, _)| (*number, self.contents_of(safe, *number)));
        contents.filter(|(_, contents)| contents.len() > 1).collect()
    }

    /// This disk with one of the contents for each of these files.
    fn with_contents(&self, unsure: &[Unsure], choice: &[usize]) -> Disk {
        let mut disk = self.clone();
        for ((number, contents), choice) in unsure.iter().zip(choice) {
            disk.get_mut(*number).node = Node::File(contents[*choice].clone());
        }
        disk.track_durability();
        disk
    }

    fn contents_of(&self, safe: &Durable, number: Number) -> Vec<Rc<[u8]>> {
        let Node::File(live) = &self.get(number).node else { return Vec::new() };
        let old = safe.content_of(number);
        if old == *live {
            return vec![old];
        }
        let mut contents = vec![old, live.clone()];
        for other in [[].into(), live[..live.len() / 2].into(), vec![0; live.len()].into()] {
            if !contents.contains(&other) {
                contents.push(other);
            }
        }
        contents
    }

    /// What can be reached by safe names, with the old contents.
    fn only_named(&self, safe: &Durable) -> Disk {
        let mut disk = Disk {
            inodes: Vec::new(),
            open: Vec::new(),
            durable: None,
            numbering: self.numbering,
            now_ms: self.now_ms,
            seals: self.seals,
            room: self.room,
        };
        disk.keep(self, safe, ROOT, ROOT);
        disk
    }

    fn keep(&mut self, from: &Disk, safe: &Durable, number: Number, above: Number) {
        let at = match self.inodes.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(at) => return Rc::make_mut(&mut self.inodes[at].1).change().links += 1,
            Err(at) => at,
        };
        let mut inode = Inode { links: 1, ..from.get(number).clone() };
        let mut below = Rc::default();
        match &mut inode.node {
            Node::File(bytes) => *bytes = safe.content_of(number),
            Node::Directory { names, parent, removed } => {
                below = safe.names_of(number);
                (*names, *parent, *removed) = (Names::clone(&below), above, false);
            }
            Node::Symlink(_) | Node::Fifo => {}
        }
        self.inodes.insert(at, (number, Rc::new(Kept::new(inode))));
        for (_, child) in below.iter() {
            self.keep(from, safe, *child, number);
        }
    }
}
