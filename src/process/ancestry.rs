//! Whose child a process is.

use super::{Pid, Processes};

/// How far [`ancestry`] looks unless told otherwise.
pub const MAX_HOPS: usize = 32;

/// The process and its parents, nearest first. It ends before process 1, at a repeat, and after `max_hops`.
pub fn ancestry(processes: &dyn Processes, pid: Pid, max_hops: usize) -> Vec<Pid> {
    let mut chain = lineage(processes, pid, max_hops);
    chain.retain(|pid| pid.get() != 1);
    chain
}

/// As [`ancestry`], with process 1 where it leads there: in a container that is an ordinary server.
pub fn lineage(processes: &dyn Processes, pid: Pid, max_hops: usize) -> Vec<Pid> {
    let mut chain = Vec::new();
    let mut next = Some(pid);
    while let Some(pid) = next {
        if chain.len() >= max_hops || chain.contains(&pid) {
            break;
        }
        chain.push(pid);
        next = processes.parent(pid).and_then(Pid::new);
    }
    chain
}
