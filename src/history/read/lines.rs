//! The lines of one open file, in bounded memory: one block, or twice the longest line.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::BufRead;
use std::ops::Range;

use crate::files::{Access, File, Identity};
use crate::history::home::Home;
use crate::history::{Error, Result};

const BLOCK: usize = 64 * 1024;

/// A file that is read line by line.
///
/// A writer on a full disk takes back what it had written, and another writes there instead; so a line is only ever
/// taken from one read that began before it, and the byte before a line must still be a line feed.
#[derive(Debug)]
pub(in crate::history) struct Lines {
    file: File,
    name: OsString,
    identity: Identity,
    max_line_bytes: u64,
    buffer: Vec<u8>,
    /// How much of the buffer is the file's.
    filled: usize,
    /// Where the next line begins in the buffer.
    at: usize,
    /// Where the buffer begins in the file.
    offset: u64,
    ended: bool,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::history) enum Next {
    /// A line without its line feed, in [`Lines::text`].
    Line(Range<usize>),
    End,
    /// The file ends in the middle of a line.
    Torn,
}

impl Lines {
    /// Open a plain file for reading; `None` when it is missing.
    pub(in crate::history) fn open(home: &Home, name: &OsStr, max_line_bytes: u64) -> Result<Option<Lines>> {
        let Some(seen) = home.look_for_file(name)? else { return Ok(None) };
        let file = home.dir.open_file(name, Access::Read)?;
        let identity = home.must_be_a_file(name, file.stat()?)?.identity;
        if identity != seen.identity {
            return Err(Error::IdentityChanged(file.path().to_owned()));
        }
        let buffer = Vec::new();
        let name = name.to_owned();
        Ok(Some(Lines {
            file,
            name,
            identity,
            max_line_bytes,
            buffer,
            filled: 0,
            at: 0,
            offset: 0,
            ended: false,
        }))
    }

    pub(in crate::history) fn file(&self) -> &File {
        &self.file
    }

    pub(in crate::history) fn name(&self) -> &OsStr {
        &self.name
    }

    /// The name for messages.
    pub(in crate::history) fn shown_name(&self) -> Cow<'_, str> {
        self.name.to_string_lossy()
    }

    pub(in crate::history) fn identity(&self) -> Identity {
        self.identity
    }

    pub(in crate::history) fn text(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    pub(in crate::history) fn next(&mut self) -> Result<Next> {
        loop {
            let rest = &self.buffer[self.at..self.filled];
            let mut unread = rest;
            let length = unread.skip_until(b'\n').unwrap_or(rest.len());
            let whole = length > 0 && rest[length - 1] == b'\n';
            // A line that has not ended is longer than what is here by its line feed at least.
            if length as u64 + u64::from(!whole) > self.max_line_bytes {
                return Err(Error::RecordTooLarge(self.max_line_bytes));
            }
            if whole {
                let line = self.at..self.at + length - 1;
                self.at += length;
                return Ok(Next::Line(line));
            }
            if self.ended {
                return Ok(if length == 0 { Next::End } else { Next::Torn });
            }
            self.fill(length)?;
        }
    }

    /// Read again from the beginning of the line that was torn.
    pub(in crate::history) fn look_again(&mut self) -> Result<()> {
        self.fill(0)
    }

    /// Read on from where the next line begins; `known` bytes of it are known to be no whole line.
    fn fill(&mut self, known: usize) -> Result<()> {
        let start = self.offset + self.at as u64;
        let lead = usize::from(start > 0);
        if self.buffer.len() < BLOCK.max(2 * known) {
            self.buffer.resize(BLOCK.max(2 * known) + 1, 0);
        }
        self.offset = start - lead as u64;
        self.at = lead;
        self.filled = 0;
        self.ended = false;
        while self.filled < self.buffer.len() && !self.ended {
            let count =
                self.file.read_at(self.offset + self.filled as u64, &mut self.buffer[self.filled..])?;
            self.filled += count;
            self.ended = count == 0;
        }
        if lead == 1 && (self.filled == 0 || self.buffer[0] != b'\n') {
            return Err(Error::IdentityChanged(self.file.path().to_owned()));
        }
        Ok(())
    }
}
