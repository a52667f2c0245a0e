//! A system whose sockets cannot be looked at.

use std::collections::BTreeMap;

use super::{Error, Listener, ScanSupport, Sockets};

/// No sockets, and said so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

impl Sockets for Nowhere {
    fn support(&self) -> ScanSupport {
        ScanSupport::Unsupported
    }
    fn listeners(&self) -> Result<Vec<Listener>, Error> {
        Ok(Vec::new())
    }
    fn listening_ports(&self) -> Result<Vec<u16>, Error> {
        Ok(Vec::new())
    }
    fn connections(&self, _ports: &[u16]) -> Result<BTreeMap<u16, usize>, Error> {
        Ok(BTreeMap::new())
    }
}
