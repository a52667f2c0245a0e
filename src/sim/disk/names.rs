//! Calls that look at names or change them.

use std::ffi::OsStr;
use std::rc::Rc;

use nix::errno::Errno;

use super::durable::Change;
use super::walk::End;
use super::{Caller, Disk, Name, Names, Node, Number, Result, ROOT};
use crate::files::{Identity, Kind, Stat};
use crate::sim::call::Place;

impl Disk {
    pub(super) fn stat(&self, caller: Caller, place: &Place, follow: bool) -> Result<Stat> {
        let end = if follow { self.walk_through(caller, place)? } else { self.walk(caller, place)? };
        Ok(self.stat_of(self.found(&end)?))
    }

    pub(super) fn stat_of(&self, number: Number) -> Stat {
        let inode = self.get(number);
        Stat {
            kind: inode.node.kind(),
            identity: Identity { device: 1, inode: number.into() },
            links: inode.links.into(),
            size: match &inode.node {
                Node::File(bytes) => bytes.len() as u64,
                Node::Symlink(target) => target.len() as u64,
                Node::Directory { .. } | Node::Fifo => 0,
            },
            mode: inode.mode,
            uid: inode.uid,
            gid: inode.gid,
            modified_ms: inode.modified_ms,
            changed_ms: inode.changed_ms,
        }
    }

    pub(super) fn make_dir(&mut self, caller: Caller, place: &Place, mode: u32) -> Result<()> {
        let (dir, name) = self.new_name(self.walk(caller, place)?)?;
        let node = Node::Directory { names: Names::new(), parent: dir, removed: false };
        let number = self.add(caller, node, self.masked(mode));
        self.bind(dir, name, number);
        Ok(())
    }

    /// Make a symbolic link or a FIFO; only for setting a scene.
    pub fn make_special(&mut self, caller: Caller, place: &Place, target: Option<&OsStr>) -> Result<()> {
        if target.is_some_and(OsStr::is_empty) {
            return Err(Errno::ENOENT);
        }
        let (dir, name) = self.new_name(self.walk(caller, place)?)?;
        let node = target.map_or(Node::Fifo, |target| Node::Symlink(target.into()));
        let number = self.add(caller, node, if target.is_some() { 0o777 } else { 0o600 });
        self.bind(dir, name, number);
        Ok(())
    }

    pub(super) fn link(&mut self, caller: Caller, place: &Place, new: &Place) -> Result<()> {
        let source = self.found(&self.walk(caller, place)?)?;
        let (dir, name) = self.new_name(self.walk(caller, new)?)?;
        if self.get(source).node.kind() == Kind::Directory {
            return Err(Errno::EPERM);
        }
        let now = self.now_ms;
        let inode = self.get_mut(source);
        inode.links += 1;
        inode.changed_ms = now;
        self.bind(dir, name, source);
        Ok(())
    }

    pub(super) fn rename(&mut self, caller: Caller, place: &Place, new: &Place, replace: bool) -> Result<()> {
        let (from, to) = (self.walk(caller, place)?, self.walk(caller, new)?);
        // `.` and `..` have no name that could be changed.
        let End::Name { dir, name, found } = from else { return Err(Errno::EBUSY) };
        let End::Name { dir: to_dir, name: to_name, found: target } = to else { return Err(busy(replace)) };
        let source = found.ok_or_else(|| self.missing(dir, &name))?;
        match target {
            // In a directory that is removed nothing is looked up.
            None if self.is_removed(to_dir) => return Err(Errno::ENOENT),
            None if self.missing(to_dir, &to_name) != Errno::ENOENT => return Err(Errno::ENAMETOOLONG),
            Some(_) if !replace => return Err(Errno::EEXIST),
            _ => {}
        }
        let is_dir = self.get(source).node.kind() == Kind::Directory;
        if is_dir && self.is_above(source, to_dir) {
            return Err(Errno::EINVAL);
        }
        match target {
            Some(target) if self.is_above(target, dir) => return Err(Errno::ENOTEMPTY),
            Some(target) if target == source => return Ok(()),
            Some(target) => self.replace(target, is_dir)?,
            None => {}
        }
        if let Node::Directory { parent, .. } = &mut self.get_mut(source).node {
            *parent = to_dir;
        }
        let now = self.now_ms;
        self.get_mut(source).changed_ms = now;
        self.note(Change::Move { dir, name: name.clone(), to_dir, to_name: to_name.clone(), number: source });
        self.set_name(dir, &name, None);
        self.set_name(to_dir, &to_name, Some(source));
        if let Some(target) = target {
            self.free_if_unused(target);
        }
        Ok(())
    }

    /// Take one link from what a rename is about to replace, if a thing of this kind may replace it.
    fn replace(&mut self, target: Number, by_dir: bool) -> Result<()> {
        match (&self.get(target).node, by_dir) {
            (Node::Directory { .. }, false) => return Err(Errno::EISDIR),
            (Node::Directory { names, .. }, true) if !names.is_empty() => return Err(Errno::ENOTEMPTY),
            (Node::Directory { .. }, true) | (_, false) => {}
            (_, true) => return Err(Errno::ENOTDIR),
        }
        self.drop_link(target);
        Ok(())
    }

    pub(super) fn unlink(&mut self, caller: Caller, place: &Place) -> Result<()> {
        let End::Name { dir, name, found } = self.walk(caller, place)? else { return Err(Errno::EISDIR) };
        let number = found.ok_or_else(|| self.missing(dir, &name))?;
        if self.get(number).node.kind() == Kind::Directory {
            return Err(Errno::EISDIR);
        }
        self.unbind(dir, name, number);
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, caller: Caller, place: &Place) -> Result<()> {
        let (dir, name, found) = match self.walk(caller, place)? {
            End::Name { dir, name, found: None } => return Err(self.missing(dir, &name)),
            End::Name { dir, name, found: Some(found) } => (dir, name, found),
            End::Directory(ROOT) => return Err(Errno::EBUSY),
            End::Directory(_) if place.path.as_encoded_bytes().ends_with(b"..") => {
                return Err(Errno::ENOTEMPTY)
            }
            End::Directory(_) => return Err(Errno::EINVAL),
        };
        match &self.get(found).node {
            Node::Directory { names, .. } if names.is_empty() => {}
            Node::Directory { .. } => return Err(Errno::ENOTEMPTY),
            _ => return Err(Errno::ENOTDIR),
        }
        self.unbind(dir, name, found);
        Ok(())
    }

    pub(super) fn list(&self, caller: Caller, handle: crate::files::Handle) -> Result<Rc<[Name]>> {
        match &self.get(self.handle(caller, handle)?.number).node {
            Node::Directory { names, .. } => Ok(names.iter().map(|(name, _)| name.clone()).collect()),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// The name that a call is about to make.
    pub(super) fn new_name(&self, end: End) -> Result<(Number, Name)> {
        match end {
            End::Directory(_) | End::Name { found: Some(_), .. } => Err(Errno::EEXIST),
            End::Name { dir, name, found: None } => match self.missing(dir, &name) {
                Errno::ENOENT if !self.is_removed(dir) => Ok((dir, name)),
                errno => Err(errno),
            },
        }
    }

    pub(super) fn bind(&mut self, dir: Number, name: Name, number: Number) {
        self.note(Change::Bind { dir, name: name.clone(), number });
        self.set_name(dir, &name, Some(number));
    }

    fn unbind(&mut self, dir: Number, name: Name, number: Number) {
        self.note(Change::Unbind { dir, name: name.clone() });
        self.set_name(dir, &name, None);
        self.drop_link(number);
        self.free_if_unused(number);
    }

    fn drop_link(&mut self, number: Number) {
        let now = self.now_ms;
        let inode = self.get_mut(number);
        inode.links -= 1;
        inode.changed_ms = now;
        if let Node::Directory { removed, .. } = &mut inode.node {
            *removed = true;
        }
    }

    fn set_name(&mut self, dir: Number, name: &Name, number: Option<Number>) {
        let now = self.now_ms;
        let inode = self.get_mut(dir);
        inode.modified_ms = now;
        inode.changed_ms = now;
        let Node::Directory { names, .. } = &mut inode.node else { unreachable!("names are in directories") };
        set_name(names, name, number);
    }

    pub(super) fn is_removed(&self, dir: Number) -> bool {
        matches!(self.get(dir).node, Node::Directory { removed: true, .. })
    }
}

/// Give a name to an inode, or take it away.
pub(super) fn set_name(names: &mut Names, name: &Name, number: Option<Number>) {
    match (names.binary_search_by(|(other, _)| other.cmp(name)), number) {
        (Ok(at), Some(number)) => names[at].1 = number,
        (Ok(at), None) => drop(names.remove(at)),
        (Err(at), Some(number)) => names.insert(at, (name.clone(), number)),
        (Err(_), None) => {}
    }
}

/// What a rename onto `.` or `..` is answered.
fn busy(replace: bool) -> Errno {
    if replace {
        Errno::EBUSY
    } else {
        Errno::EEXIST
    }
}
