//! The seven numbered rules, and what becomes of the claims of the dead.

#![cfg(feature = "sim")]

mod support;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::files::record::write_new;
use harnery_native::lease::{Acquisition, Lease, NoHooks, Progress, RecoveryStep};
use harnery_native::sim::{Machine, START_MS};
use nix::errno::Errno;
use support::{bytes_of, names, refused, simulated, Before, Planted, Scene, Script};

/// A dead holder `D`, with the pid of nobody.
fn dead_holder(scene: &Scene) -> Planted {
    Planted::new(scene, "D").holds(scene)
}

/// Advance once: an acquisition that waits for quiet.
fn waiting(scene: &Scene) -> Acquisition {
    let mut acquisition = Acquisition::begin(&scene.host, &scene.input(), &NoHooks).unwrap();
    assert!(matches!(acquisition.advance(&scene.host, &NoHooks).unwrap(), Progress::Wait(_)));
    acquisition
}

fn finish(mut acquisition: Acquisition, scene: &Scene) -> Result<Lease, harnery_native::lease::Error> {
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
    dead_holder(&scene);
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
    dead_holder(&scene);
    let seat = machine.start(2);
    Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    let acquisition = waiting(&scene);
    seat.kill();
    assert!(finish(acquisition, &scene).is_ok());
}

#[test]
fn rule_1_a_recovery_gives_up_after_250_ms_and_leaves_nothing_of_its_own() {
    let (machine, scene) = simulated();
    dead_holder(&scene);
    machine.start(2);
    let bystander = Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    let before = scene.host.clock.monotonic();
    let message = refused(scene.acquire(), "LEASE_RECOVERING");
    assert!(message.starts_with("lease workspace recovery raced with another contender"), "{message}");
    assert_eq!(scene.host.clock.monotonic() - before, Duration::from_millis(250));
    assert_eq!(scene.names(), ["current".to_owned(), bystander.file(), "owner-D.json".to_owned()]);
}

#[test]
fn rule_1_only_who_was_there_when_the_claim_was_published_is_waited_for() {
    let (machine, scene) = simulated();
    dead_holder(&scene);
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
    dead_holder(&scene);
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
    dead_holder(&scene);
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
        dead_holder(&scene);
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
        dead_holder(&scene);
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
    dead_holder(&scene);
    Planted::new(&scene, "B").with("pid", "77").contends(&scene);
    refused(scene.acquire_with(&Script::default().only_alive(&[77])), "LEASE_RECOVERING");
    assert!(scene.acquire_with(&Script::default().only_alive(&[])).is_ok());
}

#[test]
fn rule_2_a_published_claim_pins_the_owner_that_it_names() {
    let (_machine, scene) = simulated();
    let dead = dead_holder(&scene);
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
        dead_holder(&scene);
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
        dead_holder(&scene);
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
    dead_holder(&scene);
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
    let dead = dead_holder(&scene);
    Planted::new(&scene, "C").claims(&scene, &dead);
    let lease = scene.acquire().unwrap();
    assert_eq!(lease.recovered_owner.map(|owner| owner.owner_id).as_deref(), Some("D"));
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
    let dead = dead_holder(&scene);
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
    let dead = dead_holder(&scene);
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
    let dead = dead_holder(&scene);
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
        let dead = dead_holder(&scene);
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
    dead_holder(&scene);
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
    let dead = dead_holder(&scene);
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
fn a_claim_that_could_not_be_put_back_stays_in_its_quarantine() {
    let (machine, scene) = simulated();
    let dead = dead_holder(&scene);
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

#[test]
fn every_call_of_a_recovery_may_fail_and_nothing_of_it_is_left() {
    let mut failed = 0;
    for at in 0.. {
        let (_machine, scene) = simulated();
        dead_holder(&scene);
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
