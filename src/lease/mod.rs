//! No-clobber leases: who may write.
//!
//! Ids come from [`Processes::fresh_id`](crate::process::Processes::fresh_id), time from the host's clock, everything
//! else from its files: a run is a function of what the machine answers, which is what the proofs rely on.

use std::path::PathBuf;

use crate::clock::Pause;
use crate::files::PathError;
use crate::javascript::json::Value;
use crate::javascript::Thrown;

/// What survives a power cut. Whatever is chosen, a kill at any moment is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The state of the lease itself: three syncs for an acquire and release.
    #[default]
    Power,
    /// The owner's file only: one sync. A power cut ends every holder on this machine anyway.
    Process,
}

/// What a contender asks for.
#[derive(Debug, Clone)]
pub struct Input {
    pub path: PathBuf,
    pub scope: String,
    pub authority_sha256: String,
    /// In JavaScript's key order.
    pub metadata: Option<Vec<(String, String)>>,
    /// Milliseconds; must be a safe integer of at least 1.
    pub stale_after_ms: f64,
    /// A stand-in for this process.
    pub pid: Option<f64>,
    /// A stand-in for this host's name.
    pub host: Option<String>,
    pub durability: Durability,
}

/// How a lease names its holder. Field names and order on disk are the harness's.
#[derive(Debug, Clone, PartialEq)]
pub struct Owner {
    pub owner_id: String,
    pub owner_file: String,
    pub scope: String,
    pub authority_sha256: String,
    pub metadata: Option<Vec<(String, String)>>,
    pub pid: i64,
    pub host: String,
    pub created_at: String,
    pub expires_at: String,
    pub witness: Option<crate::process::Witness>,
    /// The whole object as it is on disk, unknown fields included.
    pub value: Value,
}

/// The boundaries of a recovery, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryStep {
    ClaimCreated,
    StalePinned,
    CurrentRemoved,
    NewCurrentLinked,
    RecoveryRetired,
}

/// What a supplied `probePid` answered: it returned, or threw an error with this `code` (if it had one).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    NotSupplied,
    Returned,
    Threw { code: Option<String> },
}

/// The caller's functions. Each is called at its stated point; a throw leaves the call unchanged (but for
/// `probe_pid`, where it is an answer).
pub trait Hooks {
    /// The caller's clock, in milliseconds since the epoch; `None` asks the host's.
    fn now(&self) -> Result<Option<f64>, Thrown> {
        Ok(None)
    }
    fn probe_pid(&self, _pid: i64) -> Probed {
        Probed::NotSupplied
    }
    /// Whether a stale owner may be replaced; `None`: no function supplied, the scope alone decides.
    fn validate_stale_owner(&self, _owner: &Owner) -> Result<Option<bool>, Thrown> {
        Ok(None)
    }
    fn on_lease_directory_create(&self) -> Result<(), Thrown> {
        Ok(())
    }
    fn on_contention(&self) -> Result<(), Thrown> {
        Ok(())
    }
    fn on_recovery_step(&self, _step: RecoveryStep) -> Result<(), Thrown> {
        Ok(())
    }
}

/// No functions: the host answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}

/// Why a holder is not provably dead, in the order in which the first that fits counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    OtherHost,
    Clock,
    DifferentStaleAfter,
    Unexpired,
    Alive,
    OtherNamespace,
    UnreadableLiveness,
}

/// Why a lease operation did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `LEASE_INPUT`: nothing was written.
    #[error("{0}")]
    Input(String),
    /// `LEASE_HELD`.
    #[error("{message}")]
    Held { message: String, holder: Box<Owner>, reason: Reason },
    /// `LEASE_RECOVERING`.
    #[error("{0}")]
    Recovering(String),
    /// `LEASE_AUTHORITY`.
    #[error("{0}")]
    Authority(String),
    /// `LEASE_CORRUPT`.
    #[error("{0}")]
    Corrupt(String),
    /// `LEASE_LOST`.
    #[error("{0}")]
    Lost(String),
    /// `LEASE_UNSUPPORTED`: the file system cannot hard-link.
    #[error("{0}")]
    Unsupported(String),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("a caller's function threw")]
    Thrown(Thrown),
}

/// How far an acquisition has come.
#[derive(Debug)]
pub enum Progress<T> {
    Done(T),
    /// Go on after this pause.
    Wait(Pause),
}
