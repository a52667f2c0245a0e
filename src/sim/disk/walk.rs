//! From a path to a directory and a name in it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;

use super::{Caller, Disk, Name, Node, Number, Result, ROOT};
use crate::sim::call::Place;

/// Where a path ends.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// The last component is a name in a directory, taken or not.
    Name { dir: Number, name: Name, found: Option<Number> },
    /// The path ends in `.` or `..`, or is `/`.
    Directory(Number),
}

const NAME_MAX: usize = 255;
const PATH_MAX: usize = 4096;
const LINKS_MAX: usize = 40;

impl Disk {
    /// Follow a path up to its last component. Symbolic links on the way are followed, the last one is not.
    pub(super) fn walk(&self, caller: Caller, place: &Place) -> Result<End> {
        let start = match place.dir {
            Some(dir) if place.path.as_bytes().first() != Some(&b'/') => self.handle(caller, dir)?.number,
            _ => ROOT,
        };
        self.walk_from(start, &place.path, &mut 0)
    }

    /// The same, but a symbolic link in the last component is followed too.
    pub(super) fn walk_through(&self, caller: Caller, place: &Place) -> Result<End> {
        let end = self.walk(caller, place)?;
        self.through(end, &mut 0)
    }

    /// The inode at the end of a path.
    pub(super) fn found(&self, end: &End) -> Result<Number> {
        match end {
            End::Directory(number) | End::Name { found: Some(number), .. } => Ok(*number),
            End::Name { dir, name, found: None } => Err(self.missing(*dir, name)),
        }
    }

    /// Why a name is not there. The file system, and not the walk, is who finds it too long; in a directory that is
    /// removed it is not even asked.
    pub(super) fn missing(&self, dir: Number, name: &OsStr) -> Errno {
        if name.len() > NAME_MAX && !self.is_removed(dir) {
            Errno::ENAMETOOLONG
        } else {
            Errno::ENOENT
        }
    }

    fn walk_from(&self, start: Number, path: &OsStr, links: &mut usize) -> Result<End> {
        let bytes = path.as_bytes();
        if bytes.is_empty() {
            return Err(Errno::ENOENT);
        }
        if bytes.len() >= PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let mut components = bytes.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).peekable();
        let mut dir = if bytes[0] == b'/' { ROOT } else { start };
        while let Some(component) = components.next() {
            let step = self.step(dir, OsStr::from_bytes(component))?;
            if components.peek().is_none() {
                return Ok(step);
            }
            dir = self.found(&self.through(step, links)?)?;
        }
        Ok(End::Directory(dir))
    }

    /// Follow symbolic links until there is none.
    fn through(&self, mut end: End, links: &mut usize) -> Result<End> {
        while let End::Name { dir, found: Some(found), .. } = end {
            let Node::Symlink(target) = &self.get(found).node else { break };
            *links += 1;
            if *links > LINKS_MAX {
                return Err(Errno::ELOOP);
            }
            end = self.walk_from(dir, target, links)?;
        }
        Ok(end)
    }

    fn step(&self, dir: Number, component: &OsStr) -> Result<End> {
        let Node::Directory { names, parent, .. } = &self.get(dir).node else { return Err(Errno::ENOTDIR) };
        match component.as_bytes() {
            b"." => return Ok(End::Directory(dir)),
            b".." => return Ok(End::Directory(*parent)),
            _ => {}
        }
        let at = names.binary_search_by(|(name, _)| (**name).cmp(component));
        let found = at.ok().map(|at| names[at].1);
        Ok(End::Name { dir, name: component.into(), found })
    }

    /// Whether `dir` is `below` or above it.
    pub(super) fn is_above(&self, dir: Number, mut below: Number) -> bool {
        loop {
            if dir == below {
                return true;
            }
            match &self.get(below).node {
                Node::Directory { parent, .. } if *parent != below => below = *parent,
                _ => return false,
            }
        }
    }
}
