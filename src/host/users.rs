//! Other users: whose word a file is, and whose files are whose.

use super::Host;
use crate::files::Stat;
use crate::process::Pid;

const ROOT: u32 = 0;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Whoever can have written something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    User(u32),
    Anyone,
}

impl Writer {
    /// Of what is in a file, or in a directory by name: its owner, or whoever else it lets write.
    ///
    /// Whoever shares a project with a group trusts that group, with what is theirs. Root trusts nobody with what is
    /// root's but root's own group.
    pub fn of(host: &Host, stat: &Stat) -> Writer {
        let trusts_group = host.processes.effective_uid() != ROOT || stat.gid == ROOT;
        if stat.mode & OTHERS_WRITE != 0 || stat.mode & GROUP_WRITES != 0 && !trusts_group {
            Writer::Anyone
        } else {
            Writer::User(stat.uid)
        }
    }

    /// Of what either can have written. What root can have written, root need not have.
    pub fn or(self, other: Writer) -> Writer {
        match (self, other) {
            (Writer::User(one), Writer::User(two)) if one == two || two == ROOT => self,
            (Writer::User(ROOT), Writer::User(_)) => other,
            _ => Writer::Anyone,
        }
    }

    /// Whether its word may have a process signalled: what the caller may signal and the writer may not is not stopped
    /// at the writer's word, or a file that names a process of root's would have root kill it.
    pub fn may_signal(self, host: &Host, pid: Pid) -> bool {
        let me = host.processes.effective_uid();
        let user = host.processes.uid(pid);
        match self {
            Writer::User(writer) if writer == me || writer == ROOT || user == Some(writer) => true,
            // What the caller may not signal either is left to the kernel to refuse.
            _ => me != ROOT && user.is_some_and(|user| user != me),
        }
    }
}

/// Another user's file, which only root can write for them.
#[derive(Debug)]
pub struct Foreign;

/// The owner that what is written anew must be given for it to stay the user's whose `stat` this is; `None` when it is
/// so by itself.
///
/// # Errors
/// [`Foreign`]
pub fn owner_to_keep(host: &Host, stat: &Stat) -> Result<Option<(u32, u32)>, Foreign> {
    match host.processes.effective_uid() {
        me if me == stat.uid => Ok(None),
        ROOT => Ok(Some((stat.uid, stat.gid))),
        _ => Err(Foreign),
    }
}
