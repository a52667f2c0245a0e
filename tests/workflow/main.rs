//! Workflow runs: resume locks, audited recovery, repository evidence.

#[cfg(feature = "sim")]
mod kills;
#[path = "../mortal/mod.rs"]
mod mortal;
mod repository;
mod resume;
mod unlock;
