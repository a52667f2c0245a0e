//! Tunnels as registry services: how they are registered, and whether one is ready.

use std::path::{Path, PathBuf};

use super::custody::hold::Custody;
use super::read::read_server;
use super::registry::{Options, Registry};
use super::{Error, Kind};
use crate::javascript::paths;
use crate::javascript::text::Text;
use crate::process::{generation, Generation, NoDependencies, Pid, Presence, Processes};

/// The id of a tunnel's server: `tunnel-` and the name, lower-cased, with one dash for each run of other characters.
pub fn server_id(name: &str) -> String {
    let mut id = "tunnel-".to_owned();
    let mut in_run = false;
    for c in name.to_lowercase().chars() {
        let is_plain = matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-');
        if is_plain || !in_run {
            id.push(if is_plain { c } else { '-' });
        }
        in_run = !is_plain;
    }
    id
}

/// How a tunnel's server is called.
pub fn label(name: &str, target: &str, vhost: Option<&str>) -> String {
    let vhost =
        vhost.filter(|vhost| !vhost.is_empty()).map(|vhost| format!(" ({vhost})")).unwrap_or_default();
    format!("Tunnel {name} → {target}{vhost}")
}

/// Where a tunnel's gate writes its log: `<coordRoot>/.cache/tunnel/gate.log`, with its name for all but `default`.
pub fn log(cwd: &Path, coord_root: &str, name: &str) -> PathBuf {
    let file = if name == "default" { "gate.log".to_owned() } else { format!("gate-{name}.log") };
    let root = paths::resolve(cwd, coord_root);
    paths::resolve(&root, format!(".cache/tunnel/{file}"))
}

/// What a tunnel's own state says of its registration.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    pub name: String,
    pub registration_id: Option<String>,
    pub gate_pid: f64,
    pub gate_start_token: Option<String>,
    pub gate_port: f64,
    pub url: Text,
}

/// The custody of a tunnel's registration: `None` unless the stored record is this host's tunnel service and agrees
/// with the tunnel's state.
///
/// # Errors
/// A record that cannot be read; as [`Custody::take`].
pub fn hold(registry: &Registry<'_>, state: &Claimed, options: &Options) -> Result<Option<Custody>, Error> {
    let Some(record) = read_server(registry, &server_id(&state.name), options)? else { return Ok(None) };
    let agrees = record.host() == Some(registry.host.processes.host_name().as_str())
        && record.kind() == Some(Kind::Service)
        && record.server_type() == "tunnel"
        && record.registration_id() == state.registration_id.as_deref()
        && record.leader().number == state.gate_pid
        && record.start_token() == state.gate_start_token.as_deref()
        && record.port().map(f64::from) == Some(state.gate_port)
        && record.url() == Some(&state.url);
    if !agrees {
        return Ok(None);
    }
    Custody::take(registry, &record, options).map(Some)
}

/// What a look at a process that a tunnel's state names says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    Absent,
    /// Its generation; unknown also when it may not be signalled.
    Generation(Generation),
}

/// Look at a process that was recorded with a start token. `pid` is `None` for a number that no process has.
pub fn observe(processes: &dyn Processes, pid: Option<Pid>, token: Option<&str>) -> Observed {
    let Some(pid) = pid else { return Observed::Generation(Generation::Unknown) };
    match processes.presence(pid) {
        Presence::Absent => Observed::Absent,
        Presence::Present if may_signal(processes, pid) => {
            Observed::Generation(generation::verify(processes, pid, token, &NoDependencies))
        }
        Presence::Present | Presence::Unknown => Observed::Generation(Generation::Unknown),
    }
}

fn may_signal(processes: &dyn Processes, pid: Pid) -> bool {
    let me = processes.effective_uid();
    me == 0 || processes.uid(pid) == Some(me)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_name_s_slug_with_dots_and_dashes_kept() {
        assert_eq!(server_id("My Tunnel!!x"), "tunnel-my-tunnel-x");
        assert_eq!(server_id("a.b_c-d"), "tunnel-a.b_c-d");
        assert_eq!(server_id("ÄÖ"), "tunnel--");
        assert_eq!(server_id("-!-"), "tunnel----");
        assert_eq!(server_id(""), "tunnel-");
    }

    #[test]
    fn the_label_names_the_virtual_host_where_there_is_one() {
        assert_eq!(label("x", "http://localhost:1", None), "Tunnel x → http://localhost:1");
        assert_eq!(label("x", "http://localhost:1", Some("")), "Tunnel x → http://localhost:1");
        assert_eq!(label("x", "http://localhost:1", Some("v")), "Tunnel x → http://localhost:1 (v)");
    }

    #[test]
    fn the_default_gate_s_log_has_no_name() {
        let log = |root, name| log(Path::new("/here"), root, name);
        assert_eq!(log("/w", "default"), Path::new("/w/.cache/tunnel/gate.log"));
        assert_eq!(log("w", "x"), Path::new("/here/w/.cache/tunnel/gate-x.log"));
    }
}
