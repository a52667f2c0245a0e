//! `lsof`: for systems without the kernel's own lists. Linux never needs it.

mod child;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

use super::{once_per_pid_and_port, Error, Family, Listener, ListeningSocket, ScanSupport, Sockets};
use crate::process::Pid;

/// A machine's sockets as `lsof` tells of them.
#[derive(Debug, Clone)]
pub struct Lsof {
    pub program: OsString,
    /// Beyond it the child is ended, and the rows that it has written count.
    pub deadline: Duration,
}

impl Default for Lsof {
    fn default() -> Self {
        Lsof { program: "lsof".into(), deadline: Duration::from_secs(5) }
    }
}

/// Files of TCP sockets that listen: process id and name of each; no names looked up, no ports spelt out.
const LISTENING: [&str; 4] = ["-nP", "-iTCP", "-sTCP:LISTEN", "-Fpn"];
const CONNECTED: [&str; 4] = ["-nP", "-iTCP", "-sTCP:ESTABLISHED", "-Fn"];

impl Sockets for Lsof {
    fn support(&self) -> ScanSupport {
        ScanSupport::Lsof
    }

    fn listeners(&self) -> Result<Vec<Listener>, Error> {
        // Two processes with one name at one port may share a socket or not: `lsof` does not tell them apart.
        let mut owners: BTreeMap<(u16, Family, String), BTreeSet<Pid>> = BTreeMap::new();
        for (pid, name) in listening_names(&self.run(&LISTENING)?) {
            let Some((address, port)) = address_and_port(name) else { continue };
            let family = if name.starts_with('[') { Family::Tcp6 } else { Family::Tcp };
            owners.entry((port, family, address.to_owned())).or_default().insert(pid);
        }
        let listener = |((port, family, address), pids): ((u16, Family, String), BTreeSet<Pid>)| Listener {
            port,
            address,
            family,
            inode: 0,
            uid: 0,
            pids: pids.into_iter().collect(),
        };
        Ok(owners.into_iter().map(listener).collect())
    }

    fn listening_sockets(&self) -> Result<Vec<ListeningSocket>, Error> {
        Ok(parse_lsof_listen(&self.run(&LISTENING)?))
    }

    fn listening_ports(&self) -> Result<Vec<u16>, Error> {
        let ports: BTreeSet<u16> =
            parse_lsof_listen(&self.run(&LISTENING)?).into_iter().map(|socket| socket.port).collect();
        Ok(ports.into_iter().collect())
    }

    fn connections(&self, ports: &[u16]) -> Result<BTreeMap<u16, usize>, Error> {
        Ok(parse_lsof_connections(&self.run(&CONNECTED)?, ports))
    }
}

impl Lsof {
    /// What it wrote, as far as it got.
    fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        let written = child::run(&self.program, arguments, self.deadline).map_err(Error::LsofMissing)?;
        let rows = written.whole_lines();
        if !rows.is_empty() {
            return Ok(rows);
        }
        match written.status {
            None => Err(Error::LsofSlow(self.deadline)),
            Some(status) if status.success() => Ok(rows),
            // It ends with 1 when it has found nothing, too; then it has nothing to say but warnings.
            Some(status) if status.code() == Some(1) && written.has_only_warnings() => Ok(rows),
            Some(status) => Err(Error::LsofFailed(written.why(status))),
        }
    }
}

/// The listening sockets in what `lsof -Fpn` wrote: sorted by port, once per pid and port.
pub fn parse_lsof_listen(text: &str) -> Vec<ListeningSocket> {
    let sockets = listening_names(text).filter_map(|(pid, name)| {
        let (address, port) = address_and_port(name)?;
        Some(ListeningSocket { pid, port, address: address.to_owned() })
    });
    let mut sockets = once_per_pid_and_port(sockets);
    sockets.sort_by_key(|socket| socket.port);
    sockets
}

/// Connections by local port in what `lsof -Fn` wrote, for these ports alone.
pub fn parse_lsof_connections(text: &str, ports: &[u16]) -> BTreeMap<u16, usize> {
    // A connection that several processes hold has one row for each.
    let names: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix('n')).collect();
    let mut counts = BTreeMap::new();
    for name in names {
        let local = name.split_once("->").and_then(|(local, _)| address_and_port(local));
        if let Some((_, port)) = local.filter(|(_, port)| ports.contains(port)) {
            *counts.entry(port).or_insert(0) += 1;
        }
    }
    counts
}

/// The `n` lines, each with the pid of the `p` line before it.
fn listening_names(text: &str) -> impl Iterator<Item = (Pid, &str)> {
    let mut pid = None;
    text.lines().filter_map(move |line| {
        if let Some(number) = line.strip_prefix('p') {
            pid = number.parse().ok().and_then(Pid::new);
        }
        Some((pid?, line.strip_prefix('n')?))
    })
}

/// `127.0.0.1:80`, `[::1]:80`, `*:80`: the address without brackets, and the port.
fn address_and_port(name: &str) -> Option<(&str, u16)> {
    let (address, port) = name.rsplit_once(':')?;
    if !port.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    Some((address.trim_start_matches('[').trim_end_matches(']'), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<(i32, u16, String)> {
        parse_lsof_listen(text).into_iter().map(|s| (s.pid.get(), s.port, s.address)).collect()
    }

    #[test]
    fn rows_are_sorted_by_port_and_once_per_pid_and_port() {
        let text = "p20\nf3\nn*:9000\nf4\nn[::1]:8000\np7\nf5\nn127.0.0.1:9000\nf6\nn[::1]:9000\n";
        let expected = [(20, 8000, "::1".into()), (20, 9000, "*".into()), (7, 9000, "127.0.0.1".into())];
        assert_eq!(listed(text), expected);
    }

    #[test]
    fn odd_lines_give_no_rows_and_no_panic() {
        for text in [
            "",
            "n*:80\n",
            "p\nn*:80\n",
            "p0\nn*:80\n",
            "p-5\nn*:80\n",
            "pseven\nn*:80\n",
            "p99999999999\nn*:80\n",
            "p7\nn*:*\n",
            "p7\nn*:http\n",
            "p7\nn*:70000\n",
            "p7\nn80\nnñ:\nn\n",
            "p7\nn*:+80\n",
            "p7\nn*:8",
            "lsof: WARNING: can't stat() fuse file system\n",
        ] {
            let rows = listed(text);
            assert!(rows.is_empty() || text == "p7\nn*:8", "{text:?} gave {rows:?}");
        }
    }

    #[test]
    fn a_process_that_is_none_does_not_inherit_the_rows_of_the_one_before() {
        assert_eq!(listed("p7\nn*:80\npx\nn*:81\n"), [(7, 80, "*".into())]);
    }

    #[test]
    fn connections_count_on_the_local_side_and_once_each() {
        let text = "p7\nf4\nn127.0.0.1:3000->127.0.0.1:50000\nf5\nn[::1]:3000->[::1]:50001\n\
                    p8\nf4\nn127.0.0.1:3000->127.0.0.1:50000\nf9\nn127.0.0.1:50000->127.0.0.1:3000\nn*:3000\n";
        assert_eq!(parse_lsof_connections(text, &[3000, 4000]), BTreeMap::from([(3000, 2)]));
    }
}
