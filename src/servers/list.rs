//! Listing every server with what can be said of it now.

mod connections;
mod report;

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::time::Duration;

use super::answers::{OwnerState, OwnerStates};
use super::listeners::{self, UnregisteredListener};
use super::registry::{Options, Project, Registry};
use super::sockets::SocketView;
use super::state::{all_absent, state_seen, ServerState};
use super::store::Changed;
use super::{read, touch, unregister, Error, ServerId, ServerRecord};
use crate::javascript::timestamp;
use crate::net::ScanSupport;
use crate::process::observer::Observer;
use crate::process::Asked;

/// `SERVER_DEFAULT_OWNER_STALE_HOURS`
pub const DEFAULT_OWNER_STALE_HOURS: f64 = 24.0;

const HOUR_MS: f64 = 3_600_000.0;

/// What a listing does.
#[derive(Debug, Clone)]
pub struct ListOptions {
    pub options: Options,
    /// Look for listeners that nobody registered.
    pub scan: bool,
    /// Count a server with connections as used now, and write it back.
    pub sample: bool,
    /// Remove dead records.
    pub prune: bool,
    pub owner_stale_hours: f64,
    /// The clock's when left out.
    pub now_ms: Option<i64>,
}

impl Default for ListOptions {
    fn default() -> Self {
        ListOptions {
            options: Options::default(),
            scan: true,
            sample: true,
            prune: true,
            owner_stale_hours: DEFAULT_OWNER_STALE_HOURS,
            now_ms: None,
        }
    }
}

/// What a listing found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub coord_root: String,
    pub scan: ScanSupport,
    pub servers: Vec<View>,
    pub unregistered: Vec<UnregisteredListener>,
    /// Ids of the records that were removed.
    pub pruned: Vec<String>,
}

/// One server in a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub record: Rc<ServerRecord>,
    pub state: ServerState,
    pub owner_state: OwnerState,
    /// Established connections on its port; `None` where that means nothing or cannot be counted.
    pub connections: Option<usize>,
    pub last_active_at: String,
    pub idle_ms: i64,
}

/// List a project's servers.
///
/// # Errors
/// [`Error::NoProject`]; records or sockets that cannot be read.
pub fn list_servers(registry: &Registry<'_>, options: &ListOptions) -> Result<Report, Error> {
    let project = registry.project(&options.options.coord_root)?.ok_or(Error::NoProject)?;
    let host = registry.host;
    let now_ms = options.now_ms.unwrap_or_else(|| host.clock.now_ms());
    let patience = Patience::new(registry, &options.options);

    let (mut pruned, mut kept) = (Vec::new(), Vec::new());
    let observer = Observer::new(host.processes.as_ref());
    for record in read::records(registry, &project)? {
        let state = state_seen(&observer, &record);
        if options.prune && state == ServerState::Dead && prune(registry, &project, &patience, &record) {
            pruned.push(record.id().into_owned());
        } else {
            kept.push((state, record));
        }
    }
    let sockets = SocketView::new(host);
    let running: Vec<_> = kept
        .iter()
        .map(|(state, record)| (*state == ServerState::Running).then_some(record.as_ref()))
        .collect();
    let connections = connections::count(&sockets, &running)?;
    let unregistered = match options.scan {
        true => listeners::unregistered(&sockets, &project.path, running.into_iter().flatten())?,
        false => Vec::new(),
    };

    let owners = Owners::new(registry, &project, options.owner_stale_hours * HOUR_MS, now_ms);
    let now = timestamp::format(now_ms);
    let mut servers = Vec::with_capacity(kept.len());
    for ((state, record), connections) in kept.into_iter().zip(connections) {
        let is_used = options.sample && connections.is_some_and(|count| count > 0);
        let used_at = is_used.then(|| now.clone()).flatten();
        if is_used {
            sample(registry, &project, &patience, &record, now_ms);
        }
        let last_active_at =
            used_at.or_else(|| record.last_activity().map(str::to_owned)).unwrap_or_default();
        let idle_ms = timestamp::parse(&last_active_at).map_or(0, |last| (now_ms - last).max(0));
        let owner_state = owners.of(&record);
        servers.push(View { record, state, owner_state, connections, last_active_at, idle_ms });
    }
    Ok(Report {
        coord_root: project.coord_root.clone(),
        scan: host.sockets.support(),
        servers,
        unregistered,
        pruned,
    })
}

/// Remove a dead record, if nothing that it names is left and it still stands. Whatever prevents that, the listing
/// goes on.
fn prune(registry: &Registry<'_>, project: &Project, patience: &Patience, record: &ServerRecord) -> bool {
    if patience.is_over() || !all_absent(registry.host.processes.as_ref(), record) {
        return false;
    }
    let removed = unregister::remove_dead(registry, project, &patience.left(registry), record);
    if matches!(removed, Err(Error::Busy(_))) {
        patience.give_up();
    }
    removed.unwrap_or(false)
}

/// Write back that a server is in use now. A failed write does not fail the listing.
fn sample(
    registry: &Registry<'_>,
    project: &Project,
    patience: &Patience,
    record: &ServerRecord,
    now_ms: i64,
) {
    let Some(id) = ServerId::new(&record.id()).filter(|_| !patience.is_over()) else { return };
    let is_listed = |now: &ServerRecord| now.is_same_registration(record);
    let touched = touch::touch_when(registry, project, &patience.left(registry), &id, now_ms, is_listed);
    if matches!(touched, Ok(Changed::Busy)) {
        patience.give_up();
    }
}

/// The time that one listing as a whole waits: for mutation leases, and once for the registry's lock.
struct Patience {
    options: Options,
    end: Duration,
    /// The lock could not be had. Whoever has it is stopped or stuck, so this listing changes nothing more.
    gave_up: Cell<bool>,
}

impl Patience {
    fn new(registry: &Registry<'_>, options: &Options) -> Patience {
        let end = registry.host.clock.monotonic().saturating_add(options.custody_wait);
        Patience { options: options.clone(), end, gave_up: Cell::new(false) }
    }

    fn give_up(&self) {
        self.gave_up.set(true);
    }

    fn is_over(&self) -> bool {
        self.gave_up.get()
    }

    fn left(&self, registry: &Registry<'_>) -> Options {
        let custody_wait = self.end.saturating_sub(registry.host.clock.monotonic());
        Options { custody_wait, ..self.options.clone() }
    }
}

/// The host's reader of owners' states, asked for when the first owner turns up.
struct Owners<'a> {
    registry: &'a Registry<'a>,
    coord_root: &'a str,
    stale_ms: f64,
    now_ms: i64,
    reader: OnceCell<Asked<Box<dyn OwnerStates + 'a>>>,
}

impl<'a> Owners<'a> {
    fn new(registry: &'a Registry<'a>, project: &'a Project, stale_ms: f64, now_ms: i64) -> Self {
        Owners { registry, coord_root: &project.coord_root, stale_ms, now_ms, reader: OnceCell::new() }
    }

    fn of(&self, record: &ServerRecord) -> OwnerState {
        if !record.has_owner() {
            return OwnerState::None;
        }
        let Some(instance) = record.owner_instance() else { return OwnerState::Unknown };
        let answers = self.registry.answers;
        let reader =
            self.reader.get_or_init(|| answers.owner_states(self.coord_root, self.stale_ms, self.now_ms));
        match reader {
            Asked::Answered(states) => match states.of(&instance) {
                Asked::Answered(state) => state,
                Asked::Threw | Asked::NotSupplied => OwnerState::Unknown,
            },
            Asked::Threw | Asked::NotSupplied => OwnerState::Unknown,
        }
    }
}
