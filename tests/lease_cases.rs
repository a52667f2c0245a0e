//! What users of such software run into, on real files and real processes.

#![cfg(feature = "sim")]

mod support;

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use harnery_native::lease::{acquire, inspect, Error, Input, Lease, NoHooks, Reason};
use harnery_native::sim::Machine;
use nix::errno::Errno;
use support::contender::{serve, Contender};
use support::{real, reason, refused, simulated, Planted, Scene, Script};

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
fn l2_a_holder_that_was_recovered_from_finds_out_and_touches_nothing_of_the_new_one_s() {
    let (_root, scene) = real();
    let input = Input { pid: Some(support::DEAD_PID as f64), ..scene.input() };
    let mut first = acquire(&scene.host, &input, &Script::at(support::LONG_AGO)).unwrap();
    let mut second = scene.acquire().unwrap();
    assert!(!first.holds(&scene.host));
    let error = first.release(&scene.host).unwrap_err();
    assert_eq!(error.code().as_deref(), Some("LEASE_LOST"));
    assert_eq!(error.to_string(), "lease workspace ownership changed");
    assert_eq!(scene.holder(), second.owner.owner_id);
    assert!(second.holds(&scene.host));
    second.release(&scene.host).unwrap();
    scene.assert_free_and_clean();
}

#[test]
fn l3_a_current_that_is_no_owner_s_text_is_named_and_never_acquired_in_silence() {
    let whole = {
        let (_root, scene) = real();
        Planted::new(&scene, "D").text()
    };
    for bytes in [&b""[..], &whole.as_bytes()[..whole.len() / 2], &[0; 400], &vec![b' '; 8193]] {
        let (_root, scene) = real();
        scene.assert_acquirable();
        scene.write("current", bytes);
        let message = refused(scene.acquire(), "LEASE_CORRUPT");
        assert!(message.contains(scene.path.join("current").to_str().unwrap()), "{message}");
        assert_eq!(scene.read("current"), bytes);
        assert_eq!(scene.names(), ["current"]);
    }
}

#[test]
fn l11_ten_thousand_leftovers_cost_less_than_twice_an_empty_directory() {
    let (_root, full) = real();
    let (_other, empty) = real();
    for number in 0..10_000 {
        Planted::new(&full, &number.to_string()).contends(&full);
    }
    for number in 0..1000 {
        full.make(&format!("recovery-claim-{number}"));
    }
    let once = |scene: &Scene| {
        let start = Instant::now();
        scene.assert_acquirable();
        start.elapsed()
    };
    once(&full);
    let (mut with, mut without): (Vec<_>, Vec<_>) = (0..201).map(|_| (once(&full), once(&empty))).unzip();
    with.sort();
    without.sort();
    assert!(with[100] < 2 * without[100], "{:?} against {:?}", with[100], without[100]);
}

#[test]
fn l12_a_file_system_that_cannot_link_is_said_so_once_and_nothing_weaker_is_tried() {
    for errno in [Errno::EPERM, Errno::ENOTSUP, Errno::EACCES, Errno::ENOSYS, Errno::EXDEV, Errno::EMLINK] {
        let (_machine, scene) = simulated();
        scene.assert_acquirable();
        let (tap, tapped) = scene.tapped();
        tap.before(move |_, call| {
            if call.starts_with("link ") {
                support::Before::Fail(errno)
            } else {
                support::Before::Go
            }
        });
        let message = refused(tapped.acquire(), "LEASE_UNSUPPORTED");
        assert!(message.contains(&format!("{errno:?}")) && message.contains("hard links"), "{message}");
        assert_eq!(tap.take_log().iter().filter(|call| call.starts_with("link ")).count(), 1);
        scene.assert_free_and_clean();
    }
}

#[test]
fn l13_a_rename_that_the_file_system_cannot_do_is_reported_as_that() {
    let (_machine, scene) = simulated();
    scene.dead_holder();
    let before = scene.names();
    let (tap, tapped) = scene.tapped();
    tap.before(|_, call| {
        if call.starts_with("rename ") {
            support::Before::Fail(Errno::EXDEV)
        } else {
            support::Before::Go
        }
    });
    let message = refused(tapped.acquire(), "EXDEV");
    assert!(message.contains("rename") && message.contains("/x.lease/recovery"), "{message}");
    assert_eq!(scene.names(), before);
}

#[test]
fn l14_a_current_that_was_replaced_by_a_copy_is_decided_by_its_content() {
    let (_root, scene) = real();
    let copy = |scene: &Scene| {
        let bytes = scene.read("current");
        fs::remove_file(scene.path.join("current")).unwrap();
        scene.write("current", &bytes);
    };
    let mut held = scene.acquire().unwrap();
    copy(&scene);
    assert_eq!(reason(scene.acquire()), Reason::Unexpired);
    assert_eq!(held.release(&scene.host).unwrap_err().to_string(), "lease workspace ownership changed");
    assert_eq!(scene.names(), ["current"]);
    fs::remove_file(scene.path.join("current")).unwrap();

    let dead = scene.dead_holder();
    copy(&scene);
    let lease = scene.acquire().unwrap();
    assert_eq!(lease.recovered_owner.map(|owner| owner.owner_id), Some(dead.owner_id));
}

#[test]
fn an_owner_file_that_was_written_over_is_not_its_owner_s_any_more() {
    let (_root, scene) = real();
    let mut held = scene.acquire().unwrap();
    let text = fs::read_to_string(scene.path.join("current")).unwrap();
    let other = text.replace(&held.owner.owner_id[..8], "00000000");
    assert_eq!(other.len(), text.len());
    fs::write(scene.path.join("current"), &other).unwrap();
    assert!(!held.holds(&scene.host));
    assert_eq!(held.release(&scene.host).unwrap_err().to_string(), "lease workspace ownership changed");
    assert_eq!(fs::read_to_string(scene.path.join("current")).unwrap(), other);
}

#[test]
fn l15_a_cleaner_under_a_living_holder_is_reported_and_the_next_one_s_lease_stays() {
    let clean: [fn(&Scene); 2] = [
        |scene| fs::remove_file(scene.path.join("current")).unwrap(),
        |scene| fs::remove_dir_all(&scene.path).unwrap(),
    ];
    for clean in clean {
        let (_root, scene) = real();
        let mut first = scene.acquire().unwrap();
        clean(&scene);
        assert!(!first.holds(&scene.host));
        let mut second = scene.acquire().unwrap();
        let error = first.release(&scene.host).unwrap_err();
        assert_eq!(error.code().as_deref(), Some("LEASE_LOST"), "{error}");
        assert_eq!(scene.names(), ["current", second.owner.owner_file.as_str()]);
        second.release(&scene.host).unwrap();
        scene.assert_free_and_clean();
    }
}

#[test]
fn a_current_that_is_missing_at_release_is_a_loss_in_the_seed_s_words() {
    let (_root, scene) = real();
    let mut lease = scene.acquire().unwrap();
    fs::remove_file(scene.path.join("current")).unwrap();
    let error = lease.release(&scene.host).unwrap_err();
    assert_eq!(error.code().as_deref(), Some("LEASE_LOST"));
    assert!(error.to_string().contains("cannot be inspected"), "{error}");
    scene.assert_free_and_clean();
    lease.release(&scene.host).unwrap();
}

#[test]
fn a_directory_that_was_removed_while_the_lease_was_taken_is_a_loss() {
    for before in ["create owner-", "link owner-", "sync"] {
        let (_root, scene) = real();
        scene.assert_acquirable();
        let (tap, tapped) = scene.tapped();
        let path = scene.path.clone();
        tap.before(move |_, call| {
            if call.starts_with(before) && path.exists() {
                fs::remove_dir_all(&path).unwrap();
            }
            support::Before::Go
        });
        let message = refused(tapped.acquire(), "LEASE_LOST");
        assert!(message.starts_with("lease workspace ownership changed"), "{message}");
    }
}

#[test]
fn a_directory_that_was_replaced_while_the_lease_was_taken_is_a_loss() {
    let (root, scene) = real();
    scene.assert_acquirable();
    let (tap, tapped) = scene.tapped();
    let (path, aside) = (scene.path.clone(), root.path().join("aside"));
    let moved = aside.clone();
    tap.before(move |_, call| {
        if call.starts_with("link ") {
            fs::rename(&path, &moved).unwrap();
            fs::create_dir(&path).unwrap();
        }
        support::Before::Go
    });
    refused(tapped.acquire(), "LEASE_LOST");
    scene.assert_free_and_clean();
    assert_eq!(fs::read_dir(&aside).unwrap().count(), 0);
}

#[test]
fn l16_an_owner_whose_inode_number_was_given_to_another_file_is_not_taken_for_it() {
    let machine = Machine::default();
    let scene = Scene { host: machine.start(1).host(), path: "/x.lease".into() };
    let mut first = scene.acquire().unwrap();
    let inode = |scene: &Scene| scene.dir().look("current").unwrap().unwrap().identity;
    let number = inode(&scene);
    for name in scene.names() {
        scene.dir().unlink(name).unwrap();
    }
    // The file is open as long as its lease is held, so its number is not free.
    let other = scene.of_process(&machine, 2);
    let mut second = other.acquire().unwrap();
    assert_ne!(inode(&scene), number);
    assert_eq!(first.release(&scene.host).unwrap_err().code().as_deref(), Some("LEASE_LOST"));
    second.release(&other.host).unwrap();
    // A recovery that judged one file does not replace another one with its number (see rule 2).
    let third = scene.acquire().unwrap();
    assert_eq!(inode(&scene), number);
    drop(third);
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
fn a_lease_that_is_dropped_stays_held() {
    let (_root, scene) = real();
    drop(scene.acquire().unwrap());
    assert_eq!(scene.names().len(), 2);
    assert_eq!(reason(scene.acquire()), Reason::Unexpired);
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
fn l19_a_path_that_cannot_be_is_that_error_at_once() {
    let (root, scene) = real();
    fs::write(root.path().join("file"), "x").unwrap();
    symlink("loop", root.path().join("loop")).unwrap();
    let long = "a".repeat(256);
    let deep = PathBuf::from(format!("/{}", "d/".repeat(2100)));
    for (parent, code) in [
        (root.path().join(long), "ENAMETOOLONG"),
        (deep, "ENAMETOOLONG"),
        (root.path().join("file"), "ENOTDIR"),
        (root.path().join("loop"), "ELOOP"),
    ] {
        let input = Input { path: parent.join("x.lease"), ..scene.input() };
        refused(acquire(&scene.host, &input, &NoHooks), code);
    }
    let (_machine, scene) = simulated();
    let (tap, tapped) = scene.tapped();
    tap.before(|_, call| {
        if call.starts_with("make_dir") {
            support::Before::Fail(Errno::EROFS)
        } else {
            support::Before::Go
        }
    });
    refused(tapped.acquire(), "EROFS");
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

/// Bytes, mode and times of what a link leads to.
fn state(path: &Path) -> (Option<Vec<u8>>, u32, i64, i64) {
    let meta = fs::metadata(path).unwrap();
    (fs::read(path).ok(), meta.mode(), meta.mtime_nsec(), meta.ctime_nsec())
}

#[test]
fn s1_symbolic_links_in_the_place_of_anything_are_refused_and_not_followed() {
    let places: [(&str, &str); 3] =
        [("current", "LEASE_CORRUPT"), ("recovery", "LEASE_CORRUPT"), ("", "ENOTDIR")];
    for (place, code) in places {
        for target in ["file", "directory", "dangling"] {
            let (root, scene) = real();
            let target_path = root.path().join(target);
            match target {
                "file" => fs::write(&target_path, Planted::new(&scene, "D").text()).unwrap(),
                "directory" => fs::create_dir(&target_path).unwrap(),
                _ => {}
            }
            if !place.is_empty() {
                scene.assert_acquirable();
            }
            let link = if place.is_empty() { scene.path.clone() } else { scene.path.join(place) };
            symlink(&target_path, &link).unwrap();
            let before = target_path.exists().then(|| state(&target_path));
            refused(scene.acquire(), code);
            assert_eq!(target_path.exists().then(|| state(&target_path)), before, "{place} to {target}");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            if target == "directory" {
                assert_eq!(fs::read_dir(&target_path).unwrap().count(), 0);
            }
        }
    }
}

#[test]
fn s1_an_owner_file_and_a_claim_that_are_symbolic_links_are_neither_trusted_nor_removed() {
    let (root, scene) = real();
    scene.dead_holder();
    let target = root.path().join("target");
    fs::write(&target, Planted::new(&scene, "D").with("pid", &std::process::id().to_string()).text())
        .unwrap();
    symlink(&target, scene.path.join("owner-link.json")).unwrap();
    symlink(root.path(), scene.path.join("quarantine-link")).unwrap();
    let before = state(&target);
    // A contender that may live would make the recovery wait; a link is no contender.
    scene.assert_acquirable();
    assert_eq!(scene.names(), ["owner-link.json", "quarantine-link"]);
    assert_eq!(state(&target), before);
}

#[test]
fn s2_a_symbolic_link_among_the_parents_works() {
    let (root, scene) = real();
    fs::create_dir(root.path().join("real")).unwrap();
    symlink("real", root.path().join("link")).unwrap();
    let scene = Scene { path: root.path().join("link/deeper/x.lease"), ..scene };
    let mut lease = scene.acquire().unwrap();
    assert!(root.path().join("real/deeper/x.lease/current").exists());
    lease.release(&scene.host).unwrap();
}

#[test]
fn s3_modes_are_exactly_as_documented_whatever_the_umask() {
    for umask in ["000", "077"] {
        let (root, scene) = real();
        let scene = Scene { path: root.path().join("a/b/x.lease"), ..scene };
        let script = format!("umask {umask} && exec \"$@\"");
        let mut contender = Contender::start_by(&["sh", "-c", &script, "sh"], &scene.path);
        assert!(contender.ask("acquire").starts_with("held "));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&root.path().join("a")), 0o700, "umask {umask}");
        assert_eq!(mode(&root.path().join("a/b")), 0o700, "umask {umask}");
        assert_eq!(mode(&scene.path), 0o700, "umask {umask}");
        assert_eq!(mode(&scene.path.join("current")), 0o600, "umask {umask}");
    }
}

/// A contender that is another user, where this one may become it.
fn as_nobody(path: &Path) -> Option<Contender> {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: becoming another user takes root");
        return None;
    }
    Some(Contender::start_by(&["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], path))
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn s3_a_second_user_gets_a_clear_permission_error() {
    let (root, scene) = real();
    chmod(root.path(), 0o755);
    let _held = scene.acquire().unwrap();
    let Some(mut nobody) = as_nobody(&scene.path) else { return };
    let answer = nobody.ask("acquire");
    assert!(answer.starts_with("refused EACCES ") && answer.contains("x.lease"), "{answer}");
}

#[test]
fn s4_another_user_s_owner_that_may_not_be_linked_is_a_permission_error_and_leaves_nothing() {
    let (root, scene) = real();
    chmod(root.path(), 0o755);
    scene.dead_holder();
    let before = scene.names();
    chmod(&scene.path, 0o777);
    chmod(&scene.path.join("current"), 0o644);
    let Some(mut nobody) = as_nobody(&scene.path) else { return };
    if fs::read_to_string("/proc/sys/fs/protected_hardlinks").is_ok_and(|text| text.trim() == "0") {
        println!("skipped: hard links are not protected here");
        return;
    }
    let answer = nobody.ask("acquire");
    assert!(answer.starts_with("refused EPERM "), "{answer}");
    assert_eq!(scene.names(), before);
}

#[test]
fn s5_a_parent_directory_whose_name_is_no_text_works() {
    use std::os::unix::ffi::OsStrExt;
    let (root, scene) = real();
    let parent = root.path().join(std::ffi::OsStr::from_bytes(b"caf\xE9"));
    let scene = Scene { path: parent.join("x.lease"), ..scene };
    scene.assert_acquirable();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    assert!(parent.join("x.lease").is_dir());
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
    assert_eq!(seen.liveness, Some(harnery_native::lease::Liveness::Live(Reason::OtherNamespace)));
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

#[test]
fn nothing_keeps_a_descriptor_open_once_a_lease_is_over() {
    let (_root, scene) = real();
    let count = || fs::read_dir("/proc/self/fd").unwrap().count();
    let rounds = |scene: &Scene| {
        for _ in 0..50 {
            scene.dead_holder();
            let mut lease: Lease = scene.acquire().unwrap();
            assert!(scene.acquire().is_err());
            lease.release(&scene.host).unwrap();
        }
    };
    rounds(&scene);
    // Other tests of this program run beside: what counts is that it does not grow with the rounds.
    let before = count();
    for _ in 0..10 {
        rounds(&scene);
    }
    assert!(count() < before + 100, "{before} before, {} after", count());
}
