//! No-clobber leases: who may write.
//!
//! A lease is a directory. Whoever's owner file `current` is a hard link to holds it; the link is the lease, the file
//! only says whose it is. A holder that is provably dead may be replaced, under a claim that everyone sees.
//!
//! | `current` | `recovery` | the lease is | a contender |
//! | --- | --- | --- | --- |
//! | absent | absent | free | links its own owner file to `current` (rule 4: looked at in this order) |
//! | a live owner's | absent | held | is refused, with the reason |
//! | a dead owner's | absent | stale | publishes a claim (rule 2: pinned before), waits for quiet (rule 1), replaces it |
//! | any | a live claimant's claim | being recovered | is refused |
//! | any | a dead claimant's, finished or not (rule 3) | abandoned | renames it away and removes it (rules 5 and 7), looks again |
//! | any | empty, or only a pin | an older version's leftover | removes it once it was left alone for 5 s, looks again |
//! | no owner's text, or a `recovery` that is no claim | | corrupt | is refused with the path; an audited repair helps |
//!
//! Whoever holds sweeps what the dead have left, when nobody else is there (rule 6). Every rule is where it is carried
//! out: 1 in `quiet`, 2 and the order of a recovery in `recover`, 3, 5 and 7 in `clear`, 4 in `acquire`, 6 in `sweep`.
//! They are the smallest that leave no two holders and no stuck lease in an exhaustive search over every interleaving
//! and kill of native contenders, and with one JavaScript contender among them.
//!
//! # What is assumed
//!
//! `link`, `rename` and exclusive creation are atomic; a rename onto an empty directory replaces it, onto any other it
//! fails. One host name is one machine. An id is drawn once. Times of files and the system clock are compared only
//! where a process left no witness, with 2 s to spare; a step of the clock in between can make a living JavaScript
//! contender count as gone there.
//!
//! # What JavaScript contenders can do
//!
//! Two of them can rob each other, and then a native holder, because theirs have no rule 1:
//!
//! 1. D, the holder, is dead, and so is C, whose claim is at `recovery`. A and B both read the claim and judge C dead. B
//!    stops right before its rename.
//! 2. A renames `recovery` away, clears it, judges D dead, publishes its own claim, pins and checks.
//! 3. B goes on: its rename takes away A's living claim. B clears it, publishes its own, pins D and checks.
//! 4. A unlinks D's `current`, links its own, retires what is at `recovery` (B's claim): A holds.
//! 5. B unlinks `current`, which is A's, and links its own: B holds, too, and A's release finds its ownership changed.
//!
//! A JavaScript contender in another pid namespace sees `ESRCH` for a holder that lives, and may rob it once its time is
//! over; a native one sees by the witness that the holder is elsewhere.
//!
//! # Running it elsewhere
//!
//! Ids come from [`Processes::fresh_id`](crate::process::Processes::fresh_id), time from the host's clock, everything
//! else from its files: a run is a function of what the machine answers, which is what the proofs rely on. A
//! protocol yields its waits ([`Progress::Wait`]) instead of sleeping; the synchronous forms block in
//! [`Clock::pause`](crate::clock::Clock::pause). Dropping anything closes handles and touches nothing on disk.

mod acquire;
mod claim;
mod clear;
mod contender;
mod draft;
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
pub use draft::Composed;
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
