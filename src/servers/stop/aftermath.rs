//! What is left to do, and to tell, once the processes are gone.

use std::time::Duration;

use super::super::store::{Changed, Store};
use super::super::unregister::remove_ended_at_once;
use super::super::{Error, Schema, ServerRecord, Site};
use crate::host::Host;
use crate::net::Listener;

/// How long the registry's lock is tried for.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(2);

/// How often. It is held for microseconds.
pub(super) const LOCK_POLL: Duration = Duration::from_millis(2);

/// Remove the record. Gives back what to say if it must be given up, while another process holds the lock.
pub(super) fn remove(
    host: &Host,
    site: &Site,
    schema: Schema,
    record: &ServerRecord,
) -> Result<Option<Error>, Error> {
    match remove_ended_at_once(host, site, schema, record)? {
        Changed::Done | Changed::Superseded => Ok(None),
        Changed::Busy => Ok(Store::open(host, &site.coord_root)?.map(|store| store.busy())),
    }
}

/// Who still listens on the port of a stopped server; `None` when nobody does.
///
/// A listener that was inherited, or that a supervisor has started anew, is told and left alone.
pub(super) fn who_listens(host: &Host, record: &ServerRecord) -> Option<String> {
    let port = record.port()?;
    // Whether the port is free is worth knowing, and not worth failing for.
    let listeners = host.sockets.listeners().ok()?;
    let mut on_port = listeners.iter().filter(|listener| listener.port == port);
    let first = on_port.next()?;
    let described = on_port.map(|listener| describe(host, listener));
    let mut holders: Vec<String> = std::iter::once(describe(host, first)).chain(described).collect();
    holders.dedup();
    Some(format!("port {port} is still listened on by {}", holders.join(" and by ")))
}

fn describe(host: &Host, listener: &Listener) -> String {
    if listener.pids.is_empty() {
        return format!("a process of uid {} that cannot be seen", listener.uid);
    }
    let of = |pid| match host.processes.info(pid) {
        Some(info) if !info.command.is_empty() => {
            format!("pid {pid} ({})", info.command.chars().take(300).collect::<String>())
        }
        _ => format!("pid {pid}"),
    };
    listener.pids.iter().map(|pid| of(*pid)).collect::<Vec<_>>().join(", ")
}
