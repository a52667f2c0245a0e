//! Registering under custody: an id that somebody may still have is never taken.

use super::is_same_custody;
use super::lease;
use crate::servers::read::WHAT_TO_DO;
use crate::servers::registry::{Options, Project, Registry};
use crate::servers::state::all_absent;
use crate::servers::store::{Changed, Found, Replacement, Synced};
use crate::servers::{server_state, Error, Schema, ServerId, ServerRecord, ServerState, Store};

/// Write a drafted record, or give back the one that the same running server has already.
///
/// # Errors
/// [`Error::Custody`] when the id is another's, or whose it is cannot be known; a lease that is held, a busy registry,
/// a failed system call. What stands in the registry stays.
pub(in crate::servers) fn claim(
    registry: &Registry<'_>,
    project: &Project,
    options: &Options,
    id: &ServerId,
    record: ServerRecord,
) -> Result<ServerRecord, Error> {
    let site = registry.site(project);
    // Before the lease, which would make the missing directories with its own modes.
    let store = Store::ensure(registry.host, &site)?;
    lease::under(registry.host, &project.path, id, options.custody_wait, || {
        let seen = store.read(id, Schema::Custody)?;
        if let Some(existing) = ours_already(registry, id, &seen, &record)? {
            return Ok(existing);
        }
        let replacement = Replacement {
            record: &record,
            schema: Schema::Custody,
            synced: Synced::Yes,
            sharing: site.sharing,
            owner: None,
        };
        // The other contract takes no lease: what it wrote meanwhile is not overwritten.
        let is_as_seen = |now: &Found| match (now, &seen) {
            (Found::Missing, Found::Missing) => true,
            (Found::Record(now, _), Found::Record(seen, _)) => now == seen,
            _ => false,
        };
        match store.replace(id, &replacement, is_as_seen)? {
            Changed::Done => Ok(record.clone()),
            Changed::Superseded => Err(Error::Custody(format!(
                "registration {id} custody changed while it was registered; retained current server"
            ))),
            Changed::Busy => Err(store.busy()),
        }
    })
}

/// The record of the same server if it runs; `None` when the id may be taken.
fn ours_already(
    registry: &Registry<'_>,
    id: &ServerId,
    seen: &Found,
    record: &ServerRecord,
) -> Result<Option<ServerRecord>, Error> {
    let processes = registry.host.processes.as_ref();
    match seen {
        Found::Missing => Ok(None),
        Found::Invalid(_) => Err(Error::Custody(format!("{}; {WHAT_TO_DO}", unknown(id)))),
        Found::Unreadable(error) => Err(Error::Custody(format!("{}: {error}", unknown(id)))),
        Found::Record(existing, _) => {
            let is_running = || server_state(processes, existing) == ServerState::Running;
            if is_same_custody(existing, record) && is_running() {
                return Ok(Some(existing.as_ref().clone()));
            }
            if existing.host() != Some(processes.host_name().as_str()) || !all_absent(processes, existing) {
                let (pid, host) = (existing.leader().number, existing.host().unwrap_or("an unknown host"));
                return Err(Error::Custody(format!(
                    "registration {id} custody is held by a live or unverifiable server: process {pid} on {host}; \
                     stop it where it runs, or take another id"
                )));
            }
            Ok(None)
        }
    }
}

fn unknown(id: &ServerId) -> String {
    format!("registration {id} custody is unknown: invalid or older server record retained")
}
