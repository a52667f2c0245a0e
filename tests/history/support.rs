//! Machines for these tests: real files in a directory of their own, clocks that can be turned, files that kill.

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
use harnery_native::history::append::append;
use harnery_native::history::read::Reader;
use harnery_native::history::{AppendOptions, Layout, NoSeams, ReadOptions, Receipt, Result, Writing};
use harnery_native::host::{Host, ProcessEnvironment};
use tempfile::TempDir;

/// A directory of a test's own, in memory where the machine has such a place.
pub fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("history-").tempdir_in(place).unwrap()
}

pub fn real() -> Host {
    Host::real(Rc::new(ProcessEnvironment))
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

/// The same machine, where something happens in the first pause.
pub fn when_paused(host: &Host, what: impl FnOnce() + 'static) -> Host {
    let what = RefCell::new(Some(Box::new(what) as Box<dyn FnOnce()>));
    Host { clock: Rc::new(WhenPaused { clock: Rc::clone(&host.clock), what }), ..host.clone() }
}

struct WhenPaused {
    clock: Rc<dyn Clock>,
    what: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl std::fmt::Debug for WhenPaused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WhenPaused")
    }
}

impl Clock for WhenPaused {
    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
    fn pause(&self, pause: &Pause) {
        if let Some(what) = self.what.take() {
            what();
        }
        self.clock.pause(pause);
    }
}

pub const LIMITS: (f64, f64) = (256.0, 256.0);

pub fn limits() -> AppendOptions {
    AppendOptions::new(LIMITS.0, LIMITS.1).unwrap()
}

pub fn reading(max_record_bytes: f64) -> ReadOptions {
    ReadOptions::new(max_record_bytes, None).unwrap()
}

pub fn add(host: &Host, dir: &Path, record: &str) -> Result<Receipt> {
    append(host, &Layout::directory(dir), &[record], limits(), Writing::default(), &NoSeams)
}

/// All records of a history, as texts.
pub fn read_all(host: &Host, layout: Layout, options: ReadOptions) -> Result<Vec<String>> {
    let mut reader = Reader::open(host, layout, options)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next(host)? {
        records.push(String::from_utf8(record.to_vec()).unwrap());
    }
    Ok(records)
}

pub fn read_dir(host: &Host, dir: &Path) -> Result<Vec<String>> {
    read_all(host, Layout::directory(dir), reading(4096.0))
}

pub fn read_file(host: &Host, path: &Path) -> Result<Vec<String>> {
    read_all(host, Layout::file(path)?, reading(4096.0))
}

pub fn wait_for(milliseconds: u64) -> Writing {
    Writing { lease_wait: Duration::from_millis(milliseconds), ..Writing::default() }
}

/// The names in a directory, sorted.
pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

pub fn path(dir: &TempDir, name: &str) -> PathBuf {
    dir.path().join(name)
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

/// Counts calls by name.
#[derive(Default)]
pub struct Counted {
    pub calls: RefCell<Vec<&'static str>>,
}

impl Counted {
    pub fn count(&self, call: &str) -> usize {
        self.calls.borrow().iter().filter(|name| **name == call).count()
    }
}

impl Fate for Counted {
    fn before(&self, call: &'static str) {
        self.calls.borrow_mut().push(call);
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

/// A memory file system of a few pages, where this process may mount one.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn mount(dir: &TempDir, kilobytes: u32) -> Option<SmallDisk> {
        let place = path(dir, "small");
        std::fs::create_dir(&place).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "tmpfs"])
            .arg(&place)
            .stderr(std::process::Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(SmallDisk(place))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

/// The real machine with a clock that stands still.
pub fn at_noon() -> Host {
    Host { clock: Rc::new(Noon), ..real() }
}

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms() / 86_400_000 * 86_400_000 + 43_200_000
    }
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
    fn pause(&self, pause: &Pause) {
        SystemClock.pause(pause);
    }
}
