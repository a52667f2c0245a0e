//! Sealing: the active file becomes the next segment.

use std::ffi::{OsStr, OsString};

use super::home::{is_unsupported, Home};
use super::read::{Lines, Next};
use super::writer::Writer;
use super::{record, AppendOptions, Boundary, Error, Result};
use crate::files::PathError;

const DIGITS: usize = 8;
const END: &str = ".jsonl";

/// The names of the sealed segments, oldest first. Other names in the directory are nobody's segments.
pub(super) fn segments_of(segments: &Home) -> Result<Vec<OsString>> {
    let mut names = segments.dir.list()?;
    names.retain(|name| number_of(name).is_some());
    names.sort();
    Ok(names)
}

impl Writer<'_> {
    /// Move the active file into the segments, once every line of it is whole and JSON.
    pub(super) fn seal(&self, name: &OsStr, options: AppendOptions) -> Result<()> {
        let segments = self.home.create_inside(name, self.sharing)?;
        let Some(mut lines) = Lines::open(self.home, &self.layout.active, options.max_record_bytes)? else {
            return Err(Error::IdentityChanged(self.home.dir.path().join(&self.layout.active)));
        };
        check_all(&mut lines)?;
        // Also what a killed writer had appended and not synced: nothing is ever written to a segment again.
        lines.file().sync()?;
        let target = next_segment(&segments)?;
        self.must_be_the_only_one()?;
        self.move_new(&segments, &target)?;
        if !segments.names(&target, lines.identity())? {
            return Err(Error::IdentityChanged(segments.dir.path().join(&target)));
        }
        // The new name first: a power cut between the two must not leave the file without any.
        segments.sync()?;
        self.home.sync()?;
        Ok(self.seams.fault(Boundary::AfterSegmentRename)?)
    }

    fn move_new(&self, segments: &Home, target: &OsStr) -> std::result::Result<(), PathError> {
        let active = &self.layout.active;
        match self.home.dir.move_new_into(active, &segments.dir, target) {
            // The file system cannot rename without replacing. Only holders of the lease name segments, and this one
            // has just seen that the name is free.
            Err(error) if is_unsupported(&error) => self.home.dir.move_into(active, &segments.dir, target),
            moved => moved,
        }
    }
}

fn check_all(lines: &mut Lines) -> Result<()> {
    let mut record = 0;
    loop {
        match lines.next()? {
            Next::End => return Ok(()),
            Next::Torn => return Err(Error::Partial { file: lines.shown_name().into_owned() }),
            // No append writes one, and no reader minds one.
            Next::Line(line) if line.is_empty() => {}
            Next::Line(line) => {
                record += 1;
                record::check(lines.text(line), &lines.shown_name(), record)?;
            }
        }
    }
}

fn next_segment(segments: &Home) -> Result<OsString> {
    let names = segments_of(segments)?;
    // What no reader takes for a segment must not be gone on after.
    for name in &names {
        segments.look_for_file(name)?;
    }
    let last = names.last().and_then(number_of).unwrap_or(0);
    let name = format!("{:0DIGITS$}{END}", last + 1);
    if name.len() > DIGITS + END.len() {
        return Err(Error::NoSegmentLeft(segments.dir.path().to_owned()));
    }
    Ok(name.into())
}

fn number_of(name: &OsString) -> Option<u64> {
    let digits = name.to_str()?.strip_suffix(END)?;
    let all_digits = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_name_a_segment_and_nothing_else_does() {
        assert_eq!(number_of(&"00000012.jsonl".into()), Some(12));
        for other in
            ["0000001.jsonl", "000000012.jsonl", "+0000001.jsonl", "00000001.jsonl.torn-1", "00000001"]
        {
            assert_eq!(number_of(&other.into()), None, "{other}");
        }
    }
}
