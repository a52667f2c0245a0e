//! Symbolic links, and what else is no history: refused, and what they lead to stays as it is.

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt};
use std::path::{Path, PathBuf};

use harnery_native::history::append::{append, append_to_file};
use harnery_native::history::repair::repair;
use harnery_native::history::rewrite::rewrite;
use harnery_native::history::{Layout, NoSeams, Writing};
use tempfile::TempDir;

use crate::support::{add, limits, names, path, read_all, read_dir, read_file, reading, real, scratch};

/// What a link may lead to.
fn targets(outside: &TempDir) -> Vec<PathBuf> {
    fs::write(path(outside, "file"), "{\"id\":\"outside\"}\n").unwrap();
    fs::create_dir(path(outside, "directory")).unwrap();
    fs::write(outside.path().join("directory/owner.json"), "kept").unwrap();
    ["missing", "file", "directory"].map(|name| path(outside, name)).into()
}

/// Everything about it that a careless operation would change; `None` when it is missing.
fn state(target: &Path) -> Option<String> {
    let stat = fs::metadata(target).ok()?;
    let names = if stat.is_dir() { crate::support::names(target) } else { Vec::new() };
    let times = (stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec());
    Some(format!("{:o} {times:?} {names:?} {:?}", stat.mode(), fs::read(target).ok()))
}

/// Every operation on a history whose `link` is a symbolic link is refused with the link's path.
fn refused(link: &str, attempts: impl Fn(&TempDir) -> Vec<Result<(), String>>) {
    let outside = scratch();
    for target in targets(&outside) {
        let dir = scratch();
        symlink(&target, path(&dir, link)).unwrap();
        let before = state(&target);
        for attempt in attempts(&dir) {
            let expected = format!("durable history rejects symlink: {}", path(&dir, link).display());
            assert_eq!(attempt, Err(expected), "{link} -> {target:?}");
        }
        assert_eq!(state(&target), before, "{link} -> {target:?}");
        assert_eq!(fs::read_link(path(&dir, link)).unwrap(), target);
    }
}

fn told<T>(outcome: harnery_native::history::Result<T>) -> Result<(), String> {
    outcome.map(drop).map_err(|error| error.to_string())
}

#[test]
fn s1_a_directory_that_is_a_symbolic_link_is_refused() {
    refused("home", |dir| {
        let home = path(dir, "home");
        vec![
            told(add(&real(), &home, "1")),
            told(read_dir(&real(), &home)),
            told(repair(&real(), &home, Writing::default(), None)),
            told(read_file(&real(), &home.join("x.jsonl"))),
            told(append_to_file(&real(), &home.join("x.jsonl"), "1", 256.0, Writing::default(), &NoSeams)),
            told(rewrite(&real(), &home.join("x.jsonl"), &["1"], 256.0, Writing::default(), &NoSeams)),
        ]
    });
}

#[test]
fn s1_a_history_file_that_is_a_symbolic_link_is_refused() {
    refused("active.jsonl", |dir| {
        vec![
            told(add(&real(), dir.path(), "1")),
            told(read_dir(&real(), dir.path())),
            told(repair(&real(), dir.path(), Writing::default(), None)),
        ]
    });
    refused("x.jsonl", |dir| {
        let file = path(dir, "x.jsonl");
        let segmented = Layout::segmented(&file).unwrap();
        vec![
            told(append_to_file(&real(), &file, "1", 256.0, Writing::default(), &NoSeams)),
            told(append(&real(), &segmented, &["1"], limits(), Writing::default(), &NoSeams)),
            told(read_file(&real(), &file)),
            told(read_all(&real(), segmented, reading(256.0))),
            told(rewrite(&real(), &file, &["1"], 256.0, Writing::default(), &NoSeams)),
        ]
    });
}

#[test]
fn s1_a_lease_that_is_a_symbolic_link_is_refused() {
    refused(".append.lease", |dir| vec![told(add(&real(), dir.path(), "1"))]);
    refused("x.jsonl.lease", |dir| {
        let file = path(dir, "x.jsonl");
        vec![
            told(append_to_file(&real(), &file, "1", 256.0, Writing::default(), &NoSeams)),
            told(rewrite(&real(), &file, &["1"], 256.0, Writing::default(), &NoSeams)),
        ]
    });
}

#[test]
fn s1_segments_that_are_symbolic_links_are_refused() {
    refused("segments", |dir| {
        fs::write(path(dir, "active.jsonl"), format!("\"{}\"\n", "x".repeat(200))).unwrap();
        vec![
            told(add(&real(), dir.path(), &format!("\"{}\"", "x".repeat(200)))),
            told(read_dir(&real(), dir.path())),
        ]
    });
    let outside = scratch();
    for target in targets(&outside) {
        let dir = scratch();
        fs::create_dir(path(&dir, "segments")).unwrap();
        let segment = dir.path().join("segments/00000001.jsonl");
        symlink(&target, &segment).unwrap();
        let expected = format!("durable history rejects symlink: {}", segment.display());
        assert_eq!(told(read_dir(&real(), dir.path())), Err(expected.clone()));
        // One more would follow a segment that no reader takes for one.
        let long = format!("\"{}\"", "x".repeat(200));
        fs::write(path(&dir, "active.jsonl"), format!("{long}\n")).unwrap();
        assert_eq!(told(add(&real(), dir.path(), &long)), Err(expected));
        assert_eq!(names(&dir.path().join("segments")), ["00000001.jsonl"]);
    }
}

#[test]
fn s2_a_symbolic_link_among_the_parents_works() {
    let (outside, dir) = (scratch(), scratch());
    symlink(outside.path(), path(&dir, "link")).unwrap();
    let home = dir.path().join("link/home");
    add(&real(), &home, "1").unwrap();
    assert_eq!(read_dir(&real(), &home).unwrap(), ["1"]);
}

#[test]
fn a_fifo_is_neither_read_nor_waited_for() {
    let dir = scratch();
    for name in ["active.jsonl", "x.jsonl"] {
        make_fifo(&path(&dir, name));
        let expected =
            Err(format!("durable history path is not a regular file: {}", path(&dir, name).display()));
        assert_eq!(told(read_file(&real(), &path(&dir, name))), expected);
        let file = path(&dir, name);
        assert_eq!(told(append_to_file(&real(), &file, "1", 256.0, Writing::default(), &NoSeams)), expected);
    }
    assert!(told(add(&real(), dir.path(), "1")).unwrap_err().contains("is not a regular file"));
}

#[test]
fn a_plain_file_is_no_directory_of_a_history() {
    let dir = scratch();
    let home = path(&dir, "home");
    fs::write(&home, "kept").unwrap();
    let expected = Err(format!("durable history path is not a directory: {}", home.display()));
    assert_eq!(told(add(&real(), &home, "1")), expected);
    assert_eq!(told(read_dir(&real(), &home)), expected);
    assert_eq!(fs::read(&home).unwrap(), b"kept");
}

fn make_fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}
