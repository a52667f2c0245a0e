//! Node's `path` functions on POSIX: lexical, `..` folded, no symbolic links followed.
//!
//! Paths are bytes here: what JavaScript hands in is UTF-8, but a current directory may have any name, and a path
//! that was resolved from it must still lead there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path with a NUL in it: the system would see a shorter, other path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a path must be a string without null bytes")]
pub struct NulInPath;

/// The path as it was handed in.
///
/// # Errors
/// [`NulInPath`], before the system sees a truncated path.
pub fn without_nul(path: &str) -> Result<&str, NulInPath> {
    if path.contains('\0') {
        return Err(NulInPath);
    }
    Ok(path)
}

/// `path.resolve(path)` in the current directory `cwd`, which is absolute: always absolute, without a slash at
/// its end.
pub fn resolve(cwd: &Path, path: impl AsRef<OsStr>) -> PathBuf {
    let path = path.as_ref();
    let rooted = path.as_bytes().starts_with(b"/");
    absolute(&if rooted { path.to_owned() } else { glue(cwd.as_os_str(), path) })
}

/// `path.isAbsolute(path)`.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
}

/// `path.normalize(path)`: a slash at the end stays, an empty path is `.`.
pub fn normalize(path: &OsStr) -> OsString {
    let bytes = path.as_bytes();
    let rooted = bytes.starts_with(b"/");
    let mut folded = fold(bytes, rooted);
    if folded.is_empty() {
        return if rooted {
            "/".into()
        } else if bytes.ends_with(b"/") {
            "./".into()
        } else {
            ".".into()
        };
    }
    if rooted {
        folded.insert(0, b'/');
    }
    if bytes.ends_with(b"/") {
        folded.push(b'/');
    }
    OsString::from_vec(folded)
}

/// `path.join(base, more)`; for three parts, join twice.
pub fn join(base: &Path, more: &str) -> PathBuf {
    let base = base.as_os_str();
    let whole = if more.is_empty() {
        base.to_owned()
    } else if base.is_empty() {
        more.into()
    } else {
        glue(base, more)
    };
    normalize(&whole).into()
}

/// `path.basename(path)`: the last part, slashes at the end left aside; empty for `/` alone. Unlike
/// [`Path::file_name`] it takes `.` and `..` for names.
pub fn basename(path: &Path) -> &OsStr {
    let bytes = without_end_slashes(path);
    let start = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    OsStr::from_bytes(&bytes[start..])
}

/// `path.dirname(path)`: `.` where there is no directory in it.
pub fn dirname(path: &Path) -> &Path {
    let whole = path.as_os_str().as_bytes();
    let bytes = without_end_slashes(path);
    match bytes.iter().rposition(|byte| *byte == b'/') {
        // Node takes two slashes in front for a directory of their own.
        Some(1) if bytes[0] == b'/' => Path::new("//"),
        Some(0) => Path::new("/"),
        Some(slash) => Path::new(OsStr::from_bytes(&bytes[..slash])),
        None if whole.starts_with(b"/") => Path::new("/"),
        None => Path::new("."),
    }
}

/// `path.relative(from, to)`, both taken from `cwd`: empty when they are the same.
pub fn relative(cwd: &Path, from: &str, to: &str) -> PathBuf {
    let (from, to) = (resolve(cwd, from), resolve(cwd, to));
    let (from, to) = (parts(&from), parts(&to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(b"..".as_slice(), from.len() - shared);
    let down = to[shared..].iter().copied();
    OsString::from_vec(up.chain(down).collect::<Vec<_>>().join(&b'/')).into()
}

fn absolute(path: &OsStr) -> PathBuf {
    let mut folded = fold(path.as_bytes(), true);
    folded.insert(0, b'/');
    OsString::from_vec(folded).into()
}

/// The parts of a path with `.` and empty ones left out and `..` folded; above a root there is nothing.
fn fold(path: &[u8], rooted: bool) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match (part, kept.last()) {
            (b"" | b".", _) => {}
            (b"..", Some(last)) if *last != b".." => {
                kept.pop();
            }
            (b"..", _) if rooted => {}
            _ => kept.push(part),
        }
    }
    kept.join(&b'/')
}

fn parts(path: &Path) -> Vec<&[u8]> {
    path.as_os_str().as_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect()
}

fn without_end_slashes(path: &Path) -> &[u8] {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    &bytes[..end]
}

fn glue(base: &OsStr, more: impl AsRef<OsStr>) -> OsString {
    let mut whole = base.to_owned();
    whole.push("/");
    whole.push(more);
    whole
}
