//! The one thread that waits for everybody: it sleeps in the kernel until a descriptor of some [`Pause`] is readable
//! or the time of one is over.
//!
//! It starts with the first wait and stays. The waits themselves belong to those who asked: whoever drops a
//! [`Waiting`] has called its wait off, and its descriptors may then be closed.

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(any(not(target_os = "linux"), test))]
mod poll;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::Timespec;

use super::{Clock, Pause, SystemClock};
#[cfg(target_os = "linux")]
use epoll::{Set, Watched};
#[cfg(not(target_os = "linux"))]
use poll::{Set, Watched};

/// A wait in progress. Dropping it calls the wait off.
#[must_use = "dropping it calls the wait off"]
pub struct Waiting {
    waiter: &'static Waiter,
    number: u64,
    watched: Vec<Watched>,
}

impl Waiting {
    /// Begin to wait. `over` runs once on the waiting thread, and must not block it; after the wait was called off it
    /// may still run if that was a moment too late.
    ///
    /// # Errors
    /// The thread could not be started, or the kernel does not take a descriptor (`ENOSPC`, `ENOMEM`, `EPERM` for
    /// what cannot be waited for).
    pub fn begin(pause: &Pause, over: impl FnOnce() + Send + 'static) -> io::Result<Waiting> {
        let waiter = the_waiter()?;
        let deadline = SystemClock.monotonic().checked_add(pause.at_most);
        // Held over all of it, so that the thread cannot see a descriptor's number before the wait that it stands for.
        let mut waits = waiter.lock();
        waits.last += 1;
        let mut waiting = Waiting { waiter, number: waits.last, watched: Vec::new() };
        for descriptor in &pause.wake {
            match waiter.set.watch(descriptor, waiting.number) {
                Ok(watched) => waiting.watched.push(watched),
                Err(error) => {
                    // Its drop takes the lock itself.
                    drop(waits);
                    return Err(error);
                }
            }
        }
        let (number, over) = (waiting.number, Box::new(over));
        waits.pending.insert(number, Wait { deadline, over });
        if let Some(deadline) = deadline {
            waits.deadlines.insert((deadline, number));
            if waits.deadlines.first() == Some(&(deadline, number)) {
                waiter.set.poke();
            }
        }
        Ok(waiting)
    }
}

impl Waiting {
    /// The wait is over: its descriptors are closed in a moment, by the waiting thread. Closing the watch of a directory that
    /// has just told a change waits tens of milliseconds for the kernel to be done with it; by then it is.
    pub fn close_later(mut self) {
        let mut waits = self.waiter.lock();
        let is_first = waits.closing.is_empty();
        let closes_at = SystemClock.monotonic() + CLOSED_AFTER;
        let left = self.watched.drain(..).filter_map(|watched| self.waiter.set.forget(watched));
        waits.closing.extend(left.map(|descriptor| (closes_at, descriptor)));
        if is_first && !waits.closing.is_empty() {
            self.waiter.set.poke();
        }
    }
}

/// How much later.
const CLOSED_AFTER: Duration = Duration::from_millis(100);

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waits = self.waiter.lock();
        for watched in self.watched.drain(..) {
            drop(self.waiter.set.forget(watched));
        }
        waits.take(self.number);
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waiting({})", self.number)
    }
}

struct Waiter {
    set: Set,
    waits: Mutex<Waits>,
}

#[derive(Default)]
struct Waits {
    last: u64,
    pending: BTreeMap<u64, Wait>,
    deadlines: BTreeSet<(Duration, u64)>,
    /// What is to be closed, and when, in that order.
    closing: VecDeque<(Duration, OwnedFd)>,
}

struct Wait {
    deadline: Option<Duration>,
    over: Box<dyn FnOnce() + Send>,
}

impl Waits {
    /// When there is something to do.
    fn next(&self) -> Option<Duration> {
        let deadline = self.deadlines.first().map(|(deadline, _)| *deadline);
        let closing = self.closing.front().map(|(closes_at, _)| *closes_at);
        deadline.into_iter().chain(closing).min()
    }

    fn take(&mut self, number: u64) -> Option<Wait> {
        let wait = self.pending.remove(&number)?;
        if let Some(deadline) = wait.deadline {
            self.deadlines.remove(&(deadline, number));
        }
        Some(wait)
    }
}

impl Waiter {
    fn new() -> io::Result<Waiter> {
        Ok(Waiter { set: Set::new()?, waits: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        // Nothing that is done under the lock leaves the tables half changed.
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) -> ! {
        loop {
            for wait in self.sleep() {
                // A panic there has been reported; the others' waits go on.
                let _ = catch_unwind(AssertUnwindSafe(wait.over));
            }
        }
    }

    /// Sleep until something is over, and take it out of the tables.
    fn sleep(&self) -> Vec<Wait> {
        const LONGEST: Duration = Duration::from_secs(3600);
        let first = self.lock().next();
        let left = first.map(|deadline| deadline.saturating_sub(SystemClock.monotonic()).min(LONGEST));
        let ready = self.set.sleep(left);
        let now = SystemClock.monotonic();
        let mut waits = self.lock();
        let mut over: Vec<_> = ready.into_iter().filter_map(|number| waits.take(number)).collect();
        while let Some((deadline, number)) = waits.deadlines.first().copied() {
            if deadline > now {
                break;
            }
            over.extend(waits.take(number));
        }
        let due = waits.closing.partition_point(|(closes_at, _)| *closes_at <= now);
        let closed: Vec<_> = waits.closing.drain(..due).collect();
        // Without the lock: nobody who begins a wait waits for the kernel.
        drop(waits);
        drop(closed);
        over
    }
}

/// Close now what [`Waiting::close_later`] has left open, whoever left it: for the end of an environment, which may take
/// its time and leaves nothing open.
pub fn close_now() {
    let started = *WAITER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(waiter) = started {
        let closing = std::mem::take(&mut waiter.lock().closing);
        drop(closing);
    }
}

static WAITER: Mutex<Option<&'static Waiter>> = Mutex::new(None);

fn the_waiter() -> io::Result<&'static Waiter> {
    let mut started = WAITER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(waiter) = *started {
        return Ok(waiter);
    }
    // Never freed: the thread stays for as long as the process.
    let waiter: &'static Waiter = Box::leak(Box::new(Waiter::new()?));
    let thread = std::thread::Builder::new().name("harnery-waits".to_owned()).stack_size(128 * 1024);
    thread.spawn(move || waiter.serve())?;
    *started = Some(waiter);
    Ok(waiter)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: duration.subsec_nanos().into() }
}
