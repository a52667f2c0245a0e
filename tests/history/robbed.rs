//! A holder whose lease is taken away: whatever it is about to do then, it looks again right before, and does not.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use harnery_native::files::{Access, Dir};
use harnery_native::history::append::{append, append_to_file};
use harnery_native::history::repair::repair;
use harnery_native::history::rewrite::rewrite;
use harnery_native::history::{AppendOptions, Error, Layout, NoSeams, Receipt, Result, Writing};
use harnery_native::host::Host;
use harnery_native::sim::Seat;

use crate::lease::{machine, Start};
use crate::support::{fated, read_dir, read_file, Fate};

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

/// Where the holder is at work, and how others append there.
struct Place {
    lease: &'static str,
    add: fn(&Host, &str),
    read: fn(&Host) -> Vec<String>,
}

const DIRECTORY: Place = Place {
    lease: ".append.lease",
    add: |host, record| {
        let options = AppendOptions::new(256.0, 10_000.0).unwrap();
        let layout = Layout::directory(Path::new("/h"));
        append(host, &layout, &[record], options, Writing::default(), &NoSeams).unwrap();
    },
    read: |host| read_dir(host, Path::new("/h")).unwrap(),
};

const FILE: Place = Place {
    lease: "x.jsonl.lease",
    add: |host, record| {
        append_to_file(host, Path::new("/h/x.jsonl"), record, 256.0, Writing::default(), &NoSeams).unwrap();
    },
    read: |host| read_file(host, Path::new("/h/x.jsonl")).unwrap(),
};

/// Does something where there is one record; at call `at` somebody takes the lease away and appends something else. What
/// came of it, and the calls that were made.
fn robbed<T>(
    place: &'static Place,
    torn: bool,
    at: Option<usize>,
    work: impl FnOnce(&Host) -> Result<T>,
) -> (Seat, Result<T>, Vec<&'static str>) {
    let machine = machine(Start::Nothing);
    let (holder, robber) = (machine.start(1), machine.start(2));
    (place.add)(&robber.host(), r#""first""#);
    let home = |seat: &Seat| Dir::open(&seat.host().files, Path::new("/h")).unwrap();
    if torn {
        let file = home(&robber).open_file("active.jsonl", Access::ReadWrite).unwrap();
        file.write_all_at(8, b"{").unwrap();
    }
    let other = robber.clone();
    let rob = move || {
        home(&other).rename(place.lease, "elsewhere").unwrap();
        if torn {
            // It had the same to do, and was faster.
            repair(&other.host(), Path::new("/h"), Writing::default(), None).unwrap().unwrap();
        }
        (place.add)(&other.host(), r#""robber""#);
    };
    let fate = Rc::new(Robbery { calls: RefCell::default(), at, rob, done: Cell::new(false) });
    let outcome = work(&fated(&holder.host(), Rc::clone(&fate) as Rc<dyn Fate>));
    let calls = fate.calls.borrow().clone();
    (robber, outcome, calls)
}

/// Whatever it does, robbed right before the last look it does nothing.
fn is_told<T: std::fmt::Debug>(
    place: &'static Place,
    torn: bool,
    call: &str,
    after_the_look: usize,
    work: impl Fn(&Host) -> Result<T>,
    and: impl Fn(&Seat),
) {
    let (_, done, calls) = robbed(place, torn, None, &work);
    done.unwrap();
    let look = last(&calls, call, after_the_look);
    for at in look - 3..=look {
        let (robber, outcome, _) = robbed(place, torn, Some(at), &work);
        let lost = outcome.unwrap_err();
        assert!(matches!(lost, Error::Lost(_)), "{lost}");
        assert_eq!(lost.code().as_deref(), Some("HISTORY_LOST"));
        assert_eq!((place.read)(&robber.host()), [r#""first""#, r#""robber""#]);
        and(&robber);
    }
}

/// Where the last look before a call begins. It is three calls: the name, the owner's file, and whether the path still
/// leads here. Who is robbed after the first of them finds out too late.
fn last(calls: &[&'static str], call: &str, after: usize) -> usize {
    let look = ["stat_at", "stat_at", "stat"];
    let is_it =
        |at: &usize| *at >= after + 3 && calls[*at] == call && calls[at - after - 3..at - after] == look;
    (0..calls.len()).rev().find(is_it).unwrap_or_else(|| panic!("no look before {call}: {calls:?}"))
        - after
        - 3
}

fn nothing(_: &Seat) {}

fn own(segment: f64) -> impl Fn(&Host) -> Result<Receipt> {
    move |host| {
        let options = AppendOptions::new(20.0, segment).unwrap();
        let layout = Layout::directory(Path::new("/h"));
        append(host, &layout, &[r#""holder's own""#], options, Writing::default(), &NoSeams)
    }
}

#[test]
fn a_robbed_holder_appends_nothing() {
    is_told(&DIRECTORY, false, "write_at", 0, own(256.0), nothing);
}

#[test]
fn a_robbed_holder_seals_nothing() {
    is_told(&DIRECTORY, false, "rename_new", 0, own(20.0), |robber| {
        let segments = Dir::open(&robber.host().files, Path::new("/h/segments")).unwrap();
        assert_eq!(segments.list().unwrap(), [""; 0]);
    });
}

#[test]
fn a_robbed_holder_publishes_nothing() {
    let rewritten = |host: &Host| {
        rewrite(host, Path::new("/h/x.jsonl"), &["\"new\""], 256.0, Writing::default(), &NoSeams)
    };
    is_told(&FILE, false, "rename", 0, rewritten, nothing);
}

#[test]
fn a_robbed_holder_cuts_off_nothing() {
    let mended = |host: &Host| repair(host, Path::new("/h"), Writing::default(), None);
    is_told(&DIRECTORY, true, "set_size", 1, mended, nothing);
}
