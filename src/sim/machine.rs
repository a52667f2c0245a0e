//! A machine for single runs: programs go straight through, the test turns the clock and ends processes.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::time::Duration;

use nix::errno::Errno;

use super::call::{Answer, Call, Mark};
use super::disk::{Caller, Disk, Numbering};
use super::port::{self, Answers};
use super::table::{Life, Table, Viewer};
use crate::host::Host;
use crate::process::Pid;

/// A simulated machine. Cloning it gives the same machine again.
#[derive(Debug, Clone)]
pub struct Machine {
    world: Rc<RefCell<World>>,
}

/// All that a machine is.
#[derive(Debug, Clone)]
pub struct World {
    pub disk: Disk,
    pub processes: Table,
    /// The system clock.
    pub now_ms: i64,
    pub monotonic: Duration,
}

/// A process on the machine.
#[derive(Debug, Clone)]
pub struct Seat {
    machine: Machine,
    caller: Caller,
    viewer: Viewer,
    drawn: Rc<Cell<u32>>,
    calls: Rc<RefCell<Vec<(Call, Answer)>>>,
    fail: Rc<Cell<Option<Fault>>>,
}

/// What is made to fail.
#[derive(Debug, Clone, Copy)]
struct Fault {
    /// Counted from 0.
    call: usize,
    errno: Errno,
    /// Whether every later call that can fail does so, too.
    lasts: bool,
}

impl Fault {
    fn hits(&self, at: usize, call: &Call) -> bool {
        at == self.call || (self.lasts && at > self.call && call.can_fail())
    }
}

/// The time at which a simulated machine starts: 2026-01-01T00:00:00Z.
pub const START_MS: i64 = 1_767_225_600_000;

impl Default for Machine {
    fn default() -> Self {
        let mut disk = Disk::new(Numbering::Shared);
        disk.now_ms = START_MS;
        let processes = Table::new("b0070001", START_MS - 3_600_000);
        Machine::with(World { disk, processes, now_ms: START_MS, monotonic: Duration::from_secs(3600) })
    }
}

impl Machine {
    pub fn with(world: World) -> Self {
        Machine { world: Rc::new(RefCell::new(world)) }
    }

    /// The machine's state, to look at or to change.
    pub fn world(&self) -> RefMut<'_, World> {
        self.world.borrow_mut()
    }

    /// Time passes, by both clocks.
    pub fn pass(&self, time: Duration) {
        let mut world = self.world();
        let millis = i64::try_from(time.as_millis()).expect("tests wait no such time");
        world.now_ms += millis;
        world.disk.now_ms = world.now_ms;
        world.monotonic += time;
    }

    /// Start a process with this number.
    pub fn start(&self, number: u8) -> Seat {
        let pid = Pid::new(i64::from(number) + 100).expect("the number of a process");
        let viewer = Viewer { pid, uid: 0, host_name: "host".to_owned(), pid_namespace: "1".to_owned() };
        {
            let mut world = self.world();
            let now = world.now_ms;
            world.processes.start(&viewer, u64::from(number) + 1000, now);
        }
        let caller = Caller(number);
        Seat {
            machine: self.clone(),
            caller,
            viewer,
            drawn: Rc::default(),
            calls: Rc::default(),
            fail: Rc::default(),
        }
    }
}

impl Seat {
    /// The machine as this process sees it.
    pub fn host(&self) -> Host {
        port::host(self.clone())
    }

    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// All calls so far with their answers.
    pub fn calls(&self) -> Vec<(Call, Answer)> {
        self.calls.borrow().clone()
    }

    /// The call with this index, counted from 0, fails without an effect.
    pub fn fail(&self, call: usize, errno: Errno) {
        self.fail.set(Some(Fault { call, errno, lasts: false }));
    }

    /// The call with this index, and every one after it that can fail, fails without an effect.
    pub fn fail_from(&self, call: usize, errno: Errno) {
        self.fail.set(Some(Fault { call, errno, lasts: true }));
    }

    /// Calls do what they are meant to, from now on.
    pub fn mend(&self) {
        self.fail.set(None);
    }

    /// The process is killed.
    pub fn kill(&self) {
        let mut world = self.machine.world();
        world.processes.set(&self.viewer, Life::Gone);
        world.disk.end(self.caller);
    }
}

impl Answers for Seat {
    fn ask(&self, call: Call) -> Answer {
        let mut world = self.machine.world();
        let fails = self.fail.get().filter(|fault| fault.hits(self.calls.borrow().len(), &call));
        let answer = match (&call, fails) {
            (_, Some(fault)) => fault.errno.into(),
            (Call::Now, _) => Answer::Millis(Some(world.now_ms)),
            (Call::Pause(time), _) => {
                drop(world);
                self.machine.pass(*time);
                Answer::Elapsed(*time)
            }
            (Call::Mark(Mark::Holds | Mark::LetsGo), _) => Answer::Done,
            (Call::Presence(_) | Call::StartToken(_) | Call::StartedAt(_) | Call::Witness(_), _) => {
                world.processes.call(&self.viewer, &call)
            }
            _ => world.disk.call(self.caller, &call),
        };
        self.calls.borrow_mut().push((call, answer.clone()));
        answer
    }

    fn viewer(&self) -> Viewer {
        self.viewer.clone()
    }

    fn boot(&self) -> (String, i64) {
        let world = self.machine.world();
        (world.processes.boot.clone(), world.processes.booted_ms)
    }

    fn monotonic(&self) -> Duration {
        self.machine.world().monotonic
    }

    fn fresh_id(&self) -> String {
        self.drawn.set(self.drawn.get() + 1);
        id_of(self.caller, self.drawn.get())
    }
}

/// The `n`-th id that a caller draws: a version 4 UUID that shows whose it is.
pub(super) fn id_of(caller: Caller, n: u32) -> String {
    format!("{:08x}-0000-4000-8000-{n:012x}", u32::from(caller.0) + 0xaaaa_0000)
}
