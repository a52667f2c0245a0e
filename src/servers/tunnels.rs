//! Tunnels as registry services. Pure.

use std::path::{Path, PathBuf};

use crate::javascript::paths;

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
