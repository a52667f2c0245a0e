//! A simulated machine's processes and sockets as a registry needs them: one server that can be stopped, one listener
//! that nobody has registered.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;

use harnery_native::host::{Environment, Host};
use harnery_native::net::{self, Family, Listener, ScanSupport, Sockets};
use harnery_native::process::{Info, Pid, Presence, Processes, Sent, Signal, Target, Witness};

/// The process that can be stopped, and listens.
pub const SERVER: i64 = 105;
pub const PORT: u16 = 8000;

/// The machine, with the server on it.
pub fn staged(host: &Host, cwd: &str) -> Host {
    let pid = Pid::new(SERVER).unwrap();
    let ended = Rc::new(Cell::new(false));
    let info = Info { pid, parent: Some(1), command: "server".to_owned(), cwd: Some(cwd.to_owned()) };
    let processes = Staged { machine: Rc::clone(&host.processes), pid, ended, info };
    Host { processes: Rc::new(processes), sockets: Rc::new(OneListener(pid)), ..host.clone() }
}

/// The machine, where projects are shared with the user's group.
pub fn shared(host: &Host) -> Host {
    Host { environment: Rc::new(Shared), ..host.clone() }
}

#[derive(Debug)]
struct Shared;

impl Environment for Shared {
    fn get(&self, name: &str) -> Option<String> {
        (name == "HARNERY_STORAGE_SHARING").then(|| "group".to_owned())
    }
    fn current_dir(&self) -> PathBuf {
        PathBuf::from("/")
    }
}

#[derive(Debug)]
struct Staged {
    machine: Rc<dyn Processes>,
    pid: Pid,
    ended: Rc<Cell<bool>>,
    info: Info,
}

impl Processes for Staged {
    fn me(&self) -> Pid {
        self.machine.me()
    }
    fn fresh_id(&self) -> String {
        self.machine.fresh_id()
    }
    fn effective_uid(&self) -> u32 {
        self.machine.effective_uid()
    }
    fn host_name(&self) -> String {
        self.machine.host_name()
    }
    fn boot(&self) -> Option<String> {
        self.machine.boot()
    }
    fn booted_at_ms(&self) -> Option<i64> {
        self.machine.booted_at_ms()
    }
    fn namespaces(&self) -> (Option<String>, Option<String>) {
        self.machine.namespaces()
    }
    fn presence(&self, pid: Pid) -> Presence {
        match pid == self.pid && self.ended.get() {
            true => Presence::Absent,
            false => self.machine.presence(pid),
        }
    }
    fn start_token(&self, pid: Pid) -> Option<String> {
        self.machine.start_token(pid)
    }
    fn started_at_ms(&self, pid: Pid) -> Option<i64> {
        self.machine.started_at_ms(pid)
    }
    fn witness(&self, pid: Pid) -> Option<Witness> {
        self.machine.witness(pid)
    }
    fn open(&self, pid: Pid) -> io::Result<Option<Rc<dyn Target>>> {
        if self.presence(pid) == Presence::Absent {
            return Ok(None);
        }
        Ok(Some(Rc::new(Held { pid, ended: Rc::clone(&self.ended) })))
    }
    fn info(&self, pid: Pid) -> Option<Info> {
        (pid == self.pid).then(|| self.info.clone())
    }
    fn parent(&self, pid: Pid) -> Option<i64> {
        self.machine.parent(pid)
    }
    fn uid(&self, pid: Pid) -> Option<u32> {
        self.machine.uid(pid)
    }
}

#[derive(Debug)]
struct Held {
    pid: Pid,
    ended: Rc<Cell<bool>>,
}

impl Target for Held {
    fn pid(&self) -> Pid {
        self.pid
    }
    fn has_ended(&self) -> bool {
        self.ended.get()
    }
    fn signal(&self, _signal: Signal) -> io::Result<Sent> {
        self.ended.set(true);
        Ok(Sent::Sent)
    }
    fn signal_group(&self, _signal: Signal) -> io::Result<Sent> {
        Ok(Sent::NoGroup)
    }
    fn leads_group(&self) -> bool {
        false
    }
    fn group_has_ended(&self) -> bool {
        true
    }
    fn wake(&self) -> Option<Rc<OwnedFd>> {
        None
    }
    fn is_pinned(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct OneListener(Pid);

impl Sockets for OneListener {
    fn support(&self) -> ScanSupport {
        ScanSupport::Procfs
    }
    fn listeners(&self) -> Result<Vec<Listener>, net::Error> {
        let address = "127.0.0.1".to_owned();
        let listener =
            Listener { port: PORT, address, family: Family::Tcp, inode: 1, uid: 0, pids: vec![self.0] };
        Ok(vec![listener])
    }
    fn listening_ports(&self) -> Result<Vec<u16>, net::Error> {
        Ok(vec![PORT])
    }
    fn connections(&self, _ports: &[u16]) -> Result<BTreeMap<u16, usize>, net::Error> {
        Ok(BTreeMap::from([(PORT, 1)]))
    }
}
