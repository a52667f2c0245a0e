//! What users of such software run into, on real files.

#![cfg(feature = "sim")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Instant;

use harnery_native::lease::{acquire, Input, Lease, NoHooks, Reason};
use harnery_native::sim::Machine;
use nix::errno::Errno;
use support::{real, reason, refused, simulated, Planted, Scene, Script};

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
    for entry in fs::read_dir(&full.path).unwrap() {
        let old = rustix::fs::Timespec { tv_sec: support::LONG_AGO as i64 / 1000, tv_nsec: 0 };
        let times = rustix::fs::Timestamps { last_access: old, last_modification: old };
        rustix::fs::utimensat(rustix::fs::CWD, entry.unwrap().path(), &times, rustix::fs::AtFlags::empty())
            .unwrap();
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
fn a_lease_that_is_dropped_stays_held() {
    let (_root, scene) = real();
    drop(scene.acquire().unwrap());
    assert_eq!(scene.names().len(), 2);
    assert_eq!(reason(scene.acquire()), Reason::Unexpired);
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
