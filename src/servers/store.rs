//! The registry's directory: reading records, replacing and removing them.
//!
//! A record is written whole under another name and renamed into place, so no reader sees a part of one. Native
//! processes take turns: whoever changes the directory holds `.registry.lock` while it looks again at what it is
//! about to replace and renames or unlinks, and for nothing else. No callback runs and nobody waits for a lease
//! while it is held.
//!
//! 1. A reads record R1 and decides: dead, prune it.
//! 2. B registers anew: R2 is renamed over R1.
//! 3. A takes the lock, looks again, sees R2 and leaves it.
//!
//! JavaScript takes no such lock; between A's look and its unlink a JavaScript registration can still be lost.

pub mod directory;
mod lock;
mod write;
mod writer;

use std::ffi::OsStr;
use std::path::PathBuf;

use nix::errno::Errno;

use super::record::RECORD_LIMIT_BYTES;
use super::{Error, Schema, ServerId, ServerRecord, Sharing};
use crate::files::{record, Dir, PathError, Stat};
use crate::host::Host;

/// Where a registry is, and who may look into it: what whoever changes it needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Absolute.
    pub coord_root: PathBuf,
    pub sharing: Sharing,
}

/// An open registry directory.
#[derive(Debug)]
pub struct Store {
    host: Host,
    dir: Dir,
}

/// What stands under a record's name.
#[derive(Debug)]
pub enum Found {
    Missing,
    Record(Box<ServerRecord>, Stat),
    /// Something else: too large, torn, of another schema, no plain file.
    Invalid(Invalid),
    /// A plain file that could not be read: it may be anybody's record.
    Unreadable(PathError),
}

/// Why what stands under a name is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// A symbolic link, a directory, a FIFO: never followed, replaced or removed.
    NotAFile,
    /// A plain file that holds no record of the schema.
    Content,
}

/// Whether the content is made to survive a power cut before it gets its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    No,
    Yes,
}

/// A record on its way to a name.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    pub record: &'a ServerRecord,
    /// What the look before the rename reads as.
    pub schema: Schema,
    pub synced: Synced,
    pub sharing: Sharing,
    /// The user and group that the file is given; `None`: whoever writes it.
    pub owner: Option<(u32, u32)>,
}

/// What became of a change that looked again first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    Done,
    /// Something else stands there by now; it was left alone.
    Superseded,
    /// The lock could not be had in time; nothing was changed.
    Busy,
}

impl Store {
    /// What stands under an id.
    ///
    /// # Errors
    /// Running out of descriptors or memory, which says nothing about the record.
    pub fn read(&self, id: &ServerId, schema: Schema) -> Result<Found, Error> {
        self.read_name(OsStr::new(&id.file_name()), schema)
    }

    /// The names of all files that may hold a record (`*.json`), in byte order.
    ///
    /// # Errors
    /// A directory that cannot be listed.
    pub fn names(&self) -> Result<Vec<std::ffi::OsString>, Error> {
        use std::os::unix::ffi::OsStrExt;
        let mut names = self.dir.list()?;
        names.retain(|name| name.as_bytes().ends_with(b".json"));
        names.sort_unstable();
        Ok(names)
    }

    /// Whether the file of a name looks as `expected`. A failed look is none.
    pub fn shows(&self, name: &OsStr, expected: impl FnOnce(&Stat) -> bool) -> bool {
        self.dir.stat_at(name).is_ok_and(|now| expected(&now))
    }

    /// [`Store::read`] by file name.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_name(&self, name: &OsStr, schema: Schema) -> Result<Found, Error> {
        let read = match record::read(&self.dir, name, RECORD_LIMIT_BYTES) {
            Ok(read) => read,
            Err(error) if is_exhaustion(&error) => return Err(error.into()),
            Err(error) => return Ok(Found::Unreadable(error)),
        };
        Ok(match read {
            record::Read::Missing => Found::Missing,
            record::Read::NotAFile(_) => Found::Invalid(Invalid::NotAFile),
            record::Read::TooLarge(_) => Found::Invalid(Invalid::Content),
            record::Read::Bytes { bytes, stat } => match ServerRecord::of_bytes(bytes, schema) {
                Some(record) => Found::Record(Box::new(record), stat),
                None => Found::Invalid(Invalid::Content),
            },
        })
    }

    /// Write a record under an id, if `still` agrees with what stands there once the lock is held.
    ///
    /// # Errors
    /// A record that its own reader would refuse; a failed system call, after which the old record stands and
    /// nothing else is left.
    pub fn replace(
        &self,
        id: &ServerId,
        replacement: &Replacement<'_>,
        still: impl FnOnce(&Found) -> bool,
    ) -> Result<Changed, Error> {
        let prepared = write::prepare(self, id, replacement)?;
        let Some(_locked) = lock::take(self, replacement.sharing)? else { return Ok(Changed::Busy) };
        let found = self.read(id, replacement.schema)?;
        if !still(&found) {
            return superseded(found);
        }
        prepared.publish(id)?;
        Ok(Changed::Done)
    }

    /// Remove the file of an id, if `still` agrees with what stands there once the lock is held. A missing file is
    /// [`Changed::Superseded`].
    ///
    /// # Errors
    /// A failed system call; the file stands.
    pub fn remove(
        &self,
        id: &ServerId,
        schema: Schema,
        sharing: Sharing,
        still: impl FnOnce(&Found) -> bool,
    ) -> Result<Changed, Error> {
        let Some(locked) = lock::take(self, sharing)? else { return Ok(Changed::Busy) };
        self.remove_locked(&locked, id, schema, still)
    }

    /// [`Store::remove`] without waiting: [`Changed::Busy`] while another holds the lock.
    ///
    /// # Errors
    /// As [`Store::remove`].
    pub fn remove_at_once(
        &self,
        id: &ServerId,
        schema: Schema,
        sharing: Sharing,
        still: impl FnOnce(&Found) -> bool,
    ) -> Result<Changed, Error> {
        let Some(locked) = lock::try_take(self, sharing)? else { return Ok(Changed::Busy) };
        self.remove_locked(&locked, id, schema, still)
    }

    fn remove_locked(
        &self,
        _locked: &lock::Locked,
        id: &ServerId,
        schema: Schema,
        still: impl FnOnce(&Found) -> bool,
    ) -> Result<Changed, Error> {
        match self.read(id, schema)? {
            Found::Missing => return Ok(Changed::Superseded),
            found if !still(&found) => return superseded(found),
            _ => {}
        }
        match self.dir.unlink(id.file_name()) {
            Ok(()) => Ok(Changed::Done),
            // JavaScript, which takes no lock, was faster.
            Err(error) if error.is_missing() => Ok(Changed::Superseded),
            Err(error) => Err(error.into()),
        }
    }

    /// What to say when the lock could not be had.
    pub fn busy(&self) -> Error {
        let path = self.dir.path().join(lock::NAME);
        let waited = lock::WAIT.as_millis();
        let path = path.display();
        Error::Busy(format!(
            "server registry is busy: another process held {path} for {waited} ms; nothing was changed, try again"
        ))
    }

    /// What to say of a name that is no plain file's.
    pub fn not_a_file(&self, id: &ServerId) -> Error {
        let path = self.dir.path().join(id.file_name());
        let path = path.display();
        Error::Retained(format!(
            "server record {path} is no plain file (a link, a directory, a device); it was left alone, remove it by hand"
        ))
    }
}

/// What stands there is not what is meant; of what could not be read that cannot be said.
fn superseded(found: Found) -> Result<Changed, Error> {
    match found {
        Found::Unreadable(error) => Err(error.into()),
        _ => Ok(Changed::Superseded),
    }
}

/// Whether a call failed for want of descriptors or memory.
fn is_exhaustion(error: &PathError) -> bool {
    [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM].into_iter().any(|errno| error.is(errno))
}
