//! Reading everything and appending what follows from it, under one lease.

use std::path::Path;

use super::read::Reader;
use super::record::Lines;
use super::writer::write;
use super::{Layout, ReadOptions, Result, Seams, Writing};
use crate::host::Host;

/// What an update decided on.
#[derive(Debug)]
pub struct Decision<R> {
    /// Records to append, as JSON texts; none leaves the file alone.
    pub append: Vec<String>,
    pub result: R,
}

/// Let `decide` read a single file's records and append what it answers, while nobody else may write.
///
/// # Errors
/// As [`append`](super::append::append) and [`Reader::next`]; whatever `decide` failed with.
pub fn update<R>(
    host: &Host,
    path: &Path,
    options: ReadOptions,
    writing: Writing,
    seams: &dyn Seams,
    decide: impl FnOnce(&mut Reader) -> Result<Decision<R>>,
) -> Result<R> {
    write(host, &Layout::file(path)?, writing, seams, |writer| {
        let decision = decide(&mut Reader::open(host, writer.layout.clone(), options)?)?;
        if !decision.append.is_empty() {
            writer.append_to_active(&Lines::of(&decision.append, options.max_record_bytes)?.bytes)?;
        }
        Ok(decision.result)
    })
}
