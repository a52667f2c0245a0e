//! Scripted processes.

use nix::errno::Errno;

use super::call::{Answer, Call};
use crate::process::{Pid, Presence, Witness};

/// From where a process looks at the machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Viewer {
    pub pid: Pid,
    pub uid: u32,
    pub host_name: String,
    pub pid_namespace: String,
}

/// What has become of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    Alive,
    /// Ended, but nobody has reaped it.
    Zombie,
    /// The system does not tell whether it lives.
    Hidden,
    Gone,
}

/// One run of one process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Process {
    pid: Pid,
    namespace: String,
    life: Life,
    ticks: u64,
    started_ms: i64,
}

/// All processes of a machine, and which run of the machine this is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Table {
    processes: Vec<Process>,
    /// The first eight hexadecimal digits of the boot id.
    pub boot: String,
    pub booted_ms: i64,
}

impl Table {
    pub fn new(boot: &str, booted_ms: i64) -> Self {
        Table { processes: Vec::new(), boot: boot.to_owned(), booted_ms }
    }

    /// A process starts, with the number of one that has gone or a new one.
    ///
    /// # Panics
    /// When a process with that number is still there.
    pub fn start(&mut self, viewer: &Viewer, ticks: u64, started_ms: i64) {
        self.processes.retain(|process| !process.is(viewer.pid, viewer) || process.life != Life::Gone);
        assert!(self.find(viewer.pid, viewer).is_none(), "process {} is there already", viewer.pid);
        let namespace = viewer.pid_namespace.clone();
        self.processes.push(Process { pid: viewer.pid, namespace, life: Life::Alive, ticks, started_ms });
        self.processes.sort_by_key(|process| process.pid);
    }

    pub fn set(&mut self, viewer: &Viewer, life: Life) {
        for process in self.processes.iter_mut().filter(|process| process.is(viewer.pid, viewer)) {
            process.life = life;
        }
    }

    /// The machine restarts: nobody is left.
    pub fn restart(&mut self, boot: &str, booted_ms: i64) {
        *self = Table::new(boot, booted_ms);
    }

    /// Answer a question about a process, as it looks from where the viewer is.
    pub fn call(&self, viewer: &Viewer, call: &Call) -> Answer {
        match call {
            Call::Presence(pid) => {
                Answer::Presence(match self.find(*pid, viewer).map(|process| process.life) {
                    Some(Life::Alive) => Presence::Present,
                    Some(Life::Hidden) => Presence::Unknown,
                    Some(Life::Zombie | Life::Gone) | None => Presence::Absent,
                })
            }
            Call::StartToken(pid) => {
                Answer::Token(self.seen(*pid, viewer).map(|process| self.token(process)))
            }
            Call::StartedAt(pid) => Answer::Millis(self.seen(*pid, viewer).map(|process| process.started_ms)),
            Call::Witness(pid) => Answer::Witness(self.seen(*pid, viewer).map(|process| Witness {
                start_token: Some(self.token(process)),
                pidfd_inode: Some(format!("{}", process.ticks)),
                pid_namespace: Some(process.namespace.clone()),
                time_namespace: Some("1".to_owned()),
            })),
            _ => Errno::ENOSYS.into(),
        }
    }

    fn token(&self, process: &Process) -> String {
        format!("l{}.{}", self.boot, process.ticks)
    }

    fn find(&self, pid: Pid, viewer: &Viewer) -> Option<&Process> {
        self.processes.iter().find(|process| process.is(pid, viewer) && process.life != Life::Gone)
    }

    fn seen(&self, pid: Pid, viewer: &Viewer) -> Option<&Process> {
        self.find(pid, viewer).filter(|process| process.life != Life::Hidden)
    }
}

impl Process {
    fn is(&self, pid: Pid, viewer: &Viewer) -> bool {
        self.pid == pid && self.namespace == viewer.pid_namespace
    }
}
