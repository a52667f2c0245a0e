//! A lease in preparation, under a name of its own, and the rename that makes it one.

use std::ffi::{OsStr, OsString};

use nix::errno::Errno;

use super::owner::{self, OWNER_FILE};
use super::Lease;
use crate::files::{Dir, Identity, PathError, Sharing};
use crate::history::home::{is_unsupported, Home};
use crate::history::Result;
use crate::host::Host;

/// A directory that is a complete lease but for its name.
#[derive(Debug)]
#[must_use = "a claim is published or discarded"]
pub(super) struct Claim {
    name: OsString,
    own: Dir,
    identity: Identity,
    mark: Identity,
    owner_id: String,
}

/// What the claim is renamed onto.
pub(super) enum Over {
    Nothing,
    /// A directory that was seen empty, or that this call emptied.
    Emptied(Dir),
}

impl Claim {
    /// Write and sync everything, before the lease's name exists or changes.
    pub(super) fn prepare(host: &Host, home: &Home, lease: &OsStr, sharing: Sharing) -> Result<Claim> {
        let owner_id = host.processes.fresh_id();
        let mut name = lease.to_owned();
        name.push(format!(".claim-{}-{owner_id}", host.processes.me()));
        let claimed = home.create_inside(&name, sharing).and_then(|own| {
            let mark = sharing.write_new(&own.dir, OWNER_FILE, owner::text(host, &owner_id).as_bytes())?;
            Ok((own, mark.identity))
        });
        match claimed {
            Ok((own, mark)) => Ok(Claim { name, identity: own.identity, own: own.dir, mark, owner_id }),
            Err(error) => {
                // Best effort: the failure that is reported is the first one.
                let _ = home.dir.remove_dir(&name);
                Err(error)
            }
        }
    }

    /// The rename. `None`: somebody else has the name; the claim is cleared away.
    pub(super) fn publish(self, home: &Home, lease: &OsStr, over: &Over) -> Result<Option<Lease>> {
        let renamed = match over {
            Over::Nothing => self.rename_new(home, lease),
            Over::Emptied(dir) => self.rename_onto(home, lease, dir),
        };
        match renamed {
            Ok(true) => Ok(Some(Lease {
                name: lease.to_owned(),
                own: self.own,
                identity: self.identity,
                mark: self.mark,
                owner_id: self.owner_id,
            })),
            Ok(false) => {
                self.discard(home);
                Ok(None)
            }
            Err(error) => {
                self.discard(home);
                Err(error.into())
            }
        }
    }

    /// Clear the claim away, best effort, if the name still is its own.
    pub(super) fn discard(self, home: &Home) {
        if home.names(&self.name, self.identity).unwrap_or(false) {
            let _ = self.own.unlink(OWNER_FILE);
            let _ = home.dir.remove_dir(&self.name);
        }
    }

    fn rename_new(&self, home: &Home, lease: &OsStr) -> std::result::Result<bool, PathError> {
        match home.dir.rename_new(&self.name, lease) {
            // The file system cannot rename without replacing. Between this look and the rename an older harness may
            // create the directory that it means to fill: that window stays open here.
            Err(error) if is_unsupported(&error) => match home.dir.look(lease)? {
                Some(_) => Ok(false),
                None => won(home.dir.rename(&self.name, lease)),
            },
            renamed => won(renamed),
        }
    }

    fn rename_onto(&self, home: &Home, lease: &OsStr, emptied: &Dir) -> std::result::Result<bool, PathError> {
        if !home.names(lease, emptied.identity()?)? {
            return Ok(false);
        }
        won(home.dir.rename(&self.name, lease))
    }
}

fn won(renamed: std::result::Result<(), PathError>) -> std::result::Result<bool, PathError> {
    match renamed {
        Ok(()) => Ok(true),
        // POSIX lets a system say either for a directory that is not empty.
        Err(error) if error.is_taken() || error.is(Errno::ENOTEMPTY) => Ok(false),
        Err(error) => Err(error),
    }
}
