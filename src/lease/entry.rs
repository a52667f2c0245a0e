//! An own owner file in an open lease directory.
//!
//! The file stays open as long as its owner stands there. That keeps its inode number from being given to another
//! file, so a name with this device and inode is this file, and its bytes can be read without opening it again.

use std::rc::Rc;

use super::CURRENT;
use crate::files::{Access, Dir, File, Identity, PathError};

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) dir: Dir,
    pub(super) name: String,
    pub(super) identity: Identity,
    file: File,
    text: Rc<str>,
}

/// Whose `current` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Current {
    Missing,
    Ours,
    /// Another file, or our own with other bytes.
    NotOurs,
}

impl Entry {
    /// Write the owner file and make its content survive a power cut, before any other name of it exists.
    pub(super) fn create(dir: Dir, name: &str, text: &Rc<str>) -> Result<Entry, PathError> {
        let file = dir.open_file(name, Access::CreateNew { mode: 0o600 })?;
        let written =
            file.write_all_at(0, text.as_bytes()).and_then(|()| file.sync()).and_then(|()| file.stat());
        match written {
            Ok(stat) => {
                let (name, text) = (name.to_owned(), Rc::clone(text));
                Ok(Entry { dir, name, identity: stat.identity, file, text })
            }
            Err(error) => {
                // Best effort: the failure that is reported is the first one.
                let _ = dir.unlink(name);
                Err(error)
            }
        }
    }

    /// Link it to `current`: `EEXIST` when the lease is taken.
    pub(super) fn link_current(&self) -> Result<(), PathError> {
        self.dir.link(&self.name, &self.dir, CURRENT)
    }

    /// Whether `current` is exactly this owner.
    pub(super) fn current(&self) -> Result<Current, PathError> {
        match self.dir.look(CURRENT)? {
            None => Ok(Current::Missing),
            Some(stat) if stat.identity == self.identity && self.is_unchanged(stat.size)? => {
                Ok(Current::Ours)
            }
            Some(_) => Ok(Current::NotOurs),
        }
    }

    /// Whether the file, of this size, still has the bytes that were written.
    pub(super) fn is_unchanged(&self, size: u64) -> Result<bool, PathError> {
        let length = self.text.len();
        Ok(size == length as u64 && self.file.read_up_to(length)? == self.text.as_bytes())
    }

    /// Unlink `current` if it is this file.
    pub(super) fn take_current_back(&self) -> Result<(), PathError> {
        if self.dir.look(CURRENT)?.is_some_and(|stat| stat.identity == self.identity) {
            self.dir.unlink(CURRENT)?;
        }
        Ok(())
    }

    /// Remove the owner file, if its name still stands for it.
    pub(super) fn withdraw(&self) -> Result<(), PathError> {
        if self.dir.look(&self.name)?.is_some_and(|stat| stat.identity == self.identity) {
            self.dir.unlink(&self.name)?;
        }
        Ok(())
    }

    /// The call is over before it got what it wanted: nothing of ours stays. Best effort; the failure that is
    /// reported is the first one, and what cannot be removed is swept once this process is gone.
    pub(super) fn give_up(&self) {
        let _ = self.take_current_back();
        let _ = self.withdraw();
    }
}
