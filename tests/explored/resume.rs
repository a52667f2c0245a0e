//! Resuming a run: one resume at a time, a dead one's lock is removed only on record, and nobody is kept out for good.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use harnery_native::files::{Dir, Sharing};
use harnery_native::host::Host;
use harnery_native::javascript::json::{parse, Value};
use harnery_native::lease;
use harnery_native::sim::explore::{Check, Ending, Event, Grain, Moment, Program, Stage, State};
use harnery_native::sim::{Answer, Call, Caller, Disk, Machine, Place, World, START_MS};
use harnery_native::workflow::recovery::{preview, unlock, Authorization};
use harnery_native::workflow::resume::acquire;
use harnery_native::workflow::{audit, Error, RunId};

use crate::proof::{effort, row};
use crate::stage::{viewer, when_all_are_gone, Group, PowerCuts, Seen, TWO};

const RUN: &str = "/p/.harnery/workflows/r";

/// Resumes the run once; removes a dead one's lock first.
#[derive(Debug)]
struct Resumer {
    /// Whether calls are made to fail: then that is an answer, too.
    calls_fail: bool,
}

fn root() -> &'static Path {
    Path::new("/p")
}

fn run() -> RunId {
    RunId::new("r").unwrap()
}

impl Program for Resumer {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        match resume(stage) {
            Ok(()) => Ending::new("resumed"),
            Err(Error::Held(_)) => match unlock_it(stage.host).and_then(|()| resume(stage)) {
                Ok(()) => Ending::new("unlocked, resumed"),
                Err(error) => self.refused(&error),
            },
            Err(error) => self.refused(&error),
        }
    }
}

fn resume(stage: &Stage<'_>) -> Result<(), Error> {
    let lock = acquire(stage.host, root(), &run(), Sharing::Private)?;
    stage.holds();
    stage.lets_go();
    lock.release();
    Ok(())
}

fn unlock_it(host: &Host) -> Result<(), Error> {
    let found = preview(host, root(), &run())?;
    let digest = found.lock_sha256.as_deref();
    let authorization = Authorization { lock_sha256: digest, actor: "op", reason: "it died" };
    unlock(host, root(), &run(), &authorization, Sharing::Private).map(drop)
}

impl Resumer {
    fn refused(&self, error: &Error) -> Ending {
        match error {
            Error::Path(_) | Error::Lease(lease::Error::Path(_) | lease::Error::At { .. })
                if self.calls_fail =>
            {
                Ending::new("failed")
            }
            Error::Held(_) => Ending::new("refused: locked"),
            Error::Refused(text) => Ending::new(text.rsplit(": ").next().unwrap_or_default()),
            Error::Lease(error) if error.is_contention() => Ending::new("refused: the lease is held"),
            error => Ending::fault("failed", error.to_string()),
        }
    }
}

fn content(disk: &Disk, path: &str) -> Option<Rc<[u8]>> {
    disk.content(Caller(0), &Place::absolute(OsStr::new(&format!("{RUN}/{path}"))))
}

/// The process that a lock names; `Some(None)`: none, because it is no whole lock.
fn locked_by(disk: &Disk) -> Option<Option<i64>> {
    let bytes = content(disk, "resume.lock")?;
    let value = parse(&bytes).ok();
    let pid = value.as_ref().and_then(Value::as_object).and_then(|owner| owner.get("pid")?.as_safe_integer());
    Some(pid)
}

/// Never two; every name on disk has its whole content; no live one's lock is taken away; and when everybody has gone,
/// a newcomer resumes, with every removal of a lock on record.
struct OneResume {
    contenders: u8,
    was_locked: bool,
    seen: Seen,
}

impl OneResume {
    fn of(contenders: u8, start: Start) -> Self {
        OneResume { contenders, was_locked: start == Start::DeadLock, seen: Seen::default() }
    }

    fn robbed(&self, moment: &Moment<'_>) -> bool {
        let takes = |(call, answer): &(Call, Answer)| {
            matches!(call, Call::Unlink(place) if *place.path == *"resume.lock") && *answer == Answer::Done
        };
        let Some(Some(pid)) = locked_by(&moment.before.disk) else { return false };
        let owner = (0..self.contenders).find(|n| i64::from(viewer(*n).pid.get()) == pid);
        let lives = owner
            .is_some_and(|owner| owner != moment.event.who() && !moment.before.is_killed(usize::from(owner)));
        lives && moment.calls.iter().any(takes)
    }
}

impl Check for OneResume {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        let after = moment.after;
        if moment.is_new {
            if after.holders() > 1 {
                found.push("two live resumes".to_owned());
            }
            if locked_by(&after.disk).is_some_and(|pid| pid.is_none()) {
                found.push("the lock on disk is none".to_owned());
            }
            if after.is_quiet() {
                let machine = when_all_are_gone(after, self.contenders);
                if self.seen.is_new(&machine) {
                    found.extend(newcomer(&machine, self.was_locked).map(|why| format!("a newcomer {why}")));
                }
            }
        }
        if self.robbed(moment) {
            found.push("a live resume's lock is taken away".to_owned());
        }
        let ending = after.ending(usize::from(moment.event.who()));
        if let (Event::Step { .. }, Some(fault)) =
            (moment.event, ending.and_then(|ending| ending.fault.clone()))
        {
            found.push(fault);
        }
    }
}

/// Why a newcomer does not resume, or what is not on record or left.
fn newcomer(machine: &Machine, was_locked: bool) -> Option<String> {
    let host = machine.start(99).host();
    let is_unlocked = || !matches!(locked_by(&machine.world().disk), Some(Some(190)));
    let recorded = || audit::list(&host, root(), &run()).map(|recorded| recorded.len());
    match recorded() {
        Err(error) => return Some(format!("cannot read the audit: {error}")),
        Ok(0) if was_locked && is_unlocked() => {
            return Some("finds no record of who removed the lock".to_owned())
        }
        Ok(_) => {}
    }
    let Ending { outcome, fault } = Resumer { calls_fail: false }.run(&Stage::new(&host, &|_| {}));
    if !outcome.ends_with("resumed") {
        return Some(format!("ends: {outcome} {}", fault.unwrap_or_default()));
    }
    let names = Dir::open(&host.files, Path::new(RUN)).unwrap().list().unwrap();
    let strange = names.iter().find(|name| *name != "resume-mutation.lease" && *name != "recovery");
    strange.map(|name| format!("leaves {}", name.to_string_lossy()))
}

/// What the first contender finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    NoRun,
    Run,
    /// The lock of a process that has gone.
    DeadLock,
}

const STARTS: [Start; 3] = [Start::NoRun, Start::Run, Start::DeadLock];

fn world(start: Start) -> World {
    let machine = Machine::default();
    {
        let mut world = machine.world();
        world.now_ms = START_MS - 3_600_000;
        world.disk.now_ms = world.now_ms;
    }
    let maker = machine.start(90);
    let host = maker.host();
    host.files.make_dir(root(), 0o700).unwrap();
    if start != Start::NoRun {
        let lock = acquire(&host, root(), &run(), Sharing::Private).unwrap();
        if start == Start::Run {
            lock.release();
        }
    }
    maker.kill();
    let mut world = World::clone(&machine.world());
    world.now_ms = START_MS;
    world.disk.now_ms = START_MS;
    world
}

fn program_of_all(_: u8) -> Rc<dyn Program> {
    Rc::new(Resumer { calls_fail: false })
}

fn explore(group: Group, start: Start) {
    let mut check = OneResume::of(group.contenders, start);
    let from = format!("{start:?}");
    let calls_fail = group.failures > 0;
    let program = |_| -> Rc<dyn Program> { Rc::new(Resumer { calls_fail }) };
    let report = group.explore("resume and recovery", &from, &program, world(start), &mut check);
    assert!(report.findings.is_empty(), "{report}");
}

#[test]
fn two_resumes_of_a_run_are_never_at_once_and_nobody_is_kept_out_for_good() {
    for start in STARTS {
        explore(Group { states: 10_000 * effort(), ..TWO }, start);
    }
    for start in [Start::Run, Start::DeadLock] {
        explore(Group { preemptions: Some(1), ..TWO }, start);
    }
}

#[test]
fn two_resumes_neither_when_a_call_of_one_fails() {
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
fn three_resumes_neither() {
    let three = Group { contenders: 3, grain: Grain::Coarse, ..TWO };
    for start in [Start::Run, Start::DeadLock] {
        explore(Group { kills: 1, preemptions: Some(0), ..three }, start);
        if effort() > 1 {
            let (preemptions, states) = (Some(1), 50_000 * effort());
            explore(Group { kills: 3, preemptions, states, ..three }, start);
        }
    }
}

#[test]
fn three_and_four_resumes_neither_in_runs_by_chance() {
    for (contenders, start) in [3, 4].into_iter().flat_map(|count| STARTS.map(|start| (count, start))) {
        let group = Group { contenders, kills: contenders, ..TWO };
        let from = format!("{start:?}");
        let mut check = OneResume::of(contenders, start);
        let seeds = 0..50 * effort() as u64;
        let report =
            group.by_chance("resume and recovery", &from, &program_of_all, world(start), &mut check, seeds);
        assert!(report.findings.is_empty(), "{report}");
    }
}

/// What a power cut must leave: a newcomer of the next boot resumes; the lock of whoever resumes at that moment is
/// there, where its run's directory is; and so is the record of a removed one.
fn after_the_cut(state: &State, machine: &Machine, was_locked: bool) -> Option<String> {
    let has_run = machine.world().disk.names(&Place::absolute(OsStr::new(RUN))).is_some();
    if state.holders() > 0 && has_run && locked_by(&machine.world().disk).is_none() {
        return Some("the lock of a resume is lost".to_owned());
    }
    newcomer(machine, was_locked)
}

#[test]
fn whenever_the_power_is_cut_a_resume_s_lock_and_the_record_of_a_removed_one_are_there() {
    for start in [Start::NoRun, Start::DeadLock] {
        let mut world = world(start);
        world.disk.track_durability();
        let look =
            move |state: &State, machine: &Machine| after_the_cut(state, machine, start == Start::DeadLock);
        let mut cuts = PowerCuts::new(64 * effort(), look);
        let group = Group { preemptions: Some(u8::from(effort() > 1)), ..TWO };
        let report = group.explore(
            "resume and recovery, power cut",
            &format!("{start:?}"),
            &program_of_all,
            world,
            &mut cuts,
        );
        row("resume and recovery, power cut", cuts.told(), report.violations());
        assert!(report.findings.is_empty(), "{report}");
    }
}
