//! Appending: the lease, one write, one sync.

use std::ffi::OsStr;
use std::path::Path;

use super::layout::Layout;
use super::options::record_limit;
use super::record::Lines;
use super::writer::{write, Writer};
use super::{AppendOptions, Boundary, Error, Receipt, Result, Seams, Writing};
use crate::files::{Access, File, Stat};
use crate::host::Host;
use crate::javascript::json::safe_integer;

/// Append records, given as JSON texts, under one lease and with one sync; seal the active file as often as the
/// segments' size asks for it. When it fails no record is acknowledged, and what this call wrote to the file that is
/// active at the end is taken back.
///
/// # Errors
/// [`Error::Input`], [`Error::RecordTooLarge`] before anything is touched; [`Error::Busy`], [`Error::Lost`];
/// [`Error::Partial`] when the history ends in the middle of a record; [`Error::Path`] such as `ENOSPC`.
pub fn append<T: AsRef<str>>(
    host: &Host,
    layout: &Layout,
    records: &[T],
    options: AppendOptions,
    writing: Writing,
    seams: &dyn Seams,
) -> Result<Receipt> {
    let lines = Lines::of(records, options.max_record_bytes)?;
    let receipt =
        Receipt { record_bytes: lines.bytes.len() as u64, rotated: false, records: records.len() as u64 };
    if records.is_empty() {
        return Ok(receipt);
    }
    let rotated = write(host, layout, writing, seams, |writer| writer.append_in_segments(&lines, options))?;
    Ok(Receipt { rotated, ..receipt })
}

/// Append one record to a single file; the bytes that it took.
///
/// # Errors
/// As [`append`].
pub fn append_to_file(
    host: &Host,
    path: &Path,
    record: &str,
    max_record_bytes: f64,
    writing: Writing,
    seams: &dyn Seams,
) -> Result<u64> {
    let lines = Lines::of(&[record], record_limit(max_record_bytes)?)?;
    write(host, &Layout::file(path)?, writing, seams, |writer| writer.append_to_active(&lines.bytes))?;
    Ok(lines.bytes.len() as u64)
}

impl Writer<'_> {
    /// Whether a segment was sealed on the way.
    fn append_in_segments(&self, lines: &Lines, options: AppendOptions) -> Result<bool> {
        let mut rotated = false;
        let mut written = 0;
        while written < lines.bytes.len() {
            let seen = self.home.look_for_file(&self.layout.active)?;
            let size = seen.map_or(0, |stat| stat.size);
            let room = options.max_segment_bytes.saturating_sub(size);
            let end = match (last_that_fits(lines, written, room), &self.layout.segments) {
                (None, Some(segments)) if size > 0 => {
                    self.seal(segments, options)?;
                    rotated = true;
                    continue;
                }
                (end, _) => end.unwrap_or(lines.bytes.len()),
            };
            self.append_bytes(seen, &lines.bytes[written..end])?;
            written = end;
        }
        Ok(rotated)
    }

    /// [`Writer::append_bytes`] to a file that was not looked at yet.
    pub(super) fn append_to_active(&self, bytes: &[u8]) -> Result<()> {
        self.append_bytes(self.home.look_for_file(&self.layout.active)?, bytes)
    }

    /// Write whole lines to the end of the active file, which must still be what was seen and end with a whole line,
    /// and sync it.
    fn append_bytes(&self, seen: Option<Stat>, bytes: &[u8]) -> Result<()> {
        let name = &self.layout.active;
        self.seams.fault(Boundary::BeforeAppend)?;
        let file = self.open_for_appending(name)?;
        let stat = self.home.must_be_a_file(name, file.stat()?)?;
        let changed = || Error::IdentityChanged(file.path().to_owned());
        if seen.is_some_and(|seen| seen.identity != stat.identity) {
            return Err(changed());
        }
        if seen.is_none() {
            self.sharing.widen_file(&file)?;
        }
        must_end_whole(&file, name, stat.size)?;
        self.must_be_the_only_one()?;
        if let Err(error) = self.write_all(&file, stat.size, bytes) {
            self.take_back(&file, stat.size);
            return Err(error);
        }
        self.seams.fault(Boundary::AfterAppendBeforeSync)?;
        if let Err(error) = file.sync() {
            self.take_back(&file, stat.size);
            return Err(error.into());
        }
        if !self.home.names(name, stat.identity)? {
            return Err(changed());
        }
        self.home.must_not_have_moved(self.host)?;
        if seen.is_none() {
            self.home.sync()?;
        }
        Ok(())
    }

    fn open_for_appending(&self, name: &OsStr) -> Result<File> {
        let mode = self.sharing.file_mode();
        let opened = self.home.dir.open_file(name, Access::Append { mode });
        if opened.is_err() {
            // What it is by now says more than how opening it failed: a symbolic link.
            self.home.look_for_file(name)?;
        }
        Ok(opened?)
    }

    fn write_all(&self, file: &File, end: u64, bytes: &[u8]) -> Result<()> {
        let mut offset = 0;
        while offset < bytes.len() {
            let left = bytes.len() - offset;
            let written = match self.seams.write(file.descriptor(), bytes, offset) {
                Some(answer) => safe_integer(answer?).and_then(|count| usize::try_from(count).ok()),
                None => Some(file.write_at(end + offset as u64, &bytes[offset..])?),
            };
            offset += written.filter(|count| (1..=left).contains(count)).ok_or(Error::NoProgress)?;
        }
        Ok(())
    }

    /// Make the file as long as it was, for as long as it is ours to write. Best effort: the failure that is reported
    /// is the write's, and what stays is a torn line at worst, which everybody refuses.
    fn take_back(&self, file: &File, size: u64) {
        if self.lease.is_held(self.home).unwrap_or(false) && file.set_size(size).is_ok() {
            let _ = file.sync();
        }
    }
}

/// Where the last of the next lines ends that fit into `room`; `None` when not even the first does.
fn last_that_fits(lines: &Lines, from: usize, room: u64) -> Option<usize> {
    let fits = |end: &&usize| (**end - from) as u64 <= room;
    lines.ends.iter().filter(|end| **end > from).take_while(fits).last().copied()
}

fn must_end_whole(file: &File, name: &OsStr, size: u64) -> Result<()> {
    let mut last = [0];
    if size > 0 && (file.read_at(size - 1, &mut last)? != 1 || last[0] != b'\n') {
        return Err(Error::Partial { file: name.to_string_lossy().into_owned() });
    }
    Ok(())
}
