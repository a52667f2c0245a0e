//! Ports for new servers.

use super::config::Configuration;
use super::read;
use super::registry::{Options, Registry};
use super::state::{state_seen, ServerState};
use super::Error;
use crate::process::observer::Observer;

/// The first port of a type's configured range that nobody listens on and no running server has recorded; `None`
/// without a project or a range.
///
/// A port whose listener's owner cannot be seen is taken, and so is one that is listened on in one address family.
///
/// # Errors
/// [`Error::Input`] when the range is used up; records or sockets that cannot be read.
pub fn allocate(registry: &Registry<'_>, server_type: &str, options: &Options) -> Result<Option<u16>, Error> {
    let Some(project) = registry.project(&options.coord_root)? else { return Ok(None) };
    let configuration = Configuration::of(registry.host, &project.path);
    let Some((low, high)) = configuration.port_range(server_type) else { return Ok(None) };
    let observer = Observer::new(registry.host.processes.as_ref());
    let mut taken = registry.host.sockets.listening_ports()?;
    for record in read::records(registry, &project)? {
        if let Some(port) = record.port().filter(|_| state_seen(&observer, &record) == ServerState::Running) {
            taken.push(port);
        }
    }
    let free = (low..=high).find(|port| !taken.contains(port));
    free.map(Some).ok_or_else(|| Error::Input(format!("no free port for {server_type} in {low}-{high}")))
}
