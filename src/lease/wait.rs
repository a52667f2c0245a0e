//! Waiting for a lease: try, and while it is held or being recovered wait for a change, then try again.
//!
//! A waiter leaves no owner file between its tries, and it never tries in order to find out: every try writes, every
//! write wakes the other waiters, and two of them would keep each other awake for as long as the lease is held. When
//! it is woken it only looks, and tries when a look says that it could succeed.
//!
//! The watch is set before the look that counts, so a change after the look ends the pause.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use super::acquire::Acquisition;
use super::contender::{now, resolve};
use super::liveness::{Judge, Liveness};
use super::look::{self, ClaimFile};
use super::{Error, Hooks, Input, Lease, Owner, Progress, Reason, CURRENT, RECOVERY};
use crate::clock::Pause;
use crate::files::Dir;
use crate::host::Host;
use crate::javascript::json::safe_integer;
use crate::process::Pid;

/// How often to look where a change wakes us anyway, and where nothing does.
const POLL_WATCHED: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);
/// After a try that met a recovery: the first pause, and the longest.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(128));

/// Take the lease, waiting for it at most `wait`, in which this thread blocks.
///
/// # Errors
/// As [`super::acquire`]; the last [`Error::Held`] or [`Error::Recovering`] when the time is over.
pub fn acquire_within(host: &Host, input: &Input, hooks: &dyn Hooks, wait: Duration) -> Result<Lease, Error> {
    let mut waiter = Waiter::begin(host, input, hooks, wait)?;
    loop {
        match waiter.advance(host, hooks)? {
            Progress::Done(lease) => return Ok(lease),
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    }
}

/// An acquisition that waits for its turn.
#[derive(Debug)]
#[must_use = "a waiter does nothing until it is advanced"]
pub struct Waiter {
    input: Input,
    /// By the monotonic clock.
    until: Duration,
    back_off: Duration,
    /// The last try was one that a look had called for. When it is refused all the same, the next one rests first: what
    /// the caller's functions answer may differ from look to try for ever.
    called_for: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Trying(Box<Acquisition>),
    /// Nothing of ours is on disk.
    Refused {
        refusal: Error,
        /// Whether it is time for another try, should a look say that it could succeed.
        rested: bool,
    },
    Over,
}

/// What a look without a try says.
enum Look {
    /// It could succeed, or would say what is wrong.
    Try,
    /// Not before something changes.
    Wait(Pause),
}

impl Waiter {
    /// Check the request. Nothing is written.
    ///
    /// # Errors
    /// [`Error::Input`] for what no reader would take; what `now` threw.
    pub fn begin(host: &Host, input: &Input, hooks: &dyn Hooks, wait: Duration) -> Result<Waiter, Error> {
        let first = Acquisition::begin(host, input, hooks)?;
        Ok(Waiter {
            // A lease is where it was asked for, wherever the process goes meanwhile.
            input: Input { path: resolve(host, &input.path)?, ..input.clone() },
            until: host.clock.monotonic().saturating_add(wait),
            back_off: BACK_OFF.0,
            called_for: false,
            state: State::Trying(Box::new(first)),
        })
    }

    /// Go on to the end or to the next pause.
    ///
    /// # Errors
    /// As [`acquire_within`]; the waiter is over then.
    pub fn advance(&mut self, host: &Host, hooks: &dyn Hooks) -> Result<Progress<Lease>, Error> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Trying(mut acquisition) => match acquisition.advance(host, hooks) {
                    Ok(Progress::Wait(pause)) => {
                        self.state = State::Trying(acquisition);
                        return Ok(Progress::Wait(pause));
                    }
                    Err(refusal) if refusal.is_contention() => {
                        // A holder's end is somebody's progress. Recoveries can get in each other's way.
                        let rested = matches!(refusal, Error::Held { .. }) && !self.called_for;
                        self.state = State::Refused { refusal, rested };
                    }
                    ended => return ended,
                },
                State::Refused { refusal, rested } => {
                    let pause = match look(host, hooks, &self.input)? {
                        Look::Try if rested => {
                            self.called_for = true;
                            self.state =
                                State::Trying(Box::new(Acquisition::begin(host, &self.input, hooks)?));
                            continue;
                        }
                        Look::Try => self.next_back_off(),
                        Look::Wait(pause) => pause,
                    };
                    let left = self.until.saturating_sub(host.clock.monotonic());
                    if left.is_zero() {
                        return Err(refusal);
                    }
                    self.state = State::Refused { refusal, rested: true };
                    return Ok(Progress::Wait(Pause { at_most: pause.at_most.min(left), ..pause }));
                }
                State::Over => {
                    return Err(Error::Lost(format!("lease {} acquisition is over", self.input.scope)));
                }
            }
        }
    }

    /// Give up: nothing of this waiter is left on disk.
    pub fn abort(&mut self) {
        if let State::Trying(mut acquisition) = std::mem::replace(&mut self.state, State::Over) {
            acquisition.abort();
        }
    }

    /// Longer each time, and whatever changes: most of what changes then is the others' own tries.
    fn next_back_off(&mut self) -> Pause {
        let at_most = self.back_off;
        self.back_off = BACK_OFF.1.min(self.back_off * 2);
        Pause { at_most, wake: Vec::new() }
    }
}

fn look(host: &Host, hooks: &dyn Hooks, input: &Input) -> Result<Look, Error> {
    let dir = match Dir::open(&host.files, &input.path) {
        Ok(dir) => dir,
        // Removed, or replaced by something that a try will name.
        Err(_) => return Ok(Look::Try),
    };
    let this_host = host.processes.host_name();
    let stale_after_ms = safe_integer(input.stale_after_ms);
    let judge = Judge { host, hooks, this_host: &this_host, stale_after_ms };
    let now = now(host, hooks)?;
    // Without a watch at first: one that is not needed would have to be closed at once, which takes the kernel long.
    if who_is_in_the_way(&dir, &judge, now).is_none() {
        return Ok(Look::Try);
    }
    let watch = dir.watch().unwrap_or(None);
    let Some((owner, reason)) = who_is_in_the_way(&dir, &judge, now) else { return Ok(Look::Try) };

    let at_most = if watch.is_some() { POLL_WATCHED } else { POLL };
    let mut pause = Pause { at_most, wake: watch.into_iter().collect() };
    match reason {
        Reason::Unexpired => {
            let left = owner.expires_ms().unwrap_or(now).saturating_sub(now);
            pause.at_most = at_most.min(Duration::from_millis(left.unsigned_abs()));
        }
        Reason::Alive => pause.wake.extend(end_of(host, hooks, &owner)),
        _ => {}
    }
    Ok(Look::Wait(pause))
}

/// A live holder or claimant; `None` when there is none, or when something is not as it should be: a try says what.
fn who_is_in_the_way(dir: &Dir, judge: &Judge<'_>, now: i64) -> Option<(Owner, Reason)> {
    let owner = match dir.open_dir(RECOVERY) {
        Ok(recovery) => match look::claim_file(&recovery) {
            Ok(ClaimFile::Valid(claim)) => claim.claimant,
            _ => return None,
        },
        Err(_) => look::owner_file(dir, CURRENT).ok()??.owner,
    };
    match judge.verdict(&owner, now) {
        Liveness::Live(reason) => Some((owner, reason)),
        Liveness::Dead => None,
    }
}

/// What becomes readable when the owner's process ends; none when it has ended, or where only polling tells.
fn end_of(host: &Host, hooks: &dyn Hooks, owner: &Owner) -> Option<Rc<OwnedFd>> {
    if hooks.probe_pid().is_some() {
        return None;
    }
    let target = host.processes.open(Pid::new(owner.pid)?).ok()??;
    // A descriptor that is readable already would end every pause at once.
    if target.has_ended() {
        return None;
    }
    target.wake()
}
