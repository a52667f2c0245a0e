//! What the tests of leases share: scenes with a lease directory, hooks that are closures, owners that are dead.

#![allow(dead_code, unused_imports, reason = "each test crate uses its own part")]
#![allow(unreachable_pub, reason = "a module of tests")]

pub mod contender;
mod planted;
mod script;
mod tap;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use harnery_native::files::record::{read, write_new, Read};
use harnery_native::files::Dir;
use harnery_native::host::{Host, ProcessEnvironment};
use harnery_native::lease::{acquire, Durability, Error, Hooks, Input, Lease, NoHooks, Owner, Reason};

pub use planted::Planted;
pub use script::Script;
pub use tap::{Before, Tap};

pub const AUTHORITY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
pub const SCOPE: &str = "workspace";
pub const STALE_AFTER_MS: i64 = 1000;
/// Above every system's highest number.
pub const DEAD_PID: i64 = 4_194_305;
/// 2023-11-14: whatever is acquired then has expired by now.
pub const LONG_AGO: f64 = 1_700_000_000_000.0;

/// A lease on some machine.
#[derive(Clone)]
pub struct Scene {
    pub host: Host,
    pub path: PathBuf,
}

/// A real directory, on a memory file system where there is one. Removed when dropped.
pub fn real() -> (tempfile::TempDir, Scene) {
    let shm = Path::new("/dev/shm");
    let parent = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let root = tempfile::tempdir_in(parent).unwrap();
    let scene = Scene { host: Host::real(Rc::new(ProcessEnvironment)), path: root.path().join("x.lease") };
    (root, scene)
}

impl Scene {
    pub fn input(&self) -> Input {
        Input {
            path: self.path.clone(),
            scope: SCOPE.into(),
            authority_sha256: AUTHORITY.into(),
            metadata: None,
            stale_after_ms: STALE_AFTER_MS as f64,
            pid: None,
            host: None,
            durability: Durability::Power,
        }
    }

    pub fn acquire(&self) -> Result<Lease, Error> {
        acquire(&self.host, &self.input(), &NoHooks)
    }

    pub fn acquire_with(&self, hooks: &dyn Hooks) -> Result<Lease, Error> {
        acquire(&self.host, &self.input(), hooks)
    }

    /// A holder whose process is dead and whose time is over.
    pub fn dead_holder(&self) -> Owner {
        let input = Input { pid: Some(DEAD_PID as f64), ..self.input() };
        acquire(&self.host, &input, &Script::at(LONG_AGO)).unwrap().owner.as_ref().clone()
    }

    /// A holder `D` as a harness writes it, dead and expired.
    pub fn planted_holder(&self) -> Planted {
        Planted::new(self, "D").holds(self)
    }

    pub fn dir(&self) -> Dir {
        Dir::open(&self.host.files, &self.path).unwrap()
    }

    pub fn below(&self, name: &str) -> Dir {
        self.dir().open_dir(name).unwrap()
    }

    /// The names in the lease directory, sorted.
    pub fn names(&self) -> Vec<String> {
        names(&self.dir())
    }

    pub fn has(&self, name: &str) -> bool {
        self.dir().look(name).unwrap().is_some()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        bytes_of(&self.dir(), name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        write_new(&self.dir(), name, bytes, 0o600).unwrap();
    }

    /// Make a directory in the lease directory and open it.
    pub fn make(&self, name: &str) -> Dir {
        self.dir().make_dir(name, 0o700).unwrap();
        self.below(name)
    }

    /// The id of whom `current` names.
    pub fn holder(&self) -> String {
        id_in(&self.read("current"))
    }

    /// That nothing but the lease directory itself is left.
    #[track_caller]
    pub fn assert_free_and_clean(&self) {
        assert_eq!(self.names(), Vec::<String>::new());
    }

    /// That a later contender gets the lease, and leaves the directory as clean as can be.
    #[track_caller]
    pub fn assert_acquirable(&self) {
        let mut lease = self.acquire().unwrap();
        lease.release(&self.host).unwrap();
    }
}

pub fn names(dir: &Dir) -> Vec<String> {
    let mut names: Vec<_> = dir.list().unwrap().into_iter().map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn bytes_of(dir: &Dir, name: &str) -> Vec<u8> {
    match read(dir, name, 1 << 20).unwrap() {
        Read::Bytes { bytes, .. } => bytes,
        other => panic!("{name}: {other:?}"),
    }
}

pub fn id_in(bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    text.split("\"owner_id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[track_caller]
pub fn reason(result: Result<Lease, Error>) -> Reason {
    match result {
        Err(Error::Held { reason, .. }) => reason,
        other => panic!("expected a held lease, got {other:?}"),
    }
}

#[track_caller]
pub fn refused(result: Result<Lease, Error>, code: &str) -> String {
    let error = result.expect_err("a refusal");
    assert_eq!(error.code().as_deref(), Some(code), "{error}");
    error.to_string()
}

/// A lease on a simulated machine, as its first process sees it.
pub fn simulated() -> (harnery_native::sim::Machine, Scene) {
    let machine = harnery_native::sim::Machine::default();
    let host = machine.start(1).host();
    (machine, Scene { host, path: "/x.lease".into() })
}

impl Scene {
    /// The same lease as another process of the machine sees it. Its number is 100 more.
    pub fn of_process(&self, machine: &harnery_native::sim::Machine, number: u8) -> Scene {
        Scene { host: machine.start(number).host(), path: self.path.clone() }
    }

    /// The same lease, with its calls tapped.
    pub fn tapped(&self) -> (Rc<Tap>, Scene) {
        let tap = Tap::new(self.host.files.clone());
        let host = Host { files: tap.clone(), ..self.host.clone() };
        (tap, Scene { host, path: self.path.clone() })
    }
}
