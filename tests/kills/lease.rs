//! The lease.

use std::path::Path;

use harnery_native::host::Host;
use harnery_native::javascript::json::parse;
use harnery_native::javascript::Thrown;
use harnery_native::lease::inspect::{Inspection, State};
use harnery_native::lease::repair::Request;
use harnery_native::lease::{acquire, inspect, repair, Input, NoHooks, RecoveryStep};

use crate::mortal::real;
use crate::places::{is_in_memory, prove, Tally};
use crate::proof::effort;
use crate::support::{bytes_of, names, Planted, Scene, Script, DEAD_PID, LONG_AGO, STALE_AFTER_MS};
use crate::victim::{before_every_call, forget, Task, Victim};

pub const TASKS: &[Task] = &[
    ("acquire", |doomed| {
        doomed.light();
        drop(scene(&doomed.at, doomed.host.clone()).acquire().expect("nobody alive has it"));
    }),
    ("be refused the lease", |doomed| {
        doomed.light();
        let refusal = scene(&doomed.at, doomed.host.clone()).acquire().expect_err("it is held");
        assert!(refusal.is_contention(), "{refusal}");
    }),
    // When the time of one that was killed before is over.
    ("acquire later", |doomed| {
        let scene = scene(&doomed.at, doomed.host.clone());
        let now = in_ms(&scene, 2 * STALE_AFTER_MS);
        doomed.light();
        drop(scene.acquire_with(&now).expect("nobody alive has it"));
    }),
    ("repair", |doomed| {
        let scene = scene(&doomed.at, doomed.host.clone());
        let request = request(&scene);
        doomed.light();
        repair(&scene.host, &scene.path, &request).expect("it is corrupt");
    }),
    ("release", |doomed| {
        let scene = scene(&doomed.at, doomed.host.clone());
        let mut lease = scene.acquire().expect("it is free");
        doomed.light();
        lease.release(&scene.host).expect("it is its own");
    }),
];

fn scene(at: &Path, host: Host) -> Scene {
    Scene { host, path: at.join("x.lease") }
}

/// The lease as a process sees it that has just come.
fn fresh(at: &Path) -> Scene {
    scene(at, real())
}

/// What was in the directory before and is nobody's to touch.
type Bystanders = Vec<(String, Vec<u8>)>;

/// A directory with a foreign file, and a contender of another machine that may well live.
fn shared(at: &Path) -> (Scene, Bystanders) {
    let scene = fresh(at);
    Planted::new(&scene, "elsewhere").with("host", r#""elsewhere.example""#).contends(&scene);
    scene.write("notes.txt", b"mine");
    let bystanders = scene.names().into_iter().map(|name| (name.clone(), scene.read(&name))).collect();
    (scene, bystanders)
}

/// How a contender sees it whose clock is so far ahead.
fn in_ms(scene: &Scene, ahead: i64) -> Script {
    Script::at((scene.host.clock.now_ms() + ahead) as f64)
}

/// The next one has the lease at its first try and gives it back. Nothing is left but the bystanders, and texts that
/// were not written to their end.
fn the_next_gets_on_and_clears_up(at: &Path, bystanders: &Bystanders) {
    the_next_clears_up_in(2 * STALE_AFTER_MS, at, bystanders);
}

/// The same for one that comes so much later, when the time of everyone that was killed is over.
fn the_next_clears_up_in(ahead: i64, at: &Path, bystanders: &Bystanders) {
    let scene = fresh(at);
    let taken = scene.acquire_with(&in_ms(&scene, ahead));
    let mut lease = taken.unwrap_or_else(|error| panic!("{error}; there is {:?}", scene.names()));
    assert!(lease.holds(&scene.host));
    lease.release(&scene.host).expect("it is its own");
    for (name, bytes) in bystanders {
        assert_eq!(scene.read(name), *bytes, "{name}");
    }
    for name in scene.names() {
        if bystanders.iter().any(|(bystander, _)| *bystander == name) {
            continue;
        }
        let text = if name.starts_with("owner-") {
            scene.read(&name)
        } else {
            assert_eq!(names(&scene.below(&name)), ["claim.json"], "{name}");
            bytes_of(&scene.below(&name), "claim.json")
        };
        assert!(parse(&text).is_err(), "{name} was left");
    }
}

#[test]
fn l21_whoever_is_killed_taking_a_free_lease_is_followed_by_the_next() {
    prove("SIGKILL before each file call, taking a free lease", |place| {
        let next = |at: &Path, bystanders| the_next_gets_on_and_clears_up(at, &bystanders);
        let mut tally =
            before_every_call(place, "acquire", |_| Bystanders::new(), |at, _, none| next(at, none));
        tally.add(before_every_call(place, "acquire", |at| shared(at).1, |at, _, them| next(at, them)));
        tally
    });
}

#[test]
fn whoever_is_killed_beside_a_living_holder_changes_nothing_for_it() {
    prove("SIGKILL before each file call, contending with a living holder", |place| {
        let hold = |at: &Path| {
            let (scene, bystanders) = shared(at);
            (scene.acquire().expect("it is free"), bystanders)
        };
        before_every_call(place, "be refused the lease", hold, |at, _, (mut held, bystanders)| {
            let scene = fresh(at);
            let refusal = scene.acquire_with(&in_ms(&scene, 2 * STALE_AFTER_MS)).expect_err("it is held");
            assert!(refusal.is_contention(), "{refusal}");
            assert!(held.holds(&scene.host));
            held.release(&scene.host).expect("it is still its own");
            the_next_gets_on_and_clears_up(at, &bystanders);
        })
    });
}

#[test]
fn l21_whoever_is_killed_replacing_a_dead_holder_is_replaced() {
    prove("SIGKILL before each file call, replacing a dead holder", |place| {
        let dead = |at: &Path| {
            let (scene, bystanders) = shared(at);
            scene.planted_holder();
            bystanders
        };
        before_every_call(place, "acquire", dead, |at, _, them| the_next_gets_on_and_clears_up(at, &them))
    });
}

#[test]
fn l21_whoever_is_killed_clearing_a_dead_recovery_leaves_one_that_the_next_clears() {
    use RecoveryStep::{ClaimCreated, CurrentRemoved, NewCurrentLinked, RecoveryRetired, StalePinned};
    prove("SIGKILL before each file call, clearing the recovery of a dead claimant", |place| {
        let mut tally = Tally::default();
        for reached in [ClaimCreated, StalePinned, CurrentRemoved, NewCurrentLinked, RecoveryRetired] {
            let dead = |at: &Path| {
                let (scene, bystanders) = shared(at);
                scene.planted_holder();
                claimed_by_the_dead(&scene, reached);
                bystanders
            };
            let next = |at: &Path, bystanders| the_next_gets_on_and_clears_up(at, &bystanders);
            tally.add(before_every_call(place, "acquire", dead, |at, _, them| next(at, them)));
        }
        tally
    });
}

/// A process that is dead by now had come so far in replacing the holder.
fn claimed_by_the_dead(scene: &Scene, reached: RecoveryStep) {
    let input = Input { pid: Some(DEAD_PID as f64), ..scene.input() };
    let ends = Script::at(LONG_AGO + STALE_AFTER_MS as f64).on_step(move |step| {
        if step == reached {
            return Err(Thrown::new("it ends here"));
        }
        Ok(())
    });
    acquire(&scene.host, &input, &ends).expect_err("it ends there");
}

/// Kills of a first one, each with every kill of a second one.
#[test]
fn l21_whoever_is_killed_recovering_from_one_that_was_killed_recovering_is_recovered_from() {
    prove("SIGKILL before each file call, after one of another that did the same", |place| {
        let mut tally = Tally::default();
        // There are thousands of pairs, and a disk takes its time for each.
        let stride = 60 / effort().min(if is_in_memory(place) { 60 } else { 6 });
        for first in (40 % stride..).step_by(stride) {
            let killed_first = |at: &Path| {
                let (scene, bystanders) = shared(at);
                scene.planted_holder();
                let was_killed = Victim::of("acquire", at, first).was_killed();
                forget(at);
                (was_killed, bystanders)
            };
            if !killed_first(tempfile::tempdir_in(place).expect("a directory").path()).0 {
                break;
            }
            tally.add(before_every_call(place, "acquire later", killed_first, |at, _, (_, bystanders)| {
                the_next_clears_up_in(5 * STALE_AFTER_MS, at, &bystanders);
            }));
        }
        tally
    });
}

#[test]
fn whoever_is_killed_repairing_loses_no_byte_and_leaves_the_repair_to_the_next() {
    const TORN: &[u8] = b"torn, and somebody's all the same";
    prove("SIGKILL before each file call, repairing a corrupt lease", |place| {
        let corrupt = |at: &Path| {
            let (scene, bystanders) = shared(at);
            scene.write("current", TORN);
            bystanders
        };
        before_every_call(place, "repair", corrupt, |at, _, bystanders| {
            let scene = fresh(at);
            if look(&scene).state == State::Corrupt {
                repair(&scene.host, &scene.path, &request(&scene)).expect("it is corrupt");
            }
            let (aside, names): (Vec<_>, Vec<_>) =
                scene.names().into_iter().partition(|name| name.starts_with("repaired-"));
            assert_eq!(names, bystanders.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
            let kept = aside.iter().filter(|aside| scene.below(aside).look("current").unwrap().is_some());
            let [kept] = kept.collect::<Vec<_>>()[..] else { panic!("{aside:?}") };
            assert_eq!(bytes_of(&scene.below(kept), "current"), TORN);
            scene.acquire().expect("it is free").release(&scene.host).expect("it is its own");
        })
    });
}

fn look(scene: &Scene) -> Inspection {
    inspect(&scene.host, &scene.path, None, &NoHooks).expect("it can be looked at")
}

fn request(scene: &Scene) -> Request {
    let (actor, reason) = ("operator".to_owned(), "a torn file".to_owned());
    Request { digest: look(scene).digest, actor, reason, elsewhere_is_gone: false }
}

#[test]
fn l21_whoever_is_killed_sweeping_leaves_the_rest_to_the_next() {
    prove("SIGKILL before each file call, taking a lease and sweeping what was left there", |place| {
        let full = |at: &Path| {
            let (scene, bystanders) = shared(at);
            scene.plant_leftovers();
            bystanders
        };
        before_every_call(place, "acquire", full, |at, _, them| the_next_gets_on_and_clears_up(at, &them))
    });
}

#[test]
fn l21_whoever_is_killed_letting_go_is_followed_by_the_next() {
    prove("SIGKILL before each file call, giving a lease back", |place| {
        let there = |at: &Path| shared(at).1;
        before_every_call(place, "release", there, |at, _, them| the_next_gets_on_and_clears_up(at, &them))
    });
}
