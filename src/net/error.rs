//! What can keep the machine's sockets from being listed.

use std::io;
use std::time::Duration;

use crate::files::PathError;

/// Why the machine's TCP sockets could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot list the TCP sockets of this machine: {0}")]
    Unreadable(#[from] PathError),
    #[error("cannot list the TCP sockets of this machine: the kernel's socket diagnostics failed: {0}")]
    Diagnostics(#[source] io::Error),
    #[error("cannot list the TCP sockets of this machine: lsof did not start ({0}); install lsof or add it to PATH")]
    LsofMissing(#[source] io::Error),
    #[error("cannot list the TCP sockets of this machine: lsof gave no answer within {} ms", .0.as_millis())]
    LsofSlow(Duration),
    #[error("cannot list the TCP sockets of this machine: lsof failed ({0})")]
    LsofFailed(String),
}
