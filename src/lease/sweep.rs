//! The sweep (rule 6): leftovers of dead contenders go, by whoever holds the lease, when nobody else is there.
//!
//! A claim, a retired claim and a quarantine may each be in the hands of a living process that is named nowhere in
//! them. So they are swept only when a second look, after the listing, finds no `recovery` and no owner file of
//! another process of this host that may live: whoever was busy with something on the first list wrote its owner file
//! before, and removes it after.

use std::time::Duration;

use super::contender::Contender;
use super::entry::Entry;
use super::liveness::Judge;
use super::look::{self, ClaimFile};
use super::owner::is_owner_file;
use super::recover::remove_claim;
use super::{Error, NoHooks, CLAIM, PIN, RECOVERY};
use crate::files::{Dir, Identity};
use crate::host::Host;

/// So many entries go at most in one call.
const LIMIT: usize = 64;
/// A directory of more entries is listed once in a while only, so that ordinary calls stay cheap.
const LARGE: usize = 512;
const LARGE_EVERY: Duration = Duration::from_secs(60);

/// What a holder sees when it looks around first.
#[derive(Debug, Default)]
pub(super) struct FirstLook {
    /// Whether someone has published a claim.
    pub(super) recovery: bool,
    /// Leftovers, perhaps; none where the directory is large and was listed lately.
    candidates: Vec<String>,
}

/// Look for a claim and for leftovers. One listing answers both: a claim that was published before our link and whose
/// claimant goes on is there from before the listing's start to after its end.
pub(super) fn first_look(contender: Contender<'_>, entry: &Entry) -> Result<FirstLook, Error> {
    let memory = &contender.host.memory;
    let now = contender.host.clock.monotonic();
    if memory.has_swept() && !memory.may_sweep_again(entry.dir.identity()?, now, LARGE_EVERY) {
        return Ok(FirstLook { recovery: entry.dir.look(RECOVERY)?.is_some(), candidates: Vec::new() });
    }
    let names = entry.dir.list()?;
    if names.len() > LARGE {
        memory.swept(entry.dir.identity()?, now);
    }
    let recovery = names.iter().any(|name| name == RECOVERY);
    let candidates = names.into_iter().filter_map(|name| name.into_string().ok());
    Ok(FirstLook {
        recovery,
        candidates: candidates.filter(|name| is_leftover(name) && *name != entry.name).collect(),
    })
}

/// A sweep that somebody was in the way of. The holder tries once more when it lets the lease go.
#[derive(Debug)]
pub(super) struct PutOff {
    candidates: Vec<String>,
    this_host: String,
}

/// Sweep what the first look showed. Best effort: the lease is held whatever becomes of leftovers, and the next
/// holder looks again.
pub(super) fn sweep(contender: Contender<'_>, entry: &Entry, first: FirstLook) -> Option<PutOff> {
    let candidates = first.candidates;
    if candidates.is_empty() {
        return None;
    }
    match second_look(contender.judge(), entry) {
        Ok(Some(dead)) => {
            remove(entry, &candidates, &dead);
            None
        }
        // A caller's probe is asked within its call only.
        Ok(None) if contender.hooks.probe_pid().is_none() => {
            Some(PutOff { candidates, this_host: contender.plan.this_host.clone() })
        }
        _ => None,
    }
}

impl PutOff {
    /// Try again. The lease is still held.
    pub(super) fn sweep(&self, host: &Host, entry: &Entry) {
        let judge = Judge { host, hooks: &NoHooks, this_host: &self.this_host, stale_after_ms: None };
        if let Ok(Some(dead)) = second_look(judge, entry) {
            remove(entry, &self.candidates, &dead);
        }
    }
}

/// An owner file whose process is gone.
struct Dead {
    name: String,
    identity: Identity,
}

/// Dead owner files; `None` when somebody may still be busy.
fn second_look(judge: Judge<'_>, entry: &Entry) -> Result<Option<Vec<Dead>>, Error> {
    let names = entry.dir.list()?;
    if names.iter().any(|name| name == RECOVERY) {
        return Ok(None);
    }
    let mut dead = Vec::new();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    for name in names.filter(|name| is_owner_file(name) && *name != entry.name) {
        let Some(file) = look::contender(&entry.dir, &name)? else { continue };
        if judge.may_act(&file.owner, file.stat.modified_ms) {
            return Ok(None);
        }
        if file.owner.host == judge.this_host {
            dead.push(Dead { name, identity: file.stat.identity });
        }
    }
    Ok(Some(dead))
}

/// Claims first: they may be what still links a dead owner's file.
fn remove(entry: &Entry, listed: &[String], dead: &[Dead]) {
    let mut left = LIMIT;
    for name in listed.iter().filter(|name| is_claim(name)) {
        if left > 0 && remove_dead_claim(&entry.dir, name) {
            left -= 1;
        }
    }
    for Dead { name, identity } in dead.iter().filter(|dead| listed.contains(&dead.name)) {
        if left > 0 && remove_unlinked(&entry.dir, name, *identity) {
            left -= 1;
        }
    }
}

/// Whether a claim's directory was removed. One with a torn claim stays, and so does what is no directory or has
/// something foreign in it.
fn remove_dead_claim(dir: &Dir, name: &str) -> bool {
    let Ok(claim) = dir.open_dir(name) else { return false };
    let only_ours = claim.list().is_ok_and(|names| names.iter().all(|name| name == CLAIM || name == PIN));
    let whole = matches!(look::claim_file(&claim), Ok(ClaimFile::Missing | ClaimFile::Valid(_)));
    only_ours && whole && remove_claim(dir, name, &claim).is_ok()
}

/// Whether an owner file was removed: it is the one that was judged, and no other name leads to it.
fn remove_unlinked(dir: &Dir, name: &str, identity: Identity) -> bool {
    match dir.look(name) {
        Ok(Some(stat)) if stat.identity == identity && stat.links == 1 => dir.unlink(name).is_ok(),
        _ => false,
    }
}

/// Whether a name is one that a dead contender may have left.
pub(super) fn is_leftover(name: &str) -> bool {
    is_owner_file(name) || is_claim(name)
}

fn is_claim(name: &str) -> bool {
    ["recovery-claim-", "recovery-retired-", "quarantine-"].iter().any(|prefix| name.starts_with(prefix))
}
