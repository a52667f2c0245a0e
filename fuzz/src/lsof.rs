//! What `lsof` writes, read once more line by line.

use std::collections::{BTreeMap, BTreeSet};

use harnery_native::net::lsof::{parse_lsof_connections, parse_lsof_listen};

pub fn hold(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let sockets = parse_lsof_listen(&text);
    assert!(sockets.is_sorted_by_key(|socket| socket.port));
    let ours: Vec<_> = sockets.iter().map(|it| (i64::from(it.pid.get()), it.port)).collect();
    let once: BTreeSet<_> = ours.iter().copied().collect();
    assert_eq!(once.len(), ours.len(), "once per pid and port");

    let mut expected = BTreeMap::new();
    let mut pid = None;
    for line in text.lines() {
        match (line.chars().next(), pid) {
            (Some('p'), _) => pid = number(&line[1..]).filter(|pid| (1..=i64::from(i32::MAX)).contains(pid)),
            (Some('n'), Some(pid)) => {
                if let Some((address, port)) = address_and_port(&line[1..]) {
                    expected.entry((pid, port)).or_insert(address);
                }
            }
            _ => {}
        }
    }
    assert_eq!(once, expected.keys().copied().collect());
    for socket in &sockets {
        let key = (i64::from(socket.pid.get()), socket.port);
        assert_eq!(socket.address, expected[&key]);
    }
    connections(&text);
}

fn connections(text: &str) {
    let ports = [80, 443, 8080];
    let local_ends: BTreeSet<_> = text.lines().filter(|line| line.starts_with('n')).collect();
    let mut expected = BTreeMap::new();
    for line in local_ends {
        let Some(at) = line.find("->") else { continue };
        if let Some((_, port)) = address_and_port(&line[1..at]) {
            if ports.contains(&port) {
                *expected.entry(port).or_insert(0) += 1;
            }
        }
    }
    assert_eq!(parse_lsof_connections(text, &ports), expected);
}

fn address_and_port(name: &str) -> Option<(String, u16)> {
    let at = name.rfind(':')?;
    let digits = &name[at + 1..];
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    let port = is_number.then(|| digits.parse().ok()).flatten()?;
    // A bracket opens an address or closes it.
    Some((name[..at].trim_start_matches('[').trim_end_matches(']').to_owned(), port))
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok()
}
