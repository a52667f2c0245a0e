//! The lease of a history: a directory that says who may write.
//!
//! ```text
//! <lease>/owner.json                   the lease: { owner_id, pid, acquired_at, witness }
//! <lease>.claim-<pid>-<owner_id>/      a lease being prepared, complete before it gets the name
//! <lease>.retired-<pid>-<owner_id>/    a lease being cleared away
//! ```
//!
//! A lease begins with one rename and ends with one. Renaming a directory onto an empty one replaces it and onto any
//! other fails, which is what everything rests on:
//!
//! | step | why a contender in between does no harm |
//! | --- | --- |
//! | look at `<lease>` | nothing was done yet |
//! | prepare the claim, its content synced | the name is nobody else's |
//! | free: rename without replacing | the first rename wins, every later one is refused |
//! | dead owner: unlink its `owner.json` *through the handle it was judged by* | a directory that replaced it meanwhile is another one: the handle does not reach it |
//! | emptied by this call, or empty and unchanged for 5 s: rename onto it, if it still is that directory | whoever was faster has made it non-empty: refused |
//! | look again: the home's path, the name, the owner's file; sync the home | a faulty contender is noticed |
//! | after a take-over: 50 ms later, once more | one that had judged the same dead owner retires *by name* |
//!
//! A kill between emptying and renaming leaves an empty directory, which any contender takes after 5 s. An empty
//! directory younger than that may be an older harness's, which creates first and writes afterwards.

mod claim;
mod owner;
mod sweep;
pub mod torn;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::error::Busy;
use super::home::Home;
use super::{Error, Result, Writing};
use crate::clock::Pause;
use crate::files::{Dir, Identity, PathError};
use crate::host::Host;
use crate::lease::Progress;
use claim::{Claim, Over};
use owner::{Occupant, Verdict, OWNER_FILE};

/// How long an empty directory must stay unchanged before it may be taken.
const EMPTY_FOR_MS: i64 = 5_000;
/// When a holder that took over looks again whether it was robbed.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Staleness comes with time and wakes nobody: a waiter looks this often by itself.
const POLL: Duration = Duration::from_millis(50);

const TORN: &str = "its owner.json cannot be read; repairDurableHistory moves it aside, for the digest that \
    inspectDurableHistoryLease gives";
const EMPTY: &str = "it has no owner.json; in 5 s it is anybody's, unless whoever made it writes one";

/// A held lease.
#[derive(Debug)]
#[must_use = "a lease that is not released stays until its process has ended and 30 s are over"]
pub(super) struct Lease {
    name: OsString,
    own: Dir,
    identity: Identity,
    /// Which object our owner's file is.
    mark: Identity,
    owner_id: String,
}

impl Lease {
    /// Whether `<lease>` still is this very directory with this very owner's file.
    pub(super) fn is_held(&self, home: &Home) -> std::result::Result<bool, PathError> {
        Ok(home.names(&self.name, self.identity)?
            && self.own.look(OWNER_FILE)?.is_some_and(|stat| stat.identity == self.mark))
    }

    /// Fail when the lease was taken away. Asked right before anything is written, sealed or published.
    pub(super) fn must_be_held(&self, home: &Home) -> Result<()> {
        if self.is_held(home)? {
            return Ok(());
        }
        Err(Error::Lost(home.dir.path().join(&self.name)))
    }

    /// Give the lease back, whatever fails: its owner lives on, and nobody else could. What is someone else's by now is
    /// left alone.
    pub(super) fn release(self, host: &Host, home: &Home) {
        let retired = self.retire(host, home);
        // Through the handle, this is our own whatever its name is by now. Where the name is still the lease's, because
        // whether it is could not be told or it could not be renamed, the empty directory is anybody's after a while.
        let _ = self.own.unlink(OWNER_FILE);
        if let Ok(Some(retired)) = retired {
            // Best effort: under this name it is in nobody's way.
            let _ = home.dir.remove_dir(retired);
        }
    }

    /// Move the lease out of the way: where to, if it still was ours.
    fn retire(&self, host: &Host, home: &Home) -> std::result::Result<Option<OsString>, PathError> {
        if !self.is_held(home)? {
            return Ok(None);
        }
        let mut retired = self.name.clone();
        retired.push(format!(".retired-{}-{}", host.processes.me(), self.owner_id));
        home.dir.rename(&self.name, &retired)?;
        Ok(Some(retired))
    }
}

/// One acquisition, as far as it has come. It yields its waits.
#[derive(Debug)]
pub(super) struct Acquiring {
    name: OsString,
    writing: Writing,
    /// When waiting for another holder ends, by the monotonic clock. Set by the first refusal.
    until: Option<Duration>,
    taken_over: Option<Lease>,
}

enum Attempt {
    Held(Lease),
    TookOver(Lease),
    /// It changed while we looked.
    Again,
    /// Why.
    Busy(String),
    Elsewhere,
}

/// What stands under the lease's name.
enum Found {
    Nothing,
    /// Why.
    Busy(String),
    /// An old owner of another pid namespace.
    Elsewhere,
    Empty(Dir),
    Dead(Dir),
}

impl Acquiring {
    pub(super) fn new(name: OsString, writing: Writing) -> Self {
        Acquiring { name, writing, until: None, taken_over: None }
    }

    /// Go on until the lease is held or there is something to wait for.
    pub(super) fn step(&mut self, host: &Host, home: &Home) -> Result<Progress<Lease>> {
        if let Some(lease) = self.taken_over.take() {
            match lease.is_held(home) {
                Ok(true) => return Ok(Progress::Done(lease)),
                robbed_or_unknown => {
                    lease.release(host, home);
                    robbed_or_unknown?;
                }
            }
        }
        loop {
            let now = host.clock.monotonic();
            let left = self.until.map(|until| until.saturating_sub(now));
            // The watch comes before the look, so that a release in between is not slept through.
            let wake = match left {
                Some(left) if !left.is_zero() => home.dir.watch()?,
                _ => None,
            };
            let path = || home.dir.path().join(&self.name);
            let refusal = match self.try_twice(host, home)? {
                Attempt::Held(lease) => return Ok(Progress::Done(lease)),
                Attempt::TookOver(lease) => {
                    self.taken_over = Some(lease);
                    return Ok(Progress::Wait(Pause { at_most: LOOK_AGAIN, wake: Vec::new() }));
                }
                Attempt::Again => busy(path(), "it changes hands while it is looked at; try again"),
                Attempt::Busy(why) => busy(path(), why),
                Attempt::Elsewhere => Error::Elsewhere(path()),
            };
            match left {
                None if !self.writing.lease_wait.is_zero() => {
                    self.until = Some(now + self.writing.lease_wait)
                }
                None | Some(Duration::ZERO) => return Err(refusal),
                Some(left) => {
                    let wake = wake.into_iter().collect();
                    return Ok(Progress::Wait(Pause { at_most: left.min(POLL), wake }));
                }
            }
        }
    }

    /// Give back a lease that was to be looked at again.
    pub(super) fn abort(&mut self, host: &Host, home: &Home) {
        if let Some(lease) = self.taken_over.take() {
            lease.release(host, home);
        }
    }

    fn try_twice(&self, host: &Host, home: &Home) -> Result<Attempt> {
        match self.attempt(host, home)? {
            Attempt::Again => self.attempt(host, home),
            done => Ok(done),
        }
    }

    fn attempt(&self, host: &Host, home: &Home) -> Result<Attempt> {
        let found = self.look(host, home)?;
        match found {
            Found::Busy(why) => return Ok(Attempt::Busy(why)),
            Found::Elsewhere => return Ok(Attempt::Elsewhere),
            Found::Nothing | Found::Empty(_) | Found::Dead(_) => {}
        }
        let claim = Claim::prepare(host, home, &self.name, self.writing.sharing)?;
        let (over, took_over) = match found {
            Found::Dead(dir) => match dir.unlink(OWNER_FILE) {
                Ok(()) => (Over::Emptied(dir), true),
                Err(error) => {
                    claim.discard(home);
                    // Another contender judged the same owner and was faster.
                    return if error.is_missing() { Ok(Attempt::Again) } else { Err(error.into()) };
                }
            },
            Found::Empty(dir) => (Over::Emptied(dir), false),
            Found::Nothing | Found::Busy(_) | Found::Elsewhere => (Over::Nothing, false),
        };
        let Some(lease) = claim.publish(home, &self.name, &over)? else { return Ok(Attempt::Again) };
        if let Err(error) = self.settle(host, home, &lease) {
            lease.release(host, home);
            return Err(error);
        }
        Ok(if took_over { Attempt::TookOver(lease) } else { Attempt::Held(lease) })
    }

    /// Lock, then look again at what is held, and make it last.
    fn settle(&self, host: &Host, home: &Home, lease: &Lease) -> Result<()> {
        home.must_not_have_moved(host)?;
        if !lease.is_held(home)? {
            return Err(busy(home.dir.path().join(&self.name), "it was taken away at once; try again"));
        }
        home.sync()?;
        sweep::sweep(host, home, &self.name);
        Ok(())
    }

    fn look(&self, host: &Host, home: &Home) -> Result<Found> {
        let Some(occupied) = home.open_inside(&self.name)? else { return Ok(Found::Nothing) };
        match owner::read(&occupied.dir)? {
            Occupant::Owner(owner) => Ok(match owner.judge(host) {
                Verdict::Dead => Found::Dead(occupied.dir),
                Verdict::Elsewhere => Found::Elsewhere,
                Verdict::Live => Found::Busy(owner.since()),
            }),
            Occupant::Torn => Ok(Found::Busy(TORN.to_owned())),
            Occupant::Nobody => {
                let changed = occupied.dir.stat()?.changed_ms;
                // A time that lies ahead counts as now: it cannot be told how long ago it was.
                let unchanged = host.clock.now_ms().saturating_sub(changed) >= EMPTY_FOR_MS;
                Ok(if unchanged { Found::Empty(occupied.dir) } else { Found::Busy(EMPTY.to_owned()) })
            }
        }
    }
}

pub(super) fn busy(path: PathBuf, why: impl Into<String>) -> Error {
    Error::Busy(Busy { path, why: why.into() })
}
