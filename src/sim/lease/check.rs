//! What must always be true of a lease.

use std::collections::HashSet;
use std::ffi::OsStr;

use super::{Native, TypeScript, PATH};
use crate::javascript::json::{parse, Value};
use crate::sim::disk::fingerprint_of;
use crate::sim::explore::{Check, Ending, Event, Moment, Program, Stage, State};
use crate::sim::machine::id_of;
use crate::sim::{Answer, Call, Caller, Life, Machine, Place, World};

/// Holds a lease to its invariants, step by step.
#[derive(Debug, Default)]
pub struct LeaseCheck {
    /// Which contenders follow the TypeScript's steps: those may leave a claim behind, while they live.
    typescript: Vec<bool>,
    fresh_typescript: bool,
    /// Calls are made to fail, those that clear away too: what is left then is swept when its process has gone.
    calls_fail: bool,
    /// The machines that a fresh contender was let loose on.
    fresh: HashSet<u128>,
}

impl LeaseCheck {
    pub fn new(typescript: &[bool], fresh_typescript: bool) -> Self {
        LeaseCheck {
            typescript: typescript.to_vec(),
            fresh_typescript,
            calls_fail: false,
            fresh: HashSet::new(),
        }
    }

    /// Calls are made to fail.
    pub fn when_calls_fail(mut self, calls_fail: bool) -> Self {
        self.calls_fail = calls_fail;
        self
    }

    fn name(&self, who: u8) -> &'static str {
        if self.typescript[usize::from(who)] {
            "typescript"
        } else {
            "native"
        }
    }

    /// Everybody is done or dead, and all times are over: a fresh contender gets the lease, and cleans up.
    fn try_fresh(&mut self, state: &State, found: &mut Vec<String>) {
        let mut world = state.long_after();
        // A live process whose call has failed half-way is in the way as long as it lives; a native one leaves nothing.
        for (who, typescript) in self.typescript.iter().enumerate() {
            if *typescript || self.calls_fail {
                world.processes.set(&super::viewer(who as u8), Life::Gone);
            }
        }
        if self.fresh.insert(fingerprint_of(&(&world.disk, &world.processes))) {
            if self.fresh_typescript {
                found.extend(stuck(&TypeScript, &Machine::with(world.clone()), "typescript"));
            }
            found.extend(let_loose(world));
        }
    }
}

/// Let a fresh native contender acquire and release the lease; why it could not, if so.
pub(super) fn let_loose(world: World) -> Option<String> {
    let machine = Machine::with(world);
    if let Some(why) = stuck(&Native::default(), &machine, "native") {
        return Some(why);
    }
    let world = machine.world();
    let left: Vec<_> = world.disk.names(&Place::absolute(OsStr::new(PATH))).into_iter().flatten().collect();
    // What was being written when its writer ended may be anybody's: it stays.
    let is_torn = |name: &OsStr| {
        let name = name.to_string_lossy();
        [name.to_string(), format!("{name}/claim.json")].iter().any(|path| {
            world.disk.content(Caller(0), &inside(path)).is_some_and(|bytes| parse(&bytes).is_err())
        })
    };
    let kept: Vec<_> = left.iter().filter(|name| !is_torn(name)).collect();
    (!kept.is_empty()).then(|| format!("not swept: {}", kind_of(&kept[0].to_string_lossy())))
}

/// Why a fresh contender does not get the lease, if it does not.
pub(super) fn stuck(program: &dyn Program, machine: &Machine, name: &str) -> Option<String> {
    let seat = machine.start(99);
    let Ending { outcome, fault } = program.run(&Stage::new(&seat.host(), &|_| {}));
    let stuck = !outcome.ends_with("released");
    stuck.then(|| format!("stuck: a fresh {name} ends: {outcome} {}", fault.unwrap_or_default()))
}

impl Check for LeaseCheck {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        let after = moment.after;
        if moment.is_new {
            if after.holders() > 1 {
                found.push("two holders".to_owned());
            }
            if after.is_quiet() {
                self.try_fresh(after, found);
            }
        }
        let who = moment.event.who();
        for (call, answer) in moment.calls {
            if let Some(harm) = self.harm(moment.before, who, call, answer) {
                found.push(format!("{} {harm}", self.name(who)));
            }
        }
        let (Event::Step { .. }, Some(ending)) = (moment.event, after.ending(usize::from(who))) else {
            return;
        };
        if let Some(fault) = &ending.fault {
            found.push(format!("{} {fault}", self.name(who)));
        }
        if self.only_a_native_can_cause(who, &ending.outcome) {
            found.push(format!("typescript fails: {}", ending.outcome));
        }
        if !self.typescript[usize::from(who)] && !self.calls_fail {
            let claimant = id_at(after, &inside("recovery/claim.json"), "claimant");
            if claimant == Some(id_of(Caller(who), 1)) {
                found.push("native leaves its claim behind".to_owned());
            }
            if after
                .disk
                .content(Caller(0), &inside(&format!("owner-{}.json", id_of(Caller(who), 1))))
                .is_some()
            {
                found.push("native leaves its owner file behind".to_owned());
            }
        }
    }
}

impl LeaseCheck {
    /// What a call removes that belongs to somebody who lives. (A claim that is renamed away may be put back, or its
    /// claimant gives way: what comes of it is checked.)
    fn harm(&self, before: &State, who: u8, call: &Call, answer: &Answer) -> Option<String> {
        let place = match (call, answer) {
            (Call::Unlink(place), Answer::Done) => place,
            (Call::RemoveDir(place), Answer::Done) => return self.harm_to_directory(before, who, place),
            _ => return None,
        };
        let path = place.path.to_string_lossy();
        let (key, what) = match path.rsplit('/').next()? {
            "current" => (None, "current"),
            "claim.json" => (Some("claimant"), "claim"),
            name if name.starts_with("owner-") => (None, "owner file"),
            _ => return None,
        };
        let id = id_of_bytes(before.disk.content(Caller(who), place)?, key)?;
        let other = (0..self.typescript.len() as u8).find(|other| id_of(Caller(*other), 1) == id)?;
        // A native contender whose claim was taken away gives way by itself.
        let gives_way = what == "claim" && !self.typescript[usize::from(other)];
        let lives = other != who && !gives_way && before.is_running(usize::from(other));
        lives.then(|| format!("removes a live {}'s {what}", self.name(other)))
    }

    /// Whose name a directory has is still busy with it, as long as it runs.
    fn harm_to_directory(&self, before: &State, who: u8, place: &Place) -> Option<String> {
        let path = place.path.to_string_lossy();
        let is_whose = |other: u8| (1..=2).any(|drawn| path.ends_with(&id_of(Caller(other), drawn)));
        let other = (0..self.typescript.len() as u8).find(|other| is_whose(*other))?;
        let lives = other != who && before.is_running(usize::from(other));
        lives.then(|| format!("removes a live {}'s directory", self.name(other)))
    }

    /// Whether the only TypeScript contender failed with an error that none of its own steps can have led to.
    ///
    /// What any retire, release or clearing leads to is not meant: that the claim, its pin or `current` has gone before
    /// it is read, or the claim before it is renamed. Nor is what becomes of a claim that a native took for the dead
    /// one that it had judged (the one case that the protocol leaves open): its directory and its pin have gone.
    fn only_a_native_can_cause(&self, who: u8, outcome: &str) -> bool {
        // What it clears away, and the owner files that it removes, are its own to remove.
        const NEVER: [&str; 3] = ["ENOENT at unlink", "ENOENT at rmdir", "ENOENT at stat of an owner file"];
        let alone = self.typescript.iter().filter(|typescript| **typescript).count() == 1;
        if !alone || !self.typescript[usize::from(who)] || self.calls_fail {
            return false;
        }
        NEVER.iter().any(|failed| outcome.starts_with(failed))
            // With more natives a whole holder's life may fall between one's looks and its link.
            || self.typescript.len() == 2 && outcome == "EEXIST at link after its claim"
    }
}

fn inside(path: &str) -> Place {
    Place::absolute(OsStr::new(&format!("{PATH}/{path}")))
}

fn id_at(state: &State, place: &Place, key: &str) -> Option<String> {
    id_of_bytes(state.disk.content(Caller(0), place)?, Some(key))
}

/// The id of an owner, or of an owner in a claim.
fn id_of_bytes(bytes: std::rc::Rc<[u8]>, key: Option<&str>) -> Option<String> {
    let value = parse(&bytes).ok()?;
    let owner = match key {
        Some(key) => value.as_object()?.get(key)?,
        None => &value,
    };
    owner.as_object()?.get("owner_id").and_then(Value::as_str).map(str::to_owned)
}

/// A name without the id in it.
fn kind_of(name: &str) -> String {
    name.split("-0000-")
        .next()
        .and_then(|start| start.rsplit_once('-'))
        .map_or(name, |(kind, _)| kind)
        .to_owned()
}
