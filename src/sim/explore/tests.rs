//! The search on two toy locks: one that is right and one that is not.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use super::{Bounds, Check, Contender, Ending, Grain, Moment, Program, Rules, Search, Stage};
use crate::files::Access;
use crate::process::Pid;
use crate::sim::{Disk, Numbering, Table, Viewer, World, START_MS};

/// Takes the lock by creating it, or by looking and then creating it.
#[derive(Debug)]
struct Toy {
    looks_first: bool,
}

impl Program for Toy {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        let files = &*stage.host.files;
        let root = files.open_dir(Path::new("/")).unwrap();
        let lock = OsStr::new("lock");
        let taken = if self.looks_first && files.stat_at(root, lock).is_err() {
            files.open_at(root, lock, Access::CreateIfMissing { mode: 0o600 })
        } else {
            files.open_at(root, lock, Access::CreateNew { mode: 0o600 })
        };
        let Ok(handle) = taken else { return Ending::new("refused") };
        stage.holds();
        stage.lets_go();
        files.close(handle);
        match files.unlink(root, lock) {
            Ok(()) => Ending::new("released"),
            Err(error) => Ending::fault("lost", error.to_string()),
        }
    }
}

#[derive(Debug)]
struct OneHolder;

impl Check for OneHolder {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        if moment.after.holders() > 1 {
            found.push("two holders".to_owned());
        }
    }
}

fn search(looks_first: bool, kills: u8) -> super::Report {
    let viewer = |number: i64| Viewer {
        pid: Pid::new(number).unwrap(),
        uid: 0,
        host_name: "host".to_owned(),
        pid_namespace: "1".to_owned(),
    };
    let contenders = (1..=2)
        .map(|number| Contender {
            name: "toy",
            program: Rc::new(Toy { looks_first }),
            viewer: viewer(number),
        })
        .collect();
    let world = World {
        disk: Disk::new(Numbering::Shared),
        processes: Table::new("b0070001", START_MS),
        now_ms: START_MS,
        monotonic: std::time::Duration::ZERO,
    };
    let rules = Rules {
        grain: Grain::Fine,
        kills,
        failures: 0,
        errnos: [].into(),
        reuse: false,
        preemptions: None,
        alike: false,
    };
    Search::new(contenders, world, rules)
        .run(Bounds { states: 100_000, first_finding: false }, &mut OneHolder)
}

#[test]
fn exclusive_creation_is_a_lock() {
    let report = search(false, 2);
    assert!(report.complete && report.findings.is_empty(), "{report}");
    // Both orders, and every kill.
    assert_eq!(
        report.outcomes.keys().map(|(_, outcome)| outcome.as_str()).collect::<Vec<_>>(),
        ["refused", "released"]
    );
}

#[test]
fn looking_and_then_creating_is_none_and_the_shortest_trace_says_why() {
    let report = search(true, 0);
    let finding = &report.findings["two holders"];
    assert_eq!(finding.trace.len(), 6, "{report}");
    let text = finding.trace.to_string();
    assert!(text.contains("lstat /lock: ENOENT"), "{text}");
}

#[test]
fn the_same_search_finds_the_same() {
    assert_eq!(search(true, 1).to_string(), search(true, 1).to_string());
}
