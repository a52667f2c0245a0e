//! Replacing a dead holder: the pin before the claim (rule 2), the looks before the link (rule 4), and the looks after.

#![cfg(feature = "sim")]

mod support;

use std::cell::RefCell;
use std::rc::Rc;

use harnery_native::lease::RecoveryStep;
use harnery_native::sim::START_MS;
use support::{bytes_of, refused, simulated, Before, Planted, Scene, Script};

#[test]
fn rule_2_a_published_claim_pins_the_owner_that_it_names() {
    let (_machine, scene) = simulated();
    let dead = scene.planted_holder();
    let (tap, tapped) = scene.tapped();
    let look = scene.clone();
    let pinned = Rc::new(RefCell::new(None));
    let show = Rc::clone(&pinned);
    tap.before(move |_, call| {
        if call.starts_with("rename recovery-claim-") {
            let name = call.split(' ').nth(1).unwrap();
            *show.borrow_mut() = Some(bytes_of(&look.below(name), "stale-pin"));
        }
        Before::Go
    });
    assert!(tapped.acquire().is_ok());
    assert_eq!(pinned.borrow().as_deref(), Some(dead.text().as_bytes()));
}

/// What may become of `current` while it is replaced.
fn swap(scene: &Scene, how: &str) {
    let bytes = scene.read("current");
    scene.dir().unlink("current").unwrap();
    match how {
        "removed" => {}
        // A backup tool's work: the same bytes in another file.
        "copied" => scene.write("current", &bytes),
        // The same inode number, other bytes.
        "taken" => {
            scene.dir().unlink("owner-D.json").unwrap();
            Planted::new(scene, "E").holds(scene);
        }
        _ => unreachable!(),
    }
}

#[test]
fn rule_2_a_current_that_changed_before_it_was_pinned_is_not_claimed() {
    for how in ["removed", "copied", "taken"] {
        let (_machine, scene) = simulated();
        scene.planted_holder();
        let other = scene.clone();
        // Between judging the holder and pinning it.
        let hooks = Script::default()
            .validate(move |_| {
                swap(&other, how);
                Ok(true)
            })
            .on_step(|step| panic!("a claim on nobody was published: {step:?}"));
        let message = refused(scene.acquire_with(&hooks), "LEASE_RECOVERING");
        assert!(message.contains("recovery raced with another contender"), "{message}");
        assert!(!scene.names().iter().any(|name| name.starts_with("recovery")), "{:?}", scene.names());
    }
}

#[test]
fn a_current_that_changed_after_it_was_claimed_is_not_removed() {
    for how in ["removed", "copied", "taken"] {
        let (_machine, scene) = simulated();
        scene.planted_holder();
        let other = scene.clone();
        let after = Rc::new(RefCell::new(Vec::new()));
        let show = Rc::clone(&after);
        let hooks = Script::default().on_step(move |step| {
            if step == RecoveryStep::StalePinned {
                swap(&other, how);
                *show.borrow_mut() = other.names();
            }
            Ok(())
        });
        let message = refused(scene.acquire_with(&hooks), "LEASE_RECOVERING");
        assert!(message.contains("recovery raced with another contender"), "{message}");
        // Only its own owner file and its claim are gone.
        let left = after.borrow().iter().filter(|name| *name != "recovery").cloned().collect::<Vec<_>>();
        let own = left.iter().filter(|name| !scene.has(name)).cloned().collect::<Vec<_>>();
        assert_eq!(own.len(), 1, "{how}: {own:?}");
        assert_eq!(scene.names(), left.into_iter().filter(|name| *name != own[0]).collect::<Vec<_>>());
    }
}

#[test]
fn a_recovery_whose_claim_is_gone_in_the_end_takes_its_link_back() {
    let (_machine, scene) = simulated();
    scene.planted_holder();
    let other = scene.clone();
    let hooks = Script::default().on_step(move |step| {
        if step == RecoveryStep::NewCurrentLinked {
            other.dir().rename("recovery", "quarantine-of-somebody").unwrap();
        }
        Ok(())
    });
    let message = refused(scene.acquire_with(&hooks), "LEASE_RECOVERING");
    assert!(message.contains("recovery raced with another contender"), "{message}");
    assert_eq!(scene.names(), ["owner-D.json", "quarantine-of-somebody"]);
}

#[test]
fn rule_4_current_then_recovery_are_seen_absent_right_before_the_link() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    let (tap, tapped) = scene.tapped();
    let _lease = tapped.acquire().unwrap();
    let log = tap.take_log();
    let link = log.iter().position(|call| call.starts_with("link ")).unwrap();
    assert_eq!(log[link - 2..link], ["stat current", "stat recovery"]);
}

#[test]
fn rule_4_a_claim_that_is_there_at_the_second_look_is_not_linked_into() {
    let (machine, scene) = simulated();
    let other = scene.of_process(&machine, 2);
    let dead = scene.planted_holder();
    scene.dir().unlink("current").unwrap();
    let (tap, tapped) = scene.tapped();
    tap.before(move |_, call| {
        if call == "stat recovery" && !other.has("recovery") {
            Planted::new(&other, "C").with("pid", "102").created(START_MS).claims(&other, &dead);
        }
        Before::Go
    });
    let message = refused(tapped.acquire(), "LEASE_RECOVERING");
    assert!(message.starts_with("lease workspace recovery is already in progress"), "{message}");
    assert!(!tap.take_log().iter().any(|call| call.starts_with("link ")));
    assert_eq!(scene.names(), ["owner-D.json", "recovery"]);
}

#[test]
fn a_claim_that_is_there_after_the_link_makes_the_link_go() {
    let (machine, scene) = simulated();
    let other = scene.of_process(&machine, 2);
    scene.assert_acquirable();
    let (tap, tapped) = scene.tapped();
    tap.before(move |_, call| {
        if call.starts_with("link ") {
            let dead = Planted::new(&other, "D");
            Planted::new(&other, "C").with("pid", "102").created(START_MS).claims(&other, &dead);
        }
        Before::Go
    });
    let message = refused(tapped.acquire(), "LEASE_RECOVERING");
    assert!(message.starts_with("lease workspace recovery is already in progress"), "{message}");
    assert_eq!(scene.names(), ["recovery"]);
}
