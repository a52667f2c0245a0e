//! Stopping a server under its id's mutation lease, only while its receipt is current.
//!
//! ```text
//! take     wait for the lease, without blocking
//! stop     the receipt once more, then `servers::stop` with this contract's policy
//! let go   whatever comes of it
//! ```

use std::time::Duration;

use super::hold::Custody;
use super::lease;
use crate::host::Host;
use crate::lease::{NoHooks, Progress, Waiter};
use crate::process::{Dependencies, Generation};
use crate::servers::read::readable;
use crate::servers::registry::{Options, Registry};
use crate::servers::stop::{Method, Stop, StopOptions, StopResult};
use crate::servers::{Error, Schema, ServerId, ServerRecord, Site, Store};

/// A stop under way. Dropping it sends nothing more, leaves the record and lets the lease go as well as it can.
#[derive(Debug)]
#[must_use = "a stop does nothing until it is advanced"]
pub struct CustodyStop {
    record: ServerRecord,
    grace: Duration,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Refused(&'static str),
    Take { id: ServerId, site: Site, waiter: Box<Waiter> },
    Stop { custody: Box<Custody>, stop: Box<Stop> },
    Over,
}

const NO_ROOT: &str = "registration custody root is unavailable";
const UNAVAILABLE: &str = "registration custody is unavailable";
const CHANGED: &str = "registration custody changed; retained current server";

impl CustodyStop {
    /// Nothing happens yet.
    ///
    /// # Errors
    /// A root with a NUL in it; a registry that cannot be opened.
    pub fn new(
        registry: &Registry<'_>,
        record: ServerRecord,
        options: &Options,
        grace: Duration,
    ) -> Result<CustodyStop, Error> {
        let stage = first(registry, &record, options)?;
        Ok(CustodyStop { record, grace, stage })
    }

    /// Go on, until there is something to wait for.
    ///
    /// # Errors
    /// As [`Stop::advance`]; a record that cannot be read; a lease that was lost meanwhile.
    ///
    /// # Panics
    /// When it is advanced after it was done or has failed.
    pub fn advance(
        &mut self,
        host: &Host,
        dependencies: &dyn Dependencies,
    ) -> Result<Progress<StopResult>, Error> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Refused(detail) => return Ok(Progress::Done(self.refuse(detail))),
                Stage::Take { id, site, mut waiter } => match waiter.advance(host, &NoHooks) {
                    Ok(Progress::Wait(pause)) => {
                        self.stage = Stage::Take { id, site, waiter };
                        return Ok(Progress::Wait(pause));
                    }
                    Ok(Progress::Done(lease)) => {
                        self.stage = self.taken(host, &id, site, Custody::of(host, lease))?;
                    }
                    // Whatever keeps the lease from us, nothing was sent.
                    Err(_) => self.stage = Stage::Refused(UNAVAILABLE),
                },
                Stage::Stop { custody, mut stop } => match stop.advance(host, dependencies)? {
                    Progress::Wait(pause) => {
                        self.stage = Stage::Stop { custody, stop };
                        return Ok(Progress::Wait(pause));
                    }
                    Progress::Done(result) => {
                        custody.release()?;
                        return Ok(Progress::Done(result));
                    }
                },
                Stage::Over => panic!("a stop that is over was advanced"),
            }
        }
    }

    /// The lease is ours: is the registration still the one that is meant?
    fn taken(&self, host: &Host, id: &ServerId, site: Site, custody: Custody) -> Result<Stage, Error> {
        let current = match Store::open(host, &site.coord_root)? {
            Some(store) => readable(Schema::Custody, id.as_str(), store.read(id, Schema::Custody)?)?,
            None => None,
        };
        let receipt = self.record.registration_id();
        if receipt.is_none() || current.as_ref().and_then(ServerRecord::registration_id) != receipt {
            custody.release()?;
            return Ok(Stage::Refused(CHANGED));
        }
        let options = StopOptions { site: Some(site), schema: Schema::Custody, grace: self.grace };
        let stop = Box::new(Stop::new(self.record.clone(), options));
        Ok(Stage::Stop { custody: Box::new(custody), stop })
    }

    fn refuse(&self, detail: &str) -> StopResult {
        StopResult {
            id: self.record.id().into_owned(),
            stopped: false,
            method: Method::Refused,
            generation: Some(Generation::Unknown),
            detail: Some(detail.to_owned()),
        }
    }
}

impl Drop for CustodyStop {
    fn drop(&mut self) {
        if let Stage::Take { waiter, .. } = &mut self.stage {
            waiter.abort();
        }
    }
}

fn first(registry: &Registry<'_>, record: &ServerRecord, options: &Options) -> Result<Stage, Error> {
    let Some(project) = registry.project(&options.coord_root)? else { return Ok(Stage::Refused(NO_ROOT)) };
    let Some(id) = ServerId::new(&record.id()) else { return Ok(Stage::Refused(UNAVAILABLE)) };
    // Without a registry there is no registration, and no reason to make one for the lease.
    if Store::open(registry.host, &project.path)?.is_none() {
        return Ok(Stage::Refused(CHANGED));
    }
    lease::must_lie_here(registry.host, &project.path)?;
    let input = lease::input(&project.path, &id);
    Ok(match Waiter::begin(registry.host, &input, &NoHooks, options.custody_wait) {
        Ok(waiter) => Stage::Take { id, site: registry.site(&project), waiter: Box::new(waiter) },
        Err(_) => Stage::Refused(UNAVAILABLE),
    })
}
