//! The kernel's text files, `/proc/net/tcp` and `tcp6`: the fallback where socket diagnostics do not answer.

use super::Address;

/// One row of `/proc/net/tcp` or `tcp6`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    pub local_address: Address,
    pub local_port: u16,
    /// Two hexadecimal digits; `0A` listens.
    pub state: &'a str,
    pub uid: &'a str,
    /// Decimal; `0` for a socket that no descriptor stands for (yet, or any more).
    pub inode: &'a str,
}

/// The rows of `/proc/net/tcp` or `tcp6`. The first line is the heading; lines that are no rows are passed over.
pub fn parse_proc_net_tcp(text: &str) -> impl Iterator<Item = Row<'_>> {
    text.lines().skip(1).filter_map(row)
}

/// `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …` (proc_net_tcp.rst)
fn row(line: &str) -> Option<Row<'_>> {
    let mut fields = line.split_whitespace();
    let (address, port) = fields.nth(1)?.split_once(':')?;
    let state = fields.nth(1)?;
    let uid = fields.nth(3)?;
    let inode = fields.nth(1)?;
    let local_address = Address::from_hex(address)?;
    let local_port = u16::from_str_radix(port, 16).ok().filter(|_| !port.starts_with('+'))?;
    Some(Row { local_address, local_port, state, uid, inode })
}

#[cfg(target_os = "linux")]
pub(super) use files::{connections, is_readable, listening};

#[cfg(target_os = "linux")]
mod files {
    use std::collections::BTreeMap;
    use std::io::Read;

    use rustix::fs::{access, open, Access, Mode, OFlags};

    use super::parse_proc_net_tcp;
    use crate::files::PathError;
    use crate::net::Socket;

    /// Of the calling thread's network namespace: a thread may have left its process's.
    const TCP: &str = "/proc/thread-self/net/tcp";
    const TCP6: &str = "/proc/thread-self/net/tcp6";

    /// A socket that waits for connections.
    const LISTEN: &str = "0A";
    /// Connected, and `SYN_RECV`, where a deferred-accept server parks a connected client until its first bytes arrive.
    const CONNECTED: [&str; 2] = ["01", "03"];

    /// Every listening socket that the text files show.
    pub(in crate::net) fn listening() -> Result<Vec<Socket>, PathError> {
        let mut sockets = Vec::new();
        for text in texts()? {
            for row in parse_proc_net_tcp(&text).filter(|row| row.state == LISTEN) {
                let (Ok(uid), Ok(inode)) = (row.uid.parse(), row.inode.parse()) else { continue };
                sockets.push(Socket { port: row.local_port, address: row.local_address, inode, uid });
            }
        }
        Ok(sockets)
    }

    /// Connections by local port, for these ports alone (ascending, each once).
    pub(in crate::net) fn connections(ports: &[u16]) -> Result<BTreeMap<u16, usize>, PathError> {
        let mut counts = BTreeMap::new();
        for text in texts()? {
            for row in parse_proc_net_tcp(&text) {
                if CONNECTED.contains(&row.state) && ports.binary_search(&row.local_port).is_ok() {
                    *counts.entry(row.local_port).or_insert(0) += 1;
                }
            }
        }
        Ok(counts)
    }

    /// Whether there are such files for us.
    pub(in crate::net) fn is_readable() -> bool {
        access(TCP, Access::READ_OK).is_ok()
    }

    /// Both files.
    fn texts() -> Result<Vec<String>, PathError> {
        let mut texts = vec![read(TCP)?];
        match read(TCP6) {
            Ok(text) => texts.push(text),
            // A kernel without IPv6 has no such sockets.
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error),
        }
        Ok(texts)
    }

    fn read(path: &'static str) -> Result<String, PathError> {
        let fd = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| PathError::new("open", path, errno.into()))?;
        let mut bytes = Vec::new();
        std::fs::File::from(fd)
            .read_to_end(&mut bytes)
            .map_err(|error| PathError::new("read", path, error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const HEADING: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";

    fn rows(lines: &str) -> Vec<(String, u16, String, String, String)> {
        let text = format!("{HEADING}\n{lines}");
        parse_proc_net_tcp(&text)
            .map(|row| {
                let address = row.local_address.to_string();
                (address, row.local_port, row.state.into(), row.uid.into(), row.inode.into())
            })
            .collect()
    }

    #[test]
    fn a_row_gives_address_port_state_user_and_inode() {
        let listening = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0000000000000000 100 0 0 10 0\n";
        let connected = "   1: 0000000000000000FFFF00000100007F:0050 0000000000000000FFFF00000100007F:C350 01 00000000:00000000 00:00000000 00000000    33        0 4711 1 0000000000000000 20 4 30 10 -1\n";
        let expected = [
            ("127.0.0.1".into(), 8080, "0A".into(), "1000".into(), "31337".into()),
            ("127.0.0.1".into(), 80, "01".into(), "33".into(), "4711".into()),
        ];
        assert_eq!(rows(&format!("{listening}{connected}")), expected);
    }

    #[test]
    fn lines_that_are_no_rows_are_passed_over() {
        let ten = |local: &str| format!("0: {local} 00000000:0000 0A 0:0 0:0 0 0 0 1\n");
        for line in [
            "",
            "\n\n",
            "0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0\n",
            "0: 0100007F 00000000:0000 0A 0:0 0:0 0 0 0 1\n",
            &ten("0100007F:"),
            &ten(":1F90"),
            &ten("0100007F:+F90"),
            &ten("0100007F:11F90"),
            &ten("0100007Z:1F90"),
            &ten("0100:1F90"),
            "\u{fffd}\u{0}garbage\n",
        ] {
            assert_eq!(rows(line), [], "{line:?}");
        }
        assert_eq!(rows(&ten("0100007F:ffff")).len(), 1);
    }

    #[test]
    fn a_torn_last_line_does_not_spoil_the_rows_before_it() {
        let whole = "0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 1\n";
        assert_eq!(rows(&format!("{whole}1: 0100007F:1F91 0000")).len(), 1);
        assert_eq!(parse_proc_net_tcp("").count(), 0);
        assert_eq!(parse_proc_net_tcp(HEADING).count(), 0);
    }
}
