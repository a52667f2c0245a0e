//! Rewriting: the old or the new whole, whatever happens in between.

use std::fs;
use std::time::Duration;

use harnery_native::history::rewrite::rewrite;
use harnery_native::history::{Boundary, Error, NoSeams, Seams, Writing};
use harnery_native::javascript::Thrown;

use crate::support::{killed_at, later, names, path, read_file, real, scratch};

struct FaultAt(Boundary);

impl Seams for FaultAt {
    fn fault(&self, boundary: Boundary) -> std::result::Result<(), Thrown> {
        if boundary == self.0 {
            return Err(Thrown::new("killed"));
        }
        Ok(())
    }
}

#[test]
fn a_fault_leaves_the_prior_or_the_complete_replacement_and_nothing_beside_it() {
    for (boundary, left) in
        [(Boundary::AfterRewriteTempSync, "1\n"), (Boundary::AfterRewritePublish, "2\n3\n")]
    {
        let dir = scratch();
        let file = path(&dir, "x.jsonl");
        rewrite(&real(), &file, &["1"], 256.0, Writing::default(), &NoSeams).unwrap();
        let outcome = rewrite(&real(), &file, &["2", "3"], 256.0, Writing::default(), &FaultAt(boundary));
        assert!(matches!(outcome, Err(Error::Thrown(_))));
        assert_eq!(fs::read_to_string(&file).unwrap(), left);
        assert_eq!(names(dir.path()), ["x.jsonl"]);
        rewrite(&real(), &file, &["4"], 256.0, Writing::default(), &NoSeams).unwrap();
        assert_eq!(read_file(&real(), &file).unwrap(), ["4"]);
    }
}

#[test]
fn killed_between_any_two_steps_the_old_or_the_new_whole_is_there() {
    for step in 0.. {
        let dir = scratch();
        let file = path(&dir, "x.jsonl");
        fs::write(&file, "\"old\"\n").unwrap();
        let done = killed_at(&real(), step, |host| {
            rewrite(host, &file, &["\"new\"", "\"whole\""], 256.0, Writing::default(), &NoSeams).unwrap();
        });
        let records = read_file(&real(), &file).unwrap();
        if done.is_some() {
            assert_eq!(records, ["\"new\"", "\"whole\""]);
            break;
        }
        assert!(records == ["\"old\""] || records == ["\"new\"", "\"whole\""], "step {step}: {records:?}");
    }
}

#[test]
fn what_killed_rewrites_left_goes_with_a_later_holder_once_it_was_left_alone() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    let left = ["x.jsonl.rewrite-2147483647-1", "x.jsonl.rewrite-2147483647-2"];
    let others = ["x.jsonl.rewrite-1-1", "y.jsonl.rewrite-2147483647-1"];
    for name in left.into_iter().chain(others) {
        fs::write(path(&dir, name), "\"whole\"\n").unwrap();
    }
    rewrite(&real(), &file, &["1"], 256.0, Writing::default(), &NoSeams).unwrap();
    assert_eq!(names(dir.path()).len(), 5, "too young to be judged");
    rewrite(&later(Duration::from_secs(60)), &file, &["2"], 256.0, Writing::default(), &NoSeams).unwrap();
    assert_eq!(names(dir.path()), ["x.jsonl", others[0], others[1]]);
}

#[test]
fn an_empty_rewrite_makes_an_empty_file() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    rewrite::<&str>(&real(), &file, &[], 256.0, Writing::default(), &NoSeams).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"");
}
