//! What the caller may not signal, and what nobody's word may have signalled.

use std::time::{Duration, Instant};

use harnery_native::process::Generation;
use harnery_native::servers::stop::{Method, StopResult};

use crate::real::*;
use crate::registry_support::input;
use crate::support::{present, refused, stopped, Stopped, GRACE};

#[test]
fn p4_a_process_that_may_not_be_signalled_is_refused_at_once_and_nothing_is_removed() {
    if !is_root() {
        return left_out("only root can become another user");
    }
    let child = Real::spawn_leader("sleep", &["60"]);
    let pid = child.pid();
    let seen = in_a_fork(|| {
        become_nobody();
        let it = Stopped::registered(pid, None);
        let begun = Instant::now();
        let right = it.stop(GRACE) == refused(Generation::Same, "permission denied");
        format!("{right} {} {}", it.has_record(), begun.elapsed() < Duration::from_secs(5))
    });
    assert_eq!(seen.as_deref(), Ok("true true true"));
    assert!(present(child.pid()));
}

#[test]
fn p15_a_record_of_another_user_is_no_warrant_for_what_he_may_not_signal() {
    if !is_root() {
        return left_out("only root can give a file away");
    }
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    std::os::unix::fs::chown(it.bench.file("it"), Some(NOBODY), Some(NOBODY)).unwrap();
    let result = it.stop(GRACE);
    assert_eq!((result.method, result.stopped), (Method::Refused, false));
    assert!(result.detail.unwrap().contains("belongs to uid 65534"));
    assert!(present(child.pid()) && it.has_record());
}

#[test]
fn p15_a_record_of_another_user_is_a_warrant_for_his_own_process() {
    if !is_root() {
        return left_out("only root can become another user");
    }
    let child = forked(|| {
        rustix::process::setsid().unwrap();
        become_nobody();
    });
    let it = Stopped::registered(child.pid(), None);
    std::os::unix::fs::chown(it.bench.file("it"), Some(NOBODY), Some(NOBODY)).unwrap();
    assert_eq!(it.stop(GRACE), stopped());
}

/// Whose word the file of a record is, and whether root goes by it for a process of root's own.
fn root_stops_by(change: impl FnOnce(&mut Stopped)) -> Option<StopResult> {
    if !is_root() {
        left_out("only root can give a file away");
        return None;
    }
    let child = Real::spawn_leader("sleep", &["60"]);
    let mut it = Stopped::registered(child.pid(), None);
    change(&mut it);
    let result = it.stop(GRACE);
    assert_eq!(present(child.pid()), !result.stopped, "{result:?}");
    Some(result)
}

#[track_caller]
fn refused_for(result: Option<StopResult>, why: &str) {
    let Some(result) = result else { return };
    assert_eq!(result.method, Method::Refused);
    assert!(result.detail.as_ref().unwrap().contains(why), "{result:?}");
}

fn give_away(path: &std::path::Path) {
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn p15_a_file_of_root_s_that_a_group_can_write_is_no_warrant_for_root() {
    let in_group = |group| {
        move |it: &mut Stopped| {
            let file = it.bench.file("it");
            std::os::unix::fs::chown(&file, Some(0), Some(group)).unwrap();
            set_mode(&file, 0o660);
        }
    };
    refused_for(root_stops_by(in_group(NOBODY)), "anyone can have written it");
    assert!(root_stops_by(in_group(0)).is_none_or(|result| result.stopped));
}

#[test]
fn p15_a_file_is_a_warrant_for_the_record_that_it_holds_and_no_other() {
    // Another user's was listed; by now there is root's own again.
    let other = |it: &mut Stopped| {
        give_away(&it.bench.servers());
        it.record = it.record.clone().with("registration_id", "0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c");
    };
    refused_for(root_stops_by(other), "belongs to uid 65534");
    // The id is no file's name, or another file's.
    for id in ["Any Id", "web"] {
        let strange = |it: &mut Stopped| {
            it.bench.register(&input("web")).unwrap();
            give_away(&it.bench.servers());
            it.record = it.record.clone().with("id", id);
        };
        refused_for(root_stops_by(strange), "belongs to uid 65534");
    }
}

#[test]
fn p15_a_registry_that_can_have_been_another_is_no_warrant() {
    let above = |it: &mut Stopped| {
        std::fs::remove_file(it.bench.file("it")).unwrap();
        give_away(it.bench.dir.path());
    };
    refused_for(root_stops_by(above), "belongs to uid 65534");
}

#[test]
fn p15_a_record_that_anyone_can_have_put_there_and_taken_away_is_no_warrant() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    std::fs::remove_file(it.bench.file("it")).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(it.bench.servers(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(it.stop(GRACE).method, Method::Refused);
    assert!(present(child.pid()));
    std::fs::set_permissions(it.bench.servers(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(it.stop(GRACE), stopped());
}
