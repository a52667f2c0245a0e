//! Rule 1: a claim is carried out once whoever could still act on an earlier one has left.

#![cfg(feature = "sim")]

mod support;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::lease::{Acquisition, Error, Lease, NoHooks, Progress, RecoveryStep};
use harnery_native::sim::{Machine, START_MS};
use support::{names, refused, simulated, Planted, Scene, Script};

/// Advance once: an acquisition that waits for quiet.
fn waiting(scene: &Scene) -> Acquisition {
    let mut acquisition = Acquisition::begin(&scene.host, &scene.input(), &NoHooks).unwrap();
    assert!(matches!(acquisition.advance(&scene.host, &NoHooks).unwrap(), Progress::Wait(_)));
    acquisition
}

fn finish(mut acquisition: Acquisition, scene: &Scene) -> Result<Lease, Error> {
    loop {
        match acquisition.advance(&scene.host, &NoHooks)? {
            Progress::Done(lease) => return Ok(lease),
            Progress::Wait(pause) => scene.host.clock.pause(&pause),
        }
    }
}

#[test]
fn rule_1_a_recovery_waits_until_a_living_contender_has_left() {
    let (machine, scene) = simulated();
    scene.planted_holder();
    let other = scene.of_process(&machine, 2);
    let bystander = Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&other);
    let acquisition = waiting(&scene);
    scene.dir().unlink(bystander.file()).unwrap();
    let lease = finish(acquisition, &scene).unwrap();
    assert_eq!(lease.recovered_owner.map(|owner| owner.owner_id).as_deref(), Some("D"));
}

#[test]
fn rule_1_a_recovery_goes_on_when_the_contender_it_waits_for_has_died() {
    let (machine, scene) = simulated();
    scene.planted_holder();
    let seat = machine.start(2);
    Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    let acquisition = waiting(&scene);
    seat.kill();
    assert!(finish(acquisition, &scene).is_ok());
}

#[test]
fn rule_1_a_recovery_gives_up_after_250_ms_and_leaves_nothing_of_its_own() {
    let (machine, scene) = simulated();
    scene.planted_holder();
    machine.start(2);
    let bystander = Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    let before = scene.host.clock.monotonic();
    let message = refused(scene.acquire(), "LEASE_RECOVERING");
    let whom =
        format!("lease workspace recovery raced with another contender: {} is still there", bystander.file());
    assert!(message.starts_with(&whom) && message.contains("(pid 102)"), "{message}");
    assert_eq!(scene.host.clock.monotonic() - before, Duration::from_millis(250));
    assert_eq!(scene.names(), ["current".to_owned(), bystander.file(), "owner-D.json".to_owned()]);
}

#[test]
fn rule_1_only_who_was_there_when_the_claim_was_published_is_waited_for() {
    let (machine, scene) = simulated();
    scene.planted_holder();
    let (late, number) = (scene.of_process(&machine, 2), RefCell::new(0));
    let hooks = Script::default().on_step(move |step| {
        if step == RecoveryStep::StalePinned {
            *number.borrow_mut() += 1;
            refused(late.acquire(), "LEASE_RECOVERING");
            Planted::new(&late, "late").with("pid", "102").created(START_MS).contends(&late);
        }
        Ok(())
    });
    assert!(scene.acquire_with(&hooks).is_ok());
}

#[test]
fn rule_1_files_of_other_hosts_torn_files_and_the_observed_owner_s_are_not_waited_for() {
    let (_machine, scene) = simulated();
    // The observed owner is dead by its witness, though its number is alive.
    Planted::new(&scene, "D").with("pid", "101").with("witness", r#"{"pidfd_inode":"9"}"#).holds(&scene);
    Planted::new(&scene, "far").with("host", "\"far\"").with("pid", "101").contends(&scene);
    scene.write("owner-torn.json", b"{\"schema_ver");
    scene.write("owner-empty.json", b"");
    let before = scene.host.clock.monotonic();
    assert!(scene.acquire().is_ok());
    assert_eq!(scene.host.clock.monotonic(), before);
}

#[test]
fn rule_1_a_nested_call_of_the_same_process_is_refused_as_a_stopped_contender() {
    let (_machine, scene) = simulated();
    scene.planted_holder();
    let inner = scene.clone();
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    let show = Rc::clone(&outcomes);
    let hooks = Script::default().validate(move |_| {
        show.borrow_mut().push(refused(inner.acquire(), "LEASE_RECOVERING"));
        Ok(true)
    });
    let lease = scene.acquire_with(&hooks).unwrap();
    assert!(lease.recovered_owner.is_some());
    assert_eq!(outcomes.borrow().len(), 1);
    assert!(outcomes.borrow()[0].contains("raced with another contender"), "{:?}", outcomes.borrow());
}

#[test]
fn rule_1_a_claim_that_was_taken_away_is_not_carried_out() {
    let (machine, scene) = simulated();
    scene.planted_holder();
    let seat = machine.start(2);
    Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    let acquisition = waiting(&scene);
    scene.dir().rename("recovery", "quarantine-of-somebody").unwrap();
    seat.kill();
    let message = refused(finish(acquisition, &scene), "LEASE_RECOVERING");
    assert!(message.contains("recovery raced with another contender"), "{message}");
    assert_eq!(scene.names(), ["current", "owner-B.json", "owner-D.json", "quarantine-of-somebody"]);
    assert_eq!(names(&scene.below("quarantine-of-somebody")), ["claim.json", "stale-pin"]);
}

#[test]
fn rule_1_without_a_witness_times_tell_that_a_number_is_used_again() {
    let boot = START_MS - 3_600_000;
    // The process with the number 102 has started at `START_MS`.
    for (written, waits) in [(START_MS - 1999, true), (START_MS - 2001, false), (boot - 2001, false)] {
        let machine = Machine::default();
        let scene = Scene { host: machine.start(1).host(), path: "/x.lease".into() };
        scene.planted_holder();
        machine.world().disk.now_ms = written;
        Planted::new(&scene, "B").with("pid", "102").contends(&scene);
        machine.world().disk.now_ms = START_MS;
        machine.start(2);
        assert_eq!(scene.acquire().is_err(), waits, "written at {written}");
    }
}

#[test]
fn rule_1_a_file_from_before_the_boot_is_nobody_s_even_where_nothing_is_told_of_its_process() {
    for (written, waits) in [(START_MS - 3_600_000 - 2001, false), (START_MS - 3_600_000 - 1999, true)] {
        let machine = Machine::default();
        let scene = Scene { host: machine.start(1).host(), path: "/x.lease".into() };
        scene.planted_holder();
        machine.world().disk.now_ms = written;
        // A number that no process has: nothing can be said of it.
        Planted::new(&scene, "B").with("pid", "4294967297").contends(&scene);
        machine.world().disk.now_ms = START_MS;
        assert_eq!(scene.acquire().is_err(), waits, "written at {written}");
    }
}

#[test]
fn rule_1_a_supplied_probe_is_asked_in_the_place_of_the_machine() {
    let (_machine, scene) = simulated();
    scene.planted_holder();
    Planted::new(&scene, "B").with("pid", "77").contends(&scene);
    refused(scene.acquire_with(&Script::default().only_alive(&[77])), "LEASE_RECOVERING");
    assert!(scene.acquire_with(&Script::default().only_alive(&[])).is_ok());
}
