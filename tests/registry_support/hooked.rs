//! A machine whose file calls can be counted and interrupted, and whose clock moves by waiting only.

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use harnery_native::clock::{Clock, Pause, SystemClock};
use harnery_native::files::{disk::Disk, Access, Files, Handle, Stat};

/// What is run before each call, with the verb and the name or path it is about. An error is the call's failure.
type Hook = dyn Fn(&str, &str) -> io::Result<()>;

/// The disk, with a hook before each call.
pub struct HookedFiles {
    disk: Disk,
    pub calls: RefCell<Vec<String>>,
    hook: RefCell<Option<Rc<Hook>>>,
}

impl HookedFiles {
    pub fn new() -> Rc<HookedFiles> {
        Rc::new(HookedFiles { disk: Disk::default(), calls: RefCell::default(), hook: RefCell::new(None) })
    }

    pub fn hook(&self, hook: impl Fn(&str, &str) -> io::Result<()> + 'static) {
        *self.hook.borrow_mut() = Some(Rc::new(hook));
    }

    pub fn unhook(&self) {
        *self.hook.borrow_mut() = None;
    }

    /// How many calls of a verb there were.
    pub fn count(&self, verb: &str) -> usize {
        self.calls.borrow().iter().filter(|call| call.split(' ').next() == Some(verb)).count()
    }

    fn before(&self, verb: &str, name: &OsStr) -> io::Result<()> {
        let name = name.to_string_lossy();
        self.calls.borrow_mut().push(format!("{verb} {name}"));
        let hook = self.hook.borrow().clone();
        hook.map_or(Ok(()), |hook| hook(verb, &name))
    }
}

impl fmt::Debug for HookedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedFiles")
    }
}

impl Files for HookedFiles {
    fn open_dir(&self, path: &Path) -> io::Result<Handle> {
        self.before("open_dir", path.as_os_str())?;
        self.disk.open_dir(path)
    }
    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.before("make_dir", path.as_os_str())?;
        self.disk.make_dir(path, mode)
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.disk.stat(path)
    }
    fn stat_followed(&self, path: &Path) -> io::Result<Stat> {
        self.disk.stat_followed(path)
    }
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.disk.real_path(path)
    }
    fn stat_handle(&self, handle: Handle) -> io::Result<Stat> {
        self.disk.stat_handle(handle)
    }
    fn stat_at(&self, dir: Handle, name: &OsStr) -> io::Result<Stat> {
        self.before("stat", name)?;
        self.disk.stat_at(dir, name)
    }
    fn open_dir_at(&self, dir: Handle, name: &OsStr) -> io::Result<Handle> {
        self.before("open_dir", name)?;
        self.disk.open_dir_at(dir, name)
    }
    fn make_dir_at(&self, dir: Handle, name: &OsStr, mode: u32) -> io::Result<()> {
        self.before("make_dir", name)?;
        self.disk.make_dir_at(dir, name, mode)
    }
    fn open_at(&self, dir: Handle, name: &OsStr, access: Access) -> io::Result<Handle> {
        self.before("open", name)?;
        self.disk.open_at(dir, name, access)
    }
    fn read_at(&self, file: Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.before("read", OsStr::new(""))?;
        self.disk.read_at(file, offset, buffer)
    }
    fn write_at(&self, file: Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.before("write", OsStr::new(""))?;
        self.disk.write_at(file, offset, bytes)
    }
    fn set_size(&self, file: Handle, size: u64) -> io::Result<()> {
        self.before("set_size", OsStr::new(""))?;
        self.disk.set_size(file, size)
    }
    fn set_mode(&self, handle: Handle, mode: u32) -> io::Result<()> {
        self.before("set_mode", OsStr::new(""))?;
        self.disk.set_mode(handle, mode)
    }
    fn set_owner(&self, handle: Handle, uid: u32, gid: u32) -> io::Result<()> {
        self.before("set_owner", OsStr::new(""))?;
        self.disk.set_owner(handle, uid, gid)
    }
    fn sync(&self, handle: Handle) -> io::Result<()> {
        self.before("sync", OsStr::new(""))?;
        self.disk.sync(handle)
    }
    fn link(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.before("link", new_name)?;
        self.disk.link(dir, name, new_dir, new_name)
    }
    fn rename(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.before("rename", new_name)?;
        self.disk.rename(dir, name, new_dir, new_name)
    }
    fn rename_new(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.before("rename", new_name)?;
        self.disk.rename_new(dir, name, new_dir, new_name)
    }
    fn unlink(&self, dir: Handle, name: &OsStr) -> io::Result<()> {
        self.before("unlink", name)?;
        self.disk.unlink(dir, name)
    }
    fn remove_dir(&self, dir: Handle, name: &OsStr) -> io::Result<()> {
        self.before("remove_dir", name)?;
        self.disk.remove_dir(dir, name)
    }
    fn list(&self, dir: Handle) -> io::Result<Vec<OsString>> {
        self.before("list", OsStr::new(""))?;
        self.disk.list(dir)
    }
    fn try_lock(&self, handle: Handle) -> io::Result<bool> {
        self.before("lock", OsStr::new(""))?;
        self.disk.try_lock(handle)
    }
    fn watch(&self, dir: Handle) -> io::Result<Option<Rc<OwnedFd>>> {
        self.disk.watch(dir)
    }
    fn close(&self, handle: Handle) {
        self.disk.close(handle);
    }
}

/// The system's instants, and a monotonic time that only pauses move. What is to happen meanwhile can be told.
#[derive(Default)]
pub struct WaitingClock {
    passed: Cell<Duration>,
    meanwhile: RefCell<Option<Box<dyn Fn()>>>,
}

impl WaitingClock {
    /// Run `act` in each pause.
    pub fn in_pauses(&self, act: impl Fn() + 'static) {
        *self.meanwhile.borrow_mut() = Some(Box::new(act));
    }
}

impl fmt::Debug for WaitingClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WaitingClock")
    }
}

impl Clock for WaitingClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }
    fn monotonic(&self) -> Duration {
        self.passed.get()
    }
    fn pause(&self, pause: &Pause) {
        self.passed.set(self.passed.get() + pause.at_most);
        // Another test's child has the descriptors of this process, and its locks, until it has become its program.
        std::thread::yield_now();
        if let Some(act) = &*self.meanwhile.borrow() {
            act();
        }
    }
}
