//! Breadth first through all states, so that the first trace to anything is a shortest one.

use std::collections::{HashSet, VecDeque};

use super::event::Event;
use super::report::{Finding, Report};
use super::state::{Cast, Contender, Rules, State};
use super::trace::Trace;
use crate::sim::call::{Answer, Call};
use crate::sim::disk::fingerprint_of;
use crate::sim::machine::World;

/// Where a search ends before it has seen everything.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub states: usize,
    /// Whether one finding is enough.
    pub first_finding: bool,
}

/// One step of a run, for those who check it.
#[derive(Debug)]
pub struct Moment<'a> {
    pub before: &'a State,
    pub event: Event,
    /// The calls of the step with their answers, by the contender whose step it is.
    pub calls: &'a [(Call, Answer)],
    pub after: &'a State,
    /// Whether the state after it was never seen before.
    pub is_new: bool,
}

/// What must always be true.
pub trait Check {
    /// Say what is not.
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>);
}

/// A scenario to be explored.
#[derive(Debug)]
pub struct Search {
    pub(super) cast: Cast,
    pub(super) start: State,
}

impl Search {
    pub fn new(contenders: Vec<Contender>, world: World, rules: Rules) -> Self {
        let mut cast = Cast::new(contenders, &world, rules);
        let start = cast.start(world);
        Search { cast, start }
    }

    /// See all that can happen.
    pub fn run(&mut self, bounds: Bounds, check: &mut dyn Check) -> Report {
        let mut seen = HashSet::from([fingerprint_of(&self.start)]);
        // How each state was come to, by its place here: from which one, by what. The first was not.
        let mut ways: Vec<(u32, Event)> = vec![(0, Event::Kill { who: 0 })];
        let mut queue = VecDeque::from([(0_u32, self.start.clone())]);
        let mut report = Report { states: 1, complete: true, ..Report::default() };
        let mut found = Vec::new();
        'search: while let Some((at, before)) = queue.pop_front() {
            for event in self.cast.events(&before) {
                let mut after = before.clone();
                let happened = after.apply(&mut self.cast, event);
                report.steps += 1;
                let is_new = seen.insert(fingerprint_of(&after));
                let calls = &happened.calls;
                check.look(&Moment { before: &before, event, calls, after: &after, is_new }, &mut found);
                for kind in found.drain(..) {
                    let new = || Finding { count: 0, trace: Trace::new(way(&ways, at, event)) };
                    report.findings.entry(kind).or_insert_with(new).count += 1;
                    if bounds.first_finding {
                        report.complete = false;
                        break 'search;
                    }
                }
                if !is_new {
                    continue;
                }
                report.states += 1;
                self.note_ending(&mut report, &before, &after, event.who());
                if report.states >= bounds.states {
                    report.complete = false;
                    break 'search;
                }
                queue.push_back((u32::try_from(ways.len()).expect("fewer than 2^32 states"), after));
                ways.push((at, event));
            }
        }
        self.tell(&mut report);
        report
    }

    pub(super) fn note_ending(&self, report: &mut Report, before: &State, after: &State, who: u8) {
        let at = usize::from(who);
        if let (None, Some(ending)) = (before.ending(at), after.ending(at)) {
            let outcome = (self.cast.setting.names[at], ending.outcome.clone());
            *report.outcomes.entry(outcome).or_default() += 1;
        }
    }

    /// Complete a report with what can be told only from here.
    pub(super) fn tell(&mut self, report: &mut Report) {
        report.local_states = self.cast.local_states();
        for finding in report.findings.values_mut() {
            finding.trace.tell(&mut self.cast, &self.start);
        }
    }
}

fn way(ways: &[(u32, Event)], mut at: u32, last: Event) -> Vec<Event> {
    let mut events = vec![last];
    while at > 0 {
        let (before, event) = ways[at as usize];
        events.push(event);
        at = before;
    }
    events.reverse();
    events
}
