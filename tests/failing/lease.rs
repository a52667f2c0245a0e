//! Acquiring and releasing, and with it recovering, clearing and sweeping, from every start state.

use std::path::PathBuf;

use harnery_native::host::Host;
use harnery_native::lease::{acquire, Durability, Error, Input, Lease, NoHooks};
use harnery_native::sim::explore::Bounds;
use harnery_native::sim::lease::{start_states, Group, PATH};
use harnery_native::sim::Machine;
use nix::errno::Errno;

use super::{Extent, Failure, Proof};
use crate::proof::{effort, row};

fn input() -> Input {
    Input {
        path: PathBuf::from(PATH),
        scope: "scope".to_owned(),
        authority_sha256: "a".repeat(64),
        metadata: None,
        stale_after_ms: 1000.0,
        pid: None,
        host: None,
        durability: Durability::Power,
    }
}

/// What came of acquiring and releasing.
enum Outcome {
    Refused(Error),
    Released,
    /// Acquired, but the release failed.
    Kept(Box<Lease>, Error),
}

fn acquire_and_release(host: &Host) -> Outcome {
    match acquire(host, &input(), &NoHooks) {
        Err(error) => Outcome::Refused(error),
        Ok(mut lease) => match lease.release(host) {
            Ok(()) => Outcome::Released,
            Err(error) => Outcome::Kept(Box::new(lease), error),
        },
    }
}

#[test]
fn a_failing_call_of_a_lease_is_reported_and_a_release_can_be_tried_again() {
    let mut proof = Proof::of("lease, acquire to release");
    for start in start_states() {
        proof.each_failure(start.name, &start.world, acquire_and_release, reported, somebody_else_gets_it);
    }
    proof.tell();
}

fn reported(failure: &Failure<'_>, outcome: Outcome) {
    let document = |error: &Error| failure.must_be_documented(error.code().as_deref(), &error.to_string());
    match outcome {
        Outcome::Refused(error) => document(&error),
        Outcome::Released => {}
        Outcome::Kept(mut lease, error) => {
            document(&error);
            if !matches!(error, Error::Lost(_)) {
                if let Err(error) = lease.release(failure.host) {
                    failure.blame(format!("not released at the second try: {error}"));
                }
            }
        }
    }
    // What could not be cleared away, because that failed too, goes with its process.
    if failure.extent == Extent::FromThere {
        return;
    }
    if let Some(why) = refusal_of_a_fresh_contender(&failure.an_hour_later()) {
        // A release that is told that `current` has gone reports the loss.
        if !failure.hid("current") {
            failure.blame(format!("in the way while it lives: {why}"));
        }
    }
}

fn somebody_else_gets_it(failure: &Failure<'_>) {
    if let Some(why) = refusal_of_a_fresh_contender(&failure.an_hour_later()) {
        failure.blame(format!("in the way after its end: {why}"));
    }
}

/// Why somebody else does not get the lease.
pub(super) fn refusal_of_a_fresh_contender(machine: &Machine) -> Option<String> {
    match acquire_and_release(&machine.start(2).host()) {
        Outcome::Released => None,
        Outcome::Refused(error) | Outcome::Kept(_, error) => Some(error.to_string()),
    }
}

#[test]
fn a_failing_call_of_one_contender_for_a_lease_harms_no_other() {
    let starts = ["nothing", "dead holder", "claim, current removed"];
    let group = Group::new("NN").coarse().kills(1).preemptions(1).a_failing_call(&[Errno::EIO]);
    for start in start_states().iter().filter(|start| starts.contains(&start.name)) {
        let report = group.explore(start, Bounds { states: 25_000 * effort(), first_finding: false });
        let extent = if report.complete { "all" } else { "bounded" };
        let claim = format!("lease, NN, one failing call, one preemption, one kill, from {}", start.name);
        row(&claim, format!("{} states ({extent})", report.states), report.violations());
        assert!(report.findings.is_empty(), "{report}");
    }
}
