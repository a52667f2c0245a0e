//! A holder whose lease is taken away: whatever it is about to do then, it looks again right before, and does not.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use harnery_native::files::Dir;
use harnery_native::history::append::append;
use harnery_native::history::{AppendOptions, Error, Layout, NoSeams, Receipt, Result, Writing};
use harnery_native::host::Host;
use harnery_native::sim::{Machine, Seat};

use crate::lease::{machine, Start};
use crate::support::{fated, read_dir, Fate};

const LEASE: &str = ".append.lease";

/// Notes the calls, and does something before one of them.
struct Robbery<F> {
    calls: RefCell<Vec<&'static str>>,
    at: Option<usize>,
    rob: F,
    done: Cell<bool>,
}

impl<F: Fn()> Fate for Robbery<F> {
    fn before(&self, call: &'static str) {
        if self.at == Some(self.calls.borrow().len()) && !self.done.replace(true) {
            (self.rob)();
        }
        self.calls.borrow_mut().push(call);
    }
}

fn add(host: &Host, record: &str, segment: f64) -> Result<Receipt> {
    let layout = Layout::directory(Path::new("/h"));
    let options = AppendOptions::new(256.0, segment).unwrap();
    append(host, &layout, &[record], options, Writing::default(), &NoSeams)
}

/// A history of one record to which another one is appended, in a segment of its own if `sealing`; at call `at` somebody
/// takes the lease away and appends something else. What came of it, and the calls that were made.
fn robbed(sealing: bool, at: Option<usize>) -> (Machine, Seat, Result<Receipt>, Vec<&'static str>) {
    let machine = machine(Start::Nothing);
    let (holder, robber) = (machine.start(1), machine.start(2));
    add(&robber.host(), r#""first""#, 256.0).unwrap();
    let other = robber.clone();
    let rob = move || {
        let home = Dir::open(&other.host().files, Path::new("/h")).unwrap();
        home.rename(LEASE, "elsewhere").unwrap();
        add(&other.host(), r#""robber""#, 10_000.0).unwrap();
    };
    let fate = Rc::new(Robbery { calls: RefCell::default(), at, rob, done: Cell::new(false) });
    let segment = if sealing { 20.0 } else { 256.0_f64 };
    let options = AppendOptions::new(20.0, segment.max(20.0)).unwrap();
    let layout = Layout::directory(Path::new("/h"));
    let host = fated(&holder.host(), Rc::clone(&fate) as Rc<dyn Fate>);
    let outcome = append(&host, &layout, &[r#""holder's own""#], options, Writing::default(), &NoSeams);
    let calls = fate.calls.borrow().clone();
    (machine, robber, outcome, calls)
}

/// The last three calls before one ask whether the lease still is the holder's: the name, the owner's file, and whether the
/// path still leads here. Who is robbed between the first of them and that one call finds out too late.
fn last(calls: &[&'static str], call: &str) -> usize {
    let at = calls.iter().rposition(|made| *made == call).unwrap();
    assert_eq!(calls[at - 3..at], ["stat_at", "stat_at", "stat"], "{calls:?}");
    at
}

#[test]
fn a_robbed_holder_appends_nothing() {
    let (_, _, outcome, calls) = robbed(false, None);
    outcome.unwrap();
    let write = last(&calls, "write_at");
    for at in write - 6..=write - 3 {
        let (_machine, robber, outcome, _) = robbed(false, Some(at));
        let lost = outcome.unwrap_err();
        assert!(matches!(lost, Error::Lost(_)), "{lost}");
        assert_eq!(lost.code().as_deref(), Some("HISTORY_LOST"));
        assert_eq!(read_dir(&robber.host(), Path::new("/h")).unwrap(), [r#""first""#, r#""robber""#]);
    }
}

#[test]
fn a_robbed_holder_seals_nothing() {
    let (_, _, outcome, calls) = robbed(true, None);
    assert!(outcome.unwrap().rotated);
    let rename = last(&calls, "rename_new");
    for at in rename - 6..=rename - 3 {
        let (_machine, robber, outcome, _) = robbed(true, Some(at));
        assert!(matches!(outcome, Err(Error::Lost(_))), "{outcome:?}");
        let segments = Dir::open(&robber.host().files, Path::new("/h/segments")).unwrap();
        assert_eq!(segments.list().unwrap(), [""; 0]);
        assert_eq!(read_dir(&robber.host(), Path::new("/h")).unwrap(), [r#""first""#, r#""robber""#]);
    }
}
