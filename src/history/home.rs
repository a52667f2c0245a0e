//! The open directory in which a history lives.

use std::ffi::OsStr;
use std::path::Path;

use super::{Error, Layout, Result};
use crate::files::{Dir, Identity, Kind, PathError, Sharing, Stat};
use crate::host::Host;

/// An open directory whose path was its own when it was opened. Everything goes through the handle; whether the path
/// still leads here is asked again where it matters.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) dir: Dir,
    pub(super) identity: Identity,
}

impl Home {
    /// Open the directory, creating it and its parents when it is missing.
    pub(super) fn create(host: &Host, path: &Path, sharing: Sharing) -> Result<Home> {
        if let Some(home) = Home::open(host, path)? {
            return Ok(home);
        }
        sharing.make_dirs(&host.files, path)?;
        Home::open(host, path)?.ok_or_else(|| Error::DirectoryChanged(path.to_owned()))
    }

    /// Open the directory; `None` when it is missing.
    pub(super) fn open(host: &Host, path: &Path) -> Result<Option<Home>> {
        match Dir::open(&host.files, path) {
            Ok(dir) => Ok(Some(Home::of(dir)?)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => match host.files.stat(path) {
                Ok(stat) => Err(instead_of_a_directory(stat, path, error)),
                Err(_) => Err(error.into()),
            },
        }
    }

    /// Open a directory in the home, creating it when it is missing.
    pub(super) fn create_inside(&self, name: &OsStr, sharing: Sharing) -> Result<Home> {
        match sharing.make_dir_in(&self.dir, name) {
            Ok(dir) => Home::of(dir),
            Err(error) if error.is_taken() => {
                self.open_inside(name)?.ok_or_else(|| Error::DirectoryChanged(self.dir.path().join(name)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Open a directory in the home; `None` when it is missing.
    pub(super) fn open_inside(&self, name: &OsStr) -> Result<Option<Home>> {
        match self.dir.open_dir(name) {
            Ok(dir) => Ok(Some(Home::of(dir)?)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => match self.dir.look(name)? {
                Some(stat) => Err(instead_of_a_directory(stat, &self.dir.path().join(name), error)),
                None => Ok(None),
            },
        }
    }

    /// The directory of the sealed segments; `None` when the history has none, or not yet.
    pub(super) fn open_segments(&self, layout: &Layout) -> Result<Option<Home>> {
        layout.segments.as_deref().map_or(Ok(None), |name| self.open_inside(name))
    }

    /// The plain file of this name as it is now; `None` when there is none.
    ///
    /// # Errors
    /// [`Error::Symlink`], [`Error::NotAFile`].
    pub(super) fn look_for_file(&self, name: &OsStr) -> Result<Option<Stat>> {
        match self.dir.look(name)? {
            None => Ok(None),
            Some(stat) => self.must_be_a_file(name, stat).map(Some),
        }
    }

    pub(super) fn must_be_a_file(&self, name: &OsStr, stat: Stat) -> Result<Stat> {
        match stat.kind {
            Kind::File => Ok(stat),
            Kind::Symlink => Err(Error::Symlink(self.dir.path().join(name))),
            _ => Err(Error::NotAFile(self.dir.path().join(name))),
        }
    }

    /// Whether the name stands for that very object now.
    pub(super) fn names(&self, name: &OsStr, identity: Identity) -> std::result::Result<bool, PathError> {
        Ok(self.dir.look(name)?.is_some_and(|stat| stat.identity == identity))
    }

    /// Fail when the path leads somewhere else by now: what is done here would be out of everybody's sight.
    pub(super) fn must_not_have_moved(&self, host: &Host) -> Result<()> {
        match host.files.stat(self.dir.path()) {
            Ok(stat) if stat.identity == self.identity => Ok(()),
            _ => Err(Error::DirectoryChanged(self.dir.path().to_owned())),
        }
    }

    /// Make the names in the directory survive a power cut, where the file system can promise that.
    pub(super) fn sync(&self) -> std::result::Result<(), PathError> {
        match self.dir.sync() {
            // Directories cannot be synced here: the names are as durable as this file system makes them.
            Err(error) if is_unsupported(&error) || error.is(nix::errno::Errno::EPERM) => Ok(()),
            synced => synced,
        }
    }

    fn of(dir: Dir) -> Result<Home> {
        let identity = dir.identity()?;
        Ok(Home { dir, identity })
    }
}

fn instead_of_a_directory(stat: Stat, path: &Path, error: PathError) -> Error {
    match stat.kind {
        Kind::Symlink => Error::Symlink(path.to_owned()),
        Kind::Directory => Error::Path(error),
        _ => Error::NotADirectory(path.to_owned()),
    }
}

/// Whether the file system, or the system, has no such operation.
pub(super) fn is_unsupported(error: &PathError) -> bool {
    use rustix::io::Errno;
    let errno = error.errno().map(Errno::from_raw_os_error);
    // Systems differ in which of the two they call it.
    matches!(errno, Some(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP)) || errno == Some(Errno::NOTSUP)
}
