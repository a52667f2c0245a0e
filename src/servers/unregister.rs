//! Removing a record without ever removing another registration's.

use super::custody::{self, is_exact_receipt};
use super::registry::{Options, Project, Registry};
use super::store::{Changed, Found, Invalid};
use super::{Error, Schema, ServerId, ServerRecord, Site, Store};
use crate::host::Host;

/// Remove the record of an id; with `pid`, only while it still names that process. Whether a file was removed.
///
/// # Errors
/// [`Error::Busy`]; [`Error::Retained`] for what is no plain file; a failed system call.
pub fn unregister(
    registry: &Registry<'_>,
    id: &str,
    pid: Option<f64>,
    options: &Options,
) -> Result<bool, Error> {
    let (Some(project), Some(id)) = (registry.project(&options.coord_root)?, ServerId::new(id)) else {
        return Ok(false);
    };
    let Some(store) = Store::open(registry.host, &project.path)? else { return Ok(false) };
    let (mut refused, mut unreadable) = (false, false);
    let goes = |found: &Found| match (found, pid) {
        // What cannot be read may name any process: with a pid it stays.
        (Found::Record(now, _), Some(pid)) => now.leader().number == pid,
        (Found::Missing | Found::Invalid(_), Some(_)) => false,
        (Found::Unreadable(_), Some(_)) => {
            unreadable = true;
            false
        }
        (_, None) => {
            refused = matches!(found, Found::Invalid(Invalid::NotAFile));
            !refused
        }
    };
    let changed = match store.remove(&id, registry.schema, registry.sharing(&project), goes) {
        Err(_) if unreadable => return Ok(false),
        changed => changed?,
    };
    if refused {
        return Err(store.not_a_file(&id));
    }
    was_removed(&store, changed)
}

/// Remove the record of a server that has ended: only while the registry still holds it. Whether a file was removed.
///
/// Under the current contract that is the record that names this process; under custody the very same receipt (the
/// caller holds the id's mutation lease).
///
/// # Errors
/// [`Error::Busy`]; a failed system call. The record stands.
pub fn remove_ended(host: &Host, site: &Site, schema: Schema, record: &ServerRecord) -> Result<bool, Error> {
    let Some(id) = ServerId::new(&record.id()) else { return Ok(false) };
    let Some(store) = Store::open(host, &site.coord_root)? else { return Ok(false) };
    was_removed(&store, store.remove(&id, schema, site.sharing, goes_ended(schema, record))?)
}

/// [`remove_ended`] without waiting: [`Changed::Busy`] while another process changes the registry.
///
/// # Errors
/// A failed system call. The record stands.
pub fn remove_ended_at_once(
    host: &Host,
    site: &Site,
    schema: Schema,
    record: &ServerRecord,
) -> Result<Changed, Error> {
    let Some(id) = ServerId::new(&record.id()) else { return Ok(Changed::Superseded) };
    let Some(store) = Store::open(host, &site.coord_root)? else { return Ok(Changed::Superseded) };
    store.remove_at_once(&id, schema, site.sharing, goes_ended(schema, record))
}

fn goes_ended(schema: Schema, record: &ServerRecord) -> impl Fn(&Found) -> bool + '_ {
    move |found| match (found, schema) {
        (Found::Record(now, _), Schema::Current) => now.leader().number == record.leader().number,
        (Found::Record(now, _), Schema::Custody) => is_exact_receipt(now, record),
        _ => false,
    }
}

/// Remove a record that was found dead: only while it still is that registration's.
pub(super) fn remove_dead(
    registry: &Registry<'_>,
    project: &Project,
    options: &Options,
    record: &ServerRecord,
) -> Result<bool, Error> {
    if registry.schema == Schema::Custody {
        return custody::unregister::remove(registry, project, options, record);
    }
    let Some(id) = ServerId::new(&record.id()) else { return Ok(false) };
    let Some(store) = Store::open(registry.host, &project.path)? else { return Ok(false) };
    let goes = |found: &Found| matches!(found, Found::Record(now, _) if now.is_same_registration(record));
    was_removed(&store, store.remove(&id, registry.schema, registry.sharing(project), goes)?)
}

fn was_removed(store: &Store, changed: Changed) -> Result<bool, Error> {
    match changed {
        Changed::Done => Ok(true),
        Changed::Superseded => Ok(false),
        Changed::Busy => Err(store.busy()),
    }
}
