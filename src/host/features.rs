//! What the kernel offers, found out by asking it: whoever wonders why something falls back reads it here.

use super::Host;
use crate::net::has_diagnostics;

/// What this process can have from its kernel. Whatever is missing has a fallback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// Holds on processes (`pidfd_open`, Linux 5.3). Without: a process is verified again right before a signal.
    pub pidfd: bool,
    /// Signals to a group through such a hold (Linux 6.9). Without: verified again, then by the group's number.
    pub group_signals: bool,
    /// Holds with an inode of their own (Linux 6.9). Without: start tokens alone tell generations apart.
    pub pidfs: bool,
    /// Socket diagnostics (netlink). Without: `/proc/net/tcp` and `tcp6`, or `lsof`.
    pub socket_diagnostics: bool,
    /// The first eight hexadecimal digits of the boot id. Without: tokens of two boots can agree.
    pub boot_id: Option<String>,
    /// Inode of the pid namespace, decimal.
    pub pid_namespace: Option<String>,
    /// Inode of the time namespace, decimal.
    pub time_namespace: Option<String>,
}

/// Ask the kernel what it offers to this process.
pub fn features(host: &Host) -> Features {
    let processes = &host.processes;
    let me = processes.me();
    let hold = processes.open(me).ok().flatten();
    let (pid_namespace, time_namespace) = processes.namespaces();
    Features {
        pidfd: hold.as_ref().is_some_and(|hold| hold.is_pinned()),
        group_signals: hold.as_ref().is_some_and(|hold| hold.pins_group()),
        pidfs: processes.witness(me).is_some_and(|witness| witness.pidfd_inode.is_some()),
        socket_diagnostics: has_diagnostics(),
        boot_id: processes.boot(),
        pid_namespace,
        time_namespace,
    }
}
