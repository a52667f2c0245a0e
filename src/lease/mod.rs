//! No-clobber leases: who may write.
//!
//! Ids come from [`Processes::fresh_id`](crate::process::Processes::fresh_id), time from the host's clock, everything
//! else from its files: a run is a function of what the machine answers, which is what the proofs rely on.

mod acquire;
mod claim;
mod clear;
mod contender;
mod entry;
mod error;
pub mod inspect;
pub(crate) mod inventory;
mod liveness;
mod look;
mod owner;
mod quiet;
mod recover;
mod release;
pub mod repair;
mod sweep;
mod wait;

use std::path::PathBuf;

use crate::clock::Pause;
use crate::javascript::text::Text;
use crate::javascript::Thrown;

pub use acquire::{acquire, Acquisition};
pub use claim::Claim;
pub use error::Error;
pub use inspect::inspect;
pub use liveness::Liveness;
pub use owner::Owner;
pub use release::Lease;
pub use repair::repair;
pub use wait::{acquire_within, Waiter};

/// The name that is the lease: a hard link to the holder's owner file.
const CURRENT: &str = "current";
/// The name of the claim that is being carried out.
const RECOVERY: &str = "recovery";
/// In a claim's directory: who replaces whom.
const CLAIM: &str = "claim.json";
/// In a claim's directory: a hard link to the replaced owner file.
const PIN: &str = "stale-pin";

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
    pub metadata: Option<Vec<(String, Text)>>,
    /// Milliseconds; must be a safe integer of at least 1.
    pub stale_after_ms: f64,
    /// A stand-in for this process.
    pub pid: Option<f64>,
    /// A stand-in for this host's name.
    pub host: Option<String>,
    pub durability: Durability,
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

impl RecoveryStep {
    /// As the harness names it.
    pub fn as_str(self) -> &'static str {
        match self {
            RecoveryStep::ClaimCreated => "claim_created",
            RecoveryStep::StalePinned => "stale_pinned",
            RecoveryStep::CurrentRemoved => "current_removed",
            RecoveryStep::NewCurrentLinked => "new_current_linked",
            RecoveryStep::RecoveryRetired => "recovery_retired",
        }
    }
}

/// What a supplied `probePid` answered: it returned, or threw an error with this `code` (if it had one).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    Returned,
    Threw { code: Option<String> },
}

/// A caller's `probePid`, in the place of the machine's answer.
pub trait Probe {
    fn probe(&self, pid: i64) -> Probed;
}

/// The caller's functions. Each is called at its stated point; a throw leaves the call unchanged (but for
/// `probe_pid`, where it is an answer).
pub trait Hooks {
    /// The caller's clock, in milliseconds since the epoch; `None` asks the host's.
    fn now(&self) -> Result<Option<f64>, Thrown> {
        Ok(None)
    }
    /// The caller's probe; `None`: the machine answers.
    fn probe_pid(&self) -> Option<&dyn Probe> {
        None
    }
    /// Whether a stale owner may be replaced; `None`: no function supplied, the scope alone decides.
    fn validate_stale_owner(&self, _owner: &Owner) -> Result<Option<bool>, Thrown> {
        Ok(None)
    }
    /// Just before the lease directory is created, on every acquire. Answers whether there was such a function: it
    /// may have done anything to the directory.
    fn on_lease_directory_create(&self) -> Result<bool, Thrown> {
        Ok(false)
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

impl Reason {
    /// As it is written in errors and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::OtherHost => "other-host",
            Reason::Clock => "clock",
            Reason::DifferentStaleAfter => "different-stale-after",
            Reason::Unexpired => "unexpired",
            Reason::Alive => "alive",
            Reason::OtherNamespace => "other-namespace",
            Reason::UnreadableLiveness => "unreadable-liveness",
        }
    }
}

/// How far an acquisition has come.
#[derive(Debug)]
pub enum Progress<T> {
    Done(T),
    /// Go on after this pause.
    Wait(Pause),
}
