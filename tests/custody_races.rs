//! Custody with a registration replaced between each pair of steps: a receipt that is not current changes nothing.

mod registry_support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use harnery_native::host::Host;
use harnery_native::servers::custody::hold::Custody;
use harnery_native::servers::custody::unregister::unregister;
use harnery_native::servers::list::{list_servers, ListOptions};
use harnery_native::servers::register::register;
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
