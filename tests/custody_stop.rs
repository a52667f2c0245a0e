//! Stopping under custody: only the receipt that is current, only under the lease, and never by blocking.
//!
//! The states that they need are staged with Linux's namespaces and `/proc`.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests are the caller")]

mod real;
mod registry_support;

use std::time::Duration;

use harnery_native::lease::Progress;
use harnery_native::process::{Asked, Dependencies, Generation, NoDependencies, Pid, Presence, Signal};
use harnery_native::servers::custody::lease;
use harnery_native::servers::custody::stop::CustodyStop;
use harnery_native::servers::stop::{Method, StopResult};
use harnery_native::servers::{CoordRoot, Options, Schema, ServerId, ServerRecord};
use real::*;
use registry_support::{input, Bench};

const GRACE: Duration = Duration::from_secs(20);

fn registered(pid: Pid) -> (Bench, ServerRecord) {
    let bench = Bench::of(Schema::Custody);
    let mut input = input("it");
    input.pid = Some(f64::from(pid.get()));
    let record = bench.register(&input).unwrap();
    (bench, record)
}

fn stop(
    bench: &Bench,
    record: &ServerRecord,
    options: &Options,
    dependencies: &dyn Dependencies,
) -> StopResult {
    let mut stop = CustodyStop::new(&bench.registry(), record.clone(), options, GRACE).unwrap();
    loop {
        match stop.advance(&bench.host, dependencies).unwrap() {
            Progress::Done(result) => return result,
            Progress::Wait(pause) => bench.host.clock.pause(&pause),
        }
    }
}

fn refused(detail: &str) -> StopResult {
    StopResult {
        id: "it".to_owned(),
        stopped: false,
        method: Method::Refused,
        generation: Some(Generation::Unknown),
        detail: Some(detail.to_owned()),
    }
}

fn stopped() -> StopResult {
    StopResult { stopped: true, method: Method::Signal, generation: None, detail: None, ..refused("") }
}

fn present(bench: &Bench, pid: Pid) -> bool {
    bench.host.processes.presence(pid) == Presence::Present
}

/// Another process that holds the mutation lease of the id.
fn holder(bench: &Bench) -> Forked {
    let root = bench.dir.path().to_owned();
    forked(move || {
        let host =
            harnery_native::host::Host::real(std::rc::Rc::new(harnery_native::host::ProcessEnvironment));
        // It is held for as long as the process lives; nobody lets it go.
        drop(lease::take(&host, &root, &ServerId::new("it").unwrap(), Duration::ZERO).unwrap());
    })
}

fn is_held(bench: &Bench) -> bool {
    bench.servers().join(".custody/it/current").exists()
}

#[test]
fn the_current_receipt_stops_its_server_and_lets_the_lease_go() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let (bench, record) = registered(child.pid());
    assert_eq!(stop(&bench, &record, &bench.options(), &NoDependencies), stopped());
    assert!(!bench.file("it").exists() && !is_held(&bench));
}

#[test]
fn without_a_root_there_is_no_custody() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let (bench, record) = registered(child.pid());
    let options = Options { coord_root: CoordRoot::None, ..Options::default() };
    let result = stop(&bench, &record, &options, &NoDependencies);
    assert_eq!(result, refused("registration custody root is unavailable"));
    assert!(present(&bench, child.pid()));
}

#[test]
fn a_receipt_that_is_no_longer_current_stops_nobody() {
    let (child, newer) = (Real::spawn_leader("sleep", &["60"]), Real::spawn_leader("sleep", &["60"]));
    let (bench, record) = registered(child.pid());
    let changed = refused("registration custody changed; retained current server");
    // The id is another server's by now.
    std::fs::remove_file(bench.file("it")).unwrap();
    assert_eq!(stop(&bench, &record, &bench.options(), &NoDependencies), changed);
    let mut input = input("it");
    input.pid = Some(f64::from(newer.pid().get()));
    bench.register(&input).unwrap();
    assert_eq!(stop(&bench, &record, &bench.options(), &NoDependencies), changed);
    assert!(present(&bench, child.pid()) && present(&bench, newer.pid()));
    assert!(bench.file("it").exists() && !is_held(&bench));
}

#[test]
fn a_lease_that_another_process_holds_is_waited_for_and_then_refused() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let (bench, record) = registered(child.pid());
    let _holder = holder(&bench);
    let options = Options { custody_wait: Duration::from_millis(50), ..bench.options() };
    let result = stop(&bench, &record, &options, &NoDependencies);
    assert_eq!(result, refused("registration custody is unavailable"));
    assert!(present(&bench, child.pid()) && bench.file("it").exists());
}

#[test]
fn a_lease_that_is_let_go_meanwhile_is_taken_without_blocking() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let (bench, record) = registered(child.pid());
    let holder = holder(&bench);
    let options = Options { custody_wait: Duration::from_secs(20), ..bench.options() };
    let mut stop = CustodyStop::new(&bench.registry(), record, &options, GRACE).unwrap();
    let Progress::Wait(pause) = stop.advance(&bench.host, &NoDependencies).unwrap() else {
        panic!("it waits for the holder")
    };
    assert!(!pause.wake.is_empty());
    holder.end_and_collect();
    let result = loop {
        match stop.advance(&bench.host, &NoDependencies).unwrap() {
            Progress::Done(result) => break result,
            Progress::Wait(pause) => bench.host.clock.pause(&pause),
        }
    };
    assert_eq!(result, stopped());
}

#[test]
fn a_stop_that_is_dropped_lets_the_lease_go() {
    let child = Real::spawn_leader("sleep", &["60"]);
    send(child.pid(), nix::libc::SIGSTOP);
    await_stop(child.pid());
    let (bench, record) = registered(child.pid());
    let mut stop = CustodyStop::new(&bench.registry(), record, &bench.options(), GRACE).unwrap();
    assert!(matches!(stop.advance(&bench.host, &NoDependencies).unwrap(), Progress::Wait(_)));
    assert!(is_held(&bench));
    drop(stop);
    assert!(!is_held(&bench) && bench.file("it").exists() && present(&bench, child.pid()));
}

struct Throwing;

impl Dependencies for Throwing {
    fn kill(&self, _pid: i32, _signal: Signal) -> Asked<()> {
        Asked::Threw
    }

    fn replaces_kill(&self) -> bool {
        true
    }
}

#[test]
fn a_signal_that_did_not_get_out_is_a_refusal() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let (bench, record) = registered(child.pid());
    let pid = child.pid();
    let unknown = refused(&format!("pid {pid} generation is unknown; left the server record in place"));
    assert_eq!(stop(&bench, &record, &bench.options(), &Throwing), unknown);
    assert!(present(&bench, pid) && bench.file("it").exists() && !is_held(&bench));
}

#[test]
fn a_record_that_cannot_be_read_is_an_error_and_stays() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let (bench, record) = registered(child.pid());
    bench.plant("it", "{}");
    let mut stop = CustodyStop::new(&bench.registry(), record, &bench.options(), GRACE).unwrap();
    let error = stop.advance(&bench.host, &NoDependencies).unwrap_err();
    assert!(error.to_string().contains("retained without custody"), "{error}");
    assert!(present(&bench, child.pid()) && bench.text("it") == "{}" && !is_held(&bench));
}
