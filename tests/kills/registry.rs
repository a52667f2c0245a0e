//! Server records, under both contracts.

use std::path::Path;

use harnery_native::host::Host;
use harnery_native::servers::custody::unregister::unregister;
use harnery_native::servers::read::{read_records, read_server};
use harnery_native::servers::register::{register, Input};
use harnery_native::servers::touch::touch;
use harnery_native::servers::{CoordRoot, Error, NoAnswers, Options, Registry, Schema, ServerRecord};

use crate::mortal::real;
use crate::places::{prove, Tally};
use crate::registry_support::{input, NOBODY};
use crate::victim::{before_every_call, has_returned, Doomed, Task};

pub const TASKS: &[Task] = &[
    ("register", |doomed| registers(doomed, Schema::Current)),
    ("register under custody", |doomed| registers(doomed, Schema::Custody)),
    ("touch", |doomed| touches(doomed, Schema::Current)),
    ("touch under custody", |doomed| touches(doomed, Schema::Custody)),
    ("unregister under custody", |doomed| {
        let at = At { host: doomed.host.clone(), path: &doomed.at, schema: Schema::Custody };
        let record = at.read("a").expect("it is there");
        doomed.light();
        assert!(unregister(&at.registry(), &record, &at.options()).expect("nobody else has custody"));
    }),
];

fn registers(doomed: &Doomed, schema: Schema) {
    let at = At { host: doomed.host.clone(), path: &doomed.at, schema };
    doomed.light();
    at.register(&labelled("the victim's", None)).expect("nobody else registers");
}

fn touches(doomed: &Doomed, schema: Schema) {
    let at = At { host: doomed.host.clone(), path: &doomed.at, schema };
    doomed.light();
    touch(&at.registry(), "a", &at.options(), 1_900_000_000_000).expect("nobody else touches");
}

/// A registry as one process has it.
struct At<'a> {
    host: Host,
    path: &'a Path,
    schema: Schema,
}

impl<'a> At<'a> {
    /// As a process has it that has just come.
    fn fresh(path: &'a Path, schema: Schema) -> At<'a> {
        At { host: real(), path, schema }
    }

    fn registry(&self) -> Registry<'_> {
        Registry { host: &self.host, schema: self.schema, answers: &NoAnswers }
    }

    fn options(&self) -> Options {
        let root = self.path.to_str().expect("temporary names are text").to_owned();
        Options { coord_root: CoordRoot::At(root), ..Options::default() }
    }

    fn register(&self, input: &Input) -> Result<ServerRecord, Error> {
        register(&self.registry(), input, &self.options()).map(|record| record.expect("there is a project"))
    }

    /// What is registered: a whole record or nothing.
    fn read(&self, id: &str) -> Option<ServerRecord> {
        read_server(&self.registry(), id, &self.options()).expect("a whole record or none")
    }
}

/// A registration of the id `a`, of this process unless it says otherwise.
fn labelled(label: &str, pid: Option<i64>) -> Input {
    Input { label: Some(label.into()), pid: pid.map(|pid| pid as f64), ..input("a") }
}

/// A living server `b`, and a server `a` that has ended.
fn two_servers(path: &Path, schema: Schema) -> (ServerRecord, ServerRecord) {
    let at = At::fresh(path, schema);
    let ended = at.register(&labelled("the old", Some(NOBODY))).expect("nobody else registers");
    (at.register(&input("b")).expect("nobody else registers"), ended)
}

/// The living server is registered as it was, and the next one registers under the other's id at its first try. All
/// that is left is what the victim was writing, under a name that no reader takes for a record.
fn the_next_registers(path: &Path, schema: Schema, living: &ServerRecord) {
    let at = At::fresh(path, schema);
    let next = at.register(&labelled("the next", None)).expect("whoever had the id is dead");
    let records = read_records(&at.registry(), &at.options()).expect("whole records");
    assert_eq!(records, [next, living.clone()]);
    let left = names(&path.join(".harnery/servers"));
    let known = ["a.json", "b.json", ".registry.lock", ".custody"];
    let extra: Vec<_> = left.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(extra.len() <= 1 && extra.iter().all(|name| name.starts_with("a.json.tmp.")), "{left:?}");
    if schema == Schema::Custody {
        // A mutation lease's directory stays; what was never written to its end is nobody's to sweep.
        for name in names(&path.join(".harnery/servers/.custody/a")) {
            let file = path.join(".harnery/servers/.custody/a").join(&name);
            let text = std::fs::read_to_string(&file).expect("a file");
            assert!(name.starts_with("owner-") && !text.ends_with('\n'), "{name} was left");
        }
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect()
}

#[test]
fn whoever_is_killed_registering_a_server_leaves_the_old_record_or_the_new() {
    prove("SIGKILL before each file call, registering a server", |place| {
        registering(place, "register", Schema::Current)
    });
}

#[test]
fn whoever_is_killed_registering_under_custody_leaves_the_old_record_or_the_new() {
    prove("SIGKILL before each file call, registering a server under custody", |place| {
        registering(place, "register under custody", Schema::Custody)
    });
}

fn registering(place: &Path, task: &str, schema: Schema) -> Tally {
    before_every_call(
        place,
        task,
        |path| two_servers(path, schema),
        |path, victim, (living, ended)| {
            let stands = At::fresh(path, schema).read("a").expect("the old or the new");
            if stands != ended {
                assert_eq!(stands.leader().number as i64, i64::from(victim.pid().get()));
            }
            assert!(stands != ended || !has_returned(path));
            the_next_registers(path, schema, &living);
        },
    )
}

#[test]
fn whoever_is_killed_touching_a_server_leaves_it_registered() {
    prove("SIGKILL before each file call, touching a server, under either contract", |place| {
        let mut tally = Tally::default();
        for (task, schema) in [("touch", Schema::Current), ("touch under custody", Schema::Custody)] {
            let servers = |path: &Path| two_servers(path, schema);
            tally.add(before_every_call(place, task, servers, |path, _, (living, ended)| {
                let stands = At::fresh(path, schema).read("a").expect("it is still there");
                assert!(stands.is_same_registration(&ended));
                assert!(stands != ended || !has_returned(path));
                the_next_registers(path, schema, &living);
            }));
        }
        tally
    });
}

#[test]
fn whoever_is_killed_removing_a_server_leaves_it_whole_or_gone() {
    prove("SIGKILL before each file call, removing a server under custody", |place| {
        let servers = |path: &Path| two_servers(path, Schema::Custody);
        before_every_call(place, "unregister under custody", servers, |path, _, (living, ended)| {
            if let Some(stands) = At::fresh(path, Schema::Custody).read("a") {
                assert!(stands == ended && !has_returned(path));
            }
            the_next_registers(path, Schema::Custody, &living);
        })
    });
}
