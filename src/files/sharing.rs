//! Who may look into a project's state: the modes of its directories and files, exactly, whatever the umask is.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use nix::errno::Errno;

use super::{Access, Dir, File, Files, PathError, Stat};

/// Whether other users of the project's group share its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Directories 0700, files 0600.
    #[default]
    Private,
    /// Directories 0770, files 0660, whatever the umask is; nothing for others.
    Group,
}

impl Sharing {
    pub fn directory_mode(self) -> u32 {
        match self {
            Sharing::Private => 0o700,
            Sharing::Group => 0o770,
        }
    }

    pub fn file_mode(self) -> u32 {
        match self {
            Sharing::Private => 0o600,
            Sharing::Group => 0o660,
        }
    }

    /// Create a file exclusively, for writing.
    ///
    /// # Errors
    /// [`PathError`]; `EEXIST` when the name is taken.
    pub fn create_file(self, dir: &Dir, name: impl AsRef<OsStr>) -> Result<File, PathError> {
        let name = name.as_ref();
        let file = dir.open_file(name, Access::CreateNew { mode: self.file_mode() })?;
        match self.widen_file(&file) {
            Ok(()) => Ok(file),
            Err(error) => {
                // Best effort: the failure that is reported is the first one.
                let _ = dir.unlink(name);
                Err(error)
            }
        }
    }

    /// Create a file exclusively with these bytes and sync its content. On failure nothing of it is left.
    ///
    /// # Errors
    /// [`PathError`]; `EEXIST` when the name is taken (it is left alone).
    pub fn write_new(self, dir: &Dir, name: impl AsRef<OsStr>, bytes: &[u8]) -> Result<Stat, PathError> {
        let name = name.as_ref();
        let file = self.create_file(dir, name)?;
        let written = file.write_all_at(0, bytes).and_then(|()| file.sync()).and_then(|()| file.stat());
        if written.is_err() {
            // Best effort: the failure that is reported is the first one.
            let _ = dir.unlink(name);
        }
        written
    }

    /// Give a file that was just created what the umask has cut.
    ///
    /// # Errors
    /// [`PathError`] of the `fchmod`.
    pub fn widen_file(self, file: &File) -> Result<(), PathError> {
        match self {
            Sharing::Private => Ok(()),
            Sharing::Group => file.set_mode(self.file_mode()),
        }
    }

    /// Create a directory in another. On failure nothing of it is left.
    ///
    /// # Errors
    /// [`PathError`]; `EEXIST` when the name is taken (it is left alone).
    pub fn make_dir_in(self, parent: &Dir, name: impl AsRef<OsStr>) -> Result<Dir, PathError> {
        let name = name.as_ref();
        parent.make_dir(name, self.directory_mode())?;
        let made = parent.open_dir(name).and_then(|dir| self.widen_dir(&dir).map(|()| dir));
        if made.is_err() {
            // Best effort: the failure that is reported is the first one.
            let _ = parent.remove_dir(name);
        }
        made
    }

    /// Create the directory at an absolute path, and its parents, where they are missing. Existing ones are left as
    /// they are.
    ///
    /// # Errors
    /// [`PathError`] of the `mkdir` that failed.
    pub fn make_dirs(self, files: &Rc<dyn Files>, path: &Path) -> Result<(), PathError> {
        let errno = |error: &std::io::Error| error.raw_os_error().map(Errno::from_raw);
        let mut made = files.make_dir(path, self.directory_mode());
        if let (Err(error), Some(parent)) = (&made, path.parent()) {
            if errno(error) == Some(Errno::ENOENT) {
                self.make_dirs(files, parent)?;
                made = files.make_dir(path, self.directory_mode());
            }
        }
        match made {
            Ok(()) => match self {
                Sharing::Private => Ok(()),
                Sharing::Group => self.widen_or_remove(files, path),
            },
            // There already, or another process was faster: it sees to the mode.
            Err(error) if errno(&error) == Some(Errno::EEXIST) => Ok(()),
            Err(error) => Err(PathError::new("mkdir", path, error)),
        }
    }

    /// Widen a directory that was just created. If that fails it goes again: whoever finds it leaves it as it is, and the
    /// group would be kept out for good.
    fn widen_or_remove(self, files: &Rc<dyn Files>, path: &Path) -> Result<(), PathError> {
        let widened = Dir::open(files, path).and_then(|dir| self.widen_dir(&dir));
        if let (true, Some(parent), Some(name)) = (widened.is_err(), path.parent(), path.file_name()) {
            // Best effort: the failure that is reported is the first one.
            let _ = Dir::open(files, parent).and_then(|parent| parent.remove_dir(name));
        }
        widened
    }

    fn widen_dir(self, dir: &Dir) -> Result<(), PathError> {
        match self {
            Sharing::Private => Ok(()),
            // What the directory has of its parent beyond permissions stays: the set-group-id bit gives everything below
            // to the project's group.
            Sharing::Group => dir.set_mode(dir.stat()?.mode & !0o777 | self.directory_mode()),
        }
    }
}
