//! Runs by chance, for groups too large to see all of.
//!
//! Each contender has a priority, and the highest goes on; at a few steps chosen by chance the one that goes on falls
//! behind all others. Most faults that are left by then need few such changes, wherever they are (Burckhardt and
//! others, "A randomized scheduler with probabilistic guarantees of finding bugs", 2010).

use super::event::{Choice, Event};
use super::report::{Finding, Report};
use super::search::{Check, Moment, Search};
use super::trace::Trace;

/// A sequence of numbers that a seed determines (SplitMix64).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

/// How many times the contender that goes on changes, beside the times that it ends.
const CHANGES: usize = 6;
/// So much is remembered of what the contenders do.
const KNOWN: usize = 300_000;
/// A run is some hundred steps long; no run is longer than this.
const LONGEST: usize = 2000;

impl Search {
    /// Run once for each seed. What is found names its seed and tells its trace.
    pub fn by_chance(&mut self, seeds: impl Iterator<Item = u64>, check: &mut dyn Check) -> Report {
        let mut report = Report::default();
        for seed in seeds {
            let events = self.one_by_chance(seed, check, &mut report);
            report.runs += 1;
            if self.cast.local_states() > KNOWN {
                self.cast.forget();
            }
            for (kind, upto) in events.1 {
                let finding = report.findings.entry(kind).or_insert_with(|| {
                    let mut trace = Trace::new(events.0[..upto].to_vec());
                    trace.seed = Some(seed);
                    Finding { count: 0, trace }
                });
                finding.count += 1;
            }
        }
        self.tell(&mut report);
        report
    }

    fn one_by_chance(
        &mut self,
        seed: u64,
        check: &mut dyn Check,
        report: &mut Report,
    ) -> (Vec<Event>, Vec<(String, usize)>) {
        let mut chance = Chance::new(seed);
        let mut state = self.start.clone();
        let contenders = state.actors.len();
        let mut priorities: Vec<_> = (0..contenders).map(|_| 1 + chance.below(1000)).collect();
        let span = 80 * contenders;
        let changes: Vec<_> = (0..CHANGES).map(|_| chance.below(span)).collect();
        let mut kills: Vec<_> = (0..contenders).map(|_| chance.below(span * 2)).collect();
        let (mut events, mut found, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
        while events.len() < LONGEST {
            let possible = self.cast.events(&state);
            let Some(next) = possible.iter().max_by_key(|event| priorities[usize::from(event.who())]) else {
                break;
            };
            let who = next.who();
            if changes.contains(&events.len()) {
                priorities[usize::from(who)] = 0;
            }
            let killed = possible.iter().find(|event| {
                let due = kills[usize::from(event.who())] <= events.len();
                matches!(event, Event::Kill { .. }) && due
            });
            let steps: Vec<_> = possible
                .iter()
                .filter(|event| event.who() == who && !matches!(event, Event::Kill { .. }))
                .collect();
            let event = match killed {
                // Half of those who could be killed are not.
                Some(kill)
                    if {
                        kills[usize::from(kill.who())] = usize::MAX;
                        chance.below(2) == 0
                    } =>
                {
                    *kill
                }
                _ if steps.is_empty() => *next,
                _ => *steps[chance.below(steps.len())],
            };
            if let Event::Step { choice: Choice::Woken, who } = event {
                // Others go on while it waits.
                priorities[usize::from(who)] = 0;
            }
            let before = state.clone();
            let happened = state.apply(&mut self.cast, event);
            events.push(event);
            report.steps += 1;
            let moment =
                Moment { before: &before, event, calls: &happened.calls, after: &state, is_new: true };
            check.look(&moment, &mut found);
            kinds.extend(found.drain(..).map(|kind| (kind, events.len())));
            self.note_ending(report, &before, &state, who);
        }
        (events, kinds)
    }
}
