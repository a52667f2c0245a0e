//! Looking at a lease: what state it is in, and a digest by which a repair recognises it. Nothing is changed.

use std::path::Path;

use super::contender::{not_opened, now, resolve};
use super::liveness::{Judge, Liveness};
use super::look::{self, ClaimFile};
use super::owner::is_owner_file;
use super::sweep::is_leftover;
use super::{inventory, Claim, Error, Hooks, Owner, CURRENT, PIN, RECOVERY};
use crate::files::{Dir, Kind, PathError};
use crate::host::Host;
use crate::javascript::json::safe_integer;

/// What a lease is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Free,
    Held,
    /// Held by an owner that may be replaced.
    Stale,
    /// Someone replaces, or was replacing, a stale holder.
    Recovering,
    /// Something in it is not what it should be: nobody acquires it until it is repaired.
    Corrupt,
}

/// What a look at a lease shows.
#[derive(Debug)]
pub struct Inspection {
    pub state: State,
    /// Whom `current` names.
    pub owner: Option<Owner>,
    /// Of the owner, or of the claimant where nobody is `current`.
    pub liveness: Option<Liveness>,
    pub claim: Option<Claim>,
    /// How many entries dead contenders have left.
    pub leftovers: usize,
    /// Of everything in the directory: names, devices, inodes, sizes and contents.
    pub digest: String,
    /// What makes it corrupt, by name, with the reason.
    pub flaws: Vec<(&'static str, String)>,
}

/// Look at a lease. A missing directory is a free lease.
///
/// Without `stale_after_ms` an owner's own times count.
///
/// # Errors
/// [`Error::Input`] for what no lease's path or duration is; [`Error::At`] when the directory or something in it
/// cannot be read.
pub fn inspect(
    host: &Host,
    path: &Path,
    stale_after_ms: Option<f64>,
    hooks: &dyn Hooks,
) -> Result<Inspection, Error> {
    let path = resolve(host, path)?;
    let stale_after_ms = match stale_after_ms.map(|ms| safe_integer(ms).filter(|ms| *ms > 0)) {
        Some(None) => {
            let why = "staleAfterMs must be a safe integer of at least 1";
            return Err(Error::Input(format!("no-clobber lease input is invalid: {why}")));
        }
        given => given.flatten(),
    };
    let this_host = host.processes.host_name();
    let judge = Judge { host, hooks, this_host: &this_host, stale_after_ms };
    let now = now(host, hooks)?;
    match Dir::open(&host.files, &path) {
        Ok(dir) => inspect_dir(&dir, &judge, now),
        Err(error) if error.is_missing() => Ok(free(inventory::digest(&[]))),
        Err(source) => Err(not_opened(host, &path, source)),
    }
}

/// Look at an open lease directory.
pub(super) fn inspect_dir(dir: &Dir, judge: &Judge<'_>, now: i64) -> Result<Inspection, Error> {
    let mut seen = free(inventory::digest(&inventory::read(dir)?));
    match look::owner_file(dir, CURRENT) {
        Ok(file) => seen.owner = file.map(|file| file.owner),
        Err(Error::Corrupt(why)) => seen.flaws.push((CURRENT, why)),
        Err(error) => return Err(error),
    }
    let recovering = look_at_recovery(dir, &mut seen)?;

    let acting = seen.owner.as_ref().or(seen.claim.as_ref().map(|claim| &claim.claimant));
    seen.liveness = acting.map(|owner| judge.verdict(owner, now));
    seen.state = match (&seen.owner, seen.liveness) {
        _ if !seen.flaws.is_empty() => State::Corrupt,
        _ if recovering => State::Recovering,
        (Some(_), Some(Liveness::Live(_))) => State::Held,
        (Some(_), _) => State::Stale,
        (None, _) => State::Free,
    };
    seen.leftovers = count_leftovers(dir, judge, &seen)?;
    Ok(seen)
}

fn free(digest: String) -> Inspection {
    Inspection {
        state: State::Free,
        owner: None,
        liveness: None,
        claim: None,
        leftovers: 0,
        digest,
        flaws: Vec::new(),
    }
}

/// Whether there is a recovery that contenders know how to deal with.
fn look_at_recovery(dir: &Dir, seen: &mut Inspection) -> Result<bool, Error> {
    match dir.look(RECOVERY)? {
        None => return Ok(false),
        Some(stat) if stat.kind != Kind::Directory => {
            seen.flaws.push((RECOVERY, "it is no directory".into()));
            return Ok(false);
        }
        Some(_) => {}
    }
    let recovery = dir.open_dir(RECOVERY)?;
    match look::claim_file(&recovery)? {
        ClaimFile::Valid(claim) => {
            seen.claim = Some(*claim);
            if let Err(error) = look::owner_file(&recovery, PIN) {
                match error {
                    Error::Corrupt(why) => seen.flaws.push((RECOVERY, format!("its pin is corrupt: {why}"))),
                    error => return Err(error),
                }
            }
        }
        ClaimFile::Missing if is_leftover_of_a_clean_up(&recovery)? => {}
        ClaimFile::Missing => seen.flaws.push((RECOVERY, "it has no claim.json".into())),
        ClaimFile::Invalid => seen.flaws.push((RECOVERY, "its claim.json is not valid".into())),
    }
    Ok(true)
}

/// Whether a directory without a claim is what an older version's clean-up leaves after a kill: empty, or with only a
/// pin.
pub(super) fn is_leftover_of_a_clean_up(recovery: &Dir) -> Result<bool, PathError> {
    Ok(match recovery.list()?.as_slice() {
        [] => true,
        [name] if name == PIN => recovery.look(PIN)?.is_none_or(|stat| stat.kind == Kind::File),
        _ => false,
    })
}

/// What neither the lease nor a call that may be under way needs.
fn count_leftovers(dir: &Dir, judge: &Judge<'_>, seen: &Inspection) -> Result<usize, Error> {
    let claimed = seen.claim.iter().flat_map(|claim| [&claim.claimant, &claim.observed_owner]);
    let needed: Vec<_> = seen.owner.iter().chain(claimed).map(|owner| owner.owner_file.as_str()).collect();
    let mut count = 0;
    for name in dir.list()?.iter().filter_map(|name| name.to_str()) {
        if !is_leftover(name) || needed.contains(&name) {
            continue;
        }
        let in_use = is_owner_file(name)
            && look::contender(dir, name)?
                .is_some_and(|file| judge.may_act(&file.owner, file.stat.modified_ms));
        count += usize::from(!in_use);
    }
    Ok(count)
}
