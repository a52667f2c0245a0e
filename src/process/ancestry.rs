//! Whose child a process is.

use super::{Pid, Processes};

/// How far [`ancestry`] looks unless told otherwise.
pub const MAX_HOPS: usize = 32;

/// The process and its parents, nearest first. It ends before process 1, at a repeat, and after `max_hops`.
pub fn ancestry(processes: &dyn Processes, pid: Pid, max_hops: usize) -> Vec<Pid> {
    let mut chain = Vec::new();
    let mut next = Some(pid);
    while let Some(pid) = next {
        if pid.get() == 1 || chain.len() >= max_hops || chain.contains(&pid) {
            break;
        }
        chain.push(pid);
        next = processes.parent(pid).and_then(Pid::new);
    }
    chain
}
