//! `/proc/<pid>/stat` and `status`: whatever the name of a process holds, the fields after it are read right.

use harnery_native::process::procfs::{
    parse_boot_id, parse_boot_time, parse_cmdline, parse_stat, parse_status,
};

pub fn hold(bytes: &[u8]) {
    let found = parse_stat(bytes).map(|stat| (stat.state, stat.parent, stat.threads, stat.start_ticks));
    assert_eq!(found, fields(bytes));
    any_name_is_passed_over(bytes);
    let _ = (parse_boot_id(bytes), parse_boot_time(bytes));
    if let Some(status) = parse_status(bytes) {
        let text = String::from_utf8_lossy(bytes);
        let line = |key: &str| text.split('\n').find_map(|line| line.strip_prefix(key)).map(str::to_owned);
        assert_eq!(
            line("Tgid:\t").and_then(|rest| rest.split('\t').next()?.parse().ok()),
            Some(status.process)
        );
        assert_eq!(line("Uid:\t").and_then(|rest| rest.split('\t').next()?.parse().ok()), Some(status.uid));
    }
    assert!(!parse_cmdline(bytes).contains('\0'));
}

/// A process with these bytes as its name.
fn any_name_is_passed_over(name: &[u8]) {
    let seed = name.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let (parent, threads, ticks) = (seed % 4_194_304, seed % 1000, seed >> 1);
    let after = format!(") S {parent} 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 {threads} 0 {ticks} 9 10");
    let line = [b"17 (".as_slice(), name, after.as_bytes(), b"\n"].concat();
    let stat = parse_stat(&line).expect("a line as the kernel writes it");
    assert_eq!(
        (stat.state, stat.parent as u64, stat.threads, stat.start_ticks),
        (b'S', parent, threads, ticks)
    );
}

/// The third field and so on, after the last `") "`.
fn fields(bytes: &[u8]) -> Option<(u8, i64, u64, u64)> {
    let at = (0..bytes.len().saturating_sub(1)).rev().find(|at| &bytes[*at..at + 2] == b") ")?;
    let fields: Vec<&[u8]> = bytes[at + 2..].split(|byte| *byte == b' ').collect();
    let text = |field: usize| std::str::from_utf8(fields.get(field - 3)?).ok();
    let state = *fields.first().filter(|field| field.len() == 1)?;
    Some((state[0], text(4)?.parse().ok()?, text(20)?.parse().ok()?, text(22)?.parse().ok()?))
}
