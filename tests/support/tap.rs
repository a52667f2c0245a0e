//! Files that are tapped: each call can be counted, refused, preceded by something else, or be the last one.

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use harnery_native::files::{Access, Files, Handle, Stat};
use nix::errno::Errno;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    Go,
    /// It fails without an effect.
    Fail(Errno),
    /// The process is killed right before it: the call unwinds.
    Kill,
}

/// What a killed process unwinds with.
#[derive(Debug)]
pub struct Killed;

type Decide = Box<dyn FnMut(usize, &str) -> Before>;

/// Tapped files. Closing is never a step: nothing on disk depends on it.
pub struct Tap {
    inner: Rc<dyn Files>,
    log: RefCell<Vec<String>>,
    decide: RefCell<Option<Decide>>,
    dead: Cell<bool>,
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("log", &self.log.borrow().len()).finish_non_exhaustive()
    }
}

impl Tap {
    pub fn new(inner: Rc<dyn Files>) -> Rc<Tap> {
        Rc::new(Tap { inner, log: RefCell::default(), decide: RefCell::default(), dead: Cell::new(false) })
    }

    /// Ask before each call from now on: its number from 0, and what it is, as in `link owner-1.json current`.
    pub fn before(&self, decide: impl FnMut(usize, &str) -> Before + 'static) {
        self.log.borrow_mut().clear();
        *self.decide.borrow_mut() = Some(Box::new(decide));
    }

    pub fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.borrow_mut())
    }

    /// Run until the end, or until it is killed.
    pub fn run<T>(&self, call: impl FnOnce() -> T) -> Option<T> {
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) {
            Ok(value) => Some(value),
            Err(panic) if panic.is::<Killed>() => None,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn step(&self, what: String) -> io::Result<()> {
        if self.dead.get() {
            // What is dropped while it unwinds may try to tidy up: a process that was killed does not.
            assert!(std::thread::panicking(), "a dead process goes on with {what}");
            return Err(io::Error::from_raw_os_error(Errno::ESRCH as i32));
        }
        let number = self.log.borrow().len();
        self.log.borrow_mut().push(what.clone());
        // Taken out while it runs: what comes before a call may make calls of its own, unasked.
        let Some(mut decide) = self.decide.borrow_mut().take() else { return Ok(()) };
        let before = decide(number, &what);
        *self.decide.borrow_mut() = Some(decide);
        match before {
            Before::Go => Ok(()),
            Before::Fail(errno) => Err(io::Error::from_raw_os_error(errno as i32)),
            Before::Kill => {
                self.dead.set(true);
                // No panic that anybody has to hear of.
                std::panic::resume_unwind(Box::new(Killed))
            }
        }
    }
}

fn at(verb: &str, name: &OsStr) -> String {
    format!("{verb} {}", name.to_string_lossy())
}

fn two(verb: &str, from: &OsStr, to: &OsStr) -> String {
    format!("{verb} {} {}", from.to_string_lossy(), to.to_string_lossy())
}

impl Files for Tap {
    fn open_dir(&self, path: &Path) -> io::Result<Handle> {
        self.step(at("open_dir", path.as_os_str()))?;
        self.inner.open_dir(path)
    }
    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.step(at("make_dir", path.as_os_str()))?;
        self.inner.make_dir(path, mode)
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.step(at("stat", path.as_os_str()))?;
        self.inner.stat(path)
    }
    fn stat_followed(&self, path: &Path) -> io::Result<Stat> {
        self.step(at("stat_followed", path.as_os_str()))?;
        self.inner.stat_followed(path)
    }
    fn stat_handle(&self, handle: Handle) -> io::Result<Stat> {
        self.step("stat_handle".into())?;
        self.inner.stat_handle(handle)
    }
    fn stat_at(&self, dir: Handle, name: &OsStr) -> io::Result<Stat> {
        self.step(at("stat", name))?;
        self.inner.stat_at(dir, name)
    }
    fn open_dir_at(&self, dir: Handle, name: &OsStr) -> io::Result<Handle> {
        self.step(at("open_dir", name))?;
        self.inner.open_dir_at(dir, name)
    }
    fn make_dir_at(&self, dir: Handle, name: &OsStr, mode: u32) -> io::Result<()> {
        self.step(at("make_dir", name))?;
        self.inner.make_dir_at(dir, name, mode)
    }
    fn open_at(&self, dir: Handle, name: &OsStr, access: Access) -> io::Result<Handle> {
        let verb = if matches!(access, Access::Read) { "open" } else { "create" };
        self.step(at(verb, name))?;
        self.inner.open_at(dir, name, access)
    }
    fn read_at(&self, file: Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.step("read".into())?;
        self.inner.read_at(file, offset, buffer)
    }
    fn write_at(&self, file: Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.step("write".into())?;
        self.inner.write_at(file, offset, bytes)
    }
    fn set_size(&self, file: Handle, size: u64) -> io::Result<()> {
        self.step("set_size".into())?;
        self.inner.set_size(file, size)
    }
    fn set_mode(&self, handle: Handle, mode: u32) -> io::Result<()> {
        self.step("set_mode".into())?;
        self.inner.set_mode(handle, mode)
    }
    fn set_owner(&self, handle: Handle, uid: u32, gid: u32) -> io::Result<()> {
        self.step("set_owner".into())?;
        self.inner.set_owner(handle, uid, gid)
    }
    fn sync(&self, handle: Handle) -> io::Result<()> {
        self.step("sync".into())?;
        self.inner.sync(handle)
    }
    fn link(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.step(two("link", name, new_name))?;
        self.inner.link(dir, name, new_dir, new_name)
    }
    fn rename(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.step(two("rename", name, new_name))?;
        self.inner.rename(dir, name, new_dir, new_name)
    }
    fn rename_new(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.step(two("rename_new", name, new_name))?;
        self.inner.rename_new(dir, name, new_dir, new_name)
    }
    fn unlink(&self, dir: Handle, name: &OsStr) -> io::Result<()> {
        self.step(at("unlink", name))?;
        self.inner.unlink(dir, name)
    }
    fn remove_dir(&self, dir: Handle, name: &OsStr) -> io::Result<()> {
        self.step(at("remove_dir", name))?;
        self.inner.remove_dir(dir, name)
    }
    fn list(&self, dir: Handle) -> io::Result<Vec<OsString>> {
        self.step("list".into())?;
        self.inner.list(dir)
    }
    fn try_lock(&self, handle: Handle) -> io::Result<bool> {
        self.step("try_lock".into())?;
        self.inner.try_lock(handle)
    }
    fn watch(&self, dir: Handle) -> io::Result<Option<Rc<OwnedFd>>> {
        self.inner.watch(dir)
    }
    fn close(&self, handle: Handle) {
        self.inner.close(handle);
    }
}
