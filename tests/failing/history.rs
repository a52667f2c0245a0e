//! Durable history: appending, reading, rewriting and repairing, and with them its lease.

use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::time::Duration;

use harnery_native::files::{Access, Dir};
use harnery_native::history::append::{append, append_to_file};
use harnery_native::history::lease::torn::inspect;
use harnery_native::history::read::Reader;
use harnery_native::history::repair::repair;
use harnery_native::history::rewrite::rewrite;
use harnery_native::history::update::{update, Decision};
use harnery_native::history::{write, AppendOptions, Error, Layout, NoSeams, ReadOptions, Result, Writing};
use harnery_native::host::Host;
use harnery_native::lease::repair::Request;
use harnery_native::sim::{Call, Machine, World};
use nix::errno::Errno;

use super::{Extent, Failure, Proof};

const HOME: &str = "/h";
const FILE: &str = "/h/x.jsonl";

fn limits() -> AppendOptions {
    AppendOptions::new(64.0, 64.0).unwrap()
}

fn directory() -> Layout {
    Layout::directory(Path::new(HOME))
}

fn file() -> Layout {
    Layout::file(Path::new(FILE)).unwrap()
}

fn add(host: &Host, record: &str) -> Result<()> {
    append(host, &directory(), &[record], limits(), Writing::default(), &NoSeams).map(drop)
}

fn add_to_file(host: &Host, record: &str) -> Result<()> {
    append_to_file(host, Path::new(FILE), record, 64.0, Writing::default(), &NoSeams).map(drop)
}

fn read(host: &Host, layout: Layout) -> Result<Vec<String>> {
    let mut reader = Reader::open(host, layout, ReadOptions::new(64.0, None)?)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next(host)? {
        records.push(String::from_utf8_lossy(record).into_owned());
    }
    Ok(records)
}

/// A history in some state, and what is in it.
struct Scene {
    name: &'static str,
    world: World,
    records: &'static [&'static str],
}

const LONG: &str = "\"a record that leaves no room in its segment\"";

/// The states that an append may find, made by processes that have gone.
fn scenes(layout: &Layout, add: fn(&Host, &str) -> Result<()>) -> Vec<Scene> {
    let scene = |name, records: &'static [&'static str], more: &dyn Fn(&Host)| {
        let machine = Machine::default();
        let maker = machine.start(9);
        let host = maker.host();
        host.files.make_dir(Path::new(HOME), 0o700).unwrap();
        records.iter().for_each(|record| add(&host, record).unwrap());
        more(&host);
        maker.kill();
        machine.pass(Duration::from_secs(3600));
        let world = World::clone(&machine.world());
        Scene { name, world, records }
    };
    vec![
        scene("nothing", &[], &|_| {}),
        scene("one record", &["1"], &|_| {}),
        scene("full segments", &[LONG, LONG], &|_| {}),
        scene("a dead holder", &["1"], &|host| die_holding(host, layout)),
        scene("a dead holder's emptied lease", &["1"], &|host| {
            die_holding(host, layout);
            let lease = inspect(host, layout).unwrap().path;
            Dir::open(&host.files, &lease).unwrap().unlink("owner.json").unwrap();
        }),
    ]
}

/// Take the lease and never give it back.
fn die_holding(host: &Host, layout: &Layout) {
    let held = Cell::new(false);
    let _ = catch_unwind(AssertUnwindSafe(|| {
        write(host, layout, Writing::default(), &NoSeams, |_| -> Result<()> {
            held.set(true);
            resume_unwind(Box::new("killed"))
        })
    }));
    assert!(held.get());
}

fn document(failure: &Failure<'_>, error: &Error) {
    failure.must_be_documented(error.code().as_deref(), &error.to_string());
}

/// Everything that was acknowledged is there, what failed is there whole or not at all, and the next writer writes.
fn goes_on(
    failure: &Failure<'_>,
    layout: &Layout,
    add: fn(&Host, &str) -> Result<()>,
    before: &[&str],
    after: Option<&[&str]>,
) {
    let machine = failure.an_hour_later();
    let host = machine.start(2).host();
    let whole = |found: &[String], end: &[&str]| found == [before, end].concat();
    match read(&host, layout.clone()) {
        Err(error) => failure.blame(format!("unreadable: {error}")),
        Ok(found) if after.is_some_and(|after| !whole(&found, after)) => {
            failure.blame(format!("acknowledged, but {found:?} is there"));
        }
        Ok(found) if !whole(&found, &[]) && !whole(&found, &["2"]) => {
            failure.blame(format!("{found:?} is there"));
        }
        Ok(_) => {}
    }
    if let Err(error) = add(&host, "3") {
        failure.blame(format!("the next writer fails: {error}"));
    }
}

fn every_append_fails(mut proof: Proof, layout: &Layout, add: fn(&Host, &str) -> Result<()>) {
    for scene in scenes(layout, add) {
        proof.each_failure(
            scene.name,
            &scene.world,
            |host| add(host, "2"),
            |failure, outcome| {
                if let Err(error) = &outcome {
                    document(failure, error);
                }
                if failure.extent == Extent::Once {
                    let after = outcome.is_ok().then_some(&["2"][..]);
                    goes_on(failure, layout, add, scene.records, after);
                }
            },
            |failure| goes_on(failure, layout, add, scene.records, None),
        );
    }
    proof.tell();
}

#[test]
fn a_failing_call_of_an_append_loses_nothing_and_stops_nobody() {
    every_append_fails(Proof::of("history, append in segments"), &directory(), add);
    every_append_fails(Proof::of("history, append to a file"), &file(), add_to_file);
}

#[test]
fn a_failing_call_of_an_update_loses_nothing_and_stops_nobody() {
    fn add_by_update(host: &Host, record: &str) -> Result<()> {
        let options = ReadOptions::new(64.0, None)?;
        update(host, Path::new(FILE), options, Writing::default(), &NoSeams, |reader| {
            while reader.next(host)?.is_some() {}
            Ok(Decision { append: vec![record.to_owned()], result: () })
        })
    }
    every_append_fails(Proof::of("history, update"), &file(), add_by_update);
}

#[test]
fn a_failing_call_of_a_read_never_gives_less_than_everything_as_everything() {
    let mut proof = Proof::of("history, read");
    for scene in scenes(&directory(), add) {
        proof.each_failure(
            scene.name,
            &scene.world,
            |host| read(host, directory()),
            |failure, outcome| match outcome {
                Err(error) => document(failure, &error),
                Ok(found) if found == scene.records => {}
                // Told that there is no such file or directory, it can but believe it.
                Ok(_) if failure.errno == Errno::ENOENT => {}
                Ok(found) => failure.blame(format!("read {found:?}")),
            },
            |_| {},
        );
    }
    proof.tell();
}

#[test]
fn a_failing_call_of_a_rewrite_leaves_the_old_file_or_the_new_one() {
    let mut proof = Proof::of("history, rewrite");
    let rewrite_it =
        |host: &Host| rewrite(host, Path::new(FILE), &["7", "8"], 64.0, Writing::default(), &NoSeams);
    for scene in scenes(&file(), add_to_file) {
        let looked_at = |failure: &Failure<'_>, is_done: bool| {
            let machine = failure.an_hour_later();
            let host = machine.start(2).host();
            match read(&host, file()) {
                Ok(found) if found == ["7", "8"] || (!is_done && found == scene.records) => {}
                found => failure.blame(format!("{found:?} is there")),
            }
            if let Err(error) = rewrite_it(&host) {
                failure.blame(format!("the next writer fails: {error}"));
            }
            let names = Dir::open(&host.files, Path::new(HOME)).unwrap().list().unwrap();
            let kept = |name: &str| name.contains(".rewrite-");
            if failure.extent == Extent::Once
                && names.iter().any(|name| kept(&name.to_string_lossy()))
                && !matches!(failure.call, Call::Unlink(_))
            {
                failure.blame(format!("left: {names:?}"));
            }
        };
        proof.each_failure(
            scene.name,
            &scene.world,
            rewrite_it,
            |failure, outcome| {
                if let Err(error) = &outcome {
                    document(failure, error);
                }
                if failure.extent == Extent::Once {
                    looked_at(failure, outcome.is_ok());
                }
            },
            |failure| looked_at(failure, false),
        );
    }
    proof.tell();
}

fn torn(path: &'static str, text: &'static str) -> World {
    let machine = Machine::default();
    let maker = machine.start(9);
    let host = maker.host();
    host.files.make_dir(Path::new(HOME), 0o700).unwrap();
    add_to_file(&host, "1").unwrap();
    let path = Path::new(path);
    let above = path.parent().unwrap();
    if above != Path::new(HOME) {
        host.files.make_dir(above, 0o700).unwrap();
    }
    let dir = Dir::open(&host.files, above).unwrap();
    let file = dir.open_file(path.file_name().unwrap(), Access::Append { mode: 0o600 }).unwrap();
    file.write_all_at(0, text.as_bytes()).unwrap();
    drop((file, dir));
    maker.kill();
    machine.pass(Duration::from_secs(3600));
    let world = World::clone(&machine.world());
    world
}

fn digest(host: &Host) -> Result<String> {
    Ok(inspect(host, &file())?.digest)
}

fn repair_it(host: &Host) -> Result<()> {
    repair(host, Path::new(FILE), Writing::default(), None).map(drop)
}

fn repair_the_lease(host: &Host) -> Result<()> {
    let request = Request {
        digest: digest(host)?,
        actor: "op".to_owned(),
        reason: "torn".to_owned(),
        elsewhere_is_gone: false,
    };
    repair(host, Path::new(FILE), Writing::default(), Some(&request)).map(drop)
}

/// Whoever repairs it next succeeds, and then everything whole is there.
fn can_be_repaired(failure: &Failure<'_>) {
    let machine = failure.an_hour_later();
    let host = machine.start(2).host();
    for repair in [repair_it, repair_the_lease] {
        if read(&host, file()).is_ok_and(|found| found == ["1"]) && add_to_file(&host, "2").is_ok() {
            return;
        }
        if let Err(error) = repair(&host) {
            if !matches!(error, Error::Repair(_) | Error::Busy(_)) {
                failure.blame(format!("the next repair fails: {error}"));
            }
        }
    }
    let found = read(&host, file());
    if !found.as_ref().is_ok_and(|found| found == &["1"]) {
        failure.blame(format!("repaired, but {found:?} is there"));
    }
    if let Err(error) = add_to_file(&host, "2") {
        failure.blame(format!("repaired, but the next writer fails: {error}"));
    }
}

#[test]
fn a_failing_call_of_a_repair_can_be_repaired() {
    let mut proof = Proof::of("history, repair of a torn tail or lease");
    type Repair = fn(&Host) -> Result<()>;
    let scenes: [(&str, &str, &str, Repair); 2] = [
        ("a torn tail", FILE, "{\"half\":", repair_it),
        ("a torn lease", "/h/x.jsonl.lease/owner.json", "{\"owner_id\":", repair_the_lease),
    ];
    for (name, path, text, repair) in scenes {
        proof.each_failure(
            name,
            &torn(path, text),
            repair,
            |failure, outcome| {
                if let Err(error) = &outcome {
                    document(failure, error);
                }
                if failure.extent == Extent::Once {
                    can_be_repaired(failure);
                }
            },
            can_be_repaired,
        );
    }
    proof.tell();
}
