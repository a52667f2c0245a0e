//! Writers that contend for the lease of a history, in the simulated machine.

use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;

use harnery_native::files::Dir;
use harnery_native::history::{write, Error, Layout, NoSeams, Writing};
use harnery_native::process::Pid;
use harnery_native::sim::explore::{
    Bounds, Check, Contender, Ending, Grain, Moment, Program, Report, Rules, Search, Stage, State,
};
use harnery_native::sim::{Machine, Numbering, Viewer, World, START_MS};
use nix::errno::Errno;

pub const FILE: &str = "/h/x.jsonl";

/// All that so many writers can do on a machine, any of them killed between any two steps.
pub fn explore(writers: u8, machine: &Machine, bounds: Bounds, check: &mut dyn Check) -> Report {
    run(writers, machine, bounds, check, false)
}

/// [`explore`], and one call of one of them fails.
pub fn explore_failing(writers: u8, machine: &Machine, bounds: Bounds, check: &mut dyn Check) -> Report {
    run(writers, machine, bounds, check, true)
}

fn run(writers: u8, machine: &Machine, bounds: Bounds, check: &mut dyn Check, a_call_fails: bool) -> Report {
    let mut world = machine.world().clone();
    world.disk.seals = true;
    world.disk.number_by(Numbering::PerCaller);
    let rules = Rules {
        grain: Grain::Fine,
        kills: writers,
        failures: u8::from(a_call_fails),
        errnos: Rc::from([Errno::EIO as i32]),
        reuse: false,
        preemptions: None,
        alike: true,
    };
    let writer = |n| contender(n, Writer { calls_fail: a_call_fails });
    Search::new((0..writers).map(writer).collect(), world, rules).run(bounds, check)
}

/// Takes the lease once, asks whether it still has it, and gives it back.
#[derive(Debug)]
struct Writer {
    /// Whether calls are made to fail: then that is an answer, too.
    calls_fail: bool,
}

impl Program for Writer {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        let layout = Layout::file(Path::new(FILE)).unwrap();
        let written = write(stage.host, &layout, Writing::default(), &NoSeams, |writer| {
            stage.holds();
            let held = writer.must_be_the_only_one();
            stage.lets_go();
            held
        });
        match written {
            Ok(()) => Ending::new("wrote"),
            Err(Error::Busy(_)) => Ending::new("busy"),
            // Whether its path still leads to the home could not be told.
            Err(Error::Path(_) | Error::DirectoryChanged(_)) if self.calls_fail => Ending::new("failed"),
            Err(error) => Ending::fault("failed", error.to_string().split(':').next().unwrap_or_default()),
        }
    }
}

/// Never two holders; and when everybody is done or dead, a fresh writer gets through and leaves nothing.
#[derive(Default)]
pub struct OneAtATime {
    fresh: HashSet<String>,
    /// What a failed clearing leaves beside the lease is in nobody's way, and stays while its process lives.
    calls_fail: bool,
}

impl Check for OneAtATime {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        let after = moment.after;
        if moment.is_new && after.holders() > 1 {
            found.push("two holders".to_owned());
        }
        if moment.is_new && after.is_quiet() {
            found.extend(self.try_fresh(after));
        }
        if let Some(fault) =
            after.ending(usize::from(moment.event.who())).and_then(|ending| ending.fault.clone())
        {
            found.push(fault);
        }
    }
}

impl OneAtATime {
    pub fn when_calls_fail() -> Self {
        OneAtATime { calls_fail: true, ..OneAtATime::default() }
    }

    fn try_fresh(&mut self, state: &State) -> Option<String> {
        if !self.fresh.insert(format!("{} {:?}", state.disk.listing(), state.processes)) {
            return None;
        }
        stuck(state.long_after(), self.calls_fail)
    }
}

/// The power is cut in every state: whatever the disk kept, a writer of the next boot gets through and leaves nothing.
#[derive(Default)]
pub struct CutPower {
    /// The disks, as text.
    tried: HashSet<String>,
}

impl CutPower {
    /// How many different disks were tried.
    pub fn distinct(&self) -> usize {
        self.tried.len()
    }
}

impl Check for CutPower {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        if !moment.is_new {
            return;
        }
        let state = moment.after;
        let (disks, all) = state.disk.after_power_cut(AT_A_MOMENT);
        assert!(all, "more disks than {AT_A_MOMENT} are left at one moment");
        for disk in disks {
            if self.tried.insert(disk.listing()) {
                let mut processes = (*state.processes).clone();
                processes.restart("b0070002", START_MS + 60_000);
                let world = World { disk, processes, ..state.long_after() };
                found.extend(stuck(world, false).map(|why| format!("after a power cut {why}")));
            }
        }
    }
}

/// More disks than any moment of these runs can leave.
const AT_A_MOMENT: usize = 1 << 12;

/// Why a fresh writer does not get through, or what it leaves.
fn stuck(mut world: World, calls_fail: bool) -> Option<String> {
    // Also for those who were told that much time had passed.
    world.now_ms += 40_000;
    world.disk.now_ms = world.now_ms;
    let machine = Machine::with(world);
    let seat = machine.start(99);
    let ending = Writer { calls_fail: false }.run(&Stage::new(&seat.host(), &|_| {}));
    if ending.outcome != "wrote" {
        return Some(format!("a fresh writer: {} {}", ending.outcome, ending.fault.unwrap_or_default()));
    }
    let left = Dir::open(&seat.host().files, Path::new("/h")).unwrap().list().unwrap();
    (!left.is_empty() && !calls_fail).then(|| "something is left".to_owned())
}

fn contender(n: u8, writer: Writer) -> Contender {
    let pid = Pid::new(i64::from(n) + 101).unwrap();
    let viewer = Viewer { pid, uid: 0, host_name: "host".to_owned(), pid_namespace: "1".to_owned() };
    Contender { name: "writer", program: Rc::new(writer), viewer }
}
