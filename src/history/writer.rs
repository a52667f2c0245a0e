//! The writer: whoever holds the lease.

use std::fmt;

use super::home::Home;
use super::lease::{Acquiring, Lease};
use super::{Layout, Result, Seams, Writing};
use crate::files::Sharing;
use crate::host::Host;
use crate::lease::Progress;

/// The holder of a history's lease, for as long as [`write`] lasts.
pub struct Writer<'a> {
    pub(super) host: &'a Host,
    pub(super) layout: &'a Layout,
    pub(super) home: &'a Home,
    pub(super) lease: &'a Lease,
    pub(super) sharing: Sharing,
    pub(super) seams: &'a dyn Seams,
}

/// Do something under the history's lease, waiting for it as long as the caller allows, and give it back whatever
/// came out. The home is created when it is missing.
///
/// # Errors
/// [`Error::Busy`](super::Error::Busy), and what the operation fails with.
pub fn write<T>(
    host: &Host,
    layout: &Layout,
    writing: Writing,
    seams: &dyn Seams,
    operation: impl FnOnce(&Writer<'_>) -> Result<T>,
) -> Result<T> {
    let mut turn = Turn::begin(host, layout.clone(), writing)?;
    loop {
        match turn.advance(host)? {
            Progress::Done(lease) => return turn.work(host, lease, seams, operation),
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    }
}

/// A writer that waits for its turn. It yields its waits.
#[derive(Debug)]
pub(super) struct Turn {
    layout: Layout,
    writing: Writing,
    home: Home,
    acquiring: Acquiring,
}

impl Turn {
    pub(super) fn begin(host: &Host, layout: Layout, writing: Writing) -> Result<Turn> {
        let home = Home::create(host, &layout.home, writing.sharing)?;
        let acquiring = Acquiring::new(layout.lease.clone(), writing);
        Ok(Turn { layout, writing, home, acquiring })
    }

    /// Go on until the lease is held or there is something to wait for.
    pub(super) fn advance(&mut self, host: &Host) -> Result<Progress<Lease>> {
        self.acquiring.step(host, &self.home)
    }

    /// Do something under the lease and give it back.
    pub(super) fn work<T>(
        &self,
        host: &Host,
        lease: Lease,
        seams: &dyn Seams,
        operation: impl FnOnce(&Writer<'_>) -> Result<T>,
    ) -> Result<T> {
        let Turn { layout, writing, home, .. } = self;
        let done = operation(&Writer { host, layout, home, lease: &lease, sharing: writing.sharing, seams });
        lease.release(host, home);
        done
    }

    /// Call it off between two steps.
    pub(super) fn abort(&mut self, host: &Host) {
        self.acquiring.abort(host, &self.home);
    }
}

impl Writer<'_> {
    /// Whether the lease still is this writer's and its home where its path leads. Asked right before anything is
    /// written, sealed or published.
    ///
    /// # Errors
    /// [`Error::Lost`](super::Error::Lost), [`Error::DirectoryChanged`](super::Error::DirectoryChanged).
    pub fn must_be_the_only_one(&self) -> Result<()> {
        self.lease.must_be_held(self.home)?;
        self.home.must_not_have_moved(self.host)
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("layout", self.layout)
            .field("lease", self.lease)
            .finish_non_exhaustive()
    }
}
