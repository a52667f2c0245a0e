//! Clearing away a recovery whose claimant is dead (or that never became a claim).
//!
//! Everything is judged through one handle on the directory, and the handle is compared with the name right before
//! the name is renamed. `recovery` is renamed away in every recovery, so a claim that has gone meanwhile is an
//! everyday sight and no corruption (rule 7). No owner file is removed here (rule 5): whoever clears holds nothing,
//! and somebody else may be about to remove the same file. Whoever holds the lease later sweeps them.

use nix::errno::Errno;

use super::contender::Contender;
use super::entry::Entry;
use super::inspect::is_leftover_of_a_clean_up;
use super::liveness::{explain, Liveness};
use super::look::{self, ClaimFile};
use super::owner::is_owner_file;
use super::quiet::may_act;
use super::recover::remove_claim;
use super::{Claim, Error, PIN, RECOVERY};
use crate::files::Dir;

/// How long an empty `recovery` must have been left alone, in milliseconds by file time and system clock.
const LEFTOVER_MS: i64 = 5000;

/// Clear away the recovery that was seen. When it is gone by then, that is as good.
///
/// # Errors
/// [`Error::Recovering`] when its claimant may live; [`Error::Corrupt`] when it is nothing that a contender makes.
pub(super) fn abandoned(contender: Contender<'_>, entry: &Entry) -> Result<(), Error> {
    let recovery = match entry.dir.open_dir(RECOVERY) {
        Ok(recovery) => recovery,
        Err(error) if error.is_missing() => return Ok(()),
        Err(error) if error.is(Errno::ENOTDIR) || error.is(Errno::ELOOP) => {
            return Err(corrupt(contender, entry, "is no directory"));
        }
        Err(error) => return Err(error.into()),
    };
    let outcome = judge(contender, entry, &recovery);
    // A directory that was retired or cleared while it was read says nothing about the lease any more.
    if !look::still_names(&entry.dir, RECOVERY, &recovery)? {
        return Ok(());
    }
    match outcome? {
        Abandoned::Claim => quarantine(contender, entry, &recovery),
        Abandoned::Leftover => remove_leftover(entry, &recovery),
    }
}

enum Abandoned {
    /// A claim of a dead claimant, finished or not.
    Claim,
    /// What an older version's clean-up leaves after a kill: an empty directory, or one with only a pin.
    Leftover,
}

fn judge(contender: Contender<'_>, entry: &Entry, recovery: &Dir) -> Result<Abandoned, Error> {
    match look::claim_file(recovery)? {
        ClaimFile::Valid(claim) => judge_claim(contender, recovery, &claim).map(|()| Abandoned::Claim),
        ClaimFile::Invalid => Err(corrupt(contender, entry, "has no valid claim.json")),
        ClaimFile::Missing => judge_leftover(contender, entry, recovery).map(|()| Abandoned::Leftover),
    }
}

fn judge_claim(contender: Contender<'_>, recovery: &Dir, claim: &Claim) -> Result<(), Error> {
    let scope = contender.scope();
    let (judge, now) = (contender.judge(), contender.now()?);
    if let Liveness::Live(reason) = judge.verdict(&claim.claimant, now) {
        let why = explain(reason, &claim.claimant, &judge, now);
        return Err(Error::in_progress(scope, &format!("its claimant counts as live, {why}")));
    }
    if claim.claimant.scope != scope || !contender.may_replace(&claim.observed_owner)? {
        return Err(Error::Authority(format!("stale lease {scope} recovery has mismatched authority")));
    }
    // Whoever it names: a pin of another owner (rule 3) or none is a claim whose claimant was killed before it
    // compared or linked. That owner's file stays.
    match look::owner_file(recovery, PIN) {
        Err(Error::Corrupt(why)) => {
            Err(Error::Corrupt(format!("stale lease {scope} recovery pin is corrupt: {why}")))
        }
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// Rename the judged claim away and remove it. What is left after a kill, the next holder sweeps.
fn quarantine(contender: Contender<'_>, entry: &Entry, recovery: &Dir) -> Result<(), Error> {
    let (dir, name) = (&entry.dir, format!("quarantine-{}", contender.host.processes.fresh_id()));
    match dir.rename(RECOVERY, &name) {
        Err(error) if error.is_missing() => return Ok(()),
        renamed => renamed?,
    }
    if !look::still_names(dir, &name, recovery)? {
        return Err(took_another(contender, dir, &name)?);
    }
    dir.sync()?;
    remove_claim(dir, &name, recovery)?;
    dir.sync()?;
    Ok(())
}

/// The name was another's claim by the time of the rename.
///
/// A JavaScript claimant cannot do without it, so it goes back, unless the name is taken again: then two claims have
/// followed each other, and the first one's claimant will find out. A native one, which its witness tells, gives up as
/// soon as it looks, and then it is the claim that must not come back:
///
/// 1. A publishes its claim and waits for us; we take the claim away.
/// 2. A looks, finds it gone, removes its owner file and ends: there is nothing left to retire.
/// 3. We put the claim back. Nobody retires it, and A's process lives: everyone is refused as long as it does.
///
/// So it stays where it is, until a holder sweeps it.
fn took_another(contender: Contender<'_>, dir: &Dir, name: &str) -> Result<Error, Error> {
    let native = match look::claim_file(&dir.open_dir(name)?)? {
        ClaimFile::Valid(claim) => claim.claimant.witness.is_some(),
        ClaimFile::Missing | ClaimFile::Invalid => false,
    };
    let in_progress = |detail| Ok(Error::in_progress(contender.scope(), detail));
    if native {
        return in_progress("it began while an older one was cleared, and gives way");
    }
    match dir.rename(name, RECOVERY) {
        Ok(()) => in_progress("it began while an older one was cleared"),
        Err(error) if error.is_missing() || error.is_taken() || error.is(Errno::ENOTEMPTY) => {
            in_progress("two began while an older one was cleared")
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a directory without a claim may be removed: nothing else is in it, nobody has touched it for a while, and
/// nobody who could be busy with it is left.
fn judge_leftover(contender: Contender<'_>, entry: &Entry, recovery: &Dir) -> Result<(), Error> {
    if !is_leftover_of_a_clean_up(recovery)? {
        return Err(corrupt(contender, entry, "has no claim.json"));
    }
    let scope = contender.scope();
    let stat = recovery.stat()?;
    let age = contender.host.clock.now_ms().saturating_sub(stat.modified_ms.max(stat.changed_ms));
    if age < LEFTOVER_MS {
        return Err(Error::in_progress(scope, "it is empty and has changed within the last 5 s"));
    }
    for name in entry.dir.list()?.iter().filter_map(|name| name.to_str()) {
        if is_owner_file(name) && name != entry.name && may_act(contender, &entry.dir, name)? {
            return Err(Error::in_progress(
                scope,
                &format!("it is empty, and {name} may belong to its claimant"),
            ));
        }
    }
    Ok(())
}

/// Remove the leftover. A claim that took the name meanwhile is not empty and stays.
fn remove_leftover(entry: &Entry, recovery: &Dir) -> Result<(), Error> {
    match recovery.unlink(PIN) {
        Err(error) if error.is_missing() => {}
        unlinked => unlinked?,
    }
    match entry.dir.remove_dir(RECOVERY) {
        Err(error) if error.is_missing() || error.is_taken() || error.is(Errno::ENOTEMPTY) => Ok(()),
        removed => Ok(removed.and_then(|()| entry.dir.sync())?),
    }
}

fn corrupt(contender: Contender<'_>, entry: &Entry, how: &str) -> Error {
    let path = entry.dir.path().join(RECOVERY);
    Error::Corrupt(format!("lease {} recovery at {} {how}", contender.scope(), path.display()))
}
