//! What the explorations of different programs have in common.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::process::Pid;
use harnery_native::sim::explore::{
    Bounds, Check, Contender, Grain, Moment, Program, Report, Rules, Search, State,
};
use harnery_native::sim::{Disk, Life, Machine, Numbering, Viewer, World, START_MS};
use nix::errno::Errno;

use crate::proof::row;

/// Who contends, and what may happen meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    pub contenders: u8,
    pub kills: u8,
    pub preemptions: Option<u8>,
    /// How many calls fail.
    pub failures: u8,
    pub grain: Grain,
    /// Whether all run the same program.
    pub alike: bool,
    pub states: usize,
}

/// All runs of two, either of whom may be killed at any step.
pub const TWO: Group = Group {
    contenders: 2,
    kills: 2,
    preemptions: None,
    failures: 0,
    grain: Grain::Fine,
    alike: true,
    states: 3_000_000,
};

impl Group {
    /// See what can happen from a start, and say what was seen.
    pub fn explore(
        self,
        what: &str,
        from: &str,
        programs: &dyn Fn(u8) -> Rc<dyn Program>,
        world: World,
        check: &mut dyn Check,
    ) -> Report {
        let Group { contenders, kills, preemptions, failures, states, .. } = self;
        let report = self.search(programs, world).run(Bounds { states, first_finding: false }, check);
        let bound = if report.complete { "all".to_owned() } else { format!("at most {states} states") };
        let held_up = preemptions.map_or("any number".to_owned(), |count| count.to_string());
        let failing = if failures == 0 { String::new() } else { format!(", {failures} failing call") };
        let explored =
            format!("{} states, {held_up} of preemptions, {kills} kills{failing} ({bound})", report.states);
        row(&format!("{what}, {contenders} contenders, from {from}"), explored, report.violations());
        println!("{report}");
        report
    }

    /// One run for each seed.
    pub fn by_chance(
        self,
        what: &str,
        from: &str,
        programs: &dyn Fn(u8) -> Rc<dyn Program>,
        world: World,
        check: &mut dyn Check,
        seeds: Range<u64>,
    ) -> Report {
        let report = self.search(programs, world).by_chance(seeds, check);
        let explored = format!("{} runs by chance, {} steps", report.runs, report.steps);
        row(&format!("{what}, {} contenders, from {from}", self.contenders), explored, report.violations());
        println!("{report}");
        report
    }

    fn search(self, programs: &dyn Fn(u8) -> Rc<dyn Program>, mut world: World) -> Search {
        world.disk.seals = true;
        world.disk.number_by(Numbering::PerCaller);
        let rules = Rules {
            grain: self.grain,
            kills: self.kills,
            failures: self.failures,
            errnos: Rc::from([Errno::EIO as i32]),
            reuse: false,
            preemptions: self.preemptions,
            alike: self.alike,
        };
        let contender = |n| Contender { name: "N", program: programs(n), viewer: viewer(n) };
        Search::new((0..self.contenders).map(contender).collect(), world, rules)
    }
}

/// The `n`-th contender as the machine knows it.
pub fn viewer(n: u8) -> Viewer {
    let pid = Pid::new(i64::from(n) + 101).expect("the number of a process");
    Viewer { pid, uid: 0, host_name: "host".to_owned(), pid_namespace: "1".to_owned() }
}

/// The machine long after, when every contender's process has ended.
pub fn when_all_are_gone(state: &State, contenders: u8) -> Machine {
    let mut world = state.long_after();
    // Also for those who were told that much time had passed.
    world.now_ms += 3_600_000;
    world.disk.now_ms = world.now_ms;
    (0..contenders).for_each(|n| world.processes.set(&viewer(n), Life::Gone));
    Machine::with(world)
}

/// What is to be true of a machine after a power cut in a state; why it is not.
type Look = Box<dyn Fn(&State, &Machine) -> Option<String>>;

/// Cuts the power in every state, and looks at every disk that can be left, up to a bound for each state.
pub struct PowerCuts {
    limit: usize,
    look: Look,
    cut: HashSet<u128>,
    seen: Seen,
    images: usize,
    is_complete: bool,
}

impl PowerCuts {
    pub fn new(limit: usize, look: impl Fn(&State, &Machine) -> Option<String> + 'static) -> Self {
        let (cut, seen) = (HashSet::new(), Seen::default());
        PowerCuts { limit, look: Box::new(look), cut, seen, images: 0, is_complete: true }
    }

    /// What was gone through.
    pub fn told(&self) -> String {
        let extent =
            if self.is_complete { "all".to_owned() } else { format!("at most {} a state", self.limit) };
        format!("{} disks ({extent}), {} of them different", self.images, self.seen.0.len())
    }
}

impl Check for PowerCuts {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        let state = moment.after;
        // What holders may rely on differs where what is on disk does not.
        let print = state.disk.durable_fingerprint() ^ u128::from(state.holders() > 0);
        if !moment.is_new || !self.cut.insert(print) {
            return;
        }
        let (disks, all) = state.disk.after_power_cut(self.limit);
        self.is_complete &= all;
        self.images += disks.len();
        for disk in disks {
            let machine = restarted(state, disk);
            if self.seen.is_new(&machine) || state.holders() > 0 {
                found.extend((self.look)(state, &machine).map(|why| format!("after a power cut {why}")));
            }
        }
    }
}

/// The machine of a state with what is left of its disk, long after, started anew.
fn restarted(state: &State, mut disk: Disk) -> Machine {
    let mut processes = (*state.processes).clone();
    processes.restart("b0070002", START_MS + 60_000);
    let now_ms = START_MS + 3_600_000;
    disk.now_ms = now_ms;
    Machine::with(World { disk, processes, now_ms, monotonic: Duration::from_secs(60) })
}

/// Machines that were looked at already.
#[derive(Debug, Default)]
pub struct Seen(HashSet<u64>);

impl Seen {
    /// Whether it is a new one.
    pub fn is_new(&mut self, machine: &Machine) -> bool {
        let mut hasher = DefaultHasher::new();
        let world = machine.world();
        world.disk.fingerprint(&mut hasher);
        std::hash::Hash::hash(&world.processes, &mut hasher);
        self.0.insert(hasher.finish())
    }
}
