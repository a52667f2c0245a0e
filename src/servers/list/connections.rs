//! How many connections each running server has.

use super::super::sockets::SocketView;
use super::super::{Error, ServerRecord};
use crate::net::ScanSupport;

/// The established connections of each server: `None` for one that does not run here or has no port, and where this
/// machine cannot be scanned.
///
/// Connections of a port say nothing about a server that does not listen there: somebody else may have taken the
/// port.
pub(super) fn count(
    sockets: &SocketView<'_>,
    running: &[Option<&ServerRecord>],
) -> Result<Vec<Option<usize>>, Error> {
    if sockets.support() == ScanSupport::Unsupported {
        return Ok(vec![None; running.len()]);
    }
    let mut ports: Vec<u16> = running.iter().flatten().filter_map(|record| record.port()).collect();
    ports.sort_unstable();
    ports.dedup();
    // The kernel keeps listeners apart; to find connections it goes through all that it has room for.
    if sockets.support() == ScanSupport::Procfs {
        let listening = sockets.listening_ports()?;
        ports.retain(|port| listening.binary_search(port).is_ok());
    }
    let counts = sockets.connections(&ports)?;
    let of = |record: &ServerRecord| {
        let Some(port) = record.port() else { return Ok(None) };
        let count = counts.get(&port).copied().unwrap_or(0);
        // Who listens is the expensive question, so it is asked only where the answer matters.
        let counts_here = count > 0 && listens(sockets, record, port)?;
        Ok(Some(if counts_here { count } else { 0 }))
    };
    running.iter().map(|record| record.map_or(Ok(None), of)).collect()
}

/// Whether a listener on the port is the record's own, or one whose owner cannot be seen.
fn listens(sockets: &SocketView<'_>, record: &ServerRecord, port: u16) -> Result<bool, Error> {
    let pids: Vec<_> = record.processes().iter().filter_map(|process| process.pid()).collect();
    let of_port = sockets.listeners()?.iter().filter(|listener| listener.port == port);
    Ok(of_port
        .map(|listener| &listener.pids)
        .any(|owners| owners.is_empty() || owners.iter().any(|owner| sockets.descends_from(*owner, &pids))))
}
