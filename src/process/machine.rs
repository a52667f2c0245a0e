//! The operating system's processes.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use super::handle::kernel::{Kernel, SystemKernel};
use super::handle::{self, System, Taken};
use super::{ps, Glance, Info, Pid, Presence, Probe, Processes, Target, Witness};

/// The processes of the machine that this one runs on.
pub struct Machine {
    system: Rc<System>,
    /// Whether pidfds live on a file system of their own; `None`: not looked at yet.
    pidfs: Cell<Option<bool>>,
    /// The probe that the machine has; `None`: not looked at yet.
    probe: Cell<Option<Probe>>,
    forced_probe: Box<dyn Fn() -> Option<String>>,
}

impl Machine {
    /// `forced_probe` answers what `HARNERY_PID_PROBE` is now: `procfs` or `ps` overrules what the machine has.
    pub fn new(forced_probe: impl Fn() -> Option<String> + 'static) -> Self {
        Machine::with_kernel(Box::new(SystemKernel), forced_probe)
    }

    /// The same machine under another kernel.
    pub fn with_kernel(kernel: Box<dyn Kernel>, forced_probe: impl Fn() -> Option<String> + 'static) -> Self {
        Machine {
            system: Rc::new(System::new(kernel)),
            pidfs: Cell::new(None),
            probe: Cell::new(None),
            forced_probe: Box::new(forced_probe),
        }
    }

    /// The inode of a pidfd, where it is one of its own: before pidfs all pidfds share a single anonymous inode.
    fn inode_of(&self, pidfd: &OwnedFd) -> Option<String> {
        let own = self.pidfs.get().unwrap_or_else(|| is_on_pidfs(pidfd));
        self.pidfs.set(Some(own));
        let inode = own.then(|| rustix::fs::fstat(pidfd)).transpose().ok()??.st_ino;
        Some(inode.to_string())
    }

    fn has_procfs(&self) -> bool {
        self.machines_probe() == Probe::Procfs
    }

    fn machines_probe(&self) -> Probe {
        let look = || if self.system.procfs.is_there() { Probe::Procfs } else { Probe::Ps };
        let probe = self.probe.get().unwrap_or_else(look);
        self.probe.set(Some(probe));
        probe
    }
}

impl Processes for Machine {
    fn me(&self) -> Pid {
        Pid(rustix::process::getpid().as_raw_nonzero().get())
    }

    #[cfg(target_os = "linux")]
    fn outlives_this_thread(&self) -> bool {
        rustix::thread::gettid() != rustix::process::getpid()
    }

    fn my_group(&self) -> Option<Pid> {
        // 0 when the group's leader is in an outer pid namespace.
        Pid::new(i64::from(nix::unistd::getpgrp().as_raw()))
    }

    fn effective_uid(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn host_name(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    fn boot(&self) -> Option<String> {
        self.system.procfs.boot_id().map(|id| id.to_string())
    }

    fn booted_at_ms(&self) -> Option<i64> {
        self.system.procfs.boot_time()?.checked_mul(1000)
    }

    fn namespaces(&self) -> (Option<String>, Option<String>) {
        (self.system.procfs.namespace("pid"), self.system.procfs.namespace("time"))
    }

    fn presence(&self, pid: Pid) -> Presence {
        handle::presence(&self.system, pid)
    }

    fn glance(&self, pid: Pid) -> Glance {
        // A pidfd is given for whoever is there, signalled or not; what else there may be to say is `presence`'s.
        match handle::take(&self.system, pid) {
            Ok(Taken::Pidfd(pidfd)) if handle::is_readable(&pidfd) => {
                Glance { presence: Presence::Absent, pidfd_inode: None }
            }
            Ok(Taken::Pidfd(pidfd)) => {
                Glance { presence: Presence::Present, pidfd_inode: self.inode_of(&pidfd) }
            }
            Ok(Taken::Nobody | Taken::NoPidfds) | Err(_) => {
                Glance { presence: self.presence(pid), pidfd_inode: None }
            }
        }
    }

    fn probe(&self) -> Probe {
        match (self.forced_probe)().as_deref() {
            Some("procfs") => Probe::Procfs,
            Some("ps") => Probe::Ps,
            _ => self.machines_probe(),
        }
    }

    fn forget(&self) {
        self.system.procfs.forget();
        self.probe.set(None);
    }

    fn start_token(&self, pid: Pid) -> Option<String> {
        self.start_token_by(self.probe(), pid)
    }

    fn start_token_by(&self, probe: Probe, pid: Pid) -> Option<String> {
        match probe {
            Probe::Procfs => self.system.procfs.start_token(pid),
            Probe::Ps => ps::start_token(pid),
        }
    }

    fn started_at_ms(&self, pid: Pid) -> Option<i64> {
        let ticks = i64::try_from(self.system.procfs.stat(pid)?.start_ticks).ok()?;
        let per_second = i64::try_from(rustix::param::clock_ticks_per_second()).ok()?;
        self.booted_at_ms()?.checked_add(ticks.checked_mul(1000)?.checked_div(per_second)?)
    }

    fn witness(&self, pid: Pid) -> Option<Witness> {
        let (start_token, pidfd_inode) = match handle::take(&self.system, pid).ok()? {
            Taken::Nobody => return None,
            Taken::NoPidfds => (self.start_token(pid), None),
            Taken::Pidfd(pidfd) => {
                // Held first and looked at last: the token is that of the process whose inode this is.
                let start_token = self.start_token(pid);
                if handle::is_readable(&pidfd) {
                    return None;
                }
                (start_token, self.inode_of(&pidfd))
            }
        };
        if start_token.is_none() && pidfd_inode.is_none() {
            return None;
        }
        let (pid_namespace, time_namespace) = self.namespaces();
        Some(Witness { start_token, pidfd_inode, pid_namespace, time_namespace })
    }

    fn open(&self, pid: Pid) -> io::Result<Option<Rc<dyn Target>>> {
        let hold = handle::hold(&self.system, pid)?;
        Ok(hold.map(|hold| Rc::new(hold) as Rc<dyn Target>))
    }

    fn info(&self, pid: Pid) -> Option<Info> {
        if self.has_procfs() {
            return self.system.procfs.info(pid);
        }
        ps::info(pid)
    }

    fn parent(&self, pid: Pid) -> Option<i64> {
        if self.has_procfs() {
            return self.system.procfs.stat(pid).map(|stat| stat.parent);
        }
        ps::info(pid)?.parent
    }

    fn uid(&self, pid: Pid) -> Option<u32> {
        if self.has_procfs() {
            return self.system.procfs.status(pid).map(|status| status.uid);
        }
        ps::uid(pid)
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("system", &self.system).finish_non_exhaustive()
    }
}

#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast, reason = "the field's type differs from architecture to architecture")]
fn is_on_pidfs(pidfd: &OwnedFd) -> bool {
    /// `PID_FS_MAGIC` of `linux/magic.h`, Linux 6.9.
    const PIDFS: i64 = 0x5049_4446;
    rustix::fs::fstatfs(pidfd).is_ok_and(|found| found.f_type as i64 == PIDFS)
}

#[cfg(not(target_os = "linux"))]
fn is_on_pidfs(_pidfd: &OwnedFd) -> bool {
    false
}
