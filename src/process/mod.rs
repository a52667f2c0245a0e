//! Processes: presence, generation, signals, waiting for an exit.
//!
//! A pid is a number that the system hands out again; a *generation* is one run of one process. Everything that
//! signals or forgets a process asks about the generation, never about the pid alone.

//!
//! ```text
//! generation · witness · ancestry     decisions, over whatever machine
//! signal                              hold, verify, then signal
//! machine                             this machine: handle (holds, signals), procfs and ps (what can be read)
//! ```

pub mod ancestry;
pub mod generation;
pub mod handle;
pub mod machine;
pub mod observer;
pub mod procfs;
pub mod ps;
mod recorded;
pub mod signal;
pub mod witness;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

pub use nix::sys::signal::Signal;

/// A process id that may be used in a system call: 1 … 2³¹ − 1. Never 0 (the caller's group) nor negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pid(i32);

impl Pid {
    /// `None` for what is no process id: 0, negative numbers, anything above 2³¹ − 1.
    pub fn new(number: i64) -> Option<Pid> {
        i32::try_from(number).ok().filter(|pid| *pid > 0).map(Pid)
    }

    /// A number as JavaScript has it. A fraction, NaN or anything out of range is no process id.
    pub fn from_number(number: f64) -> Option<Pid> {
        // The cast saturates, so what is out of range stays out of range.
        (number.trunc() == number).then_some(number as i64).and_then(Pid::new)
    }

    pub fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether a process with this number is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    Present,
    /// No such process, one that has ended but is not reaped, or the number of a mere thread.
    Absent,
    Unknown,
}

/// What one look at a number shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Glance {
    pub presence: Presence,
    /// As in [`Witness::pidfd_inode`], where the look has shown it.
    pub pidfd_inode: Option<String>,
}

/// Whether the process that has a number now is the one that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Generation {
    Same,
    Different,
    Unknown,
}

impl Generation {
    pub fn as_str(self) -> &'static str {
        match self {
            Generation::Same => "same",
            Generation::Different => "different",
            Generation::Unknown => "unknown",
        }
    }
}

/// How this machine tells when a process started. One machine uses one way and never falls back to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Probe {
    Procfs,
    Ps,
}

/// What is recorded of a process so that it can be told from a later one with its number, and from one elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Witness {
    pub start_token: Option<String>,
    /// Inode of the pidfd, decimal; only where pidfds live on a file system of their own (Linux 6.9 and later).
    pub pidfd_inode: Option<String>,
    /// Inode of the pid namespace of the process that looked.
    pub pid_namespace: Option<String>,
    /// Inode of the time namespace of the process that looked.
    pub time_namespace: Option<String>,
}

/// What a witness says about the process that has its number now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Judgement {
    Same,
    Different,
    /// It has ended, or its machine has restarted.
    Gone,
    /// It lives, if at all, in another pid namespace: nothing can be said from here.
    Elsewhere,
    Unknown,
}

/// What can be told about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    pub pid: Pid,
    pub parent: Option<i64>,
    /// The argument list joined with blanks, trimmed.
    pub command: String,
    pub cwd: Option<String>,
}

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sent {
    Sent,
    /// There was nobody (left) to signal.
    Gone,
    /// The kernel refused it (`EPERM`).
    Forbidden,
    /// The process leads no group that may be signalled: not a leader, the caller's own group, or group 1.
    NoGroup,
}

/// A hold on one process: what is done through it can never hit a later process with the same number.
///
/// Without pidfds it holds the number alone; then `verify` of the caller right before the signal leaves a documented
/// window.
pub trait Target: fmt::Debug {
    fn pid(&self) -> Pid;
    /// Whether the process has ended (reaped or not). Unknown failures count as not ended.
    fn has_ended(&self) -> bool;
    fn signal(&self, signal: Signal) -> io::Result<Sent>;
    /// Signal the group that the process leads. Through a pidfd it reaches the members that a leader left behind.
    fn signal_group(&self, signal: Signal) -> io::Result<Sent>;
    /// Whether the process leads a group that may be signalled, as far as can be seen now.
    fn leads_group(&self) -> bool;
    /// Whether only zombies, or nobody, are left in the group that it leads (or led).
    fn group_has_ended(&self) -> bool;
    /// A descriptor that becomes readable when the process ends; `None` where there is none: poll.
    fn wake(&self) -> Option<Rc<OwnedFd>>;
    /// A descriptor that becomes readable when one of those who live in its group ends; `None`: poll.
    fn group_wake(&self) -> Option<Rc<OwnedFd>> {
        None
    }
    /// Whether it is a real hold (a pidfd), or only the number.
    fn is_pinned(&self) -> bool;
    /// Whether [`Target::signal_group`] goes through the hold, or only by the group's number.
    fn pins_group(&self) -> bool {
        self.is_pinned()
    }
}

/// What a caller's own function answered in the machine's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked<T> {
    /// The caller supplied no such function: ask the machine.
    NotSupplied,
    Answered(T),
    /// It threw, which has a meaning here: the answer is unknown, the signal was not sent.
    Threw,
}

/// A caller's stand-ins for the machine (`readToken`, `probePid`, `kill`).
pub trait Dependencies {
    fn read_token(&self, _pid: Pid) -> Asked<Option<String>> {
        Asked::NotSupplied
    }
    fn probe_pid(&self, _pid: Pid) -> Asked<bool> {
        Asked::NotSupplied
    }
    /// Replaces the whole handle path. A negative number is a group.
    fn kill(&self, _pid: i32, _signal: Signal) -> Asked<()> {
        Asked::NotSupplied
    }
    /// Whether [`Dependencies::kill`] was supplied.
    fn replaces_kill(&self) -> bool {
        false
    }
}

/// No stand-ins: the machine answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDependencies;

impl Dependencies for NoDependencies {}

/// A machine's processes.
pub trait Processes: fmt::Debug {
    /// This process.
    fn me(&self) -> Pid;
    /// Whether this process goes on when the calling thread ends, because it is not its first one. `false` where that
    /// cannot be told.
    fn outlives_this_thread(&self) -> bool {
        false
    }
    /// A name that nobody else has drawn or will draw: a version 4 UUID. Everything random in a protocol comes from
    /// here, so that a simulated machine can replay a run exactly.
    fn fresh_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
    /// The process group of this process; `None` where it cannot matter.
    fn my_group(&self) -> Option<Pid> {
        None
    }
    /// The user this process acts as.
    fn effective_uid(&self) -> u32;
    /// `os.hostname()`: the node name of `uname(2)`.
    fn host_name(&self) -> String;
    /// The first eight hexadecimal digits of the boot id; `None` where the kernel has none.
    fn boot(&self) -> Option<String>;
    /// When the machine started, in milliseconds since the epoch by the system clock; `None` when unknown.
    fn booted_at_ms(&self) -> Option<i64>;
    /// Inode numbers, decimal, of this process's pid and time namespaces.
    fn namespaces(&self) -> (Option<String>, Option<String>);
    fn presence(&self, pid: Pid) -> Presence;
    /// [`Processes::presence`], with what else the same look shows.
    fn glance(&self, pid: Pid) -> Glance {
        Glance { presence: self.presence(pid), pidfd_inode: None }
    }
    /// How [`Processes::start_token`] is read.
    fn probe(&self) -> Probe {
        Probe::Procfs
    }
    /// Forget what is remembered of the machine (boot id, capabilities); only tests need it.
    fn forget(&self) {}
    /// The start token of the process that has the number now; `None`: cannot say.
    fn start_token(&self, pid: Pid) -> Option<String>;
    /// The start token as one probe reads it, whatever [`Processes::probe`] is.
    fn start_token_by(&self, _probe: Probe, pid: Pid) -> Option<String> {
        self.start_token(pid)
    }
    /// When the process that has the number now started, in milliseconds since the epoch by the system clock.
    fn started_at_ms(&self, pid: Pid) -> Option<i64>;
    /// What to record of the process that has the number now; `None` when it cannot be observed.
    fn witness(&self, pid: Pid) -> Option<Witness>;
    /// Take a hold on the process that has the number now; `None` when there is none.
    ///
    /// # Errors
    /// Running out of descriptors; a missing or forbidden pidfd is no error but a hold that is not pinned.
    fn open(&self, pid: Pid) -> io::Result<Option<Rc<dyn Target>>>;
    fn info(&self, pid: Pid) -> Option<Info>;
    /// The parent's number (0 for a process without one in sight); `None`: no such process or unreadable.
    fn parent(&self, pid: Pid) -> Option<i64>;
    /// The real user id that the process runs as.
    fn uid(&self, pid: Pid) -> Option<u32>;
}
