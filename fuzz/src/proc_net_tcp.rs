//! `/proc/net/tcp`: each row read once more by the place of its fields.

use harnery_native::net::procfs::parse_proc_net_tcp;

pub fn hold(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let rows: Vec<_> = parse_proc_net_tcp(&text)
        .map(|row| {
            let fields = [row.state, row.uid, row.inode].map(str::to_owned);
            (row.local_address.to_string(), row.local_port, fields)
        })
        .collect();
    let expected: Vec<_> = text.lines().skip(1).filter_map(row).collect();
    assert_eq!(rows, expected);
}

fn row(line: &str) -> Option<(String, u16, [String; 3])> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let &[_, local, _, state, _, _, _, uid, _, inode, ..] = fields.as_slice() else { return None };
    let at = local.find(':')?;
    let port = hexadecimal(&local[at + 1..]).filter(|port| *port <= 0xFFFF)?;
    Some((address(&local[..at])?, port as u16, [state, uid, inode].map(str::to_owned)))
}

fn address(digits: &str) -> Option<String> {
    let word = |at: usize| hexadecimal(digits.get(at..at + 8)?);
    let dotted = |word: u64| {
        let [a, b, c, d] = (word as u32).to_ne_bytes();
        format!("{a}.{b}.{c}.{d}")
    };
    if digits.len() == 8 {
        return word(0).map(dotted);
    }
    if digits.len() != 32 {
        return None;
    }
    let octets = [word(0)?, word(8)?, word(16)?, word(24)?].map(|word| (word as u32).to_ne_bytes()).concat();
    Some(match octets.as_slice() {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, ..] => dotted(word(24)?),
        [start @ .., last] if start.iter().all(|octet| *octet == 0) && *last < 2 => {
            if *last == 0 { "::" } else { "::1" }.to_owned()
        }
        _ => format!("ipv6:{}", digits.to_lowercase()),
    })
}

fn hexadecimal(digits: &str) -> Option<u64> {
    // However many leading zeros there are.
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    let add = |sum: u64, digit: char| sum.checked_mul(16)?.checked_add(u64::from(digit.to_digit(16)?));
    is_number.then_some(digits)?.chars().try_fold(0, add)
}
