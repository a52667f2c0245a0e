//! Repair: a torn tail is moved aside, never lost, and only it.

use std::fs;

use harnery_native::history::repair::{repair, Repaired};
use harnery_native::history::{write, Error, Layout, NoSeams, Writing};

use crate::support::{add, killed_at, names, path, read_dir, read_file, real, scratch};

#[test]
fn a_torn_tail_is_moved_aside_and_the_history_goes_on() {
    let dir = scratch();
    fs::write(path(&dir, "active.jsonl"), "1\n{\"half\":").unwrap();
    let layout = Layout::directory(dir.path());
    let Repaired { file, bytes_removed, quarantined_to } =
        repair(&real(), &layout, Writing::default()).unwrap().unwrap();
    assert_eq!((file, bytes_removed), (path(&dir, "active.jsonl"), 8));
    assert_eq!(fs::read(&quarantined_to).unwrap(), b"{\"half\":");
    assert!(quarantined_to.to_str().unwrap().contains("/active.jsonl.torn-20"), "{quarantined_to:?}");
    assert_eq!(repair(&real(), &layout, Writing::default()).unwrap(), None);
    add(&real(), dir.path(), "2").unwrap();
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), ["1", "2"]);
}

#[test]
fn a_whole_history_and_a_missing_one_need_no_repair() {
    let dir = scratch();
    let missing = path(&dir, "missing");
    assert_eq!(repair(&real(), &Layout::directory(&missing), Writing::default()).unwrap(), None);
    assert!(!missing.exists());
    fs::write(path(&dir, "empty.jsonl"), "").unwrap();
    let layout = Layout::file(&path(&dir, "empty.jsonl")).unwrap();
    assert_eq!(repair(&real(), &layout, Writing::default()).unwrap(), None);
    assert_eq!(names(dir.path()), ["empty.jsonl"]);
}

#[test]
fn a_file_that_is_nothing_but_a_torn_line_is_emptied() {
    let dir = scratch();
    let torn = "x".repeat(200_000);
    fs::write(path(&dir, "x.jsonl"), &torn).unwrap();
    let layout = Layout::file(&path(&dir, "x.jsonl")).unwrap();
    let repaired = repair(&real(), &layout, Writing::default()).unwrap().unwrap();
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
    let layout = Layout::directory(dir.path());
    let files = [(); 2].map(|()| repair(&real(), &layout, Writing::default()).unwrap().unwrap().file);
    assert_eq!(files, [dir.path().join("segments/00000001.jsonl"), path(&dir, "active.jsonl")]);
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), ["1", "3"]);
}

#[test]
fn a_repair_waits_for_no_writer_and_disturbs_none() {
    let dir = scratch();
    fs::write(path(&dir, "active.jsonl"), "1\n2").unwrap();
    let layout = Layout::directory(dir.path());
    write(&real(), &layout, Writing::default(), &NoSeams, |_| {
        assert!(matches!(repair(&real(), &layout, Writing::default()), Err(Error::Busy(_))));
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
        let layout = Layout::file(&file).unwrap();
        let done = killed_at(&real(), step, |host| repair(host, &layout, Writing::default()).unwrap());
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
    let layout = Layout::file(&file).unwrap();
    let host = crate::support::at_noon();
    let places: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|torn| {
            fs::write(&file, torn).unwrap();
            repair(&host, &layout, Writing::default()).unwrap().unwrap().quarantined_to
        })
        .collect();
    let contents: Vec<_> = places.iter().map(|place| fs::read_to_string(place).unwrap()).collect();
    assert_eq!(contents, ["a", "b", "c"]);
    assert_eq!(read_file(&host, &file).unwrap(), [""; 0]);
}
