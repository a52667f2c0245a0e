//! The one thread that waits for everybody: it sleeps in the kernel until a descriptor of some [`Pause`] is readable
//! or the time of one is over.
//!
//! It starts with the first wait and stays. The waits themselves belong to those who asked: whoever drops a
//! [`Waiting`] has called its wait off, and its descriptors may then be closed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{eventfd, EventfdFlags, Timespec};

use super::{Clock, Pause, SystemClock};

/// A wait in progress. Dropping it calls the wait off.
#[must_use = "dropping it calls the wait off"]
pub struct Waiting {
    waiter: &'static Waiter,
    number: u64,
    /// Kept open here, and taken out of the kernel's set before they can be closed.
    watched: Vec<Rc<OwnedFd>>,
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
            match waiter.watch(descriptor, waiting.number) {
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
                waiter.poke();
            }
        }
        Ok(waiting)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waits = self.waiter.lock();
        for descriptor in &self.watched {
            // What is not in the set any more needs no taking out.
            let _ = epoll::delete(&self.waiter.set, descriptor);
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
    /// The kernel's set of descriptors that somebody waits for, each with the number of its wait.
    set: OwnedFd,
    /// Wakes the thread when an earlier deadline comes in. Its number in the set is 0.
    poked: OwnedFd,
    waits: Mutex<Waits>,
}

#[derive(Default)]
struct Waits {
    last: u64,
    pending: BTreeMap<u64, Wait>,
    deadlines: BTreeSet<(Duration, u64)>,
}

struct Wait {
    deadline: Option<Duration>,
    over: Box<dyn FnOnce() + Send>,
}

impl Waits {
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
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let poked = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // By its edges, so that it need not be read: every poke is one.
        epoll::add(&set, &poked, EventData::new_u64(0), EventFlags::IN | EventFlags::ET)?;
        Ok(Waiter { set, poked, waits: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        // Nothing that is done under the lock leaves the tables half changed.
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poke(&self) {
        // The only failure is a full counter, which is a poke that is not yet seen.
        let _ = rustix::io::write(&self.poked, &1_u64.to_ne_bytes());
    }

    /// Put a descriptor into the set; the one that was put in comes back.
    fn watch(&self, descriptor: &Rc<OwnedFd>, number: u64) -> io::Result<Rc<OwnedFd>> {
        let (data, flags) = (EventData::new_u64(number), EventFlags::IN | EventFlags::ONESHOT);
        match epoll::add(&self.set, descriptor, data, flags) {
            Ok(()) => Ok(Rc::clone(descriptor)),
            // Somebody else waits for the same one: the set takes a number of it only once.
            Err(rustix::io::Errno::EXIST) => {
                let own = descriptor.try_clone()?;
                epoll::add(&self.set, &own, data, flags)?;
                Ok(Rc::new(own))
            }
            Err(error) => Err(error.into()),
        }
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
        let first = self.lock().deadlines.first().map(|(deadline, _)| *deadline);
        let timeout = first.map(|deadline| {
            let left = deadline.saturating_sub(SystemClock.monotonic()).min(LONGEST);
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
        });
        let mut events = [MaybeUninit::uninit(); 64];
        // A signal, like a full set of events, only means another round.
        let ready: Vec<u64> = match epoll::wait(&self.set, &mut events, timeout.as_ref()) {
            Ok((events, _)) => events.iter().map(|event| event.data.u64()).collect(),
            Err(_) => Vec::new(),
        };
        let now = SystemClock.monotonic();
        let mut waits = self.lock();
        let mut over: Vec<_> = ready.into_iter().filter_map(|number| waits.take(number)).collect();
        while let Some((deadline, number)) = waits.deadlines.first().copied() {
            if deadline > now {
                break;
            }
            over.extend(waits.take(number));
        }
        over
    }
}

fn the_waiter() -> io::Result<&'static Waiter> {
    static WAITER: Mutex<Option<&'static Waiter>> = Mutex::new(None);
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
