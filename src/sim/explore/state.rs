//! A machine with its contenders at one moment, and what can happen next.

mod cast;

use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use super::event::{Choice, Event};
use super::program::{Ending, Next, Program};
use super::unfolding::{Node, Unfolding};
use crate::files::{Handle, Stat};
use crate::process::Pid;
use crate::sim::call::{Answer, Call, Mark};
use crate::sim::disk::{fingerprint_of, Caller, Disk};
use crate::sim::machine::{World, START_MS};
use crate::sim::table::{Life, Table, Viewer};

/// How finely runs are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grain {
    /// Every call that another contender could notice, or that could notice another, is a step.
    Fine,
    /// Besides, what is written to a file that was just created is one step with its creation.
    Coarse,
}

/// What may happen in a run beside the contenders' own steps, and how often.
#[derive(Debug, Clone)]
pub struct Rules {
    pub grain: Grain,
    pub kills: u8,
    /// How many calls may fail, and how.
    pub failures: u8,
    pub errnos: Rc<[i32]>,
    /// Whether the process numbers of killed contenders are used again.
    pub reuse: bool,
    /// How often a contender that could go on is held up for another one; `None`: as often as may be. One that waits,
    /// has ended or was killed is not held up.
    pub preemptions: Option<u8>,
    /// All contenders are alike, so it does not matter which of them begins: they begin in their order.
    pub alike: bool,
}

/// One contender of a scenario.
#[derive(Debug)]
pub struct Contender {
    pub name: &'static str,
    pub program: Rc<dyn Program>,
    pub viewer: Viewer,
}

/// All that is the same in every state of a scenario.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) names: Vec<&'static str>,
    viewers: Vec<Viewer>,
    rules: Rules,
}

/// The contenders, with all that is known of what they do.
#[derive(Debug)]
pub(super) struct Cast {
    pub(super) setting: Rc<Setting>,
    pub(super) unfoldings: Vec<Unfolding>,
}

/// A contender that goes on with the calls that are no steps of their own, while its program runs anyway.
#[derive(Debug)]
pub(super) struct GoingOn {
    setting: Rc<Setting>,
    state: State,
    who: usize,
    last: Call,
}

impl GoingOn {
    /// The answer to a call that is no step of its own.
    pub(super) fn answer(&mut self, call: &Call) -> Option<Answer> {
        if !self.state.is_silent(&self.setting, self.who, call, Some(&self.last)) {
            return None;
        }
        self.last = call.clone();
        Some(self.state.answer(&self.setting, self.who, call, Choice::Plain))
    }

    pub(super) fn close(&mut self, handle: Handle) {
        self.state.disk.call(caller(self.who), &Call::Close(handle));
    }
}

/// Contenders are told apart by their place.
fn caller(who: usize) -> Caller {
    Caller(u8::try_from(who).expect("a handful of contenders"))
}

/// A machine with its contenders at one moment.
#[derive(Debug, Clone)]
pub struct State {
    pub disk: Disk,
    pub processes: Rc<Table>,
    pub(super) actors: Vec<Actor>,
    kills: u8,
    failures: u8,
    preemptions: Option<u8>,
    /// Who made the last step; kept only where it counts.
    last: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Actor {
    pub(super) standing: Standing,
    /// Whether it may do what it contends for.
    pub(super) holds: bool,
    /// How many short pauses it may still make, and what the machine looked like when its pause began.
    wakes: u8,
    pause: Option<u128>,
    /// Whether it has made a step, asked for the time, and been told that much has passed.
    began: bool,
    asked: bool,
    late: bool,
    reused: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    Running(Node),
    Ended(Rc<Ending>),
    Killed,
}

/// Longer than any time that a rule waits for.
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// What came of an event.
#[derive(Debug)]
pub(super) struct Happened {
    /// The calls with their answers, the event's own first.
    pub(super) calls: Vec<(Call, Answer)>,
}

/// Keep back what no program looks at: how many links an open file has, and whether a name has two links or more.
/// Whoever did look would not find what it needs.
fn mask(answer: Answer, call: &Call) -> Answer {
    match (answer, call) {
        (Answer::Stat(stat), Call::StatHandle(_)) => Answer::Stat(Stat { links: 0, ..stat }),
        (Answer::Stat(stat), _) => Answer::Stat(Stat { links: stat.links.min(2), ..stat }),
        (answer, _) => answer,
    }
}

impl State {
    /// Whether no contender will make another call.
    pub fn is_quiet(&self) -> bool {
        !self.actors.iter().any(|actor| matches!(actor.standing, Standing::Running(_)))
    }

    /// How many live contenders may do at this moment what only one may do at a time.
    pub fn holders(&self) -> usize {
        self.actors.iter().filter(|actor| actor.holds && actor.standing != Standing::Killed).count()
    }

    /// How a contender ended, if it did.
    pub fn ending(&self, who: usize) -> Option<&Ending> {
        match &self.actors[who].standing {
            Standing::Ended(ending) => Some(ending),
            Standing::Running(_) | Standing::Killed => None,
        }
    }

    pub fn is_running(&self, who: usize) -> bool {
        matches!(self.actors[who].standing, Standing::Running(_))
    }

    pub fn is_killed(&self, who: usize) -> bool {
        self.actors[who].standing == Standing::Killed
    }

    /// The machine alone, long after: every time that a rule waits for is over.
    pub fn long_after(&self) -> World {
        World {
            disk: self.disk.clone(),
            processes: Table::clone(&self.processes),
            now_ms: START_MS + LONG.as_millis() as i64,
            monotonic: LONG + LONG,
        }
    }

    /// Let an event happen, and everything after it that is no step of its own.
    pub(super) fn apply(&mut self, cast: &mut Cast, event: Event) -> Happened {
        let mut happened = Happened { calls: Vec::new() };
        let who = usize::from(event.who());
        match event {
            Event::Kill { .. } => {
                self.kills -= 1;
                self.end(who, Standing::Killed);
                Rc::make_mut(&mut self.processes).set(&cast.setting.viewers[who], Life::Gone);
            }
            Event::Reuse { .. } => {
                self.actors[who].reused = true;
                // It starts long after the files of the one before were written.
                let ticks = 5000 + who as u64;
                Rc::make_mut(&mut self.processes).start(&cast.setting.viewers[who], ticks, START_MS + 60_000);
            }
            Event::Step { choice, .. } => {
                let (_, call) = cast.pending(self, who).expect("only who has a call takes a step");
                let call = call.clone();
                self.actors[who].began = true;
                self.count_preemption(event.who());
                let answer = self.answer(&cast.setting, who, &call, choice);
                self.answered(cast, who, call, answer, &mut happened);
                self.go_on(cast, who, &mut happened);
            }
        }
        happened
    }

    /// Whether a contender may make the next step, or another one would have to be held up once too often.
    fn may_step(&self, who: usize) -> bool {
        self.preemptions != Some(0) || !self.holds_up(who)
    }

    /// Whether another contender, which made the last step, could go on.
    fn holds_up(&self, who: usize) -> bool {
        let Some(last) = self.last.map(usize::from).filter(|last| *last != who) else { return false };
        self.is_running(last) && self.actors[last].pause.is_none()
    }

    fn count_preemption(&mut self, who: u8) {
        let Some(left) = self.preemptions else { return };
        self.preemptions = Some(left - u8::from(self.holds_up(who.into())));
        self.last = Some(who);
    }

    fn answer(&mut self, setting: &Setting, who: usize, call: &Call, choice: Choice) -> Answer {
        match (call, choice) {
            (_, Choice::Fails(errno)) => {
                self.failures -= 1;
                Answer::Failed(errno)
            }
            (Call::Now, _) => {
                self.actors[who].asked = true;
                self.actors[who].late |= choice == Choice::Late;
                let passed = if self.actors[who].late { LONG } else { Duration::ZERO };
                Answer::Millis(Some(START_MS + passed.as_millis() as i64))
            }
            (Call::Pause(_), Choice::Woken) => {
                self.actors[who].wakes -= 1;
                Answer::Elapsed(Duration::from_millis(1))
            }
            (Call::Pause(_), _) => Answer::Elapsed(LONG),
            (Call::Mark(mark), _) => {
                self.actors[who].holds = *mark == Mark::Holds;
                Answer::Done
            }
            (Call::Presence(_) | Call::StartToken(_) | Call::StartedAt(_) | Call::Witness(_), _) => {
                self.processes.call(&setting.viewers[who], call)
            }
            _ => mask(self.disk.call(caller(who), call), call),
        }
    }

    fn answered(&mut self, cast: &mut Cast, who: usize, call: Call, answer: Answer, happened: &mut Happened) {
        let Standing::Running(node) = self.actors[who].standing else { return };
        let unfolding = &mut cast.unfoldings[who];
        let node = unfolding.child(node, &answer).unwrap_or_else(|| {
            let (setting, state) = (Rc::clone(&cast.setting), self.clone());
            unfolding.grow(node, &answer, GoingOn { setting, state, who, last: call.clone() })
        });
        happened.calls.push((call, answer));
        self.actors[who].standing = Standing::Running(node);
        self.actors[who].pause = None;
        let position = cast.unfoldings[who].position(node);
        for handle in position.closes.iter() {
            self.disk.call(caller(who), &Call::Close(*handle));
        }
        if let Next::Call(Call::Pause(_)) = &position.next {
            self.actors[who].pause = Some(self.surroundings());
        }
        if let Next::Ends(ending) = &position.next {
            let ending = ending.clone();
            self.end(who, Standing::Ended(ending));
        }
    }

    /// Do the calls that are no steps of their own.
    fn go_on(&mut self, cast: &mut Cast, who: usize, happened: &mut Happened) {
        while let Some((_, call)) = cast.pending(self, who) {
            let last = happened.calls.last().map(|(call, _)| call);
            if !self.is_silent(&cast.setting, who, call, last) {
                return;
            }
            let call = call.clone();
            let answer = self.answer(&cast.setting, who, &call, Choice::Plain);
            self.answered(cast, who, call, answer, happened);
        }
    }

    /// Whether a call is no step of its own, because what it does and what it is answered are the same whenever,
    /// from here on, it is done.
    fn is_silent(&self, setting: &Setting, who: usize, call: &Call, last: Option<&Call>) -> bool {
        let coarse = setting.rules.grain == Grain::Coarse;
        if self.failures > 0 && call.can_fail() {
            return false;
        }
        match call {
            Call::Witness(pid) | Call::StartToken(pid) | Call::StartedAt(pid) | Call::Presence(pid) => {
                self.will_stay(setting, who, *pid)
            }
            Call::Mark(mark) => *mark == Mark::Holds,
            // The first look at the clock tells when it began.
            Call::Now => !self.actors[who].asked,
            // What is not kept account of cannot be seen.
            Call::Sync(_) => !self.disk.is_durability_tracked(),
            // What was synced once is never written again (the disk holds programs to it), and an open directory stays
            // what it is. Of the rest nothing is told.
            Call::ReadAt(handle, ..) | Call::StatHandle(handle) => {
                self.disk.is_directory(caller(who), *handle) || self.disk.is_sealed(caller(who), *handle)
            }
            Call::WriteAt(..) => coarse && matches!(last, Some(Call::Open(..) | Call::WriteAt(..))),
            _ => false,
        }
    }

    /// Whether nothing that may still happen changes what is said of a process: it is the one who asks, or it has gone
    /// for good, or nobody is killed any more.
    fn will_stay(&self, setting: &Setting, who: usize, pid: Pid) -> bool {
        let Some(other) = setting.viewers.iter().position(|viewer| viewer.pid == pid) else {
            return true;
        };
        let actor = &self.actors[other];
        match actor.standing {
            Standing::Killed => !setting.rules.reuse || actor.reused,
            Standing::Running(_) => other == who || self.kills == 0,
            // It lives on.
            Standing::Ended(_) => true,
        }
    }

    fn end(&mut self, who: usize, standing: Standing) {
        self.actors[who] = Actor {
            standing,
            holds: false,
            wakes: 0,
            pause: None,
            began: true,
            asked: false,
            late: false,
            reused: false,
        };
        self.disk.end(caller(who));
    }

    /// All that a waiting contender could notice a change of.
    fn surroundings(&self) -> u128 {
        fingerprint_of(&(&self.disk, &*self.processes))
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.disk, &*self.processes, &self.actors).hash(state);
        (self.kills, self.failures, self.preemptions, self.last).hash(state);
    }
}
