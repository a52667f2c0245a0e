//! Records: one line of JSON each.

use super::{Error, Result};
use crate::javascript::json;

/// Lines that are ready to be written, one after the other.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    /// Where each line ends.
    pub(super) ends: Vec<usize>,
}

impl Lines {
    /// The lines of records that are given as JSON texts, such as `JSON.stringify` writes them.
    ///
    /// # Errors
    /// [`Error::RecordTooLarge`], the line feed counted; [`Error::Input`] for what is no line of JSON.
    pub(super) fn of<T: AsRef<str>>(records: &[T], max_record_bytes: u64) -> Result<Lines> {
        let mut lines = Lines::default();
        for record in records {
            let text = record.as_ref().as_bytes();
            if text.len() as u64 + 1 > max_record_bytes {
                return Err(Error::RecordTooLarge(max_record_bytes));
            }
            // Line feeds are blanks to JSON, and the end of a record to every reader.
            if text.contains(&b'\n') || !json::is_json(text) {
                return Err(Error::Input("a durable history record must be one line of JSON".to_owned()));
            }
            lines.bytes.extend_from_slice(text);
            lines.bytes.push(b'\n');
            lines.ends.push(lines.bytes.len());
        }
        Ok(lines)
    }
}

/// Check a line that was read, without its line feed.
///
/// # Errors
/// [`Error::InvalidRecord`] with the number of the record, counted over the whole history.
pub(super) fn check(line: &[u8], file: &str, record: u64) -> Result<()> {
    if json::is_json(line) {
        return Ok(());
    }
    let why = json::parse(line).err().map_or_else(String::new, |error| error.to_string());
    Err(Error::InvalidRecord { file: file.to_owned(), record, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_would_become_two_lines_is_refused() {
        assert!(matches!(Lines::of(&["{\n}"], 100), Err(Error::Input(_))));
        assert!(matches!(Lines::of(&["undefined"], 100), Err(Error::Input(_))));
        assert!(Lines::of(&["{\"a\":\"\\n\u{2028}\"}"], 100).is_ok());
    }

    #[test]
    fn the_limit_counts_the_line_feed() {
        assert_eq!(Lines::of(&["1234"], 5).unwrap().bytes, b"1234\n");
        let error = Lines::of(&["1", "12345"], 5).unwrap_err().to_string();
        assert_eq!(error, "durable history record exceeds 5 bytes");
    }
}
