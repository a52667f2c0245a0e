//! Sockets: who listens where, and how many connections a port has.
//!
//! On Linux the kernel's socket diagnostics answer (`diag`), else its text files (`procfs`); owners are found by the
//! descriptors of every process that may be read (`owners`). Elsewhere `lsof` is asked. All answer the same.

mod address;
#[cfg(target_os = "linux")]
mod diag;
mod error;
#[cfg(target_os = "linux")]
pub mod kernel;
pub mod lsof;
pub mod machine;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub mod nowhere;
#[cfg(target_os = "linux")]
mod owners;
pub mod procfs;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use address::Address;
pub use error::Error;

use crate::process::Pid;

/// Whether the kernel answers socket diagnostics to this process.
pub fn has_diagnostics() -> bool {
    #[cfg(target_os = "linux")]
    let answered = kernel::Kernel::by_diagnostics().listening_ports().is_ok();
    #[cfg(not(target_os = "linux"))]
    let answered = false;
    answered
}

/// How this machine's sockets can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScanSupport {
    Procfs,
    Lsof,
    Unsupported,
}

/// Address family of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    Tcp,
    Tcp6,
}

/// A listening TCP socket with everyone who holds it, as far as can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    pub port: u16,
    /// IPv4 dotted; `::`, `::1`; an IPv4-mapped address as IPv4; any other as `ipv6:` and 32 hex digits.
    pub address: String,
    pub family: Family,
    /// 0 where the system does not tell.
    pub inode: u64,
    pub uid: u32,
    /// Ascending; empty when no owner can be seen.
    pub pids: Vec<Pid>,
}

/// A port that a process listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListeningSocket {
    pub pid: Pid,
    pub port: u16,
    /// As in [`Listener::address`]; `lsof` writes `*` for every address.
    pub address: String,
}

/// A machine's sockets.
pub trait Sockets: fmt::Debug {
    fn support(&self) -> ScanSupport;
    /// Every listening TCP socket with every owner that can be seen, sorted by port, tcp before tcp6.
    ///
    /// # Errors
    /// When the machine's sockets cannot be read at all; an owner that cannot be read is no error.
    fn listeners(&self) -> Result<Vec<Listener>, Error>;
    /// The sockets of [`Sockets::listeners`] that have an owner, each with its lowest one, once per pid and port.
    ///
    /// # Errors
    /// As [`Sockets::listeners`].
    fn listening_sockets(&self) -> Result<Vec<ListeningSocket>, Error> {
        Ok(once_per_pid_and_port(self.listeners()?.into_iter().filter_map(|listener| {
            let pid = *listener.pids.first()?;
            Some(ListeningSocket { pid, port: listener.port, address: listener.address })
        })))
    }
    /// Every port that is listened on, owner seen or not, ascending; cheaper than [`Sockets::listeners`].
    ///
    /// # Errors
    /// As [`Sockets::listeners`].
    fn listening_ports(&self) -> Result<Vec<u16>, Error>;
    /// Established server-side connections by port, for those of `ports` that have any.
    ///
    /// # Errors
    /// As [`Sockets::listeners`].
    fn connections(&self, ports: &[u16]) -> Result<BTreeMap<u16, usize>, Error>;
}

/// How this machine's sockets can be looked at; the lists below are empty where they cannot.
pub fn scan_support(sockets: &dyn Sockets) -> ScanSupport {
    sockets.support()
}

/// Who listens on which port: sorted by port, once per pid and port, a shared socket with its lowest pid.
///
/// # Errors
/// When the machine's sockets cannot be read.
pub fn list_listening_sockets(sockets: &dyn Sockets) -> Result<Vec<ListeningSocket>, Error> {
    sockets.listening_sockets()
}

/// Every port that is listened on, whether an owner can be seen or not.
///
/// # Errors
/// When the machine's sockets cannot be read.
pub fn list_listening_ports(sockets: &dyn Sockets) -> Result<BTreeSet<u16>, Error> {
    Ok(sockets.listening_ports()?.into_iter().collect())
}

/// Established server-side connections by port, for those of `ports` that have any.
///
/// # Errors
/// When the machine's sockets cannot be read.
pub fn established_connection_counts(
    sockets: &dyn Sockets,
    ports: &[u16],
) -> Result<BTreeMap<u16, usize>, Error> {
    if ports.is_empty() {
        return Ok(BTreeMap::new());
    }
    sockets.connections(ports)
}

/// Every listening socket with every owner that can be seen, also those whose owner cannot.
///
/// # Errors
/// When the machine's sockets cannot be read.
pub fn list_listeners(sockets: &dyn Sockets) -> Result<Vec<Listener>, Error> {
    sockets.listeners()
}

/// A listening socket as the kernel tells of it, before its owners are looked for.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Socket {
    port: u16,
    address: Address,
    inode: u64,
    uid: u32,
}

/// The first of each pid and port, in the order given.
fn once_per_pid_and_port(sockets: impl Iterator<Item = ListeningSocket>) -> Vec<ListeningSocket> {
    let mut seen = BTreeSet::new();
    sockets.filter(|socket| seen.insert((socket.pid, socket.port))).collect()
}
