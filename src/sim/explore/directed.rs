//! A run along a plan: who goes on, up to where.
//!
//! What takes several contenders, each stopped at one certain call, lies too deep for a search that sees everything.
//! A plan says the order in words, and the run shows that it can happen.

use super::event::{Choice, Event};
use super::report::{Finding, Report};
use super::search::{Check, Moment, Search};
use super::trace::Trace;
use crate::sim::call::{Call, Mark, Place};

/// One contender goes on alone, up to some call of its own.
#[derive(Debug, Clone, Copy)]
pub struct Leg {
    pub who: u8,
    pub until: Until,
}

/// Up to which call; it is not done any more. Names are the last components of paths.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    Rename(&'static str),
    Unlink(&'static str),
    /// To this new name.
    Link(&'static str),
    /// It waits for others.
    Waiting,
    /// It holds what it contends for, and is about to let it go.
    LettingGo,
    Killed,
    Ended,
}

impl Leg {
    /// What it does next, with this call before it; `None`: it has come to where the leg leads.
    fn event(&self, call: &Call) -> Option<Event> {
        let step = |choice| Some(Event::Step { who: self.who, choice });
        match (self.until, call) {
            (Until::Killed, _) => Some(Event::Kill { who: self.who }),
            (until, call) if until.is_here(call) => None,
            (_, Call::Now) => step(Choice::Late),
            _ => step(Choice::Plain),
        }
    }
}

impl Until {
    fn is_here(self, call: &Call) -> bool {
        let named = |place: &Place, name: &str| {
            place.path.to_string_lossy().rsplit('/').next().is_some_and(|last| last == name)
        };
        match (self, call) {
            (Until::Rename(name), Call::Rename(place, _))
            | (Until::Unlink(name), Call::Unlink(place))
            | (Until::Link(name), Call::Link(_, place)) => named(place, name),
            (Until::Waiting, Call::Pause(_)) => true,
            (Until::LettingGo, Call::Mark(mark)) => *mark == Mark::LetsGo,
            _ => false,
        }
    }
}

impl Search {
    /// Run along a plan, as far as it leads. Whenever the clock is looked at, enough time has passed.
    ///
    /// The report is complete when the plan could be followed to its end: no contender ended before it came to where
    /// its leg leads.
    pub fn along(&mut self, plan: &[Leg], check: &mut dyn Check) -> Report {
        let mut report = Report { runs: 1, complete: true, ..Report::default() };
        let (mut state, mut events, mut found) = (self.start.clone(), Vec::new(), Vec::new());
        'plan: for leg in plan {
            while let Some((_, call)) = self.cast.pending(&state, leg.who.into()) {
                let Some(event) = leg.event(call) else { continue 'plan };
                let before = state.clone();
                let calls = state.apply(&mut self.cast, event).calls;
                events.push(event);
                report.steps += 1;
                let moment = Moment { before: &before, event, calls: &calls, after: &state, is_new: true };
                check.look(&moment, &mut found);
                for kind in found.drain(..) {
                    let new = || Finding { count: 0, trace: Trace::new(events.clone()) };
                    report.findings.entry(kind).or_insert_with(new).count += 1;
                }
                self.note_ending(&mut report, &before, &state, leg.who);
            }
            if !matches!(leg.until, Until::Ended | Until::Killed) {
                report.complete = false;
                break;
            }
        }
        self.tell(&mut report);
        report
    }
}
