//! Holding a registration's custody while something is done that depends on it.

use super::{is_exact_receipt, lease};
use crate::host::Host;
use crate::lease::Lease;
use crate::servers::read::readable;
use crate::servers::registry::{Options, Registry};
use crate::servers::{Error, Schema, ServerId, ServerRecord, Store};

/// The custody of one registration. Nobody registers, touches, removes or stops its id meanwhile.
///
/// Dropping it lets it go as well as it can.
#[derive(Debug)]
#[must_use = "custody is held until it is released"]
pub struct Custody {
    host: Host,
    lease: Lease,
}

impl Custody {
    /// Take the custody of the registration that `record` is the receipt of.
    ///
    /// # Errors
    /// [`Error::Custody`] without a project, and when the receipt is no longer current; a lease that is held.
    pub fn take(registry: &Registry<'_>, record: &ServerRecord, options: &Options) -> Result<Custody, Error> {
        let project = registry
            .project(&options.coord_root)?
            .ok_or_else(|| Error::Custody("registration custody root is unavailable".to_owned()))?;
        let id = record.id();
        let id = ServerId::new(&id).ok_or_else(|| Error::Input(format!("invalid server id: {id}")))?;
        let changed = || Error::Custody(format!("registration {id} custody changed"));
        // Without a registry there is no registration, and no reason to make one for the lease.
        let store = Store::open(registry.host, &project.path)?.ok_or_else(changed)?;
        let lease = lease::take(registry.host, &project.path, &id, options.custody_wait)?;
        let custody = Custody::of(registry.host, lease);
        let current = readable(Schema::Custody, id.as_str(), store.read(&id, Schema::Custody)?)?;
        if current.is_some_and(|current| is_exact_receipt(&current, record)) {
            return Ok(custody);
        }
        custody.release()?;
        Err(changed())
    }

    /// The custody that an id's lease is.
    pub(super) fn of(host: &Host, lease: Lease) -> Custody {
        Custody { host: host.clone(), lease }
    }

    /// Let it go.
    ///
    /// # Errors
    /// [`Error::Lease`] when it had been lost.
    pub fn release(mut self) -> Result<(), Error> {
        Ok(self.lease.let_go(&self.host)?)
    }
}

impl Drop for Custody {
    fn drop(&mut self) {
        // After `release` this does nothing; else a failure has nobody to hear of it.
        let _ = self.lease.release(&self.host);
    }
}
