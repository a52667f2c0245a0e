//! Custody: an id that somebody may still have is never taken, and nothing unreadable is overwritten.

mod registry_support;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::host::Host;
use harnery_native::lease::{self, NoHooks};
use harnery_native::servers::custody::hold::Custody;
use harnery_native::servers::custody::lease::{input as lease_input, take};
use harnery_native::servers::custody::unregister::unregister;
use harnery_native::servers::list::{list_servers, ListOptions};
use harnery_native::servers::read::{read_records, read_server};
use harnery_native::servers::register::Input;
use harnery_native::servers::touch::touch;
use harnery_native::servers::{CoordRoot, Error, Options, Schema, ServerId, ServerRecord};
use registry_support::hooked::{HookedFiles, WaitingClock};
use registry_support::{input, planted, process, Bench, NOBODY};

const NOW: i64 = 1_767_225_600_123;

fn custody() -> Bench {
    Bench::of(Schema::Custody)
}

fn of_process(id: &str, helper: &process::Helper) -> Input {
    let mut given = input(id);
    given.pid = Some(helper.pid());
    given
}

/// A schema-2 record as JavaScript writes it.
fn planted_receipt(id: &str, pid: i64, more: &str) -> String {
    let receipt = r#""registration_id":"0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c","kind""#;
    planted(id, pid, more)
        .replace("\"schema_version\":1", "\"schema_version\":2")
        .replace("\"kind\"", receipt)
}

#[test]
fn a_registration_has_its_receipt_after_its_id_and_leaves_no_lease() {
    let bench = custody();
    let record = bench.register(&input("a")).unwrap();
    let keys: Vec<_> = record.object().iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys[..3], ["schema_version", "id", "registration_id"]);
    assert_eq!(keys.iter().filter(|key| *key == "registration_id").count(), 1);
    assert_eq!(bench.text("a"), record.text());
    assert_eq!(bench.names(), [".custody", ".registry.lock", "a.json"]);
    let left = std::fs::read_dir(bench.servers().join(".custody/a")).unwrap().count();
    assert_eq!(left, 0, "the lease is free and its owner file gone");
    assert_eq!(registry_support::mode(&bench.servers().join(".custody/a")), 0o700);
}

#[test]
fn the_same_running_server_gets_its_registration_back() {
    let bench = custody();
    let helper = process::idle();
    let first = bench.register(&of_process("a", &helper)).unwrap();
    let mut again = of_process("a", &helper);
    again.label = Some("another".into());
    assert_eq!(bench.register(&again).unwrap(), first);
    assert_eq!(bench.text("a"), first.text());
}

#[test]
fn a_dead_server_s_id_is_taken_over() {
    let bench = custody();
    let mut helper = process::idle();
    let first = bench.register(&of_process("a", &helper)).unwrap();
    helper.end_and_reap();
    let second = bench.register(&input("a")).unwrap();
    assert_ne!(first.registration_id(), second.registration_id());
    assert_eq!(bench.text("a"), second.text());
}

#[test]
fn an_id_that_somebody_may_have_is_refused_and_kept() {
    let bench = custody();
    let helper = process::idle();
    let host = format!("\"host\":\"{}\"", bench.host.processes.host_name());
    let text = "registration a custody is held by a live or unverifiable server: process";
    for existing in [
        planted_receipt("a", helper.number(), ""),
        planted_receipt("a", helper.number(), r#","start_token":"l00000000.1""#),
        planted_receipt("a", NOBODY, &format!(r#","pids":[{}]"#, helper.number())),
        planted_receipt("a", NOBODY, r#","pids":[4294967297]"#),
        planted_receipt("a", NOBODY, "").replace(&host, r#""host":"elsewhere""#),
    ] {
        bench.plant("a", &existing);
        let error = bench.register(&input("a")).unwrap_err();
        assert!(matches!(error, Error::Custody(_)));
        let host =
            if existing.contains("elsewhere") { "elsewhere" } else { &bench.host.processes.host_name() };
        let pid = if existing.contains(&helper.number().to_string()) && !existing.contains("pids") {
            helper.number()
        } else {
            NOBODY
        };
        assert_eq!(
            error.to_string(),
            format!("{text} {pid} on {host}; stop it where it runs, or take another id")
        );
        assert_eq!(bench.text("a"), existing);
    }
}

#[test]
fn what_cannot_be_read_is_kept_named_and_never_overwritten() {
    let bench = custody();
    for existing in
        [planted("a", NOBODY, ""), "{".to_owned(), String::new(), planted_receipt("a", 1, "")[..80].into()]
    {
        bench.plant("a", &existing);
        let error = bench.register(&input("a")).unwrap_err().to_string();
        let what_to_do =
            "migrateServerRecords changes a record of schema 1 over, anything else is to be removed by hand";
        let unknown = "registration a custody is unknown: invalid or older server record retained";
        assert_eq!(error, format!("{unknown}; {what_to_do}"));
        let error = read_server(&bench.registry(), "a", &bench.options()).unwrap_err().to_string();
        let retained = "is invalid or uses an older schema; retained without custody";
        assert_eq!(error, format!("server record a {retained}; {what_to_do}"));
        let error = read_records(&bench.registry(), &bench.options()).unwrap_err().to_string();
        assert_eq!(error, format!("server record a.json {retained}; {what_to_do}"));
        assert!(list_servers(&bench.registry(), &list_options(&bench)).is_err());
        touch(&bench.registry(), "a", &bench.options(), NOW).unwrap();
        assert_eq!(bench.text("a"), existing);
    }
}

#[test]
fn only_the_exact_receipt_removes_a_registration() {
    let bench = custody();
    let record = bench.register(&input("a")).unwrap();
    let remove = |record: &ServerRecord| unregister(&bench.registry(), record, &bench.options()).unwrap();
    assert!(!remove(&record.clone().with("registration_id", "0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c")));
    assert!(!remove(&record.clone().with("pid", 1)));
    assert!(!remove(&record.clone().with("schema_version", 1)));
    assert!(!remove(&record.clone().with("id", "../a")));
    assert!(bench.file("a").exists());
    assert!(remove(&record.clone().with("label", "changed").with("port", 1)));
    assert!(!bench.file("a").exists());
    assert!(!remove(&record));
}

#[test]
fn a_touch_is_made_under_the_lease_and_changes_its_own_field_alone() {
    let bench = custody();
    let text = planted_receipt("a", 7, r#","mine":1,"last_active_at":"x""#);
    bench.plant("a", &text);
    touch(&bench.registry(), "a", &bench.options(), NOW).unwrap();
    assert_eq!(bench.text("a"), text.replace(r#""x""#, r#""2026-01-01T00:00:00.123Z""#) + "\n");
    touch(&bench.registry(), "b", &bench.options(), NOW).unwrap();
    assert!(!bench.servers().join(".custody/b").exists(), "there is nothing to take a lease for");
}

#[test]
fn a_lease_that_this_process_holds_is_refused_at_once() {
    let bench = custody();
    let record = bench.register(&input("a")).unwrap();
    let id = ServerId::new("a").unwrap();
    let options = Options { custody_wait: Duration::from_secs(600), ..bench.options() };
    let mut held = take(&bench.host, bench.dir.path(), &id, Duration::ZERO).unwrap();
    let held_here = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::Lease(lease::Error::Held { .. }))), "{result:?}");
    };
    held_here(
        harnery_native::servers::register::register(&bench.registry(), &input("a"), &options).map(drop),
    );
    held_here(touch(&bench.registry(), "a", &options, NOW));
    held_here(unregister(&bench.registry(), &record, &options).map(drop));
    held_here(Custody::take(&bench.registry(), &record, &options).map(drop));
    held.release(&bench.host).unwrap();
    assert!(unregister(&bench.registry(), &record, &options).unwrap());
}

#[test]
fn a_lease_of_another_process_is_waited_for_and_then_refused_as_the_lease_refuses() {
    let bench = custody();
    let record = bench.register(&input("a")).unwrap();
    let helper = process::idle();
    let id = ServerId::new("a").unwrap();
    // The holder is another process: this test lends its hands.
    let input = lease::Input { pid: Some(helper.pid()), ..lease_input(bench.dir.path(), &id) };
    let mut held = lease::acquire(&bench.host, &input, &NoHooks).unwrap();
    let clock = &bench.host.clock;
    let (wait, started) = (Duration::from_millis(300), clock.monotonic());
    let options = Options { custody_wait: wait, ..bench.options() };
    let refused = unregister(&bench.registry(), &record, &options);
    assert!(matches!(refused, Err(Error::Lease(lease::Error::Held { .. }))), "{refused:?}");
    assert!(clock.monotonic() - started >= wait);
    assert!(bench.file("a").exists());
    held.release(&bench.host).unwrap();
}

#[test]
fn a_receipt_that_is_not_current_is_told_so_at_once_whoever_holds_the_lease() {
    let mut bench = custody();
    let record = bench.register(&input("a")).unwrap();
    let helper = process::idle();
    let id = ServerId::new("a").unwrap();
    let input = lease::Input { pid: Some(helper.pid()), ..lease_input(bench.dir.path(), &id) };
    let mut held = lease::acquire(&bench.host, &input, &NoHooks).unwrap();
    let clock = Rc::new(WaitingClock::default());
    bench.host = Host { clock: clock.clone(), ..bench.host };
    let stale = record.with("registration_id", "0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c");
    assert!(!unregister(&bench.registry(), &stale, &bench.options()).unwrap());
    assert_eq!(bench.host.clock.monotonic(), Duration::ZERO);
    held.release(&bench.host).unwrap();
}

#[test]
fn a_lease_that_is_let_go_meanwhile_is_taken() {
    let mut bench = custody();
    let record = bench.register(&input("a")).unwrap();
    let helper = process::idle();
    let id = ServerId::new("a").unwrap();
    let input = lease::Input { pid: Some(helper.pid()), ..lease_input(bench.dir.path(), &id) };
    let held = RefCell::new(lease::acquire(&bench.host, &input, &NoHooks).unwrap());
    let (clock, holder) = (Rc::new(WaitingClock::default()), bench.host.clone());
    clock.in_pauses(move || held.borrow_mut().release(&holder).unwrap());
    bench.host = Host { clock, ..bench.host };
    assert!(unregister(&bench.registry(), &record, &bench.options()).unwrap());
    assert!(!bench.file("a").exists());
}

#[test]
fn a_registration_and_a_removal_cost_at_most_two_syncs_each() {
    let mut bench = custody();
    bench.register(&input("a")).unwrap();
    let files = HookedFiles::new();
    bench.host = Host { files: files.clone(), ..bench.host };
    let syncs = |act: &dyn Fn()| {
        files.calls.borrow_mut().clear();
        act();
        files.count("sync")
    };
    let record = bench.register(&input("a")).unwrap();
    assert!(syncs(&|| assert!(unregister(&bench.registry(), &record, &bench.options()).unwrap())) <= 2);
    assert!(syncs(&|| drop(bench.register(&input("a")).unwrap())) == 2, "the lease's owner and the record");
    assert!(syncs(&|| touch(&bench.registry(), "a", &bench.options(), NOW).unwrap()) <= 2);
}

#[test]
fn a_record_s_content_is_synced_before_it_gets_its_name() {
    let mut bench = custody();
    let files = HookedFiles::new();
    bench.host = Host { files: files.clone(), ..bench.host };
    bench.register(&input("a")).unwrap();
    let calls = files.calls.borrow();
    let renamed = calls.iter().position(|call| call == "rename a.json").unwrap();
    let written = calls.iter().rposition(|call| call.starts_with("write")).unwrap();
    let synced = calls.iter().rposition(|call| call.starts_with("sync")).unwrap();
    assert!(written < synced && synced < renamed, "{calls:?}");
}

#[test]
fn custody_is_of_a_current_receipt_and_is_let_go_once() {
    let bench = custody();
    let record = bench.register(&input("a")).unwrap();
    let options = bench.options();
    let take = |record: &ServerRecord| Custody::take(&bench.registry(), record, &options);
    let changed = |error: Error| assert_eq!(error.to_string(), "registration a custody changed");
    changed(
        take(&record.clone().with("registration_id", "0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c")).unwrap_err(),
    );
    let held = take(&record).unwrap();
    assert!(bench.servers().join(".custody/a/current").exists());
    held.release().unwrap();
    assert!(!bench.servers().join(".custody/a/current").exists());
    drop(take(&record).unwrap());
    assert!(!bench.servers().join(".custody/a/current").exists(), "a dropped custody is let go too");
    let nowhere = Options { coord_root: CoordRoot::None, ..Options::default() };
    let error = Custody::take(&bench.registry(), &record, &nowhere).unwrap_err();
    assert_eq!(error.to_string(), "registration custody root is unavailable");
    unregister(&bench.registry(), &record, &options).unwrap();
    changed(take(&record).unwrap_err());
    bench.plant("a", &planted("a", 7, ""));
    let error = take(&record).unwrap_err().to_string();
    let retained = "server record a is invalid or uses an older schema; retained without custody; ";
    assert!(error.starts_with(retained), "{error}");
    assert!(!bench.servers().join(".custody/a/current").exists());
}

#[test]
fn a_listing_prunes_by_receipt_and_waits_for_no_lease_longer_than_once() {
    let bench = custody();
    let mut helper = process::idle();
    for id in ["a", "b", "c"] {
        bench.register(&of_process(id, &helper)).unwrap();
    }
    helper.end_and_reap();
    let other = process::idle();
    let hold = |id| {
        let id = ServerId::new(id).unwrap();
        let input = lease::Input { pid: Some(other.pid()), ..lease_input(bench.dir.path(), &id) };
        lease::acquire(&bench.host, &input, &NoHooks).unwrap()
    };
    let (_a, _b) = (hold("a"), hold("b"));
    let mut options = list_options(&bench);
    options.options.custody_wait = Duration::from_millis(200);
    let started = bench.host.clock.monotonic();
    let report = list_servers(&bench.registry(), &options).unwrap();
    assert!(bench.host.clock.monotonic() - started < Duration::from_millis(390));
    assert_eq!(report.pruned, ["c"]);
    assert_eq!(report.servers.len(), 2);
}

fn list_options(bench: &Bench) -> ListOptions {
    ListOptions { options: bench.options(), ..ListOptions::default() }
}

#[test]
fn s1_leases_that_would_lie_behind_a_symbolic_link_are_refused_and_nothing_is_made_there() {
    for target_exists in [true, false] {
        let (bench, outside) = (custody(), tempfile::tempdir().unwrap());
        let record = bench.register(&input("a")).unwrap();
        let text = bench.text("a");
        let (leases, target) = (bench.servers().join(".custody"), outside.path().join("target"));
        std::fs::remove_dir_all(&leases).unwrap();
        std::os::unix::fs::symlink(&target, &leases).unwrap();
        if target_exists {
            std::fs::create_dir(&target).unwrap();
        }
        let refused = |error: Error| {
            let text = error.to_string();
            assert!(text.contains("/.custody is no directory (a symbolic link"), "{text}");
        };
        let options = bench.options();
        refused(bench.register(&input("b")).unwrap_err());
        refused(touch(&bench.registry(), "a", &options, NOW).unwrap_err());
        refused(unregister(&bench.registry(), &record, &options).unwrap_err());
        refused(Custody::take(&bench.registry(), &record, &options).err().unwrap());
        assert_eq!(bench.text("a"), text);
        assert_eq!(target.exists(), target_exists);
        assert!(!target_exists || std::fs::read_dir(&target).unwrap().next().is_none());
    }
}
