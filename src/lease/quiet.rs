//! Rule 1, quiet: nobody who could still act on an earlier claim is left when we replace the holder.
//!
//! Without it, two claims in a row let two processes go on as the one claimant:
//!
//! 1. A and B read the claim of a dead process and judge it abandoned; B stops there.
//! 2. A clears it away, judges the holder dead and publishes its own claim.
//! 3. B goes on, and its rename takes away what is at `recovery` now: A's living claim.
//! 4. B publishes a claim of its own. Both unlink `current`, both link; the second takes the first one's lease.
//!
//! Whoever can still act on an earlier claim wrote its owner file before ours was published, and removes it when its
//! call ends. Whoever comes later reads our living claim and refuses. So once each of the others that one listing
//! shows has gone, and `recovery` still is our directory, it stays ours until we retire it.

use std::time::Duration;

use super::contender::Contender;
use super::entry::Entry;
use super::look;
use super::owner::is_owner_file;
use super::recover::Recovery;
use super::{Error, Owner};
use crate::clock::Pause;
use crate::files::{Dir, PathError};

/// How long a recovery waits for the others to leave.
const LIMIT: Duration = Duration::from_millis(250);
/// A process that ends changes nothing in the directory, so it is looked for.
const POLL: Duration = Duration::from_millis(10);

/// A recovery that waits for quiet.
#[derive(Debug)]
pub(super) struct Quiet {
    pub(super) recovery: Recovery,
    /// Owner files that were there when our claim was published and whose calls may still be under way.
    others: Vec<String>,
    /// By the monotonic clock.
    until: Duration,
}

impl Quiet {
    pub(super) fn new(contender: Contender<'_>, recovery: Recovery, others: Vec<String>) -> Quiet {
        Quiet { recovery, others, until: contender.host.clock.monotonic() + LIMIT }
    }

    /// What to wait for before looking again; `None`: it is quiet.
    pub(super) fn wait(&mut self, contender: Contender<'_>) -> Result<Option<Pause>, Error> {
        let dir = &self.recovery.entry.dir;
        // Watched before it is looked at, so that what happens after the look ends the pause. Without a watch the
        // poll has to do.
        let watch = if self.others.is_empty() { None } else { dir.watch().unwrap_or(None) };
        let mut remaining = Vec::new();
        for name in self.others.drain(..) {
            if may_act(contender, dir, &name)? {
                remaining.push(name);
            }
        }
        self.others = remaining;
        let Some(first) = self.others.first() else { return Ok(None) };
        let left = self.until.saturating_sub(contender.host.clock.monotonic());
        if left.is_zero() {
            return Err(Error::raced(contender.scope(), &still_there(dir, first)));
        }
        Ok(Some(Pause { at_most: left.min(POLL), wake: watch.into_iter().collect() }))
    }

    /// Give up the recovery: its claim is retired, its owner file removed.
    pub(super) fn give_up(&self) {
        self.recovery.give_up();
    }
}

/// Owner files of others whose calls may still be under way: listed once, after our claim was published.
pub(super) fn others(entry: &Entry, observed: &Owner) -> Result<Vec<String>, PathError> {
    let names = entry.dir.list()?.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names
        .filter(|name| is_owner_file(name) && *name != entry.name && *name != observed.owner_file)
        .collect())
}

/// Whether the call that an owner file belongs to may still be under way. A file without an owner's text does not
/// count: its writer has not looked at anything yet.
pub(super) fn may_act(contender: Contender<'_>, dir: &Dir, name: &str) -> Result<bool, Error> {
    let Some(file) = look::contender(dir, name)? else { return Ok(false) };
    Ok(contender.judge().may_act(&file.owner, file.stat.modified_ms))
}

/// Who has not left. A process that lost its lease without knowing (a cleaner removed `current`) stays for as long as it
/// lives, and a person has to know which one.
fn still_there(dir: &Dir, name: &str) -> String {
    let pid = match look::contender(dir, name) {
        Ok(Some(file)) => file.owner.pid.to_string(),
        Ok(None) | Err(_) => "unknown".to_owned(),
    };
    format!(
        "{name} is still there; its process (pid {pid}) is at it, or has lost the lease without knowing: when this \
         lasts, let it release or end it"
    )
}
