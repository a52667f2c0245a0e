//! Contenders that are processes of their own: they meet, die, fork, live elsewhere.

#![cfg(feature = "sim")]

mod support;

use harnery_native::lease::{inspect, Error, Liveness, Reason};
use support::contender::{serve, Contender};
use support::{real, reason, Planted, Scene, Script};

/// What other tests start as a process of its own.
#[test]
fn contender() {
    serve();
}

#[test]
fn l1_of_sixteen_processes_that_judged_one_holder_dead_exactly_one_gets_the_lease() {
    let (_root, scene) = real();
    scene.dead_holder();
    let mut contenders: Vec<_> = (0..16).map(|_| Contender::start(&scene.path)).collect();
    for contender in &mut contenders {
        contender.tell("judge");
    }
    for contender in &mut contenders {
        assert_eq!(contender.answer(), "judged");
    }
    for contender in &mut contenders {
        contender.tell("go on");
    }
    let answers: Vec<_> = contenders.iter_mut().map(Contender::answer).collect();
    let (held, refusals): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.starts_with("held "));
    assert_eq!(held.len(), 1, "{answers:?}");
    assert!(refusals.iter().all(|answer| answer.starts_with("refused LEASE_RECOVERING ")), "{answers:?}");
    assert_eq!(*held[0], format!("held {}", scene.holder()));
    assert_eq!(scene.names().len(), 2);
}

#[test]
#[allow(unsafe_code, reason = "only a fork is one")]
fn l17_a_forked_child_has_the_handle_but_not_the_lease() {
    let (_root, scene) = real();
    let mut lease = scene.acquire().unwrap();
    // SAFETY: the child only makes system calls and ends.
    match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Child => {
            let refused = lease.release(&scene.host).is_err() && !lease.holds(&scene.host);
            drop(lease);
            // SAFETY: nothing of the parent's is run at the end.
            unsafe { nix::libc::_exit(i32::from(!refused)) };
        }
        nix::unistd::ForkResult::Parent { child } => {
            let status = nix::sys::wait::waitpid(child, None).unwrap();
            assert_eq!(status, nix::sys::wait::WaitStatus::Exited(child, 0));
        }
    }
    assert!(lease.holds(&scene.host));
    lease.release(&scene.host).unwrap();
    scene.assert_free_and_clean();
}

#[test]
fn l18_a_second_acquisition_of_one_process_is_refused_like_any_contender_s() {
    let (_root, scene) = real();
    let mut held = scene.acquire().unwrap();
    let path = scene.path.clone();
    let refused_there = std::thread::spawn(move || {
        let scene = Scene { path, ..real().1 };
        matches!(scene.acquire(), Err(Error::Held { .. }))
    });
    assert!(refused_there.join().unwrap());
    assert_eq!(reason(scene.acquire()), Reason::Unexpired);
    held.release(&scene.host).unwrap();
    scene.assert_free_and_clean();
}

#[test]
fn l6_a_dead_holder_s_number_that_another_process_or_this_one_has_now_is_told_by_the_witness() {
    let unrelated = Contender::start(real().1.path.as_path());
    for now in [unrelated.pid(), std::process::id()] {
        let (_root, scene) = real();
        let holder = Planted::new(&scene, "D").with("pid", &now.to_string());
        // Without a witness nothing tells the two apart.
        holder.clone().holds(&scene);
        assert_eq!(reason(scene.acquire()), Reason::Alive);
        scene.dir().unlink("current").unwrap();
        let pid = harnery_native::process::Pid::new(i64::from(now)).unwrap();
        let seen = scene.host.processes.witness(pid).unwrap();
        // As the one that had the number before was seen: another process of this very boot.
        let (boot, _) = seen.start_token.as_deref().unwrap().split_once('.').unwrap();
        let time = seen.time_namespace.as_deref().unwrap();
        let before = format!(r#"{{"start_token":"{boot}.1","time_namespace":"{time}"}}"#);
        scene.dir().unlink(holder.file()).unwrap();
        holder.with("witness", &before).holds(&scene);
        let mut lease = scene.acquire().unwrap();
        assert_eq!(lease.recovered_owner.take().unwrap().owner_id, "D");
        lease.release(&scene.host).unwrap();
        scene.assert_free_and_clean();
    }
}

#[test]
fn l21_contenders_that_are_killed_at_any_step_never_hold_twice_nor_leave_it_stuck() {
    let (_root, scene) = real();
    for round in 0..3 {
        for step in ["ClaimCreated", "StalePinned", "CurrentRemoved", "NewCurrentLinked", "RecoveryRetired"] {
            scene.dead_holder();
            let mut victim = Contender::start(&scene.path);
            assert_eq!(victim.ask(step), "stopped", "round {round}");
            // While it is stopped there it counts as a contender that lives.
            assert!(scene.acquire().is_err_and(|error| error.is_contention()), "{step}");
            victim.kill();
            // Its time is over by the clock of a later contender.
            let later = Script::at(now() + 2000.0);
            let mut lease = scene.acquire_with(&later).unwrap_or_else(|error| panic!("{step}: {error}"));
            lease.release(&scene.host).unwrap();
            scene.assert_free_and_clean();
        }
    }
}

fn now() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as f64
}

#[test]
fn six_processes_that_contend_hold_one_after_the_other() {
    let (_root, scene) = real();
    let mut contenders: Vec<_> = (0..6).map(|_| Contender::start(&scene.path)).collect();
    for _ in 0..20 {
        for contender in &mut contenders {
            contender.tell("acquire");
        }
        let answers: Vec<_> = contenders.iter_mut().map(Contender::answer).collect();
        let held: Vec<_> = (0..6).filter(|at| answers[*at].starts_with("held ")).collect();
        assert_eq!(held.len(), 1, "{answers:?}");
        assert!(answers
            .iter()
            .all(|answer| !answer.starts_with("refused") || answer.starts_with("refused LEASE_HELD")));
        assert_eq!(contenders[held[0]].ask("release"), "released");
        scene.assert_free_and_clean();
    }
}

#[test]
fn a_holder_in_another_pid_namespace_is_never_robbed() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: a pid namespace takes root");
        return;
    }
    let (_root, scene) = real();
    let mut inside =
        Contender::start_by(&["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"], &scene.path);
    assert!(inside.ask("acquire").starts_with("held "));
    let later = Script::at(now() + 2000.0);
    assert_eq!(reason(scene.acquire_with(&later)), Reason::OtherNamespace);
    let seen = inspect(&scene.host, &scene.path, None, &later).unwrap();
    assert_eq!(seen.liveness, Some(Liveness::Live(Reason::OtherNamespace)));
    assert_eq!(inside.ask("release"), "released");
    scene.assert_acquirable();
}

#[test]
fn a_holder_that_is_killed_is_refused_until_its_time_is_over_and_then_recovered_from() {
    let (_root, scene) = real();
    let mut holder = Contender::start(&scene.path);
    let held = holder.ask("acquire");
    assert_eq!(reason(scene.acquire()), Reason::Unexpired);
    assert_eq!(reason(scene.acquire_with(&Script::at(now() + 2000.0))), Reason::Alive);
    holder.kill();
    assert_eq!(reason(scene.acquire()), Reason::Unexpired);
    let mut lease = scene.acquire_with(&Script::at(now() + 2000.0)).unwrap();
    assert_eq!(held, format!("held {}", lease.recovered_owner.take().unwrap().owner_id));
    lease.release(&scene.host).unwrap();
    scene.assert_free_and_clean();
}
