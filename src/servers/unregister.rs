//! Removing a record without ever removing another registration's.

use super::custody::is_exact_receipt;
use super::store::{Changed, Found};
use super::{Error, Schema, ServerId, ServerRecord, Site, Store};
use crate::host::Host;

/// Remove the record of a server that has ended: only while the registry still holds it. Whether a file was removed.
///
/// Under the current contract that is the record that names this process; under custody the very same receipt (the
/// caller holds the id's mutation lease).
///
/// # Errors
/// [`Error::Busy`]; a failed system call. The record stands.
pub fn remove_ended(host: &Host, site: &Site, schema: Schema, record: &ServerRecord) -> Result<bool, Error> {
    let Some(id) = ServerId::new(&record.id()) else { return Ok(false) };
    let Some(store) = Store::open(host, site)? else { return Ok(false) };
    let ended = |found: &Found| match (found, schema) {
        (Found::Record(now, _), Schema::Current) => now.leader().number == record.leader().number,
        (Found::Record(now, _), Schema::Custody) => is_exact_receipt(now, record),
        (Found::Missing | Found::Invalid(_), _) => false,
    };
    was_removed(&store, store.remove(&id, schema, ended)?)
}

fn was_removed(store: &Store, changed: Changed) -> Result<bool, Error> {
    match changed {
        Changed::Done => Ok(true),
        Changed::Superseded => Ok(false),
        Changed::Busy => Err(store.busy()),
    }
}
