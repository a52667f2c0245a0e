//! The mutation lease of an id: who may change its registration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::{Dir, Kind};
use crate::host::users::owner_to_keep;
use crate::host::Host;
use crate::javascript::json::sha256_hex;
use crate::lease::{self, acquire_within, Durability, Lease, NoHooks};
use crate::process::{witness, Judgement};
use crate::servers::store::directory::directory;
use crate::servers::{Error, ServerId};

/// What to ask for. A power cut ends every holder on this machine, so the lease need not survive one.
pub fn input(coord_root: &Path, id: &ServerId) -> lease::Input {
    let scope = format!("server-registration-{id}");
    lease::Input {
        path: leases(coord_root).join(id.as_str()),
        authority_sha256: sha256_hex(scope.as_bytes()),
        scope,
        metadata: None,
        stale_after_ms: 1.0,
        pid: None,
        host: None,
        durability: Durability::Process,
    }
}

/// Take the lease, waiting for another process at most `wait`.
///
/// A holder in this very process is not waited for: it could never let go while this thread blocks.
///
/// # Errors
/// [`Error::Lease`] as the lease gives it; [`Error::Retained`] when the leases' directory leads elsewhere.
pub fn take(host: &Host, coord_root: &Path, id: &ServerId, wait: Duration) -> Result<Lease, Error> {
    must_lie_here(host, coord_root)?;
    make_for_owner(host, coord_root, id)?;
    let input = input(coord_root, id);
    match lease::acquire(host, &input, &NoHooks) {
        Err(refusal) if refusal.is_contention() && !wait.is_zero() && !is_held_here(host, &refusal) => {
            Ok(acquire_within(host, &input, &NoHooks, wait)?)
        }
        taken => Ok(taken?),
    }
}

/// Do `change` under the lease of an id, and let the lease go whatever comes of it.
///
/// # Errors
/// As [`take`], what `change` gives, else what letting go gives: the lease was lost, and the change may have met another;
/// or it could not be let go, and keeps everybody from changing the id until this process has ended.
pub fn under<T>(
    host: &Host,
    coord_root: &Path,
    id: &ServerId,
    wait: Duration,
    change: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut lease = take(host, coord_root, id, wait)?;
    let changed = change();
    let released = lease.let_go(host);
    let changed = changed?;
    released?;
    Ok(changed)
}

/// Refuse when the leases' directory is none: a symbolic link would lead out of the registry.
///
/// # Errors
/// [`Error::Retained`]
pub(super) fn must_lie_here(host: &Host, coord_root: &Path) -> Result<(), Error> {
    let leases = leases(coord_root);
    match host.files.stat(&leases) {
        Ok(stat) if stat.kind != Kind::Directory => Err(Error::Retained(format!(
            "{} is no directory (a symbolic link, a file); nothing was changed, make it a real directory",
            leases.display()
        ))),
        // Missing, or not to be looked at: the acquisition goes by that.
        _ => Ok(()),
    }
}

/// What root makes in a user's registry is the user's: they could not look into root's.
fn make_for_owner(host: &Host, coord_root: &Path, id: &ServerId) -> Result<(), Error> {
    let mut dir = match Dir::open(&host.files, &directory(coord_root)) {
        Ok(dir) => dir,
        Err(error) if error.is_missing() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let Ok(Some((uid, gid))) = owner_to_keep(host, &dir.stat()?) else { return Ok(()) };
    for name in [LEASES, id.as_str()] {
        match dir.make_dir(name, 0o700) {
            Err(error) if !error.is_taken() => return Err(error.into()),
            _ => dir = dir.open_dir(name)?,
        }
        if dir.stat()?.uid != uid {
            dir.set_owner(uid, gid)?;
        }
    }
    Ok(())
}

const LEASES: &str = ".custody";

fn leases(coord_root: &Path) -> PathBuf {
    directory(coord_root).join(LEASES)
}

fn is_held_here(host: &Host, refusal: &lease::Error) -> bool {
    let lease::Error::Held { holder, .. } = refusal else { return false };
    let me = host.processes.me();
    // The number may be another's, in another pid namespace of this machine.
    let is_another = holder.witness.as_ref().is_some_and(|recorded| {
        matches!(
            witness::judge(host.processes.as_ref(), me, recorded),
            Judgement::Elsewhere | Judgement::Different | Judgement::Gone
        )
    });
    holder.pid == i64::from(me.get()) && holder.host == host.processes.host_name() && !is_another
}
