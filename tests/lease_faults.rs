//! A recovery that fails at any call leaves nothing of its own; one that is killed before any call is recovered from.

#![cfg(feature = "sim")]

mod support;

use std::time::Duration;

use nix::errno::Errno;
use support::{bytes_of, simulated, Before, Planted, Scene};

#[test]
fn every_call_of_a_recovery_may_fail_and_nothing_of_it_is_left() {
    let mut failed = 0;
    for at in 0.. {
        let (_machine, scene) = simulated();
        scene.planted_holder();
        let before = scene.names();
        let (tap, tapped) = scene.tapped();
        tap.before(move |number, _| if number == at { Before::Fail(Errno::EIO) } else { Before::Go });
        let outcome = tapped.acquire();
        if tap.take_log().len() <= at {
            break;
        }
        match outcome {
            // Looking around for leftovers is not what the lease depends on.
            Ok(lease) => assert!(lease.holds(&scene.host), "call {at}"),
            Err(error) => {
                failed += 1;
                assert_eq!(error.code().as_deref(), Some("EIO"), "call {at}: {error}");
                let names = scene.names();
                assert!(!names.iter().any(|name| name == "recovery"), "call {at}: {names:?}");
                // The holder stands, or it is gone and nobody has taken its place.
                let owners = names.iter().filter(|name| name.starts_with("owner-"));
                assert!(owners.clone().all(|name| name == "owner-D.json"), "call {at}: {names:?}");
                if !names.iter().any(|name| name == "current") {
                    assert!(owners.count() == 1, "call {at}: {names:?}");
                } else if !names.iter().any(|name| name.starts_with("recovery-retired-")) {
                    assert_eq!(names, before, "call {at}");
                }
                let lease = scene.acquire().unwrap_or_else(|error| panic!("after call {at}: {error}"));
                assert_eq!(scene.names(), ["current", lease.owner.owner_file.as_str()], "after call {at}");
            }
        }
    }
    assert!(failed > 30, "only {failed} calls could fail");
}

#[test]
fn a_kill_before_any_call_of_a_recovery_leaves_what_the_next_contender_recovers() {
    let mut kills = 0;
    for at in 0.. {
        let (machine, scene) = simulated();
        Planted::new(&scene, "D").holds(&scene);
        let seat = machine.start(2);
        let victim = Scene { host: seat.host(), ..scene.clone() };
        let (tap, tapped) = victim.tapped();
        tap.before(move |number, _| if number == at { Before::Kill } else { Before::Go });
        if let Some(outcome) = tap.run(|| tapped.acquire()) {
            assert!(outcome.is_ok());
            break;
        }
        kills += 1;
        seat.kill();
        // Dead, but not over: refused until its time is, if it got so far as to be seen.
        let mut lease = match scene.acquire() {
            Err(error) if error.is_contention() => {
                machine.pass(Duration::from_secs(2));
                scene.acquire()
            }
            outcome => outcome,
        }
        .unwrap_or_else(|error| panic!("killed before call {at}: {error}"));
        lease.release(&scene.host).unwrap();
        // A text that was never written is nobody's to sweep.
        for name in scene.names() {
            let (dir, file) = if name.starts_with("owner-") {
                (scene.dir(), name.as_str())
            } else {
                (scene.below(&name), "claim.json")
            };
            assert!(bytes_of(&dir, file).is_empty(), "killed before call {at}: {name}");
        }
    }
    assert!(kills > 40, "only {kills} kills");
}
