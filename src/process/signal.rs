//! Signals for a verified generation.
//!
//! The order is what makes it safe: hold the process first, verify the generation after that, then signal through the
//! hold. 1. we hold number 7 · 2. the process ends and 7 is handed out again · 3. we verify: the newcomer's token
//! differs, nothing is sent. Or 1. hold · 2. verify: the same · 3. it ends and 7 is handed out again · 4. the signal
//! goes to the one that was held, who is gone. Verified first, step 3 would have hit the newcomer.
//!
//! Without pidfds the hold is the number alone. Then the generation is verified once more right before `kill(2)`, and
//! a process that ends between the two, and whose number is handed out in that moment, is the window that remains.

use std::io;

use super::generation::verify;
use super::{Asked, Dependencies, Generation, Pid, Processes, Sent, Signal, Target};

/// What became of a request to signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signalled {
    /// As read after the process was held.
    pub verdict: Generation,
    /// `None` when nothing was tried, because the verdict is not [`Generation::Same`], or when the caller's own
    /// `kill` threw.
    pub outcome: Option<Sent>,
}

impl Signalled {
    /// Whether the kernel, or the caller's own `kill`, took the signal.
    pub fn sent(self) -> bool {
        self.outcome == Some(Sent::Sent)
    }
}

/// A process could not be held, or a signal failed for a reason that says nothing about the process.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} process {pid}: {source}")]
pub struct Error {
    /// What was attempted: `hold` or `signal`.
    pub action: &'static str,
    /// The system call as Node would name it.
    pub syscall: &'static str,
    pub pid: Pid,
    pub source: io::Error,
}

/// Signal a process if it is still the generation that `token` was recorded of.
///
/// # Errors
/// Running out of descriptors (`EMFILE`, `ENFILE`): nothing was sent.
pub fn signal_if_same(
    processes: &dyn Processes,
    pid: Pid,
    token: Option<&str>,
    signal: Signal,
    dependencies: &dyn Dependencies,
) -> Result<Signalled, Error> {
    if dependencies.replaces_kill() {
        return Ok(by_the_callers_kill(processes, pid, token, signal, dependencies, pid.get()));
    }
    let Some(target) = hold(processes, pid)? else {
        return Ok(not_there(verify(processes, pid, token, dependencies)));
    };
    signal_target(processes, &*target, token, signal, dependencies)
}

/// Signal the process group that a process leads, if the leader is still the generation that `token` was recorded of.
///
/// [`Sent::NoGroup`] when it leads none that may be signalled: then the caller signals the process alone, verifying
/// afresh.
///
/// # Errors
/// As [`signal_if_same`].
pub fn signal_group_if_same(
    processes: &dyn Processes,
    leader: Pid,
    token: Option<&str>,
    signal: Signal,
    dependencies: &dyn Dependencies,
) -> Result<Signalled, Error> {
    if dependencies.replaces_kill() {
        // The caller's function replaces the look at who leads what, but not the two groups that are never signalled:
        // `kill(-1)` means everyone, and our own group is us.
        if leader.get() == 1 || processes.my_group() == Some(leader) {
            let verdict = verify(processes, leader, token, dependencies);
            let outcome = (verdict == Generation::Same).then_some(Sent::NoGroup);
            return Ok(Signalled { verdict, outcome });
        }
        return Ok(by_the_callers_kill(processes, leader, token, signal, dependencies, -leader.get()));
    }
    let Some(target) = hold(processes, leader)? else {
        return Ok(not_there(verify(processes, leader, token, dependencies)));
    };
    signal_target_group(processes, &*target, token, signal, dependencies)
}

/// [`signal_if_same`] through a hold that was taken before.
///
/// # Errors
/// As [`signal_if_same`].
pub fn signal_target(
    processes: &dyn Processes,
    target: &dyn Target,
    token: Option<&str>,
    signal: Signal,
    dependencies: &dyn Dependencies,
) -> Result<Signalled, Error> {
    let verdict = verify_for(processes, target.pid(), token, dependencies, target.is_pinned());
    send(target, verdict, || target.signal(signal))
}

/// [`signal_group_if_same`] through a hold that was taken before.
///
/// # Errors
/// As [`signal_if_same`].
pub fn signal_target_group(
    processes: &dyn Processes,
    target: &dyn Target,
    token: Option<&str>,
    signal: Signal,
    dependencies: &dyn Dependencies,
) -> Result<Signalled, Error> {
    let verdict = verify_for(processes, target.pid(), token, dependencies, target.pins_group());
    send(target, verdict, || target.signal_group(signal))
}

/// Take a hold on a process, for several signals; `None` when there is none.
///
/// # Errors
/// Running out of descriptors.
pub fn hold(processes: &dyn Processes, pid: Pid) -> Result<Option<std::rc::Rc<dyn Target>>, Error> {
    processes.open(pid).map_err(|source| Error { action: "hold", syscall: "pidfd_open", pid, source })
}

fn verify_for(
    processes: &dyn Processes,
    pid: Pid,
    token: Option<&str>,
    dependencies: &dyn Dependencies,
    pinned: bool,
) -> Generation {
    let verdict = verify(processes, pid, token, dependencies);
    if verdict == Generation::Same && !pinned {
        return verify(processes, pid, token, dependencies);
    }
    verdict
}

fn send(
    target: &dyn Target,
    verdict: Generation,
    signal: impl FnOnce() -> io::Result<Sent>,
) -> Result<Signalled, Error> {
    if verdict != Generation::Same {
        return Ok(Signalled { verdict, outcome: None });
    }
    let outcome = signal().map_err(|source| Error {
        action: "signal",
        syscall: if target.is_pinned() { "pidfd_send_signal" } else { "kill" },
        pid: target.pid(),
        source,
    })?;
    Ok(Signalled { verdict, outcome: Some(outcome) })
}

fn by_the_callers_kill(
    processes: &dyn Processes,
    pid: Pid,
    token: Option<&str>,
    signal: Signal,
    dependencies: &dyn Dependencies,
    number: i32,
) -> Signalled {
    let verdict = verify(processes, pid, token, dependencies);
    let outcome = match verdict {
        Generation::Same => match dependencies.kill(number, signal) {
            Asked::Answered(()) => Some(Sent::Sent),
            Asked::Threw | Asked::NotSupplied => None,
        },
        Generation::Different | Generation::Unknown => None,
    };
    Signalled { verdict, outcome }
}

/// The verdict is the caller's own `readToken`'s, if there is one: the machine has nobody with that number.
fn not_there(verdict: Generation) -> Signalled {
    Signalled { verdict, outcome: (verdict == Generation::Same).then_some(Sent::Gone) }
}
