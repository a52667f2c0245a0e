//! Instants as `Date` reads and writes them: whole milliseconds since the Unix epoch.

const DAY_MS: i64 = 86_400_000;
/// A Date reaches a hundred million days to either side of the epoch.
const LIMIT_MS: i64 = 100_000_000 * DAY_MS;

/// `new Date(ms).toISOString()`: always three decimals, always `Z`; years outside 0 to 9999 take a sign and six
/// digits. `None` out of a Date's range.
pub fn format(ms: i64) -> Option<String> {
    let ms = in_range(ms)?;
    let (year, month, day) = date_of(ms.div_euclid(DAY_MS));
    let time = ms.rem_euclid(DAY_MS);
    let (hour, minute, second, milli) = (time / 3_600_000, time / 60_000 % 60, time / 1000 % 60, time % 1000);
    let mut text = String::with_capacity(27);
    match year {
        0..=9999 => push_number(&mut text, 4, year),
        _ => {
            text.push(if year < 0 { '-' } else { '+' });
            push_number(&mut text, 6, year.abs());
        }
    }
    let parts =
        [('-', 2, month), ('-', 2, day), ('T', 2, hour), (':', 2, minute), (':', 2, second), ('.', 3, milli)];
    for (before, digits, number) in parts {
        text.push(before);
        push_number(&mut text, digits, number);
    }
    text.push('Z');
    Some(text)
}

/// So many decimal digits of a number. (The formatting machinery takes several times as long, and every lease has two
/// instants in it.)
fn push_number(text: &mut String, digits: u32, number: i64) {
    for place in (0..digits).rev() {
        text.push(char::from(b'0' + (number / 10_i64.pow(place) % 10) as u8));
    }
}

/// The instant of an RFC 3339 text, or of what [`format`] writes; what is below a millisecond is cut off, as
/// `Date.parse` cuts it.
///
/// `None` for everything else. `Date.parse` takes more (a date alone, the 30th of February, names of months);
/// an instant that RFC 3339 does not know is no instant here, and every rule has a cautious answer to that.
pub fn parse(text: &str) -> Option<i64> {
    let mut rest = Cursor(text.as_bytes());
    let year = rest.year()?;
    rest.one_of(b"-")?;
    let month = rest.number(2, 1..=12)?;
    rest.one_of(b"-")?;
    let day = rest.number(2, 1..=days_in(year, month))?;
    // Separated by a blank, the text is none of ISO 8601's for Date.parse, which then reads 0099 as 1999.
    if rest.one_of(b"Tt ")? == b' ' && (0..100).contains(&year) {
        return None;
    }
    let hour = rest.number(2, 0..=23)?;
    rest.one_of(b":")?;
    let minute = rest.number(2, 0..=59)?;
    rest.one_of(b":")?;
    let second = rest.number(2, 0..=59)?;
    let milli = rest.fraction()?;
    let offset_minutes = rest.offset()?;
    let minutes = hour * 60 + minute - offset_minutes;
    let ms = days_to(year, month, day) * DAY_MS + minutes * 60_000 + second * 1000 + milli;
    if rest.0.is_empty() {
        in_range(ms)
    } else {
        None
    }
}

/// A number of milliseconds that a caller supplied, cut to a whole one. `None` for NaN and out of a Date's range.
pub fn from_number(ms: f64) -> Option<i64> {
    // NaN fails the comparison.
    (ms.abs() <= LIMIT_MS as f64).then_some(ms as i64)
}

fn in_range(ms: i64) -> Option<i64> {
    (-LIMIT_MS..=LIMIT_MS).contains(&ms).then_some(ms)
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn one_of(&mut self, wanted: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        wanted.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    fn number(&mut self, digits: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(digits)?;
        let value = digits
            .iter()
            .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))?;
        self.0 = rest;
        range.contains(&value).then_some(value)
    }

    /// Four digits, or a sign and six; ECMAScript has no year -000000.
    fn year(&mut self) -> Option<i64> {
        match self.one_of(b"+-") {
            None => self.number(4, 0..=9999),
            Some(b'+') => self.number(6, 0..=999_999),
            Some(_) => self.number(6, 1..=999_999).map(|year| -year),
        }
    }

    fn fraction(&mut self) -> Option<i64> {
        if self.one_of(b".").is_none() {
            return Some(0);
        }
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        let thousandths =
            digits.iter().chain(b"000").take(3).fold(0, |ms, byte| ms * 10 + i64::from(byte - b'0'));
        (count > 0).then_some(thousandths)
    }

    fn offset(&mut self) -> Option<i64> {
        let sign = match self.one_of(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Some(0),
        };
        let hours = self.number(2, 0..=23)?;
        self.one_of(b":")?;
        let minutes = self.number(2, 0..=59)?;
        Some(sign * (hours * 60 + minutes))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the epoch to the first of January of a year, in the Gregorian calendar carried on both ways.
fn days_to_year(year: i64) -> i64 {
    let before = year - 1;
    before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400) - 719_162
}

fn days_to(year: i64, month: i64, day: i64) -> i64 {
    days_to_year(year) + (1..month).map(|m| days_in(year, m)).sum::<i64>() + day - 1
}

fn date_of(days: i64) -> (i64, i64, i64) {
    // 400 years are 146,097 days: the guess is at most a year off.
    let mut year = 1970 + (days * 400).div_euclid(146_097);
    while days_to_year(year) > days {
        year -= 1;
    }
    while days_to_year(year + 1) <= days {
        year += 1;
    }
    let mut day = days - days_to_year(year) + 1;
    let mut month = 1;
    while day > days_in(year, month) {
        day -= days_in(year, month);
        month += 1;
    }
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_a_date_s_range_is_written_and_read_back() {
        for day in (-100_000_000..=100_000_000_i64).step_by(997) {
            let ms = (day * DAY_MS + 1).min(LIMIT_MS);
            assert_eq!(format(ms).as_deref().and_then(parse), Some(ms));
        }
    }

    #[test]
    fn the_day_after_the_range_is_no_date() {
        assert_eq!(format(LIMIT_MS).as_deref(), Some("+275760-09-13T00:00:00.000Z"));
        assert_eq!(format(-LIMIT_MS).as_deref(), Some("-271821-04-20T00:00:00.000Z"));
        assert_eq!(format(LIMIT_MS + 1), None);
        assert_eq!(format(i64::MIN), None);
        assert_eq!(from_number(8.64e15), Some(LIMIT_MS));
        assert_eq!(from_number(8.64e15 + 2.0), None);
        assert_eq!(from_number(f64::NAN), None);
        assert_eq!(from_number(f64::NEG_INFINITY), None);
    }

    #[test]
    fn a_supplied_time_is_cut_towards_zero_as_a_date_cuts_it() {
        assert_eq!(from_number(1.9), Some(1));
        assert_eq!(from_number(-1.9), Some(-1));
        assert_eq!(from_number(-0.0), Some(0));
    }
}
