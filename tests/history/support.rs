//! Machines for these tests: clocks that can be turned, a disk that is full.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use harnery_native::clock::{Clock, Pause, SystemClock};
use harnery_native::history::append::append;
use harnery_native::history::read::Reader;
use harnery_native::history::{AppendOptions, Layout, NoSeams, ReadOptions, Receipt, Result, Writing};
use harnery_native::host::Host;
use tempfile::TempDir;

pub use crate::mortal::{fated, killed_at, later, real, scratch, Fate};

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
