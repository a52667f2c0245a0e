//! Time: the only reader of the system's clocks.

pub mod waiting;

use std::fmt;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

/// A pause that a protocol asks for instead of sleeping: go on when any descriptor is readable, at the latest after
/// `at_most`. A synchronous caller blocks in [`Clock::pause`]; an asynchronous one goes back to its event loop.
#[derive(Debug, Clone)]
#[must_use = "a protocol goes on only when its pause is over"]
pub struct Pause {
    pub at_most: Duration,
    pub wake: Vec<Rc<OwnedFd>>,
}

/// A machine's clocks.
pub trait Clock: fmt::Debug {
    /// Milliseconds since the Unix epoch, by the system clock. It may jump.
    fn now_ms(&self) -> i64;
    /// Time that only goes forward, from an arbitrary start. Suspension may or may not count.
    fn monotonic(&self) -> Duration;
    /// Block until the pause is over.
    fn pause(&self, pause: &Pause);
}

/// The operating system's clocks.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the door that the others are pointed to")]
    fn now_ms(&self) -> i64 {
        let now = std::time::SystemTime::now();
        match now.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            // Rounded down, as Date.now() is.
            Err(before) => -i64::try_from(before.duration().as_micros().div_ceil(1000)).unwrap_or(i64::MAX),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door that the others are pointed to")]
    fn monotonic(&self) -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
    }

    fn pause(&self, pause: &Pause) {
        use rustix::event::{poll, PollFd, PollFlags, Timespec};
        let end = self.monotonic() + pause.at_most;
        loop {
            let left = end.saturating_sub(self.monotonic());
            let mut fds: Vec<_> =
                pause.wake.iter().map(|fd| PollFd::new(fd.as_ref(), PollFlags::IN)).collect();
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            // A signal ends the call early; what is left of the time is waited out.
            match poll(&mut fds, Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => continue,
                _ => return,
            }
        }
    }
}
