//! What dead contenders leave is swept, by a holder, when nobody else is there (rule 6), and at bounded cost.

#![cfg(feature = "sim")]

mod support;

use std::time::Duration;

use harnery_native::files::record::write_new;
use harnery_native::sim::START_MS;
use support::{names, simulated, Before, Planted, Scene};

#[test]
fn rule_6_a_holder_sweeps_what_dead_contenders_left() {
    let (_machine, scene) = simulated();
    scene.plant_leftovers();
    let mut lease = scene.acquire().unwrap();
    assert_eq!(scene.names(), ["current", lease.owner.owner_file.as_str()]);
    lease.release(&scene.host).unwrap();
    scene.assert_free_and_clean();
}

#[test]
fn rule_6_what_others_were_in_the_way_of_is_swept_when_the_lease_is_let_go() {
    let (machine, scene) = simulated();
    scene.plant_leftovers();
    let seat = machine.start(2);
    let other = Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    let mut lease = scene.acquire().unwrap();
    // The other contender's call ends while the lease is held.
    seat.kill();
    scene.dir().unlink(other.file()).unwrap();
    lease.release(&scene.host).unwrap();
    scene.assert_free_and_clean();
}

#[test]
fn rule_6_nothing_is_swept_while_another_contender_may_live() {
    let (machine, scene) = simulated();
    scene.plant_leftovers();
    let seat = machine.start(2);
    let other = Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    let before = scene.names();
    let mut lease = scene.acquire().unwrap();
    lease.release(&scene.host).unwrap();
    assert_eq!(scene.names(), before);
    // Nor one of whom nothing can be told from here.
    seat.kill();
    scene.dir().unlink(other.file()).unwrap();
    let hidden = Planted::new(&scene, "B").with("witness", r#"{"pid_namespace":"2"}"#).contends(&scene);
    scene.assert_acquirable();
    assert_eq!(scene.names(), before);
    scene.dir().unlink(hidden.file()).unwrap();
    scene.assert_acquirable();
    scene.assert_free_and_clean();
}

#[test]
fn rule_6_nothing_is_swept_when_the_second_look_shows_a_recovery() {
    let (machine, scene) = simulated();
    scene.plant_leftovers();
    machine.start(2);
    let (tap, tapped) = scene.tapped();
    let other = scene.clone();
    let mut lists = 0;
    tap.before(move |_, call| {
        lists += usize::from(call == "list");
        if lists == 2 && !other.has("recovery") {
            Planted::new(&other, "X").claims(&other, &Planted::new(&other, "D"));
        }
        Before::Go
    });
    let before = scene.names().len();
    let _lease = tapped.acquire().unwrap();
    // The recovery, `current` and the holder's file have come to it, nothing has gone.
    assert_eq!(scene.names().len(), before + 3);
}

#[test]
fn rule_6_what_came_after_the_first_look_is_left_to_the_next_holder() {
    let (_machine, scene) = simulated();
    scene.plant_leftovers();
    let (tap, tapped) = scene.tapped();
    let other = scene.clone();
    let mut lists = 0;
    tap.before(move |_, call| {
        lists += usize::from(call == "list");
        if lists == 2 && !other.has("quarantine-late") {
            other.make("quarantine-late");
            Planted::new(&other, "late").contends(&other);
        }
        Before::Go
    });
    let lease = tapped.acquire().unwrap();
    let mut expected = [
        "current".to_owned(),
        lease.owner.owner_file.clone(),
        "owner-late.json".into(),
        "quarantine-late".into(),
    ];
    expected.sort();
    assert_eq!(scene.names(), expected);
}

#[test]
fn rule_6_torn_claims_foreign_things_and_torn_owner_files_stay() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    write_new(&scene.make("recovery-claim-torn"), "claim.json", b"{\"schema", 0o600).unwrap();
    write_new(&scene.make("quarantine-foreign"), "notes.txt", b"x", 0o600).unwrap();
    let mixed = scene.make("quarantine-mixed");
    let claim = Planted::new(&scene, "C").claim_on(&Planted::new(&scene, "D"));
    write_new(&mixed, "claim.json", claim.as_bytes(), 0o600).unwrap();
    write_new(&mixed, "notes.txt", b"x", 0o600).unwrap();
    scene.make("recovery-retired-deep").make_dir("stale-pin", 0o700).unwrap();
    scene.write("quarantine-file", b"x");
    scene.write("owner-torn.json", b"{");
    scene.write("notes.txt", b"x");
    scene.make("owner-directory.json");
    scene.make("repaired-2026");
    let before = scene.names();
    scene.assert_acquirable();
    assert_eq!(scene.names(), before);
    assert_eq!(names(&scene.below("quarantine-foreign")), ["notes.txt"]);
    assert_eq!(names(&mixed), ["claim.json", "notes.txt"]);
    assert_eq!(names(&scene.below("recovery-retired-deep")), ["stale-pin"]);
}

#[test]
fn rule_6_an_owner_file_that_something_links_stays() {
    let (_machine, scene) = simulated();
    let dead = Planted::new(&scene, "D").contends(&scene);
    let kept = scene.make("repaired-2026");
    scene.dir().link(dead.file(), &kept, "current").unwrap();
    scene.assert_acquirable();
    assert!(scene.has(&dead.file()));
}

#[test]
fn at_most_64_entries_go_in_one_call() {
    let (_machine, scene) = simulated();
    for number in 0..100 {
        Planted::new(&scene, &format!("{number}")).contends(&scene);
    }
    scene.assert_acquirable();
    assert_eq!(scene.names().len(), 36);
    scene.assert_acquirable();
    scene.assert_free_and_clean();
}

#[test]
fn l11_a_directory_full_of_leftovers_costs_no_more_and_shrinks_sweep_by_sweep() {
    let (machine, scene) = simulated();
    let cost = |scene: &Scene| {
        let (tap, tapped) = scene.tapped();
        let mut lease = tapped.acquire().unwrap();
        lease.release(&tapped.host).unwrap();
        tap.take_log().len()
    };
    let empty = {
        let (_machine, scene) = simulated();
        scene.assert_acquirable();
        cost(&scene)
    };
    for number in 0..1000 {
        Planted::new(&scene, &format!("{number}")).contends(&scene);
    }
    for number in 0..100 {
        scene.make(&format!("recovery-claim-{number}"));
    }
    machine.start(2);
    let live = Planted::new(&scene, "live").with("pid", "102").created(START_MS);
    let mut left = scene.names().len();
    assert_eq!(left, 1100);
    for minute in 0..20 {
        machine.pass(Duration::from_secs(60));
        cost(&scene);
        assert_eq!(scene.names().len(), left.saturating_sub(64), "minute {minute}");
        left = scene.names().len();
        if left > 512 {
            // Between two sweeps it is not even listed: one look at the directory itself more.
            assert_eq!(cost(&scene), empty + 1);
        }
    }
    assert_eq!(left, 0);

    for number in 0..600 {
        Planted::new(&scene, &format!("{number}")).contends(&scene);
    }
    live.clone().contends(&scene);
    for _ in 0..3 {
        machine.pass(Duration::from_secs(60));
        scene.assert_acquirable();
        assert!(scene.has(&live.file()));
    }
}
