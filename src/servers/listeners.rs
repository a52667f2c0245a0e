//! Listeners inside a project that nobody registered.

mod belongs;

use std::collections::BTreeSet;
use std::path::Path;

use super::sockets::SocketView;
use super::{Error, ServerRecord};
use crate::host::Host;
use crate::process::Pid;

/// A command is shown up to this many characters.
const COMMAND_LIMIT: usize = 300;

/// A listener that looks like a server of the project and has no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnregisteredListener {
    pub pid: Pid,
    pub port: u16,
    pub address: String,
    pub command: String,
    pub cwd: Option<String>,
}

/// The listeners of a project that none of its running servers accounts for.
///
/// # Errors
/// Sockets that cannot be read.
pub fn find_unregistered<'a>(
    host: &Host,
    coord_root: &Path,
    running: impl IntoIterator<Item = &'a ServerRecord>,
) -> Result<Vec<UnregisteredListener>, Error> {
    unregistered(&SocketView::new(host), coord_root, running)
}

/// [`find_unregistered`] with what has been looked at already.
pub(super) fn unregistered<'a>(
    sockets: &SocketView<'_>,
    coord_root: &Path,
    running: impl IntoIterator<Item = &'a ServerRecord>,
) -> Result<Vec<UnregisteredListener>, Error> {
    let (mut ports, mut pids) = (BTreeSet::new(), Vec::new());
    for record in running {
        ports.extend(record.port());
        pids.extend(record.processes().iter().filter_map(|process| process.pid()));
    }
    let project = belongs::Project::new(sockets, coord_root);
    let mut found: Vec<UnregisteredListener> = Vec::new();
    for listener in sockets.listeners()? {
        // Of several owners one that is known is enough: the workers of a server share its socket.
        let is_known = |owner: &Pid| *owner == sockets.me() || sockets.descends_from(*owner, &pids);
        let Some(&pid) = listener.pids.first() else { continue };
        if ports.contains(&listener.port) || listener.pids.iter().any(is_known) {
            continue;
        }
        // One row for each process and port: tcp comes before tcp6.
        if found.iter().any(|other| other.pid == pid && other.port == listener.port) {
            continue;
        }
        let Some(info) = sockets.info(pid).filter(|info| project.has(info)) else { continue };
        found.push(UnregisteredListener {
            pid,
            port: listener.port,
            address: listener.address.clone(),
            command: cut(&info.command, COMMAND_LIMIT),
            cwd: info.cwd,
        });
    }
    Ok(found)
}

/// The first `limit` characters, as `String.prototype.slice` counts them, without a half surrogate pair at the end.
pub(super) fn cut(text: &str, limit: usize) -> String {
    let mut length = 0;
    let fits = |c: &char| {
        length += c.len_utf16();
        length <= limit
    };
    text.chars().take_while(fits).collect()
}
