//! What becomes of the claims of the dead (rules 3, 5 and 7), and of what is no claim at all.

#![cfg(feature = "sim")]

mod support;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::files::record::write_new;
use harnery_native::sim::START_MS;
use support::{bytes_of, names, refused, simulated, Before, Planted, Scene, Script};

#[test]
fn rule_3_a_pin_of_another_owner_is_an_unfinished_claim_and_that_owner_s_file_stays() {
    let (_machine, scene) = simulated();
    let observed = Planted::new(&scene, "D");
    let other = Planted::new(&scene, "other").with("host", "\"far\"").contends(&scene);
    let claimant = Planted::new(&scene, "C").contends(&scene);
    let recovery = claimant.claims(&scene, &observed);
    scene.dir().link(other.file(), &recovery, "stale-pin").unwrap();
    let lease = scene.acquire().unwrap();
    assert_eq!(lease.recovered_owner, None);
    assert_eq!(scene.names(), ["current".to_owned(), lease.owner.owner_file.clone(), other.file()]);
}

#[test]
fn rule_3_a_claim_without_a_pin_is_an_unfinished_one_too() {
    let (_machine, scene) = simulated();
    let dead = scene.planted_holder();
    Planted::new(&scene, "C").claims(&scene, &dead);
    let lease = scene.acquire().unwrap();
    assert_eq!(lease.recovered_owner.map(|owner| owner.owner_id).as_deref(), Some("D"));
}

#[test]
fn rule_5_whoever_clears_a_recovery_removes_no_owner_files() {
    let (machine, scene) = simulated();
    let holder = scene.of_process(&machine, 2);
    let _held = holder.acquire().unwrap();
    let dead = Planted::new(&scene, "D").contends(&scene);
    let claimant = Planted::new(&scene, "C").contends(&scene);
    let recovery = claimant.claims(&scene, &dead);
    scene.dir().link(dead.file(), &recovery, "stale-pin").unwrap();
    refused(scene.acquire(), "LEASE_HELD");
    assert!(!scene.has("recovery"));
    assert!(scene.has(&dead.file()) && scene.has(&claimant.file()));
    assert!(!scene.names().iter().any(|name| name.starts_with("quarantine-")));
}

#[test]
fn a_claim_of_a_living_claimant_is_refused_and_left_alone() {
    let (machine, scene) = simulated();
    machine.start(2);
    let dead = scene.planted_holder();
    Planted::new(&scene, "C").with("pid", "102").claims(&scene, &dead);
    let message = refused(scene.acquire(), "LEASE_RECOVERING");
    assert!(message.starts_with("lease workspace recovery is already in progress"), "{message}");
    assert_eq!(scene.names(), ["current", "owner-D.json", "recovery"]);
}

#[test]
fn the_scopes_of_a_claim_and_the_validator_must_agree_before_it_is_cleared() {
    for (claimant_scope, observed_scope, valid) in
        [("other", "workspace", true), ("workspace", "other", true), ("workspace", "workspace", false)]
    {
        let (_machine, scene) = simulated();
        let observed =
            Planted::new(&scene, "D").with("scope", &format!("\"{observed_scope}\"")).contends(&scene);
        Planted::new(&scene, "C").with("scope", &format!("\"{claimant_scope}\"")).claims(&scene, &observed);
        let hooks = Script::default().validate(move |owner| {
            assert_eq!(owner.owner_id, "D");
            Ok(valid)
        });
        let message = refused(scene.acquire_with(&hooks), "LEASE_AUTHORITY");
        assert_eq!(message, "stale lease workspace recovery has mismatched authority");
        assert_eq!(scene.names(), ["owner-D.json", "recovery"]);
    }
}

#[test]
fn a_pin_that_is_no_owner_is_corrupt_and_left_alone() {
    let (_machine, scene) = simulated();
    let dead = scene.planted_holder();
    let recovery = Planted::new(&scene, "C").claims(&scene, &dead);
    write_new(&recovery, "stale-pin", b"torn", 0o600).unwrap();
    let message = refused(scene.acquire(), "LEASE_CORRUPT");
    assert!(message.starts_with("stale lease workspace recovery pin is corrupt"), "{message}");
    assert!(message.contains("/x.lease/recovery/stale-pin"), "{message}");
    assert_eq!(names(&recovery), ["claim.json", "stale-pin"]);
}

#[test]
fn a_recovery_that_is_no_claim_is_corrupt_and_named_by_its_path() {
    let torn = |scene: &Scene| {
        write_new(&scene.make("recovery"), "claim.json", b"{\"schema", 0o600).map(drop).unwrap()
    };
    let foreign =
        |scene: &Scene| write_new(&scene.make("recovery"), "notes.txt", b"x", 0o600).map(drop).unwrap();
    let plain = |scene: &Scene| scene.write("recovery", b"x");
    let directory_pin = |scene: &Scene| scene.make("recovery").make_dir("stale-pin", 0o700).unwrap();
    for make in [&torn as &dyn Fn(&Scene), &foreign, &plain, &directory_pin] {
        let (machine, scene) = simulated();
        scene.assert_acquirable();
        make(&scene);
        machine.pass(Duration::from_secs(60));
        let message = refused(scene.acquire(), "LEASE_CORRUPT");
        assert!(message.contains("/x.lease/recovery"), "{message}");
        assert_eq!(scene.names(), ["recovery"]);
    }
}

#[test]
fn an_empty_recovery_is_removed_once_it_has_been_left_alone_for_5_s() {
    for with_pin in [false, true] {
        let (machine, scene) = simulated();
        let dead = scene.planted_holder();
        let recovery = scene.make("recovery");
        if with_pin {
            scene.dir().link(dead.file(), &recovery, "stale-pin").unwrap();
        }
        machine.pass(Duration::from_millis(4999));
        refused(scene.acquire(), "LEASE_RECOVERING");
        machine.pass(Duration::from_millis(1));
        assert!(scene.acquire().is_ok(), "with a pin: {with_pin}");
        assert!(!scene.has("recovery"));
    }
}

#[test]
fn an_empty_recovery_stays_while_somebody_may_be_busy_with_it() {
    let (machine, scene) = simulated();
    scene.planted_holder();
    let seat = machine.start(2);
    Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    scene.make("recovery");
    machine.pass(Duration::from_secs(60));
    refused(scene.acquire(), "LEASE_RECOVERING");
    assert!(scene.has("recovery"));
    seat.kill();
    assert!(scene.acquire().is_ok());
}

#[test]
fn rule_7_a_recovery_that_vanishes_at_any_moment_of_its_clearing_is_no_error() {
    let mut moments = 0;
    for at in 0.. {
        let (_machine, scene) = simulated();
        let dead = Planted::new(&scene, "D").contends(&scene);
        let recovery = Planted::new(&scene, "C").contends(&scene).claims(&scene, &dead);
        scene.dir().link(dead.file(), &recovery, "stale-pin").unwrap();
        let (tap, tapped) = scene.tapped();
        let other = scene.clone();
        let seen = Rc::new(RefCell::new(false));
        let show = Rc::clone(&seen);
        tap.before(move |number, _| {
            if number == at && other.has("recovery") {
                *show.borrow_mut() = true;
                // What every retire and every clearing does.
                other.dir().rename("recovery", "quarantine-q").unwrap();
                for name in ["stale-pin", "claim.json"] {
                    recovery.unlink(name).unwrap();
                }
                other.dir().remove_dir("quarantine-q").unwrap();
            }
            Before::Go
        });
        let lease = tapped.acquire().unwrap_or_else(|error| panic!("at call {at}: {error}"));
        assert!(lease.holds(&scene.host));
        if !*seen.borrow() {
            break;
        }
        moments += 1;
    }
    assert!(moments > 10, "only {moments} moments");
}

#[test]
fn a_claim_that_took_the_place_of_the_judged_one_is_put_back() {
    let (machine, scene) = simulated();
    let dead = scene.planted_holder();
    Planted::new(&scene, "C").claims(&scene, &dead);
    machine.start(2);
    let (tap, tapped) = scene.tapped();
    let other = scene.clone();
    tap.before(move |_, call| {
        // After the last comparison, before the rename.
        if call.starts_with("rename recovery quarantine-") {
            other.dir().rename("recovery", "quarantine-q").unwrap();
            Planted::new(&other, "living").with("pid", "102").created(START_MS).claims(&other, &dead);
        }
        Before::Go
    });
    let message = refused(tapped.acquire(), "LEASE_RECOVERING");
    assert!(message.starts_with("lease workspace recovery is already in progress"), "{message}");
    assert!(String::from_utf8(bytes_of(&scene.below("recovery"), "claim.json"))
        .unwrap()
        .contains("\"living\""));
}

#[test]
fn a_native_claim_that_was_taken_away_by_mistake_is_not_put_back_behind_its_claimant_s_back() {
    let (machine, scene) = simulated();
    let dead = scene.planted_holder();
    Planted::new(&scene, "C").claims(&scene, &dead);
    machine.start(2);
    let (tap, tapped) = scene.tapped();
    let other = scene.clone();
    tap.before(move |_, call| {
        if call.starts_with("rename recovery quarantine-") {
            other.dir().rename("recovery", "quarantine-q").unwrap();
            let living = Planted::new(&other, "living").with("pid", "102").created(START_MS);
            living.with("witness", r#"{"pidfd_inode":"1002"}"#).claims(&other, &dead);
        }
        Before::Go
    });
    let message = refused(tapped.acquire(), "LEASE_RECOVERING");
    assert!(message.starts_with("lease workspace recovery is already in progress"), "{message}");
    assert!(!scene.has("recovery"));
    assert_eq!(scene.names().iter().filter(|name| name.starts_with("quarantine-")).count(), 2);
}

#[test]
fn a_claim_that_could_not_be_put_back_stays_in_its_quarantine() {
    let (machine, scene) = simulated();
    let dead = scene.planted_holder();
    Planted::new(&scene, "C").claims(&scene, &dead);
    machine.start(2);
    let (tap, tapped) = scene.tapped();
    let other = scene.clone();
    tap.before(move |_, call| {
        let living = |id| Planted::new(&other, id).with("pid", "102").created(START_MS).claims(&other, &dead);
        if call.starts_with("rename recovery quarantine-") {
            other.dir().rename("recovery", "gone").unwrap();
            living("first");
        } else if call.starts_with("rename quarantine-") {
            living("second");
        }
        Before::Go
    });
    refused(tapped.acquire(), "LEASE_RECOVERING");
    let claim_in = |name: &str| String::from_utf8(bytes_of(&scene.below(name), "claim.json")).unwrap();
    assert!(claim_in("recovery").contains("\"second\""));
    let quarantine = scene.names().into_iter().find(|name| name.starts_with("quarantine-")).unwrap();
    assert!(claim_in(&quarantine).contains("\"first\""));
}
