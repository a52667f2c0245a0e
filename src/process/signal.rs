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
use std::rc::Rc;

use nix::errno::Errno;

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
#[error("cannot {action} process {pid}: {source}; nothing was sent")]
pub struct Error {
    /// What was attempted: `hold` or `signal`.
    pub action: &'static str,
    /// The system call as Node would name it.
    pub syscall: &'static str,
    pub pid: Pid,
    pub source: io::Error,
}

impl Error {
    /// The error number's name, such as `EMFILE`; `None` when the failure was no system call's.
    pub fn code(&self) -> Option<String> {
        self.source.raw_os_error().map(|errno| format!("{:?}", Errno::from_raw(errno)))
    }
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
    let verify = || verify(processes, pid, token, dependencies);
    if dependencies.replaces_kill() {
        return Ok(kill_if_same(dependencies, pid.get(), signal, verify));
    }
    match hold(processes, pid)? {
        Some(target) => send_if_same(&*target, signal, verify),
        None => Ok(not_there(verify())),
    }
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
    let verify = || verify(processes, leader, token, dependencies);
    if dependencies.replaces_kill() {
        return Ok(kill_group_if_same(processes, dependencies, leader, signal, verify));
    }
    match hold(processes, leader)? {
        Some(target) => send_group_if_same(&*target, signal, verify),
        None => Ok(not_there(verify())),
    }
}

/// Take a hold on a process, for several signals; `None` when there is none.
///
/// # Errors
/// Running out of descriptors.
pub fn hold(processes: &dyn Processes, pid: Pid) -> Result<Option<Rc<dyn Target>>, Error> {
    processes.open(pid).map_err(|source| Error { action: "hold", syscall: "pidfd_open", pid, source })
}

/// Signal a process that is held, if `verify` says that it is the one that is meant.
///
/// # Errors
/// As [`signal_if_same`].
pub fn send_if_same(
    target: &dyn Target,
    signal: Signal,
    verify: impl Fn() -> Generation,
) -> Result<Signalled, Error> {
    send(target, target.is_pinned(), verify, || target.signal(signal))
}

/// Signal the group of a process that is held, if `verify` says that it is the one that is meant.
///
/// # Errors
/// As [`signal_if_same`].
pub fn send_group_if_same(
    target: &dyn Target,
    signal: Signal,
    verify: impl Fn() -> Generation,
) -> Result<Signalled, Error> {
    send(target, target.pins_group(), verify, || target.signal_group(signal))
}

/// Have the caller's own `kill` signal a number, if `verify` says that it is the one that is meant.
pub fn kill_if_same(
    dependencies: &dyn Dependencies,
    number: i32,
    signal: Signal,
    verify: impl Fn() -> Generation,
) -> Signalled {
    let verdict = verify();
    let outcome = match verdict {
        Generation::Same => match dependencies.kill(number, signal) {
            Asked::Answered(()) => Some(Sent::Sent),
            Asked::Threw | Asked::NotSupplied => None,
        },
        Generation::Different | Generation::Unknown => None,
    };
    Signalled { verdict, outcome }
}

/// [`kill_if_same`] for the group of a leader. The caller's function replaces the look at who leads what, but not the
/// two groups that are never signalled: `kill(-1)` means everyone, and our own group is us.
pub fn kill_group_if_same(
    processes: &dyn Processes,
    dependencies: &dyn Dependencies,
    leader: Pid,
    signal: Signal,
    verify: impl Fn() -> Generation,
) -> Signalled {
    if leader.get() == 1 || processes.my_group() == Some(leader) {
        let verdict = verify();
        return Signalled { verdict, outcome: (verdict == Generation::Same).then_some(Sent::NoGroup) };
    }
    kill_if_same(dependencies, -leader.get(), signal, verify)
}

fn send(
    target: &dyn Target,
    pinned: bool,
    verify: impl Fn() -> Generation,
    signal: impl FnOnce() -> io::Result<Sent>,
) -> Result<Signalled, Error> {
    let mut verdict = verify();
    if verdict == Generation::Same && !pinned {
        verdict = verify();
    }
    if verdict != Generation::Same {
        return Ok(Signalled { verdict, outcome: None });
    }
    let outcome = signal().map_err(|source| Error {
        action: "signal",
        syscall: if pinned { "pidfd_send_signal" } else { "kill" },
        pid: target.pid(),
        source,
    })?;
    Ok(Signalled { verdict, outcome: Some(outcome) })
}

/// The verdict is the caller's own `readToken`'s, if there is one: the machine has nobody with that number.
fn not_there(verdict: Generation) -> Signalled {
    Signalled { verdict, outcome: (verdict == Generation::Same).then_some(Sent::Gone) }
}
