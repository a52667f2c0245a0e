//! Faults in the lease of a history.

use std::path::Path;

use harnery_native::history::{write, Layout, NoSeams, Writing};
use harnery_native::mutant;
use harnery_native::sim::{Machine, START_MS};

use crate::contending::{explore, CutPower, OneAtATime, FILE};
use crate::finding::{tell, Only, FIRST};

/// A machine as it was left by a writer that was killed while it held the lease.
fn dead_owner() -> Machine {
    let machine = Machine::default();
    turn_to(&machine, START_MS - 3_600_000);
    let (writer, layout) = (machine.start(9), Layout::file(Path::new(FILE)).unwrap());
    writer.host().files.make_dir(Path::new("/h"), 0o700).unwrap();
    let killed = write(&writer.host(), &layout, Writing::default(), &NoSeams, |_| {
        writer.kill();
        Ok(machine.world().clone())
    });
    let machine = Machine::with(killed.unwrap());
    turn_to(&machine, START_MS);
    machine
}

fn turn_to(machine: &Machine, now_ms: i64) {
    let mut world = machine.world();
    world.now_ms = now_ms;
    world.disk.now_ms = now_ms;
}

/// Two writers find a dead one's lease, and come to hold it both.
fn finds_two_holders(mutation: &'static str) {
    let finding = "two holders";
    let mut check = Only(OneAtATime::default(), finding);
    let report = mutant::with(mutation, || explore(2, &dead_owner(), FIRST, &mut check));
    let explored = format!("two writers and a dead one, {} states", report.states);
    tell(mutation, &explored, &report, finding);
}

#[test]
fn retired_by_name_a_living_writer_s_lease_is_taken_for_a_dead_one_s() {
    finds_two_holders("a dead owner's history lease is retired by its name");
}

#[test]
fn removed_by_name_a_living_writer_s_file_is_taken_for_a_dead_one_s() {
    finds_two_holders("a dead owner's file is removed by the history lease's name");
}

#[test]
fn expiry_alone_proves_no_writer_dead() {
    finds_two_holders("a history's writer that is beyond its time is dead");
}

#[test]
fn not_synced_before_it_is_a_lease_its_owner_is_torn_and_nobody_can_judge_it() {
    let (mutation, finding) =
        ("sync left out: the owner of a history lease", "after a power cut a fresh writer: busy ");
    let machine = dead_owner();
    machine.world().disk.track_durability();
    let mut check = Only(CutPower::default(), finding);
    let report = mutant::with(mutation, || explore(1, &machine, FIRST, &mut check));
    let explored = format!("a writer and a dead one, {} states, {} disks", report.states, check.0.distinct());
    tell(mutation, &explored, &report, finding);
}
