//! Histories: the lines of a file are its records, nothing that was there is lost, and a torn end is moved aside.

use std::path::Path;

use harnery_native::history::append::append;
use harnery_native::history::read::{paths, Reader};
use harnery_native::history::repair::repair;
use harnery_native::history::{AppendOptions, Error, Layout, NoSeams, ReadOptions, Writing};
use harnery_native::javascript::json::parse;

use super::stage::Stage;

const HOME: &str = "/history";
const LIMIT: u64 = 256;
const SEGMENT: u64 = 512;
const RECORD: &str = "{\"n\":1}";

pub fn hold(bytes: &[u8]) {
    let stage = Stage::new();
    stage.make_dir(HOME);
    stage.write(HOME, "active.jsonl", bytes);
    assert_eq!(read(&stage), expected(bytes));
    is_appended_to(&stage, bytes);
}

fn layout() -> Layout {
    Layout::directory(Path::new(HOME))
}

/// All records, and how reading ended when it did not end well.
fn read(stage: &Stage) -> (Vec<Vec<u8>>, Option<&'static str>) {
    let options = ReadOptions { max_record_bytes: LIMIT, max_records: None };
    let mut reader = Reader::open(&stage.host, layout(), options).expect("a history that can be opened");
    let mut records = Vec::new();
    loop {
        match reader.next(&stage.host) {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) => return (records, None),
            Err(error) => return (records, Some(name(&error))),
        }
    }
}

fn name(error: &Error) -> &'static str {
    match error {
        Error::Partial { .. } => "partial",
        Error::RecordTooLarge(_) => "too large",
        Error::InvalidRecord { .. } => "invalid",
        other => panic!("not for such a file: {other}"),
    }
}

/// The same, by splitting the text.
fn expected(bytes: &[u8]) -> (Vec<Vec<u8>>, Option<&'static str>) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let torn = lines.pop().expect("there is always a last line");
    let mut records = Vec::new();
    for line in lines {
        match line {
            _ if line.len() as u64 + 1 > LIMIT => return (records, Some("too large")),
            [] => {}
            _ if parse(line).is_err() => return (records, Some("invalid")),
            _ => records.push(line.to_vec()),
        }
    }
    let end = match torn.len() as u64 {
        0 => None,
        length if length + 1 > LIMIT => Some("too large"),
        _ => Some("partial"),
    };
    (records, end)
}

fn is_appended_to(stage: &Stage, bytes: &[u8]) {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let options = AppendOptions { max_record_bytes: LIMIT, max_segment_bytes: SEGMENT };
    let add = || append(&stage.host, &layout(), &[RECORD], options, Writing::default(), &NoSeams);
    let must_seal = |length: usize| length > 0 && length + RECORD.len() + 1 > SEGMENT as usize;
    // Only what every reader takes is sealed.
    let is_sound = bytes[..whole]
        .split_inclusive(|byte| *byte == b'\n')
        .all(|line| line.len() as u64 <= LIMIT && line.len() > 1 && parse(line).is_ok());
    if whole < bytes.len() {
        match add() {
            Err(Error::Partial { .. }) => {}
            // What would be sealed is looked at first.
            other => {
                let is_too_long = (bytes.len() - whole) as u64 >= LIMIT;
                assert!(other.is_err() && must_seal(bytes.len()) && (!is_sound || is_too_long));
            }
        }
        assert_eq!(all(stage), bytes);
        let repaired =
            repair(&stage.host, Path::new(HOME), Writing::default(), None).expect("a tail that can be moved");
        let repaired = repaired.expect("there was something to repair");
        assert_eq!(repaired.bytes_removed, (bytes.len() - whole) as u64);
        let moved = repaired.quarantined_to.file_name().expect("a file").to_string_lossy().into_owned();
        assert_eq!(stage.read(HOME, &moved).as_deref(), Some(&bytes[whole..]));
    }
    assert_eq!(repair(&stage.host, Path::new(HOME), Writing::default(), None).expect("nothing to do"), None);
    assert_eq!(all(stage), bytes[..whole]);
    if must_seal(whole) && !is_sound {
        assert!(add().is_err());
        assert_eq!(all(stage), bytes[..whole]);
        return;
    }
    let receipt = add().expect("a history that ends with a line takes a record");
    assert_eq!(receipt.record_bytes, RECORD.len() as u64 + 1);
    assert_eq!(receipt.rotated, must_seal(whole));
    assert_eq!(all(stage), [&bytes[..whole], RECORD.as_bytes(), b"\n"].concat());
}

/// The bytes of all its files, in their order.
fn all(stage: &Stage) -> Vec<u8> {
    let paths = paths(&stage.host, &layout()).expect("a history that can be listed");
    let files = paths.iter().map(|path| {
        let (dir, name) = (path.parent().expect("a directory"), path.file_name().expect("a name"));
        stage.read(&dir.to_string_lossy(), &name.to_string_lossy()).expect("it is there")
    });
    files.collect::<Vec<_>>().concat()
}
