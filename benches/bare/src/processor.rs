//! One processor for both sides of a comparison.
//!
//! Two processors of a shared machine can differ by a factor of two for seconds, and the scheduler keeps a process where
//! it is: the sides would be told apart by their places, not by what they do.

use std::io;

use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;

/// This process and the main thread of its parent on one processor; the parent's places are restored at the end.
pub(crate) struct OneProcessor {
    parent: Pid,
    before: CpuSet,
}

impl OneProcessor {
    pub(crate) fn share() -> io::Result<OneProcessor> {
        let parent = nix::unistd::getppid();
        let before = sched_getaffinity(parent)?;
        let last = (0..CpuSet::count()).rev().find(|cpu| before.is_set(*cpu).unwrap_or(false));
        let mut one = CpuSet::new();
        one.set(last.ok_or_else(|| io::Error::other("the parent has no processor"))?)?;
        sched_setaffinity(parent, &one)?;
        let shared = OneProcessor { parent, before };
        sched_setaffinity(Pid::from_raw(0), &one)?;
        Ok(shared)
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        // A parent that has ended meanwhile needs none.
        let _ = sched_setaffinity(self.parent, &self.before);
    }
}
