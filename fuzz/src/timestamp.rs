//! Instants: what is written is read as the same millisecond, and counting days one year at a time agrees.

use harnery_native::javascript::timestamp::{format, from_number, parse};

const LIMIT: i64 = 8_640_000_000_000_000;

pub fn hold(bytes: &[u8]) {
    if let Some(first) = bytes.first_chunk::<8>() {
        let ms = i64::from_le_bytes(*first);
        for ms in [ms, ms % LIMIT, ms % 4_000_000_000_000] {
            let text = format(ms);
            assert_eq!(text.is_some(), (-LIMIT..=LIMIT).contains(&ms));
            assert!(text.is_none_or(|text| parse(&text) == Some(ms) && text.ends_with('Z')));
        }
        let given = f64::from_le_bytes(*first);
        assert!(from_number(given).is_none_or(|ms| ms as f64 == given.trunc()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some(ms) = parse(text) else { return };
    assert_eq!(parse(&format(ms).expect("what is read can be written")), Some(ms));
    // The plainest form has its digits in fixed places.
    if text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T' {
        assert_eq!(counted(text), Some(ms), "{text}");
    }
}

/// `yyyy-mm-ddThh:mm:ss.mmmZ`, by counting.
fn counted(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = |year| 365 + i64::from(is_leap(year));
    let mut days: i64 = (1970..year).map(length).sum::<i64>() - (year..1970).map(length).sum::<i64>();
    let months = [31, 28 + i64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    days += months.iter().take(usize::try_from(month).ok()? - 1).sum::<i64>() + day - 1;
    let seconds = (days * 24 + part(11, 13)?) * 3600 + part(14, 16)? * 60 + part(17, 19)?;
    Some(seconds * 1000 + part(20, 23)?)
}
