//! Which files make up a history, and under which lease they are written.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{Error, Result};
use crate::javascript::paths;

/// The names of a history's parts, all of them in one directory, the home.
#[derive(Debug, Clone)]
pub struct Layout {
    pub(super) home: PathBuf,
    pub(super) active: OsString,
    /// The directory of the sealed segments; `None` for a single file.
    pub(super) segments: Option<OsString>,
    pub(super) lease: OsString,
}

impl Layout {
    /// A directory that is a history: `active.jsonl`, `segments/`, `.append.lease/`. The path is absolute.
    pub fn directory(dir: &Path) -> Layout {
        Layout {
            home: dir.to_owned(),
            active: "active.jsonl".into(),
            segments: Some("segments".into()),
            lease: ".append.lease".into(),
        }
    }

    /// A file that is sealed into segments beside it: `<path>.segments/`, `<path>.segment.lease/`.
    ///
    /// # Errors
    /// [`Error::NotAFile`] for a path that names no file: the root.
    pub fn segmented(path: &Path) -> Result<Layout> {
        Layout::beside(path, Some(".segments"), ".segment.lease")
    }

    /// A single file: `<path>.lease/`.
    ///
    /// # Errors
    /// As [`Layout::segmented`].
    pub fn file(path: &Path) -> Result<Layout> {
        Layout::beside(path, None, ".lease")
    }

    /// The file that is appended to.
    pub fn active_path(&self) -> PathBuf {
        self.home.join(&self.active)
    }

    fn beside(path: &Path, segments: Option<&str>, lease: &str) -> Result<Layout> {
        let active = paths::basename(path);
        if active.is_empty() {
            return Err(Error::NotAFile(path.to_owned()));
        }
        Ok(Layout {
            home: paths::dirname(path).to_owned(),
            active: active.to_owned(),
            segments: segments.map(|end| with_end(active, end)),
            lease: with_end(active, lease),
        })
    }
}

/// A name with something after it.
pub(super) fn with_end(name: &OsStr, end: &str) -> OsString {
    let mut whole = name.to_owned();
    whole.push(end);
    whole
}
