//! Files: the verbs that a protocol needs, each one system call, behind one trait.
//!
//! [`Files`] is what a machine must offer; [`Dir`] and [`File`] are the guards that protocols hold. A [`Dir`] is an
//! open handle, so a path that is renamed or replaced meanwhile cannot redirect what is done through it. No verb
//! follows a symbolic link in the last component; links among the parents of an absolute path are followed.
//!
//! What is assumed of a file system: `link`, `rename` and exclusive creation are atomic; a rename onto an empty
//! directory replaces it and onto any other fails; what was synced survives a power cut, what was not may not.

pub mod disk;
mod error;
mod guards;
pub mod record;
mod sharing;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub use error::PathError;
pub use guards::{make_dirs, Dir, File};
pub use sharing::Sharing;

/// An open file or directory, as the machine numbers it. Protocols hold it through [`Dir`] and [`File`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub i32);

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read an existing file, without blocking on a FIFO.
    Read,
    /// Read and write an existing file.
    ReadWrite,
    /// Create for reading and writing; an existing name is `EEXIST`. The mode is cut by the umask.
    CreateNew { mode: u32 },
    /// Open for reading and writing, created when missing. The mode is cut by the umask.
    CreateIfMissing { mode: u32 },
    /// [`Access::CreateIfMissing`], and whatever is written goes to the file's end, also through the bare descriptor.
    Append { mode: u32 },
}

/// What a name or a handle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    Other,
}

/// Which object a name or handle stands for: device and inode. A freed inode number may be used again, so
/// identity together with the bytes is what protocols compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
}

/// The part of `struct stat` that protocols look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stat {
    pub kind: Kind,
    pub identity: Identity,
    pub links: u64,
    /// Bytes.
    pub size: u64,
    /// Permission bits only.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Milliseconds since the Unix epoch, by the file system's clock.
    pub modified_ms: i64,
    /// Milliseconds since the Unix epoch of the last change of content or metadata.
    pub changed_ms: i64,
}

/// A machine's files. Every verb is one system call (but `list`, which reads a directory to its end).
///
/// Errors are the operating system's own, uninterpreted; `EINTR` is retried inside.
pub trait Files: fmt::Debug {
    /// Open the directory at `path`. A symbolic link there is `ENOTDIR` or `ELOOP`.
    fn open_dir(&self, path: &Path) -> io::Result<Handle>;
    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// `lstat`.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// `stat`: follows symbolic links. Only for what a caller names as a starting point.
    fn stat_followed(&self, path: &Path) -> io::Result<Stat>;
    /// The path with every symbolic link followed. Only for what a caller names as a starting point.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn stat_handle(&self, handle: Handle) -> io::Result<Stat>;
    fn stat_at(&self, dir: Handle, name: &OsStr) -> io::Result<Stat>;
    fn open_dir_at(&self, dir: Handle, name: &OsStr) -> io::Result<Handle>;
    fn make_dir_at(&self, dir: Handle, name: &OsStr, mode: u32) -> io::Result<()>;
    fn open_at(&self, dir: Handle, name: &OsStr, access: Access) -> io::Result<Handle>;
    /// Read at an offset; fewer bytes than asked for may come, none at the end.
    fn read_at(&self, file: Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Write at an offset; fewer bytes than given may be written.
    fn write_at(&self, file: Handle, offset: u64, bytes: &[u8]) -> io::Result<usize>;
    fn set_size(&self, file: Handle, size: u64) -> io::Result<()>;
    /// `fchmod`.
    fn set_mode(&self, handle: Handle, mode: u32) -> io::Result<()>;
    /// `fchown`.
    fn set_owner(&self, handle: Handle, uid: u32, gid: u32) -> io::Result<()>;
    /// `fsync` of a file's content or a directory's names.
    fn sync(&self, handle: Handle) -> io::Result<()>;
    /// Hard link `name` of `dir` as `new_name` of `new_dir`.
    fn link(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()>;
    /// Rename, replacing a file by a file and an empty directory by a directory.
    fn rename(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()>;
    /// Rename; an existing target is `EEXIST`. `ENOSYS` or `EINVAL` where the system cannot.
    fn rename_new(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()>;
    fn unlink(&self, dir: Handle, name: &OsStr) -> io::Result<()>;
    fn remove_dir(&self, dir: Handle, name: &OsStr) -> io::Result<()>;
    /// All names, without `.` and `..`, in no particular order.
    fn list(&self, dir: Handle) -> io::Result<Vec<OsString>>;
    /// Try to take the advisory lock (`flock`, exclusive) of an open file or directory: whether it was taken. It
    /// goes with the handle.
    fn try_lock(&self, handle: Handle) -> io::Result<bool>;
    /// A descriptor that becomes readable once names in the directory change; `None` where there is no such thing. It
    /// tells one change; whoever waits for another watches anew.
    fn watch(&self, dir: Handle) -> io::Result<Option<Rc<OwnedFd>>>;
    fn close(&self, handle: Handle);
}
