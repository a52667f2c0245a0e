//! Sockets: who listens where, and how many connections a port has.

pub mod machine;

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use crate::process::Pid;

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

/// A machine's sockets.
pub trait Sockets: fmt::Debug {
    fn support(&self) -> ScanSupport;
    /// Every listening TCP socket, sorted by port, tcp before tcp6.
    fn listeners(&self) -> io::Result<Vec<Listener>>;
    /// Every port that is listened on, owner seen or not, ascending; cheaper than [`Sockets::listeners`].
    fn listening_ports(&self) -> io::Result<Vec<u16>>;
    /// Established server-side connections on each of these ports.
    fn connections(&self, ports: &[u16]) -> io::Result<BTreeMap<u16, usize>>;
}
