//! Why a lease operation did not do what was asked.

use std::borrow::Cow;

use super::{Owner, Reason};
use crate::files::PathError;
use crate::javascript::Thrown;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `LEASE_INPUT`: nothing was written.
    #[error("{0}")]
    Input(String),
    /// `LEASE_HELD`.
    #[error("{message}")]
    Held { message: String, holder: Box<Owner>, reason: Reason },
    /// `LEASE_RECOVERING`: someone else replaces a stale holder, or came in between.
    #[error("{0}")]
    Recovering(String),
    /// `LEASE_AUTHORITY`.
    #[error("{0}")]
    Authority(String),
    /// `LEASE_CORRUPT`: something in the directory is not what it should be. It is left as it is.
    #[error("{0}")]
    Corrupt(String),
    /// `LEASE_LOST`.
    #[error("{0}")]
    Lost(String),
    /// `LEASE_UNSUPPORTED`: the file system cannot hard-link.
    #[error("{0}")]
    Unsupported(String),
    /// A system call failed, with its own code.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A system call failed, with its own code, while this was done.
    #[error("{what}: {source}")]
    At { what: String, source: PathError },
    /// A caller's function threw. The value leaves the call unchanged.
    #[error("a caller's function threw")]
    Thrown(Thrown),
}

impl Error {
    /// The stable code: `LEASE_…`, or the failed system call's. `None` for what a caller's function threw.
    pub fn code(&self) -> Option<Cow<'static, str>> {
        let code = match self {
            Error::Input(_) => "LEASE_INPUT",
            Error::Held { .. } => "LEASE_HELD",
            Error::Recovering(_) => "LEASE_RECOVERING",
            Error::Authority(_) => "LEASE_AUTHORITY",
            Error::Corrupt(_) => "LEASE_CORRUPT",
            Error::Lost(_) => "LEASE_LOST",
            Error::Unsupported(_) => "LEASE_UNSUPPORTED",
            Error::Path(source) | Error::At { source, .. } => return source.code().map(Cow::Owned),
            Error::Thrown(_) => return None,
        };
        Some(Cow::Borrowed(code))
    }

    /// Whether waiting may help: the lease is held or being recovered.
    pub fn is_contention(&self) -> bool {
        matches!(self, Error::Held { .. } | Error::Recovering(_))
    }

    pub(super) fn in_progress(scope: &str, detail: &str) -> Error {
        Error::Recovering(format!("lease {scope} recovery is already in progress: {detail}"))
    }

    pub(super) fn raced(scope: &str, detail: &str) -> Error {
        Error::Recovering(format!("lease {scope} recovery raced with another contender: {detail}"))
    }

    pub(super) fn ownership_changed(scope: &str) -> Error {
        Error::Lost(format!("lease {scope} ownership changed"))
    }
}

/// How a step ends a call before its time.
#[derive(Debug)]
pub(super) enum Stop {
    /// What is the call's own is cleared away.
    Failed(Error),
    /// An injected crash: everything stays as it is.
    Crashed(Thrown),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.into())
    }
}
