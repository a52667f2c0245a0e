//! A process that is killed before any of its calls: what unwinds runs nothing more, but that descriptors are closed.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use harnery_native::clock::{Clock, Pause, SystemClock};
use harnery_native::files::{Access, Files, Handle, Stat};
use harnery_native::host::{Host, ProcessEnvironment};
use tempfile::TempDir;

/// A directory of a test's own, in memory where the machine has such a place.
pub fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("harnery-").tempdir_in(place).unwrap()
}

pub fn real() -> Host {
    Host::real(Rc::new(ProcessEnvironment))
}

/// What happens before a call of a process's file system.
pub trait Fate {
    fn before(&self, call: &'static str);
    /// How much of a write of so many bytes is done by one call.
    fn of_a_write(&self, bytes: usize) -> usize {
        bytes
    }
}

/// Files that ask fate before every call but closing.
pub struct Fated {
    files: Rc<dyn Files>,
    fate: Rc<dyn Fate>,
}

impl std::fmt::Debug for Fated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fated")
    }
}

/// The same machine with files that ask fate.
pub fn fated(host: &Host, fate: Rc<dyn Fate>) -> Host {
    Host {
        files: Rc::new(Fated { files: Rc::clone(&host.files), fate }),
        memory: Rc::default(),
        ..host.clone()
    }
}

/// The process is killed right before its call with this number; a write is done in two halves, so that it can be
/// killed between them.
pub struct KilledAt {
    left: Cell<usize>,
}

/// What unwinds out of a killed process: nothing of it runs any more, but that its descriptors are closed.
struct Killed;

/// Do something in a process that is killed before call `step`: what came out, `None` when it did not get that far.
pub fn killed_at<T>(host: &Host, step: usize, work: impl FnOnce(&Host) -> T) -> Option<T> {
    let host = fated(host, Rc::new(KilledAt { left: Cell::new(step) }));
    match catch_unwind(AssertUnwindSafe(|| work(&host))) {
        Ok(done) => Some(done),
        Err(why) if why.is::<Killed>() => None,
        Err(why) => resume_unwind(why),
    }
}

impl Fate for KilledAt {
    fn before(&self, _call: &'static str) {
        if self.left.get() == 0 {
            resume_unwind(Box::new(Killed));
        }
        self.left.set(self.left.get() - 1);
    }
    fn of_a_write(&self, bytes: usize) -> usize {
        bytes.div_ceil(2)
    }
}

macro_rules! ask_first {
    ($($verb:ident($($name:ident: $type:ty),*) -> $out:ty;)*) => {
        $(fn $verb(&self, $($name: $type),*) -> io::Result<$out> {
            self.fate.before(stringify!($verb));
            self.files.$verb($($name),*)
        })*
    };
}

impl Files for Fated {
    ask_first! {
        open_dir(path: &Path) -> Handle;
        make_dir(path: &Path, mode: u32) -> ();
        stat(path: &Path) -> Stat;
        stat_followed(path: &Path) -> Stat;
        real_path(path: &Path) -> PathBuf;
        stat_handle(handle: Handle) -> Stat;
        stat_at(dir: Handle, name: &OsStr) -> Stat;
        open_dir_at(dir: Handle, name: &OsStr) -> Handle;
        make_dir_at(dir: Handle, name: &OsStr, mode: u32) -> ();
        open_at(dir: Handle, name: &OsStr, access: Access) -> Handle;
        read_at(file: Handle, offset: u64, buffer: &mut [u8]) -> usize;
        set_size(file: Handle, size: u64) -> ();
        set_mode(handle: Handle, mode: u32) -> ();
        set_owner(handle: Handle, uid: u32, gid: u32) -> ();
        sync(handle: Handle) -> ();
        link(dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> ();
        rename(dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> ();
        rename_new(dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> ();
        unlink(dir: Handle, name: &OsStr) -> ();
        remove_dir(dir: Handle, name: &OsStr) -> ();
        list(dir: Handle) -> Vec<OsString>;
        try_lock(handle: Handle) -> bool;
        watch(dir: Handle) -> Option<Rc<OwnedFd>>;
    }

    fn write_at(&self, file: Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.fate.before("write_at");
        self.files.write_at(file, offset, &bytes[..self.fate.of_a_write(bytes.len())])
    }

    fn close(&self, handle: Handle) {
        self.files.close(handle);
    }
}

/// As [`killed_at`], counting from where something else has been prepared.
pub fn killed_after<P, T>(
    host: &Host,
    step: usize,
    prepare: impl FnOnce(&Host) -> P,
    work: impl FnOnce(P) -> T,
) -> Option<T> {
    let killed = Rc::new(KilledAt { left: Cell::new(usize::MAX) });
    let host = fated(host, Rc::clone(&killed) as Rc<dyn Fate>);
    let prepared = prepare(&host);
    killed.left.set(step);
    match catch_unwind(AssertUnwindSafe(|| work(prepared))) {
        Ok(done) => Some(done),
        Err(why) if why.is::<Killed>() => None,
        Err(why) => resume_unwind(why),
    }
}

/// The same machine, where time runs this many times as fast.
pub fn hurried(host: &Host, times: u32) -> Host {
    let clock = Hurried { clock: Rc::clone(&host.clock), times };
    Host { clock: Rc::new(clock), ..host.clone() }
}

#[derive(Debug)]
struct Hurried {
    clock: Rc<dyn Clock>,
    times: u32,
}

impl Clock for Hurried {
    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
    fn monotonic(&self) -> Duration {
        self.clock.monotonic() * self.times
    }
    fn pause(&self, pause: &Pause) {
        self.clock.pause(&Pause { at_most: pause.at_most / self.times, wake: pause.wake.clone() });
    }
}

/// The real machine some time later.
pub fn later(by: Duration) -> Host {
    Host { clock: Rc::new(Later { by, pauses: RefCell::default() }), ..real() }
}

/// The system's clock, ahead of itself.
#[derive(Debug)]
pub struct Later {
    by: Duration,
    pauses: RefCell<Vec<Duration>>,
}

impl Clock for Later {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms() + i64::try_from(self.by.as_millis()).unwrap()
    }
    fn monotonic(&self) -> Duration {
        SystemClock.monotonic() + self.pauses.borrow().iter().sum()
    }
    /// The time counts as passed.
    fn pause(&self, pause: &Pause) {
        self.pauses.borrow_mut().push(pause.at_most);
    }
}
