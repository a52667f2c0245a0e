//! Two processes on one registry: whoever is late leaves what it finds, and no reader sees a part of a record.

mod proof;
mod registry_support;

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use harnery_native::host::{Host, ProcessEnvironment};
use harnery_native::servers::list::{list_servers, ListOptions};
use harnery_native::servers::read::read_server;
use harnery_native::servers::touch::touch;
use harnery_native::servers::unregister::{remove_ended, unregister};
use harnery_native::servers::{Error, Schema, Site};
use registry_support::hooked::{HookedFiles, WaitingClock};
use registry_support::{input, planted, process, Bench, NOBODY};

const NOW: i64 = 1_767_225_600_123;

/// A registry whose file calls are hooked and whose clock moves by waiting only.
fn hooked() -> (Bench, Rc<HookedFiles>) {
    let mut bench = Bench::new();
    let files = HookedFiles::new();
    bench.host = Host { files: files.clone(), clock: Rc::new(WaitingClock::default()), ..bench.host };
    (bench, files)
}

/// Run `act` once, right before the next `verb` on `name`.
fn once_before(files: &HookedFiles, verb: &'static str, name: &'static str, act: impl Fn() + 'static) {
    let done = Cell::new(false);
    files.hook(move |called, on| {
        if called == verb && on == name && !done.replace(true) {
            act();
        }
        Ok(())
    });
}

fn lock(bench: &Bench) -> File {
    let file =
        File::options().create(true).truncate(false).write(true).open(bench.servers().join(".registry.lock"));
    let file = file.unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    file
}

#[test]
fn r8_a_delayed_touch_does_not_bring_an_older_registration_back() {
    let (bench, files) = hooked();
    bench.plant("a", &planted("a", 7, ""));
    // Another process registers anew after the touch has read and written, before it takes the lock.
    let (path, newer) = (bench.file("a"), planted("a", 8, ""));
    once_before(&files, "lock", "", move || std::fs::write(&path, &newer).unwrap());
    touch(&bench.registry(), "a", &bench.options(), NOW).unwrap();
    files.unhook();
    assert!(bench.text("a").contains(r#""pid":8"#));
    assert!(
        bench.text("a").contains(r#""last_active_at":"2026-01-01T00:00:00.123Z""#),
        "whoever has the id is used now"
    );
    assert_eq!(bench.names(), [".registry.lock", "a.json"]);
}

#[test]
fn r8_a_delayed_touch_does_not_bring_a_removed_record_back() {
    let (bench, files) = hooked();
    bench.plant("a", &planted("a", 7, ""));
    let path = bench.file("a");
    once_before(&files, "lock", "", move || std::fs::remove_file(&path).unwrap());
    touch(&bench.registry(), "a", &bench.options(), NOW).unwrap();
    assert_eq!(bench.names(), [".registry.lock"]);
}

#[test]
fn r8_a_delayed_prune_leaves_a_newer_registration() {
    let (bench, files) = hooked();
    bench.plant("a", &planted("a", NOBODY, ""));
    let (path, newer) = (bench.file("a"), planted("a", 8, r#","mine":1"#));
    once_before(&files, "lock", "", move || std::fs::write(&path, &newer).unwrap());
    let options = ListOptions { options: bench.options(), ..ListOptions::default() };
    let report = list_servers(&bench.registry(), &options).unwrap();
    assert_eq!(report.pruned.len(), 0);
    assert!(bench.text("a").contains(r#""mine":1"#));
}

#[test]
fn r8_a_delayed_removal_after_a_stop_leaves_a_newer_registration() {
    let (bench, files) = hooked();
    bench.plant("a", &planted("a", 7, ""));
    let record = read_server(&bench.registry(), "a", &bench.options()).unwrap().unwrap();
    let (path, newer) = (bench.file("a"), planted("a", 8, ""));
    once_before(&files, "lock", "", move || std::fs::write(&path, &newer).unwrap());
    let site = Site { coord_root: bench.dir.path().to_owned(), sharing: Default::default() };
    assert!(!remove_ended(&bench.host, &site, Schema::Current, &record).unwrap());
    assert!(bench.text("a").contains(r#""pid":8"#));
}

#[test]
fn after_two_seconds_without_the_lock_touch_and_prune_give_up_and_the_others_say_so() {
    let (bench, _files) = hooked();
    let dead = planted("dead", NOBODY, "");
    bench.plant("dead", &dead);
    let _held = lock(&bench);
    let started = Instant::now();
    touch(&bench.registry(), "dead", &bench.options(), NOW).unwrap();
    let options = ListOptions { options: bench.options(), ..ListOptions::default() };
    assert_eq!(list_servers(&bench.registry(), &options).unwrap().pruned.len(), 0);
    assert_eq!(bench.text("dead"), dead);
    let registered = bench.register(&input("a")).unwrap_err();
    assert!(matches!(registered, Error::Busy(_)));
    let text = registered.to_string();
    assert!(text.contains(".registry.lock for 2000 ms; nothing was changed, try again"), "{text}");
    let removed = unregister(&bench.registry(), "dead", None, &bench.options());
    assert!(matches!(removed, Err(Error::Busy(_))));
    assert!(!bench.file("a").exists() && bench.file("dead").exists());
    assert!(bench.host.clock.monotonic() >= Duration::from_secs(8));
    assert!(started.elapsed() < Duration::from_secs(8), "the clock is the test's");
}

#[test]
fn a_listing_waits_for_the_lock_once_however_much_there_is_to_write() {
    for schema in [Schema::Current, Schema::Custody] {
        let (mut bench, _files) = hooked();
        bench.schema = schema;
        bench.register(&input("alive")).unwrap();
        for n in 0..5 {
            let id = format!("dead{n}");
            let text = planted(&id, NOBODY, "");
            bench.plant(
                &id,
                &match schema {
                    Schema::Current => text,
                    Schema::Custody => receipt(&text),
                },
            );
        }
        let _held = lock(&bench);
        let began = bench.host.clock.monotonic();
        let options = ListOptions { options: bench.options(), scan: false, ..ListOptions::default() };
        let report = list_servers(&bench.registry(), &options).unwrap();
        assert_eq!((report.servers.len(), report.pruned.len()), (6, 0));
        let waited = bench.host.clock.monotonic() - began;
        assert!(waited < Duration::from_millis(2_500), "{schema:?}: {waited:?}");
    }
}

/// The same record under custody.
fn receipt(record: &str) -> String {
    let receipt = r#""registration_id":"0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c","kind""#;
    record.replace("\"schema_version\":1", "\"schema_version\":2").replace("\"kind\"", receipt)
}

#[test]
fn a_lock_whose_name_was_given_to_another_file_is_not_the_lock() {
    let (bench, files) = hooked();
    bench.plant("a", &planted("a", 7, ""));
    // The file is replaced between its opening and its locking: the lock of the old one excludes nobody.
    let path = bench.servers().join(".registry.lock");
    let replaced = path.clone();
    once_before(&files, "lock", "", move || {
        std::fs::remove_file(&replaced).unwrap();
        File::create(&replaced).unwrap();
    });
    assert!(unregister(&bench.registry(), "a", None, &bench.options()).unwrap());
    assert_eq!(files.count("lock"), 2);
}

#[test]
fn a_file_system_without_locks_is_written_all_the_same() {
    for errno in [rustix::io::Errno::NOSYS, rustix::io::Errno::OPNOTSUPP, rustix::io::Errno::NOLCK] {
        let (bench, files) = hooked();
        files.hook(move |verb, _| if verb == "lock" { Err(errno.into()) } else { Ok(()) });
        bench.register(&input("a")).unwrap();
        assert!(bench.file("a").exists());
    }
}

#[test]
fn every_failing_call_leaves_the_old_record_whole_and_no_temporary_file() {
    let (bench, files) = hooked();
    bench.register(&input("a")).unwrap();
    let before = bench.text("a");
    let mut failed = 0;
    for number in 0.. {
        let count = Cell::new(0);
        files.hook(move |verb, _| {
            let mine = count.replace(count.get() + 1);
            // Removing what is left over is best effort: it is not what is tried here.
            let fails = mine == number && verb != "unlink";
            if fails {
                Err(io::Error::from_raw_os_error(28))
            } else {
                Ok(())
            }
        });
        let registered = bench.register(&input("a"));
        files.unhook();
        match registered {
            Ok(_) => break,
            Err(error) => assert!(matches!(error, Error::Path(_)), "{error}"),
        }
        failed += 1;
        assert_eq!(bench.text("a"), before);
        assert_eq!(bench.names(), [".registry.lock", "a.json"]);
    }
    assert!(failed >= 6, "{failed} calls failed");
}

#[test]
fn running_out_of_descriptors_is_an_error_and_no_empty_registry() {
    let (bench, files) = hooked();
    bench.plant("a", &planted("a", 7, ""));
    files.hook(|verb, name| {
        let fails = verb == "open" && name == "a.json";
        if fails {
            Err(rustix::io::Errno::MFILE.into())
        } else {
            Ok(())
        }
    });
    assert!(read_server(&bench.registry(), "a", &bench.options()).is_err());
    let options = ListOptions { options: bench.options(), ..ListOptions::default() };
    assert!(list_servers(&bench.registry(), &options).is_err());
}

#[test]
fn r7_each_read_is_one_whole_record_while_it_is_replaced() {
    let bench = Bench::new();
    bench.register(&input("a")).unwrap();
    let done = AtomicBool::new(false);
    let root = bench.root().to_owned();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (root, done) = (root.clone(), &done);
            scope.spawn(move || {
                let mut writer = Bench::new();
                writer.host = Host::real(Rc::new(ProcessEnvironment));
                let options = harnery_native::servers::Options {
                    coord_root: harnery_native::servers::CoordRoot::At(root),
                    ..Default::default()
                };
                let mut given = input("a");
                while !done.load(Ordering::Relaxed) {
                    let length = given.label.as_ref().map_or(0, |label| label.length());
                    given.label = Some("x".repeat((length + 7919) % 60_000).into());
                    let registry = writer.registry();
                    harnery_native::servers::register::register(&registry, &given, &options).unwrap();
                    touch(&registry, "a", &options, NOW).unwrap();
                }
            });
        }
        let seconds = (2 * proof::effort()).min(10);
        let end = Instant::now() + Duration::from_secs(seconds as u64);
        let mut reads = 0;
        while Instant::now() < end {
            let record = read_server(&bench.registry(), "a", &bench.options()).unwrap();
            assert!(record.is_some(), "read {reads} found no record");
            reads += 1;
        }
        done.store(true, Ordering::Relaxed);
        proof::row(
            "a record that is replaced over and over is read whole",
            format!("{reads} reads in {seconds} s"),
            0,
        );
        assert!(reads > 100);
    });
    assert_eq!(bench.names(), [".registry.lock", "a.json"]);
}

#[test]
fn processes_that_touch_one_record_at_once_lose_no_field() {
    let bench = Bench::new();
    let helper = process::idle();
    bench.plant("a", &planted("a", helper.number(), r#","mine":[1,2]"#));
    let root = bench.root().to_owned();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let root = root.clone();
            scope.spawn(move || {
                let bench = Bench::new();
                let options = harnery_native::servers::Options {
                    coord_root: harnery_native::servers::CoordRoot::At(root),
                    ..Default::default()
                };
                for step in 0..50 {
                    touch(&bench.registry(), "a", &options, NOW + worker * 1000 + step).unwrap();
                }
            });
        }
    });
    assert!(bench.text("a").contains(r#""mine":[1,2]"#));
    assert!(bench.text("a").contains("last_active_at"));
    assert_eq!(bench.names(), [".registry.lock", "a.json"]);
}
