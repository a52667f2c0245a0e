//! Removing exactly the registration that a receipt is for.

use super::{is_exact_receipt, lease};
use crate::servers::registry::{Options, Project, Registry};
use crate::servers::store::Found;
use crate::servers::unregister::remove_ended;
use crate::servers::{Error, Schema, ServerId, ServerRecord, Store};

/// Remove the registration that `record` is the receipt of. Whether it was removed; `false` also without a project.
///
/// # Errors
/// A lease that is held, a busy registry, a failed system call. The registration stands.
pub fn unregister(registry: &Registry<'_>, record: &ServerRecord, options: &Options) -> Result<bool, Error> {
    match registry.project(&options.coord_root)? {
        Some(project) => remove(registry, &project, options, record),
        None => Ok(false),
    }
}

/// [`unregister`] in a known project.
pub(in crate::servers) fn remove(
    registry: &Registry<'_>,
    project: &Project,
    options: &Options,
    record: &ServerRecord,
) -> Result<bool, Error> {
    let Some(id) = ServerId::new(&record.id()) else { return Ok(false) };
    let Some(store) = Store::open(registry.host, &project.path)? else { return Ok(false) };
    // A receipt that is not current never becomes so again: there is nothing to wait for.
    match store.read(&id, Schema::Custody)? {
        Found::Record(now, _) if is_exact_receipt(&now, record) => {}
        Found::Unreadable(error) => return Err(error.into()),
        Found::Missing | Found::Record(..) | Found::Invalid(_) => return Ok(false),
    }
    lease::under(registry.host, &project.path, &id, options.custody_wait, || {
        remove_ended(registry.host, &registry.site(project), Schema::Custody, record)
    })
}
