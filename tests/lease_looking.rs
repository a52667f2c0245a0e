//! Looking at a lease changes nothing; a repair moves aside what makes it corrupt, and only that.

#![cfg(feature = "sim")]

mod support;

use std::time::Duration;

use harnery_native::files::record::write_new;
use harnery_native::javascript::json::{parse, sha256_hex, Value};
use harnery_native::lease::inspect::{Inspection, State};
use harnery_native::lease::repair::{Repaired, Request};
use harnery_native::lease::{inspect, repair, Error, Liveness, NoHooks, Reason};
use harnery_native::sim::START_MS;
use support::{bytes_of, names, real, simulated, Before, Planted, Scene};

fn look(scene: &Scene) -> Inspection {
    inspect(&scene.host, &scene.path, Some(support::STALE_AFTER_MS as f64), &NoHooks).unwrap()
}

fn request(scene: &Scene) -> Request {
    Request {
        digest: look(scene).digest,
        actor: "operator".into(),
        reason: "a torn file".into(),
        elsewhere_is_gone: false,
    }
}

fn mend(scene: &Scene) -> Result<Repaired, Error> {
    repair(&scene.host, &scene.path, &request(scene))
}

#[track_caller]
fn refused(outcome: Result<Repaired, Error>, code: &str) -> String {
    let error = outcome.unwrap_err();
    assert_eq!(error.code().as_deref(), Some(code), "{error}");
    error.to_string()
}

#[test]
fn a_look_tells_the_state_and_changes_nothing() {
    let (machine, scene) = simulated();
    assert_eq!(look(&scene).state, State::Free);
    assert!(scene.host.files.stat(&scene.path).is_err());

    let mut lease = scene.acquire().unwrap();
    let seen = look(&scene);
    assert_eq!((seen.state, seen.liveness), (State::Held, Some(Liveness::Live(Reason::Unexpired))));
    assert_eq!((seen.owner, seen.leftovers), (Some((*lease.owner).clone()), 0));
    lease.release(&scene.host).unwrap();
    assert_eq!(look(&scene).state, State::Free);

    let dead = Planted::new(&scene, "D").holds(&scene);
    let seen = look(&scene);
    assert_eq!((seen.state, seen.liveness, seen.leftovers), (State::Stale, Some(Liveness::Dead), 0));

    machine.start(2);
    let claimant = Planted::new(&scene, "C").with("pid", "102").created(START_MS).contends(&scene);
    claimant.claims(&scene, &dead);
    let seen = look(&scene);
    assert_eq!((seen.state, seen.leftovers), (State::Recovering, 0));
    assert_eq!(seen.claim.unwrap().claimant.owner_id, "C");
    // Whom `current` names.
    assert_eq!(seen.liveness, Some(Liveness::Dead));

    scene.dir().unlink("current").unwrap();
    let (seen, before) = (look(&scene), scene.names());
    assert_eq!((seen.state, seen.liveness), (State::Recovering, Some(Liveness::Live(Reason::Unexpired))));
    assert_eq!(scene.names(), before);
}

#[test]
fn a_look_without_a_duration_lets_each_owner_s_own_times_count() {
    let (_machine, scene) = simulated();
    Planted::new(&scene, "D").holds(&scene);
    let of = |ms| inspect(&scene.host, &scene.path, ms, &NoHooks).unwrap().liveness;
    assert_eq!(of(None), Some(Liveness::Dead));
    assert_eq!(of(Some(7.0)), Some(Liveness::Live(Reason::DifferentStaleAfter)));
    for bad in [0.0, 0.5, f64::NAN] {
        let error = inspect(&scene.host, &scene.path, Some(bad), &NoHooks).unwrap_err();
        assert_eq!(error.code().as_deref(), Some("LEASE_INPUT"));
    }
}

#[test]
fn leftovers_are_counted_and_torn_owner_files_among_them() {
    let (machine, scene) = simulated();
    let mut held = scene.acquire().unwrap();
    machine.start(2);
    Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    Planted::new(&scene, "D").contends(&scene);
    scene.write("owner-torn.json", b"{");
    scene.make("recovery-claim-x");
    scene.make("quarantine-x");
    scene.make("repaired-x");
    scene.write("notes.txt", b"x");
    assert_eq!(look(&scene).leftovers, 4);
    held.release(&scene.host).unwrap();
}

#[test]
fn the_digest_is_that_of_names_devices_inodes_sizes_and_contents() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    scene.write("a", b"hello");
    let inner = scene.make("b");
    let of = |name: &str| scene.dir().look(name).unwrap().unwrap();
    let (a, b) = (of("a"), of("b"));
    let sha = sha256_hex(b"hello");
    let text = format!(
        "[[\"a\",\"{}\",\"{}\",\"5\",\"{sha}\"],[\"b\",\"{}\",\"{}\",\"{}\",\"\"]]",
        a.identity.device, a.identity.inode, b.identity.device, b.identity.inode, b.size
    );
    assert_eq!(look(&scene).digest, sha256_hex(text.as_bytes()));
    let before = look(&scene).digest;
    write_new(&inner, "c", b"", 0o600).unwrap();
    assert_ne!(look(&scene).digest, before);
}

#[test]
fn l3_a_repair_moves_a_torn_current_aside_with_a_note_and_the_lease_is_free_again() {
    let (_root, scene) = real();
    scene.assert_acquirable();
    scene.write("current", b"torn");
    assert_eq!(look(&scene).state, State::Corrupt);
    let request = request(&scene);
    let repaired = repair(&scene.host, &scene.path, &request).unwrap();
    assert_eq!(repaired.moved, ["current"]);
    let aside = repaired.moved_to.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(aside.starts_with("repaired-20"), "{aside}");
    assert_eq!(scene.names(), [aside.as_str()]);
    let aside = scene.below(&aside);
    assert_eq!(names(&aside), ["current", "repair.json"]);
    assert_eq!(bytes_of(&aside, "current"), b"torn");

    let note = parse(&bytes_of(&aside, "repair.json")).unwrap();
    let field = |name| note.as_object().unwrap().get(name).unwrap().clone();
    assert_eq!((field("actor"), field("reason")), ("operator".into(), "a torn file".into()));
    assert_eq!(field("digest"), request.digest.into());
    let Value::Array(moved) = field("moved") else { panic!("a list") };
    let row = moved[0].as_object().unwrap();
    assert_eq!(row.get("sha256"), Some(&sha256_hex(b"torn").into()));
    assert_eq!((row.get("name"), row.get("size")), (Some(&"current".into()), Some(&4_i64.into())));
    scene.assert_acquirable();
}

#[test]
fn two_repairs_of_one_millisecond_have_a_directory_each() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    let repaired = ["one", "two", "three"].map(|text| {
        scene.write("current", text.as_bytes());
        mend(&scene).unwrap().moved_to
    });
    for (aside, text) in repaired.iter().zip(["one", "two", "three"]) {
        let aside = scene.below(aside.file_name().unwrap().to_str().unwrap());
        assert_eq!(bytes_of(&aside, "current"), text.as_bytes());
    }
}

#[test]
fn a_corrupt_recovery_is_moved_whole() {
    let (_machine, scene) = simulated();
    let dead = Planted::new(&scene, "D").holds(&scene);
    let recovery = scene.make("recovery");
    write_new(&recovery, "claim.json", b"{", 0o600).unwrap();
    scene.dir().link(dead.file(), &recovery, "stale-pin").unwrap();
    let repaired = mend(&scene).unwrap();
    assert_eq!(repaired.moved, ["recovery"]);
    let aside = scene.below(repaired.moved_to.file_name().unwrap().to_str().unwrap());
    assert_eq!(names(&aside.open_dir("recovery").unwrap()), ["claim.json", "stale-pin"]);
    assert_eq!(scene.acquire().unwrap().recovered_owner.unwrap().owner_id, "D");
}

#[test]
fn a_healthy_lease_is_never_touched() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    let free = mend(&scene);
    assert!(refused(free, "LEASE_INPUT").contains("nothing in it to repair"));
    let mut held = scene.acquire().unwrap();
    refused(mend(&scene), "LEASE_INPUT");
    held.release(&scene.host).unwrap();
    Planted::new(&scene, "D").holds(&scene);
    refused(mend(&scene), "LEASE_INPUT");
    let elsewhere = Request { elsewhere_is_gone: true, ..request(&scene) };
    refused(repair(&scene.host, &scene.path, &elsewhere), "LEASE_INPUT");
    assert_eq!(scene.names(), ["current", "owner-D.json"]);
}

#[test]
fn a_repair_takes_the_digest_of_now_and_somebody_s_name_and_reason() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    scene.write("current", b"torn");
    let good = request(&scene);
    scene.write("more", b"");
    assert!(refused(repair(&scene.host, &scene.path, &good), "LEASE_INPUT").contains("look at it again"));
    for bad in [
        Request { digest: "no".into(), ..request(&scene) },
        Request { actor: " ".into(), ..request(&scene) },
        Request { reason: String::new(), ..request(&scene) },
    ] {
        refused(repair(&scene.host, &scene.path, &bad), "LEASE_INPUT");
    }
    assert_eq!(scene.names(), ["current", "more"]);
}

#[test]
fn nothing_is_repaired_while_an_owner_in_it_is_live() {
    let (machine, scene) = simulated();
    // A living holder beside a corrupt recovery.
    let mut held = scene.acquire().unwrap();
    scene.write("recovery", b"x");
    assert!(refused(mend(&scene), "LEASE_HELD").contains("is live"));
    held.release(&scene.host).unwrap();
    assert!(mend(&scene).is_ok());

    // A living contender beside a torn `current`.
    scene.write("current", b"torn");
    let seat = machine.start(2);
    Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    refused(mend(&scene), "LEASE_HELD");
    assert!(scene.has("current"));
    seat.kill();
    machine.pass(Duration::from_millis(1));
    assert!(mend(&scene).is_ok());
}

#[test]
fn what_is_elsewhere_is_moved_aside_only_on_somebody_s_word_and_once_its_time_is_over() {
    let (machine, scene) = simulated();
    let elsewhere =
        |id| Planted::new(&scene, id).with("witness", r#"{"pid_namespace":"2"}"#).with("pid", "7");
    let confirmed = |scene: &Scene| {
        let request = Request { elsewhere_is_gone: true, ..request(scene) };
        repair(&scene.host, &scene.path, &request)
    };
    elsewhere("D").created(START_MS).holds(&scene);
    elsewhere("B").contends(&scene);
    refused(mend(&scene), "LEASE_INPUT");
    // Not the holder: its time is not over.
    refused(confirmed(&scene), "LEASE_HELD");
    machine.pass(Duration::from_secs(2));
    refused(mend(&scene), "LEASE_INPUT");
    assert_eq!(confirmed(&scene).unwrap().moved, ["current", "owner-B.json", "owner-D.json"]);
    scene.assert_acquirable();

    let dead = Planted::new(&scene, "dead").holds(&scene);
    elsewhere("C").contends(&scene).claims(&scene, &dead);
    machine.pass(Duration::from_secs(2));
    assert_eq!(confirmed(&scene).unwrap().moved, ["recovery", "owner-C.json"]);
    assert_eq!(scene.acquire().unwrap().recovered_owner.unwrap().owner_id, "dead");
}

#[test]
fn an_owner_of_another_host_is_moved_aside_on_somebody_s_word_once_its_time_is_over() {
    let (machine, scene) = simulated();
    Planted::new(&scene, "D").with("host", r#""3f2a9c1b7d10""#).created(START_MS).holds(&scene);
    let confirmed = || {
        let request = Request { elsewhere_is_gone: true, ..request(&scene) };
        repair(&scene.host, &scene.path, &request)
    };
    refused(confirmed(), "LEASE_INPUT");
    machine.pass(Duration::from_secs(2));
    assert_eq!(support::reason(scene.acquire()), Reason::OtherHost);
    assert!(refused(mend(&scene), "LEASE_INPUT").contains("it takes confirm \"elsewhere\""));
    assert_eq!(confirmed().unwrap().moved, ["current", "owner-D.json"]);
    scene.assert_acquirable();
}

#[test]
fn one_repair_at_a_time() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    scene.write("current", b"torn");
    let other = scene.dir();
    assert!(other.try_lock().unwrap());
    refused(mend(&scene), "LEASE_RECOVERING");
    drop(other);
    assert!(mend(&scene).is_ok());
}

#[test]
fn a_lease_that_was_taken_meanwhile_is_linked_back() {
    let (machine, scene) = simulated();
    scene.assert_acquirable();
    scene.write("current", b"torn");
    let request = request(&scene);
    let (tap, tapped) = scene.tapped();
    let other = scene.of_process(&machine, 2);
    let holder = other.clone();
    let taken = std::rc::Rc::new(std::cell::RefCell::new(None));
    let take = std::rc::Rc::clone(&taken);
    tap.before(move |_, call| {
        if call == "rename current current" && take.borrow().is_none() {
            other.dir().unlink("current").unwrap();
            *take.borrow_mut() = Some(other.acquire().unwrap());
        }
        Before::Go
    });
    let outcome = repair(&tapped.host, &tapped.path, &request);
    assert!(refused(outcome, "LEASE_RECOVERING").contains("replaced meanwhile"));
    assert!(taken.borrow().as_ref().unwrap().holds(&holder.host));
}

#[test]
fn every_call_of_a_repair_may_fail_and_no_bytes_are_lost() {
    let mut failed = 0;
    for at in 0.. {
        let (_machine, scene) = simulated();
        scene.assert_acquirable();
        scene.write("current", b"torn");
        let request = request(&scene);
        let (tap, tapped) = scene.tapped();
        tap.before(
            move |number, _| if number == at { Before::Fail(nix::errno::Errno::EIO) } else { Before::Go },
        );
        let outcome = repair(&tapped.host, &tapped.path, &request);
        if tap.take_log().len() <= at {
            assert!(outcome.is_ok());
            break;
        }
        failed += 1;
        assert!(outcome.is_err(), "call {at}");
        let aside = scene.names().into_iter().find(|name| name.starts_with("repaired-"));
        let kept = scene.has("current").then(|| scene.read("current"));
        let moved =
            aside.map(|aside| scene.below(&aside)).filter(|aside| aside.look("current").unwrap().is_some());
        let found = kept.or(moved.map(|aside| bytes_of(&aside, "current")));
        assert_eq!(found.as_deref(), Some(&b"torn"[..]), "call {at}");
    }
    assert!(failed > 15, "only {failed} calls could fail");
}
