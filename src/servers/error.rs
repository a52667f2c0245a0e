//! Why a registry operation did not do what was asked.

use crate::files::PathError;
use crate::javascript::paths::NulInPath;
use crate::javascript::Thrown;
use crate::{lease, net};

/// Nothing of the registry was changed when one of these comes back, but for an [`Error::Lease`] that tells of a mutation
/// lease that was lost or could not be let go: the change was made under it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What the caller gave is no server's: an id, a pid, a port.
    #[error("{0}")]
    Input(String),
    #[error(transparent)]
    Nul(#[from] NulInPath),
    /// No coordination root where one is needed.
    #[error("no Harnery project found (coordination root did not resolve)")]
    NoProject,
    /// A record or the registry itself is not what it must be; it was left as it is.
    #[error("{0}")]
    Retained(String),
    /// Another registration, or another process, has the id.
    #[error("{0}")]
    Custody(String),
    /// The registry's lock could not be had in time.
    #[error("{0}")]
    Busy(String),
    /// Who listens, or how many connections there are, could not be found out.
    #[error(transparent)]
    Sockets(#[from] net::Error),
    /// A process could not be held or signalled; nothing more was sent.
    #[error(transparent)]
    Process(#[from] crate::process::signal::Error),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Lease(#[from] lease::Error),
    #[error("a caller's function threw")]
    Thrown(Thrown),
}
