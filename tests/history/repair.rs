//! Repair: a torn tail is moved aside, never lost, and only it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use harnery_native::history::lease::torn::{inspect, State};
use harnery_native::history::repair::{repair, Repaired};
use harnery_native::history::{write, Error, Layout, NoSeams, Result, Writing};
use harnery_native::host::Host;
use harnery_native::lease::repair::Request;

use crate::support::{add, killed_at, later, names, path, read_dir, read_file, real, scratch};

fn mend(path: &Path) -> Result<Option<Repaired>> {
    repair(&real(), path, Writing::default(), None)
}

#[test]
fn a_torn_tail_is_moved_aside_and_the_history_goes_on() {
    let dir = scratch();
    fs::write(path(&dir, "active.jsonl"), "1\n{\"half\":").unwrap();
    let Repaired { file, bytes_removed, quarantined_to } = mend(dir.path()).unwrap().unwrap();
    assert_eq!((file, bytes_removed), (path(&dir, "active.jsonl"), 8));
    assert_eq!(fs::read(&quarantined_to).unwrap(), b"{\"half\":");
    assert!(quarantined_to.to_str().unwrap().contains("/active.jsonl.torn-20"), "{quarantined_to:?}");
    assert_eq!(mend(dir.path()).unwrap(), None);
    add(&real(), dir.path(), "2").unwrap();
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), ["1", "2"]);
}

#[test]
fn a_whole_history_and_a_missing_one_need_no_repair() {
    let dir = scratch();
    let missing = path(&dir, "missing");
    assert_eq!(mend(&missing).unwrap(), None);
    assert!(!missing.exists());
    fs::write(path(&dir, "empty.jsonl"), "").unwrap();
    assert_eq!(mend(&path(&dir, "empty.jsonl")).unwrap(), None);
    assert_eq!(mend(&path(&dir, "other.jsonl")).unwrap(), None);
    assert_eq!(names(dir.path()), ["empty.jsonl"]);
}

#[test]
fn a_file_that_is_nothing_but_a_torn_line_is_emptied() {
    let dir = scratch();
    let torn = "x".repeat(200_000);
    fs::write(path(&dir, "x.jsonl"), &torn).unwrap();
    let repaired = mend(&path(&dir, "x.jsonl")).unwrap().unwrap();
    assert_eq!(repaired.bytes_removed, 200_000);
    assert_eq!(fs::read_to_string(repaired.quarantined_to).unwrap(), torn);
    assert_eq!(fs::read(path(&dir, "x.jsonl")).unwrap(), b"");
}

#[test]
fn a_torn_segment_is_found_before_the_active_file() {
    let dir = scratch();
    fs::create_dir(path(&dir, "segments")).unwrap();
    fs::write(dir.path().join("segments/00000001.jsonl"), "1\n2").unwrap();
    fs::write(path(&dir, "active.jsonl"), "3\n4").unwrap();
    let files = [(); 2].map(|()| mend(dir.path()).unwrap().unwrap().file);
    assert_eq!(files, [dir.path().join("segments/00000001.jsonl"), path(&dir, "active.jsonl")]);
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), ["1", "3"]);
}

#[test]
fn a_repair_waits_for_no_writer_and_disturbs_none() {
    let dir = scratch();
    fs::write(path(&dir, "active.jsonl"), "1\n2").unwrap();
    let layout = Layout::directory(dir.path());
    write(&real(), &layout, Writing::default(), &NoSeams, |_| {
        assert!(matches!(mend(dir.path()), Err(Error::Busy(_))));
        Ok(())
    })
    .unwrap();
    assert_eq!(fs::read(path(&dir, "active.jsonl")).unwrap(), b"1\n2");
}

#[test]
fn killed_between_any_two_steps_a_repair_loses_nothing_of_the_tail() {
    for step in 0.. {
        let dir = scratch();
        let file = path(&dir, "x.jsonl");
        fs::write(&file, "1\ntorn").unwrap();
        let done = killed_at(&real(), step, |host| repair(host, &file, Writing::default(), None).unwrap());
        if done.is_some() {
            break;
        }
        let quarantined = names(dir.path())
            .iter()
            .filter(|name| name.starts_with("x.jsonl.torn-"))
            .any(|name| fs::read(path(&dir, name)).unwrap() == b"torn");
        match fs::read(&file).unwrap().as_slice() {
            b"1\ntorn" => {}
            b"1\n" => assert!(quarantined, "step {step}"),
            other => panic!("step {step}: {other:?}"),
        }
    }
}

#[test]
fn a_second_tear_in_the_same_millisecond_has_a_place_of_its_own() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    let host = crate::support::at_noon();
    let places: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|torn| {
            fs::write(&file, torn).unwrap();
            repair(&host, &file, Writing::default(), None).unwrap().unwrap().quarantined_to
        })
        .collect();
    let contents: Vec<_> = places.iter().map(|place| fs::read_to_string(place).unwrap()).collect();
    assert_eq!(contents, ["a", "b", "c"]);
    assert_eq!(read_file(&host, &file).unwrap(), [""; 0]);
}

#[test]
fn a_file_in_segments_is_repaired_under_the_leases_of_both_kinds() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    fs::write(&file, "1\n2").unwrap();
    for layout in [Layout::file(&file).unwrap(), Layout::segmented(&file).unwrap()] {
        write(&real(), &layout, Writing::default(), &NoSeams, |_| {
            assert!(matches!(mend(&file), Err(Error::Busy(_))));
            Ok(())
        })
        .unwrap();
    }
    fs::create_dir(path(&dir, "x.jsonl.segments")).unwrap();
    fs::write(dir.path().join("x.jsonl.segments/00000001.jsonl"), "0\n1").unwrap();
    let files = [(); 2].map(|()| mend(&file).unwrap().unwrap().file);
    assert_eq!(files, [dir.path().join("x.jsonl.segments/00000001.jsonl"), file]);
}

/// A lease as an older harness leaves it when it is killed while it writes its owner.
fn torn_lease(dir: &Path, owner: &str) -> String {
    fs::create_dir(dir.join(".append.lease")).unwrap();
    fs::write(dir.join(".append.lease/owner.json"), owner).unwrap();
    look(dir, State::Torn)
}

fn look(dir: &Path, state: State) -> String {
    let seen = inspect(&real(), &Layout::directory(dir)).unwrap();
    assert_eq!((seen.state, seen.path), (state, dir.join(".append.lease")));
    seen.digest
}

fn on_word(host: &Host, dir: &Path, digest: &str, actor: &str) -> Result<Option<Repaired>> {
    let request = Request {
        digest: digest.to_owned(),
        actor: actor.to_owned(),
        reason: "its writer was killed".to_owned(),
        elsewhere_is_gone: false,
    };
    repair(host, dir, Writing::default(), Some(&request))
}

fn in_a_minute() -> Host {
    later(Duration::from_secs(60))
}

#[test]
fn a_lease_without_an_owner_that_can_be_judged_is_moved_aside_on_somebody_s_word() {
    for owner in ["", "{\"owner_id\":\"a\",\"pi"] {
        let dir = scratch();
        let digest = torn_lease(dir.path(), owner);
        assert!(matches!(add(&in_a_minute(), dir.path(), "1"), Err(Error::Busy(_))));
        let repaired = on_word(&in_a_minute(), dir.path(), &digest, "op").unwrap().unwrap();
        assert_eq!(repaired.file, path(&dir, ".append.lease"));
        assert_eq!(repaired.bytes_removed, owner.len() as u64);
        assert_eq!(names(&repaired.quarantined_to), ["owner.json", "repair.json"]);
        assert_eq!(fs::read_to_string(repaired.quarantined_to.join("owner.json")).unwrap(), owner);
        let note = fs::read_to_string(repaired.quarantined_to.join("repair.json")).unwrap();
        assert!(note.contains(r#""actor":"op","reason":"its writer was killed""#), "{note}");
        look(dir.path(), State::Free);
        add(&real(), dir.path(), "1").unwrap();
    }
}

#[test]
fn a_lease_is_moved_aside_only_as_it_was_looked_at_and_only_when_nobody_may_be_writing_it() {
    let dir = scratch();
    let digest = torn_lease(dir.path(), "{");
    let refused = |host: &Host, digest: &str, actor: &str, why: &str| {
        let error = on_word(host, dir.path(), digest, actor).unwrap_err().to_string();
        assert_eq!(error, format!("durable history lease {} {why}", path(&dir, ".append.lease").display()));
        assert_eq!(fs::read(dir.path().join(".append.lease/owner.json")).unwrap(), b"{");
    };
    refused(&real(), &digest, "op", "was changed less than 30 s ago");
    refused(&in_a_minute(), &"0".repeat(64), "op", "is not what the digest was made of; look at it again");
    refused(&in_a_minute(), &digest, " ", "is not repaired: it takes an actor and a reason");
    assert_eq!(names(dir.path()), [".append.lease"]);
}

#[test]
fn a_healthy_lease_is_never_moved_aside() {
    let dir = scratch();
    let refused = |digest: &str| {
        let error = on_word(&in_a_minute(), dir.path(), digest, "op").unwrap_err().to_string();
        assert!(error.ends_with(".append.lease is not torn, nor its owner known to be gone"), "{error}");
    };
    refused(&look(dir.path(), State::Free));
    write(&real(), &Layout::directory(dir.path()), Writing::default(), &NoSeams, |_| {
        refused(&look(dir.path(), State::Held));
        Ok(())
    })
    .unwrap();
    fs::create_dir(path(&dir, ".append.lease")).unwrap();
    refused(&look(dir.path(), State::Free));
    let dead = r#"{"owner_id":"a","pid":2147483647,"acquired_at":"2026-01-01T00:00:00.000Z"}"#;
    fs::write(dir.path().join(".append.lease/owner.json"), format!("{dead}\n")).unwrap();
    refused(&look(dir.path(), State::Stale));
}

#[test]
fn killed_between_any_two_steps_a_torn_lease_is_still_there_or_safe_aside() {
    for step in 0.. {
        let dir = scratch();
        let digest = torn_lease(dir.path(), "{");
        let done = killed_at(&in_a_minute(), step, |host| on_word(host, dir.path(), &digest, "op").unwrap());
        if done.is_some() {
            assert!(step > 10);
            break;
        }
        let places = names(dir.path());
        let kept = places
            .iter()
            .filter(|name| fs::read(path(&dir, name).join("owner.json")).is_ok_and(|it| it == b"{"));
        assert_eq!(kept.count(), 1, "step {step}: {places:?}");
        // The next one repairs what is left, also within the same millisecond.
        let seen = inspect(&real(), &Layout::directory(dir.path())).unwrap();
        if seen.state == State::Torn {
            on_word(&in_a_minute(), dir.path(), &seen.digest, "op").unwrap();
        }
        add(&in_a_minute(), dir.path(), "1").unwrap();
    }
}
