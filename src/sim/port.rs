//! The traits of the core, turned into calls and answers.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use nix::errno::Errno;

use super::call::{Answer, Call, Place};
use super::table::Viewer;
use crate::clock::{Clock, Pause};
use crate::files::{Access, Files, Handle, Stat};
use crate::host::{Environment, Host};
use crate::net::{self, Listener, ScanSupport, Sockets};
use crate::process::{Info, Pid, Presence, Processes, Target, Witness};

/// Who answers calls. What a process knows by itself is no call.
pub(super) trait Answers: fmt::Debug {
    fn ask(&self, call: Call) -> Answer;
    fn viewer(&self) -> Viewer;
    fn boot(&self) -> (String, i64);
    fn monotonic(&self) -> Duration;
    fn fresh_id(&self) -> String;
}

/// A machine, as a process sees it.
#[derive(Debug)]
pub(super) struct Port<A>(pub(super) A);

/// The whole machine as the core takes it.
pub(super) fn host<A: Answers + Clone + 'static>(answers: A) -> Host {
    let port = || Rc::new(Port(answers.clone()));
    Host {
        files: port(),
        clock: port(),
        processes: port(),
        sockets: port(),
        environment: port(),
        memory: Rc::default(),
    }
}

/// An answer of the one kind that the call has, or the error that it failed with.
macro_rules! expect {
    ($answer:expr, $kind:pat => $value:expr) => {
        match $answer {
            $kind => Ok($value),
            Answer::Failed(errno) => Err(io::Error::from_raw_os_error(errno)),
            other => unreachable!("no answer to this call: {other:?}"),
        }
    };
}

impl<A: Answers> Port<A> {
    fn done(&self, call: Call) -> io::Result<()> {
        expect!(self.0.ask(call), Answer::Done => ())
    }
    fn handle(&self, call: Call) -> io::Result<Handle> {
        expect!(self.0.ask(call), Answer::Handle(handle) => handle)
    }
    fn stat_call(&self, call: Call) -> io::Result<Stat> {
        expect!(self.0.ask(call), Answer::Stat(stat) => stat)
    }
}

impl<A: Answers> Files for Port<A> {
    fn open_dir(&self, path: &Path) -> io::Result<Handle> {
        self.handle(Call::OpenDir(Place::absolute(path.as_os_str())))
    }
    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.done(Call::MakeDir(Place::absolute(path.as_os_str()), mode))
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.stat_call(Call::Stat(Place::absolute(path.as_os_str())))
    }
    fn stat_followed(&self, path: &Path) -> io::Result<Stat> {
        self.stat_call(Call::StatFollowed(Place::absolute(path.as_os_str())))
    }
    fn stat_handle(&self, handle: Handle) -> io::Result<Stat> {
        self.stat_call(Call::StatHandle(handle))
    }
    fn stat_at(&self, dir: Handle, name: &OsStr) -> io::Result<Stat> {
        self.stat_call(Call::Stat(Place::at(dir, name)))
    }
    fn open_dir_at(&self, dir: Handle, name: &OsStr) -> io::Result<Handle> {
        self.handle(Call::OpenDir(Place::at(dir, name)))
    }
    fn make_dir_at(&self, dir: Handle, name: &OsStr, mode: u32) -> io::Result<()> {
        self.done(Call::MakeDir(Place::at(dir, name), mode))
    }
    fn open_at(&self, dir: Handle, name: &OsStr, access: Access) -> io::Result<Handle> {
        self.handle(Call::Open(Place::at(dir, name), access))
    }
    fn read_at(&self, file: Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let answer = self.0.ask(Call::ReadAt(file, offset, buffer.len()));
        let bytes = expect!(answer, Answer::Bytes(bytes) => bytes)?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
    fn write_at(&self, file: Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        expect!(self.0.ask(Call::WriteAt(file, offset, bytes.into())), Answer::Count(count) => count)
    }
    fn set_size(&self, file: Handle, size: u64) -> io::Result<()> {
        self.done(Call::SetSize(file, size))
    }
    fn set_mode(&self, handle: Handle, mode: u32) -> io::Result<()> {
        self.done(Call::SetMode(handle, mode))
    }
    fn set_owner(&self, handle: Handle, uid: u32, gid: u32) -> io::Result<()> {
        self.done(Call::SetOwner(handle, uid, gid))
    }
    fn sync(&self, handle: Handle) -> io::Result<()> {
        self.done(Call::Sync(handle))
    }
    fn link(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.done(Call::Link(Place::at(dir, name), Place::at(new_dir, new_name)))
    }
    fn rename(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.done(Call::Rename(Place::at(dir, name), Place::at(new_dir, new_name)))
    }
    fn rename_new(&self, dir: Handle, name: &OsStr, new_dir: Handle, new_name: &OsStr) -> io::Result<()> {
        self.done(Call::RenameNew(Place::at(dir, name), Place::at(new_dir, new_name)))
    }
    fn unlink(&self, dir: Handle, name: &OsStr) -> io::Result<()> {
        self.done(Call::Unlink(Place::at(dir, name)))
    }
    fn remove_dir(&self, dir: Handle, name: &OsStr) -> io::Result<()> {
        self.done(Call::RemoveDir(Place::at(dir, name)))
    }
    fn list(&self, dir: Handle) -> io::Result<Vec<OsString>> {
        let names = expect!(self.0.ask(Call::List(dir)), Answer::Names(names) => names)?;
        Ok(names.iter().map(|name| (**name).to_owned()).collect())
    }
    fn try_lock(&self, handle: Handle) -> io::Result<bool> {
        expect!(self.0.ask(Call::TryLock(handle)), Answer::Flag(taken) => taken)
    }
    fn watch(&self, _dir: Handle) -> io::Result<Option<Rc<OwnedFd>>> {
        // Nothing here has a real descriptor; the poll that backs every watch has to do.
        Ok(None)
    }
    fn close(&self, handle: Handle) {
        let _ = self.0.ask(Call::Close(handle));
    }
}

impl<A: Answers> Clock for Port<A> {
    fn now_ms(&self) -> i64 {
        match self.0.ask(Call::Now) {
            Answer::Millis(Some(now)) => now,
            // A process that has been killed is only unwinding.
            _ => 0,
        }
    }
    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
    fn pause(&self, pause: &Pause) {
        let _ = self.0.ask(Call::Pause(pause.at_most));
    }
}

impl<A: Answers> Processes for Port<A> {
    fn me(&self) -> Pid {
        self.0.viewer().pid
    }
    fn fresh_id(&self) -> String {
        self.0.fresh_id()
    }
    fn effective_uid(&self) -> u32 {
        self.0.viewer().uid
    }
    fn host_name(&self) -> String {
        self.0.viewer().host_name
    }
    fn boot(&self) -> Option<String> {
        Some(self.0.boot().0)
    }
    fn booted_at_ms(&self) -> Option<i64> {
        Some(self.0.boot().1)
    }
    fn namespaces(&self) -> (Option<String>, Option<String>) {
        (Some(self.0.viewer().pid_namespace), Some("1".to_owned()))
    }
    fn presence(&self, pid: Pid) -> Presence {
        match self.0.ask(Call::Presence(pid)) {
            Answer::Presence(presence) => presence,
            _ => Presence::Unknown,
        }
    }
    fn start_token(&self, pid: Pid) -> Option<String> {
        match self.0.ask(Call::StartToken(pid)) {
            Answer::Token(token) => token,
            _ => None,
        }
    }
    fn started_at_ms(&self, pid: Pid) -> Option<i64> {
        match self.0.ask(Call::StartedAt(pid)) {
            Answer::Millis(at) => at,
            _ => None,
        }
    }
    fn witness(&self, pid: Pid) -> Option<Witness> {
        match self.0.ask(Call::Witness(pid)) {
            Answer::Witness(witness) => witness,
            _ => None,
        }
    }
    fn open(&self, _pid: Pid) -> io::Result<Option<Rc<dyn Target>>> {
        Err(io::Error::from_raw_os_error(Errno::ENOSYS as i32))
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

impl<A: Answers> Sockets for Port<A> {
    fn support(&self) -> ScanSupport {
        ScanSupport::Unsupported
    }
    fn listeners(&self) -> Result<Vec<Listener>, net::Error> {
        Ok(Vec::new())
    }
    fn listening_ports(&self) -> Result<Vec<u16>, net::Error> {
        Ok(Vec::new())
    }
    fn connections(&self, _ports: &[u16]) -> Result<BTreeMap<u16, usize>, net::Error> {
        Ok(BTreeMap::new())
    }
}

impl<A: Answers> Environment for Port<A> {
    fn get(&self, _name: &str) -> Option<String> {
        None
    }
    fn current_dir(&self) -> PathBuf {
        PathBuf::from("/")
    }
}
