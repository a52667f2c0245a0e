//! Readiness by `epoll` (Linux): the kernel keeps the set, so a round costs what is ready, however many wait.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{eventfd, EventfdFlags};

use super::timespec;

/// No wait has this number: it stands for a poke.
const POKE: u64 = 0;

/// A set of descriptors in the kernel, each with the number of its wait.
pub(super) struct Set {
    kernel: OwnedFd,
    poked: OwnedFd,
}

/// A descriptor in the set. It stays open here, and is taken out before it can be closed.
pub(super) struct Watched(Rc<OwnedFd>);

impl Set {
    pub(super) fn new() -> io::Result<Set> {
        let kernel = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let poked = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // By its edges, so that it need not be read: every poke is one.
        epoll::add(&kernel, &poked, EventData::new_u64(POKE), EventFlags::IN | EventFlags::ET)?;
        Ok(Set { kernel, poked })
    }

    /// Tell once, by `number`, when the descriptor is readable.
    pub(super) fn watch(&self, descriptor: &Rc<OwnedFd>, number: u64) -> io::Result<Watched> {
        let (data, flags) = (EventData::new_u64(number), EventFlags::IN | EventFlags::ONESHOT);
        match epoll::add(&self.kernel, descriptor, data, flags) {
            Ok(()) => Ok(Watched(Rc::clone(descriptor))),
            // Somebody else waits for the same one: the set takes a number of it only once.
            Err(rustix::io::Errno::EXIST) => {
                let own = descriptor.try_clone()?;
                epoll::add(&self.kernel, &own, data, flags)?;
                Ok(Watched(Rc::new(own)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Take it out: the descriptor that nobody else has any more, to be closed.
    pub(super) fn forget(&self, watched: Watched) -> Option<OwnedFd> {
        // What is not in the set any more needs no taking out.
        let _ = epoll::delete(&self.kernel, &watched.0);
        Rc::into_inner(watched.0)
    }

    /// End the sleep that [`Set::sleep`] is in, or the next one.
    pub(super) fn poke(&self) {
        // The only failure is a full counter, which is a poke that is not yet seen.
        let _ = rustix::io::write(&self.poked, &1_u64.to_ne_bytes());
    }

    /// Sleep until something is readable, the time is over (`None`: never), or a poke: the numbers of what is readable.
    pub(super) fn sleep(&self, at_most: Option<Duration>) -> Vec<u64> {
        let mut events = [MaybeUninit::uninit(); 64];
        match epoll::wait(&self.kernel, &mut events, at_most.map(timespec).as_ref()) {
            Ok((events, _)) => {
                events.iter().map(|event| event.data.u64()).filter(|number| *number != POKE).collect()
            }
            // A signal, like a full set of events, only means another round.
            Err(_) => Vec::new(),
        }
    }
}
