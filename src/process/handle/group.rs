//! Who is left in a process group.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use nix::errno::Errno;
use nix::unistd::{self, getpgid};

use super::super::{ps, Pid};
use super::{is, System};

/// Whether only zombies, or nobody, are left in a group. `ask` sends it no signal but asks whether one could be sent.
///
/// A zombie takes signals like anyone, so the kernel's answer alone is not enough: where it says that somebody is
/// there, the members are looked at. Whoever cannot be seen counts as living.
pub(super) fn has_ended(system: &System, group: Pid, ask: impl Fn() -> io::Result<()>) -> bool {
    // 1. we pass the number of a child to be · 2. member A forks it · 3. A ends · 4. we read A: a zombie. So zombies
    // alone are believed when a second look finds the same ones. Nobody at all, where the kernel says somebody, is
    // one who ended meanwhile (asked again) or one who is hidden from us.
    for _ in 0..3 {
        match ask() {
            Err(error) if is(&error, Errno::ESRCH) => return true,
            Ok(()) => {}
            Err(error) if is(&error, Errno::EPERM) => {}
            Err(_) => return false,
        }
        let Ok(first) = members(system, group) else { return false };
        if first.iter().any(|member| !member.has_ended) {
            return false;
        }
        if !first.is_empty() && members(system, group).is_ok_and(|second| second == first) {
            return true;
        }
    }
    false
}

/// A descriptor that becomes readable when one of the living members ends.
pub(super) fn wake(system: &System, group: Pid) -> Option<Rc<OwnedFd>> {
    let members = members(system, group).ok()?;
    members.iter().filter(|member| !member.has_ended).find_map(|member| {
        let pidfd = system.kernel.open(member.pid).ok()?;
        // The number was read before it was held: only one who is in the group now is the one that was seen.
        let still = getpgid(Some(unistd::Pid::from_raw(member.pid.get())));
        (still == Ok(unistd::Pid::from_raw(group.get()))).then(|| Rc::new(pidfd))
    })
}

/// One process of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    pid: Pid,
    has_ended: bool,
}

fn members(system: &System, group: Pid) -> io::Result<Vec<Member>> {
    let group = unistd::Pid::from_raw(group.get());
    if !system.procfs.is_there() {
        let everyone = ps::everyone()?;
        let ours = everyone.iter().filter(|row| row.group == i64::from(group.as_raw()));
        return Ok(ours.map(|row| Member { pid: row.pid, has_ended: row.is_zombie }).collect());
    }
    // Asking the kernel for a group costs a hundredth of reading a file of /proc.
    let is_member = |pid: Pid| getpgid(Some(unistd::Pid::from_raw(pid.get()))) == Ok(group);
    let look = |pid| match system.procfs.stat(pid) {
        Some(stat) => Some(Member { pid, has_ended: stat.has_ended() }),
        // Collected meanwhile, or a member of whom nothing can be read.
        None => is_member(pid).then_some(Member { pid, has_ended: false }),
    };
    let everyone = system.procfs.all()?;
    Ok(everyone.into_iter().filter(|pid| is_member(*pid)).filter_map(look).collect())
}
