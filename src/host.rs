//! The host: a machine as one value. Every verb of the core takes it first.

pub mod features;
pub mod users;

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::files::{disk::Disk, Files, Identity};
use crate::javascript::paths;
use crate::net::Sockets;
use crate::process::{Pid, Processes, Witness};

/// Environment variables, as the caller's runtime has them (a JavaScript `process.env` is not always the process's).
pub trait Environment: fmt::Debug {
    /// The variable's value; `None` when it is not set.
    fn get(&self, name: &str) -> Option<String>;
    /// `process.cwd()`.
    fn current_dir(&self) -> PathBuf;
}

/// A machine, and what this process remembers of it between calls.
#[derive(Debug, Clone)]
pub struct Host {
    pub files: Rc<dyn Files>,
    pub clock: Rc<dyn Clock>,
    pub processes: Rc<dyn Processes>,
    pub sockets: Rc<dyn Sockets>,
    pub environment: Rc<dyn Environment>,
    pub memory: Rc<Memory>,
}

/// What a process remembers between calls. Forgetting it costs time, never correctness.
#[derive(Debug, Default)]
pub struct Memory {
    /// When large lease directories were last swept, by [`Clock::monotonic`].
    swept: RefCell<BTreeMap<(u64, u64), Duration>>,
    /// What this process is observed to be, by its number: a forked child has another.
    own_witness: RefCell<Option<(Pid, Witness)>>,
    parts: RefCell<BTreeMap<TypeId, Rc<dyn Any>>>,
}

impl Memory {
    /// A domain's own part of what is remembered, made at its first use.
    pub fn part<T: Default + 'static>(&self) -> Rc<T> {
        let mut parts = self.parts.borrow_mut();
        let part = parts.entry(TypeId::of::<T>()).or_insert_with(|| Rc::new(T::default()));
        Rc::clone(part).downcast().expect("parts are kept by their type")
    }

    /// Whether any directory was swept lately, as far as is known without asking which one is meant.
    pub fn has_swept(&self) -> bool {
        !self.swept.borrow().is_empty()
    }

    /// Whether a directory may be swept again at `now`: it was not, for `every`.
    pub fn may_sweep_again(&self, dir: Identity, now: Duration, every: Duration) -> bool {
        let mut swept = self.swept.borrow_mut();
        swept.retain(|_, at| now.saturating_sub(*at) < every);
        !swept.contains_key(&(dir.device, dir.inode))
    }

    /// A large directory is swept at `now`.
    pub fn swept(&self, dir: Identity, now: Duration) {
        self.swept.borrow_mut().insert((dir.device, dir.inode), now);
    }
}

impl Host {
    /// The witness of this process, which has the number `me`, observed once: nothing in it changes while the process
    /// lives, but for a restore from a checkpoint (after which it reads as another process anyway).
    pub fn own_witness(&self, me: Pid) -> Option<Witness> {
        let known = self.memory.own_witness.borrow().clone().filter(|(pid, _)| *pid == me);
        if let Some((_, witness)) = known {
            return Some(witness);
        }
        // Nothing is borrowed while the machine is asked: it may ask the caller's environment.
        let witness = self.processes.witness(me)?;
        self.memory.own_witness.replace(Some((me, witness.clone())));
        Some(witness)
    }

    /// `path.resolve(path)`. The current directory is asked for only where it matters.
    pub fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        let cwd = if path.is_absolute() { PathBuf::new() } else { self.environment.current_dir() };
        paths::resolve(&cwd, path)
    }

    /// The machine that this process runs on.
    pub fn real(environment: Rc<dyn Environment>) -> Host {
        let variables = Rc::clone(&environment);
        let forced_probe = move || variables.get("HARNERY_PID_PROBE");
        Host {
            files: Rc::new(Disk::default()),
            clock: Rc::new(SystemClock),
            processes: Rc::new(crate::process::machine::Machine::new(forced_probe)),
            sockets: Rc::new(crate::net::machine::Machine::default()),
            environment,
            memory: Rc::default(),
        }
    }
}

/// The process's own environment, for callers without JavaScript.
#[derive(Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    #[expect(clippy::disallowed_methods, reason = "Rust callers have no other environment")]
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    #[expect(clippy::disallowed_methods, reason = "Rust callers have no other current directory")]
    fn current_dir(&self) -> PathBuf {
        // A directory that was removed has no path. Through this name every operation says so itself (`ENOENT`).
        std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/proc/self/cwd"))
    }
}
