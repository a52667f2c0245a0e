//! Looking at a lease and repairing one.

use std::ffi::OsStr;
use std::path::Path;

use harnery_native::files::{Access, Dir};
use harnery_native::host::Host;
use harnery_native::lease::inspect::State;
use harnery_native::lease::repair::{Repaired, Request};
use harnery_native::lease::{inspect, repair, Error, NoHooks};
use harnery_native::sim::lease::{start_states, PATH};
use harnery_native::sim::{Machine, World};

use super::{Extent, Failure, Proof};
use crate::failing::lease::refusal_of_a_fresh_contender;

fn look(host: &Host) -> Result<(State, String), Error> {
    inspect(host, Path::new(PATH), Some(1000.0), &NoHooks).map(|seen| (seen.state, seen.digest))
}

/// Names, inodes, contents.
fn listing(machine: &Machine) -> String {
    machine.world().disk.listing()
}

#[test]
fn a_failing_call_of_a_look_is_reported_and_nothing_is_changed() {
    let mut proof = Proof::of("lease, inspect");
    for start in start_states() {
        let before = listing(&Machine::with(start.world.clone()));
        let unchanged = |failure: &Failure<'_>| {
            if listing(failure.machine) != before {
                failure.blame("something is changed");
            }
        };
        proof.each_failure(
            start.name,
            &start.world,
            look,
            |failure, outcome| {
                if let Err(error) = outcome {
                    failure.must_be_documented(error.code().as_deref(), &error.to_string());
                }
                unchanged(failure);
            },
            unchanged,
        );
    }
    proof.tell();
}

/// A lease that nobody gets until it is repaired.
fn corrupt(what: &[(&str, &str)]) -> World {
    let machine = Machine::default();
    let maker = machine.start(9);
    let host = maker.host();
    host.files.make_dir(Path::new(PATH), 0o700).unwrap();
    let lease = Dir::open(&host.files, Path::new(PATH)).unwrap();
    for (path, text) in what {
        let dir = match path.split_once('/') {
            Some((above, _)) => {
                lease.make_dir(above, 0o700).unwrap();
                lease.open_dir(above).unwrap()
            }
            None => lease.open_dir(OsStr::new(".")).unwrap(),
        };
        let name = path.rsplit('/').next().unwrap();
        let file = dir.open_file(name, Access::CreateNew { mode: 0o600 }).unwrap();
        file.write_all_at(0, text.as_bytes()).unwrap();
    }
    drop(lease);
    maker.kill();
    machine.pass(std::time::Duration::from_secs(3600));
    let world = World::clone(&machine.world());
    world
}

fn repair_it(host: &Host) -> Result<Repaired, Error> {
    let (_, digest) = look(host)?;
    let (actor, reason) = ("op".to_owned(), "torn".to_owned());
    repair(host, Path::new(PATH), &Request { digest, actor, reason, elsewhere_is_gone: false })
}

/// Every text that was there still is, somewhere in the lease's directory; and whoever repairs what is left to repair
/// makes it one that is acquired.
fn can_be_repaired(failure: &Failure<'_>, texts: &[(&str, &str)]) {
    let machine = failure.an_hour_later();
    let listing = listing(&machine);
    for (path, text) in texts {
        if !listing.contains(text) {
            failure.blame(format!("the content of {path} is lost:\n{listing}"));
        }
    }
    let host = machine.start(3).host();
    for _ in 0..3 {
        match look(&host) {
            Ok((State::Corrupt, _)) => {}
            Ok(_) => break,
            Err(error) => failure.blame(format!("not to be looked at: {error}")),
        }
        if let Err(error) = repair_it(&host) {
            failure.blame(format!("not to be repaired: {error}"));
        }
        machine.pass(std::time::Duration::from_secs(1));
    }
    if let Some(why) = refusal_of_a_fresh_contender(&machine) {
        failure.blame(format!("repaired, and in the way: {why}"));
    }
}

#[test]
fn a_failing_call_of_a_repair_loses_nothing_and_the_next_one_succeeds() {
    let mut proof = Proof::of("lease, repair");
    let scenes: [(&str, &[(&str, &str)]); 3] = [
        ("a torn current", &[("current", "{torn")]),
        ("a torn claim", &[("recovery/claim.json", "{half")]),
        ("both", &[("current", "{torn"), ("recovery/claim.json", "{half")]),
    ];
    for (name, texts) in scenes {
        proof.each_failure(
            name,
            &corrupt(texts),
            repair_it,
            |failure, outcome| {
                if let Err(error) = outcome {
                    failure.must_be_documented(error.code().as_deref(), &error.to_string());
                }
                if failure.extent == Extent::Once {
                    can_be_repaired(failure, texts);
                }
            },
            |failure| can_be_repaired(failure, texts),
        );
    }
    proof.tell();
}
