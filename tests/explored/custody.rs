//! Registering under custody: an id is one live server's, and never nobody's for good.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use harnery_native::files::Dir;
use harnery_native::host::Host;
use harnery_native::lease;
use harnery_native::servers::custody::unregister::unregister;
use harnery_native::servers::{Error, Schema, ServerRecord};
use harnery_native::sim::explore::{Check, Ending, Event, Grain, Moment, Program, Stage};
use harnery_native::sim::{Answer, Call, Caller, Disk, Machine, Place, World, START_MS};
use nix::errno::Errno;

use crate::proof::{effort, row};
use crate::registry;
use crate::stage::{viewer, when_all_are_gone, Group, PowerCuts, Seen, TWO};

pub const RECORD: &str = "/p/.harnery/servers/x.json";

/// Registers itself as `x`, serves, and removes its registration.
#[derive(Debug)]
struct Server {
    /// Whether calls are made to fail: then that is an answer, too.
    calls_fail: bool,
}

fn put(host: &Host) -> Result<ServerRecord, Error> {
    registry::put(host, Schema::Custody)
}

impl Program for Server {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        let record = match put(stage.host) {
            Ok(record) => record,
            Err(error) => return self.refused(&error),
        };
        stage.holds();
        stage.lets_go();
        match unregister(&registry::of(stage.host, Schema::Custody), &record, &registry::options()) {
            Ok(true) => Ending::new("registered, removed"),
            Ok(false) => Ending::fault("registered", "its registration has gone"),
            // Somebody else looks at the id right now: the registration stays, and is told so.
            Err(Error::Lease(error)) if error.is_contention() => Ending::new("registered, and stays"),
            Err(error) => self.refused(&error),
        }
    }
}

impl Server {
    fn refused(&self, error: &Error) -> Ending {
        match error {
            Error::Path(_) | Error::Lease(lease::Error::Path(_) | lease::Error::At { .. })
                if self.calls_fail =>
            {
                Ending::new("failed")
            }
            Error::Custody(text) if self.calls_fail && text.contains("custody is unknown") => {
                Ending::new("refused: the record cannot be read")
            }
            Error::Lease(error) if error.is_contention() => Ending::new("refused: the lease is held"),
            Error::Custody(text) if text.contains("held by a live or unverifiable server") => {
                Ending::new("refused: the id is held")
            }
            error => Ending::fault("failed", error.to_string()),
        }
    }
}

fn record_on(disk: &Disk) -> Option<Option<ServerRecord>> {
    let bytes = disk.content(Caller(0), &Place::absolute(OsStr::new(RECORD)))?;
    Some(ServerRecord::read(&bytes, Schema::Custody))
}

/// Never two; what is on disk is always a record; no live server's record is taken away; and when everybody has gone,
/// a newcomer registers and leaves nothing.
struct OneServer {
    contenders: u8,
    seen: Seen,
}

impl OneServer {
    fn of(contenders: u8) -> Self {
        OneServer { contenders, seen: Seen::default() }
    }

    /// Whom a step takes the id from, while it lives.
    fn robbed(&self, moment: &Moment<'_>) -> bool {
        let takes = |(call, answer): &(Call, Answer)| match call {
            Call::Unlink(place) | Call::Rename(_, place) => {
                *answer == Answer::Done && *place.path == *"x.json"
            }
            _ => false,
        };
        let Some(Some(record)) = record_on(&moment.before.disk) else { return false };
        let owner = (0..self.contenders).find(|n| record.leader().pid() == Some(viewer(*n).pid));
        let lives = owner
            .is_some_and(|owner| owner != moment.event.who() && !moment.before.is_killed(usize::from(owner)));
        lives && moment.calls.iter().any(takes)
    }
}

impl Check for OneServer {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        let after = moment.after;
        if moment.is_new {
            if after.holders() > 1 {
                found.push("two live servers have the id".to_owned());
            }
            if record_on(&after.disk).is_some_and(|record| record.is_none()) {
                found.push("the record on disk is none".to_owned());
            }
            if after.is_quiet() {
                let machine = when_all_are_gone(after, self.contenders);
                if self.seen.is_new(&machine) {
                    found.extend(newcomer(&machine).map(|why| format!("a newcomer {why}")));
                }
            }
        }
        if self.robbed(moment) {
            found.push("a live server's record is taken away".to_owned());
        }
        let ending = after.ending(usize::from(moment.event.who()));
        if let (Event::Step { .. }, Some(fault)) =
            (moment.event, ending.and_then(|ending| ending.fault.clone()))
        {
            found.push(fault);
        }
    }
}

/// Why a newcomer does not register and remove `x`, or what of a dead one's it leaves.
fn newcomer(machine: &Machine) -> Option<String> {
    let host = machine.start(99).host();
    let Ending { outcome, fault } = Server { calls_fail: false }.run(&Stage::new(&host, &|_| {}));
    if outcome != "registered, removed" {
        return Some(format!("ends: {outcome} {}", fault.unwrap_or_default()));
    }
    let names = |path: &str| Dir::open(&host.files, Path::new(path)).unwrap().list().unwrap();
    let is_known = |name: &str| name == ".custody" || name == ".registry.lock" || name.contains(".tmp.");
    let strange = names("/p/.harnery/servers").into_iter().find(|name| !is_known(&name.to_string_lossy()));
    strange.map(|name| format!("leaves {}", name.to_string_lossy()))
}

/// What the first contender finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    NoRegistry,
    DeadServer,
    /// Besides, a server was killed while it registered, holding the lease: before the first call about this.
    KilledBefore(&'static str),
}

/// Killed before it wrote its record, and before it let the lease go.
const STARTS: [Start; 4] =
    [Start::NoRegistry, Start::DeadServer, Start::KilledBefore("x.json.tmp"), Start::KilledBefore("Unlink")];

fn world(start: Start) -> World {
    let machine = Machine::default();
    {
        let mut world = machine.world();
        world.now_ms = START_MS - 3_600_000;
        world.disk.now_ms = world.now_ms;
    }
    let maker = machine.start(90);
    maker.host().files.make_dir(Path::new("/p"), 0o700).unwrap();
    if start != Start::NoRegistry {
        put(&maker.host()).unwrap();
    }
    maker.kill();
    if let Start::KilledBefore(what) = start {
        die_registering(&machine, what);
    }
    let mut world = World::clone(&machine.world());
    world.now_ms = START_MS;
    world.disk.now_ms = START_MS;
    world
}

/// Nothing that is called from there on has an effect.
fn die_registering(machine: &Machine, what: &str) {
    let rehearsal = Machine::with(World::clone(&machine.world())).start(91);
    put(&rehearsal.host()).unwrap();
    let at = rehearsal.calls().iter().position(|(call, _)| format!("{call:?}").contains(what));
    let killed = machine.start(91);
    killed.fail_from(at.expect("there is such a call"), Errno::EIO);
    put(&killed.host()).unwrap_err();
    killed.kill();
}

fn program_of_all(_: u8) -> Rc<dyn Program> {
    Rc::new(Server { calls_fail: false })
}

fn explore(group: Group, start: Start) {
    let mut check = OneServer::of(group.contenders);
    let from = format!("{start:?}");
    let calls_fail = group.failures > 0;
    let program = |_| -> Rc<dyn Program> { Rc::new(Server { calls_fail }) };
    let report = group.explore("custody registration", &from, &program, world(start), &mut check);
    assert!(report.findings.is_empty(), "{report}");
}

#[test]
fn two_servers_never_both_have_an_id_and_nobody_loses_it_for_good() {
    for start in STARTS {
        explore(Group { states: 10_000 * effort(), ..TWO }, start);
    }
    // Without a bound it is 483 thousand states.
    let preemptions = if effort() > 1 { None } else { Some(1) };
    explore(Group { preemptions, ..TWO }, Start::DeadServer);
}

#[test]
fn two_servers_neither_when_a_call_of_one_fails() {
    let group = Group {
        kills: u8::from(effort() > 1),
        preemptions: Some(0),
        failures: 1,
        grain: Grain::Coarse,
        ..TWO
    };
    for start in STARTS {
        explore(group, start);
        if effort() > 1 {
            explore(Group { preemptions: Some(1), states: 50_000 * effort(), ..group }, start);
        }
    }
}

#[test]
fn three_servers_neither() {
    let three = Group { contenders: 3, grain: Grain::Coarse, ..TWO };
    for start in STARTS {
        explore(Group { kills: 1, preemptions: Some(0), ..three }, start);
        if effort() > 1 {
            let (preemptions, states) = (Some(1), 50_000 * effort());
            explore(Group { kills: 3, preemptions, states, ..three }, start);
        }
    }
}

#[test]
fn three_and_four_servers_neither_in_runs_by_chance() {
    for (contenders, start) in [3, 4].into_iter().flat_map(|count| STARTS.map(|start| (count, start))) {
        let group = Group { contenders, kills: contenders, ..TWO };
        let from = format!("{start:?}");
        let mut check = OneServer::of(contenders);
        let seeds = 0..50 * effort() as u64;
        let report =
            group.by_chance("custody registration", &from, &program_of_all, world(start), &mut check, seeds);
        assert!(report.findings.is_empty(), "{report}");
    }
}

#[test]
fn whenever_the_power_is_cut_the_record_is_whole_or_not_there_and_a_newcomer_registers() {
    for start in [Start::NoRegistry, Start::DeadServer] {
        let mut world = world(start);
        world.disk.track_durability();
        let mut cuts = PowerCuts::new(64 * effort(), |_, machine| newcomer(machine));
        let group = Group { preemptions: Some(u8::from(effort() > 1)), ..TWO };
        let from = format!("{start:?}");
        let report =
            group.explore("custody registration, power cut", &from, &program_of_all, world, &mut cuts);
        row("custody registration, power cut", cuts.told(), report.violations());
        assert!(report.findings.is_empty(), "{report}");
    }
}
