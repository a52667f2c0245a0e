//! The power is cut at every moment of concurrent runs; whatever the disk kept, a contender of the next boot gets the
//! lease and cleans up.
//!
//! Of the names and contents that were not synced any combination survives, up to a bound for each moment, which is
//! printed.
#![cfg(feature = "sim")]

mod proof;

use std::path::Path;

use harnery_native::files::{Access, Dir};
use harnery_native::sim::explore::{Bounds, Report};
use harnery_native::sim::lease::{start_states, Group, PowerCheck};
use harnery_native::sim::Machine;

use proof::{effort, row};

/// So many disks at most are mounted for one moment.
fn limit() -> usize {
    256 * effort()
}

fn cut(group: &Group, starts: &[&str], check: &mut PowerCheck) {
    let mut total = Report { complete: true, ..Report::default() };
    for start in start_states().into_iter().filter(|start| starts.is_empty() || starts.contains(&start.name))
    {
        total.add(group.cut_power(&start, Bounds { states: 1_000_000, first_finding: false }, check));
    }
    let extent =
        if check.complete { "all".to_owned() } else { format!("at most {} for each moment", limit()) };
    let explored = format!(
        "{} states, {} disks ({extent}), {} of them different",
        total.states,
        check.images,
        check.distinct()
    );
    row(&format!("lease, {}, power cut", group.who), explored, total.violations());
    println!("{total}");
    assert!(total.complete && total.findings.is_empty(), "{total}");
}

#[test]
fn one_native_recovers_every_disk_that_it_can_leave_from_every_start_state() {
    cut(&Group::new("N"), &[], &mut PowerCheck::new(limit()));
}

#[test]
fn two_natives_recover_every_disk_that_they_can_leave() {
    let starts = ["nothing", "dead holder", "claim, current removed", "claim with a strange pin"];
    cut(&Group::new("NN").preemptions(1), &starts, &mut PowerCheck::new(limit()));
}

#[test]
fn so_do_natives_that_make_nothing_survive_but_their_owner_files() {
    cut(&Group::new("N").careless(), &[], &mut PowerCheck::new(limit()));
    cut(&Group::new("NN").careless().preemptions(1), &["nothing"], &mut PowerCheck::new(limit()));
}

#[test]
fn a_native_and_a_typescript_contender_recover_every_disk_that_they_can_leave() {
    let starts = ["nothing", "dead holder", "claim, current removed"];
    cut(&Group::new("NT").preemptions(1), &starts, &mut PowerCheck::new(limit()));
}

#[test]
fn a_boot_with_a_wrong_clock_knows_that_the_holders_of_an_earlier_boot_are_gone() {
    cut(&Group::new("NN").preemptions(1), &["nothing"], &mut PowerCheck::new(limit()).and_a_wrong_clock());
}

#[test]
fn a_typescript_contender_gets_the_lease_from_every_disk_that_natives_can_leave() {
    // What one of its own kind left in the lease before stops it, and is cleared away by a native one only.
    let stops_it = [
        "empty recovery",
        "empty recovery, dead holder",
        "recovery with only a pin",
        "claim with a strange pin",
    ];
    let starts: Vec<_> = start_states().iter().map(|start| start.name).collect();
    let starts: Vec<_> = starts.into_iter().filter(|name| !stops_it.contains(name)).collect();
    cut(&Group::new("N"), &starts, &mut PowerCheck::new(limit()).and_for_typescript());
    let starts = ["nothing", "dead holder", "claim, current removed"];
    cut(&Group::new("NN").preemptions(1), &starts, &mut PowerCheck::new(limit()).and_for_typescript());
}

#[test]
fn what_is_in_one_file_that_was_not_synced_says_nothing_of_another() {
    let machine = Machine::default();
    machine.world().disk.track_durability();
    let files = machine.start(1).host().files;
    let root = Dir::open(&files, Path::new("/")).unwrap();
    for (name, text) in [("a", "1234"), ("b", "56")] {
        root.open_file(name, Access::CreateNew { mode: 0o600 })
            .unwrap()
            .write_all_at(0, text.as_bytes())
            .unwrap();
    }
    root.sync().unwrap();
    // Each is empty, half, whole or NULs.
    let (disks, all) = machine.world().disk.after_power_cut(100);
    assert_eq!((disks.len(), all), (4 * 4, true));
    let (disks, all) = machine.world().disk.after_power_cut(15);
    assert_eq!((disks.len(), all), (15, false));
}
