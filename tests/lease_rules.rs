//! The steps of acquiring, recovering and releasing a lease, and what each leaves on disk.

#![cfg(feature = "sim")]

mod support;

use std::cell::RefCell;
use std::rc::Rc;

use harnery_native::javascript::Thrown;
use harnery_native::lease::{
    acquire, Acquisition, Durability, Error, Input, NoHooks, Progress, RecoveryStep,
};
use harnery_native::sim::Machine;
use support::{names, real, refused, simulated, Before, Planted, Scene, Script, DEAD_PID};

#[test]
fn a_lease_is_a_hard_link_to_the_holder_s_owner_file_and_goes_without_a_trace() {
    let (root, scene) = real();
    let mut lease = scene.acquire().unwrap();
    assert_eq!(scene.names(), ["current", lease.owner.owner_file.as_str()]);
    assert_eq!(scene.holder(), lease.owner.owner_id);
    assert!(lease.holds(&scene.host));
    lease.release(&scene.host).unwrap();
    lease.release(&scene.host).unwrap();
    assert!(!lease.holds(&scene.host));
    scene.assert_free_and_clean();
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn a_dead_holder_is_replaced_and_named_and_nothing_of_it_is_left() {
    let (_root, scene) = real();
    let dead = scene.dead_holder();
    let mut lease = scene.acquire().unwrap();
    assert_eq!(lease.recovered_owner.as_ref().map(|owner| &owner.owner_id), Some(&dead.owner_id));
    assert_eq!(scene.names(), ["current", lease.owner.owner_file.as_str()]);
    lease.release(&scene.host).unwrap();
    scene.assert_free_and_clean();
}

#[test]
fn invalid_input_is_refused_before_anything_is_written() {
    let (_machine, scene) = simulated();
    let good = scene.input();
    let bad = [
        Input { path: "/a/..".into(), ..good.clone() },
        Input { path: "/.x".into(), ..good.clone() },
        Input { path: "/x\0y".into(), ..good.clone() },
        Input { scope: "a b".into(), ..good.clone() },
        Input { authority_sha256: "F".repeat(64), ..good.clone() },
        Input { stale_after_ms: 0.5, ..good.clone() },
        Input { stale_after_ms: 8.64e15, ..good.clone() },
        Input { pid: Some(0.0), ..good.clone() },
        Input { pid: Some(f64::NAN), ..good.clone() },
        Input { host: Some(String::new()), ..good.clone() },
        Input { metadata: Some(vec![("a b".into(), "x".into())]), ..good.clone() },
        Input { metadata: Some(vec![("a".into(), "x".repeat(1001).into())]), ..good.clone() },
    ];
    for input in &bad {
        let message = refused(acquire(&scene.host, input, &NoHooks), "LEASE_INPUT");
        assert!(message.starts_with("no-clobber lease input is invalid"), "{message}");
    }
    for now in [f64::NAN, f64::INFINITY, 8.64e15 + 2.0, 8.64e15] {
        refused(scene.acquire_with(&Script::at(now)), "LEASE_INPUT");
    }
    assert!(scene.host.files.stat(&scene.path).is_err());
}

#[test]
fn a_supplied_now_is_cut_to_whole_milliseconds() {
    let (_machine, scene) = simulated();
    let lease = scene.acquire_with(&Script::at(1_700_000_000_000.9)).unwrap();
    assert_eq!(lease.owner.created_at, "2023-11-14T22:13:20.000Z");
}

#[test]
fn the_hook_comes_just_before_the_directory_on_every_acquire_and_may_make_it_itself() {
    let (_machine, scene) = simulated();
    let parent = scene.path.join("deep");
    let scene = Scene { path: parent.join("er.lease"), ..scene };
    for _ in 0..2 {
        let (files, path) = (scene.host.files.clone(), scene.path.clone());
        let calls = Rc::new(RefCell::new(0));
        let count = Rc::clone(&calls);
        let hooks = Script::default().on_create(move |()| {
            *count.borrow_mut() += 1;
            // Its parent is there; whether it is itself is nobody's concern.
            let _ = files.make_dir(&path, 0o700);
            Ok(())
        });
        let mut lease = scene.acquire_with(&hooks).unwrap();
        assert_eq!(*calls.borrow(), 1);
        lease.release(&scene.host).unwrap();
    }
}

#[test]
fn a_directory_that_the_hook_removes_is_made_again() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    let (host, path) = (scene.host.clone(), scene.path.clone());
    let hooks = Script::default().on_create(move |()| {
        harnery_native::files::Dir::open(&host.files, "/".as_ref())
            .unwrap()
            .remove_dir(path.file_name().unwrap())
            .unwrap();
        Ok(())
    });
    let lease = scene.acquire_with(&hooks).unwrap();
    assert!(lease.holds(&scene.host));
}

#[test]
fn contention_is_told_once_for_each_holder_that_is_met() {
    let (machine, scene) = simulated();
    let mut held = scene.acquire().unwrap();
    let holder = scene.host.clone();
    let calls = Rc::new(RefCell::new(0));
    let count = Rc::clone(&calls);
    let hooks = Script::default().on_contention(move |()| {
        *count.borrow_mut() += 1;
        held.release(&holder).unwrap();
        Ok(())
    });
    let second = scene.of_process(&machine, 2);
    let lease = second.acquire_with(&hooks).unwrap();
    assert_eq!((*calls.borrow(), scene.holder()), (1, lease.owner.owner_id.clone()));
}

#[test]
fn a_lease_that_changes_hands_eight_times_under_one_s_eyes_is_contended() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    let (tap, tapped) = scene.tapped();
    let other = scene.clone();
    // Each look finds a holder, each reading finds it gone.
    tap.before(move |number, call| {
        if call == "stat current" {
            Planted::new(&other, &format!("p{number}")).holds(&other);
        } else if call == "open current" {
            other.dir().unlink("current").unwrap();
        }
        Before::Go
    });
    let message = refused(tapped.acquire(), "LEASE_RECOVERING");
    assert_eq!(message, "lease workspace changed repeatedly during contention");
    assert_eq!(tap.take_log().iter().filter(|call| *call == "open current").count(), 8);
}

#[test]
fn a_scope_that_differs_or_a_validator_that_says_no_is_a_mismatched_authority() {
    let (_machine, scene) = simulated();
    let dead = scene.dead_holder();
    let other_scope = Input { scope: "other".into(), ..scene.input() };
    let message = refused(acquire(&scene.host, &other_scope, &NoHooks), "LEASE_AUTHORITY");
    assert_eq!(message, "stale lease other has mismatched authority");
    let hooks = Script::default().validate(|_| Ok(false));
    let message = refused(scene.acquire_with(&hooks), "LEASE_AUTHORITY");
    assert_eq!(message, "stale lease workspace has mismatched authority");
    assert_eq!(scene.names(), ["current", dead.owner_file.as_str()]);

    // Without a validator only the scope counts.
    let other_authority = Input { authority_sha256: "f".repeat(64), ..scene.input() };
    assert!(acquire(&scene.host, &other_authority, &NoHooks).is_ok());
}

#[test]
fn the_validator_is_shown_the_owner_as_it_is_on_disk() {
    let (_machine, scene) = simulated();
    let planted = Planted::new(&scene, "old").with("more", "[1]").holds(&scene);
    let seen = Rc::new(RefCell::new(None));
    let show = Rc::clone(&seen);
    let hooks = Script::default().validate(move |owner| {
        *show.borrow_mut() = Some(owner.value);
        Ok(true)
    });
    assert!(scene.acquire_with(&hooks).is_ok());
    assert_eq!(*seen.borrow(), Some(planted.value()));
}

/// What stands in the directory at each step of a recovery, with ids cut out.
#[test]
fn each_step_of_a_recovery_is_told_when_it_is_done() {
    let (_machine, scene) = simulated();
    let dead = Planted::new(&scene, "dead").holds(&scene);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (show, look) = (Rc::clone(&seen), scene.clone());
    let hooks = Script::default().on_step(move |step| {
        let current = look.has("current").then(|| look.holder());
        let names: Vec<_> = look.names().into_iter().filter(|name| !name.starts_with("owner-")).collect();
        let claims: Vec<_> = names.iter().filter(|name| name.starts_with("recovery")).collect();
        let inside = claims.iter().map(|name| support::names(&look.below(name))).collect::<Vec<_>>();
        show.borrow_mut().push((step, current, inside));
        if step == RecoveryStep::RecoveryRetired {
            assert!(!look.has("recovery"));
        } else {
            assert!(look.has("recovery"));
        }
        Ok(())
    });
    let lease = scene.acquire_with(&hooks).unwrap();
    let (dead, new) = (Some(dead.id), Some(lease.owner.owner_id.clone()));
    let whole = vec![vec!["claim.json".to_owned(), "stale-pin".to_owned()]];
    let expected = vec![
        (RecoveryStep::ClaimCreated, dead.clone(), whole.clone()),
        (RecoveryStep::StalePinned, dead, whole.clone()),
        (RecoveryStep::CurrentRemoved, None, whole.clone()),
        (RecoveryStep::NewCurrentLinked, new.clone(), whole.clone()),
        (RecoveryStep::RecoveryRetired, new, whole),
    ];
    assert_eq!(*seen.borrow(), expected);
}

#[test]
fn a_throw_at_a_recovery_step_is_a_crash_that_leaves_everything_and_is_recovered_from() {
    for (at, step) in [
        RecoveryStep::ClaimCreated,
        RecoveryStep::StalePinned,
        RecoveryStep::CurrentRemoved,
        RecoveryStep::NewCurrentLinked,
        RecoveryStep::RecoveryRetired,
    ]
    .into_iter()
    .enumerate()
    {
        let (machine, scene) = simulated();
        scene.dead_holder();
        let crash = Script::default()
            .on_step(move |now| if now == step { Err(Thrown::new("crash")) } else { Ok(()) });
        let Err(Error::Thrown(thrown)) = scene.acquire_with(&crash) else { panic!("{step:?}") };
        assert_eq!(thrown.0.downcast_ref(), Some(&"crash"));
        assert_eq!(scene.has("recovery"), at < 4, "{step:?}");
        assert!(scene.names().iter().any(|name| name.starts_with("owner-")), "{step:?}");

        // Its process lives: nobody may take over what it might still be doing.
        let other = scene.of_process(&machine, 2);
        assert!(other.acquire().is_err_and(|error| error.is_contention()), "{step:?}");
        machine.start(3);
        let died = Scene { host: machine.start(4).host(), ..scene.clone() };
        machine.pass(std::time::Duration::from_secs(2));
        machine.world().processes.restart("b0070002", harnery_native::sim::START_MS);
        let mut lease = died.acquire().unwrap();
        lease.release(&died.host).unwrap();
        died.assert_free_and_clean();
    }
}

#[test]
fn a_throw_from_any_other_function_is_an_ordinary_failure_and_leaves_nothing() {
    let boom = || Err(Thrown::new(7_u8));
    let (_machine, scene) = simulated();
    let dead = scene.dead_holder();
    let before = scene.names();
    let scripts = [
        Script::default().on_create(move |()| boom()),
        Script::default().on_contention(move |()| boom()),
        Script::default().validate(move |_| boom().map(|()| true)),
    ];
    for script in &scripts {
        let Err(Error::Thrown(thrown)) = scene.acquire_with(script) else { panic!("it threw") };
        assert_eq!(thrown.0.downcast_ref(), Some(&7_u8));
        assert_eq!(scene.names(), before);
    }
    assert_eq!(scene.holder(), dead.owner_id);
}

#[test]
fn a_waiting_acquisition_that_is_aborted_retires_its_claim_and_removes_its_owner_file() {
    let (machine, scene) = simulated();
    let dead = scene.dead_holder();
    let bystander = Planted::new(&scene, "bystander").with("pid", "102").contends(&scene);
    machine.start(2);
    let mut acquisition = Acquisition::begin(&scene.host, &scene.input(), &NoHooks).unwrap();
    let Progress::Wait(pause) = acquisition.advance(&scene.host, &NoHooks).unwrap() else {
        panic!("it waits")
    };
    assert!(pause.at_most <= std::time::Duration::from_millis(250));
    assert!(scene.has("recovery"));
    acquisition.abort();
    assert_eq!(scene.names(), ["current".to_owned(), dead.owner_file, bystander.file()].sorted());
    assert!(matches!(acquisition.advance(&scene.host, &NoHooks), Err(Error::Lost(_))));
}

#[test]
fn a_release_that_fails_can_be_tried_again() {
    let machine = Machine::default();
    let seat = machine.start(1);
    let scene = Scene { host: seat.host(), path: "/x.lease".into() };
    let mut failed = 0;
    for at in 0.. {
        let mut lease = scene.acquire().unwrap();
        let before = seat.calls().len();
        seat.fail(before + at, nix::errno::Errno::EIO);
        match lease.release(&scene.host) {
            Ok(()) => {
                // One more call than there are: the failure was for nothing.
                scene.assert_free_and_clean();
                break;
            }
            Err(error) => assert_eq!(error.code().as_deref(), Some("EIO"), "{error}"),
        }
        failed += 1;
        lease.release(&scene.host).unwrap();
        scene.assert_free_and_clean();
    }
    assert!(failed >= 4, "only {failed} calls could fail");
}

/// Beside these: two closes, a listing's second reading, and what the process asks about itself (its number at each
/// end, the host's name, an id): 24 system calls.
#[test]
fn an_acquire_and_release_in_a_warm_directory_takes_seventeen_calls_on_files() {
    let (_root, scene) = real();
    scene.assert_acquirable();
    let (tap, tapped) = scene.tapped();
    let mut lease = tapped.acquire().unwrap();
    let (path, own) = (scene.path.display().to_string(), lease.owner.owner_file.clone());
    let expected = [
        &format!("open_dir {path}"),
        &format!("create {own}"),
        "write",
        "sync",
        "stat_handle",
        "stat current",
        "stat recovery",
        &format!("link {own} current"),
        "sync",
        &format!("stat {path}/current"),
        "read",
        "list",
    ];
    assert_eq!(tap.take_log(), expected);
    lease.release(&tapped.host).unwrap();
    assert_eq!(tap.take_log(), ["stat current", "read", "unlink current", &format!("unlink {own}"), "sync"]);
}

#[test]
fn the_durability_decides_how_often_is_synced() {
    let syncs = |durability| {
        let (_root, scene) = real();
        scene.assert_acquirable();
        let (tap, tapped) = scene.tapped();
        let input = Input { durability, ..scene.input() };
        let mut lease = acquire(&tapped.host, &input, &NoHooks).unwrap();
        lease.release(&tapped.host).unwrap();
        tap.take_log().into_iter().filter(|call| call == "sync").count()
    };
    assert_eq!((syncs(Durability::Power), syncs(Durability::Process)), (3, 1));
}

#[test]
fn an_owner_says_which_process_it_is_unless_that_is_another_host_s() {
    let (_machine, scene) = simulated();
    let mut lease = scene.acquire().unwrap();
    assert!(lease.owner.witness.is_some());
    lease.release(&scene.host).unwrap();
    for input in [
        Input { host: Some("elsewhere".into()), ..scene.input() },
        Input { pid: Some(DEAD_PID as f64), ..scene.input() },
        Input { pid: Some(1e15), ..scene.input() },
    ] {
        let mut lease = acquire(&scene.host, &input, &NoHooks).unwrap();
        assert_eq!(lease.owner.witness, None);
        lease.release(&scene.host).unwrap();
    }
    assert_eq!(names(&scene.dir()), Vec::<String>::new());
}

trait Sorted {
    fn sorted(self) -> Self;
}

impl<const N: usize> Sorted for [String; N] {
    fn sorted(mut self) -> Self {
        self.sort();
        self
    }
}
