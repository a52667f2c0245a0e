//! Resume locks, their recovery, and its audit.

use std::path::Path;
use std::time::Duration;

use harnery_native::files::Sharing;
use harnery_native::host::Host;
use harnery_native::javascript::json::Value;
use harnery_native::sim::{Machine, World};
use harnery_native::workflow::audit::{self, Request};
use harnery_native::workflow::recovery::{preview, unlock, Authorization, OwnerState};
use harnery_native::workflow::resume::acquire;
use harnery_native::workflow::{Error, RunId};
use nix::errno::Errno;

use super::{Extent, Failure, Proof};

const ROOT: &str = "/p";

fn root() -> &'static Path {
    Path::new(ROOT)
}

fn run() -> RunId {
    RunId::new("r").unwrap()
}

/// A project in some state, made by a process that has gone.
fn world(make: impl FnOnce(&Host)) -> World {
    let machine = Machine::default();
    let maker = machine.start(9);
    let host = maker.host();
    host.files.make_dir(root(), 0o700).unwrap();
    make(&host);
    maker.kill();
    machine.pass(Duration::from_secs(3600));
    let world = World::clone(&machine.world());
    world
}

fn nothing() -> World {
    world(|_| {})
}

fn dead_lock() -> World {
    world(|host| drop(acquire(host, root(), &run(), Sharing::Private).unwrap()))
}

fn resume(host: &Host) -> Result<(), Error> {
    acquire(host, root(), &run(), Sharing::Private).map(|lock| {
        lock.release();
    })
}

fn unlock_it(host: &Host) -> Result<(), Error> {
    let found = preview(host, root(), &run())?;
    let digest = found.lock_sha256.as_deref();
    let authorization = Authorization { lock_sha256: digest, actor: "op", reason: "its process died" };
    unlock(host, root(), &run(), &authorization, Sharing::Private).map(drop)
}

fn document(failure: &Failure<'_>, error: &Error) {
    failure.must_be_documented(error.code().as_deref(), &error.to_string());
}

/// Somebody else resumes the run, after unlocking it if its lock is a dead one's; the audit can be read.
fn can_be_resumed(failure: &Failure<'_>) {
    let machine = failure.an_hour_later();
    let host = machine.start(3).host();
    match audit::list(&host, root(), &run()) {
        Ok(recorded) => {
            let locked = preview(&host, root(), &run()).map(|found| found.owner_state);
            if failure.from == "a dead lock"
                && locked.is_ok_and(|state| state == OwnerState::Absent)
                && recorded.is_empty()
            {
                failure.blame("the lock is gone and nothing says who removed it");
            }
        }
        Err(error) => failure.blame(format!("the audit is unreadable: {error}")),
    }
    let resumed = match resume(&host) {
        Err(Error::Held(_)) => unlock_it(&host).and_then(|()| resume(&host)),
        resumed => resumed,
    };
    if let Err(error) = resumed {
        failure.blame(format!("in the way: {error}"));
    }
}

#[test]
fn a_failing_call_of_a_resume_keeps_nobody_from_resuming() {
    let mut proof = Proof::of("workflow, resume and release");
    for (name, world) in [("nothing", nothing()), ("a dead lock", dead_lock())] {
        proof.each_failure(
            name,
            &world,
            resume,
            |failure, outcome| {
                match &outcome {
                    Err(error) => document(failure, error),
                    Ok(()) if name == "a dead lock" => failure.blame("took a lock that is there"),
                    Ok(()) => {}
                }
                let is_hidden = failure.hid("resume.lock") || failure.hid("current");
                if failure.extent == Extent::Once && !is_hidden {
                    can_be_resumed(failure);
                }
            },
            can_be_resumed,
        );
    }
    proof.tell();
}

#[test]
fn a_failing_call_of_an_unlock_leaves_the_lock_or_its_removal_on_record() {
    let mut proof = Proof::of("workflow, unlock");
    proof.each_failure(
        "a dead lock",
        &dead_lock(),
        unlock_it,
        |failure, outcome| {
            if let Err(error) = &outcome {
                document(failure, error);
            }
            if failure.extent == Extent::Once && !failure.hid("current") {
                can_be_resumed(failure);
            }
        },
        can_be_resumed,
    );
    proof.tell();
}

fn audit_it(host: &Host) -> Result<(), Error> {
    let target_sha256 = "a".repeat(64);
    let request = Request {
        action: "test",
        target_sha256: &target_sha256,
        target: Value::Null,
        actor: "op",
        reason: "why",
    };
    let begun = audit::begin(host, root(), &run(), &request, Sharing::Private)?;
    begun.assert_current(host)?;
    begun.complete(host)
}

#[test]
fn a_failing_call_of_an_audit_leaves_whole_records_or_none() {
    let mut proof = Proof::of("workflow, audit");
    let recorded_before = world(|host| audit_it(host).unwrap());
    for (name, world, before) in [("nothing", nothing(), 0), ("a record", recorded_before, 1)] {
        let is_whole = |failure: &Failure<'_>, is_done: bool| {
            let machine = failure.an_hour_later();
            let host = machine.start(3).host();
            match audit::list(&host, root(), &run()) {
                Err(error) => failure.blame(format!("unreadable: {error}")),
                Ok(found) => {
                    let completed = found.iter().filter(|recorded| recorded.completion.is_some()).count();
                    if found.len() < before + usize::from(is_done)
                        || completed < before + usize::from(is_done)
                    {
                        failure.blame(format!("{} recorded, {completed} completed", found.len()));
                    }
                }
            }
            if let Err(error) = audit_it(&host) {
                failure.blame(format!("in the way: {error}"));
            }
        };
        proof.each_failure(
            name,
            &world,
            audit_it,
            |failure, outcome| {
                if let Err(error) = &outcome {
                    document(failure, error);
                }
                is_whole(failure, outcome.is_ok());
            },
            |failure| is_whole(failure, false),
        );
        proof.each_failure(
            name,
            &world,
            |host| audit::list(host, root(), &run()),
            |failure, outcome| match outcome {
                Err(error) => document(failure, &error),
                // Told that a directory is not there, it can but believe it.
                Ok(found) if found.len() == before || failure.errno == Errno::ENOENT => {}
                Ok(found) => failure.blame(format!("{} listed", found.len())),
            },
            |_| {},
        );
    }
    proof.tell();
}
