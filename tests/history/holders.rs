//! Holding, losing, waiting for and giving back a lease, on the simulated machine.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::clock::{Clock, Pause};
use harnery_native::history::append::append_to_file;
use harnery_native::history::{write, NoSeams, Writing};
use harnery_native::host::Host;
use harnery_native::sim::Seat;

use crate::lease::{add, hold_for_ever, home, is_busy, layout, machine, records, Start, FILE, LEASE, STALE};
use crate::support::wait_for;

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
