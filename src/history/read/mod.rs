//! Reading a history: its sealed segments in order, then what is being appended to.
//!
//! Reading takes no lease. It sees every record whose append had returned when it began, also when the active file
//! is sealed meanwhile: that file is opened before the segments are listed, and its handle stays its own.

mod lines;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::home::Home;
use super::record;
use super::seal::segments_of;
use super::{Error, Layout, ReadOptions, Result};
use crate::clock::Pause;
use crate::files::Identity;
use crate::host::Host;
pub(super) use lines::{Lines, Next};

/// A writer may be in the middle of a line. It is given so many milliseconds to finish it.
const WRITERS_MILLISECONDS: u32 = 20;

/// A history that is being read, record by record.
#[derive(Debug)]
pub struct Reader {
    layout: Layout,
    options: ReadOptions,
    /// `None` when there is no such directory.
    home: Option<Home>,
    segments: Option<Home>,
    sealed: VecDeque<OsString>,
    active: Option<Lines>,
    current: Option<(Part, Lines)>,
    records: u64,
    /// How often the end of the current file was found torn in a row.
    torn: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Sealed,
    Active,
}

/// The files of a history, oldest first.
///
/// # Errors
/// [`Error::Symlink`], [`Error::NotADirectory`], [`Error::NotAFile`].
pub fn paths(host: &Host, layout: &Layout) -> Result<Vec<PathBuf>> {
    let Some(home) = Home::open(host, &layout.home)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    if let Some(segments) = home.open_segments(layout)? {
        for name in segments_of(&segments)? {
            if segments.look_for_file(&name)?.is_some() {
                found.push(segments.dir.path().join(name));
            }
        }
    }
    if home.look_for_file(&layout.active)?.is_some() {
        found.push(layout.home.join(&layout.active));
    }
    Ok(found)
}

impl Reader {
    /// Begin to read. A history that is not there has no records.
    ///
    /// # Errors
    /// [`Error::Symlink`], [`Error::NotADirectory`], [`Error::NotAFile`], [`Error::IdentityChanged`].
    pub fn open(host: &Host, layout: Layout, options: ReadOptions) -> Result<Reader> {
        let home = Home::open(host, &layout.home)?;
        let (mut segments, mut sealed, mut active) = (None, VecDeque::new(), None);
        if let Some(home) = &home {
            active = Lines::open(home, &layout.active, options.max_record_bytes)?;
            segments = home.open_segments(&layout)?;
            if let Some(segments) = &segments {
                sealed = segments_of(segments)?.into();
            }
        }
        Ok(Reader { layout, options, home, segments, sealed, active, current: None, records: 0, torn: 0 })
    }

    /// The next record's text as it is on disk; `None` after the last. Empty lines are no records.
    ///
    /// # Errors
    /// [`Error::Partial`] when the history ends in the middle of a record, [`Error::RecordTooLarge`],
    /// [`Error::TooManyRecords`], [`Error::InvalidRecord`].
    pub fn next(&mut self, host: &Host) -> Result<Option<&[u8]>> {
        let line = loop {
            let Some((_, lines)) = &mut self.current else {
                self.current = self.open_next()?;
                if self.current.is_none() {
                    return Ok(None);
                }
                continue;
            };
            match lines.next()? {
                Next::Line(line) if line.is_empty() => {}
                Next::Line(line) => break line,
                Next::Torn => self.give_the_writer_time(host)?,
                Next::End => self.close(host)?,
            }
        };
        self.torn = 0;
        self.records += 1;
        if let Some(limit) = self.options.max_records.filter(|limit| self.records > *limit) {
            return Err(Error::TooManyRecords(limit));
        }
        let Some((_, lines)) = &self.current else { return Ok(None) };
        let text = lines.text(line);
        record::check(text, &lines.shown_name(), self.records)?;
        Ok(Some(text))
    }

    /// Records as one JSON array, until it has `enough` bytes; `None` after the last. Bytes that are no UTF-8 are
    /// replaced.
    ///
    /// # Errors
    /// As [`Reader::next`].
    pub fn batch(&mut self, host: &Host, enough: usize) -> Result<Option<String>> {
        let mut text = Vec::new();
        while text.len() < enough {
            let Some(record) = self.next(host)? else { break };
            text.push(if text.is_empty() { b'[' } else { b',' });
            text.extend_from_slice(record);
        }
        if text.is_empty() {
            return Ok(None);
        }
        text.push(b']');
        let text = String::from_utf8(text);
        Ok(Some(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())))
    }

    fn open_next(&mut self) -> Result<Option<(Part, Lines)>> {
        if let (Some(segments), Some(name)) = (&self.segments, self.sealed.pop_front()) {
            let lines = Lines::open(segments, &name, self.options.max_record_bytes)?
                .ok_or_else(|| Error::IdentityChanged(segments.dir.path().join(&name)))?;
            // What was active when we began has been sealed: this is the end of what we began to read.
            if self.active.as_ref().is_some_and(|active| active.identity() == lines.identity()) {
                self.active = None;
                self.sealed.clear();
            }
            return Ok(Some((Part::Sealed, lines)));
        }
        Ok(self.active.take().map(|lines| (Part::Active, lines)))
    }

    /// The file ends in the middle of a line. Where a writer holds the lease it may be at work on that line; it gets
    /// a moment. Without one the line is what a kill left, unless the writer has just finished: one more look.
    fn give_the_writer_time(&mut self, host: &Host) -> Result<()> {
        let (Some(home), Some((_, lines))) = (&self.home, &mut self.current) else { return Ok(()) };
        if self.torn > WRITERS_MILLISECONDS {
            return Err(Error::Partial { file: lines.shown_name().into_owned() });
        }
        if home.dir.look(&self.layout.lease)?.is_some() {
            self.torn += 1;
            host.clock.pause(&Pause { at_most: Duration::from_millis(1), wake: Vec::new() });
        } else {
            self.torn = WRITERS_MILLISECONDS + 1;
        }
        lines.look_again()
    }

    /// Check that the file that was read to its end is the one that its name stands for.
    fn close(&mut self, host: &Host) -> Result<()> {
        let (Some(home), Some((part, lines))) = (&self.home, self.current.take()) else { return Ok(()) };
        home.must_not_have_moved(host)?;
        let changed = || Err(Error::IdentityChanged(lines.file().path().to_owned()));
        if part == Part::Sealed {
            return match &self.segments {
                Some(segments) if segments.names(lines.name(), lines.identity())? => Ok(()),
                _ => changed(),
            };
        }
        match home.look_for_file(lines.name())? {
            Some(stat) if stat.identity == lines.identity() => Ok(()),
            // A rewrite has published the new whole; the old whole was read.
            Some(_) if self.layout.segments.is_none() => Ok(()),
            _ if self.was_sealed(home, lines.identity())? => Ok(()),
            _ => changed(),
        }
    }

    fn was_sealed(&self, home: &Home, identity: Identity) -> Result<bool> {
        let Some(segments) = home.open_segments(&self.layout)? else { return Ok(false) };
        // The newest is the likely one.
        for name in segments_of(&segments)?.iter().rev() {
            if segments.names(name, identity)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
