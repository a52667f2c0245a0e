//! The lease, whatever the interleaving: the production code in the simulated machine, every state up to a bound.
//!
//! Here the bounds are small; `npm run prove` runs the same without them, or with larger ones.
#![cfg(feature = "sim")]

mod proof;

use harnery_native::sim::explore::{Bounds, Report};
use harnery_native::sim::lease::{start_states, Group, StartState};

use proof::{effort, found, row};

/// Explore from these start states, each up to so many states, and tell the table.
fn explore(group: &Group, states: usize, which: impl Fn(&StartState) -> bool) -> Report {
    let (report, explored) = search(group, states, which);
    row(&format!("lease, {}", group.who), explored, report.violations());
    report
}

/// Explore, and say in words what was gone through.
fn search(group: &Group, states: usize, which: impl Fn(&StartState) -> bool) -> (Report, String) {
    let mut total = Report { complete: true, ..Report::default() };
    let starts: Vec<_> = start_states().into_iter().filter(which).collect();
    for start in &starts {
        total.add(group.explore(start, Bounds { states, first_finding: false }));
    }
    let held_up = group.rules.preemptions.map_or("any number".to_owned(), |count| count.to_string());
    let bound = if total.complete { "all".to_owned() } else { format!("at most {states} a start state") };
    let explored = format!(
        "{} states from {} start states, {held_up} preemptions, {} kills ({bound})",
        total.states,
        starts.len(),
        group.rules.kills
    );
    println!("{explored}: {total}");
    (total, explored)
}

/// No bound but the group's own.
const ALL: usize = 5_000_000;

/// Two contenders from every start state: to the end where there is half an hour (28 million states), else so far.
fn two(group: &Group, states: usize) {
    if effort() >= 25 {
        assert_none_found_in_all(&explore(group, usize::MAX, every));
    } else {
        assert_none_found(&explore(group, states * effort(), every));
    }
}

fn every(_: &StartState) -> bool {
    true
}

fn assert_none_found(report: &Report) {
    assert!(report.findings.is_empty(), "{report}");
}

fn assert_none_found_in_all(report: &Report) {
    assert_none_found(report);
    assert!(report.complete, "{report}");
}

#[test]
fn the_start_states_are_those_of_the_findings_and_two_more() {
    let names: Vec<_> = start_states().iter().map(|start| start.name).collect();
    row("lease, the states that every exploration starts from", names.join("; "), 0);
    assert_eq!(names.len(), 22 + 2);
    assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)), "{names:?}");
}

#[test]
fn two_natives_keep_every_promise_in_all_runs_from_some_states() {
    let starts = ["nothing", "dead holder", "claim, current removed", "empty recovery"];
    assert_none_found_in_all(&explore(&Group::new("NN"), ALL, |start| starts.contains(&start.name)));
}

#[test]
fn two_natives_keep_every_promise_from_every_state() {
    two(&Group::new("NN"), 8_000);
}

#[test]
fn two_natives_keep_every_promise_in_all_runs_with_one_preemption() {
    assert_none_found_in_all(&explore(&Group::new("NN").preemptions(1), ALL, every));
}

#[test]
fn two_natives_keep_every_promise_when_inode_and_process_numbers_are_used_again() {
    assert_none_found(&explore(&Group::new("NN").shared_numbers().reused_pids(), 10_000 * effort(), every));
}

#[test]
fn three_natives_keep_every_promise() {
    let nothing = |start: &StartState| start.name == "nothing";
    assert_none_found_in_all(&explore(&Group::new("NNN").coarse().preemptions(2), ALL, nothing));
    assert_none_found(&explore(&Group::new("NNN").coarse().preemptions(1), 8_000 * effort(), every));
}

#[test]
fn four_natives_keep_every_promise_in_all_runs_with_few_preemptions() {
    // With two preemptions and a kill it is 270 thousand states, with one and four kills 205 thousand.
    let bounds: &[(u8, u8)] = if effort() > 1 { &[(1, 4), (2, 2)] } else { &[(1, 1)] };
    for (preemptions, kills) in bounds {
        let group = Group::new("NNNN").coarse().preemptions(*preemptions).kills(*kills);
        assert_none_found_in_all(&explore(&group, ALL, |start| start.name == "nothing"));
    }
}

#[test]
fn a_native_and_a_typescript_contender_keep_every_promise() {
    let starts = ["nothing", "dead holder", "claim, current removed", "empty recovery"];
    assert_none_found_in_all(&explore(&Group::new("NT"), ALL, |start| starts.contains(&start.name)));
    assert_none_found_in_all(&explore(&Group::new("NT").preemptions(1), ALL, every));
    two(&Group::new("NT"), 4_000);
}

#[test]
fn two_natives_and_a_typescript_contender_keep_every_promise() {
    assert_none_found(&explore(&Group::new("NNT").coarse().preemptions(1), 8_000 * effort(), every));
}

#[test]
fn four_and_five_contenders_keep_every_promise_in_runs_by_chance() {
    for who in ["NNNN", "NNNT", "NNNNN"] {
        let mut total = Report::default();
        for start in start_states() {
            total.add(Group::new(who).by_chance(&start, 0..60 * effort() as u64));
        }
        row(
            &format!("lease, {who}"),
            format!("{} runs by chance from every start state", total.runs),
            total.violations(),
        );
        println!("{total}");
        assert_none_found(&total);
    }
}

#[test]
fn typescript_contenders_wedge_the_lease_for_each_other_and_a_native_one_gets_through() {
    let group = Group::new("TT").kills(1).fresh_typescript();
    let (report, explored) = search(&group, ALL, |start| start.name == "dead holder");
    // V2: a claimant is killed between linking the pin and checking it.
    let stuck = "stuck: a fresh typescript ends: recovery pin is corrupt before its claim ";
    assert_eq!(report.findings.keys().collect::<Vec<_>>(), [stuck], "{report}");
    found("V2, the TypeScript's own steps", format!("TT, {explored}"), stuck, &report.findings[stuck].trace);
}
