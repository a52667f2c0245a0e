//! The lease on the simulated machine: kills between any two steps, contenders between any two steps, every owner.

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::clock::{Clock, Pause};
use harnery_native::files::{Access, Dir, Kind};
use harnery_native::history::append::append_to_file;
use harnery_native::history::repair::repair;
use harnery_native::history::{write, Error, Layout, NoSeams, Result, Writing};
use harnery_native::host::Host;
use harnery_native::sim::{Machine, Seat, START_MS};

use crate::support::{fated, killed_at, read_file, wait_for, Fate};

pub const FILE: &str = "/h/x.jsonl";
const LEASE: &str = "x.jsonl.lease";
const STALE: Duration = Duration::from_secs(30);
const EMPTY: Duration = Duration::from_secs(5);

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

fn layout() -> Layout {
    Layout::file(Path::new(FILE)).unwrap()
}

fn add(host: &Host, record: &str) -> Result<u64> {
    append_to_file(host, Path::new(FILE), record, 4096.0, Writing::default(), &NoSeams)
}

fn records(seat: &Seat) -> Vec<String> {
    read_file(&seat.host(), Path::new(FILE)).unwrap()
}

fn home(seat: &Seat) -> Dir {
    Dir::open(&seat.host().files, Path::new("/h")).unwrap()
}

/// Take the lease and never give it back; the process lives on.
fn hold_for_ever(seat: &Seat) -> Result<()> {
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

fn put_owner(seat: &Seat, owner: &str) {
    let home = home(seat);
    home.make_dir(LEASE, 0o700).unwrap();
    let file =
        home.open_dir(LEASE).unwrap().open_file("owner.json", Access::CreateNew { mode: 0o600 }).unwrap();
    file.write_all_at(0, owner.as_bytes()).unwrap();
}

fn is_busy<T: std::fmt::Debug>(outcome: Result<T>) -> bool {
    match outcome {
        Err(Error::Busy(path)) => path == Path::new("/h").join(LEASE),
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

#[test]
fn an_owner_is_dead_only_when_it_is_old_and_its_process_is_provably_gone() {
    let dead = [
        // As the TypeScript writes it.
        r#"{"owner_id":"a","pid":150,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":2147483647,"acquired_at":"2000-01-01T00:00:00.000Z","more":1}"#,
        // The number is in use again.
        r#"{"owner_id":"a","pid":101,"acquired_at":"2026-01-01T00:00:00.000Z","witness":{"pidfd_inode":"7","pid_namespace":"1"}}"#,
        // The machine has restarted, whatever the clock says.
        r#"{"owner_id":"a","pid":101,"acquired_at":"2999-01-01T00:00:00.000Z","witness":{"start_token":"lffffffff.1"}}"#,
    ];
    let unknown = [
        r#"{"owner_id":"a","pid":101,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":150,"acquired_at":"2026-01-01T00:00:00.001Z"}"#,
        r#"{"owner_id":"a","pid":150,"acquired_at":"2026-01-02T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":150,"acquired_at":"2026-01-01T00:00:00.000Z","witness":{"pid_namespace":"2"}}"#,
        r#"{"owner_id":"a","pid":101,"acquired_at":"2026-01-01T00:00:00.000Z","witness":{"pidfd_inode":"1001","pid_namespace":"1"}}"#,
        r#"{"owner_id":"a","pid":0,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":-5,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":4294967446,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":1.5,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":"150","acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"","pid":150,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"pid":150,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":150,"acquired_at":"long ago"}"#,
        r#"{"owner_id":"a","pid":150"#,
        "",
    ];
    let attempt = |owner: &str, end: &str| {
        let machine = Machine::default();
        let contender = machine.start(1);
        contender.host().files.make_dir(Path::new("/h"), 0o700).unwrap();
        put_owner(&contender, &format!("{owner}{end}"));
        machine.pass(STALE);
        add(&contender.host(), "{}")
    };
    for owner in dead {
        assert!(attempt(owner, "\n").is_ok(), "{owner}");
        assert!(is_busy(attempt(owner, "")), "torn: {owner}");
    }
    for owner in unknown {
        assert!(is_busy(attempt(owner, "\n")), "{owner}");
    }
}

#[test]
fn a_directory_that_was_found_empty_is_taken_only_after_five_seconds() {
    let machine = Machine::default();
    let contender = machine.start(1);
    let host = contender.host();
    host.files.make_dir(Path::new("/h"), 0o700).unwrap();
    home(&contender).make_dir(LEASE, 0o700).unwrap();
    machine.pass(EMPTY - Duration::from_millis(1));
    assert!(is_busy(add(&host, "{}")));
    machine.pass(Duration::from_millis(1));
    assert!(add(&host, "{}").is_ok());
}

#[test]
fn a_directory_with_something_else_in_it_is_never_taken() {
    let machine = Machine::default();
    let contender = machine.start(1);
    let host = contender.host();
    host.files.make_dir(Path::new("/h"), 0o700).unwrap();
    home(&contender).make_dir(LEASE, 0o700).unwrap();
    home(&contender).open_dir(LEASE).unwrap().make_dir("other", 0o700).unwrap();
    machine.pass(EMPTY);
    assert!(is_busy(add(&host, "{}")));
    assert_eq!(home(&contender).list().unwrap(), [LEASE], "the own claim is cleared away");
}

#[test]
fn what_is_no_directory_is_no_lease() {
    let machine = Machine::default();
    let contender = machine.start(1);
    let host = contender.host();
    host.files.make_dir(Path::new("/h"), 0o700).unwrap();
    home(&contender).open_file(LEASE, Access::CreateNew { mode: 0o600 }).unwrap();
    let error = add(&host, "{}").unwrap_err().to_string();
    assert_eq!(error, "durable history path is not a directory: /h/x.jsonl.lease");
}

#[test]
fn a_holder_that_was_robbed_writes_nothing() {
    let machine = machine(Start::Nothing);
    let (robbed, robber) = (machine.start(1), machine.start(2));
    add(&robber.host(), r#"{"n":1}"#).unwrap();
    let outcome = write(&robbed.host(), &layout(), Writing::default(), &NoSeams, |writer| {
        // What a harness does that judged an owner dead which was replaced meanwhile.
        home(&robber).rename(LEASE, "elsewhere").unwrap();
        add(&robber.host(), r#"{"n":2}"#).unwrap();
        writer.must_be_the_only_one()
    });
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "durable history lease lost: /h/x.jsonl.lease; nothing was written"
    );
    assert_eq!(records(&robber), [r#"{"n":1}"#, r#"{"n":2}"#]);
}

#[test]
fn releasing_after_a_robbery_removes_nothing_of_the_new_holder() {
    let machine = machine(Start::Nothing);
    let (robbed, robber) = (machine.start(1), machine.start(2));
    write(&robbed.host(), &layout(), Writing::default(), &NoSeams, |_| {
        home(&robber).rename(LEASE, "elsewhere").unwrap();
        hold_for_ever(&robber)
    })
    .unwrap();
    assert!(home(&robber).open_dir(LEASE).unwrap().look("owner.json").unwrap().is_some());
    assert!(is_busy(add(&robbed.host(), "{}")));
}

/// The machine's clock, with something that happens during the first pause.
#[derive(Debug)]
struct During {
    clock: Rc<dyn Clock>,
    what: Cell<Option<fn(&Seat)>>,
    seat: Seat,
    pauses: RefCell<Vec<Duration>>,
}

impl Clock for During {
    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
    fn pause(&self, pause: &Pause) {
        self.pauses.borrow_mut().push(pause.at_most);
        self.clock.pause(pause);
        if let Some(what) = self.what.take() {
            what(&self.seat);
        }
    }
}

fn during(seat: &Seat, other: &Seat, what: Option<fn(&Seat)>) -> (Host, Rc<During>) {
    let host = seat.host();
    let clock = Rc::new(During {
        clock: Rc::clone(&host.clock),
        what: Cell::new(what),
        seat: other.clone(),
        pauses: RefCell::default(),
    });
    (Host { clock: Rc::clone(&clock) as Rc<dyn Clock>, ..host }, clock)
}

#[test]
fn a_holder_that_took_over_looks_again_after_fifty_milliseconds() {
    let machine = machine(Start::DeadOwner);
    let (first, robber) = (machine.start(1), machine.start(2));
    let rob = |robber: &Seat| {
        home(robber).rename(LEASE, "elsewhere").unwrap();
        hold_for_ever(robber).unwrap();
    };
    let (host, clock) = during(&first, &robber, Some(rob));
    assert!(is_busy(add(&host, "{}")));
    assert_eq!(*clock.pauses.borrow(), [Duration::from_millis(50)]);
}

#[test]
fn a_waiter_gets_the_lease_as_soon_as_it_is_given_back() {
    let machine = machine(Start::Nothing);
    let (waiter, holder) = (machine.start(1), machine.start(2));
    let (host, clock) = during(&waiter, &holder, Some(|holder| holder.kill()));
    hold_for_ever(&holder).unwrap();
    let added = append_to_file(&host, Path::new(FILE), "{}", 256.0, wait_for(60_000), &NoSeams);
    assert!(added.is_ok(), "{added:?}");
    let waited: Duration = clock.pauses.borrow().iter().sum();
    assert!(waited >= STALE && waited < STALE + Duration::from_secs(1), "{waited:?}");
}

#[test]
fn a_waiter_waits_no_longer_than_it_was_told_and_leaves_nothing_behind() {
    let machine = machine(Start::Nothing);
    let (waiter, holder) = (machine.start(1), machine.start(2));
    hold_for_ever(&holder).unwrap();
    let (host, clock) = during(&waiter, &holder, None);
    let outcome = append_to_file(&host, Path::new(FILE), "{}", 256.0, wait_for(1_234), &NoSeams);
    assert!(is_busy(outcome));
    assert_eq!(clock.pauses.borrow().iter().sum::<Duration>(), Duration::from_millis(1_234));
    assert_eq!(home(&holder).list().unwrap(), [LEASE]);
}

#[test]
fn a_second_writer_in_one_process_is_refused_like_any_other() {
    let machine = machine(Start::Nothing);
    let seat = machine.start(1);
    write(&seat.host(), &layout(), Writing::default(), &NoSeams, |_| {
        assert!(is_busy(add(&seat.host(), "{}")));
        Ok(())
    })
    .unwrap();
    assert!(add(&seat.host(), "{}").is_ok());
}

#[test]
fn h3_a_disk_that_fills_at_any_byte_leaves_the_file_as_long_as_before() {
    let record = format!("\"{}\"", "x".repeat(200));
    for room in 0.. {
        let machine = machine(Start::Nothing);
        let seat = machine.start(1);
        add(&seat.host(), "1").unwrap();
        machine.world().disk.room = Some(room);
        let added = add(&seat.host(), &record);
        machine.world().disk.room = None;
        let expected =
            if added.is_ok() { vec!["1".to_owned(), record.clone()] } else { vec!["1".to_owned()] };
        assert_eq!(records(&seat), expected, "with room for {room} bytes");
        match added {
            Ok(_) => break,
            Err(Error::Path(error)) => assert_eq!(error.code().as_deref(), Some("ENOSPC")),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(home(&seat).list().unwrap(), ["x.jsonl"], "with room for {room} bytes");
        add(&seat.host(), "2").unwrap();
    }
}

#[test]
fn whatever_call_fails_an_append_is_whole_or_not_there_and_the_next_one_succeeds() {
    use nix::errno::Errno;
    for errno in [Errno::EIO, Errno::ENOSPC, Errno::EACCES] {
        for start in Start::ALL {
            for call in 0.. {
                let machine = machine(start);
                let failing = machine.start(1);
                let before = failing.calls().len();
                failing.fail(before + call, errno);
                let outcome = add(&failing.host(), r#"{"n":1}"#);
                let reached = failing.calls().len() > before + call;
                // What a failed clearing leaves is the failing process's, which ends one day.
                failing.kill();
                machine.pass(STALE + EMPTY);
                let next = machine.start(2);
                add(&next.host(), r#"{"n":2}"#).unwrap();
                let found = records(&next);
                let whole = [r#"{"n":1}"#, r#"{"n":2}"#];
                match outcome {
                    Ok(_) => assert_eq!(found, whole, "{start:?}, {errno} at call {call}"),
                    Err(_) => {
                        assert!(found == whole || found == whole[1..], "{start:?}, {errno} at call {call}")
                    }
                }
                if !reached {
                    break;
                }
            }
        }
    }
}
