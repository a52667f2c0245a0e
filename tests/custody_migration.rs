//! Changing a project over: each record in one of its two forms, whatever happens.

mod registry_support;

use std::cell::Cell;
use std::io;
use std::os::unix::fs::symlink;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::host::Host;
use harnery_native::lease::{self, NoHooks};
use harnery_native::servers::custody::lease::input as lease_input;
use harnery_native::servers::migrate::{migrate, Kept, Migration};
use harnery_native::servers::read::read_records;
use harnery_native::servers::{NoAnswers, Project, Registry, Schema, ServerId, ServerRecord};
use registry_support::hooked::{HookedFiles, WaitingClock};
use registry_support::{input, planted, process, Bench, NOBODY};

fn to(bench: &Bench, schema: Schema) -> Migration {
    let registry = Registry { host: &bench.host, schema, answers: &NoAnswers };
    migrate(&registry, &project(bench), &bench.options()).unwrap()
}

fn project(bench: &Bench) -> Project {
    Project { coord_root: bench.root().to_owned(), path: bench.dir.path().to_owned() }
}

fn kept(id: &str, reason: &str) -> Kept {
    Kept { id: id.to_owned(), reason: reason.to_owned() }
}

#[test]
fn a_record_goes_there_and_back_with_its_receipt_and_every_field() {
    let bench = Bench::new();
    let first = bench.register(&input("a")).unwrap();
    bench.plant("b", &planted("b", 7, r#","mine":{"b":"\ud83d","a":1e+21}"#));
    let before = bench.text("b");
    assert_eq!(
        to(&bench, Schema::Custody),
        Migration { migrated: vec!["a".into(), "b".into()], kept: vec![] }
    );
    assert_eq!(bench.text("a"), first.clone().with("schema_version", 2).text());
    let second = ServerRecord::read(bench.text("b").as_bytes(), Schema::Custody).expect("a custody record");
    let receipt = second.registration_id().expect("one was made").to_owned();
    let moved = before.replace("\"schema_version\":1", "\"schema_version\":2");
    let moved = moved.strip_suffix('}').expect("an object");
    assert_eq!(bench.text("b"), format!("{moved},\"registration_id\":\"{receipt}\"}}\n"));

    assert_eq!(to(&bench, Schema::Custody), Migration::default(), "there is nothing left to do");
    assert_eq!(to(&bench, Schema::Current).migrated, ["a", "b"]);
    assert_eq!(bench.text("a"), first.text());
    assert!(bench.text("b").contains(&receipt));
    assert_eq!(bench.names(), [".custody", ".registry.lock", "a.json", "b.json"]);
}

#[test]
fn what_is_invalid_is_kept_and_named() {
    let bench = Bench::new();
    bench.plant("good", &planted("good", 7, ""));
    let odd =
        [("torn", "{"), ("receipt", &planted("receipt", 7, r#","registration_id":7"#)), ("Bad Name", "{}")];
    for (id, text) in odd {
        bench.plant(id, text);
    }
    symlink(bench.file("good"), bench.file("link")).unwrap();
    let migration = to(&bench, Schema::Custody);
    assert_eq!(migration.migrated, ["good"]);
    assert_eq!(
        migration.kept,
        [
            kept("Bad Name", "its file's name is no server id"),
            kept("link", "it is no plain file"),
            kept("receipt", "its registration_id is no receipt"),
            kept("torn", "it is no valid record"),
        ]
    );
    for (id, text) in odd {
        assert_eq!(bench.text(id), text);
    }
}

#[test]
fn a_record_that_changes_meanwhile_is_kept() {
    let mut bench = Bench::new();
    bench.plant("a", &planted("a", 7, ""));
    let files = HookedFiles::new();
    let (path, newer) = (bench.file("a"), planted("a", 8, ""));
    files.hook(move |verb, _| if verb == "lock" { std::fs::write(&path, &newer) } else { Ok(()) });
    bench.host = Host { files, ..bench.host };
    assert_eq!(to(&bench, Schema::Custody).kept, [kept("a", "it changed meanwhile")]);
    assert_eq!(bench.text("a"), planted("a", 8, ""));
}

#[test]
fn a_record_whose_lease_is_held_is_kept() {
    let mut bench = Bench::new();
    bench.plant("a", &planted("a", 7, ""));
    let helper = process::idle();
    let id = ServerId::new("a").unwrap();
    let input = lease::Input { pid: Some(helper.pid()), ..lease_input(bench.dir.path(), &id) };
    let mut held = lease::acquire(&bench.host, &input, &NoHooks).unwrap();
    let clock = Rc::new(WaitingClock::default());
    bench.host = Host { clock: clock.clone(), ..bench.host };
    let migration = to(&bench, Schema::Custody);
    assert!(migration.kept[0].reason.contains("is held by a live or unexpired owner"), "{migration:?}");
    assert_eq!(bench.text("a"), planted("a", 7, ""));
    assert!(harnery_native::clock::Clock::monotonic(&*clock) >= Duration::from_secs(2));
    held.release(&bench.host).unwrap();
}

#[test]
fn a_migration_that_is_killed_at_any_step_leaves_each_record_in_one_of_its_two_forms() {
    let mut steps = 0;
    for step in 0.. {
        let mut bench = Bench::new();
        let old = planted("a", NOBODY, r#","mine":1"#);
        bench.plant("a", &old);
        let files = HookedFiles::new();
        let (count, killed) = (Cell::new(0), Rc::new(Cell::new(false)));
        let dead = killed.clone();
        // From this step on nothing of the process happens any more.
        files.hook(move |_, _| {
            dead.set(dead.get() || count.replace(count.get() + 1) == step);
            if dead.get() {
                Err(io::Error::from_raw_os_error(5))
            } else {
                Ok(())
            }
        });
        bench.host = Host { files: files.clone(), ..bench.host };
        let registry = Registry { host: &bench.host, schema: Schema::Custody, answers: &NoAnswers };
        let _ = migrate(&registry, &project(&bench), &bench.options());
        files.unhook();
        let now = bench.text("a");
        let is_new = ServerRecord::read(now.as_bytes(), Schema::Custody).is_some_and(|new| {
            new.clone().with("schema_version", 1).text().starts_with(old.trim_end_matches('}'))
        });
        assert!(now == old || is_new, "step {step}: {now}");
        if !killed.get() {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "{steps} steps");
}

#[test]
fn each_contract_reads_its_own_records_beside_the_other_s() {
    let bench = Bench::new();
    bench.register(&input("one")).unwrap();
    let custody = Registry { host: &bench.host, schema: Schema::Custody, answers: &NoAnswers };
    assert!(read_records(&custody, &bench.options()).is_err());
    let two = harnery_native::servers::register::register(&custody, &input("two"), &bench.options());
    two.unwrap().unwrap();
    let ids = |records: Vec<ServerRecord>| records.iter().map(|r| r.id().into_owned()).collect::<Vec<_>>();
    assert_eq!(ids(read_records(&bench.registry(), &bench.options()).unwrap()), ["one"]);
    to(&bench, Schema::Custody);
    assert_eq!(ids(read_records(&bench.registry(), &bench.options()).unwrap()), Vec::<String>::new());
    assert_eq!(ids(read_records(&custody, &bench.options()).unwrap()), ["one", "two"]);
}
