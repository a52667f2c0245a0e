//! The lease.

use std::path::Path;

use harnery_native::host::Host;
use harnery_native::javascript::json::parse;
use harnery_native::javascript::Thrown;
use harnery_native::lease::{acquire, Input, RecoveryStep};

use crate::mortal::real;
use crate::places::{prove, Tally};
use crate::support::{bytes_of, names, Planted, Scene, Script, DEAD_PID, LONG_AGO, STALE_AFTER_MS};
use crate::victim::{before_every_call, Task};

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

/// How a contender sees it for which the time of whoever was killed is over.
fn later(scene: &Scene) -> Script {
    Script::at((scene.host.clock.now_ms() + 2 * STALE_AFTER_MS) as f64)
}

/// The next one has the lease at its first try and gives it back. Nothing is left but the bystanders, and texts that
/// were not written to their end.
fn the_next_gets_on_and_clears_up(at: &Path, bystanders: &Bystanders) {
    let scene = fresh(at);
    let taken = scene.acquire_with(&later(&scene));
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
            let refusal = scene.acquire_with(&later(&scene)).expect_err("it is held");
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
