//! A registry with one server in it, and what a stop of it says.

use std::cell::RefCell;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use harnery_native::host::Host;
use harnery_native::lease::Progress;
use harnery_native::process::handle::kernel::{Kernel, Scope, SystemKernel};
use harnery_native::process::machine::Machine;
use harnery_native::process::{Asked, Dependencies, Generation, NoDependencies, Pid, Presence, Signal};
use harnery_native::servers::stop::{Method, Stop, StopOptions, StopResult};
use harnery_native::servers::{Schema, ServerRecord, Sharing, Site};
use nix::errno::Errno;

use crate::registry_support::{input, Bench};

pub const GRACE: Duration = Duration::from_secs(20);

/// A registry with one server in it.
pub struct Stopped {
    pub bench: Bench,
    pub record: ServerRecord,
}

impl Stopped {
    pub fn registered(pid: Pid, port: Option<u16>) -> Stopped {
        let bench = Bench::new();
        let mut input = input("it");
        input.pid = Some(f64::from(pid.get()));
        input.port = port.map(f64::from);
        let record = bench.register(&input).unwrap();
        Stopped { bench, record }
    }

    pub fn options(&self, grace: Duration) -> StopOptions {
        let site = Site { coord_root: self.bench.dir.path().to_owned(), sharing: Sharing::Private };
        StopOptions { site: Some(site), schema: Schema::Current, grace }
    }

    pub fn begin(&self, grace: Duration) -> Stop {
        Stop::new(self.record.clone(), self.options(grace))
    }

    pub fn stop(&self, grace: Duration) -> StopResult {
        finish(&self.bench.host, &mut self.begin(grace), &NoDependencies)
    }

    pub fn has_record(&self) -> bool {
        self.bench.file("it").exists()
    }
}

/// Wait out every pause.
pub fn finish(host: &Host, stop: &mut Stop, dependencies: &dyn Dependencies) -> StopResult {
    loop {
        match stop.advance(host, dependencies).unwrap() {
            Progress::Done(result) => return result,
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    }
}

pub fn stopped() -> StopResult {
    StopResult { id: "it".to_owned(), stopped: true, method: Method::Signal, generation: None, detail: None }
}

pub fn not_running() -> StopResult {
    StopResult { stopped: false, method: Method::NotRunning, ..stopped() }
}

pub fn refused(generation: Generation, detail: &str) -> StopResult {
    let (generation, detail) = (Some(generation), Some(detail.to_owned()));
    StopResult { stopped: false, method: Method::Refused, generation, detail, ..stopped() }
}

pub fn refused_pid(pid: Pid, generation: Generation) -> StopResult {
    let word = generation.as_str();
    refused(generation, &format!("pid {pid} generation is {word}; left the server record in place"))
}

pub fn present(pid: Pid) -> bool {
    use harnery_native::process::Processes;
    Machine::new(|| None).presence(pid) == Presence::Present
}

pub fn lead() {
    rustix::process::setsid().unwrap();
}

pub fn pid(text: &str) -> Pid {
    Pid::new(text.parse().unwrap()).unwrap()
}

pub type Answer<T> = Option<Box<dyn Fn() -> Asked<T>>>;

pub type Kill = Option<Box<dyn Fn(i32, Signal) -> Asked<()>>>;

/// Answers by functions, and notes what `kill` was asked for.
#[derive(Default)]
pub struct Mine {
    pub token: Answer<Option<String>>,
    pub presence: Answer<bool>,
    pub kill: Kill,
    pub killed: RefCell<Vec<(i32, Signal)>>,
}

impl Dependencies for Mine {
    fn read_token(&self, _pid: Pid) -> Asked<Option<String>> {
        self.token.as_ref().map_or(Asked::NotSupplied, |token| token())
    }

    fn probe_pid(&self, _pid: Pid) -> Asked<bool> {
        self.presence.as_ref().map_or(Asked::NotSupplied, |presence| presence())
    }

    fn kill(&self, pid: i32, signal: Signal) -> Asked<()> {
        self.killed.borrow_mut().push((pid, signal));
        self.kill.as_ref().map_or(Asked::NotSupplied, |kill| kill(pid, signal))
    }

    fn replaces_kill(&self) -> bool {
        self.kill.is_some()
    }
}

pub fn same(token: &str) -> Answer<Option<String>> {
    let token = token.to_owned();
    Some(Box::new(move || Asked::Answered(Some(token.clone()))))
}

/// A kernel without pidfds.
#[derive(Debug)]
pub struct Old;

impl Kernel for Old {
    fn open(&self, _pid: Pid) -> io::Result<OwnedFd> {
        Err(Errno::ENOSYS.into())
    }

    fn signal(&self, hold: BorrowedFd<'_>, signal: Option<Signal>, scope: Scope) -> io::Result<()> {
        SystemKernel.signal(hold, signal, scope)
    }

    fn kill(&self, pid: i32, signal: Option<Signal>) -> io::Result<()> {
        SystemKernel.kill(pid, signal)
    }
}

pub fn without_pidfds(host: &Host) -> Host {
    Host { processes: Rc::new(Machine::with_kernel(Box::new(Old), || None)), ..host.clone() }
}
