//! Repairing a lease whose `current` is torn, while others repair it, too, and contend for it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use harnery_native::files::record::write_new;
use harnery_native::files::Dir;
use harnery_native::host::Host;
use harnery_native::lease::inspect::State as LeaseState;
use harnery_native::lease::repair::Request;
use harnery_native::lease::{acquire, inspect, repair, Durability, Error, Input, Lease, NoHooks};
use harnery_native::sim::explore::{Check, Ending, Grain, Moment, Program, Stage, State};
use harnery_native::sim::lease::PATH;
use harnery_native::sim::{Machine, World};

use crate::proof::effort;
use crate::stage::{when_all_are_gone, Group, Seen, TWO};

#[derive(Debug)]
struct Repairer;

#[derive(Debug)]
struct Contender;

impl Program for Repairer {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        let repaired = inspect(stage.host, Path::new(PATH), None, &NoHooks).and_then(|seen| {
            let (actor, reason) = ("operator".to_owned(), "a torn file".to_owned());
            let request = Request { digest: seen.digest, actor, reason, elsewhere_is_gone: false };
            repair(stage.host, Path::new(PATH), &request)
        });
        match repaired {
            Ok(_) => Ending::new("repaired"),
            // Another was faster, or somebody has it by now.
            Err(Error::Input(_) | Error::Held { .. } | Error::Recovering(_)) => Ending::new("refused"),
            Err(error) => Ending::fault("failed", format!("a repair fails: {error}")),
        }
    }
}

impl Program for Contender {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        let mut lease = match take(stage.host) {
            Ok(lease) => lease,
            Err(error @ (Error::Corrupt(_) | Error::Held { .. } | Error::Recovering(_))) => {
                return Ending::new(error.code().expect("a lease's code").into_owned());
            }
            Err(error) => return Ending::fault("failed", format!("an acquisition fails: {error}")),
        };
        stage.holds();
        stage.lets_go();
        match lease.release(stage.host) {
            Ok(()) => Ending::new("released"),
            Err(error) => Ending::fault("release failed", format!("a release fails: {error}")),
        }
    }
}

fn take(host: &Host) -> Result<Lease, Error> {
    let input = Input {
        path: PathBuf::from(PATH),
        scope: "scope".to_owned(),
        authority_sha256: "a".repeat(64),
        metadata: None,
        stale_after_ms: 1000.0,
        pid: None,
        host: None,
        durability: Durability::Power,
    };
    acquire(host, &input, &NoHooks)
}

/// Never two holders; and when all are done, the next one gets the lease, or it is corrupt still, and repaired then.
struct OneHolder {
    contenders: u8,
    seen: Seen,
}

impl Check for OneHolder {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        let after = moment.after;
        if moment.is_new && after.holders() > 1 {
            found.push("two holders".to_owned());
        }
        if moment.is_new && after.is_quiet() {
            found.extend(self.try_fresh(after));
        }
        let ending = after.ending(usize::from(moment.event.who()));
        found.extend(ending.and_then(|ending| ending.fault.clone()));
    }
}

impl OneHolder {
    fn try_fresh(&mut self, state: &State) -> Option<String> {
        let machine = when_all_are_gone(state, self.contenders);
        if !self.seen.is_new(&machine) {
            return None;
        }
        let host = machine.start(99).host();
        let seen = match inspect(&host, Path::new(PATH), None, &NoHooks) {
            Ok(seen) => seen,
            Err(error) => return Some(format!("a fresh look fails: {error}")),
        };
        if seen.state == LeaseState::Corrupt {
            let (actor, reason) = ("operator".to_owned(), "a torn file".to_owned());
            let request = Request { digest: seen.digest, actor, reason, elsewhere_is_gone: false };
            if let Err(error) = repair(&host, Path::new(PATH), &request) {
                return Some(format!("a fresh repair fails: {error}"));
            }
        }
        take(&host).err().map(|error| format!("a fresh contender fails: {error}"))
    }
}

fn torn() -> World {
    let machine = Machine::default();
    let host = machine.start(9).host();
    host.files.make_dir(Path::new(PATH), 0o700).unwrap();
    write_new(&Dir::open(&host.files, Path::new(PATH)).unwrap(), "current", b"{", 0o600).unwrap();
    let world = machine.world().clone();
    world
}

/// So many repair it, and the others contend for it.
fn explore(group: Group, repairers: u8) {
    let programs = move |n| match n < repairers {
        true => Rc::new(Repairer) as Rc<dyn Program>,
        false => Rc::new(Contender),
    };
    let mut check = OneHolder { contenders: group.contenders, seen: Seen::default() };
    let from = format!("a torn current, {repairers} of them repairing");
    let report = group.explore("lease repair", &from, &programs, torn(), &mut check);
    assert!(report.findings.is_empty(), "{report}");
}

#[test]
fn two_that_repair_a_lease_or_take_it_meanwhile_never_break_it() {
    let states = 20_000 * effort();
    explore(Group { states, ..TWO }, 2);
    explore(Group { states, alike: false, ..TWO }, 1);
}

#[test]
fn three_neither() {
    let three = Group { contenders: 3, grain: Grain::Coarse, alike: false, ..TWO };
    for repairers in [1, 2] {
        explore(Group { kills: 1, preemptions: Some(1), states: 20_000 * effort(), ..three }, repairers);
    }
    // One that is held up while another repairs, and the lease is taken: it moves the new holder's aside, if it does not
    // look again.
    explore(Group { kills: 0, preemptions: Some(2), ..three }, 2);
}
