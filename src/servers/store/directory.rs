//! Opening and making the registry's directory.

use std::path::Path;
use std::path::PathBuf;

use super::{Site, Store};
use crate::files::{Dir, Kind, PathError};
use crate::host::Host;
use crate::servers::Error;

/// `<coordRoot>/.harnery/servers`
pub fn directory(coord_root: &Path) -> PathBuf {
    coord_root.join(".harnery").join("servers")
}

impl Store {
    /// The registry of a project; `None` where there is none yet.
    ///
    /// # Errors
    /// A registry that is a symbolic link; one that cannot be opened.
    pub fn open(host: &Host, coord_root: &Path) -> Result<Option<Store>, Error> {
        match Dir::open(&host.files, &directory(coord_root)) {
            Ok(dir) => Ok(Some(Store { host: host.clone(), dir })),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(explain(host, error)),
        }
    }

    /// The registry of a site, made where there is none yet, with the modes of its sharing.
    ///
    /// # Errors
    /// As [`Store::open`], and a directory that cannot be made.
    pub fn ensure(host: &Host, site: &Site) -> Result<Store, Error> {
        let path = directory(&site.coord_root);
        if let Some(store) = Store::open(host, &site.coord_root)? {
            return Ok(store);
        }
        site.sharing.make_dirs(&host.files, &path)?;
        let dir = Dir::open(&host.files, &path).map_err(|error| explain(host, error))?;
        Ok(Store { host: host.clone(), dir })
    }
}

/// A directory that is none is named as what it is, with what to do.
fn explain(host: &Host, error: PathError) -> Error {
    match host.files.stat(&error.path) {
        Ok(stat) if stat.kind == Kind::Symlink => Error::Retained(format!(
            "server registry {} is a symbolic link; make it a real directory",
            error.path.display()
        )),
        _ => error.into(),
    }
}
