//! The configuration files, as far as the registry reads them: JSON with comments.

mod comments;

use std::path::Path;

use super::Sharing;
use crate::files::{record, Dir};
use crate::host::Host;
use crate::javascript::json::{self, Value};

/// A configuration file of more bytes counts as empty.
const LIMIT_BYTES: usize = 1024 * 1024;

/// The files that apply to a project, the one that wins first. A file that is missing or no JSON counts as `{}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    files: Vec<Value>,
}

/// What garbage collection is configured to do.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GcConfig {
    pub idle_hours: Option<f64>,
    pub owner_stale_hours: Option<f64>,
}

impl Configuration {
    /// The project's own file over the user's.
    pub fn of(host: &Host, coord_root: &Path) -> Configuration {
        let environment = &host.environment;
        let get = |name| environment.get(name).filter(|value| !value.is_empty());
        let home = || get("HOME").map(|home| Path::new(&home).join(".config"));
        let user = get("XDG_CONFIG_HOME").map(Into::into).or_else(home).map(|dir| dir.join("harnery"));
        let project = coord_root.join(".harnery");
        let files = [Some(project), user].into_iter().flatten().filter_map(|dir| read(host, &dir));
        Configuration { files: files.collect() }
    }

    /// The project's own file alone.
    pub fn of_project(host: &Host, coord_root: &Path) -> Configuration {
        Configuration { files: read(host, &coord_root.join(".harnery")).into_iter().collect() }
    }

    /// `servers.port_ranges.<type>`
    pub fn port_range(&self, server_type: &str) -> Option<(u16, u16)> {
        let port = |value: &Value| u16::try_from(value.as_safe_integer()?).ok().filter(|port| *port > 0);
        self.first(&["servers", "port_ranges", server_type], |value| match value.as_array()? {
            [low, high] => Some((port(low)?, port(high)?)).filter(|(low, high)| low <= high),
            _ => None,
        })
    }

    /// `servers.idle_hours` and `servers.owner_stale_hours`
    pub fn gc(&self) -> GcConfig {
        let hours = |value: &Value| value.as_number().filter(|hours| hours.is_finite() && *hours > 0.0);
        GcConfig {
            idle_hours: self.first(&["servers", "idle_hours"], hours),
            owner_stale_hours: self.first(&["servers", "owner_stale_hours"], hours),
        }
    }

    /// `storage.sharing`
    pub fn sharing(&self) -> Option<Sharing> {
        self.first(&["storage", "sharing"], |value| match value.as_str()? {
            "private" => Some(Sharing::Private),
            "group" => Some(Sharing::Group),
            _ => None,
        })
    }

    /// The first file's well-formed value at a path of keys.
    fn first<T>(&self, keys: &[&str], read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let at = |file| keys.iter().try_fold(file, |value: &Value, key| value.as_object()?.get(key));
        self.files.iter().filter_map(at).find_map(read)
    }
}

/// `config.jsonc` of a directory. It may be a symbolic link: people keep such files elsewhere.
fn read(host: &Host, dir: &Path) -> Option<Value> {
    let path = host.files.real_path(&dir.join("config.jsonc")).ok()?;
    let dir = Dir::open(&host.files, path.parent()?).ok()?;
    match record::read(&dir, path.file_name()?, LIMIT_BYTES).ok()? {
        record::Read::Bytes { bytes, .. } => json::parse(&comments::strip(&bytes)?).ok(),
        _ => None,
    }
}
