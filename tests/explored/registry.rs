//! A server that registers while others touch its id and list it, under both contracts: whoever has read the record of
//! the dead one before it neither removes the living one's nor brings the dead one's back.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::host::Host;
use harnery_native::javascript::text::Text;
use harnery_native::servers::custody;
use harnery_native::servers::list::{list_servers, ListOptions};
use harnery_native::servers::register::{register, GivenOwner, Input};
use harnery_native::servers::touch::touch;
use harnery_native::servers::unregister::unregister;
use harnery_native::servers::{CoordRoot, Error, Kind, NoAnswers, Options, Registry, Schema, ServerRecord};
use harnery_native::sim::explore::{Check, Ending, Grain, Moment, Program, Stage};
use harnery_native::sim::{Caller, Machine, Place, World, START_MS};

use crate::proof::effort;
use crate::stage::{viewer, Group, TWO};

/// What a process does with the id `x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Registers itself, serves, and removes its registration.
    Server,
    /// Says that it is in use.
    Toucher,
    /// Lists all servers, and removes the dead ones.
    Lister,
}

#[derive(Debug)]
struct Process {
    role: Role,
    schema: Schema,
}

pub fn options() -> Options {
    Options { coord_root: CoordRoot::At("/p".to_owned()), custody_wait: Duration::ZERO }
}

pub fn of(host: &Host, schema: Schema) -> Registry<'_> {
    Registry { host, schema, answers: &NoAnswers }
}

pub fn put(host: &Host, schema: Schema) -> Result<ServerRecord, Error> {
    let input = Input {
        id: Some("x".to_owned()),
        kind: Kind::Session,
        server_type: Text::from("web"),
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
    };
    Ok(register(&of(host, schema), &input, &options())?.expect("there is a project"))
}

impl Program for Process {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        let registry = of(stage.host, self.schema);
        let done = match self.role {
            Role::Server => self.serve(stage, &registry),
            Role::Toucher => {
                touch(&registry, "x", &options(), stage.host.clock.now_ms()).map(|()| "touched".to_owned())
            }
            Role::Lister => {
                let listing = ListOptions { options: options(), ..ListOptions::default() };
                list_servers(&registry, &listing).map(|report| format!("pruned {:?}", report.pruned))
            }
        };
        match done {
            Ok(outcome) => Ending::new(outcome),
            Err(Error::Lease(error)) if error.is_contention() => Ending::new("refused: the lease is held"),
            Err(Error::Busy(_)) => Ending::new("refused: busy"),
            Err(error) => Ending::fault("failed", error.to_string()),
        }
    }
}

impl Process {
    fn serve(&self, stage: &Stage<'_>, registry: &Registry<'_>) -> Result<String, Error> {
        let record = put(stage.host, self.schema)?;
        stage.holds();
        stage.lets_go();
        let removed = match self.schema {
            Schema::Current => unregister(registry, "x", Some(record.leader().number), &options()),
            Schema::Custody => custody::unregister::unregister(registry, &record, &options()),
        }?;
        Ok(if removed { "registered, removed" } else { "registered, and gone" }.to_owned())
    }
}

/// As long as the server serves, the record is its own.
struct TheLivingOne {
    schema: Schema,
}

impl Check for TheLivingOne {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        let after = moment.after;
        let bytes = after.disk.content(Caller(0), &Place::absolute(OsStr::new("/p/.harnery/servers/x.json")));
        let record = bytes.as_ref().map(|bytes| ServerRecord::read(bytes, self.schema));
        if record == Some(None) {
            found.push("the record on disk is none".to_owned());
        }
        let pid = record.flatten().and_then(|record| record.leader().pid());
        if after.holders() > 0 && pid != Some(viewer(0).pid) {
            found.push(format!("a server serves, and the record is of {pid:?}"));
        }
        if let Some(ending) = after.ending(usize::from(moment.event.who())) {
            found.extend(ending.fault.clone());
            if ending.outcome == "registered, and gone" {
                found.push("a living server's record was removed".to_owned());
            }
        }
    }
}

/// A registry in which `x` is a dead server's.
fn world(schema: Schema) -> World {
    let machine = Machine::default();
    {
        let mut world = machine.world();
        world.now_ms = START_MS - 3_600_000;
        world.disk.now_ms = world.now_ms;
    }
    let maker = machine.start(90);
    maker.host().files.make_dir(Path::new("/p"), 0o700).unwrap();
    put(&maker.host(), schema).unwrap();
    maker.kill();
    let mut world = World::clone(&machine.world());
    world.now_ms = START_MS;
    world.disk.now_ms = START_MS;
    world
}

fn explore(schema: Schema, roles: &'static [Role], group: Group) {
    let program = |n: u8| -> Rc<dyn Program> { Rc::new(Process { role: roles[usize::from(n)], schema }) };
    let contenders = u8::try_from(roles.len()).unwrap();
    let group = Group { contenders, alike: false, grain: Grain::Coarse, ..group };
    let what = format!("registry, {schema:?}: {roles:?}");
    let report = group.explore(&what, "a dead server", &program, world(schema), &mut TheLivingOne { schema });
    assert!(report.findings.is_empty(), "{report}");
}

const EACH: [&[Role]; 2] = [&[Role::Server, Role::Toucher], &[Role::Server, Role::Lister]];

#[test]
fn a_server_keeps_its_record_whoever_touches_or_lists_its_id_meanwhile() {
    for roles in EACH {
        explore(Schema::Current, roles, TWO);
        explore(Schema::Custody, roles, Group { preemptions: Some(1 + u8::from(effort() > 1)), ..TWO });
    }
}

#[test]
fn a_server_keeps_its_record_when_its_id_is_touched_and_listed_at_once() {
    const ALL: &[Role] = &[Role::Server, Role::Toucher, Role::Lister];
    explore(Schema::Current, ALL, Group { preemptions: Some(2), kills: u8::from(effort() > 1), ..TWO });
    explore(Schema::Custody, ALL, Group { preemptions: Some(2), kills: 0, states: 20_000 * effort(), ..TWO });
}
