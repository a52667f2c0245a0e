//! Power cuts: whatever survives, a contender of the next boot gets the lease.

use std::collections::HashSet;

use super::check::{let_loose, stuck};
use super::TypeScript;
use crate::sim::disk::fingerprint_of;
use crate::sim::explore::{Check, Moment, State};
use crate::sim::{Machine, World, START_MS};

/// Cuts the power in every state, and tries every disk that can be left.
#[derive(Debug)]
pub struct PowerCheck {
    /// How many disks one state may leave before it is enough.
    limit: usize,
    /// Whether the next boot may also begin with a clock that is a day behind. Only owners with a witness are known to
    /// be of an earlier boot then.
    wrong_clock: bool,
    /// Whether a TypeScript contender must get the lease, too.
    fresh_typescript: bool,
    cut: HashSet<u128>,
    tried: HashSet<u128>,
    /// How many disks were left, over all states that differ in what is safe.
    pub images: usize,
    /// Whether no state could have left more.
    pub complete: bool,
}

impl PowerCheck {
    pub fn new(limit: usize) -> Self {
        PowerCheck {
            limit,
            wrong_clock: false,
            fresh_typescript: false,
            cut: HashSet::new(),
            tried: HashSet::new(),
            images: 0,
            complete: true,
        }
    }

    /// Let the next boot begin with a wrong clock, too.
    pub fn and_a_wrong_clock(mut self) -> Self {
        self.wrong_clock = true;
        self
    }

    /// A TypeScript contender of the next boot must get the lease, too.
    pub fn and_for_typescript(mut self) -> Self {
        self.fresh_typescript = true;
        self
    }

    /// How many different disks were tried.
    pub fn distinct(&self) -> usize {
        self.tried.len()
    }

    fn cut(&mut self, state: &State, found: &mut Vec<String>) {
        if !self.cut.insert(state.disk.durable_fingerprint()) {
            return;
        }
        let (disks, all) = state.disk.after_power_cut(self.limit);
        self.complete &= all;
        self.images += disks.len();
        for disk in disks {
            if !self.tried.insert(fingerprint_of(&disk)) {
                continue;
            }
            let mut processes = (*state.processes).clone();
            processes.restart("b0070002", START_MS + 60_000);
            let world = World { disk, processes, ..state.long_after() };
            if self.wrong_clock {
                let behind = World { now_ms: START_MS - 86_400_000, ..world.clone() };
                found.extend(
                    let_loose(behind).map(|why| format!("after a power cut, the clock behind, {why}")),
                );
            }
            if self.fresh_typescript {
                let typescript = stuck(&TypeScript, &Machine::with(world.clone()), "typescript");
                found.extend(typescript.map(|why| format!("after a power cut {why}")));
            }
            found.extend(let_loose(world).map(|why| format!("after a power cut {why}")));
        }
    }
}

impl Check for PowerCheck {
    fn look(&mut self, moment: &Moment<'_>, found: &mut Vec<String>) {
        if moment.is_new {
            self.cut(moment.after, found);
        }
    }
}
