//! Reading: whole records only, in order, in bounded memory.

use std::fs;
use std::io::Write;

use harnery_native::history::append::append_to_file;
use harnery_native::history::read::{paths, Reader};
use harnery_native::history::{Error, Layout, NoSeams, ReadOptions, Writing};

use crate::support::{add, later, path, read_all, read_dir, read_file, reading, real, scratch};

#[test]
fn a_history_that_is_not_there_has_no_records() {
    let dir = scratch();
    let missing = path(&dir, "missing");
    assert_eq!(read_dir(&real(), &missing).unwrap(), [""; 0]);
    assert_eq!(read_file(&real(), &missing.join("x.jsonl")).unwrap(), [""; 0]);
    assert_eq!(paths(&real(), &Layout::directory(&missing)).unwrap().len(), 0);
    assert!(!missing.exists());
}

#[test]
fn h1_records_of_any_text_are_one_line_each_and_come_back_as_they_were() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    let records = [
        r#"{"line feeds":"a\nb\r\n"}"#,
        "{\"separators\":\"\u{2028}\u{2029}\u{85}\"}",
        r#"{"nul":"\u0000","lone":"\ud800\udfff \udc00"}"#,
        "\"\u{1F600}\u{feff}\"",
        "null",
    ];
    for record in records {
        append_to_file(&real(), &file, record, 256.0, Writing::default(), &NoSeams).unwrap();
    }
    assert_eq!(read_file(&real(), &file).unwrap(), records);
}

#[test]
fn the_files_are_named_oldest_first() {
    let dir = scratch();
    for _ in 0..3 {
        add(&real(), dir.path(), &format!("\"{}\"", "x".repeat(200))).unwrap();
    }
    fs::write(dir.path().join("segments/notes.jsonl"), "").unwrap();
    let found = paths(&real(), &Layout::directory(dir.path())).unwrap();
    let expected = ["segments/00000001.jsonl", "segments/00000002.jsonl", "active.jsonl"];
    assert_eq!(found, expected.map(|name| dir.path().join(name)));
}

#[test]
fn a_line_that_is_no_json_is_refused_with_its_number_and_never_joined_with_the_next() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    for (lines, record) in
        [("1\n{\"a\":[1\n2]}\n", 2), ("1,2\n", 1), ("1\n\n2\n\u{feff}3\n", 3), ("]\n[\n", 1)]
    {
        fs::write(&file, lines).unwrap();
        let error = read_file(&real(), &file).unwrap_err();
        let Error::InvalidRecord { file, record: number, .. } = error else { panic!("{error}") };
        assert_eq!((file.as_str(), number), ("x.jsonl", record), "{lines:?}");
    }
}

#[test]
fn bytes_that_are_no_utf_8_are_read_with_replacement() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    fs::write(&file, b"\"a\xffb\"\n\"\xe2\x82\"\n").unwrap();
    let mut reader = Reader::open(&real(), Layout::file(&file).unwrap(), reading(100.0)).unwrap();
    assert_eq!(reader.batch(&real(), 1 << 20).unwrap().unwrap(), "[\"a\u{fffd}b\",\"\u{fffd}\"]");
    assert_eq!(reader.batch(&real(), 1 << 20).unwrap(), None);
}

#[test]
fn limits_are_told_as_the_harness_tells_them() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    fs::write(&file, "1\n22\n333\n").unwrap();
    let with = |bytes: f64, records: Option<f64>| {
        let options = ReadOptions::new(bytes, records).unwrap();
        read_all(&real(), Layout::file(&file).unwrap(), options).map(|records| records.len())
    };
    assert_eq!(with(4.0, Some(3.0)).unwrap(), 3);
    assert_eq!(with(3.0, None).unwrap_err().to_string(), "durable history record exceeds 3 bytes");
    assert_eq!(with(4.0, Some(2.0)).unwrap_err().to_string(), "durable history exceeds 2 records");
    assert_eq!(with(4.0, Some(0.0)).unwrap_err().to_string(), "durable history exceeds 0 records");
}

#[test]
fn lines_longer_than_a_block_are_whole() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    let sizes = [65_530, 1, 65_533, 65_534, 65_535, 65_536, 131_072, 3, 300_000, 70_000];
    let records = sizes.map(|size| format!("\"{}\"", "x".repeat(size)));
    fs::write(&file, records.join("\n") + "\n").unwrap();
    let options = reading(1e6);
    assert_eq!(read_all(&real(), Layout::file(&file).unwrap(), options).unwrap(), records);
    let limit = |bytes: f64| read_all(&real(), Layout::file(&file).unwrap(), reading(bytes)).is_ok();
    assert!(limit(300_003.0) && !limit(300_002.0));
}

#[test]
fn a_reader_keeps_what_was_active_when_it_began_also_when_that_is_sealed_meanwhile() {
    for read_first in [0, 1, 2] {
        let dir = scratch();
        let long = |n: u32| format!("\"{n}{}\"", "x".repeat(200));
        add(&real(), dir.path(), &long(1)).unwrap();
        add(&real(), dir.path(), &long(2)).unwrap();
        let mut reader = Reader::open(&real(), Layout::directory(dir.path()), reading(256.0)).unwrap();
        let mut seen = Vec::new();
        let mut next = |reader: &mut Reader| {
            let record = reader.next(&real()).unwrap().map(|text| String::from_utf8(text.to_vec()).unwrap());
            seen.extend(record.clone());
            record.is_some()
        };
        for _ in 0..read_first {
            assert!(next(&mut reader));
        }
        for n in 3..=5 {
            add(&real(), dir.path(), &long(n)).unwrap();
        }
        while next(&mut reader) {}
        assert_eq!(seen, [long(1), long(2)], "after {read_first}");
    }
}

#[test]
fn a_reader_of_a_file_that_is_rewritten_sees_the_old_whole() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    fs::write(&file, "1\n2\n").unwrap();
    let mut reader = Reader::open(&real(), Layout::file(&file).unwrap(), reading(256.0)).unwrap();
    assert!(reader.next(&real()).unwrap().is_some());
    fs::write(path(&dir, "new"), "3\n").unwrap();
    fs::rename(path(&dir, "new"), &file).unwrap();
    assert_eq!(reader.next(&real()).unwrap(), Some(&b"2"[..]));
    assert_eq!(reader.next(&real()).unwrap(), None);
}

#[test]
fn a_reader_whose_directory_was_moved_away_says_so() {
    let dir = scratch();
    let home = path(&dir, "home");
    add(&real(), &home, "1").unwrap();
    let mut reader = Reader::open(&real(), Layout::directory(&home), reading(256.0)).unwrap();
    assert!(reader.next(&real()).unwrap().is_some());
    fs::rename(&home, path(&dir, "elsewhere")).unwrap();
    fs::create_dir(&home).unwrap();
    let error = reader.next(&real()).unwrap_err().to_string();
    assert_eq!(error, format!("durable history directory identity changed: {}", home.display()));
}

#[test]
fn a_line_that_a_writer_is_in_the_middle_of_is_waited_for() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    fs::write(&file, "1\n{\"ha").unwrap();
    fs::create_dir(path(&dir, "x.jsonl.lease")).unwrap();
    let host = later(std::time::Duration::ZERO);
    let mut reader = Reader::open(&host, Layout::file(&file).unwrap(), reading(256.0)).unwrap();
    assert_eq!(reader.next(&host).unwrap(), Some(&b"1"[..]));
    let file = fs::OpenOptions::new().append(true).open(&file).unwrap();
    // The writer goes on during the first pause.
    let host = crate::support::when_paused(&host, move || (&file).write_all(b"lf\":2}\n").unwrap());
    assert_eq!(reader.next(&host).unwrap(), Some(&b"{\"half\":2}"[..]));
}

#[test]
fn what_a_writer_took_back_and_another_wrote_is_never_mixed() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    fs::write(&file, "1\n\"first wri").unwrap();
    fs::create_dir(path(&dir, "x.jsonl.lease")).unwrap();
    let host = later(std::time::Duration::ZERO);
    let mut reader = Reader::open(&host, Layout::file(&file).unwrap(), reading(256.0)).unwrap();
    assert!(reader.next(&host).unwrap().is_some());
    let again = file.clone();
    let host =
        crate::support::when_paused(&host, move || fs::write(&again, "1\n\"second writer\"\n").unwrap());
    assert_eq!(reader.next(&host).unwrap(), Some(&b"\"second writer\""[..]));
}

#[test]
fn h6_a_long_history_is_read_in_bounded_memory() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    let megabytes = 48;
    let line = format!("{{\"body\":\"{}\"}}\n", "x".repeat(1_011));
    let mut out = fs::File::create(&file).unwrap();
    for _ in 0..megabytes {
        out.write_all(line.repeat(1_024).as_bytes()).unwrap();
    }
    let before = resident_kilobytes();
    let mut reader = Reader::open(&real(), Layout::file(&file).unwrap(), reading(4096.0)).unwrap();
    let mut records = 0;
    while reader.next(&real()).unwrap().is_some() {
        records += 1;
    }
    assert_eq!(records, megabytes * 1_024);
    let grown = resident_kilobytes().saturating_sub(before);
    assert!(grown < 4 * 1_024, "{grown} KB");
}

fn resident_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
