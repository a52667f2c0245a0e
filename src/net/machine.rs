//! The operating system's sockets.

use std::collections::BTreeMap;
use std::io;

use super::{Listener, ScanSupport, Sockets};

/// The sockets of the machine that this process runs on.
#[derive(Debug, Default)]
pub struct Machine;

// First stand-in, replaced by the net module's own.
impl Sockets for Machine {
    fn support(&self) -> ScanSupport {
        ScanSupport::Unsupported
    }
    fn listeners(&self) -> io::Result<Vec<Listener>> {
        Ok(Vec::new())
    }
    fn listening_ports(&self) -> io::Result<Vec<u16>> {
        Ok(Vec::new())
    }
    fn connections(&self, _ports: &[u16]) -> io::Result<BTreeMap<u16, usize>> {
        Ok(BTreeMap::new())
    }
}
