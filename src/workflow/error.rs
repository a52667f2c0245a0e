//! Why a workflow operation did not do what was asked.

use std::borrow::Cow;

use crate::files::PathError;
use crate::lease;

/// Nothing was removed when one of these comes back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What the caller gave is no run id, actor, reason, path or snapshot.
    #[error("{0}")]
    Input(String),
    /// Another resume holds the run.
    #[error("{0}")]
    Held(String),
    /// The lock may not be removed: its owner is not dead, or what is there is not what was previewed.
    #[error("{0}")]
    Refused(String),
    /// What is on disk is not what this project writes.
    #[error("{0}")]
    Corrupt(String),
    #[error(transparent)]
    Lease(#[from] lease::Error),
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Error {
    /// The stable code by which callers tell errors apart: of this list, the lease's, or the failed system call's.
    pub fn code(&self) -> Option<Cow<'static, str>> {
        let code = match self {
            Error::Input(_) => "WORKFLOW_INPUT",
            Error::Held(_) => "WORKFLOW_HELD",
            Error::Refused(_) => "WORKFLOW_REFUSED",
            Error::Corrupt(_) => "WORKFLOW_CORRUPT",
            Error::Lease(error) => return error.code(),
            Error::Path(error) => return error.code().map(Cow::Owned),
        };
        Some(Cow::Borrowed(code))
    }
}
