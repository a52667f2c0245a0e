//! Power cuts: whatever of the unsynced names and contents survives, the next writer gets the lease, and what was
//! acknowledged is there.

use std::path::Path;
use std::time::Duration;

use harnery_native::history::append::{append, append_to_file};
use harnery_native::history::{write, AppendOptions, Layout, NoSeams, Writing};
use harnery_native::host::Host;
use harnery_native::sim::explore::Bounds;
use harnery_native::sim::{Disk, Machine, Seat, World};

use crate::contending::{explore, CutPower};
use crate::lease::{machine, Start, FILE};
use crate::proof::{effort, row};
use crate::support::{killed_at, read_dir, read_file};

/// More than any of these runs can leave.
const ALL: usize = 1 << 16;

/// The machines that a power cut can leave, restarted.
fn after_the_cut(machine: &Machine) -> Vec<Seat> {
    let world = machine.world().clone();
    let (disks, are_all) = world.disk.after_power_cut(ALL);
    assert!(are_all);
    let restarted = |disk: Disk| {
        let mut processes = world.processes.clone();
        processes.restart("b0070002", world.now_ms);
        // Long enough for an empty directory; a dead boot's owner is dead at once.
        let now_ms = world.now_ms + 5_000;
        let mut disk = disk;
        disk.now_ms = now_ms;
        let monotonic = Duration::from_secs(60);
        Machine::with(World { disk, processes, now_ms, monotonic }).start(50)
    };
    disks.into_iter().map(restarted).collect()
}

fn takes_the_lease(host: &Host) -> bool {
    let layout = Layout::file(Path::new(FILE)).unwrap();
    write(host, &layout, Writing::default(), &NoSeams, |writer| writer.must_be_the_only_one()).is_ok()
}

#[test]
fn killed_and_cut_off_at_any_step_a_writer_leaves_a_lease_that_the_next_one_gets() {
    let mut images = 0;
    for start in Start::ALL {
        for step in 0.. {
            let machine = machine(start);
            machine.world().disk.track_durability();
            let killed = machine.start(1);
            let done = killed_at(&killed.host(), step, |host| {
                append_to_file(host, Path::new(FILE), r#"{"n":1}"#, 256.0, Writing::default(), &NoSeams)
                    .unwrap()
            });
            for seat in after_the_cut(&machine) {
                images += 1;
                assert!(takes_the_lease(&seat.host()), "{start:?}, cut off before step {step}");
                if done.is_some() {
                    assert_eq!(read_file(&seat.host(), Path::new(FILE)).unwrap(), [r#"{"n":1}"#]);
                }
            }
            if done.is_some() {
                break;
            }
        }
    }
    row("history lease, a writer killed at any step, power cut", format!("{images} disks"), 0);
    assert!(images > 500, "{images}");
}

#[test]
fn cut_off_at_any_moment_two_writers_leave_a_lease_that_the_next_one_gets() {
    for start in [Start::Nothing, Start::DeadOwner] {
        let machine = machine(start);
        machine.world().disk.track_durability();
        let mut check = CutPower::default();
        let bounds = Bounds { states: 5_000 * effort(), first_finding: false };
        let report = explore(2, &machine, bounds, &mut check);
        let explored =
            format!("{} states from {start:?}, {} different disks", report.states, check.distinct());
        row("history lease, 2 writers, power cut", explored, report.violations());
        assert!(report.findings.is_empty(), "{start:?}: {report}");
    }
}

#[test]
fn what_was_acknowledged_survives_also_when_it_was_sealed() {
    let options = AppendOptions::new(256.0, 256.0).unwrap();
    let record = |n: u32| format!("\"{n}{}\"", "x".repeat(150));
    let machine = machine(Start::Nothing);
    machine.world().disk.track_durability();
    let writer = machine.start(1);
    let layout = Layout::directory(Path::new("/h"));
    let mut acknowledged = Vec::new();
    for n in 0..3 {
        append(&writer.host(), &layout, &[record(n)], options, Writing::default(), &NoSeams).unwrap();
        acknowledged.push(record(n));
        for seat in after_the_cut(&machine) {
            assert_eq!(read_dir(&seat.host(), Path::new("/h")).unwrap(), acknowledged);
            append(&seat.host(), &layout, &["1"], options, Writing::default(), &NoSeams).unwrap();
        }
    }
}

/// What a killed writer had written and not synced may be in a segment by then; nothing is ever written there again.
#[test]
fn what_is_sealed_is_whole_also_when_its_last_writer_was_killed_before_the_sync() {
    let options = AppendOptions::new(64.0, 64.0).unwrap();
    let layout = Layout::directory(Path::new("/h"));
    let (first, second, third) = (r#""first""#, r#""second""#, format!("\"{}\"", "x".repeat(50)));
    let mut sealed = 0;
    for step in 0.. {
        let machine = machine(Start::Nothing);
        machine.world().disk.track_durability();
        let add = |host: &Host, record: &str| {
            append(host, &layout, &[record], options, Writing::default(), &NoSeams)
        };
        let killed = machine.start(1);
        add(&killed.host(), first).unwrap();
        let done = killed_at(&killed.host(), step, |host| add(host, second).unwrap());
        killed.kill();
        machine.pass(Duration::from_secs(35));
        let next = machine.start(2);
        if add(&next.host(), &third).is_ok_and(|receipt| receipt.rotated) {
            sealed += 1;
            for seat in after_the_cut(&machine) {
                let read = read_dir(&seat.host(), Path::new("/h")).unwrap();
                assert_eq!((read[0].as_str(), read.last().unwrap()), (first, &third), "step {step}");
            }
        }
        if done.is_some() {
            break;
        }
    }
    assert!(sealed > 5, "{sealed}");
}
