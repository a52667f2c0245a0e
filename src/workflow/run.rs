//! A run and its directory.

use std::path::{Path, PathBuf};

use super::{Error, Result};
use crate::files::{Dir, Sharing};
use crate::host::Host;
use crate::javascript::json::{self, Value};
use crate::javascript::paths;

/// The name of a run, which is safe as the name of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunId(String);

impl RunId {
    /// `^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`
    ///
    /// # Errors
    /// [`Error::Input`], before any path is built.
    pub fn new(id: &str) -> Result<RunId> {
        let first = id.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if first && id.len() <= 200 && id.bytes().all(rest) {
            return Ok(RunId(id.to_owned()));
        }
        Err(Error::Input(format!("invalid workflow run id {}", json::stringify(&Value::from(id)))))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The run's directory below a coordination root, as `path.join` puts it together.
    pub fn directory(&self, coord_root: &Path) -> PathBuf {
        paths::join(coord_root, &format!(".harnery/workflows/{}", self.0))
    }

    /// Where the harness keeps the run's manifest.
    pub fn manifest_path(&self, coord_root: &Path) -> PathBuf {
        paths::join(&self.directory(coord_root), "run.json")
    }

    /// The open directory; `None` when the run has none.
    pub(super) fn open(&self, host: &Host, coord_root: &Path) -> Result<Option<Dir>> {
        match Dir::open(&host.files, &self.directory(coord_root)) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The open directory, created when it is missing.
    pub(super) fn create(&self, host: &Host, coord_root: &Path, sharing: Sharing) -> Result<Dir> {
        if let Some(dir) = self.open(host, coord_root)? {
            return Ok(dir);
        }
        let path = self.directory(coord_root);
        sharing.make_dirs(&host.files, &path)?;
        Ok(Dir::open(&host.files, &path)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_a_name_and_never_a_path() {
        for good in ["a", "7", "Run_1.2-x", &"r".repeat(200)] {
            assert_eq!(RunId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", ".a", "-a", "_a", "a/b", "a b", "a\n", "\u{e9}", "a\0", &"r".repeat(201)] {
            let message = RunId::new(bad).unwrap_err().to_string();
            assert!(message.starts_with("invalid workflow run id \""), "{message}");
        }
        assert_eq!(RunId::new("a\"\n").unwrap_err().to_string(), r#"invalid workflow run id "a\"\n""#);
    }

    #[test]
    fn paths_are_joined_as_node_joins_them() {
        let run = RunId::new("r1").unwrap();
        let at = |root: &str| run.manifest_path(Path::new(root)).into_os_string().into_string().unwrap();
        assert_eq!(at("/a/../b/"), "/b/.harnery/workflows/r1/run.json");
        assert_eq!(at("rel"), "rel/.harnery/workflows/r1/run.json");
        assert_eq!(at(""), ".harnery/workflows/r1/run.json");
    }
}
