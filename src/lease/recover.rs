//! Recovering: replacing a holder that is dead, under a published claim.
//!
//! ```text
//! prepared         recovery-claim-<id>/ with claim.json and the pin, ours alone
//! claimed          renamed to recovery: everyone else refuses now
//! quiet            whoever could still act on an earlier claim has left
//! current removed  the stale link is gone; the gap is ours, the claim says so
//! linked           our owner file is current
//! retired          renamed to recovery-retired-<id>, emptied, removed
//! ```
//!
//! A kill after any of these leaves a claim whose claimant is dead, which the next contender clears away, and either
//! the stale `current`, none, or ours (which is stale then): it goes on from there.

use nix::errno::Errno;

use super::acquire::{assert_held, link};
use super::claim::Claim;
use super::contender::Contender;
use super::entry::Entry;
use super::error::Stop;
use super::look::{self, OwnerFile};
use super::quiet::{self, Quiet};
use super::{Error, RecoveryStep, CLAIM, CURRENT, PIN, RECOVERY};
use crate::clock::Pause;
use crate::files::record::write_new;
use crate::files::{Dir, PathError};

/// Our claim on a stale holder, from its publication on.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) entry: Entry,
    pub(super) observed: OwnerFile,
    /// The claim's directory, whatever its name is by now.
    claim: Dir,
    owner_id: String,
}

/// How far a recovery has come.
pub(super) enum Recovered {
    Wait(Pause, Box<Quiet>),
    Held(Box<Recovery>),
}

/// Publish our claim on the observed holder. On failure nothing of ours is left.
pub(super) fn claim(contender: Contender<'_>, entry: Entry, observed: OwnerFile) -> Result<Quiet, Error> {
    let preparation = format!("recovery-claim-{}", contender.plan.owner.owner_id);
    let claim = match prepare(contender, &entry, &observed, &preparation) {
        Ok(claim) => claim,
        Err(error) => {
            entry.give_up();
            return Err(error);
        }
    };
    let owner_id = contender.plan.owner.owner_id.clone();
    let recovery = Recovery { entry, observed, claim, owner_id };
    match recovery.begin(contender) {
        Ok(others) => Ok(Quiet::new(contender, recovery, others)),
        Err(stop) => Err(recovery.stopped(stop)),
    }
}

/// Wait for quiet, then replace the holder.
pub(super) fn proceed(contender: Contender<'_>, mut quiet: Quiet) -> Result<Recovered, Error> {
    match quiet.wait(contender) {
        Ok(Some(pause)) => return Ok(Recovered::Wait(pause, Box::new(quiet))),
        Ok(None) => {}
        Err(error) => return Err(quiet.recovery.stopped(error.into())),
    }
    let recovery = quiet.recovery;
    match recovery.replace(contender) {
        Ok(()) => Ok(Recovered::Held(Box::new(recovery))),
        Err(stop) => Err(recovery.stopped(stop)),
    }
}

impl Recovery {
    /// Whether `recovery` still is our claim's own directory.
    pub(super) fn is_published(&self) -> Result<bool, PathError> {
        look::still_names(&self.entry.dir, RECOVERY, &self.claim)
    }

    /// Nothing of ours stays. Best effort: the failure that is reported is the first one.
    pub(super) fn give_up(&self) {
        let _ = self.undo();
    }

    /// In this order, and no further than it gets: `current` is never ours without a claim or a holder, and our owner
    /// file says that we are there for as long as our claim is.
    fn undo(&self) -> Result<(), PathError> {
        self.entry.take_current_back()?;
        if self.rename_away()? {
            // From here on it is a leftover whatever happens, and leftovers are swept.
            let _ = self.entry.dir.sync();
            let _ = remove_claim(&self.entry.dir, &self.retired_name(), &self.claim);
        }
        self.entry.withdraw()
    }

    /// The claim has its public name. Who is to leave before it is carried out?
    fn begin(&self, contender: Contender<'_>) -> Result<Vec<String>, Stop> {
        self.entry.dir.sync()?;
        self.done(contender, RecoveryStep::ClaimCreated)?;
        Ok(quiet::others(&self.entry, &self.observed.owner)?)
    }

    /// Replace the stale `current` by ours and retire the claim.
    fn replace(&self, contender: Contender<'_>) -> Result<(), Stop> {
        let (dir, observed) = (&self.entry.dir, &self.observed);
        self.assert_published(contender)?;
        self.done(contender, RecoveryStep::StalePinned)?;

        if !look::is_exactly(dir, CURRENT, observed.stat.identity, &observed.bytes)? {
            return Err(Error::raced(contender.scope(), "the stale owner was replaced").into());
        }
        match dir.unlink(CURRENT) {
            Err(error) if error.is_missing() => {
                return Err(Error::raced(contender.scope(), "the stale owner was removed").into())
            }
            unlinked => unlinked?,
        }
        dir.sync()?;
        self.done(contender, RecoveryStep::CurrentRemoved)?;

        if !link(contender, &self.entry)? {
            return Err(Error::raced(contender.scope(), "the lease was taken in between").into());
        }
        assert_held(contender, &self.entry)?;
        dir.sync()?;
        self.done(contender, RecoveryStep::NewCurrentLinked)?;

        self.retire(contender)
    }

    /// Move the claim to a private name before it is emptied: a directory that is renamed onto an empty one replaces
    /// it, so an empty `recovery` would be somebody else's claim before it is gone.
    fn retire(&self, contender: Contender<'_>) -> Result<(), Stop> {
        if !self.rename_away()? {
            return Err(Error::raced(contender.scope(), "its claim was taken away").into());
        }
        self.entry.dir.sync()?;
        self.done(contender, RecoveryStep::RecoveryRetired)?;
        remove_claim(&self.entry.dir, &self.retired_name(), &self.claim)?;
        self.entry.dir.sync()?;
        Ok(())
    }

    /// Whether `recovery` was our claim and has its private name now.
    fn rename_away(&self) -> Result<bool, PathError> {
        if !self.is_published()? {
            return Ok(false);
        }
        match self.entry.dir.rename(RECOVERY, self.retired_name()) {
            Err(error) if error.is_missing() => Ok(false),
            renamed => renamed.map(|()| true),
        }
    }

    fn assert_published(&self, contender: Contender<'_>) -> Result<(), Error> {
        if self.is_published()? {
            return Ok(());
        }
        Err(Error::raced(contender.scope(), "its claim was taken away"))
    }

    fn retired_name(&self) -> String {
        format!("recovery-retired-{}", self.owner_id)
    }

    fn done(&self, contender: Contender<'_>, step: RecoveryStep) -> Result<(), Stop> {
        contender.hooks.on_recovery_step(step).map_err(Stop::Crashed)
    }

    fn stopped(&self, stop: Stop) -> Error {
        match stop {
            Stop::Failed(error) => {
                self.give_up();
                error
            }
            Stop::Crashed(thrown) => Error::Thrown(thrown),
        }
    }
}

/// Make the claim's directory under its own name, complete and synced, and give it its public one. On failure nothing
/// of it is left.
fn prepare(contender: Contender<'_>, entry: &Entry, observed: &OwnerFile, name: &str) -> Result<Dir, Error> {
    let text = Claim::compose(&contender.plan.owner, &observed.owner, &observed.bytes).ok_or_else(|| {
        Error::Corrupt(format!(
            "stale lease {} cannot be claimed: a claim that names {} and {} would be longer than any reader takes",
            contender.scope(),
            observed.owner.owner_file,
            entry.name,
        ))
    })?;
    entry.dir.make_dir(name, 0o700)?;
    let claim = match entry.dir.open_dir(name) {
        Ok(claim) => claim,
        Err(error) => {
            let _ = entry.dir.remove_dir(name);
            return Err(error.into());
        }
    };
    let published =
        fill(contender, entry, observed, &claim, &text).and_then(|()| publish(contender, entry, name));
    match published {
        Ok(()) => Ok(claim),
        Err(error) => {
            let _ = remove_claim(&entry.dir, name, &claim);
            Err(error)
        }
    }
}

/// The pin before publishing (rule 2): a claim that names one owner and pins another is never seen by anyone.
fn fill(
    contender: Contender<'_>,
    entry: &Entry,
    observed: &OwnerFile,
    claim: &Dir,
    text: &str,
) -> Result<(), Error> {
    write_new(claim, CLAIM, text.as_bytes(), 0o600)?;
    match entry.dir.link(CURRENT, claim, PIN) {
        Err(error) if error.is_missing() => {
            return Err(Error::raced(contender.scope(), "the stale owner was removed"));
        }
        linked => linked?,
    }
    if !look::is_exactly(claim, PIN, observed.stat.identity, &observed.bytes)? {
        return Err(Error::raced(contender.scope(), "the stale owner was replaced"));
    }
    claim.sync()?;
    Ok(())
}

fn publish(contender: Contender<'_>, entry: &Entry, preparation: &str) -> Result<(), Error> {
    match entry.dir.rename(preparation, RECOVERY) {
        Err(error) if error.is_taken() || error.is(Errno::ENOTEMPTY) => {
            Err(Error::in_progress(contender.scope(), "another contender was first"))
        }
        renamed => Ok(renamed?),
    }
}

/// Empty and remove a claim's directory that has a private name. What is gone already is done; a directory with
/// something foreign in it stays.
pub(super) fn remove_claim(dir: &Dir, name: &str, claim: &Dir) -> Result<(), PathError> {
    for file in [PIN, CLAIM] {
        match claim.unlink(file) {
            Err(error) if error.is_missing() => {}
            unlinked => unlinked?,
        }
    }
    match dir.remove_dir(name) {
        Err(error) if error.is_missing() || error.is_taken() || error.is(Errno::ENOTEMPTY) => Ok(()),
        removed => removed,
    }
}
