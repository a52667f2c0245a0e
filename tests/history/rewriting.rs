//! Rewriting: the old or the new whole, whatever happens in between.

use std::fs;

use harnery_native::history::rewrite::rewrite;
use harnery_native::history::{Boundary, Error, NoSeams, Seams, Writing};
use harnery_native::javascript::Thrown;

use crate::support::{killed_at, names, path, read_file, real, scratch};

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
fn an_empty_rewrite_makes_an_empty_file() {
    let dir = scratch();
    let file = path(&dir, "x.jsonl");
    rewrite::<&str>(&real(), &file, &[], 256.0, Writing::default(), &NoSeams).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"");
}
