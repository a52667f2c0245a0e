//! Sequences of operations on the simulated machine: processes that take leases, append records and register servers, are
//! killed before any of their file calls, have a call fail, and lose power. What must always be true is checked after each.
//!
//! The bytes are the sequence. Whole calls follow one another here, cut off anywhere; interleaving calls step by step is the
//! explorer's work (`sim::explore`).

mod actor;
mod history;
mod lease;
mod registry;
#[path = "../../../tests/support/tap.rs"]
#[allow(dead_code, reason = "a tool of other tests, too")]
mod tap;

use std::time::Duration;

use harnery_native::sim::Machine;

use actor::{Actor, Script};
use history::History;
use registry::Registrations;

/// As many processes contend at a time.
const ACTORS: u8 = 3;
/// Each operation starts at most as many processes, which are numbered by a byte.
const OPERATIONS: usize = 60;

pub fn hold(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let mut scene = Scene::new();
    for _ in 0..OPERATIONS {
        let Some(operation) = script.next() else { break };
        scene.perform(operation, &mut script);
        scene.check();
    }
    scene.ends_well();
}

struct Scene {
    machine: Machine,
    actors: Vec<Actor>,
    started: u8,
    cuts: u32,
    history: History,
    registrations: Registrations,
}

impl Scene {
    fn new() -> Scene {
        let machine = Machine::default();
        let first = Actor::start(&machine, 0);
        history::prepare(&first);
        registry::prepare(&first);
        drop(first);
        machine.world().disk.track_durability();
        let actors = (1..=ACTORS).map(|number| Actor::start(&machine, number)).collect();
        Scene {
            machine,
            actors,
            started: ACTORS,
            cuts: 0,
            history: History::default(),
            registrations: Registrations::default(),
        }
    }

    fn perform(&mut self, operation: u8, script: &mut Script<'_>) {
        let who = usize::from(script.below(ACTORS));
        let actor = &mut self.actors[who];
        match operation % 16 {
            0..=3 => lease::acquire(&mut self.actors, who, script),
            4 | 5 => lease::release(actor, script),
            6 => self.restart(who),
            7 => {
                let milliseconds = [1, 300, 1000, 5000, 40_000, 100_000][usize::from(script.below(6))];
                self.machine.pass(Duration::from_millis(milliseconds));
            }
            8 => lease::inspect(&self.actors, who),
            9 | 10 => self.history.append(actor, script),
            11 => self.history.read(actor),
            12 => self.registrations.register(actor, script),
            13 => self.registrations.touch(actor, script),
            14 => self.registrations.unregister(actor, script),
            _ => self.cut_power(script),
        }
        for who in 0..self.actors.len() {
            if self.actors[who].is_dead() {
                self.restart(who);
            }
        }
    }

    fn check(&mut self) {
        lease::check(&self.actors);
        self.registrations.check(&self.actors[0]);
    }

    /// A process ends, and another one begins.
    fn restart(&mut self, who: usize) {
        self.started += 1;
        self.actors[who].end();
        self.actors[who] = Actor::start(&self.machine, self.started);
    }

    /// The machine loses power and starts again with one of the disks that it may find.
    fn cut_power(&mut self, script: &mut Script<'_>) {
        {
            let mut world = self.machine.world();
            let (mut disks, _) = world.disk.after_power_cut(64);
            let chosen = usize::from(script.below(u8::try_from(disks.len()).unwrap_or(u8::MAX)));
            world.disk = disks.swap_remove(chosen);
            self.cuts += 1;
            let now = world.now_ms;
            world.processes.restart(&format!("b007{:04x}", 1 + self.cuts), now);
        }
        for who in 0..self.actors.len() {
            self.restart(who);
        }
        self.registrations.lose_power(&self.actors[0]);
    }

    /// Long after everybody has ended, a fresh process gets on with everything.
    fn ends_well(mut self) {
        for who in 0..self.actors.len() {
            self.restart(who);
        }
        self.machine.pass(Duration::from_secs(3600));
        let fresh = &mut self.actors[0];
        lease::goes_on(fresh);
        self.history.goes_on(fresh);
        self.registrations.check(fresh);
    }
}
