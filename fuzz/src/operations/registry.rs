//! The registry: a record is the old or the new one, never a part of either.

use std::path::Path;

use harnery_native::javascript::json::Value;
use harnery_native::servers::read::read_server;
use harnery_native::servers::register::{register, GivenOwner, Input};
use harnery_native::servers::touch::touch;
use harnery_native::servers::unregister::unregister;
use harnery_native::servers::{CoordRoot, Kind, NoAnswers, Options, Registry, Schema};

use super::actor::{Actor, Fate, Script};

const PROJECT: &str = "/project";
const ID: &str = "a";

pub fn prepare(first: &Actor) {
    for dir in [PROJECT, "/project/.harnery", "/project/.harnery/servers"] {
        first.host.files.make_dir(Path::new(dir), 0o700).expect("a new directory");
    }
}

pub struct Registrations {
    registered: u32,
    /// Which registration may stand there, by its label; `None` for none.
    possible: Vec<Option<String>>,
}

impl Default for Registrations {
    fn default() -> Self {
        Registrations { registered: 0, possible: vec![None] }
    }
}

impl Registrations {
    pub fn register(&mut self, actor: &mut Actor, script: &mut Script<'_>) {
        self.registered += 1;
        let label = format!("registration {}", self.registered);
        let input = Input {
            id: Some(ID.into()),
            kind: Kind::Session,
            server_type: "preview".into(),
            label: Some(label.as_str().into()),
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
        };
        let fate = script.fate();
        let done = actor.run(fate, |host, _| register(&registry(host), &input, &options()));
        self.may_have_become(
            Some(label),
            fate,
            done.map(|done| done.map(|record| assert!(record.is_some()))),
        );
    }

    pub fn touch(&mut self, actor: &mut Actor, script: &mut Script<'_>) {
        let fate = script.fate();
        let now = actor.host.clock.now_ms();
        let done = actor.run(fate, |host, _| touch(&registry(host), ID, &options(), now));
        if let Some(Err(error)) = done {
            assert!(matches!(fate, Fate::Fails { .. }), "a touch is silent: {error}");
        }
    }

    pub fn unregister(&mut self, actor: &mut Actor, script: &mut Script<'_>) {
        let fate = script.fate();
        let done = actor.run(fate, |host, _| unregister(&registry(host), ID, None, &options()));
        if let (Some(Ok(false)), Fate::Fails { .. }) = (&done, fate) {
            // It was told that there is nothing, and removed nothing.
            return;
        }
        self.may_have_become(None, fate, done.map(|done| done.map(drop)));
    }

    pub fn check(&mut self, actor: &Actor) {
        let found = label(actor);
        assert!(self.possible.contains(&found), "{found:?} is none of {:?}", self.possible);
        self.possible = vec![found];
    }

    /// Records of the current contract are not synced: any state may come back, but none that stops a reader.
    pub fn lose_power(&mut self, actor: &Actor) {
        self.possible = vec![label(actor)];
    }

    fn may_have_become<E: std::fmt::Display>(
        &mut self,
        new: Option<String>,
        fate: Fate,
        done: Option<Result<(), E>>,
    ) {
        match done {
            Some(Ok(())) => self.possible = vec![new],
            Some(Err(error)) if !matches!(fate, Fate::Fails { .. }) => {
                panic!("nobody is in the way: {error}")
            }
            _ => self.possible.push(new),
        }
    }
}

fn label(actor: &Actor) -> Option<String> {
    let record = read_server(&registry(&actor.host), ID, &options()).expect("a registry that can be read");
    record.map(|record| record.object().get("label").and_then(Value::as_str).expect("a label").to_owned())
}

fn registry(host: &harnery_native::host::Host) -> Registry<'_> {
    Registry { host, schema: Schema::Current, answers: &NoAnswers }
}

fn options() -> Options {
    Options { coord_root: CoordRoot::At(PROJECT.into()), ..Options::default() }
}
