//! Replacing a single file as a whole: readers see the old or the new.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::layout::with_end;
use super::options::record_limit;
use super::record::Lines;
use super::writer::{write, Writer};
use super::{Boundary, Error, Layout, Result, Seams, Writing};
use crate::files::Identity;
use crate::host::Host;

/// Write the records, given as JSON texts, beside the file and rename them over it. Until then a failure leaves the
/// old file as it was and nothing beside it.
///
/// # Errors
/// As [`append`](super::append::append).
pub fn rewrite<T: AsRef<str>>(
    host: &Host,
    path: &Path,
    records: &[T],
    max_record_bytes: f64,
    writing: Writing,
    seams: &dyn Seams,
) -> Result<()> {
    let lines = Lines::of(records, record_limit(max_record_bytes)?)?;
    write(host, &Layout::file(path)?, writing, seams, |writer| {
        let temporary = writer.temporary_name();
        match writer.publish(&temporary, &lines.bytes) {
            Err((error, Stage::Unpublished)) => {
                // Best effort: the failure that is reported is the first one.
                let _ = writer.home.dir.unlink(&temporary);
                Err(error)
            }
            published => published.map_err(|(error, _)| error),
        }
    })
}

/// Whether the new file had its name when the operation failed.
enum Stage {
    Unpublished,
    Published,
}

impl Writer<'_> {
    fn temporary_name(&self) -> OsString {
        let (me, id) = (self.host.processes.me(), self.host.processes.fresh_id());
        with_end(&self.layout.active, &format!(".rewrite-{me}-{id}"))
    }

    fn publish(&self, temporary: &OsStr, bytes: &[u8]) -> std::result::Result<(), (Error, Stage)> {
        let name = &self.layout.active;
        self.home.look_for_file(name).map_err(|error| (error, Stage::Unpublished))?;
        let identity = self.prepare(name, temporary, bytes).map_err(|error| (error, Stage::Unpublished))?;
        self.home.dir.rename(temporary, name).map_err(|error| (error.into(), Stage::Unpublished))?;
        self.settle(name, identity).map_err(|error| (error, Stage::Published))
    }

    fn prepare(&self, name: &OsStr, temporary: &OsStr, bytes: &[u8]) -> Result<Identity> {
        let identity = self.sharing.write_new(&self.home.dir, temporary, bytes)?.identity;
        self.seams.fault(Boundary::AfterRewriteTempSync)?;
        self.home.look_for_file(name)?;
        self.must_be_the_only_one()?;
        Ok(identity)
    }

    fn settle(&self, name: &OsStr, identity: Identity) -> Result<()> {
        if !self.home.names(name, identity)? {
            return Err(Error::IdentityChanged(self.home.dir.path().join(name)));
        }
        self.home.sync()?;
        Ok(self.seams.fault(Boundary::AfterRewritePublish)?)
    }
}
