//! The system calls by which processes are held and signalled, behind a seam: a test can be a kernel that lacks one.

use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use nix::sys::signal::Signal;

use super::super::Pid;

/// Who gets a signal that is sent through a pidfd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Process,
    /// Everyone whose process group has the number of the held process, also when that one is gone (Linux 6.9).
    Group,
}

/// A kernel. `None` in place of a signal asks only whether one could be sent.
pub trait Kernel: fmt::Debug {
    /// `pidfd_open(2)`. `ESRCH`: nobody has the number; `EINVAL`, later `ENOENT`: it is a mere thread's.
    fn open(&self, pid: Pid) -> io::Result<OwnedFd>;
    /// `pidfd_send_signal(2)`. `EINVAL`: this kernel does not know the scope.
    fn signal(&self, hold: BorrowedFd<'_>, signal: Option<Signal>, scope: Scope) -> io::Result<()>;
    /// `kill(2)`. A negative number is a group.
    fn kill(&self, pid: i32, signal: Option<Signal>) -> io::Result<()>;
}

/// The kernel that this process runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemKernel;

impl Kernel for SystemKernel {
    #[cfg(target_os = "linux")]
    fn open(&self, pid: Pid) -> io::Result<OwnedFd> {
        use rustix::process::{pidfd_open, PidfdFlags};
        let pid = rustix::process::Pid::from_raw(pid.get()).ok_or(io::ErrorKind::InvalidInput)?;
        // The descriptor is closed on exec always; the flags here are about something else.
        pidfd_open(pid, PidfdFlags::empty()).map_err(Into::into)
    }

    #[cfg(not(target_os = "linux"))]
    fn open(&self, _pid: Pid) -> io::Result<OwnedFd> {
        Err(nix::errno::Errno::ENOSYS.into())
    }

    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "no crate that we have passes flags to pidfd_send_signal")]
    fn signal(&self, hold: BorrowedFd<'_>, signal: Option<Signal>, scope: Scope) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        /// `PIDFD_SIGNAL_PROCESS_GROUP` of `linux/pidfd.h`.
        const PROCESS_GROUP: nix::libc::c_uint = 1 << 2;
        let number = signal.map_or(0, |signal| signal as nix::libc::c_int);
        let flags = match scope {
            Scope::Process => 0,
            Scope::Group => PROCESS_GROUP,
        };
        let no_info = std::ptr::null::<nix::libc::siginfo_t>();
        // SAFETY: the descriptor is open for the call, and a null siginfo is allowed: the kernel fills in its own.
        let done = unsafe {
            nix::libc::syscall(nix::libc::SYS_pidfd_send_signal, hold.as_raw_fd(), number, no_info, flags)
        };
        nix::errno::Errno::result(done).map(drop).map_err(Into::into)
    }

    #[cfg(not(target_os = "linux"))]
    fn signal(&self, _hold: BorrowedFd<'_>, _signal: Option<Signal>, _scope: Scope) -> io::Result<()> {
        Err(nix::errno::Errno::ENOSYS.into())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door: the verified verbs end here")]
    fn kill(&self, pid: i32, signal: Option<Signal>) -> io::Result<()> {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).map_err(Into::into)
    }
}
