//! Killed between any two steps, on the simulated machine.

use std::path::Path;
use std::time::Duration;

use harnery_native::files::{Dir, Sharing};
use harnery_native::host::Host;
use harnery_native::sim::{Machine, Seat};
use harnery_native::workflow::recovery::{preview, unlock, Authorization, OwnerState};
use harnery_native::workflow::resume::acquire;
use harnery_native::workflow::{audit, RunId};

use crate::mortal::killed_at;

const ROOT: &str = "/p";
const LOCK: &str = "resume.lock";

fn run() -> RunId {
    RunId::new("r").unwrap()
}

fn machine() -> Machine {
    let machine = Machine::default();
    machine.start(9).host().files.make_dir(Path::new(ROOT), 0o700).unwrap();
    machine
}

fn take(host: &Host) -> harnery_native::workflow::resume::ResumeLock {
    acquire(host, Path::new(ROOT), &run(), Sharing::Private).unwrap()
}

fn state(seat: &Seat) -> OwnerState {
    preview(&seat.host(), Path::new(ROOT), &run()).unwrap().owner_state
}

fn open(seat: &Seat, path: &str) -> Option<Dir> {
    Dir::open(&seat.host().files, Path::new(path)).ok()
}

/// Remove the lock as it is now.
fn unlock_it(host: &Host) {
    let found = preview(host, Path::new(ROOT), &run()).unwrap();
    let digest = found.lock_sha256.unwrap();
    let authorization = Authorization { lock_sha256: Some(&digest), actor: "op", reason: "killed" };
    unlock(host, Path::new(ROOT), &run(), &authorization, Sharing::Private).unwrap();
}

#[test]
fn killed_between_any_two_steps_of_an_unlock_the_lock_is_as_before_or_gone_with_its_intent_on_disk() {
    let (mut kept, mut gone) = (0, 0);
    for step in 0.. {
        let machine = machine();
        let owner = machine.start(1);
        drop(take(&owner.host()));
        owner.kill();
        let killed = machine.start(2);
        let before = preview(&killed.host(), Path::new(ROOT), &run()).unwrap();
        if killed_at(&killed.host(), step, unlock_it).is_some() {
            break;
        }
        killed.kill();
        machine.pass(Duration::from_secs(301));
        let next = machine.start(3);
        let recoveries = audit::list(&next.host(), Path::new(ROOT), &run()).unwrap();
        let after = preview(&next.host(), Path::new(ROOT), &run()).unwrap();
        if after.owner_state == OwnerState::Absent {
            assert_eq!(recoveries.len(), 1, "step {step}");
            gone += 1;
        } else {
            assert_eq!(after, before, "step {step}");
            assert!(recoveries.iter().all(|recorded| recorded.completion.is_none()));
            kept += 1;
            // Nothing that the killed one left is in the way.
            unlock_it(&next.host());
        }
        take(&next.host()).release();
    }
    assert!(kept > 20 && gone > 3, "{kept} kept, {gone} gone");
}

#[test]
fn killed_between_any_two_steps_of_a_resume_there_is_no_lock_or_a_whole_one() {
    for step in 0.. {
        let machine = machine();
        let killed = machine.start(1);
        if killed_at(&killed.host(), step, |host| drop(take(host))).is_some() {
            assert!(step > 20);
            break;
        }
        killed.kill();
        machine.pass(Duration::from_secs(301));
        let next = machine.start(2);
        match state(&next) {
            OwnerState::Absent => {}
            OwnerState::Dead => unlock_it(&next.host()),
            other => panic!("step {step}: {other:?}"),
        }
        take(&next.host()).release();
        let left = open(&next, "/p/.harnery/workflows/r").unwrap().list().unwrap();
        assert!(
            left.iter().all(|name| name == "resume-mutation.lease" || name == "recovery"),
            "step {step}: {left:?}"
        );
    }
}

#[test]
fn killed_between_any_two_steps_of_a_release_the_lock_is_whole_or_gone() {
    for step in 0.. {
        let machine = machine();
        let killed = machine.start(1);
        let host = killed.host();
        let outcome = crate::mortal::killed_after(&host, step, take, |lock| lock.release());
        killed.kill();
        let next = machine.start(2);
        assert!(matches!(state(&next), OwnerState::Dead | OwnerState::Absent), "step {step}");
        if outcome.is_some() {
            assert!(open(&next, "/p/.harnery/workflows/r").unwrap().look(LOCK).unwrap().is_none());
            break;
        }
    }
}
