//! Marking a server as used.

use std::time::Duration;

use super::custody::lease;
use super::registry::{Options, Project, Registry};
use super::store::{Changed, Found, Replacement, Synced};
use super::{Error, Schema, ServerId, ServerRecord, Store};
use crate::host::users::owner_to_keep;
use crate::javascript::timestamp;

/// How often [`touch_sparingly`] touches at most.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// How long a touch that others overtake tries again.
const PATIENCE: Duration = Duration::from_secs(2);

/// Set `last_active_at` of a server, and nothing else. No server, a busy registry and another user's file are left
/// alone in silence.
///
/// # Errors
/// A failed system call; under custody a lease that is held or a registry that is busy.
pub fn touch(registry: &Registry<'_>, id: &str, options: &Options, now_ms: i64) -> Result<(), Error> {
    let (Some(project), Some(id)) = (registry.project(&options.coord_root)?, ServerId::new(id)) else {
        return Ok(());
    };
    touch_when(registry, &project, options, &id, now_ms, |_| true).map(drop)
}

/// [`touch`] as long as `is_meant` agrees with the record that is about to be touched. What came of it.
pub(super) fn touch_when(
    registry: &Registry<'_>,
    project: &Project,
    options: &Options,
    id: &ServerId,
    now_ms: i64,
    is_meant: impl Fn(&ServerRecord) -> bool,
) -> Result<Changed, Error> {
    let Some(now) = timestamp::format(now_ms) else {
        return Err(Error::Input("the time of a touch is outside a Date's range".to_owned()));
    };
    let touched =
        |record: &ServerRecord| is_meant(record).then(|| record.clone().with("last_active_at", now.as_str()));
    match registry.schema {
        Schema::Current => rewrite(registry, project, id, Synced::No, touched),
        Schema::Custody if !is_registered(registry, project, id)? => Ok(Changed::Superseded),
        Schema::Custody => lease::under(registry.host, &project.path, id, options.custody_wait, || {
            rewrite(registry, project, id, Synced::Yes, touched)
        }),
    }
}

/// Whether there is anything to take a lease for.
fn is_registered(registry: &Registry<'_>, project: &Project, id: &ServerId) -> Result<bool, Error> {
    let Some(store) = Store::open(registry.host, &project.path)? else { return Ok(false) };
    Ok(matches!(store.read(id, registry.schema)?, Found::Record(..)))
}

/// Replace a record by what `change` makes of it, whatever others do meanwhile.
fn rewrite(
    registry: &Registry<'_>,
    project: &Project,
    id: &ServerId,
    synced: Synced,
    change: impl Fn(&ServerRecord) -> Option<ServerRecord>,
) -> Result<Changed, Error> {
    let host = registry.host;
    let Some(store) = Store::open(host, &project.path)? else { return Ok(Changed::Superseded) };
    let sharing = registry.sharing(project);
    let end = host.clock.monotonic() + PATIENCE;
    loop {
        let Found::Record(seen, stat) = store.read(id, registry.schema)? else {
            return Ok(Changed::Superseded);
        };
        let (Some(after), Ok(owner)) = (change(&seen), owner_to_keep(host, &stat)) else {
            return Ok(Changed::Superseded);
        };
        let replacement = Replacement { record: &after, schema: registry.schema, synced, sharing, owner };
        let is_as_seen = |found: &Found| matches!(found, Found::Record(now, _) if *now == seen);
        match store.replace(id, &replacement, is_as_seen)? {
            // Somebody replaced it between the read and the lock: it is theirs that counts, and is touched.
            Changed::Superseded if host.clock.monotonic() < end => {}
            changed => return Ok(changed),
        }
    }
}

/// A server's own use marker: touches unless it did within the last minute, and never fails. `last` is what the call
/// before gave, by [`Clock::monotonic`](crate::clock::Clock::monotonic).
pub fn touch_sparingly(
    registry: &Registry<'_>,
    id: &str,
    options: &Options,
    last: Option<Duration>,
) -> Duration {
    let clock = &registry.host.clock;
    let now = clock.monotonic();
    if let Some(last) = last.filter(|last| now.saturating_sub(*last) < TOUCH_INTERVAL) {
        return last;
    }
    // A server does not stop serving because its record could not be touched.
    let _ = touch(registry, id, options, clock.now_ms());
    now
}
