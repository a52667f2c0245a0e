//! Symbolic links, modes, other users and strange names: what a lease does to whatever else is there.

#![cfg(feature = "sim")]

mod support;

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::Path;

use support::contender::{serve, Contender};
use support::{real, refused, Planted, Scene};

/// What other tests start as a process of its own.
#[test]
fn contender() {
    serve();
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
            let message = refused(scene.acquire(), code);
            if place.is_empty() {
                assert!(
                    message.contains("cannot be opened (it is a symbolic link, and not followed): "),
                    "{message}"
                );
            }
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
