//! What a caller gives and gets: limits, seams, receipts.

use std::time::Duration;

use super::{Error, Result};
use crate::files::Sharing;
use crate::javascript::json::safe_integer;
use crate::javascript::Thrown;

/// Limits of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// The longest line, with its line feed, in bytes.
    pub max_record_bytes: u64,
    pub max_records: Option<u64>,
}

impl ReadOptions {
    /// # Errors
    /// [`Error::Input`] for anything but safe integers: bytes above 1, records not below 0.
    pub fn new(max_record_bytes: f64, max_records: Option<f64>) -> Result<Self> {
        let max_records = match max_records.map(|limit| safe_integer(limit).filter(|limit| *limit >= 0)) {
            Some(None) => return Err(refused("max_records must be a safe integer of at least 0")),
            limit => limit.flatten().map(i64::unsigned_abs),
        };
        Ok(ReadOptions { max_record_bytes: record_limit(max_record_bytes)?, max_records })
    }
}

/// Limits of an append to a history that is kept in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendOptions {
    /// The longest line, with its line feed, in bytes.
    pub max_record_bytes: u64,
    /// A segment is sealed when the next line would make it longer than this.
    pub max_segment_bytes: u64,
}

impl AppendOptions {
    /// # Errors
    /// [`Error::Input`] for anything but safe integers above 1, the second at least the first.
    pub fn new(max_record_bytes: f64, max_segment_bytes: f64) -> Result<Self> {
        match (limit(max_record_bytes), limit(max_segment_bytes)) {
            (Some(max_record_bytes), Some(max_segment_bytes)) if max_segment_bytes >= max_record_bytes => {
                Ok(AppendOptions { max_record_bytes, max_segment_bytes })
            }
            _ => Err(refused("max_segment_bytes must be a safe integer at least max_record_bytes")),
        }
    }
}

/// A limit on records alone.
///
/// # Errors
/// [`Error::Input`] for anything but a safe integer above 1.
pub(super) fn record_limit(max_record_bytes: f64) -> Result<u64> {
    limit(max_record_bytes).ok_or_else(|| refused("max_record_bytes must be a positive safe integer"))
}

// A line of one byte holds its line feed and no record.
fn limit(value: f64) -> Option<u64> {
    safe_integer(value).filter(|value| *value > 1).map(i64::unsigned_abs)
}

fn refused(what: &str) -> Error {
    Error::Input(what.to_owned())
}

/// How a writer behaves towards others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Writing {
    /// How long to wait for the lease; by default not at all.
    pub lease_wait: Duration,
    pub sharing: Sharing,
}

/// A moment in an operation at which a caller's function is called, to inject a fault there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    AfterSegmentRename,
    BeforeAppend,
    AfterAppendBeforeSync,
    AfterRewriteTempSync,
    AfterRewritePublish,
}

impl Boundary {
    pub fn name(self) -> &'static str {
        match self {
            Boundary::AfterSegmentRename => "after_segment_rename",
            Boundary::BeforeAppend => "before_append",
            Boundary::AfterAppendBeforeSync => "after_append_before_sync",
            Boundary::AfterRewriteTempSync => "after_rewrite_temp_sync",
            Boundary::AfterRewritePublish => "after_rewrite_publish",
        }
    }
}

/// The caller's functions.
pub trait Seams {
    /// A throw is an injected crash: what is on disk stays as it is at that boundary, only the lease is given back.
    fn fault(&self, _boundary: Boundary) -> std::result::Result<(), Thrown> {
        Ok(())
    }

    /// Write in the machine's place: `bytes[offset..]` to the end of the file with this descriptor, answering how
    /// many bytes were written. `None`: no function supplied.
    fn write(
        &self,
        _descriptor: i32,
        _bytes: &[u8],
        _offset: usize,
    ) -> Option<std::result::Result<f64, Thrown>> {
        None
    }
}

/// No functions: the machine writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSeams;

impl Seams for NoSeams {}

/// What an append acknowledges: the records are in the file and the file is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Of all records together, line feeds included.
    pub record_bytes: u64,
    /// Whether a segment was sealed on the way.
    pub rotated: bool,
    pub records: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_no_record_fits_are_refused() {
        for bytes in [0.0, 1.0, -5.0, 2.5, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0] {
            let error = ReadOptions::new(bytes, None).unwrap_err().to_string();
            assert_eq!(error, "max_record_bytes must be a positive safe integer");
        }
        assert!(ReadOptions::new(2.0, Some(0.0)).is_ok());
        assert!(ReadOptions::new(2.0, Some(f64::NAN)).is_err());
        assert!(ReadOptions::new(2.0, Some(-1.0)).is_err());
    }

    #[test]
    fn a_segment_holds_at_least_one_record() {
        assert!(AppendOptions::new(256.0, 256.0).is_ok());
        let error = AppendOptions::new(256.0, 255.0).unwrap_err().to_string();
        assert_eq!(error, "max_segment_bytes must be a safe integer at least max_record_bytes");
    }
}
