//! Holding a lease, and letting it go.

use super::contender::Plan;
use super::entry::{Current, Entry};
use super::sweep::PutOff;
use super::{Composed, Durability, Error, Owner, CURRENT};
use crate::host::Host;
use crate::process::Pid;

/// A lease that this process holds.
///
/// Dropping it closes its handles and touches nothing on disk: the lease stays this process's until it is released
/// or the process has ended and the lease is stale.
#[derive(Debug)]
#[must_use = "a lease is held until it is released"]
pub struct Lease {
    pub owner: Composed,
    /// The dead holder that this one has replaced.
    pub recovered_owner: Option<Owner>,
    path: std::path::PathBuf,
    durability: Durability,
    /// The process that acquired it; a forked child has the handle too, but not the lease.
    holder: Pid,
    put_off: Option<PutOff>,
    state: State,
}

#[derive(Debug)]
enum State {
    Held(Entry),
    /// `current` is unlinked; something after that has failed.
    Unlinked(Entry),
    Over,
}

impl Lease {
    pub(super) fn new(
        plan: &Plan,
        entry: Entry,
        recovered_owner: Option<Owner>,
        put_off: Option<PutOff>,
    ) -> Lease {
        Lease {
            owner: plan.owner.clone(),
            recovered_owner,
            path: plan.path.clone(),
            durability: plan.durability,
            holder: plan.me,
            put_off,
            state: State::Held(entry),
        }
    }

    /// Let the lease go. Again is fine.
    ///
    /// # Errors
    /// [`Error::Lost`] when `current` is not this owner any more: nothing of others is touched, the own owner file is
    /// removed, and the lease is over. A [`Error::Path`] leaves it as it is; releasing can be tried again.
    pub fn release(&mut self, host: &Host) -> Result<(), Error> {
        if matches!(self.state, State::Over) {
            return Ok(());
        }
        let me = host.processes.me();
        if me != self.holder {
            let Owner { scope, .. } = &*self.owner;
            let holder = self.holder;
            return Err(Error::Lost(format!(
                "lease {scope} belongs to process {holder}, this is process {me}"
            )));
        }
        self.state = match std::mem::replace(&mut self.state, State::Over) {
            State::Held(entry) => match self.unlink_current(host, &entry) {
                Ok(()) => State::Unlinked(entry),
                Err(lost @ Error::Lost(_)) => {
                    // A living process's owner file would make every later recovery wait.
                    let _ = entry.withdraw();
                    return Err(lost);
                }
                Err(error) => {
                    self.state = State::Held(entry);
                    return Err(error);
                }
            },
            state => state,
        };
        self.finish()
    }

    /// [`Lease::release`] by a caller that does not come back to it: what has failed is tried once more, because while
    /// this process lives nobody else can let it go.
    ///
    /// # Errors
    /// As [`Lease::release`].
    pub fn let_go(&mut self, host: &Host) -> Result<(), Error> {
        match self.release(host) {
            Err(_) if !self.is_over() => self.release(host),
            released => released,
        }
    }

    /// Whether the lease's path still leads to this owner: a cleaner may have removed it, a faulty contender taken it.
    pub fn holds(&self, host: &Host) -> bool {
        let State::Held(entry) = &self.state else { return false };
        let named = host.files.stat(&self.path.join(CURRENT));
        named.is_ok_and(|stat| {
            stat.identity == entry.identity && entry.is_unchanged(stat.size).unwrap_or(false)
        }) && host.processes.me() == self.holder
    }

    /// Whether there is nothing left to release.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// The lease's directory.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    fn unlink_current(&self, host: &Host, entry: &Entry) -> Result<(), Error> {
        let missing = |error| {
            let scope = &self.owner.scope;
            Error::Lost(format!("lease {scope} is no longer held: lease owner {error}"))
        };
        match entry.current()? {
            Current::Ours => {}
            Current::NotOurs => return Err(Error::ownership_changed(&self.owner.scope)),
            Current::Missing => {
                let path = entry.dir.path().join(CURRENT);
                return Err(Error::Lost(format!(
                    "lease owner at {} cannot be inspected: it is missing",
                    path.display()
                )));
            }
        }
        if let Some(put_off) = &self.put_off {
            put_off.sweep(host, entry);
        }
        match entry.dir.unlink(CURRENT) {
            Err(error) if error.is_missing() => Err(missing(error)),
            unlinked => Ok(unlinked?),
        }
    }

    /// The lease is free. What is left of it goes too, and lasts.
    fn finish(&mut self) -> Result<(), Error> {
        let State::Unlinked(entry) = &self.state else { return Ok(()) };
        match entry.dir.unlink(&entry.name) {
            Err(error) if error.is_missing() => {}
            unlinked => unlinked?,
        }
        if self.durability == Durability::Power {
            entry.dir.sync()?;
        }
        self.state = State::Over;
        Ok(())
    }
}
