//! Who counts as live, and what a refusal says.

#![cfg(feature = "sim")]

mod support;

use std::time::Duration;

use harnery_native::javascript::timestamp;
use harnery_native::lease::{acquire, Error, Input, NoHooks, Probed, Reason};
use harnery_native::sim::{Machine, START_MS};
use support::{reason, refused, simulated, Planted, Scene, Script, STALE_AFTER_MS};

const SAID_FIRST: &str = "lease workspace is held by a live or unexpired owner, or its liveness is unknown: ";

#[test]
fn a_refusal_names_the_holder_the_reason_and_the_seed_s_words_first() {
    let (machine, scene) = simulated();
    let mut held = scene.acquire().unwrap();
    let other = scene.of_process(&machine, 2);
    let Err(error @ Error::Held { .. }) = other.acquire() else { panic!("it is held") };
    assert_eq!(error.code().as_deref(), Some("LEASE_HELD"));
    assert!(error.to_string().starts_with(&format!("{SAID_FIRST}unexpired: pid 101")), "{error}");
    let Error::Held { holder, reason, .. } = error else { unreachable!() };
    assert_eq!((*holder, reason), ((*held.owner).clone(), Reason::Unexpired));
    assert_eq!(scene.names(), ["current", held.owner.owner_file.as_str()]);
    held.release(&scene.host).unwrap();
}

#[test]
fn l4_an_owner_with_a_strange_pid_is_unknown_never_dead() {
    for strange in ["\"12\"", "\"12abc\"", "-5", "1.5", "null"] {
        let (_machine, scene) = simulated();
        Planted::new(&scene, "D").with("pid", strange).holds(&scene);
        refused(scene.acquire(), "LEASE_CORRUPT");
        assert_eq!(scene.names(), ["current", "owner-D.json"]);
    }
    // A number that no process can have is a valid owner's, and nothing can be said of it.
    let (_machine, scene) = simulated();
    Planted::new(&scene, "D").with("pid", "4294967297").holds(&scene);
    assert_eq!(reason(scene.acquire()), Reason::UnreadableLiveness);
}

#[test]
fn l5_a_holder_that_lives_is_refused_a_hundred_times_past_its_expiry() {
    let (machine, scene) = simulated();
    let mut held = scene.acquire().unwrap();
    machine.pass(Duration::from_millis(100 * STALE_AFTER_MS as u64));
    let other = scene.of_process(&machine, 2);
    assert_eq!(reason(other.acquire()), Reason::Alive);
    held.release(&scene.host).unwrap();
    assert!(other.acquire().is_ok());
}

#[test]
fn l6_a_number_that_is_used_again_is_told_by_the_witness_and_never_guessed_without() {
    // The process with the number 101 is this one; it has the ticks 1001.
    let (_machine, scene) = simulated();
    let planted = Planted::new(&scene, "D").with("pid", "101");
    planted.clone().holds(&scene);
    assert_eq!(reason(scene.acquire()), Reason::Alive);

    for (witness, expected) in [
        (r#"{"pidfd_inode":"9"}"#, None),
        (r#"{"start_token":"lb0070001.9","time_namespace":"1"}"#, None),
        (r#"{"start_token":"lb0070001.9","time_namespace":"2"}"#, Some(Reason::UnreadableLiveness)),
        (r#"{"start_token":"lb0070001.9"}"#, Some(Reason::UnreadableLiveness)),
        (r#"{"start_token":"lb0070001.1001"}"#, Some(Reason::Alive)),
        (r#"{"pidfd_inode":"1001"}"#, Some(Reason::Alive)),
        (r#"{"pidfd_inode":"9","pid_namespace":"2"}"#, Some(Reason::OtherNamespace)),
        ("{}", Some(Reason::UnreadableLiveness)),
        ("7", Some(Reason::Alive)),
    ] {
        let (_machine, scene) = simulated();
        planted.clone().with("witness", witness).holds(&scene);
        match expected {
            None => assert!(scene.acquire().is_ok(), "{witness}"),
            Some(expected) => assert_eq!(reason(scene.acquire()), expected, "{witness}"),
        }
    }
}

#[test]
fn l7_an_owner_of_another_host_is_refused_naming_both_hosts() {
    let (_machine, scene) = simulated();
    Planted::new(&scene, "D").with("host", "\"old-name.local\"").holds(&scene);
    let error = scene.acquire().unwrap_err();
    assert!(error.to_string().contains("old-name.local") && error.to_string().ends_with(" host"), "{error}");
    assert_eq!(reason(Err(error)), Reason::OtherHost);
    // The host that a contender gives itself is not the host that it runs on.
    let input = Input { host: Some("old-name.local".into()), ..scene.input() };
    assert_eq!(reason(acquire(&scene.host, &input, &NoHooks)), Reason::OtherHost);
}

#[test]
fn l8_times_that_cannot_be_are_a_matter_of_the_clock() {
    let (_machine, scene) = simulated();
    Planted::new(&scene, "D").created(START_MS + 3_600_000).holds(&scene);
    let error = scene.acquire().unwrap_err();
    assert!(error.to_string().contains("clock: created at 2026-01-01T01:00:00.000Z"), "{error}");
    assert_eq!(reason(Err(error)), Reason::Clock);

    let (_machine, scene) = simulated();
    let before = timestamp::format(START_MS - 5000).unwrap();
    let after = timestamp::format(START_MS - 1).unwrap();
    Planted::new(&scene, "D")
        .with("created_at", &format!("\"{after}\""))
        .with("expires_at", &format!("\"{before}\""))
        .holds(&scene);
    assert_eq!(reason(scene.acquire()), Reason::Clock);
}

#[test]
fn l9_a_clock_that_jumps_while_the_holder_lives_robs_nobody() {
    let (machine, scene) = simulated();
    let mut held = scene.acquire().unwrap();
    let other = scene.of_process(&machine, 2);
    machine.world().now_ms += 8 * 3_600_000;
    assert_eq!(reason(other.acquire()), Reason::Alive);
    machine.world().now_ms -= 16 * 3_600_000;
    assert_eq!(reason(other.acquire()), Reason::Clock);
    assert!(held.holds(&scene.host));
    held.release(&scene.host).unwrap();
    assert!(other.acquire().is_ok());
}

#[test]
fn l10_an_owner_that_counts_otherwise_is_refused_with_both_values() {
    let (_machine, scene) = simulated();
    scene.dead_holder();
    let input = Input { stale_after_ms: 2000.0, ..scene.input() };
    let error = acquire(&scene.host, &input, &NoHooks).unwrap_err();
    assert!(error.to_string().contains("recorded 1000 ms, asked for 2000 ms"), "{error}");
    assert_eq!(reason(Err(error)), Reason::DifferentStaleAfter);
}

#[test]
fn the_first_reason_that_fits_counts() {
    let far_future = START_MS + 3_600_000;
    let (_machine, scene) = simulated();
    let all = || Planted::new(&scene, "D").created(far_future).with("pid", "101");
    let other_host = all().with("host", "\"far\"");
    let clock = all();
    let different = all().created(START_MS - 500).with("expires_at", "\"2026-01-01T00:00:09.000Z\"");
    let unexpired = all().created(START_MS - 500);
    let alive = all().created(START_MS - 5000);
    for (planted, expected) in [
        (other_host, Reason::OtherHost),
        (clock, Reason::Clock),
        (different, Reason::DifferentStaleAfter),
        (unexpired, Reason::Unexpired),
        (alive, Reason::Alive),
    ] {
        let (_machine, scene) = simulated();
        planted.holds(&scene);
        assert_eq!(reason(scene.acquire()), expected);
    }
}

#[test]
fn an_owner_of_another_boot_is_dead_at_once_whatever_the_clock_says() {
    let witness = r#"{"start_token":"lb0070000.7"}"#;
    let machine = Machine::default();
    let scene = Scene { host: machine.start(1).host(), path: "/x.lease".into() };
    let ahead = Planted::new(&scene, "D").created(START_MS + 3_600_000).with("pid", "101");
    ahead.clone().with("witness", witness).holds(&scene);
    assert!(scene.acquire().is_ok());

    // On another host it says nothing, and a supplied probe takes the witness's place.
    let (_machine, scene) = simulated();
    ahead.clone().with("witness", witness).with("host", "\"far\"").holds(&scene);
    assert_eq!(reason(scene.acquire()), Reason::OtherHost);
    let (_machine, scene) = simulated();
    ahead.with("witness", witness).holds(&scene);
    assert_eq!(reason(scene.acquire_with(&Script::default().only_alive(&[]))), Reason::Clock);
}

#[test]
fn a_supplied_probe_alone_decides_about_an_expired_owner() {
    let answers = [
        (Probed::Returned, Some(Reason::Alive)),
        (Probed::Threw { code: Some("EPERM".into()) }, Some(Reason::Alive)),
        (Probed::Threw { code: Some("EIO".into()) }, Some(Reason::UnreadableLiveness)),
        (Probed::Threw { code: None }, Some(Reason::UnreadableLiveness)),
        (Probed::Threw { code: Some("ESRCH".into()) }, None),
    ];
    for (answer, expected) in answers {
        let (_machine, scene) = simulated();
        // The machine would say the opposite: the number is this process's, the witness another's.
        Planted::new(&scene, "D").with("pid", "101").with("witness", r#"{"pidfd_inode":"9"}"#).holds(&scene);
        let hooks = Script::default().probe(move |_| answer.clone());
        match expected {
            None => assert!(scene.acquire_with(&hooks).is_ok()),
            Some(expected) => assert_eq!(reason(scene.acquire_with(&hooks)), expected),
        }
    }
    // Nobody is asked about an owner whose time is not over.
    let (_machine, scene) = simulated();
    Planted::new(&scene, "D").created(START_MS - 500).holds(&scene);
    let hooks = Script::default().probe(|pid| panic!("asked about {pid}"));
    assert_eq!(reason(scene.acquire_with(&hooks)), Reason::Unexpired);
}

#[test]
fn without_a_witness_what_the_system_says_of_the_number_decides() {
    use harnery_native::sim::Life;
    for (life, expected) in [
        (Life::Alive, Some(Reason::Alive)),
        (Life::Hidden, Some(Reason::UnreadableLiveness)),
        (Life::Zombie, None),
        (Life::Gone, None),
    ] {
        let (machine, scene) = simulated();
        let viewer = harnery_native::sim::Viewer {
            pid: harnery_native::process::Pid::new(102).unwrap(),
            uid: 0,
            host_name: "host".into(),
            pid_namespace: "1".into(),
        };
        machine.start(2);
        machine.world().processes.set(&viewer, life);
        Planted::new(&scene, "D").with("pid", "102").holds(&scene);
        match expected {
            None => assert!(scene.acquire().is_ok(), "{life:?}"),
            Some(expected) => assert_eq!(reason(scene.acquire()), expected, "{life:?}"),
        }
    }
}

#[test]
fn a_hand_turned_clock_decides_when_an_owner_expires() {
    let (_machine, scene) = simulated();
    let hooks = Script::at(1_000_000.0);
    Planted::new(&scene, "D").created(1_000_000).holds(&scene);
    hooks.now.set(Some(1_000_999.0));
    assert_eq!(reason(scene.acquire_with(&hooks)), Reason::Unexpired);
    hooks.now.set(Some(1_001_000.0));
    assert!(scene.acquire_with(&hooks).is_ok());
}
