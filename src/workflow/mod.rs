//! Workflow runs: who may resume one, how a dead owner's lock is recovered and by whom, what the repository was like.
//!
//! ```text
//! <coordRoot>/.harnery/workflows/<runId>/
//!   run.json                       the run's manifest: the harness's own
//!   resume.lock                    who is resuming the run
//!   resume-mutation.lease/         held while resume.lock is made or removed
//!   recovery/<operation_id>/       one recovery: intent.json, and completion.json once it was carried out
//! ```
//!
//! [`resume`] takes the lock and gives it back; [`recovery`] looks at it and removes a dead owner's, which [`audit`]
//! records first. [`repository`] asks Git what a work tree is like, [`snapshot`] compares two answers.

pub mod audit;
mod error;
pub mod recovery;
pub mod repository;
pub mod resume;
mod run;
pub mod snapshot;
mod status;

pub use error::Error;
pub use run::RunId;

type Result<T> = std::result::Result<T, Error>;
