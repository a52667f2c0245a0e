//! What the tests of leases share: a scene with a lease directory, hooks that are closures, owners that are dead.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use harnery_native::host::{Host, ProcessEnvironment};
use harnery_native::javascript::Thrown;
use harnery_native::lease::{
    acquire, Durability, Error, Hooks, Input, Lease, Owner, Probe, Probed, Reason, RecoveryStep,
};

pub const AUTHORITY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
pub const STALE_AFTER_MS: i64 = 1000;
/// Above every system's highest number.
pub const DEAD_PID: f64 = 4_194_305.0;

/// A lease directory of its own, on a memory file system where there is one.
pub struct Scene {
    pub root: tempfile::TempDir,
    pub host: Host,
}

impl Scene {
    pub fn new() -> Scene {
        let shm = Path::new("/dev/shm");
        let parent = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
        Scene { root: tempfile::tempdir_in(parent).unwrap(), host: Host::real(Rc::new(ProcessEnvironment)) }
    }

    pub fn path(&self) -> PathBuf {
        self.root.path().join("x.lease")
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn input(&self) -> Input {
        Input {
            path: self.path(),
            scope: "workspace".into(),
            authority_sha256: AUTHORITY.into(),
            metadata: None,
            stale_after_ms: STALE_AFTER_MS as f64,
            pid: None,
            host: None,
            durability: Durability::Power,
        }
    }

    pub fn acquire(&self, hooks: &dyn Hooks) -> Result<Lease, Error> {
        acquire(&self.host, &self.input(), hooks)
    }

    /// A holder whose process is dead and whose time is over.
    pub fn dead_holder(&self) -> Owner {
        let input = Input { pid: Some(DEAD_PID), ..self.input() };
        let lease = acquire(&self.host, &input, &past()).unwrap();
        lease.owner.clone()
    }

    /// The names in the lease directory, sorted.
    pub fn names(&self) -> Vec<String> {
        names_in(&self.path())
    }

    /// That nothing but the lease directory itself is left.
    pub fn assert_empty(&self) {
        assert_eq!(self.names(), Vec::<String>::new());
    }

    pub fn holder(&self) -> String {
        let text = std::fs::read_to_string(self.at("current")).unwrap();
        text.split("\"owner_id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    }
}

pub fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

type Callback<A, R> = RefCell<Option<Box<dyn FnMut(A) -> R>>>;

/// Hooks as closures.
#[derive(Default)]
pub struct Script {
    pub now: Cell<Option<f64>>,
    pub probe: Callback<i64, Probed>,
    pub validate: Callback<Owner, Result<bool, Thrown>>,
    pub on_create: Callback<(), Result<(), Thrown>>,
    pub on_contention: Callback<(), Result<(), Thrown>>,
    pub on_step: Callback<RecoveryStep, Result<(), Thrown>>,
}

impl Script {
    pub fn at(now: f64) -> Script {
        let script = Script::default();
        script.now.set(Some(now));
        script
    }

    pub fn on_step(self, call: impl FnMut(RecoveryStep) -> Result<(), Thrown> + 'static) -> Script {
        *self.on_step.borrow_mut() = Some(Box::new(call));
        self
    }

    pub fn on_contention(self, call: impl FnMut(()) -> Result<(), Thrown> + 'static) -> Script {
        *self.on_contention.borrow_mut() = Some(Box::new(call));
        self
    }

    pub fn on_create(self, call: impl FnMut(()) -> Result<(), Thrown> + 'static) -> Script {
        *self.on_create.borrow_mut() = Some(Box::new(call));
        self
    }

    pub fn validate(self, call: impl FnMut(Owner) -> Result<bool, Thrown> + 'static) -> Script {
        *self.validate.borrow_mut() = Some(Box::new(call));
        self
    }

    pub fn probe(self, call: impl FnMut(i64) -> Probed + 'static) -> Script {
        *self.probe.borrow_mut() = Some(Box::new(call));
        self
    }
}

fn call<A, R>(callback: &Callback<A, R>, argument: A) -> Option<R> {
    // Taken out while it runs, so that it may come back here.
    let mut taken = callback.borrow_mut().take()?;
    let result = taken(argument);
    *callback.borrow_mut() = Some(taken);
    Some(result)
}

impl Probe for Script {
    fn probe(&self, pid: i64) -> Probed {
        call(&self.probe, pid).unwrap()
    }
}

impl Hooks for Script {
    fn now(&self) -> Result<Option<f64>, Thrown> {
        Ok(self.now.get())
    }
    fn probe_pid(&self) -> Option<&dyn Probe> {
        self.probe.borrow().is_some().then_some(self)
    }
    fn validate_stale_owner(&self, owner: &Owner) -> Result<Option<bool>, Thrown> {
        call(&self.validate, owner.clone()).transpose()
    }
    fn on_lease_directory_create(&self) -> Result<bool, Thrown> {
        call(&self.on_create, ()).transpose().map(|called| called.is_some())
    }
    fn on_contention(&self) -> Result<(), Thrown> {
        call(&self.on_contention, ()).unwrap_or(Ok(()))
    }
    fn on_recovery_step(&self, step: RecoveryStep) -> Result<(), Thrown> {
        call(&self.on_step, step).unwrap_or(Ok(()))
    }
}

/// A clock that stands long ago: what is acquired then has expired by now.
pub fn past() -> Script {
    Script::at(1_700_000_000_000.0)
}

pub fn reason(result: Result<Lease, Error>) -> Reason {
    match result {
        Err(Error::Held { reason, .. }) => reason,
        other => panic!("expected a held lease, got {other:?}"),
    }
}

pub fn code(result: Result<Lease, Error>) -> String {
    result.expect_err("a refusal").code().unwrap().into_owned()
}
