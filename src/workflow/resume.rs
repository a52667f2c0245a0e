//! The lock of a resume: an exclusive file that names who is resuming a run.
//!
//! A lock that exists always refuses, whoever holds it and however old it is; only [`recovery`](super::recovery)
//! removes one that its owner did not. It is made and removed under a no-clobber lease of its own, except by the
//! owner that gives it back: nobody else may remove a living owner's lock, and waiting for the lease would leave it
//! behind.

use std::path::Path;

use super::{Error, Result, RunId};
use crate::files::record::{self, Read};
use crate::files::{Dir, File, Identity, PathError, Sharing};
use crate::host::Host;
use crate::javascript::json::{self, Object, Value};
use crate::javascript::text::Text;
use crate::javascript::timestamp;
use crate::lease::{self, Durability, Hooks, Input, Owner};

pub(super) const LOCK: &str = "resume.lock";
/// The lock in preparation. Only a holder of the mutation lease makes one, so what a killed one left may go.
const PREPARED: &str = "resume.lock.tmp";
/// A larger lock is none.
pub(super) const LOCK_LIMIT_BYTES: usize = 8 * 1024;
const MUTATION_STALE_AFTER_MS: f64 = 300_000.0;

/// A held lock.
#[derive(Debug)]
#[must_use = "a resume lock that is not released stays until it is recovered"]
pub struct ResumeLock {
    run: Dir,
    /// Kept open: its inode's number is nobody else's, and reading it takes no further descriptor.
    file: File,
    identity: Identity,
    bytes: Vec<u8>,
}

/// Who holds a lock, as far as its file says so.
#[derive(Debug, Clone, PartialEq)]
pub struct LockOwner {
    pub pid: i64,
    pub host: Text,
    pub created_at: Text,
}

/// Take the lock of a run.
///
/// # Errors
/// [`Error::Held`] when there is one; [`Error::Lease`] when it is just being made or removed.
pub fn acquire(host: &Host, coord_root: &Path, run_id: &RunId, sharing: Sharing) -> Result<ResumeLock> {
    let run = run_id.create(host, coord_root, sharing)?;
    let (made, released) = under_mutation_lease(host, coord_root, run_id, || make(host, &run, sharing))?;
    match (made, released) {
        (Some((file, identity, bytes)), released) => {
            let lock = ResumeLock { run, file, identity, bytes };
            return match released {
                Ok(()) => Ok(lock),
                Err(error) => {
                    lock.release();
                    Err(error.into())
                }
            };
        }
        (None, released) => released?,
    }
    let holder = match read(&run)?.and_then(|lock| lock.owner()) {
        Some(LockOwner { pid, host, .. }) => {
            format!(" by pid {pid} on {host}; its liveness has not been verified")
        }
        None => "; its owner could not be verified".to_owned(),
    };
    Err(Error::Held(format!("workflow run {} resume lease is already held{holder}", run_id.as_str())))
}

impl ResumeLock {
    /// Give it back, if it still is this very file with these very bytes; what is someone else's is left alone. Never
    /// fails: whether nothing is left to be given back, or a call failed and it may be tried again.
    pub fn release(&self) -> bool {
        // While this process lives nobody else may remove it: one failing call must not leave it behind.
        self.remove_ours().or_else(|_| self.remove_ours()).is_ok()
    }

    fn remove_ours(&self) -> std::result::Result<(), PathError> {
        match self.run.look(LOCK)? {
            Some(stat) if stat.identity == self.identity => {}
            _ => return Ok(()),
        }
        if self.file.read_up_to(self.bytes.len() + 1)? != self.bytes {
            return Ok(());
        }
        self.run.unlink(LOCK)?;
        let _ = self.run.sync();
        Ok(())
    }
}

/// A lock file as it is on disk.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) identity: Identity,
    pub(super) bytes: Vec<u8>,
}

/// The lock file; `None` when there is none.
///
/// # Errors
/// [`Error::Corrupt`] for what is no plain file of at most 8 KiB.
pub(super) fn read(run: &Dir) -> Result<Option<Lock>> {
    match record::read(run, LOCK, LOCK_LIMIT_BYTES)? {
        Read::Missing => Ok(None),
        Read::Bytes { bytes, stat } => Ok(Some(Lock { identity: stat.identity, bytes })),
        Read::NotAFile(_) | Read::TooLarge(_) => {
            Err(Error::Corrupt("resume lock is not a bounded regular file".to_owned()))
        }
    }
}

impl Lock {
    /// What the file says of its owner; `None` when it says nothing that can be relied on.
    pub(super) fn owner(&self) -> Option<LockOwner> {
        let value = json::parse(&self.bytes).ok()?;
        let owner = value.as_object()?;
        let created_at = owner.get("created_at")?.as_text()?;
        let is_instant =
            created_at.length() <= 40 && created_at.to_str().and_then(timestamp::parse).is_some();
        Some(LockOwner {
            pid: owner.get("pid")?.as_safe_integer().filter(|pid| *pid > 0)?,
            host: owner.get("host")?.as_text().filter(|host| !host.is_empty())?.clone(),
            created_at: is_instant.then(|| created_at.clone())?,
        })
    }

    /// `stableDigest({ bytes, device, inode })` as JavaScript computes it, numbers above 2⁵³ rounded to a double.
    pub(super) fn digest(&self) -> String {
        let content = Object::new()
            .with("bytes", Some(String::from_utf8_lossy(&self.bytes).into_owned()))
            .with("device", Some(Value::Number(self.identity.device as f64)))
            .with("inode", Some(Value::Number(self.identity.inode as f64)));
        json::digest(&Value::Object(content))
    }
}

/// Make the lock whole or not at all; `None` when there is one.
fn make(host: &Host, run: &Dir, sharing: Sharing) -> Result<Option<(File, Identity, Vec<u8>)>> {
    let owner = Object::new()
        .with("owner_id", Some(host.processes.fresh_id()))
        .with("pid", Some(i64::from(host.processes.me().get())))
        .with("host", Some(host.processes.host_name()))
        .with("created_at", timestamp::format(host.clock.now_ms()));
    let bytes = (json::stringify(&Value::Object(owner)) + "\n").into_bytes();
    if run.look(PREPARED)?.is_some() {
        run.unlink(PREPARED)?;
    }
    let file = sharing.create_file(run, PREPARED)?;
    let linked =
        file.write_all_at(0, &bytes).and_then(|()| file.sync()).and_then(|()| run.link(PREPARED, run, LOCK));
    let cleared = run.unlink(PREPARED);
    match linked {
        Ok(()) => {}
        Err(error) if error.is_taken() => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let settled = cleared.and_then(|()| run.sync()).and_then(|()| file.stat());
    match settled {
        Ok(stat) => Ok(Some((file, stat.identity, bytes))),
        Err(error) => {
            // Nobody would ever give it back.
            let _ = run.unlink(LOCK);
            Err(error.into())
        }
    }
}

/// Do something that makes or removes the lock while nobody else does: what came out, and whether the lease for it
/// could be given back.
pub(super) fn under_mutation_lease<T>(
    host: &Host,
    coord_root: &Path,
    run_id: &RunId,
    action: impl FnOnce() -> Result<T>,
) -> Result<(T, std::result::Result<(), lease::Error>)> {
    let authority = mutation_authority(run_id);
    let input = Input {
        path: run_id.directory(coord_root).join("resume-mutation.lease"),
        scope: "workflow-resume-mutation".to_owned(),
        authority_sha256: authority.clone(),
        metadata: None,
        stale_after_ms: MUTATION_STALE_AFTER_MS,
        pid: None,
        host: None,
        durability: Durability::Power,
    };
    let mut lease = lease::acquire(host, &input, &SameAuthority(authority))?;
    let done = action();
    let released = lease.let_go(host);
    Ok((done?, released))
}

/// `stableDigest({ run_id, lock: "resume.lock" })`
fn mutation_authority(run_id: &RunId) -> String {
    json::digest(&Value::Object(Object::new().with("run_id", Some(run_id.as_str())).with("lock", Some(LOCK))))
}

/// A dead holder of the mutation lease is replaced only for the same run.
struct SameAuthority(String);

impl Hooks for SameAuthority {
    fn validate_stale_owner(
        &self,
        owner: &Owner,
    ) -> std::result::Result<Option<bool>, crate::javascript::Thrown> {
        Ok(Some(owner.authority_sha256 == self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &[u8], device: u64, inode: u64) -> String {
        Lock { identity: Identity { device, inode }, bytes: bytes.to_vec() }.digest()
    }

    // Each computed by Node from what `lstatSync` and `readFileSync(…, "utf8")` give.
    #[test]
    fn the_digest_is_node_s_also_of_inodes_above_two_to_the_fifty_third() {
        assert_eq!(
            digest(b"{}\n", 39, 9_223_372_036_855_320_835),
            "945fef30d1d63d2f1118d17059f517505843a3e4e656ee0f40e4525ea5d63caa"
        );
        assert_eq!(
            digest(b"\"\xff\n", u64::MAX, (1 << 53) + 1),
            "1de2e6bb22d272d842c8ac74597bf08f7d9f20a0f2a2e0db9946fd1ef7cb31c7"
        );
        assert_eq!(
            digest("\u{feff}{}".as_bytes(), 64_513, 1_234_567),
            "fd161ac56fa20c583d95ea0f17a0f5d5f96a517a809e4f0b6cc3667dc475afdf"
        );
    }
}
