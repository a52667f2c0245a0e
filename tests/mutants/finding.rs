//! Explorations that must find something.

use harnery_native::mutant;
use harnery_native::sim::explore::{Bounds, Check, Leg, Moment, Report, Until};
use harnery_native::sim::lease::{start_states, Group, StartState};

use crate::proof::found;

pub fn start(name: &str) -> StartState {
    start_states().into_iter().find(|start| start.name == name).unwrap()
}

/// To the first finding; a search that has not come to one by then is broken.
pub const FIRST: Bounds = Bounds { states: 10_000_000, first_finding: true };

/// Looks for one finding, so that the first is by a shortest way.
pub struct Only<'a, C>(pub C, pub &'a str);

impl<C: Check> Check for Only<'_, C> {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        self.0.look(moment, found);
        found.retain(|finding| finding == self.1);
    }
}

/// With the mutation the group runs into this; without it, as far as that, into nothing.
pub fn finds(mutation: &'static str, group: &Group, from: &str, finding: &str) {
    let start = start(from);
    let mut check = Only(group.check(), finding);
    let report = mutant::with(mutation, || group.explore_by(&start, FIRST, &mut check));
    tell(mutation, &format!("{} from {from}, {} states", group.who, report.states), &report, finding);
    assert_nothing(mutation, &group.explore(&start, Bounds { states: report.states, ..FIRST }));
}

/// With the mutation this run leads there; without it the run comes to an end before, and to nothing.
pub fn finds_along(mutation: &'static str, group: &Group, from: &str, plan: &[Leg], finding: &str) {
    let along = || group.along(&start(from), plan);
    let report = mutant::with(mutation, along);
    assert!(report.complete, "{mutation}: {report}");
    tell(mutation, &format!("{} from {from}, along a plan", group.who), &report, finding);
    assert_nothing(mutation, &along());
}

pub fn leg(who: u8, until: Until) -> Leg {
    Leg { who, until }
}

/// A row of the table, and the trace for whoever asks to see it.
pub fn tell(fault: &str, explored: &str, report: &Report, finding: &str) {
    let seen =
        report.findings.get(finding).unwrap_or_else(|| panic!("{fault}: {finding} is not in {report}"));
    found(fault, explored, finding.trim(), &seen.trace);
}

fn assert_nothing(mutation: &str, without: &Report) {
    assert!(without.findings.is_empty(), "without {mutation}: {without}");
}
