//! Whole small files: read with a bound, written once and synced, replaced atomically.

use std::ffi::OsStr;

use super::{Access, Dir, File, Kind, PathError, Stat};

/// What reading a bounded plain file found.
#[derive(Debug)]
pub enum Read {
    Missing,
    /// A symbolic link, a directory, a FIFO, …: never opened as a file.
    NotAFile(Stat),
    /// Larger than the bound; not read.
    TooLarge(Stat),
    Bytes {
        bytes: Vec<u8>,
        stat: Stat,
    },
}

/// Read the plain file `name` of `dir`, if it has no more than `limit` bytes.
///
/// # Errors
/// [`PathError`] when it is there but cannot be opened or read.
pub fn read(dir: &Dir, name: impl AsRef<OsStr>, limit: usize) -> Result<Read, PathError> {
    let name = name.as_ref();
    let file = match dir.open_file(name, Access::Read) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(Read::Missing),
        // A symbolic link (ELOOP), a socket (ENXIO): what it is decides, not how opening it failed.
        Err(error) => {
            return match dir.look(name)? {
                None => Ok(Read::Missing),
                Some(stat) if stat.kind != Kind::File => Ok(Read::NotAFile(stat)),
                Some(_) => Err(error),
            }
        }
    };
    let stat = file.stat()?;
    if stat.kind != Kind::File {
        return Ok(Read::NotAFile(stat));
    }
    if stat.size > limit as u64 {
        return Ok(Read::TooLarge(stat));
    }
    let bytes = whole(&file, stat.size as usize, limit + 1)?;
    Ok(if bytes.len() > limit { Read::TooLarge(stat) } else { Read::Bytes { bytes, stat } })
}

/// The content of a file that had `size` bytes a moment ago, or the first `limit` bytes of it.
fn whole(file: &File, size: usize, limit: usize) -> Result<Vec<u8>, PathError> {
    let mut bytes = vec![0; size + 1];
    let count = file.read_at(0, &mut bytes)?;
    if count != size {
        // It was changed in place, or came in pieces.
        return file.read_up_to(limit);
    }
    bytes.truncate(count);
    Ok(bytes)
}

/// Create `name` exclusively with these bytes and sync its content. On failure nothing of it is left.
///
/// # Errors
/// [`PathError`]; `EEXIST` when the name is taken (it is left alone).
pub fn write_new(dir: &Dir, name: impl AsRef<OsStr>, bytes: &[u8], mode: u32) -> Result<Stat, PathError> {
    let name = name.as_ref();
    let file = dir.open_file(name, Access::CreateNew { mode })?;
    let written = file.write_all_at(0, bytes).and_then(|()| file.sync()).and_then(|()| file.stat());
    if written.is_err() {
        // Best effort: the failure that is reported is the first one.
        let _ = dir.unlink(name);
    }
    written
}
