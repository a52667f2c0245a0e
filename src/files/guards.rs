//! The guards that protocols hold: an open directory and an open file, closed when dropped.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{Access, Files, Handle, Identity, PathError, Stat};

type Result<T> = std::result::Result<T, PathError>;

/// An open directory. Everything done through it happens in that directory, whatever its path names by now.
#[derive(Debug)]
pub struct Dir {
    open: Open,
}

/// An open file.
#[derive(Debug)]
pub struct File {
    open: Open,
}

#[derive(Debug)]
struct Open {
    files: Rc<dyn Files>,
    handle: Handle,
    path: PathBuf,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.files.close(self.handle);
    }
}

impl Open {
    fn fail(&self, syscall: &'static str) -> impl FnOnce(std::io::Error) -> PathError + '_ {
        move |source| PathError::new(syscall, &self.path, source)
    }

    fn fail_at<'a>(
        &'a self,
        syscall: &'static str,
        name: &'a OsStr,
    ) -> impl FnOnce(std::io::Error) -> PathError + 'a {
        move |source| PathError::new(syscall, self.path.join(name), source)
    }

    fn child(&self, handle: Handle, name: &OsStr) -> Open {
        Open { files: Rc::clone(&self.files), handle, path: self.path.join(name) }
    }

    fn stat(&self) -> Result<Stat> {
        self.files.stat_handle(self.handle).map_err(self.fail("fstat"))
    }
}

impl Dir {
    /// Open the directory at an absolute path.
    ///
    /// # Errors
    /// [`PathError`]; a symbolic link at `path` itself is `ENOTDIR` or `ELOOP`.
    pub fn open(files: &Rc<dyn Files>, path: &Path) -> Result<Dir> {
        let handle = files.open_dir(path).map_err(|source| PathError::new("open", path, source))?;
        Ok(Dir { open: Open { files: Rc::clone(files), handle, path: path.to_owned() } })
    }

    /// The path it was opened by, for messages.
    pub fn path(&self) -> &Path {
        &self.open.path
    }

    pub fn stat(&self) -> Result<Stat> {
        self.open.stat()
    }

    pub fn identity(&self) -> Result<Identity> {
        self.open.stat().map(|stat| stat.identity)
    }

    pub fn stat_at(&self, name: impl AsRef<OsStr>) -> Result<Stat> {
        let (open, name) = (&self.open, name.as_ref());
        open.files.stat_at(open.handle, name).map_err(open.fail_at("lstat", name))
    }

    /// [`Dir::stat_at`], with a missing name as a value.
    pub fn look(&self, name: impl AsRef<OsStr>) -> Result<Option<Stat>> {
        present(self.stat_at(name))
    }

    pub fn open_dir(&self, name: impl AsRef<OsStr>) -> Result<Dir> {
        let (open, name) = (&self.open, name.as_ref());
        let handle = open.files.open_dir_at(open.handle, name).map_err(open.fail_at("open", name))?;
        Ok(Dir { open: open.child(handle, name) })
    }

    pub fn make_dir(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<()> {
        let (open, name) = (&self.open, name.as_ref());
        open.files.make_dir_at(open.handle, name, mode).map_err(open.fail_at("mkdir", name))
    }

    pub fn open_file(&self, name: impl AsRef<OsStr>, access: Access) -> Result<File> {
        let (open, name) = (&self.open, name.as_ref());
        let handle = open.files.open_at(open.handle, name, access).map_err(open.fail_at("open", name))?;
        Ok(File { open: open.child(handle, name) })
    }

    /// Hard link `name` as `new_name` in `new_dir`. The error names the new name.
    pub fn link(&self, name: impl AsRef<OsStr>, new_dir: &Dir, new_name: impl AsRef<OsStr>) -> Result<()> {
        let (open, to, new_name) = (&self.open, &new_dir.open, new_name.as_ref());
        open.files.link(open.handle, name.as_ref(), to.handle, new_name).map_err(to.fail_at("link", new_name))
    }

    /// Rename within the directory, replacing a file by a file and an empty directory by a directory.
    pub fn rename(&self, name: impl AsRef<OsStr>, new_name: impl AsRef<OsStr>) -> Result<()> {
        let (open, new_name) = (&self.open, new_name.as_ref());
        let renamed = open.files.rename(open.handle, name.as_ref(), open.handle, new_name);
        renamed.map_err(open.fail_at("rename", new_name))
    }

    /// Rename within the directory; an existing target is `EEXIST`.
    pub fn rename_new(&self, name: impl AsRef<OsStr>, new_name: impl AsRef<OsStr>) -> Result<()> {
        let (open, new_name) = (&self.open, new_name.as_ref());
        let renamed = open.files.rename_new(open.handle, name.as_ref(), open.handle, new_name);
        renamed.map_err(open.fail_at("rename", new_name))
    }

    /// Move a name into another open directory, replacing as [`Dir::rename`] does.
    pub fn move_into(
        &self,
        name: impl AsRef<OsStr>,
        new_dir: &Dir,
        new_name: impl AsRef<OsStr>,
    ) -> Result<()> {
        let (open, to, new_name) = (&self.open, &new_dir.open, new_name.as_ref());
        let moved = open.files.rename(open.handle, name.as_ref(), to.handle, new_name);
        moved.map_err(to.fail_at("rename", new_name))
    }

    /// [`Dir::move_into`], but an existing target is `EEXIST`.
    pub fn move_new_into(
        &self,
        name: impl AsRef<OsStr>,
        new_dir: &Dir,
        new_name: impl AsRef<OsStr>,
    ) -> Result<()> {
        let (open, to, new_name) = (&self.open, &new_dir.open, new_name.as_ref());
        let moved = open.files.rename_new(open.handle, name.as_ref(), to.handle, new_name);
        moved.map_err(to.fail_at("rename", new_name))
    }

    pub fn unlink(&self, name: impl AsRef<OsStr>) -> Result<()> {
        let (open, name) = (&self.open, name.as_ref());
        open.files.unlink(open.handle, name).map_err(open.fail_at("unlink", name))
    }

    pub fn remove_dir(&self, name: impl AsRef<OsStr>) -> Result<()> {
        let (open, name) = (&self.open, name.as_ref());
        open.files.remove_dir(open.handle, name).map_err(open.fail_at("rmdir", name))
    }

    /// All names, in no particular order.
    pub fn list(&self) -> Result<Vec<OsString>> {
        self.open.files.list(self.open.handle).map_err(self.open.fail("scandir"))
    }

    /// Make the names in the directory survive a power cut.
    pub fn sync(&self) -> Result<()> {
        self.open.files.sync(self.open.handle).map_err(self.open.fail("fsync"))
    }

    /// `fchmod`: the mode exactly, whatever the umask is.
    pub fn set_mode(&self, mode: u32) -> Result<()> {
        self.open.files.set_mode(self.open.handle, mode).map_err(self.open.fail("fchmod"))
    }

    pub fn set_owner(&self, uid: u32, gid: u32) -> Result<()> {
        self.open.files.set_owner(self.open.handle, uid, gid).map_err(self.open.fail("fchown"))
    }

    /// Try to take the directory's advisory lock: whether it was taken. It goes with the handle.
    pub fn try_lock(&self) -> Result<bool> {
        self.open.files.try_lock(self.open.handle).map_err(self.open.fail("flock"))
    }

    /// A descriptor that becomes readable once names in the directory change; `None` where there is none.
    pub fn watch(&self) -> Result<Option<Rc<OwnedFd>>> {
        self.open.files.watch(self.open.handle).map_err(self.open.fail("watch"))
    }
}

impl File {
    pub fn path(&self) -> &Path {
        &self.open.path
    }

    /// The descriptor's number on a real machine, for a caller's own system call on it.
    pub fn descriptor(&self) -> i32 {
        self.open.handle.0
    }

    pub fn stat(&self) -> Result<Stat> {
        self.open.stat()
    }

    /// The content from the start, but no more than `limit` bytes of it.
    pub fn read_up_to(&self, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; limit];
        let mut filled = 0;
        while filled < limit {
            match self.read_at(filled as u64, &mut bytes[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Read at an offset; fewer bytes than asked for may come, none at the end.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.open.files.read_at(self.open.handle, offset, buffer).map_err(self.open.fail("read"))
    }

    /// Write at an offset; fewer bytes than given may be written.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<usize> {
        self.open.files.write_at(self.open.handle, offset, bytes).map_err(self.open.fail("write"))
    }

    /// Write all bytes from an offset on. A write that makes no progress is an error.
    pub fn write_all_at(&self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let count = self.write_at(offset, bytes)?;
            if count == 0 {
                let stuck = std::io::Error::new(std::io::ErrorKind::WriteZero, "no bytes were written");
                return Err(PathError::new("write", self.path(), stuck));
            }
            offset += count as u64;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    pub fn set_size(&self, size: u64) -> Result<()> {
        self.open.files.set_size(self.open.handle, size).map_err(self.open.fail("ftruncate"))
    }

    /// `fchmod`: the mode exactly, whatever the umask is.
    pub fn set_mode(&self, mode: u32) -> Result<()> {
        self.open.files.set_mode(self.open.handle, mode).map_err(self.open.fail("fchmod"))
    }

    pub fn set_owner(&self, uid: u32, gid: u32) -> Result<()> {
        self.open.files.set_owner(self.open.handle, uid, gid).map_err(self.open.fail("fchown"))
    }

    /// Make the content survive a power cut.
    pub fn sync(&self) -> Result<()> {
        self.open.files.sync(self.open.handle).map_err(self.open.fail("fsync"))
    }

    /// Try to take the file's advisory lock: whether it was taken. It goes with the handle.
    pub fn try_lock(&self) -> Result<bool> {
        self.open.files.try_lock(self.open.handle).map_err(self.open.fail("flock"))
    }
}

/// Create the directory at an absolute path with its parents, all with `mode`. Existing ones are left as they are.
///
/// # Errors
/// [`PathError`] of the `mkdir` that failed; `ENOTDIR` when something else than a directory has the name.
pub fn make_dirs(files: &Rc<dyn Files>, path: &Path, mode: u32) -> Result<()> {
    let fail = |source| PathError::new("mkdir", path, source);
    match files.make_dir(path, mode) {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(nix::errno::Errno::ENOENT as i32) => {
            let parent = path.parent().ok_or(error).map_err(fail)?;
            make_dirs(files, parent, mode)?;
            match files.make_dir(path, mode) {
                // Another process was faster: as good as our own.
                Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EEXIST as i32) => Ok(()),
                made => made.map_err(fail),
            }
        }
        Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EEXIST as i32) => {
            match files.stat_followed(path).map_err(|source| PathError::new("stat", path, source))?.kind {
                super::Kind::Directory => Ok(()),
                _ => Err(fail(std::io::Error::from_raw_os_error(nix::errno::Errno::ENOTDIR as i32))),
            }
        }
        Err(error) => Err(fail(error)),
    }
}

/// A missing name as a value, every other failure as it is.
pub(super) fn present<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}
