//! The server registry under both contracts: every verb that changes it, every one that reads it.

mod operations;

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use harnery_native::files::{Access, Dir};
use harnery_native::host::Host;
use harnery_native::javascript::text::Text;
use harnery_native::servers::read::read_server;
use harnery_native::servers::register::{register, GivenOwner, Input};
use harnery_native::servers::unregister::unregister;
use harnery_native::servers::{
    custody, CoordRoot, Error, Kind, NoAnswers, Options, Registry, Schema, ServerRecord,
};
use harnery_native::sim::{Call, Caller, Disk, Machine, Place, World};

use self::operations::{Operation, OPERATIONS};
use super::staged::{shared, PORT, SERVER};
use super::{Extent, Failure, Proof};

const ROOT: &str = "/p";
const SERVERS: &str = "/p/.harnery/servers";

fn registry(host: &Host, schema: Schema) -> Registry<'_> {
    Registry { host, schema, answers: &NoAnswers }
}

fn options() -> Options {
    Options { coord_root: CoordRoot::At(ROOT.to_owned()), ..Options::default() }
}

fn input(id: &str, pid: Option<i64>) -> Input {
    Input {
        id: Some(id.to_owned()),
        kind: Kind::Session,
        server_type: Text::from("web"),
        label: None,
        url: None,
        port: pid.map(|_| f64::from(PORT)),
        pid: pid.map(|pid| pid as f64),
        start_token: None,
        pids: Vec::new(),
        scope: None,
        cwd: None,
        log: None,
        started_at: None,
        owner: GivenOwner::Nobody,
    }
}

fn put(host: &Host, schema: Schema, id: &str, pid: Option<i64>) -> Result<ServerRecord, Error> {
    Ok(register(&registry(host, schema), &input(id, pid), &options())?.expect("there is a project"))
}

fn current(host: &Host, schema: Schema, id: &str) -> Result<Option<ServerRecord>, Error> {
    read_server(&registry(host, schema), id, &options())
}

/// What a registry may be found as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scene {
    NoRegistry,
    /// Somebody else's server runs.
    Bystander,
    /// Besides, `x` is registered by a process that has gone.
    Dead,
    /// Besides, `x` is registered, and its process lives.
    Running,
}

/// The contract that the records are of, and the scene.
fn world(schema: Schema, scene: Scene) -> World {
    let machine = Machine::default();
    let (maker, _) = (machine.start(9), machine.start((SERVER - 100) as u8));
    let host = maker.host();
    host.files.make_dir(Path::new(ROOT), 0o700).unwrap();
    host.files.make_dir(Path::new("/p/.harnery"), 0o700).unwrap();
    let harnery = Dir::open(&host.files, Path::new("/p/.harnery")).unwrap();
    let configured = r#"{"servers":{"port_ranges":{"web":[8000,8001]}}}"#;
    let file = harnery.open_file("config.jsonc", Access::CreateNew { mode: 0o600 }).unwrap();
    file.write_all_at(0, configured.as_bytes()).unwrap();
    if scene != Scene::NoRegistry {
        put(&host, schema, "bystander", Some(SERVER)).unwrap();
    }
    match scene {
        Scene::Dead => drop(put(&host, schema, "x", None).unwrap()),
        Scene::Running => drop(put(&host, schema, "x", Some(SERVER)).unwrap()),
        _ => {}
    }
    drop((harnery, file));
    maker.kill();
    machine.pass(Duration::from_secs(3600));
    let world = World::clone(&machine.world());
    world
}

fn bytes(disk: &Disk, name: &str) -> Option<Vec<u8>> {
    let path = format!("{SERVERS}/{name}.json");
    Some(disk.content(Caller(0), &Place::absolute(OsStr::new(&path)))?.to_vec())
}

fn document(failure: &Failure<'_>, error: &Error) {
    let code = match error {
        Error::Path(error) => error.code(),
        Error::Lease(error) => error.code().map(Into::into),
        _ => Some("SERVER_…".to_owned()),
    };
    failure.must_be_documented(code.as_deref(), &error.to_string());
}

/// No record is lost or torn, nothing lies about, and the next one who comes changes the registry.
fn goes_on(failure: &Failure<'_>, schema: Schema) {
    let machine = failure.an_hour_later();
    let bystander = bytes(&machine.world().disk, "bystander");
    let is_whole = |bytes: &Vec<u8>| {
        [Schema::Current, Schema::Custody].iter().any(|schema| ServerRecord::read(bytes, *schema).is_some())
    };
    if failure.from != "NoRegistry" && !bystander.as_ref().is_some_and(is_whole) {
        failure.blame(format!("the bystander's record: {bystander:?}"));
    }
    let host = machine.start(3).host();
    if let Ok(dir) = Dir::open(&host.files, Path::new(SERVERS)) {
        // The umask takes from what is created, and where removing it fails too the mode stays.
        let is_its_own =
            failure.is_shared() && failure.from == "NoRegistry" && failure.extent == Extent::Once;
        if is_its_own && dir.stat().unwrap().mode != 0o770 {
            failure.blame(format!("the group is kept out: {:o}", dir.stat().unwrap().mode));
        }
        let names = dir.list().unwrap();
        let lies_about = names.iter().any(|name| name.to_string_lossy().contains(".tmp."));
        let is_cleaning = matches!(failure.call, Call::Unlink(_)) || failure.extent == Extent::FromThere;
        if lies_about && !is_cleaning {
            failure.blame(format!("left: {names:?}"));
        }
    }
    let changed = || -> Result<(), Error> {
        // Whichever contract it is of by now.
        let schema = match bytes(&machine.world().disk, "x") {
            Some(bytes) if ServerRecord::read(&bytes, Schema::Custody).is_some() => Schema::Custody,
            Some(_) => Schema::Current,
            None => schema,
        };
        let removed = match (current(&host, schema, "x")?, schema) {
            (None, _) => true,
            (Some(_), Schema::Current) => unregister(&registry(&host, schema), "x", None, &options())?,
            (Some(record), Schema::Custody) => {
                custody::unregister::unregister(&registry(&host, schema), &record, &options())?
            }
        };
        if !removed {
            failure.blame("x is not removed");
        }
        put(&host, schema, "x", None).map(drop)
    };
    if let Err(error) = changed() {
        failure.blame(format!("in the way: {error}"));
    }
}

#[test]
fn a_failing_call_of_the_registry_leaves_every_record_whole_and_the_registry_open() {
    for operation in OPERATIONS {
        let mut proof = Proof::of(&format!("registry, {}", operation.name));
        for scene in operation.scenes {
            operation.fail_at_each_call(&mut proof, *scene, operation.act);
        }
        proof.tell();
    }
}

#[test]
fn a_failing_call_leaves_a_shared_registry_open_to_the_group() {
    for operation in OPERATIONS {
        let mut proof = Proof::of(&format!("shared registry, {}", operation.name));
        for scene in operation.scenes {
            operation.fail_at_each_call(&mut proof, *scene, |host| (operation.act)(&shared(host)));
        }
        proof.tell();
    }
}

impl Operation {
    fn fail_at_each_call(&self, proof: &mut Proof, scene: Scene, act: impl Fn(&Host) -> Result<bool, Error>) {
        let world = world(self.schema, scene);
        let before = bytes(&world.disk, "x");
        let while_it_lives = |failure: &Failure<'_>, outcome: Result<bool, Error>| {
            let is_done = || (self.is_done)(&failure.an_hour_later().start(2).host());
            match &outcome {
                Err(error) => {
                    document(failure, error);
                    let is_changed = bytes(&failure.machine.world().disk, "x") != before;
                    // What failed may be that the lease was let go, after the change.
                    let is_made = matches!(error, Error::Lease(_)) && is_done();
                    if is_changed && !is_made {
                        failure.blame(format!("failed ({error}), and x is changed"));
                    }
                }
                Ok(true) if failure.hid("x.json") || failure.hid(SERVERS) || is_done() => {}
                Ok(true) => failure.blame("said to be done, and is not"),
                Ok(false) => {}
            }
            if failure.extent == Extent::Once && !failure.hid("current") {
                goes_on(failure, self.schema);
            }
        };
        let after_its_end = |failure: &Failure<'_>| goes_on(failure, self.schema);
        proof.each_failure(&format!("{scene:?}"), &world, act, while_it_lives, after_its_end);
    }
}
