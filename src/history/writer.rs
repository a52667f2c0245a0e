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
    let home = Home::create(host, &layout.home, writing.sharing)?;
    let mut acquiring = Acquiring::new(layout.lease.clone(), writing);
    let lease = loop {
        match acquiring.step(host, &home)? {
            Progress::Done(lease) => break lease,
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    };
    let done =
        operation(&Writer { host, layout, home: &home, lease: &lease, sharing: writing.sharing, seams });
    lease.release(host, &home);
    done
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
