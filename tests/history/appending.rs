//! Appending, sealing, and what is refused before and during it.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::rc::Rc;

use harnery_native::history::append::{append, append_to_file};
use harnery_native::history::update::{update, Decision};
use harnery_native::history::{AppendOptions, Boundary, Error, Layout, NoSeams, Receipt, Seams, Writing};
use harnery_native::javascript::Thrown;

use crate::support::{add, fated, limits, names, path, read_dir, read_file, reading, real, scratch, Counted};

type WriteSync<'a> = &'a dyn Fn(&Path, &[u8]) -> std::result::Result<f64, Thrown>;

/// The caller's functions of a test.
#[derive(Default)]
struct Functions<'a> {
    seen: RefCell<Vec<&'static str>>,
    fault_at: Option<Boundary>,
    write: Option<WriteSync<'a>>,
}

impl Seams for Functions<'_> {
    fn fault(&self, boundary: Boundary) -> std::result::Result<(), Thrown> {
        self.seen.borrow_mut().push(boundary.name());
        if self.fault_at == Some(boundary) {
            return Err(Thrown::new(boundary.name()));
        }
        Ok(())
    }
    fn write(
        &self,
        descriptor: i32,
        bytes: &[u8],
        offset: usize,
    ) -> Option<std::result::Result<f64, Thrown>> {
        let file = format!("/proc/self/fd/{descriptor}");
        self.write.map(|write| write(Path::new(&file), &bytes[offset..]))
    }
}

fn write_three(file: &Path, bytes: &[u8]) -> std::result::Result<f64, Thrown> {
    let short = &bytes[..bytes.len().min(3)];
    fs::OpenOptions::new().append(true).open(file).unwrap().write_all(short).unwrap();
    Ok(short.len() as f64)
}

fn thrown(error: Error) -> &'static str {
    match error {
        Error::Thrown(thrown) => thrown.0.downcast_ref::<&'static str>().unwrap(),
        other => panic!("{other}"),
    }
}

#[test]
fn forty_records_rotate_and_all_are_read_in_order() {
    let dir = scratch();
    let record = |n: usize| format!(r#"{{"sequence":{n},"body":"{}"}}"#, "x".repeat(30));
    let receipts: Vec<_> = (1..=40).map(|n| add(&real(), dir.path(), &record(n)).unwrap()).collect();
    assert!(receipts[0].record_bytes == record(1).len() as u64 + 1 && !receipts[0].rotated);
    assert!(receipts.iter().any(|receipt| receipt.rotated));
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), (1..=40).map(record).collect::<Vec<_>>());
    assert_eq!(names(dir.path()), ["active.jsonl", "segments"]);
    let segments = names(&dir.path().join("segments"));
    assert_eq!(segments[..2], ["00000001.jsonl", "00000002.jsonl"]);
    for name in segments {
        assert!(fs::metadata(dir.path().join("segments").join(name)).unwrap().len() <= 256);
    }
}

#[test]
fn several_records_rotate_as_single_ones_would_under_one_lease() {
    let (one_by_one, at_once) = (scratch(), scratch());
    let records: Vec<_> = (0..40).map(|n| format!(r#"{{"n":{n},"body":"{}"}}"#, "x".repeat(n * 3))).collect();
    for record in &records {
        add(&real(), one_by_one.path(), record).unwrap();
    }
    let layout = Layout::directory(at_once.path());
    let receipt = append(&real(), &layout, &records, limits(), Writing::default(), &NoSeams).unwrap();
    let record_bytes = records.iter().map(|record| record.len() as u64 + 1).sum();
    assert_eq!(receipt, Receipt { record_bytes, rotated: true, records: 40 });
    assert_eq!(names(&one_by_one.path().join("segments")), names(&at_once.path().join("segments")));
    for file in names(&at_once.path().join("segments")) {
        let read = |dir: &Path| fs::read(dir.join("segments").join(&file)).unwrap();
        assert_eq!(read(one_by_one.path()), read(at_once.path()), "{file}");
    }
}

#[test]
fn several_records_take_one_sync_of_the_data() {
    let dir = scratch();
    add(&real(), dir.path(), "1").unwrap();
    let count = |records: &[&str]| {
        let counted = Rc::new(Counted::default());
        let host = fated(&real(), Rc::clone(&counted) as Rc<dyn crate::support::Fate>);
        append(&host, &Layout::directory(dir.path()), records, limits(), Writing::default(), &NoSeams)
            .unwrap();
        let calls = counted.calls.borrow().len();
        (counted.count("sync"), calls)
    };
    // The owner's file, the name of the lease, the data.
    assert_eq!(count(&["2"]).0, 3);
    assert_eq!(count(&["3", "4", "5", "6", "7"]), count(&["8"]));
}

#[test]
fn no_records_touch_nothing() {
    let dir = scratch();
    let home = path(&dir, "home");
    let layout = Layout::directory(&home);
    let receipt = append::<&str>(&real(), &layout, &[], limits(), Writing::default(), &NoSeams).unwrap();
    assert_eq!((receipt.record_bytes, receipt.records), (0, 0));
    assert!(!home.exists());
}

#[test]
fn a_file_is_sealed_beside_itself_and_keeps_its_name() {
    let dir = scratch();
    let file = path(&dir, "events.jsonl");
    let layout = Layout::segmented(&file).unwrap();
    for n in 0..20 {
        let record = format!(r#"{{"n":{n},"body":"{}"}}"#, "x".repeat(40));
        append(&real(), &layout, &[record], limits(), Writing::default(), &NoSeams).unwrap();
    }
    assert_eq!(names(dir.path()), ["events.jsonl", "events.jsonl.segments"]);
    assert_eq!(crate::support::read_all(&real(), layout, reading(256.0)).unwrap().len(), 20);
}

#[test]
fn a_fault_after_the_rotation_preserves_the_sealed_prefix() {
    let dir = scratch();
    let long = |n: u32| format!(r#"{{"sequence":{n},"body":"{}"}}"#, "x".repeat(160));
    add(&real(), dir.path(), &long(1)).unwrap();
    let faults = Functions { fault_at: Some(Boundary::AfterSegmentRename), ..Functions::default() };
    let layout = Layout::directory(dir.path());
    let error = append(&real(), &layout, &[long(2)], limits(), Writing::default(), &faults).unwrap_err();
    assert_eq!(thrown(error), "after_segment_rename");
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), [long(1)]);
    add(&real(), dir.path(), &long(3)).unwrap();
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), [long(1), long(3)]);
}

#[test]
fn the_boundaries_of_an_append_come_in_order() {
    let dir = scratch();
    let faults = Functions::default();
    let layout = Layout::directory(dir.path());
    for n in 0..2 {
        let record = format!(r#""{n}{}""#, "x".repeat(200));
        append(&real(), &layout, &[record], limits(), Writing::default(), &faults).unwrap();
    }
    let once = ["before_append", "after_append_before_sync"];
    assert_eq!(*faults.seen.borrow(), [&once[..], &["after_segment_rename"], &once].concat());
}

#[test]
fn a_fault_leaves_whole_records_and_gives_the_lease_back() {
    for (boundary, left) in [(Boundary::BeforeAppend, 1), (Boundary::AfterAppendBeforeSync, 2)] {
        let dir = scratch();
        let file = path(&dir, "x.jsonl");
        let with = |record: &str, seams: &dyn Seams| {
            append_to_file(&real(), &file, record, 256.0, Writing::default(), seams)
        };
        with("1", &NoSeams).unwrap();
        let faults = Functions { fault_at: Some(boundary), ..Functions::default() };
        assert_eq!(thrown(with("2", &faults).unwrap_err()), boundary.name());
        assert_eq!(read_file(&real(), &file).unwrap().len(), left);
        with("3", &NoSeams).unwrap();
        assert_eq!(names(dir.path()), ["x.jsonl"]);
    }
}

#[test]
fn short_writes_are_gone_on_with_until_the_record_is_whole() {
    let dir = scratch();
    let calls = Cell::new(0);
    let short = |file: &Path, bytes: &[u8]| {
        calls.set(calls.get() + 1);
        write_three(file, bytes)
    };
    let functions = Functions { write: Some(&short), ..Functions::default() };
    let layout = Layout::directory(dir.path());
    for record in [r#"{"id":"short-write"}"#, r#"{"id":2}"#] {
        append(&real(), &layout, &[record], limits(), Writing::default(), &functions).unwrap();
    }
    assert_eq!(calls.get(), 7 + 3);
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), [r#"{"id":"short-write"}"#, r#"{"id":2}"#]);
}

#[test]
fn a_write_that_fails_takes_back_nothing_once_the_lease_is_another_s() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    append_to_file(&real(), &file, "1", 256.0, Writing::default(), &NoSeams).unwrap();
    let robbed = |_: &Path, _: &[u8]| {
        fs::rename(path(&dir, "x.jsonl.lease"), path(&dir, "elsewhere")).unwrap();
        append_to_file(&real(), &file, "2", 256.0, Writing::default(), &NoSeams).unwrap();
        Err(Thrown::new("disk full"))
    };
    let functions = Functions { write: Some(&robbed), ..Functions::default() };
    append_to_file(&real(), &file, "3", 256.0, Writing::default(), &functions).unwrap_err();
    assert_eq!(fs::read(&file).unwrap(), b"1\n2\n");
}

#[test]
fn a_write_without_progress_fails_and_the_file_is_as_long_as_before() {
    for answer in [0.0, -1.0, 0.5, f64::NAN, f64::INFINITY, 100.0] {
        let dir = scratch();
        add(&real(), dir.path(), "1").unwrap();
        let calls = Cell::new(0);
        let stuck = |file: &Path, bytes: &[u8]| {
            calls.set(calls.get() + 1);
            if calls.get() == 1 {
                return write_three(file, bytes);
            }
            Ok(answer)
        };
        let functions = Functions { write: Some(&stuck), ..Functions::default() };
        let layout = Layout::directory(dir.path());
        let error =
            append(&real(), &layout, &["22222"], limits(), Writing::default(), &functions).unwrap_err();
        assert_eq!(error.to_string(), "durable history write made no forward progress");
        assert_eq!(fs::read(path(&dir, "active.jsonl")).unwrap(), b"1\n");
    }
}

#[test]
fn what_a_supplied_write_throws_leaves_the_call_and_the_file_is_as_long_as_before() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    append_to_file(&real(), &file, "1", 256.0, Writing::default(), &NoSeams).unwrap();
    let calls = Cell::new(0);
    let full = |file: &Path, bytes: &[u8]| {
        calls.set(calls.get() + 1);
        if calls.get() == 3 {
            return Err(Thrown::new("disk full"));
        }
        write_three(file, bytes)
    };
    let functions = Functions { write: Some(&full), ..Functions::default() };
    let error =
        append_to_file(&real(), &file, "\"a record\"", 256.0, Writing::default(), &functions).unwrap_err();
    assert_eq!(thrown(error), "disk full");
    assert_eq!(fs::read(&file).unwrap(), b"1\n");
    assert_eq!(names(dir.path()), ["x.jsonl"]);
}

#[test]
fn a_torn_last_line_is_refused_by_name_and_left_alone() {
    let dir = scratch();
    for (name, content) in [("x.jsonl", &b"1\n{\"half\":"[..]), ("active.jsonl", b"half")] {
        fs::write(path(&dir, name), content).unwrap();
        let refused = |error: Error| {
            assert_eq!(error.to_string(), format!("durable history has a partial record: {name}"));
            assert_eq!(fs::read(path(&dir, name)).unwrap(), content);
        };
        refused(
            append_to_file(&real(), &path(&dir, name), "2", 256.0, Writing::default(), &NoSeams).unwrap_err(),
        );
        refused(read_file(&real(), &path(&dir, name)).unwrap_err());
    }
    assert!(matches!(add(&real(), dir.path(), "1"), Err(Error::Partial { .. })));
    let long = format!("\"{}\"", "x".repeat(250));
    assert!(matches!(add(&real(), dir.path(), &long), Err(Error::Partial { .. })), "nor is it sealed");
    assert_eq!(names(dir.path()), ["active.jsonl", "segments", "x.jsonl"]);
}

#[test]
fn a_file_that_no_reader_would_accept_is_not_sealed() {
    let cases = [
        (
            b"1\n{]\n".to_vec(),
            "invalid durable history JSON in active.jsonl record 2: expected a member name at position 1",
        ),
        (
            [b"\"".to_vec(), vec![b'x'; 300], b"\"\n".to_vec()].concat(),
            "durable history record exceeds 256 bytes",
        ),
    ];
    for (content, message) in cases {
        let dir = scratch();
        fs::write(path(&dir, "active.jsonl"), &content).unwrap();
        let long = format!("\"{}\"", "x".repeat(253));
        assert_eq!(add(&real(), dir.path(), &long).unwrap_err().to_string(), message);
        assert_eq!(fs::read(path(&dir, "active.jsonl")).unwrap(), content);
        assert_eq!(names(&path(&dir, "segments")), [""; 0]);
    }
}

#[test]
fn an_empty_line_which_no_reader_minds_is_sealed_with_the_others() {
    let dir = scratch();
    fs::write(path(&dir, "active.jsonl"), "1\n\n2\n").unwrap();
    let long = format!("\"{}\"", "x".repeat(253));
    assert!(add(&real(), dir.path(), &long).unwrap().rotated);
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), ["1", "2", long.as_str()]);
}

#[test]
fn a_record_over_its_limit_is_refused_before_anything_is_made() {
    let dir = scratch();
    let home = path(&dir, "home");
    let long = format!("\"{}\"", "x".repeat(254));
    assert_eq!(
        add(&real(), &home, &long).unwrap_err().to_string(),
        "durable history record exceeds 256 bytes"
    );
    assert!(!home.exists());
    assert!(add(&real(), &home, &long[1..].replace('x', "\u{e9}")).is_err());
    assert!(add(&real(), &home, &format!("\"{}\"", "x".repeat(253))).is_ok());
}

#[test]
fn s3_directories_and_files_have_exactly_their_modes() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let dir = scratch();
    let home = dir.path().join("a/b");
    add(&real(), &home, &format!("\"{}\"", "x".repeat(200))).unwrap();
    add(&real(), &home, &format!("\"{}\"", "x".repeat(200))).unwrap();
    for made in ["a", "a/b", "a/b/segments"] {
        assert_eq!(mode(&dir.path().join(made)), 0o700, "{made}");
    }
    assert_eq!(mode(&home.join("active.jsonl")), 0o600);
    assert_eq!(mode(&home.join("segments/00000001.jsonl")), 0o600);
}

#[test]
fn s3_the_modes_are_the_same_whatever_the_umask() {
    for test in [
        "s3_directories_and_files_have_exactly_their_modes",
        "a_project_that_is_shared_has_the_group_s_modes",
    ] {
        crate::umask::passes_under_any(&format!("appending::{test}"));
    }
}

#[test]
fn a_project_that_is_shared_has_the_group_s_modes() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let dir = scratch();
    let home = path(&dir, "shared");
    let writing = Writing { sharing: harnery_native::files::Sharing::Group, ..Writing::default() };
    for _ in 0..2 {
        let record = format!("\"{}\"", "x".repeat(200));
        append(&real(), &Layout::directory(&home), &[record], limits(), writing, &NoSeams).unwrap();
    }
    assert_eq!((mode(&home), mode(&home.join("segments"))), (0o770, 0o770));
    assert_eq!(mode(&home.join("active.jsonl")), 0o660);
}

#[test]
fn an_update_reads_everything_and_appends_what_follows_from_it() {
    let dir = scratch();
    let file = path(&dir, "counter.jsonl");
    let count = |seams: &dyn Seams| {
        update(&real(), &file, reading(256.0), Writing::default(), seams, |records| {
            let mut seen = 0;
            while records.next(&real())?.is_some() {
                seen += 1;
            }
            let append = if seen < 3 { vec![format!("{{\"n\":{seen}}}")] } else { Vec::new() };
            Ok(Decision { append, result: seen })
        })
    };
    let faults = Functions::default();
    assert_eq!((0..5).map(|_| count(&faults).unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 3]);
    assert_eq!(faults.seen.borrow().len(), 6, "an update without records has no boundary");
    assert_eq!(read_file(&real(), &file).unwrap(), [r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":2}"#]);
}

#[test]
fn an_update_holds_the_lease_while_it_decides() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    update(&real(), &file, reading(256.0), Writing::default(), &NoSeams, |_| {
        let other = append_to_file(&real(), &file, "1", 256.0, Writing::default(), &NoSeams);
        let error = other.unwrap_err().to_string();
        let since = format!(
            "durable history lease busy: {}.lease; process {} has it since 2",
            file.display(),
            std::process::id()
        );
        assert!(error.starts_with(&since), "{error}");
        Ok(Decision { append: Vec::new(), result: () })
    })
    .unwrap();
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_segment_number_that_would_not_sort_is_refused() {
    let dir = scratch();
    fs::create_dir(path(&dir, "segments")).unwrap();
    fs::write(dir.path().join("segments/99999999.jsonl"), "1\n").unwrap();
    let record = format!("\"{}\"", "x".repeat(200));
    add(&real(), dir.path(), &record).unwrap();
    let error = add(&real(), dir.path(), &record).unwrap_err().to_string();
    assert!(error.starts_with("durable history has no segment number left: "), "{error}");
    assert_eq!(read_dir(&real(), dir.path()).unwrap(), ["1", &record]);
}

#[test]
fn h3_a_full_disk_leaves_the_file_as_long_as_before() {
    let dir = scratch();
    let Some(small) = crate::support::SmallDisk::mount(&dir, 64) else {
        eprintln!("not run: this machine does not let us mount a tmpfs of 64 KB; the simulated one is run elsewhere");
        return;
    };
    let options = AppendOptions::new(1e6, 1e6).unwrap();
    let layout = Layout::directory(small.path());
    let mut length = 0;
    let failed = (0..100).find_map(|n| {
        let record = format!(r#"{{"n":{n},"body":"{}"}}"#, "x".repeat(7_000));
        let added = append(&real(), &layout, &[record], options, Writing::default(), &NoSeams);
        length += added.as_ref().map_or(0, |receipt| receipt.record_bytes);
        added.err()
    });
    let Some(Error::Path(error)) = failed else { panic!("{failed:?}") };
    assert_eq!((error.code().as_deref(), error.syscall), (Some("ENOSPC"), "write"));
    assert_eq!(fs::metadata(small.path().join("active.jsonl")).unwrap().len(), length);
    assert_eq!(names(small.path()), ["active.jsonl"]);
    append(&real(), &layout, &["{}"], options, Writing::default(), &NoSeams).unwrap();
}
