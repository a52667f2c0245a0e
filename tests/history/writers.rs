//! Many writers at once, each a process of its own.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use harnery_native::history::append::append;
use harnery_native::history::{AppendOptions, Layout, NoSeams};

use crate::support::{names, read_all, reading, real, scratch, wait_for};

const WRITER: &str = "HISTORY_TEST_WRITER";
const RECORDS: usize = 1_000;

/// A record that shows whose it is, which one, and whether it is whole: 1 to 70 KB.
pub fn record(writer: usize, number: usize) -> String {
    let length = 1_024 + (writer * 7_919 + number * 104_729) % (69 * 1_024);
    format!(r#"{{"writer":{writer},"number":{number},"body":"{}","whole":true}}"#, "x".repeat(length))
}

pub fn options() -> AppendOptions {
    AppendOptions::new(100_000.0, 4_000_000.0).unwrap()
}

/// Start this test binary again as a process of its own, which runs that one test.
pub fn start(test: &str, variable: &str, argument: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--quiet"])
        .env(variable, argument)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

#[test]
fn one_of_eight_writers() {
    let Ok(argument) = std::env::var(WRITER) else { return };
    let (writer, dir) = argument.split_once(' ').unwrap();
    let (writer, layout) = (writer.parse().unwrap(), Layout::directory(Path::new(dir)));
    for number in 0..RECORDS {
        let record = record(writer, number);
        append(&real(), &layout, &[record], options(), wait_for(120_000), &NoSeams).unwrap();
    }
}

#[test]
fn h2_eight_processes_with_a_thousand_records_each_lose_and_mix_nothing() {
    let dir = scratch();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            start("writers::one_of_eight_writers", WRITER, &format!("{writer} {}", dir.path().display()))
        })
        .collect();
    for writer in writers {
        assert!(writer.wait_with_output().unwrap().status.success());
    }
    let records = read_all(&real(), Layout::directory(dir.path()), reading(100_000.0)).unwrap();
    assert_eq!(records.len(), 8 * RECORDS);
    let mut next = HashMap::new();
    for text in records {
        let number = |field: &str| -> usize {
            let (_, rest) = text.split_once(field).unwrap();
            rest[..rest.find(',').unwrap()].parse().unwrap()
        };
        let writer = number("\"writer\":");
        let expected = next.entry(writer).or_insert(0);
        assert_eq!(text, record(writer, *expected));
        *expected += 1;
    }
    assert_eq!(names(dir.path()), ["active.jsonl", "segments"]);
}
