//! Replacing a single file as a whole: readers see the old or the new.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::layout::with_end;
use super::options::record_limit;
use super::record::Lines;
use super::writer::{Turn, Writer};
use super::{Boundary, Error, Layout, Result, Seams, Writing};
use crate::files::Identity;
use crate::host::Host;
use crate::lease::Progress;

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
    let mut rewrite = Rewrite::begin(host, path, records, max_record_bytes, writing)?;
    loop {
        match rewrite.advance(host, seams)? {
            Progress::Done(()) => return Ok(()),
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    }
}

/// A [`rewrite`] that yields its waits.
#[derive(Debug)]
#[must_use = "a rewrite does nothing until it is advanced"]
pub struct Rewrite {
    turn: Turn,
    lines: Lines,
}

impl Rewrite {
    /// Check everything; the file's directory is created when it is missing.
    ///
    /// # Errors
    /// As [`rewrite`].
    pub fn begin<T: AsRef<str>>(
        host: &Host,
        path: &Path,
        records: &[T],
        max_record_bytes: f64,
        writing: Writing,
    ) -> Result<Rewrite> {
        let lines = Lines::of(records, record_limit(max_record_bytes)?)?;
        Ok(Rewrite { turn: Turn::begin(host, Layout::file(path)?, writing)?, lines })
    }

    /// Go on until it is done or there is something to wait for.
    ///
    /// # Errors
    /// As [`rewrite`].
    pub fn advance(&mut self, host: &Host, seams: &dyn Seams) -> Result<Progress<()>> {
        match self.turn.advance(host)? {
            Progress::Wait(pause) => Ok(Progress::Wait(pause)),
            Progress::Done(lease) => {
                let publish = |writer: &Writer<'_>| writer.replace(&self.lines.bytes);
                self.turn.work(host, lease, seams, publish).map(Progress::Done)
            }
        }
    }

    /// Call it off between two steps.
    pub fn abort(&mut self, host: &Host) {
        self.turn.abort(host);
    }
}

/// Whether the new file had its name when the operation failed.
enum Stage {
    Unpublished,
    Published,
}

impl Writer<'_> {
    fn replace(&self, bytes: &[u8]) -> Result<()> {
        let temporary = self.temporary_name();
        match self.publish(&temporary, bytes) {
            Err((error, Stage::Unpublished)) => {
                // Best effort: the failure that is reported is the first one.
                let _ = self.home.dir.unlink(&temporary);
                Err(error)
            }
            published => published.map_err(|(error, _)| error),
        }
    }

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
