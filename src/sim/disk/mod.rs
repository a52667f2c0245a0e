//! A POSIX file system as a value.
//!
//! Calls have the results of Linux on a plain file system (`tests/posix_behaviour.rs` compares them with the real one,
//! call by call), except that a directory always counts one link, as btrfs and overlayfs have it, and that nothing
//! is refused for want of permission.
//!
//! Freed inode numbers are used again, the lowest first. A number is free once no name and no open handle has it,
//! and, where the disk keeps account of what would survive a power cut, nothing of that refers to it any more.

mod content;
mod durable;
mod handles;
mod names;
mod walk;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use nix::errno::Errno;

use super::call::{Answer, Call, Name, Place};
use crate::files::{Handle, Kind};
use durable::Durable;
use handles::Open;

/// Who makes a call. Handles are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Caller(pub u8);

/// Where new inode numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Numbering {
    /// One pool, the lowest free number first: a caller may get the number that another's file had.
    Shared,
    /// A pool for each caller: two orders of independent creations end in one state.
    PerCaller,
}

type Number = u32;
type Result<T> = std::result::Result<T, Errno>;

const ROOT: Number = 2;

#[derive(Debug, Clone)]
pub struct Disk {
    /// Sorted by number.
    inodes: Vec<(Number, Rc<Kept>)>,
    /// Sorted by caller and handle.
    open: Vec<(Caller, Handle, Open)>,
    durable: Option<Durable>,
    numbering: Numbering,
    /// The file system's clock, for the times of files.
    pub now_ms: i64,
    /// Whether programs are held to never write what they have synced.
    pub seals: bool,
    /// How many bytes may still be written; `None`: no limit.
    pub room: Option<u64>,
}

/// An inode and its fingerprint, computed once.
#[derive(Debug, Clone)]
struct Kept {
    inode: Inode,
    print: OnceCell<u128>,
}

impl Kept {
    fn new(inode: Inode) -> Self {
        Kept { inode, print: OnceCell::new() }
    }

    fn change(&mut self) -> &mut Inode {
        self.print.take();
        &mut self.inode
    }
}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.get_or_init(|| fingerprint_of(&self.inode)).hash(state);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Inode {
    node: Node,
    links: u32,
    mode: u32,
    uid: u32,
    gid: u32,
    modified_ms: i64,
    changed_ms: i64,
    /// A file whose content was synced; on a disk that seals it is never written again.
    sealed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Node {
    File(Rc<[u8]>),
    /// Names sorted; a removed directory lives on while it is open.
    Directory {
        names: Names,
        parent: Number,
        removed: bool,
    },
    Symlink(Name),
    Fifo,
}

/// The names of a directory, sorted.
type Names = Vec<(Name, Number)>;

impl Node {
    fn kind(&self) -> Kind {
        match self {
            Node::File(_) => Kind::File,
            Node::Directory { .. } => Kind::Directory,
            Node::Symlink(_) => Kind::Symlink,
            Node::Fifo => Kind::Other,
        }
    }
}

impl Disk {
    /// An empty file system that forgets what would survive a power cut.
    pub fn new(numbering: Numbering) -> Self {
        let root = Node::Directory { names: Names::new(), parent: ROOT, removed: false };
        let mut disk = Disk {
            inodes: Vec::new(),
            open: Vec::new(),
            durable: None,
            numbering,
            now_ms: 0,
            seals: false,
            room: None,
        };
        let root = disk.inode(root, 0o755);
        disk.inodes.push((ROOT, Rc::new(Kept::new(root))));
        disk
    }

    /// Do one call. Calls that are not about files are not for a disk.
    pub fn call(&mut self, caller: Caller, call: &Call) -> Answer {
        let done = |result: Result<()>| result.map(|()| Answer::Done);
        let result = match call {
            Call::OpenDir(place) => self.open_dir(caller, place).map(Answer::Handle),
            Call::Open(place, access) => self.open_file(caller, place, *access).map(Answer::Handle),
            Call::MakeDir(place, mode) => done(self.make_dir(caller, place, *mode)),
            Call::Stat(place) => self.stat(caller, place, false).map(Answer::Stat),
            Call::StatFollowed(place) => self.stat(caller, place, true).map(Answer::Stat),
            Call::StatHandle(handle) => {
                self.handle(caller, *handle).map(|open| Answer::Stat(self.stat_of(open.number)))
            }
            Call::ReadAt(handle, offset, count) => {
                self.read_at(caller, *handle, *offset, *count).map(Answer::Bytes)
            }
            Call::WriteAt(handle, offset, bytes) => {
                self.write_at(caller, *handle, *offset, bytes).map(Answer::Count)
            }
            Call::SetSize(handle, size) => done(self.set_size(caller, *handle, *size)),
            Call::SetMode(handle, mode) => done(self.set_mode(caller, *handle, *mode)),
            Call::SetOwner(handle, uid, gid) => done(self.set_owner(caller, *handle, *uid, *gid)),
            Call::Sync(handle) => done(self.sync(caller, *handle)),
            Call::Link(place, new) => done(self.link(caller, place, new)),
            Call::Rename(place, new) => done(self.rename(caller, place, new, true)),
            Call::RenameNew(place, new) => done(self.rename(caller, place, new, false)),
            Call::Unlink(place) => done(self.unlink(caller, place)),
            Call::RemoveDir(place) => done(self.remove_dir(caller, place)),
            Call::List(handle) => self.list(caller, *handle).map(Answer::Names),
            Call::TryLock(handle) => self.try_lock(caller, *handle).map(Answer::Flag),
            Call::Close(handle) => done(self.close(caller, *handle)),
            Call::Now
            | Call::Pause(_)
            | Call::Presence(_)
            | Call::StartToken(_)
            | Call::StartedAt(_)
            | Call::Witness(_)
            | Call::Mark(_) => Err(Errno::ENOSYS),
        };
        result.unwrap_or_else(Answer::from)
    }

    pub fn is_durability_tracked(&self) -> bool {
        self.durable.is_some()
    }

    pub(super) fn is_directory(&self, caller: Caller, handle: Handle) -> bool {
        self.handle(caller, handle).is_ok_and(|open| self.get(open.number).node.kind() == Kind::Directory)
    }

    /// Whether the content behind a handle will never change again.
    pub(super) fn is_sealed(&self, caller: Caller, handle: Handle) -> bool {
        self.seals && self.handle(caller, handle).is_ok_and(|open| self.get(open.number).sealed)
    }

    /// The process ends: its handles close, and their locks go.
    pub fn end(&mut self, caller: Caller) {
        // It may have one file open twice.
        let numbers: BTreeSet<_> =
            self.open.iter().filter(|(who, ..)| *who == caller).map(|(.., open)| open.number).collect();
        self.open.retain(|(who, ..)| *who != caller);
        for number in numbers {
            self.free_if_unused(number);
        }
    }

    /// How many files and directories a process has open.
    pub fn open_count(&self, caller: Caller) -> usize {
        self.open.iter().filter(|(who, ..)| *who == caller).count()
    }

    /// Two states with one fingerprint are the same, to all that follows.
    pub fn fingerprint(&self, into: &mut impl Hasher) {
        (&self.inodes, &self.open, &self.durable, self.now_ms, self.room).hash(into);
    }

    /// The content of a plain file, for those who check.
    pub fn content(&self, caller: Caller, place: &Place) -> Option<Rc<[u8]>> {
        match &self.get(self.found(&self.walk(caller, place).ok()?).ok()?).node {
            Node::File(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }

    /// The names in the directory at an absolute path, for those who check.
    pub fn names(&self, place: &Place) -> Option<Vec<Name>> {
        match &self.get(self.found(&self.walk(Caller(0), place).ok()?).ok()?).node {
            Node::Directory { names, .. } => Some(names.iter().map(|(name, _)| name.clone()).collect()),
            _ => None,
        }
    }

    /// From now on new numbers come from here.
    pub fn number_by(&mut self, numbering: Numbering) {
        self.numbering = numbering;
    }

    /// All plain files and directories as text, for traces: path, inode number, start of the content.
    pub fn listing(&self) -> String {
        let mut text = String::new();
        self.list_into(ROOT, "", &mut text);
        text
    }

    fn list_into(&self, dir: Number, path: &str, text: &mut String) {
        use std::fmt::Write as _;
        let Node::Directory { names, .. } = &self.get(dir).node else { return };
        for (name, number) in names {
            let path = format!("{path}/{}", name.to_string_lossy());
            let _ = match &self.get(*number).node {
                Node::File(bytes) => writeln!(text, "{path} #{number} {:?}", Answer::Bytes(bytes.clone())),
                other => writeln!(text, "{path} #{number} {:?}", other.kind()),
            };
            self.list_into(*number, &path, text);
        }
    }

    fn get(&self, number: Number) -> &Inode {
        let at = self.inodes.binary_search_by_key(&number, |(number, _)| *number);
        &self.inodes[at.expect("names and handles refer to inodes that exist")].1.inode
    }

    fn get_mut(&mut self, number: Number) -> &mut Inode {
        let at = self.inodes.binary_search_by_key(&number, |(number, _)| *number);
        Rc::make_mut(&mut self.inodes[at.expect("names and handles refer to inodes that exist")].1).change()
    }

    fn inode(&self, node: Node, mode: u32) -> Inode {
        let now = self.now_ms;
        Inode { node, links: 1, mode, uid: 0, gid: 0, modified_ms: now, changed_ms: now, sealed: false }
    }

    /// Put a new inode under the lowest free number of the caller's pool.
    fn add(&mut self, caller: Caller, node: Node, mode: u32) -> Number {
        let first = match self.numbering {
            Numbering::Shared => ROOT,
            Numbering::PerCaller => 1000 * (Number::from(caller.0) + 1),
        };
        let mut at = self.inodes.partition_point(|(number, _)| *number < first);
        let mut number = first;
        while self.inodes.get(at).is_some_and(|(taken, _)| *taken == number) {
            at += 1;
            number += 1;
        }
        let inode = Rc::new(Kept::new(self.inode(node, mode)));
        self.inodes.insert(at, (number, inode));
        number
    }

    fn free_if_unused(&mut self, number: Number) {
        let used = self.get(number).links > 0
            || self.open.iter().any(|(.., open)| open.number == number)
            || self.durable.as_ref().is_some_and(|durable| durable.refers_to(number));
        if !used {
            self.inodes.retain(|(other, _)| *other != number);
            self.forget_durable(number);
        }
    }
}

impl Hash for Disk {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint(state);
    }
}

/// A 128-bit fingerprint from two independent 64-bit ones.
pub(in crate::sim) fn fingerprint_of(value: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        value.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}
