//! The operating system's processes.

use std::io;
use std::rc::Rc;

use super::{Info, Pid, Presence, Processes, Target, Witness};
use crate::host::Environment;

/// The processes of the machine that this one runs on.
#[derive(Debug)]
pub struct Machine {
    environment: Rc<dyn Environment>,
}

impl Machine {
    pub fn new(environment: Rc<dyn Environment>) -> Self {
        Machine { environment }
    }
}

// First stand-in, replaced by the process module's own.
impl Processes for Machine {
    fn me(&self) -> Pid {
        Pid::new(i64::from(std::process::id())).expect("a process has a number")
    }
    fn effective_uid(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }
    fn host_name(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }
    fn boot(&self) -> Option<String> {
        let _ = &self.environment;
        None
    }
    fn booted_at_ms(&self) -> Option<i64> {
        None
    }
    fn namespaces(&self) -> (Option<String>, Option<String>) {
        (None, None)
    }
    fn presence(&self, pid: Pid) -> Presence {
        match nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.get()), None) {
            Ok(()) | Err(nix::errno::Errno::EPERM) => Presence::Present,
            Err(nix::errno::Errno::ESRCH) => Presence::Absent,
            Err(_) => Presence::Unknown,
        }
    }
    fn start_token(&self, _pid: Pid) -> Option<String> {
        None
    }
    fn started_at_ms(&self, _pid: Pid) -> Option<i64> {
        None
    }
    fn witness(&self, _pid: Pid) -> Option<Witness> {
        None
    }
    fn open(&self, _pid: Pid) -> io::Result<Option<Rc<dyn Target>>> {
        Ok(None)
    }
    fn info(&self, _pid: Pid) -> Option<Info> {
        None
    }
    fn parent(&self, _pid: Pid) -> Option<i64> {
        None
    }
    fn uid(&self, _pid: Pid) -> Option<u32> {
        None
    }
}
