//! Open files and directories.

use nix::errno::Errno;

use super::walk::End;
use super::{Caller, Disk, Node, Number, Result};
use crate::files::{Access, Handle, Kind};
use crate::sim::call::Place;

/// An open description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Open {
    pub(super) number: Number,
    pub(super) read: bool,
    pub(super) write: bool,
    /// What is written goes to the end.
    pub(super) append: bool,
    /// Whether it has the advisory lock.
    pub(super) locked: bool,
}

/// Standard input, output and error are taken.
const FIRST: i32 = 3;

/// What the umask takes away.
const UMASK: u32 = 0o022;

impl Disk {
    pub(super) fn masked(&self, mode: u32) -> u32 {
        mode & !UMASK
    }

    pub(super) fn open_dir(&mut self, caller: Caller, place: &Place) -> Result<Handle> {
        let number = self.found(&self.walk(caller, place)?)?;
        match self.get(number).node.kind() {
            Kind::Directory => Ok(self
                .add_open(caller, Open { number, read: true, write: false, append: false, locked: false })),
            // With O_DIRECTORY also a symbolic link is just no directory.
            _ => Err(Errno::ENOTDIR),
        }
    }

    pub(super) fn open_file(&mut self, caller: Caller, place: &Place, access: Access) -> Result<Handle> {
        let end = self.walk(caller, place)?;
        let (read, write) = match access {
            Access::Read => (true, false),
            Access::CreateNew { .. }
            | Access::ReadWrite
            | Access::CreateIfMissing { .. }
            | Access::Append { .. } => (true, true),
        };
        let mode = match access {
            Access::CreateNew { mode } | Access::CreateIfMissing { mode } | Access::Append { mode } => {
                Some(mode)
            }
            Access::Read | Access::ReadWrite => None,
        };
        let number = match (&end, mode) {
            (End::Name { found: None, .. }, Some(mode)) => {
                let (dir, name) = self.new_name(end)?;
                let number = self.add(caller, Node::File([].into()), self.masked(mode));
                self.bind(dir, name, number);
                number
            }
            (_, Some(_)) if matches!(access, Access::CreateNew { .. }) => return Err(Errno::EEXIST),
            _ => self.found(&end)?,
        };
        match self.get(number).node.kind() {
            Kind::Symlink => Err(Errno::ELOOP),
            Kind::Directory if write => Err(Errno::EISDIR),
            _ => {
                let append = matches!(access, Access::Append { .. });
                Ok(self.add_open(caller, Open { number, read, write, append, locked: false }))
            }
        }
    }

    pub(super) fn handle(&self, caller: Caller, handle: Handle) -> Result<Open> {
        self.place_of(caller, handle).map(|at| self.open[at].2).map_err(|_| Errno::EBADF)
    }

    pub(super) fn try_lock(&mut self, caller: Caller, handle: Handle) -> Result<bool> {
        let at = self.place_of(caller, handle).map_err(|_| Errno::EBADF)?;
        let number = self.open[at].2.number;
        let taken = |(other, (.., open)): (usize, &(Caller, Handle, Open))| {
            other != at && open.number == number && open.locked
        };
        if self.open.iter().enumerate().any(taken) {
            return Ok(false);
        }
        self.open[at].2.locked = true;
        Ok(true)
    }

    pub(super) fn close(&mut self, caller: Caller, handle: Handle) -> Result<()> {
        let at = self.place_of(caller, handle).map_err(|_| Errno::EBADF)?;
        let (.., open) = self.open.remove(at);
        self.free_if_unused(open.number);
        Ok(())
    }

    fn add_open(&mut self, caller: Caller, open: Open) -> Handle {
        let mut handle = Handle(FIRST);
        let mut at = self.open.partition_point(|(who, other, _)| (*who, *other) < (caller, handle));
        while self.open.get(at).is_some_and(|(who, other, _)| (*who, *other) == (caller, handle)) {
            handle.0 += 1;
            at += 1;
        }
        self.open.insert(at, (caller, handle, open));
        handle
    }

    fn place_of(&self, caller: Caller, handle: Handle) -> std::result::Result<usize, usize> {
        self.open.binary_search_by_key(&(caller, handle), |(who, other, _)| (*who, *other))
    }
}
