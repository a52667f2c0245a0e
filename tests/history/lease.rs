//! The lease on the simulated machine: kills between any two steps, contenders between any two steps, every owner.

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::files::{Access, Dir, Kind};
use harnery_native::history::append::append_to_file;
use harnery_native::history::repair::repair;
use harnery_native::history::{write, Error, Layout, NoSeams, Result, Writing};
use harnery_native::host::Host;
use harnery_native::sim::{Machine, Seat, START_MS};

pub use crate::contending::FILE;
use crate::support::{fated, killed_at, read_file, Fate};

pub const LEASE: &str = "x.jsonl.lease";
pub const STALE: Duration = Duration::from_secs(30);
pub const EMPTY: Duration = Duration::from_secs(5);

/// What a contender finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Nothing,
    DeadOwner,
    /// A dead owner was judged by a contender that was killed before it could claim.
    Emptied,
    /// As [`Start::DeadOwner`], with what other dead contenders left beside it.
    Leftovers,
}

impl Start {
    pub const ALL: [Start; 4] = [Start::Nothing, Start::DeadOwner, Start::Emptied, Start::Leftovers];
}

pub fn machine(start: Start) -> Machine {
    let machine = Machine::default();
    // Long ago, so that whatever is found is old.
    turn_to(&machine, START_MS - 3_600_000);
    let maker = machine.start(9);
    maker.host().files.make_dir(Path::new("/h"), 0o700).unwrap();
    if start != Start::Nothing {
        die_holding(&maker);
    }
    if start == Start::Emptied {
        home(&maker).open_dir(LEASE).unwrap().unlink("owner.json").unwrap();
    }
    if start == Start::Leftovers {
        machine.pass(STALE);
        for step in [4, 6, 9] {
            let killed = machine.start(8);
            assert!(killed_at(&killed.host(), step, |host| add(host, "{}")).is_none());
            killed.kill();
        }
    }
    turn_to(&machine, START_MS);
    machine
}

fn turn_to(machine: &Machine, now_ms: i64) {
    let mut world = machine.world();
    world.now_ms = now_ms;
    world.disk.now_ms = now_ms;
}

pub fn layout() -> Layout {
    Layout::file(Path::new(FILE)).unwrap()
}

pub fn add(host: &Host, record: &str) -> Result<u64> {
    append_to_file(host, Path::new(FILE), record, 4096.0, Writing::default(), &NoSeams)
}

pub fn records(seat: &Seat) -> Vec<String> {
    read_file(&seat.host(), Path::new(FILE)).unwrap()
}

pub fn home(seat: &Seat) -> Dir {
    Dir::open(&seat.host().files, Path::new("/h")).unwrap()
}

/// Take the lease and never give it back; the process lives on.
pub fn hold_for_ever(seat: &Seat) -> Result<()> {
    let (host, layout) = (seat.host(), layout());
    let held = Cell::new(false);
    let done = catch_unwind(AssertUnwindSafe(|| {
        write(&host, &layout, Writing::default(), &NoSeams, |writer| {
            writer.must_be_the_only_one()?;
            held.set(true);
            resume_unwind(Box::new("stopped"))
        })
    }));
    if held.get() {
        Ok(())
    } else {
        done.unwrap()
    }
}

fn die_holding(seat: &Seat) {
    hold_for_ever(seat).unwrap();
    seat.kill();
}

pub fn put_owner(seat: &Seat, owner: &str) {
    let home = home(seat);
    home.make_dir(LEASE, 0o700).unwrap();
    let file =
        home.open_dir(LEASE).unwrap().open_file("owner.json", Access::CreateNew { mode: 0o600 }).unwrap();
    file.write_all_at(0, owner.as_bytes()).unwrap();
}

pub fn is_busy<T: std::fmt::Debug>(outcome: Result<T>) -> bool {
    match outcome {
        Err(Error::Busy(busy)) => busy.path == Path::new("/h").join(LEASE),
        _ => false,
    }
}

/// Do something in a process while something else happens right before call `step`: what came out, and whether there
/// was such a call.
fn meanwhile_at<T>(
    host: &Host,
    step: usize,
    what: impl Fn() + 'static,
    work: impl FnOnce(&Host) -> T,
) -> (T, bool) {
    let fate = Rc::new(MeanwhileAt { left: Cell::new(Some(step)), what });
    let done = work(&fated(host, Rc::clone(&fate) as Rc<dyn Fate>));
    (done, fate.left.get().is_none())
}

struct MeanwhileAt<F> {
    left: Cell<Option<usize>>,
    what: F,
}

impl<F: Fn()> Fate for MeanwhileAt<F> {
    fn before(&self, _call: &'static str) {
        match self.left.get() {
            Some(0) => {
                self.left.set(None);
                (self.what)();
            }
            left => self.left.set(left.map(|left| left - 1)),
        }
    }
}

#[test]
fn killed_between_any_two_steps_a_writer_stops_nobody_for_longer_than_the_stale_time_and_five_seconds() {
    for start in Start::ALL {
        for step in 0.. {
            let machine = machine(start);
            let killed = machine.start(1);
            let acknowledged =
                killed_at(&killed.host(), step, |host| add(host, r#"{"by":"killed"}"#).unwrap());
            if acknowledged.is_some() {
                assert!(step > 20, "the operation has {step} steps");
                break;
            }
            killed.kill();
            let lease = home(&machine.start(7)).look(LEASE).unwrap();
            assert!(lease.is_none_or(|stat| stat.kind == Kind::Directory));
            machine.pass(STALE + EMPTY);

            let next = machine.start(2);
            let host = next.host();
            let added = match add(&host, r#"{"by":"next"}"#) {
                Err(Error::Partial { file }) => {
                    assert_eq!(file, "x.jsonl");
                    let repaired = repair(&host, Path::new(FILE), Writing::default(), None).unwrap().unwrap();
                    assert_eq!(repaired.file, Path::new(FILE));
                    add(&host, r#"{"by":"next"}"#)
                }
                added => added,
            };
            assert!(added.is_ok(), "{start:?}, killed before step {step}: {added:?}");
            let records = records(&next);
            assert_eq!(records.last().unwrap(), r#"{"by":"next"}"#);
            assert!(records.iter().rev().skip(1).all(|record| record == r#"{"by":"killed"}"#), "{records:?}");
        }
    }
}

#[test]
fn what_dead_contenders_left_beside_the_lease_is_swept_by_a_later_holder() {
    for step in 0.. {
        let machine = machine(Start::DeadOwner);
        let killed = machine.start(1);
        if killed_at(&killed.host(), step, |host| add(host, "{}")).is_some() {
            break;
        }
        killed.kill();
        machine.pass(STALE + EMPTY);
        let next = machine.start(2);
        if matches!(add(&next.host(), "{}"), Err(Error::Partial { .. })) {
            repair(&next.host(), Path::new(FILE), Writing::default(), None).unwrap();
        }
        let left = home(&next).list().unwrap();
        let beside = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with(LEASE);
        assert_eq!(left.iter().filter(beside).count(), 0, "killed before step {step}: {left:?}");
    }
}

#[test]
fn a_writer_that_runs_between_any_two_steps_of_another_loses_nothing() {
    for start in Start::ALL {
        for step in 0.. {
            let machine = machine(start);
            let (first, second) = (machine.start(1), machine.start(2));
            let other = Rc::new(RefCell::new(None));
            let what = {
                let (second, other) = (second.clone(), Rc::clone(&other));
                move || *other.borrow_mut() = Some(add(&second.host(), r#"{"by":2}"#))
            };
            let (own, happened) = meanwhile_at(&first.host(), step, what, |host| add(host, r#"{"by":1}"#));
            if !happened {
                break;
            }
            let other = other.take().unwrap();
            let mut acknowledged = Vec::new();
            for (outcome, record) in [(own, r#"{"by":1}"#), (other, r#"{"by":2}"#)] {
                match outcome {
                    Ok(_) => acknowledged.push(record),
                    refused => assert!(is_busy(refused), "{start:?}, step {step}"),
                }
            }
            assert!(!acknowledged.is_empty(), "{start:?}, step {step}: nobody wrote");
            let mut found = records(&first);
            found.sort();
            assert_eq!(found, acknowledged, "{start:?}, step {step}");
        }
    }
}

#[test]
fn a_contender_that_takes_the_lease_between_any_two_steps_of_another_is_its_only_holder() {
    for start in Start::ALL {
        let mut holds = 0;
        for step in 0.. {
            let machine = machine(start);
            let (first, second) = (machine.start(1), machine.start(2));
            let (inside, taken) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
            let what = {
                let (inside, taken) = (Rc::clone(&inside), Rc::clone(&taken));
                move || {
                    taken.set(hold_for_ever(&second).is_ok());
                    assert!(!(taken.get() && inside.get()), "two holders");
                }
            };
            let (own, happened) = meanwhile_at(&first.host(), step, what, |host| {
                write(host, &layout(), Writing::default(), &NoSeams, |writer| {
                    assert!(!taken.get(), "{start:?}, step {step}: two holders");
                    inside.set(true);
                    writer.must_be_the_only_one()?;
                    writer.must_be_the_only_one()?;
                    inside.set(false);
                    Ok(())
                })
            });
            if !happened {
                break;
            }
            assert!(own.is_ok() || taken.get(), "{start:?}, step {step}: nobody held it");
            assert!(own.is_ok() || is_busy(own), "{start:?}, step {step}");
            holds += usize::from(taken.get());
        }
        assert!(holds > 3, "{start:?}: the contender came first {holds} times");
    }
}

#[test]
fn the_name_is_an_empty_directory_only_between_a_take_over_s_unlink_and_its_claim() {
    let mut empty = 0;
    for step in 0.. {
        let machine = machine(Start::DeadOwner);
        let first = machine.start(1);
        let seen = Rc::new(Cell::new(false));
        let what = {
            let (onlooker, seen) = (machine.start(3), Rc::clone(&seen));
            move || {
                let lease = home(&onlooker).open_dir(LEASE);
                seen.set(lease.is_ok_and(|lease| lease.list().unwrap().is_empty()));
            }
        };
        let (_, happened) = meanwhile_at(&first.host(), step, what, |host| add(host, "{}"));
        if !happened {
            break;
        }
        empty += usize::from(seen.get());
    }
    assert_eq!(empty, 3, "before the identity, its comparison and the rename");
}
