//! One look at this machine's sockets and the processes behind them: each is asked at most once.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Error;
use crate::host::Host;
use crate::net::{Listener, ScanSupport};
use crate::process::ancestry::{lineage, MAX_HOPS};
use crate::process::{Info, Pid};

/// What is looked at during one operation.
#[derive(Debug)]
pub(super) struct SocketView<'a> {
    host: &'a Host,
    listeners: OnceCell<Vec<Listener>>,
    ancestors: RefCell<BTreeMap<Pid, Vec<Pid>>>,
}

impl<'a> SocketView<'a> {
    pub(super) fn new(host: &'a Host) -> Self {
        SocketView { host, listeners: OnceCell::new(), ancestors: RefCell::default() }
    }

    pub(super) fn support(&self) -> ScanSupport {
        self.host.sockets.support()
    }

    pub(super) fn me(&self) -> Pid {
        self.host.processes.me()
    }

    /// The path that processes show for a directory, symbolic links followed.
    pub(super) fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.host.files.real_path(path).ok()
    }

    pub(super) fn info(&self, pid: Pid) -> Option<Info> {
        self.host.processes.info(pid)
    }

    /// Every listening socket with everyone who holds it, as far as can be seen.
    pub(super) fn listeners(&self) -> Result<&[Listener], Error> {
        if let Some(listeners) = self.listeners.get() {
            return Ok(listeners);
        }
        let listeners = self.host.sockets.listeners()?;
        Ok(self.listeners.get_or_init(|| listeners))
    }

    /// Every port that is listened on, ascending.
    pub(super) fn listening_ports(&self) -> Result<Vec<u16>, Error> {
        Ok(self.host.sockets.listening_ports()?)
    }

    /// Established server-side connections on each of these ports.
    pub(super) fn connections(&self, ports: &[u16]) -> Result<BTreeMap<u16, usize>, Error> {
        if ports.is_empty() {
            return Ok(BTreeMap::new());
        }
        Ok(self.host.sockets.connections(ports)?)
    }

    /// Whether a process is one of these or a descendant of one.
    pub(super) fn descends_from(&self, pid: Pid, these: &[Pid]) -> bool {
        let mut ancestors = self.ancestors.borrow_mut();
        let line =
            ancestors.entry(pid).or_insert_with(|| lineage(self.host.processes.as_ref(), pid, MAX_HOPS));
        line.iter().any(|ancestor| these.contains(ancestor))
    }
}
