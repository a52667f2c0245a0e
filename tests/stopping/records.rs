//! Which record goes, and with what.

use harnery_native::process::{Generation, NoDependencies};
use harnery_native::servers::stop::{Stop, StopOptions};
use harnery_native::servers::Schema;
use nix::libc;

use crate::real::*;
use crate::registry_support::{input, Bench};
use crate::support::{finish, pid, present, refused_pid, stopped, Stopped, GRACE};

#[test]
fn without_a_root_the_process_is_stopped_all_the_same() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    let options = StopOptions { site: None, ..it.options(GRACE) };
    let mut stop = Stop::new(it.record.clone(), options);
    assert_eq!(finish(&it.bench.host, &mut stop, &NoDependencies), stopped());
    assert!(it.has_record());
}

#[test]
fn a_replacement_that_was_registered_meanwhile_survives() {
    let (child, newer) = (Real::spawn_leader("sleep", &["60"]), Real::spawn_leader("sleep", &["60"]));
    let it = Stopped::registered(child.pid(), None);
    let mut input = input("it");
    input.pid = Some(f64::from(newer.pid().get()));
    it.bench.register(&input).unwrap();
    assert_eq!(it.stop(GRACE), stopped());
    assert!(present(newer.pid()) && it.has_record());
}

#[test]
fn under_custody_only_the_exact_receipt_is_stopped_and_no_group_is_signalled() {
    let (child, member) = Real::shell("sleep 60 & echo $!; wait");
    let member = pid(&member);
    let bench = Bench::of(Schema::Custody);
    let mut input = input("it");
    input.pid = Some(f64::from(child.pid().get()));
    let record = bench.register(&input).unwrap();
    let mut it = Stopped { bench, record };
    let custody = |it: &Stopped| StopOptions { schema: Schema::Custody, ..it.options(GRACE) };
    let good = it.record.clone();

    it.record = good.clone().with("registration_id", "00000000-0000-4000-8000-000000000000");
    let mut stop = Stop::new(it.record.clone(), custody(&it));
    assert_eq!(
        finish(&it.bench.host, &mut stop, &NoDependencies),
        refused_pid(child.pid(), Generation::Unknown)
    );
    assert!(present(child.pid()) && it.has_record());

    it.record = good;
    let mut stop = Stop::new(it.record.clone(), custody(&it));
    assert_eq!(finish(&it.bench.host, &mut stop, &NoDependencies), stopped());
    assert!(present(member) && !it.has_record());
    send(member, libc::SIGKILL);
}
