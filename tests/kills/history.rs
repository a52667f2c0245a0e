//! Histories: appending, sealing a segment, taking over a dead writer's lease, rewriting.

use std::path::Path;
use std::time::Duration;

use harnery_native::history::append::append;
use harnery_native::history::read::Reader;
use harnery_native::history::repair::repair;
use harnery_native::history::rewrite::rewrite;
use harnery_native::history::{AppendOptions, Error, Layout, NoSeams, ReadOptions, Result, Writing};
use harnery_native::host::Host;

use crate::mortal::{later, real};
use crate::places::prove;
use crate::victim::{before_every_call, forget, has_returned, Task};

const FIRST: &str = r#"{"number":1,"body":"the first one, which is there before"}"#;
const SECOND: &str = r#"{"number":2,"body":"the second one, whose writer is killed"}"#;
const THIRD: &str = r#"{"number":3,"body":"the third one, which comes afterwards"}"#;

pub const TASKS: &[Task] = &[
    ("append", |doomed| {
        doomed.light();
        add(&doomed.host, &doomed.at, SECOND, 4096).expect("nobody else writes");
    }),
    ("append and seal", |doomed| {
        doomed.light();
        add(&doomed.host, &doomed.at, SECOND, 100).expect("nobody else writes");
    }),
    // The pauses of a takeover count as passed.
    ("take over and append", |doomed| {
        let host = Host { clock: later(Duration::ZERO).clock, ..doomed.host.clone() };
        doomed.light();
        add(&host, &doomed.at, SECOND, 4096).expect("the lease's owner is dead");
    }),
    ("rewrite", |doomed| {
        doomed.light();
        replace(&doomed.host, &doomed.at, &[SECOND, THIRD]).expect("nobody else writes");
    }),
];

fn layout(at: &Path) -> Layout {
    Layout::directory(&at.join("h"))
}

fn add(host: &Host, at: &Path, record: &str, segment: u64) -> Result<()> {
    let options = AppendOptions { max_record_bytes: 100, max_segment_bytes: segment };
    append(host, &layout(at), &[record], options, Writing::default(), &NoSeams).map(drop)
}

fn replace(host: &Host, at: &Path, records: &[&str]) -> Result<()> {
    rewrite(host, &at.join("x.jsonl"), records, 100.0, Writing::default(), &NoSeams)
}

fn read(layout: Layout) -> Result<Vec<String>> {
    let host = real();
    let mut reader = Reader::open(&host, layout, ReadOptions::new(100.0, None)?)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next(&host)? {
        records.push(String::from_utf8(record.to_vec()).expect("a record is text"));
    }
    Ok(records)
}

/// How a writer sees it to whom the owner of the lease is old.
fn when_it_is_old() -> Host {
    later(Duration::from_secs(31))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// Every record that was acknowledged is there, whole; a torn one is refused by name and can be moved aside; the next
/// writer gets on at its first try and leaves the history's own files alone.
fn nothing_is_lost_and_the_next_gets_on(at: &Path) {
    let records = match read(layout(at)) {
        Err(Error::Partial { .. }) => {
            assert!(!has_returned(at));
            let moved = repair(&when_it_is_old(), &at.join("h"), Writing::default(), None).expect("a repair");
            std::fs::remove_file(moved.expect("a torn end").quarantined_to).expect("it was moved there");
            read(layout(at))
        }
        records => records,
    };
    let mut records = records.expect("whole records");
    assert!(records == [FIRST] && !has_returned(at) || records == [FIRST, SECOND], "{records:?}");
    add(&when_it_is_old(), at, THIRD, 4096).expect("the writer is dead");
    records.push(THIRD.to_owned());
    assert_eq!(read(layout(at)).expect("whole records"), records);
    let left = names(&at.join("h"));
    assert!(left.iter().all(|name| name == "active.jsonl" || name == "segments"), "{left:?}");
}

fn one_record(at: &Path) {
    add(&real(), at, FIRST, 4096).expect("nobody else writes");
}

#[test]
fn a_writer_that_is_killed_appending_loses_nothing_and_is_followed_by_the_next() {
    prove("SIGKILL before each file call, appending to a history", |place| {
        before_every_call(place, "append", one_record, |at, _, ()| nothing_is_lost_and_the_next_gets_on(at))
    });
}

#[test]
fn a_writer_that_is_killed_sealing_a_segment_loses_nothing_and_is_followed_by_the_next() {
    prove("SIGKILL before each file call, appending to a history that seals a segment", |place| {
        before_every_call(place, "append and seal", one_record, |at, _, ()| {
            nothing_is_lost_and_the_next_gets_on(at);
        })
    });
}

#[test]
fn a_writer_that_is_killed_taking_over_from_a_dead_one_loses_nothing_and_is_followed_by_the_next() {
    prove("SIGKILL before each file call, taking over a dead writer's history", |place| {
        let abandoned = |at: &Path| {
            one_record(at);
            let lease = at.join("h/.append.lease");
            std::fs::create_dir(&lease).expect("it is free");
            let owner = r#"{"owner_id":"d","pid":4194305,"acquired_at":"2020-01-01T00:00:00.000Z"}"#;
            std::fs::write(lease.join("owner.json"), format!("{owner}\n")).expect("a file");
        };
        before_every_call(place, "take over and append", abandoned, |at, _, ()| {
            nothing_is_lost_and_the_next_gets_on(at);
        })
    });
}

#[test]
fn whoever_is_killed_rewriting_leaves_the_old_or_the_new_whole_and_is_followed_by_the_next() {
    prove("SIGKILL before each file call, rewriting a file of records", |place| {
        let old = |at: &Path| replace(&real(), at, &[FIRST]).expect("nobody else writes");
        before_every_call(place, "rewrite", old, |at, _, ()| {
            let file = at.join("x.jsonl");
            let records = read(Layout::file(&file).expect("a path")).expect("whole records");
            assert!(records == [FIRST] && !has_returned(at) || records == [SECOND, THIRD], "{records:?}");
            replace(&when_it_is_old(), at, &[THIRD]).expect("the writer is dead");
            assert_eq!(read(Layout::file(&file).expect("a path")).expect("whole records"), [THIRD]);
            forget(at);
            assert_eq!(names(at), ["x.jsonl"]);
        })
    });
}
