//! A group of contenders, let loose on a start state.

use std::rc::Rc;

use nix::errno::Errno;

use super::{contender, LeaseCheck, Native, StartState, TypeScript};
use crate::lease::Durability;
use crate::sim::explore::{Bounds, Check, Contender, Grain, Leg, Report, Rules, Search};
use crate::sim::Numbering;

/// Who contends, and what may happen meanwhile.
#[derive(Debug, Clone)]
pub struct Group {
    /// One letter for each: `N` is the production code, `T` follows the TypeScript's steps.
    pub who: &'static str,
    pub rules: Rules,
    pub numbering: Numbering,
    /// Whether a fresh TypeScript contender must get through, too.
    pub fresh_typescript: bool,
    /// What the natives make survive a power cut.
    pub durability: Durability,
}

impl Group {
    /// These contenders; any of them may be killed between any two steps.
    pub fn new(who: &'static str) -> Self {
        let kills = u8::try_from(who.len()).expect("a handful of contenders");
        let alike = who.bytes().all(|kind| kind == who.as_bytes()[0]);
        let (failures, errnos) = (0, Rc::from([]));
        Group {
            who,
            rules: Rules {
                grain: Grain::Fine,
                kills,
                failures,
                errnos,
                reuse: false,
                preemptions: None,
                alike,
            },
            numbering: Numbering::PerCaller,
            fresh_typescript: false,
            durability: Durability::default(),
        }
    }

    /// What is written to a new file is one step with its creation.
    pub fn coarse(mut self) -> Self {
        self.rules.grain = Grain::Coarse;
        self
    }

    /// At most so many are killed.
    pub fn kills(mut self, kills: u8) -> Self {
        self.rules.kills = kills;
        self
    }

    /// A contender that could go on is held up for another one at most so often.
    pub fn preemptions(mut self, preemptions: u8) -> Self {
        self.rules.preemptions = Some(preemptions);
        self
    }

    /// The natives make nothing survive but their owner files.
    pub fn careless(mut self) -> Self {
        self.durability = Durability::Process;
        self
    }

    /// One call of one contender fails, with one of these errors.
    pub fn a_failing_call(mut self, errnos: &[Errno]) -> Self {
        self.rules.failures = 1;
        self.rules.errnos = errnos.iter().map(|errno| *errno as i32).collect();
        self
    }

    /// A file may get the inode number that another contender's file had.
    pub fn shared_numbers(mut self) -> Self {
        self.numbering = Numbering::Shared;
        self
    }

    /// The process number of a killed contender may be given to another process.
    pub fn reused_pids(mut self) -> Self {
        self.rules.reuse = true;
        self
    }

    /// A fresh TypeScript contender must get through, too.
    pub fn fresh_typescript(mut self) -> Self {
        self.fresh_typescript = true;
        self
    }

    /// All that can happen from a start state, within bounds.
    pub fn explore(&self, start: &StartState, bounds: Bounds) -> Report {
        self.explore_by(start, bounds, &mut self.check())
    }

    /// The same, held to something else.
    pub fn explore_by(&self, start: &StartState, bounds: Bounds, check: &mut dyn Check) -> Report {
        self.search(start).run(bounds, check)
    }

    /// All that can happen from a start state, within bounds, with the power cut at every moment.
    pub fn cut_power(&self, start: &StartState, bounds: Bounds, check: &mut dyn Check) -> Report {
        let mut start = start.clone();
        start.world.disk.track_durability();
        self.explore_by(&start, bounds, check)
    }

    /// One run along a plan.
    pub fn along(&self, start: &StartState, plan: &[Leg]) -> Report {
        self.search(start).along(plan, &mut self.check())
    }

    /// One run for each seed.
    pub fn by_chance(&self, start: &StartState, seeds: std::ops::Range<u64>) -> Report {
        self.search(start).by_chance(seeds, &mut self.check())
    }

    pub(super) fn search(&self, start: &StartState) -> Search {
        let mut world = start.world.clone();
        world.disk.seals = true;
        world.disk.number_by(self.numbering);
        Search::new(self.contenders(), world, self.rules.clone())
    }

    /// What the group is held to.
    pub fn check(&self) -> LeaseCheck {
        let typescript: Vec<_> = self.who.bytes().map(|kind| kind == b'T').collect();
        LeaseCheck::new(&typescript, self.fresh_typescript).when_calls_fail(self.rules.failures > 0)
    }

    fn contenders(&self) -> Vec<Contender> {
        let native = Native { durability: self.durability, calls_fail: self.rules.failures > 0 };
        let one = |(n, kind)| match kind {
            b'N' => contender("N", n, native),
            b'T' => contender("T", n, TypeScript),
            other => panic!("{} is no kind of contender", char::from(other)),
        };
        (0..).zip(self.who.bytes()).map(one).collect()
    }
}
