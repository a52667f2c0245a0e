//! Readiness by `poll` (every Unix): a round costs as much as there are descriptors.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::pipe::pipe;

use super::timespec;

/// The descriptors to be polled, each with the number of its wait.
pub(super) struct Set {
    last: AtomicU64,
    watched: Mutex<BTreeMap<u64, (Arc<OwnedFd>, u64)>>,
    poked: OwnedFd,
    poke: OwnedFd,
}

/// A descriptor in the set.
pub(super) struct Watched(u64);

impl Set {
    pub(super) fn new() -> io::Result<Set> {
        let (poked, poke) = pipe()?;
        for end in [&poked, &poke] {
            rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok(Set { last: AtomicU64::new(0), watched: Mutex::default(), poked, poke })
    }

    /// Tell once, by `number`, when the descriptor is readable.
    pub(super) fn watch(&self, descriptor: &Rc<OwnedFd>, number: u64) -> io::Result<Watched> {
        // Of its own, so that the thread never polls a number that means something else by now.
        let own = Arc::new(descriptor.try_clone()?);
        let key = self.last.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(key, (own, number));
        self.poke();
        Ok(Watched(key))
    }

    /// Take it out: the descriptor that nobody else has any more, to be closed.
    pub(super) fn forget(&self, watched: Watched) -> Option<OwnedFd> {
        let (own, _) = self.lock().remove(&watched.0)?;
        // The thread may be polling it.
        Arc::into_inner(own)
    }

    /// End the sleep that [`Set::sleep`] is in, or the next one.
    pub(super) fn poke(&self) {
        // The only failure is a full pipe, which is a poke that is not yet seen.
        let _ = rustix::io::write(&self.poke, &[0]);
    }

    /// Sleep until something is readable, the time is over (`None`: never), or a poke: the numbers of what is readable.
    pub(super) fn sleep(&self, at_most: Option<Duration>) -> Vec<u64> {
        let watched: Vec<_> =
            self.lock().iter().map(|(key, (own, number))| (*key, Arc::clone(own), *number)).collect();
        let mut polled = vec![PollFd::new(&self.poked, PollFlags::IN)];
        polled.extend(watched.iter().map(|(_, own, _)| PollFd::new(own, PollFlags::IN)));
        // A signal only means another round.
        let _ = poll(&mut polled, at_most.map(timespec).as_ref());
        let is_ready = |polled: &PollFd<'_>| !polled.revents().is_empty();
        if is_ready(&polled[0]) {
            let _ = rustix::io::read(&self.poked, &mut [0_u8; 64]);
        }
        let mut ready = Vec::new();
        for ((key, _, number), polled) in watched.iter().zip(&polled[1..]) {
            if is_ready(polled) {
                self.lock().remove(key);
                ready.push(*number);
            }
        }
        ready
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (Arc<OwnedFd>, u64)>> {
        // Every change of the table is one call.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
