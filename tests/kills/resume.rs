//! The resume lock of a workflow run: taking it, giving it back, and removing a dead owner's.

use std::path::Path;
use std::time::Duration;

use harnery_native::files::Sharing;
use harnery_native::host::Host;
use harnery_native::workflow::audit;
use harnery_native::workflow::recovery::{preview, unlock, Authorization, OwnerState};
use harnery_native::workflow::resume::{acquire, ResumeLock};
use harnery_native::workflow::RunId;

use crate::mortal::{later, real};
use crate::places::prove;
use crate::victim::{before_every_call, forget, has_returned, Task, Victim};

pub const TASKS: &[Task] = &[
    ("resume", |doomed| {
        doomed.light();
        drop(take(&doomed.host, &doomed.at));
    }),
    ("hold", |doomed| drop(take(&doomed.host, &doomed.at))),
    ("give back", |doomed| {
        let lock = take(&doomed.host, &doomed.at);
        doomed.light();
        lock.release();
    }),
    ("unlock", |doomed| {
        doomed.light();
        remove(&doomed.host, &doomed.at);
    }),
    ("be refused", |doomed| {
        doomed.light();
        acquire(&doomed.host, &doomed.at, &run(), Sharing::Private).expect_err("it is held");
    }),
];

fn run() -> RunId {
    RunId::new("r").expect("a run's id")
}

fn take(host: &Host, at: &Path) -> ResumeLock {
    acquire(host, at, &run(), Sharing::Private).expect("nobody has it")
}

/// Remove a dead owner's lock as it is now.
fn remove(host: &Host, at: &Path) {
    let digest = preview(host, at, &run()).expect("a lock").lock_sha256.expect("a lock");
    let authorization =
        Authorization { lock_sha256: Some(&digest), actor: "op", reason: "its owner was killed" };
    unlock(host, at, &run(), &authorization, Sharing::Private).expect("its owner is dead");
}

/// How one sees it for whom the time of a killed holder of the mutation lease is over.
fn later_on() -> Host {
    later(Duration::from_secs(301))
}

fn state(at: &Path) -> OwnerState {
    preview(&real(), at, &run()).expect("there is a whole lock or none").owner_state
}

/// The next one resumes the run, and nothing is left beside the audit's records.
fn the_next_resumes(at: &Path) {
    take(&later_on(), at).release();
    let run = at.join(".harnery/workflows/r");
    let entries = std::fs::read_dir(&run).expect("a run");
    let left: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    assert!(left.iter().all(|name| name == "resume-mutation.lease" || name == "recovery"), "{left:?}");
    // What was never written to its end is nobody's to sweep.
    for entry in std::fs::read_dir(run.join("resume-mutation.lease")).expect("a lease") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(!text.ends_with('\n'), "{} was left", path.display());
    }
}

#[test]
fn whoever_is_killed_taking_the_lock_has_it_whole_or_not_at_all() {
    prove("SIGKILL before each file call, taking a resume lock", |place| {
        before_every_call(
            place,
            "resume",
            |_| (),
            |at, _, ()| {
                match state(at) {
                    OwnerState::Absent => assert!(!has_returned(at)),
                    OwnerState::Dead => remove(&later_on(), at),
                    other => panic!("{other:?}"),
                }
                the_next_resumes(at);
            },
        )
    });
}

#[test]
fn whoever_is_killed_giving_the_lock_back_has_it_whole_or_not_at_all() {
    prove("SIGKILL before each file call, giving a resume lock back", |place| {
        before_every_call(
            place,
            "give back",
            |_| (),
            |at, _, ()| {
                match state(at) {
                    OwnerState::Absent => {}
                    OwnerState::Dead if !has_returned(at) => remove(&later_on(), at),
                    other => panic!("{other:?}"),
                }
                the_next_resumes(at);
            },
        )
    });
}

#[test]
fn whoever_is_killed_removing_a_dead_owner_s_lock_leaves_it_as_it_was_or_recorded_as_removed() {
    prove("SIGKILL before each file call, removing a dead owner's resume lock", |place| {
        let locked = |at: &Path| {
            drop(Victim::of("hold", at, 0));
            forget(at);
            preview(&real(), at, &run()).expect("a lock")
        };
        before_every_call(place, "unlock", locked, |at, _, before| {
            let recorded = audit::list(&later_on(), at, &run()).expect("whole records");
            let after = preview(&real(), at, &run()).expect("a lock or none");
            if after.owner_state == OwnerState::Absent {
                assert_eq!(recorded.len(), 1);
                assert!(recorded[0].completion.is_some() || !has_returned(at));
            } else {
                assert_eq!(after, before);
                assert!(recorded.iter().all(|recovery| recovery.completion.is_none()));
                remove(&later_on(), at);
            }
            the_next_resumes(at);
        })
    });
}

#[test]
fn whoever_is_killed_beside_a_living_owner_changes_nothing_for_it() {
    prove("SIGKILL before each file call, being refused a resume lock", |place| {
        before_every_call(
            place,
            "be refused",
            |at| take(&real(), at),
            |at, _, held| {
                assert_eq!(state(at), OwnerState::Live);
                held.release();
                the_next_resumes(at);
            },
        )
    });
}
