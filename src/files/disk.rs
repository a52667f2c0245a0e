//! The real file system: the only place that touches it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr, OsString};
use std::io;
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, CWD};
use rustix::io::{retry_on_intr, Errno};

use super::{Access, Files, Handle, Identity, Kind, Stat};

/// The operating system's files.
#[derive(Debug, Default)]
pub struct Disk {
    /// Directories that have been read through their handles, which are at their ends therefore.
    read: RefCell<BTreeSet<Handle>>,
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Files for Disk {
    fn open_dir(&self, path: &Path) -> io::Result<Handle> {
        open(CWD, path.as_os_str(), DIRECTORY, 0)
    }

    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::mkdir(path, permissions(mode)))?)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(retry_on_intr(|| fs::lstat(path)).map(stat_of)?)
    }

    fn stat_followed(&self, path: &Path) -> io::Result<Stat> {
        Ok(retry_on_intr(|| fs::stat(path)).map(stat_of)?)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door that the others are pointed to")]
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn stat_handle(&self, handle: Handle) -> io::Result<Stat> {
        Ok(retry_on_intr(|| fs::fstat(borrow(handle))).map(stat_of)?)
    }

    fn stat_at(&self, dir: Handle, name: &OsStr) -> io::Result<Stat> {
        Ok(retry_on_intr(|| fs::statat(borrow(dir), name, AtFlags::SYMLINK_NOFOLLOW)).map(stat_of)?)
    }

    fn open_dir_at(&self, dir: Handle, name: &OsStr) -> io::Result<Handle> {
        open(borrow(dir), name, DIRECTORY, 0)
    }

    fn make_dir_at(&self, dir: Handle, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::mkdirat(borrow(dir), name, permissions(mode)))?)
    }

    fn open_at(&self, dir: Handle, name: &OsStr, access: Access) -> io::Result<Handle> {
        let (flags, mode) = match access {
            Access::Read => (OFlags::RDONLY, 0),
            Access::ReadWrite => (OFlags::RDWR, 0),
            Access::CreateNew { mode } => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode),
            Access::CreateIfMissing { mode } => (OFlags::RDWR | OFlags::CREATE, mode),
            Access::Append { mode } => (OFlags::RDWR | OFlags::CREATE | OFlags::APPEND, mode),
        };
        open(borrow(dir), name, FILE | flags, mode)
    }

    fn read_at(&self, file: Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| rustix::io::pread(borrow(file), &mut *buffer, offset))?)
    }

    fn write_at(&self, file: Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| rustix::io::pwrite(borrow(file), bytes, offset))?)
    }

    fn set_size(&self, file: Handle, size: u64) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::ftruncate(borrow(file), size))?)
    }

    fn set_mode(&self, handle: Handle, mode: u32) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::fchmod(borrow(handle), permissions(mode)))?)
    }

    fn set_owner(&self, handle: Handle, uid: u32, gid: u32) -> io::Result<()> {
        let (uid, gid) = (fs::Uid::from_raw(uid), fs::Gid::from_raw(gid));
        Ok(retry_on_intr(|| fs::fchown(borrow(handle), Some(uid), Some(gid)))?)
    }

    fn sync(&self, handle: Handle) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::fsync(borrow(handle)))?)
    }

    fn link(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::linkat(borrow(dir), name, borrow(new_dir), new_name, AtFlags::empty()))?)
    }

    fn rename(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::renameat(borrow(dir), name, borrow(new_dir), new_name))?)
    }

    fn rename_new(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        Ok(retry_on_intr(|| fs::renameat_with(borrow(dir), name, borrow(new_dir), new_name, flags))?)
    }

    fn unlink(&self, dir: Handle, name: &OsStr) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::unlinkat(borrow(dir), name, AtFlags::empty()))?)
    }

    fn remove_dir(&self, dir: Handle, name: &OsStr) -> io::Result<()> {
        Ok(retry_on_intr(|| fs::unlinkat(borrow(dir), name, AtFlags::REMOVEDIR))?)
    }

    #[cfg(target_os = "linux")]
    fn list(&self, dir: Handle) -> io::Result<Vec<OsString>> {
        // The first listing finds the handle where it was opened: at the start.
        if self.read.borrow().contains(&dir) {
            fs::seek(borrow(dir), fs::SeekFrom::Start(0))?;
        }
        let mut names = Vec::new();
        let mut buffer = [const { MaybeUninit::uninit() }; 8192];
        let mut entries = fs::RawDir::new(borrow(dir), &mut buffer);
        let mut moved = false;
        let end = loop {
            match entries.next() {
                Some(Ok(entry)) => names.extend(real_name(entry.file_name())),
                Some(Err(Errno::INTR)) => continue,
                // A directory that was removed meanwhile has no names, as readdir(3) has it.
                Some(Err(Errno::NOENT)) | None => break Ok(()),
                Some(Err(error)) => break Err(error.into()),
            }
            moved = true;
        };
        if moved {
            self.read.borrow_mut().insert(dir);
        }
        end.map(|()| names)
    }

    #[cfg(not(target_os = "linux"))]
    fn list(&self, dir: Handle) -> io::Result<Vec<OsString>> {
        // A description of its own: reading moves the position, and only its owner may forget where it is.
        let own = retry_on_intr(|| fs::openat(borrow(dir), ".", DIRECTORY, Mode::empty()))?;
        let mut names = Vec::new();
        for entry in fs::Dir::new(own)? {
            names.extend(real_name(entry?.file_name()));
        }
        Ok(names)
    }

    fn try_lock(&self, handle: Handle) -> io::Result<bool> {
        match retry_on_intr(|| fs::flock(borrow(handle), FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(target_os = "linux")]
    fn watch(&self, dir: Handle) -> io::Result<Option<Rc<OwnedFd>>> {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let watcher = match inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) {
            // The user's watchers are used up (there are 128, and editors have many), or descriptors are: as below.
            Err(Errno::MFILE | Errno::NFILE | Errno::NOSYS) => return Ok(None),
            watcher => watcher?,
        };
        // One change ends every wait for it, and a watch that has told it is gone: closing it then waits for nothing.
        let changes = WatchFlags::ONESHOT
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        // Through the handle, so that it is this directory that is watched and not what its path names by now.
        let through = format!("/proc/self/fd/{}", handle_number(dir));
        match inotify::add_watch(&watcher, through, changes) {
            Ok(_) => Ok(Some(Rc::new(watcher))),
            // No procfs, or the user's watches are used up: the poll that backs every watch has to do.
            Err(Errno::NOENT | Errno::NOSPC | Errno::ACCESS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn watch(&self, _dir: Handle) -> io::Result<Option<Rc<OwnedFd>>> {
        Ok(None)
    }

    #[expect(unsafe_code, reason = "a handle owns its descriptor; closing it is taking it back")]
    fn close(&self, handle: Handle) {
        self.read.borrow_mut().remove(&handle);
        // SAFETY: the number came from `into_raw_fd` in `open`, and its guard is being dropped.
        drop(unsafe { OwnedFd::from_raw_fd(handle_number(handle)) });
    }
}

fn open(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<Handle> {
    let opened = retry_on_intr(|| fs::openat(dir, name, flags, permissions(mode)))?;
    debug_assert!(opened.as_raw_fd() >= 0, "descriptors are not negative");
    Ok(Handle(opened.into_raw_fd()))
}

/// Twelve bits, in a field that has sixteen on some systems.
fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as fs::RawMode)
}

/// The name of an entry, unless it stands for the directory itself or the one above.
fn real_name(name: &CStr) -> Option<OsString> {
    let name = name.to_bytes();
    (name != b"." && name != b"..").then(|| OsStr::from_bytes(name).to_owned())
}

fn handle_number(handle: Handle) -> i32 {
    handle.0
}

#[expect(unsafe_code, reason = "handles are descriptors that their guards keep open")]
fn borrow<'a>(handle: Handle) -> BorrowedFd<'a> {
    // SAFETY: a `Handle` is only ever used by the guard that closes it when dropped, so it is open here.
    unsafe { BorrowedFd::borrow_raw(handle.0) }
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "field widths differ between systems")]
fn stat_of(stat: fs::Stat) -> Stat {
    let millis = |seconds: i64, nanos: i64| seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
    Stat {
        kind: match FileType::from_raw_mode(stat.st_mode as _) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::Other,
        },
        identity: Identity { device: stat.st_dev as u64, inode: stat.st_ino as u64 },
        links: stat.st_nlink as u64,
        size: stat.st_size as u64,
        mode: stat.st_mode as u32 & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        modified_ms: millis(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed_ms: millis(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}
