//! Repair: what is torn is moved aside, so that an operator can go on.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::home::Home;
use super::layout::with_end;
use super::lease::torn::{inspect, move_aside, State};
use super::seal::segments_of;
use super::writer::{write, Writer};
use super::{Error, Layout, NoSeams, Result, Writing};
use crate::files::{Access, File, Kind, Stat};
use crate::host::Host;
use crate::javascript::timestamp;
use crate::lease::repair::Request;

/// What was moved where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The file, or the lease.
    pub file: PathBuf,
    pub bytes_removed: u64,
    pub quarantined_to: PathBuf,
}

const BLOCK: u64 = 64 * 1024;

/// Repair the first thing that keeps a history from going on; `None` when nothing does. `path` is its directory, or its
/// active file.
///
/// A torn lease, or one whose owner is elsewhere and known to be gone, is moved into `<lease>.torn-<time>/`, on the
/// word that `lease` gives. A torn tail is moved into
/// `<file>.torn-<time>`, under the history's lease; it is safe in its new file before it leaves the old one.
///
/// # Errors
/// As [`append`](super::append::append); [`Error::Repair`] when the lease may not be moved aside.
pub fn repair(
    host: &Host,
    path: &Path,
    writing: Writing,
    lease: Option<&Request>,
) -> Result<Option<Repaired>> {
    let layouts = layouts_of(host, path)?;
    let Some(home) = Home::open(host, &layouts[0].home)? else { return Ok(None) };
    if let Some(request) = lease {
        return move_a_torn_lease(host, &home, &layouts, request).map(Some);
    }
    match layouts.as_slice() {
        [single, segmented] => {
            write(host, single, writing, &NoSeams, |_| move_a_torn_tail(host, segmented, writing))
        }
        layouts => move_a_torn_tail(host, &layouts[0], writing),
    }
}

/// What a path may be: a directory that is a history; or a file, of which it does not show whether it is kept in
/// segments, so that both leases count.
///
/// # Errors
/// [`Error::Symlink`], [`Error::NotAFile`].
pub fn layouts_of(host: &Host, path: &Path) -> Result<Vec<Layout>> {
    match host.files.stat(path) {
        Ok(stat) if stat.kind == Kind::Directory => Ok(vec![Layout::directory(path)]),
        Ok(stat) if stat.kind == Kind::Symlink => Err(Error::Symlink(path.to_owned())),
        _ => Ok(vec![Layout::file(path)?, Layout::segmented(path)?]),
    }
}

fn move_a_torn_lease(host: &Host, home: &Home, layouts: &[Layout], request: &Request) -> Result<Repaired> {
    let mut torn = &layouts[0];
    for layout in layouts {
        if matches!(inspect(host, layout)?.state, State::Torn | State::Elsewhere) {
            torn = layout;
        }
    }
    let (quarantined_to, bytes_removed) = move_aside(host, home, &torn.lease, request)?;
    Ok(Repaired { file: home.dir.path().join(&torn.lease), bytes_removed, quarantined_to })
}

fn move_a_torn_tail(host: &Host, layout: &Layout, writing: Writing) -> Result<Option<Repaired>> {
    write(host, layout, writing, &NoSeams, |writer| {
        if let Some(segments) = writer.home.open_segments(layout)? {
            for name in segments_of(&segments)? {
                if let Some(repaired) = writer.move_torn_tail(&segments, &name)? {
                    return Ok(Some(repaired));
                }
            }
        }
        writer.move_torn_tail(writer.home, &layout.active)
    })
}

impl Writer<'_> {
    fn move_torn_tail(&self, home: &Home, name: &OsStr) -> Result<Option<Repaired>> {
        if home.look_for_file(name)?.is_none_or(|stat| stat.size == 0) {
            return Ok(None);
        }
        let file = home.dir.open_file(name, Access::ReadWrite)?;
        let stat = home.must_be_a_file(name, file.stat()?)?;
        let whole = end_of_the_last_line(&file, &stat)?;
        if whole == stat.size {
            return Ok(None);
        }
        let quarantine = self.quarantine_name(home, name)?;
        let copy = self.sharing.create_file(&home.dir, &quarantine)?;
        if let Err(error) = copy_range(&file, whole, stat.size, &copy) {
            // Best effort: the failure that is reported is the first one.
            let _ = home.dir.unlink(&quarantine);
            return Err(error);
        }
        home.sync()?;
        self.must_be_the_only_one()?;
        if !home.names(name, stat.identity)? {
            return Err(Error::IdentityChanged(file.path().to_owned()));
        }
        file.set_size(whole)?;
        file.sync()?;
        Ok(Some(Repaired {
            file: file.path().to_owned(),
            bytes_removed: stat.size - whole,
            quarantined_to: home.dir.path().join(&quarantine),
        }))
    }

    /// `<file>.torn-<time>`, and a number where that name is taken.
    fn quarantine_name(&self, home: &Home, name: &OsStr) -> Result<OsString> {
        let time = timestamp::format(self.host.clock.now_ms()).unwrap_or_default().replace(':', "-");
        let first = with_end(name, &format!(".torn-{time}"));
        let mut free = first.clone();
        let mut number = 2;
        while home.dir.look(&free)?.is_some() {
            free = with_end(&first, &format!("-{number}"));
            number += 1;
        }
        Ok(free)
    }
}

/// Where the last whole line ends, looked for from the end.
fn end_of_the_last_line(file: &File, stat: &Stat) -> Result<u64> {
    let mut end = stat.size;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let block = read_range(file, start, end)?;
        if let Some(place) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Copy a part of a file to the start of another and sync that. A tail can be of any size: what a power cut leaves of a
/// file may be mostly a hole.
fn copy_range(file: &File, start: u64, end: u64, copy: &File) -> Result<()> {
    let mut at = start;
    while at < end {
        let block = read_range(file, at, end.min(at + BLOCK))?;
        copy.write_all_at(at - start, &block)?;
        at += block.len() as u64;
    }
    Ok(copy.sync()?)
}

fn read_range(file: &File, start: u64, end: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(start + filled as u64, &mut bytes[filled..])? {
            // Only a holder writes, and we are the holder.
            0 => return Err(Error::IdentityChanged(file.path().to_owned())),
            count => filled += count,
        }
    }
    Ok(bytes)
}
