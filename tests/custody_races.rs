//! Custody with a registration replaced between each pair of steps: a receipt that is not current changes nothing.

mod registry_support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use harnery_native::host::Host;
use harnery_native::lease::Progress;
use harnery_native::process::{NoDependencies, Pid, Presence};
use harnery_native::servers::custody::hold::Custody;
use harnery_native::servers::custody::stop::CustodyStop;
use harnery_native::servers::custody::unregister::unregister;
use harnery_native::servers::list::{list_servers, ListOptions};
use harnery_native::servers::register::register;
use harnery_native::servers::stop::StopResult;
use harnery_native::servers::touch::touch;
use harnery_native::servers::{Error, NoAnswers, Options, Registry, Schema, ServerRecord};
use registry_support::hooked::{HookedFiles, WaitingClock};
use registry_support::{input, process, Bench};

const NOW: i64 = 1_767_225_600_123;

/// Let `late` run with the receipt of a server that has ended, once for each of its steps, and let a newcomer take the id
/// right before that step. The newcomer may be refused (the late one holds lease or lock); when it is not, its
/// registration stands afterwards.
fn with_a_newcomer_at_each_step(newcomer: Schema, late: impl Fn(&Bench, &ServerRecord) -> Result<(), Error>) {
    let alive = process::idle();
    let (mut accepted, mut refused) = (0, 0);
    for step in 0.. {
        let mut bench = Bench::of(Schema::Custody);
        let mut ended = process::idle();
        let mut given = input("a");
        given.pid = Some(ended.pid());
        let receipt = bench.register(&given).unwrap();
        ended.end_and_reap();

        given.pid = Some(alive.pid());
        let outcome: Rc<RefCell<Option<Result<ServerRecord, Error>>>> = Rc::default();
        let files = HookedFiles::new();
        let (count, said) = (Cell::new(0), outcome.clone());
        // The newcomer's own machine: real files, and a clock that does not make it wait.
        let its_host = Host { clock: Rc::new(WaitingClock::default()), ..bench.host.clone() };
        let options = Options { custody_wait: Duration::ZERO, ..bench.options() };
        files.hook(move |_, _| {
            if count.replace(count.get() + 1) == step {
                let registry = Registry { host: &its_host, schema: newcomer, answers: &NoAnswers };
                let registered = register(&registry, &given, &options);
                *said.borrow_mut() = Some(registered.map(|record| record.expect("there is a project")));
            }
            Ok(())
        });
        bench.host = Host { files: files.clone(), clock: Rc::new(WaitingClock::default()), ..bench.host };
        // A newcomer of the other contract leaves what the late one can no longer read.
        match late(&bench, &receipt) {
            Ok(()) | Err(Error::Retained(_) | Error::Custody(_) | Error::Lease(_)) => {}
            Err(error) => panic!("step {step}: {error}"),
        }
        files.unhook();
        match outcome.take() {
            None => break,
            Some(Ok(record)) => {
                accepted += 1;
                let stands =
                    ServerRecord::read(bench.text("a").as_bytes(), newcomer).expect("a whole record");
                assert!(stands.is_same_registration(&record), "step {step}: {}", bench.text("a"));
            }
            Some(Err(Error::Lease(_) | Error::Busy(_) | Error::Custody(_))) => refused += 1,
            Some(Err(error)) => panic!("step {step}: the newcomer failed: {error}"),
        }
    }
    assert!(accepted > 0, "a newcomer came before and after");
    assert!(refused > 0 || newcomer == Schema::Current, "a newcomer under custody had to wait");
}

#[test]
fn a_late_removal_never_removes_a_newer_registration() {
    for newcomer in [Schema::Custody, Schema::Current] {
        with_a_newcomer_at_each_step(newcomer, |bench, receipt| {
            unregister(&bench.registry(), receipt, &bench.options()).map(drop)
        });
    }
}

#[test]
fn a_late_prune_never_removes_a_newer_registration() {
    for newcomer in [Schema::Custody, Schema::Current] {
        with_a_newcomer_at_each_step(newcomer, |bench, _| {
            let options = ListOptions { options: bench.options(), scan: false, ..ListOptions::default() };
            list_servers(&bench.registry(), &options).map(drop)
        });
    }
}

#[test]
fn a_late_touch_never_brings_an_older_registration_back() {
    for newcomer in [Schema::Custody, Schema::Current] {
        with_a_newcomer_at_each_step(newcomer, |bench, _| {
            touch(&bench.registry(), "a", &bench.options(), NOW)
        });
    }
}

#[test]
fn a_late_registration_never_takes_a_newer_one_s_place() {
    let third = process::idle();
    for newcomer in [Schema::Custody, Schema::Current] {
        let mut given = input("a");
        given.pid = Some(third.pid());
        with_a_newcomer_at_each_step(newcomer, |bench, _| {
            let registered = bench.register(&given);
            // It is first when the newcomer comes last, and then the newcomer is refused as it should be.
            registered.map(drop)
        });
    }
}

#[test]
fn custody_of_an_older_receipt_is_never_had() {
    for newcomer in [Schema::Custody, Schema::Current] {
        with_a_newcomer_at_each_step(newcomer, |bench, receipt| {
            Custody::take(&bench.registry(), receipt, &bench.options()).and_then(Custody::release)
        });
    }
}

/// A newcomer takes the id right before each step of a stop, as a process that knows nothing of custody may.
#[test]
fn a_late_stop_never_signals_or_removes_a_newer_registration() {
    let newcomer = process::idle();
    let (mut before, mut after) = (0, 0);
    for step in 0.. {
        let mut bench = Bench::of(Schema::Custody);
        let helper = process::idle();
        let mut its = input("a");
        its.pid = Some(helper.pid());
        let record = bench.register(&its).unwrap();
        let files = HookedFiles::new();
        let count = Cell::new(0);
        let outcome: Rc<RefCell<Option<Result<ServerRecord, Error>>>> = Rc::default();
        let (said, its_host) =
            (outcome.clone(), Host { clock: Rc::new(WaitingClock::default()), ..bench.host.clone() });
        let options = bench.options();
        let mut given = input("a");
        given.pid = Some(newcomer.pid());
        files.hook(move |_, _| {
            if count.replace(count.get() + 1) == step {
                let registry = Registry { host: &its_host, schema: Schema::Current, answers: &NoAnswers };
                let registered = register(&registry, &given, &options);
                *said.borrow_mut() = Some(registered.map(|record| record.expect("there is a project")));
            }
            Ok(())
        });
        bench.host = Host { files: files.clone(), ..bench.host };
        let stopped = stop(&bench, &record);
        files.unhook();
        match outcome.take() {
            None => break,
            Some(Err(Error::Busy(_))) => {}
            Some(Err(error)) => panic!("step {step}: the newcomer failed: {error}"),
            Some(Ok(registered)) => {
                let stands =
                    ServerRecord::read(bench.text("a").as_bytes(), Schema::Current).expect("a record");
                assert!(stands.is_same_registration(&registered), "step {step}: {}", bench.text("a"));
                // The older server was stopped by its exact receipt, or not at all.
                let was_stopped = stopped.is_ok_and(|result| result.stopped);
                assert_eq!(was_stopped, !is_alive(&bench, &helper), "step {step}");
                *(if was_stopped { &mut after } else { &mut before }) += 1;
            }
        }
        assert!(is_alive(&bench, &newcomer), "step {step}");
    }
    assert!(before > 0 && after > 0, "{before} before and {after} after the signal");
}

fn stop(bench: &Bench, record: &ServerRecord) -> Result<StopResult, Error> {
    let grace = Duration::from_secs(5);
    let mut stop = CustodyStop::new(&bench.registry(), record.clone(), &bench.options(), grace)?;
    loop {
        match stop.advance(&bench.host, &NoDependencies)? {
            Progress::Done(result) => return Ok(result),
            Progress::Wait(pause) => bench.host.clock.pause(&pause),
        }
    }
}

fn is_alive(bench: &Bench, helper: &process::Helper) -> bool {
    let pid = Pid::new(helper.number()).expect("a process has a number");
    bench.host.processes.presence(pid) == Presence::Present
}
