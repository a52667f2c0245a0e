//! Whether a process is there: one that has ended but is not collected, and the number of a mere thread, are not.

use std::os::fd::OwnedFd;

use nix::errno::Errno;
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use super::super::{ps, Pid, Presence};
use super::{is, take, System, Taken};

/// Whether a process with this number is there now.
pub(in super::super) fn presence(system: &System, pid: Pid) -> Presence {
    match ask(system, pid) {
        Answer::Nobody => return Presence::Absent,
        Answer::Unknown => return Presence::Unknown,
        Answer::There | Answer::Forbidden => {}
    }
    match take(system, pid) {
        Ok(Taken::Pidfd(pidfd)) if is_readable(&pidfd) => Presence::Absent,
        Ok(Taken::Pidfd(_)) => Presence::Present,
        Ok(Taken::Nobody) => Presence::Absent,
        Ok(Taken::NoPidfds) => by_number(system, pid),
        // Without a descriptor nobody can tell whether it has ended.
        Err(_) => Presence::Unknown,
    }
}

/// [`presence`] without a pidfd.
pub(super) fn by_number(system: &System, pid: Pid) -> Presence {
    let answer = ask(system, pid);
    match answer {
        Answer::Nobody => return Presence::Absent,
        Answer::Unknown => return Presence::Unknown,
        Answer::There | Answer::Forbidden => {}
    }
    if !system.procfs.is_there() {
        let is_zombie = ps::state(pid) == Some('Z');
        return if is_zombie { Presence::Absent } else { Presence::Present };
    }
    if system.procfs.is_a_threads(pid) {
        return Presence::Absent;
    }
    match (system.procfs.stat(pid), answer) {
        (Some(stat), _) if stat.has_ended() => Presence::Absent,
        // It ended between the two looks.
        (None, Answer::There) if ask(system, pid) == Answer::Nobody => Presence::Absent,
        // Not in /proc and not ours to signal: hidden from us (hidepid), never absent.
        _ => Presence::Present,
    }
}

/// Whether the number is a process's, ended or not, and no mere thread's.
pub(super) fn has_process(system: &System, pid: Pid) -> bool {
    !system.procfs.is_a_threads(pid) && ask(system, pid) != Answer::Nobody
}

/// Whether the process of a pidfd has ended. A main thread that exits while others serve on has not ended it.
pub(in super::super) fn is_readable(pidfd: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ready = [PollFd::new(pidfd, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut ready, Some(&now))).is_ok_and(|count| count > 0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    There,
    /// There, and not ours to signal.
    Forbidden,
    Nobody,
    Unknown,
}

fn ask(system: &System, pid: Pid) -> Answer {
    match system.kernel.kill(pid.get(), None) {
        Ok(()) => Answer::There,
        Err(error) if is(&error, Errno::EPERM) => Answer::Forbidden,
        Err(error) if is(&error, Errno::ESRCH) => Answer::Nobody,
        Err(_) => Answer::Unknown,
    }
}
