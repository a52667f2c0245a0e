//! Holds on processes: the only place that sends signals.
//!
//! On Linux a hold is a pidfd. What goes through it reaches the process that was held or nobody, whoever has its
//! number by then. Where there are no pidfds a hold is the number alone, and says so ([`Target::is_pinned`]).

mod group;
pub mod kernel;
mod presence;

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use nix::errno::Errno;

use self::kernel::{Kernel, Scope};
use super::procfs::Procfs;
use super::{Pid, Presence, Sent, Signal, Target};

pub(super) use self::presence::{is_readable, presence};

/// What holds are made of: a kernel to ask, a `/proc` to look at, and what is known of them.
#[derive(Debug)]
pub(super) struct System {
    pub(super) kernel: Box<dyn Kernel>,
    pub(super) procfs: Procfs,
    /// Whether the kernel signals a group through a pidfd; `None`: not tried yet.
    signals_groups: Cell<Option<bool>>,
}

impl System {
    pub(super) fn new(kernel: Box<dyn Kernel>) -> System {
        System { kernel, procfs: Procfs::default(), signals_groups: Cell::new(None) }
    }
}

/// What can be had of a process.
pub(super) enum Taken {
    Pidfd(OwnedFd),
    /// Nobody has the number, or a mere thread has it.
    Nobody,
    /// No pidfds here: the kernel has none (`ENOSYS`), or a sandbox forbids them (`EPERM`, `EACCES`).
    NoPidfds,
}

/// Take the pidfd of a process.
///
/// # Errors
/// Whatever else `pidfd_open` answers, first of all that there are no descriptors left.
pub(super) fn take(system: &System, pid: Pid) -> io::Result<Taken> {
    let error = match system.kernel.open(pid) {
        Ok(pidfd) => return Ok(Taken::Pidfd(pidfd)),
        Err(error) => error,
    };
    match Errno::from_raw(error.raw_os_error().unwrap_or_default()) {
        Errno::ESRCH => Ok(Taken::Nobody),
        // A thread's number (ENOENT from Linux 6.16 on), or one that only lives on as that of a group or session.
        Errno::EINVAL | Errno::ENOENT if !presence::has_process(system, pid) => Ok(Taken::Nobody),
        Errno::ENOSYS | Errno::EPERM | Errno::EACCES => Ok(Taken::NoPidfds),
        _ => Err(error),
    }
}

/// Take a hold on a process; `None` when there is none.
///
/// # Errors
/// As [`take`].
pub(super) fn hold(system: &Rc<System>, pid: Pid) -> io::Result<Option<Hold>> {
    let pidfd = match take(system, pid)? {
        Taken::Pidfd(pidfd) => Some(Rc::new(pidfd)),
        Taken::Nobody => return Ok(None),
        Taken::NoPidfds if presence::by_number(system, pid) == Presence::Absent => return Ok(None),
        Taken::NoPidfds => None,
    };
    let hold = Hold { system: Rc::clone(system), pid, pidfd, led_group: Cell::new(false) };
    // Seen now, while it is alive: a leader that is gone can no longer be asked.
    hold.leads_group();
    Ok(Some(hold))
}

/// A hold on one process.
#[derive(Debug)]
pub(super) struct Hold {
    system: Rc<System>,
    pid: Pid,
    pidfd: Option<Rc<OwnedFd>>,
    /// Whether it led its group when it was last seen.
    led_group: Cell<bool>,
}

impl Hold {
    /// Whether the number is still this process's: it lives, or nobody has collected it yet.
    fn has_its_number(&self) -> bool {
        let answer = match &self.pidfd {
            Some(pidfd) => self.system.kernel.signal(pidfd.as_fd(), None, Scope::Process),
            None => self.system.kernel.kill(self.pid.get(), None),
        };
        !matches!(answer, Err(error) if is(&error, Errno::ESRCH))
    }

    fn ask_group(&self, signal: Option<Signal>) -> io::Result<()> {
        match &self.pidfd {
            Some(pidfd) if self.pins_group() => {
                self.system.kernel.signal(pidfd.as_fd(), signal, Scope::Group)
            }
            _ => self.system.kernel.kill(-self.pid.get(), signal),
        }
    }
}

impl Target for Hold {
    fn pid(&self) -> Pid {
        self.pid
    }

    fn has_ended(&self) -> bool {
        match &self.pidfd {
            Some(pidfd) => presence::is_readable(pidfd),
            None => presence::by_number(&self.system, self.pid) == Presence::Absent,
        }
    }

    fn signal(&self, signal: Signal) -> io::Result<Sent> {
        told(match &self.pidfd {
            Some(pidfd) => self.system.kernel.signal(pidfd.as_fd(), Some(signal), Scope::Process),
            None => self.system.kernel.kill(self.pid.get(), Some(signal)),
        })
    }

    fn signal_group(&self, signal: Signal) -> io::Result<Sent> {
        if !self.leads_group() {
            return Ok(Sent::NoGroup);
        }
        // Without the flag the group has only its number, and that is safe only while its leader has it too.
        if !self.pins_group() && !self.has_its_number() {
            return Ok(Sent::NoGroup);
        }
        told(self.ask_group(Some(signal)))
    }

    fn leads_group(&self) -> bool {
        // The group of process 1 is the machine's, and the caller's own holds the caller.
        if self.pid.get() == 1 || nix::unistd::getpgrp().as_raw() == self.pid.get() {
            return false;
        }
        let number = nix::unistd::Pid::from_raw(self.pid.get());
        let group = nix::unistd::getpgid(Some(number));
        // Asked by the number, so it counts only when the number was this process's all the while.
        if self.has_its_number() {
            self.led_group.set(group == Ok(number));
        }
        self.led_group.get()
    }

    fn group_has_ended(&self) -> bool {
        !self.leads_group() || group::has_ended(&self.system, self.pid, || self.ask_group(None))
    }

    fn wake(&self) -> Option<Rc<OwnedFd>> {
        self.pidfd.clone()
    }

    fn group_wake(&self) -> Option<Rc<OwnedFd>> {
        self.leads_group().then(|| group::wake(&self.system, self.pid)).flatten()
    }

    fn is_pinned(&self) -> bool {
        self.pidfd.is_some()
    }

    fn pins_group(&self) -> bool {
        let Some(pidfd) = &self.pidfd else { return false };
        let known = self.system.signals_groups.get().unwrap_or_else(|| {
            let tried = self.system.kernel.signal(pidfd.as_fd(), None, Scope::Group);
            // Before Linux 6.9 every flag is EINVAL.
            !tried.is_err_and(|error| is(&error, Errno::EINVAL))
        });
        self.system.signals_groups.set(Some(known));
        known
    }
}

fn told(answer: io::Result<()>) -> io::Result<Sent> {
    match answer {
        Ok(()) => Ok(Sent::Sent),
        Err(error) if is(&error, Errno::ESRCH) => Ok(Sent::Gone),
        Err(error) if is(&error, Errno::EPERM) => Ok(Sent::Forbidden),
        Err(error) => Err(error),
    }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno as i32)
}
