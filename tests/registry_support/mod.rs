//! A registry in a temporary project, and the processes that tests register in it.

#![allow(dead_code, reason = "each claim uses its own part")]

pub mod hooked;
pub mod process;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use harnery_native::host::{Environment, Host};
use harnery_native::javascript::text::Text;
use harnery_native::servers::register::{register, GivenOwner, Input};
use harnery_native::servers::{
    Answers, CoordRoot, Error, Kind, NoAnswers, Options, Registry, Schema, ServerRecord,
};

/// A project of its own in a directory of its own.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub host: Host,
    pub environment: Rc<FakeEnvironment>,
    pub answers: Box<dyn Answers>,
    pub schema: Schema,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::of(Schema::Current)
    }

    pub fn of(schema: Schema) -> Bench {
        let memory = Path::new("/dev/shm");
        let at = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let dir = tempfile::Builder::new().prefix("registry-").tempdir_in(at).expect("a directory");
        let environment = Rc::new(FakeEnvironment::new(dir.path()));
        let host = Host::real(environment.clone());
        Bench { dir, host, environment, answers: Box::new(NoAnswers), schema }
    }

    pub fn registry(&self) -> Registry<'_> {
        Registry { host: &self.host, schema: self.schema, answers: self.answers.as_ref() }
    }

    pub fn root(&self) -> &str {
        self.dir.path().to_str().expect("temporary names are text")
    }

    pub fn options(&self) -> Options {
        Options { coord_root: CoordRoot::At(self.root().to_owned()), ..Options::default() }
    }

    pub fn servers(&self) -> PathBuf {
        self.dir.path().join(".harnery/servers")
    }

    pub fn file(&self, id: &str) -> PathBuf {
        self.servers().join(format!("{id}.json"))
    }

    pub fn register(&self, input: &Input) -> Result<ServerRecord, Error> {
        register(&self.registry(), input, &self.options()).map(|record| record.expect("there is a project"))
    }

    /// Put a record's text there as somebody else would.
    pub fn plant(&self, id: &str, text: &str) {
        std::fs::create_dir_all(self.servers()).expect("a directory");
        std::fs::write(self.file(id), text).expect("a file");
    }

    pub fn text(&self, id: &str) -> String {
        std::fs::read_to_string(self.file(id)).expect("a record")
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.servers()).expect("a directory");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// A registration of this process under an id.
pub fn input(id: &str) -> Input {
    Input {
        id: Some(id.to_owned()),
        kind: Kind::Session,
        server_type: Text::from("preview"),
        label: None,
        url: None,
        port: None,
        pid: None,
        start_token: None,
        pids: Vec::new(),
        scope: None,
        cwd: None,
        log: None,
        started_at: None,
        owner: GivenOwner::Nobody,
    }
}

/// A record as JavaScript may have written it.
pub fn planted(id: &str, pid: i64, more: &str) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!(
        r#"{{"schema_version":1,"id":"{id}","kind":"session","type":"preview","label":"{id}","pid":{pid},"host":"{host}"{more},"started_at":"2026-01-01T00:00:00.000Z","registered_at":"2026-01-01T00:00:00.000Z"}}"#
    )
}

/// A number that no process of this machine has.
pub const NOBODY: i64 = 0x7fff_fff0;

pub fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).expect("it is there").mode() & 0o7777
}

/// Variables and a current directory that no other test shares.
#[derive(Debug)]
pub struct FakeEnvironment {
    pub variables: RefCell<BTreeMap<String, String>>,
    pub current: RefCell<PathBuf>,
}

impl FakeEnvironment {
    fn new(current: &Path) -> Self {
        FakeEnvironment { variables: RefCell::default(), current: RefCell::new(current.to_owned()) }
    }

    pub fn set(&self, name: &str, value: &str) {
        self.variables.borrow_mut().insert(name.to_owned(), value.to_owned());
    }
}

impl Environment for FakeEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        self.variables.borrow().get(name).cloned()
    }

    fn current_dir(&self) -> PathBuf {
        self.current.borrow().clone()
    }
}
