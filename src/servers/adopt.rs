//! Giving a record to a server that nobody registered.

use std::rc::Rc;

use super::listeners::{cut, unregistered, UnregisteredListener};
use super::names;
use super::read;
use super::register::{register, GivenOwner, Input};
use super::registry::{CoordRoot, Options, Project, Registry};
use super::sockets::SocketView;
use super::state::{state_seen, ServerState};
use super::{Error, Kind, ServerRecord};
use crate::javascript::text::Text;
use crate::process::observer::Observer;
use crate::process::Pid;

const LABEL_LIMIT: usize = 80;

/// What an adopted server is registered as.
#[derive(Debug, Clone)]
pub struct Adoption {
    pub server_type: Text,
    pub kind: Kind,
    pub label: Option<Text>,
    pub scope: Option<String>,
    pub owner: GivenOwner,
}

impl Default for Adoption {
    fn default() -> Self {
        Adoption {
            server_type: "adopted".into(),
            kind: Kind::Session,
            label: None,
            scope: None,
            owner: GivenOwner::Calling,
        }
    }
}

/// Register a process that listens inside the project without a record, as the scan sees it right now.
///
/// # Errors
/// [`Error::Input`] when the scan does not; [`Error::NoProject`]; as [`register`].
pub fn adopt(
    registry: &Registry<'_>,
    number: f64,
    adoption: &Adoption,
    options: &Options,
) -> Result<ServerRecord, Error> {
    let project = registry.project(&options.coord_root)?.ok_or(Error::NoProject)?;
    let found = found(registry, &project, number)?;
    let scope = adoption.scope.clone().or_else(|| found.listener.cwd.clone());
    let place = scope.clone().unwrap_or_else(|| project.coord_root.clone());
    let id_scope = registry.resolve(&format!("{place}#{}", found.listener.pid));
    let label = || format!("Adopted: {}", cut(&found.listener.command, LABEL_LIMIT)).into();
    let host = if found.only_ipv6_loopback { "[::1]" } else { "127.0.0.1" };
    let input = Input {
        id: Some(names::server_id(&adoption.server_type.to_string_lossy(), Some(&id_scope))),
        kind: adoption.kind,
        server_type: adoption.server_type.clone(),
        label: Some(adoption.label.clone().unwrap_or_else(label)),
        url: Some(format!("http://{host}:{}/", found.listener.port).into()),
        port: Some(f64::from(found.listener.port)),
        pid: Some(f64::from(found.listener.pid.get())),
        start_token: None,
        pids: Vec::new(),
        scope,
        cwd: found.listener.cwd,
        log: None,
        started_at: None,
        owner: adoption.owner.clone(),
    };
    let options = Options { coord_root: CoordRoot::At(project.coord_root), ..options.clone() };
    register(registry, &input, &options)?.ok_or(Error::NoProject)
}

/// An unregistered listener on its lowest port.
struct Found {
    listener: UnregisteredListener,
    only_ipv6_loopback: bool,
}

fn found(registry: &Registry<'_>, project: &Project, number: f64) -> Result<Found, Error> {
    let records = read::records(registry, project)?;
    let observer = Observer::new(registry.host.processes.as_ref());
    let records = records.iter().map(Rc::as_ref);
    let running = records.filter(|record| state_seen(&observer, record) == ServerState::Running);
    let sockets = SocketView::new(registry.host);
    let all = unregistered(&sockets, &project.path, running)?;
    let pid = Pid::from_number(number);
    let lowest =
        all.into_iter().filter(|listener| Some(listener.pid) == pid).min_by_key(|listener| listener.port);
    let listener = lowest.ok_or_else(|| {
        Error::Input(format!(
            "pid {} is not an unregistered listener inside this project",
            names::number(number)
        ))
    })?;
    let mut of_port = sockets
        .listeners()?
        .iter()
        .filter(|other| other.port == listener.port && other.pids.contains(&listener.pid));
    let only_ipv6_loopback = of_port.all(|socket| socket.address == "::1");
    Ok(Found { listener, only_ipv6_loopback })
}
