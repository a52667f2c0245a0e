//! Recovering a lock whose owner is dead: a look that changes nothing, then an audited removal of exactly what was
//! looked at.

use std::path::Path;

use super::audit::{self, Request};
use super::resume::{self, Lock, LockOwner, LOCK};
use super::{Error, Result, RunId};
use crate::files::{Dir, Sharing};
use crate::host::Host;
use crate::javascript::json::{Object, Value};
use crate::process::{Pid, Presence};

/// What is known of a lock's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerState {
    Dead,
    Live,
    Unknown,
    /// There is no lock.
    Absent,
}

impl OwnerState {
    pub fn as_str(self) -> &'static str {
        match self {
            OwnerState::Dead => "dead",
            OwnerState::Live => "live",
            OwnerState::Unknown => "unknown",
            OwnerState::Absent => "absent",
        }
    }
}

/// A lock as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// `None` when there is no lock.
    pub lock_sha256: Option<String>,
    pub owner_state: OwnerState,
    pub owner: Option<LockOwner>,
}

/// A lock that was removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Unlocked {
    pub was: Preview,
    /// The operation id of the audit record.
    pub recovery_id: String,
}

/// Who removes the lock, why, and that it is this one.
#[derive(Debug, Clone)]
pub struct Authorization<'a> {
    /// Of the preview.
    pub lock_sha256: Option<&'a str>,
    pub actor: &'a str,
    pub reason: &'a str,
}

/// Look at a run's lock. Changes nothing.
///
/// # Errors
/// [`Error::Corrupt`] for a lock that is no plain file of at most 8 KiB.
pub fn preview(host: &Host, coord_root: &Path, run_id: &RunId) -> Result<Preview> {
    match run_id.open(host, coord_root)? {
        Some(run) => look(host, &run),
        None => Ok(Preview { lock_sha256: None, owner_state: OwnerState::Absent, owner: None }),
    }
}

/// Remove a dead owner's lock. A kill between any two steps leaves the lock as it was, or gone with the intent on
/// disk.
///
/// # Errors
/// [`Error::Refused`] when the owner is not dead or the lock is not the one that was previewed; [`Error::Input`] for
/// a missing actor or reason.
pub fn unlock(
    host: &Host,
    coord_root: &Path,
    run_id: &RunId,
    authorization: &Authorization<'_>,
    sharing: Sharing,
) -> Result<Unlocked> {
    // Refused without making the directories that the lease would need.
    must_be_dead(&preview(host, coord_root, run_id)?)?;
    let (unlocked, released) = resume::under_mutation_lease(host, coord_root, run_id, || {
        let Some(run) = run_id.open(host, coord_root)? else { return Err(changed()) };
        let observed = look(host, &run)?;
        must_be_dead(&observed)?;
        let digest = match (&observed.lock_sha256, authorization.lock_sha256) {
            (Some(current), Some(given)) if current == given => current,
            _ => {
                return Err(refused("workflow resume unlock requires the exact current preview digest"));
            }
        };
        let target = Object::new()
            .with("lock", Some(LOCK))
            .with("owner", Some(observed.owner.as_ref().map_or(Value::Null, LockOwner::to_value)));
        let request = Request {
            action: "unlock_resume",
            target_sha256: digest,
            target: Value::Object(target),
            actor: authorization.actor,
            reason: authorization.reason,
        };
        let audit = audit::begin(host, coord_root, run_id, &request, sharing)?;
        audit.assert_current(host)?;
        // Last: nothing but the unlink comes after it.
        let current = look(host, &run)?;
        if current.lock_sha256 != observed.lock_sha256 || current.owner_state != OwnerState::Dead {
            return Err(changed());
        }
        run.unlink(LOCK)?;
        run.sync()?;
        audit.complete(host)?;
        Ok(Unlocked { recovery_id: audit.operation_id(), was: observed })
    })?;
    released?;
    Ok(unlocked)
}

fn look(host: &Host, run: &Dir) -> Result<Preview> {
    let Some(lock) = resume::read(run)? else {
        return Ok(Preview { lock_sha256: None, owner_state: OwnerState::Absent, owner: None });
    };
    let owner = lock.owner();
    let owner_state = owner.as_ref().map_or(OwnerState::Unknown, |owner| state_of(host, owner));
    Ok(Preview { lock_sha256: Some(Lock::digest(&lock)), owner_state, owner })
}

fn state_of(host: &Host, owner: &LockOwner) -> OwnerState {
    let processes = host.processes.as_ref();
    let Some(pid) = Pid::new(owner.pid) else { return OwnerState::Unknown };
    if owner.host != *processes.host_name() {
        return OwnerState::Unknown;
    }
    match processes.presence(pid) {
        Presence::Absent => OwnerState::Dead,
        // What may not be signalled is there, but whose it is cannot be told.
        Presence::Present if !may_be_signalled(host, pid) => OwnerState::Unknown,
        Presence::Present => OwnerState::Live,
        Presence::Unknown => OwnerState::Unknown,
    }
}

fn may_be_signalled(host: &Host, pid: Pid) -> bool {
    let me = host.processes.effective_uid();
    me == 0 || host.processes.uid(pid) == Some(me)
}

impl LockOwner {
    /// As it is shown and recorded.
    pub fn to_value(&self) -> Value {
        let members = Object::new()
            .with("pid", Some(self.pid))
            .with("host", Some(Value::String(self.host.clone())))
            .with("created_at", Some(Value::String(self.created_at.clone())));
        Value::Object(members)
    }
}

fn must_be_dead(preview: &Preview) -> Result<()> {
    match preview.owner_state {
        OwnerState::Dead => Ok(()),
        other => Err(refused(&format!("workflow resume unlock refused: owner is {}", other.as_str()))),
    }
}

fn changed() -> Error {
    refused("workflow resume lock authority changed before unlock")
}

fn refused(why: &str) -> Error {
    Error::Refused(why.to_owned())
}
