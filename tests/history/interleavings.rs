//! The lease of a history, whatever the interleaving and whoever is killed: the production code in the simulated
//! machine, every state.

use harnery_native::sim::explore::{Bounds, Report};

use crate::contending::{self, OneAtATime};
use crate::lease::{machine, Start};
use crate::proof::{effort, row};

fn explore(writers: u8, start: Start, states: usize) -> Report {
    let bounds = Bounds { states, first_finding: false };
    let report = contending::explore(writers, &machine(start), bounds, &mut OneAtATime::default());
    let bound = if report.complete { "all".to_owned() } else { format!("at most {states}") };
    let explored = format!("{} states from {start:?}, {writers} kills ({bound})", report.states);
    row(&format!("history lease, {writers} writers"), explored, report.violations());
    println!("{report}");
    report
}

#[test]
fn two_writers_are_never_both_the_only_one_and_stop_nobody_for_good() {
    for start in Start::ALL {
        let report = explore(2, start, 2_000_000);
        assert!(report.findings.is_empty(), "{start:?}: {report}");
        assert!(report.complete, "{report}");
    }
}

#[test]
fn three_writers_neither() {
    for start in [Start::DeadOwner, Start::Emptied] {
        let report = explore(3, start, 20_000 * effort());
        assert!(report.findings.is_empty(), "{start:?}: {report}");
    }
}

#[test]
fn two_writers_neither_when_a_call_of_one_fails() {
    for start in Start::ALL {
        let bounds = Bounds { states: 15_000 * effort(), first_finding: false };
        let mut check = OneAtATime::when_calls_fail();
        let report = contending::explore_failing(2, &machine(start), bounds, &mut check);
        let bound = if report.complete { "all".to_owned() } else { format!("at most {}", bounds.states) };
        let explored = format!("{} states from {start:?}, 2 kills, 1 failing call ({bound})", report.states);
        row("history lease, 2 writers", explored, report.violations());
        assert!(report.findings.is_empty(), "{start:?}: {report}");
    }
}
