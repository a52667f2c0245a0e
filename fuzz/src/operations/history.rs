//! Histories: what was acknowledged is there, whole and in its order.

use std::path::Path;

use harnery_native::history::append::append;
use harnery_native::history::read::Reader;
use harnery_native::history::repair::repair;
use harnery_native::history::{AppendOptions, Error, Layout, NoSeams, ReadOptions, Writing};

use super::actor::{Actor, Fate, Script};

const HOME: &str = "/history";
const LIMIT: u64 = 256;
const SEGMENT: u64 = 512;

pub fn prepare(first: &Actor) {
    first.host.files.make_dir(Path::new(HOME), 0o700).expect("a new directory");
}

#[derive(Default)]
pub struct History {
    /// Each record in the order of its append, and whether it was acknowledged.
    appended: Vec<(String, bool)>,
}

impl History {
    pub fn append(&mut self, actor: &mut Actor, script: &mut Script<'_>) {
        let record =
            format!("{{\"n\":{},\"x\":\"{}\"}}", self.appended.len(), "x".repeat(script.below(200).into()));
        let fate = script.fate();
        let options = AppendOptions { max_record_bytes: LIMIT, max_segment_bytes: SEGMENT };
        let write = |host: &_| append(host, &layout(), &[&record], options, Writing::default(), &NoSeams);
        let done = actor.run(fate, |host, _| write(host));
        self.appended.push((record, matches!(done, Some(Ok(_)))));
        match done {
            None | Some(Ok(_) | Err(Error::Busy(_))) => {}
            Some(Err(Error::Partial { .. })) => mend(actor),
            Some(Err(error)) => {
                assert!(matches!(fate, Fate::Fails { .. }), "no refusal among writers: {error}")
            }
        }
    }

    pub fn read(&self, actor: &Actor) {
        let options = ReadOptions { max_record_bytes: LIMIT, max_records: None };
        let mut reader = Reader::open(&actor.host, layout(), options).expect("a history that can be opened");
        let mut appended = self.appended.iter();
        loop {
            match reader.next(&actor.host) {
                Ok(Some(record)) => {
                    // What was not acknowledged may be there all the same, or not.
                    let found = appended.find(|(text, acknowledged)| {
                        let is_it = text.as_bytes() == record;
                        assert!(is_it || !acknowledged, "a record is missing: {text}");
                        is_it
                    });
                    assert!(
                        found.is_some(),
                        "a record that nobody wrote: {}",
                        String::from_utf8_lossy(record)
                    );
                }
                Ok(None) | Err(Error::Partial { .. }) => break,
                Err(error) => panic!("a history that cannot be read: {error}"),
            }
        }
        let missing = appended.find(|(_, acknowledged)| *acknowledged);
        assert_eq!(missing, None, "a record is missing");
    }

    pub fn goes_on(&mut self, fresh: &mut Actor) {
        self.read(fresh);
        mend(fresh);
        self.append(fresh, &mut Script::new(&[]));
        assert!(
            self.appended.last().is_some_and(|(_, acknowledged)| *acknowledged),
            "a fresh writer is refused"
        );
        self.read(fresh);
    }
}

/// Move a torn end aside, if there is one and nobody is at work.
fn mend(actor: &Actor) {
    match repair(&actor.host, Path::new(HOME), Writing::default(), None) {
        Ok(_) | Err(Error::Busy(_)) => {}
        Err(error) => panic!("a torn end cannot be moved aside: {error}"),
    }
}

fn layout() -> Layout {
    Layout::directory(Path::new(HOME))
}
