//! A contender: what it asks for, and what every step of its call needs.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::draft::{Composed, Draft};
use super::liveness::Judge;
use super::owner::{is_safe_component, Owner};
use super::{Durability, Error, Hooks, Input};
use crate::files::{Kind, PathError};
use crate::host::Host;
use crate::javascript::{paths, timestamp};
use crate::process::Pid;

/// A valid request: nothing that comes of it will be refused by a reader.
#[derive(Debug)]
pub(super) struct Plan {
    /// Absolute.
    pub(super) path: PathBuf,
    pub(super) scope: String,
    pub(super) stale_after_ms: i64,
    pub(super) durability: Durability,
    pub(super) owner: Composed,
    /// The name of this machine.
    pub(super) this_host: String,
    /// This process, whatever number the owner has.
    pub(super) me: Pid,
}

/// One step's view of a call.
#[derive(Clone, Copy)]
pub(super) struct Contender<'a> {
    pub(super) host: &'a Host,
    pub(super) hooks: &'a dyn Hooks,
    pub(super) plan: &'a Plan,
}

impl Plan {
    /// Check everything that can be wrong with a request. Nothing is written.
    pub(super) fn new(host: &Host, input: &Input, hooks: &dyn Hooks) -> Result<Plan, Error> {
        let path = resolve(host, &input.path)?;
        let processes = &*host.processes;
        let (me, this_host) = (processes.me(), processes.host_name());
        let pid = input.pid.unwrap_or_else(|| f64::from(me.get()));
        let witness = match whole(pid).and_then(Pid::new) {
            // What runs on a host by another name is not to be observed from here.
            _ if input.host.is_some() => None,
            Some(pid) if pid == me => host.own_witness(me),
            Some(pid) => processes.witness(pid),
            None => None,
        };
        let draft = Draft {
            owner_id: processes.fresh_id(),
            scope: &input.scope,
            authority_sha256: &input.authority_sha256,
            metadata: input.metadata.as_deref(),
            pid,
            host: input.host.as_deref().unwrap_or(&this_host),
            created_ms: now(host, hooks)?,
            stale_after_ms: input.stale_after_ms,
            witness: witness.as_ref(),
        };
        let owner = draft.compose().map_err(invalid)?;
        let stale_after_ms = whole(input.stale_after_ms).unwrap_or(i64::MAX);
        let (scope, durability) = (input.scope.clone(), input.durability);
        Ok(Plan { path, scope, stale_after_ms, durability, owner, this_host, me })
    }
}

impl<'a> Contender<'a> {
    /// Milliseconds since the epoch, by the caller's clock or the host's.
    pub(super) fn now(&self) -> Result<i64, Error> {
        now(self.host, self.hooks)
    }

    pub(super) fn judge(&self) -> Judge<'a> {
        Judge {
            host: self.host,
            hooks: self.hooks,
            this_host: &self.plan.this_host,
            stale_after_ms: Some(self.plan.stale_after_ms),
        }
    }

    pub(super) fn scope(&self) -> &'a str {
        &self.plan.scope
    }

    /// Whether a stale owner may be replaced: the same scope, and the caller agrees where it has a say.
    pub(super) fn may_replace(&self, owner: &Owner) -> Result<bool, Error> {
        if owner.scope != self.plan.scope {
            return Ok(false);
        }
        let validated = self.hooks.validate_stale_owner(owner).map_err(Error::Thrown)?;
        Ok(validated != Some(false))
    }
}

/// Milliseconds since the epoch, by the caller's clock or the host's.
pub(super) fn now(host: &Host, hooks: &dyn Hooks) -> Result<i64, Error> {
    match hooks.now().map_err(Error::Thrown)? {
        None => Ok(host.clock.now_ms()),
        Some(ms) => {
            timestamp::from_number(ms).ok_or_else(|| invalid("now must be within what a Date can hold"))
        }
    }
}

/// A lease's absolute path.
pub(super) fn resolve(host: &Host, path: &Path) -> Result<PathBuf, Error> {
    if path.as_os_str().as_bytes().contains(&0) {
        return Err(invalid("path must not contain null bytes"));
    }
    let path = host.resolve(path);
    match paths::basename(&path).to_str() {
        Some(name) if is_safe_component(name) => Ok(path),
        _ => Err(invalid("the last part of path must be a safe component")),
    }
}

/// Why a lease's directory could not be opened.
pub(super) fn not_opened(host: &Host, path: &Path, source: PathError) -> Error {
    let is_link = host.files.stat(path).is_ok_and(|stat| stat.kind == Kind::Symlink);
    let why = if is_link { " (it is a symbolic link, and not followed)" } else { "" };
    Error::At { what: format!("lease directory {} cannot be opened{why}", path.display()), source }
}

fn whole(number: f64) -> Option<i64> {
    crate::javascript::json::safe_integer(number)
}

fn invalid(why: &str) -> Error {
    Error::Input(format!("no-clobber lease input is invalid: {why}"))
}
