//! The contenders together: how a run begins, and everything that can happen next.

use std::rc::Rc;

use super::super::event::{Choice, Event};
use super::super::program::Next;
use super::super::unfolding::{Node, Unfolding};
use super::{caller, Actor, Cast, Contender, Happened, Rules, Setting, Standing, State};
use crate::sim::call::Call;
use crate::sim::machine::{World, START_MS};

impl Cast {
    pub(in super::super) fn new(contenders: Vec<Contender>, world: &World, rules: Rules) -> Self {
        let boot = (world.processes.boot.clone(), world.processes.booted_ms);
        let names = contenders.iter().map(|contender| contender.name).collect();
        let viewers = contenders.iter().map(|contender| contender.viewer.clone()).collect();
        let unfold = |(who, contender): (usize, Contender)| {
            Unfolding::new(contender.program, caller(who), contender.viewer, boot.clone())
        };
        let unfoldings = contenders.into_iter().enumerate().map(unfold).collect();
        Cast { setting: Rc::new(Setting { names, viewers, rules }), unfoldings }
    }

    pub(in super::super) fn local_states(&self) -> usize {
        self.unfoldings.iter().map(Unfolding::len).sum()
    }

    /// Forget what is known of what the contenders do, to have room.
    pub(in super::super) fn forget(&mut self) {
        self.unfoldings.iter_mut().for_each(Unfolding::forget);
    }

    /// The first state: every contender's process is there, none has made a call.
    pub(in super::super) fn start(&mut self, world: World) -> State {
        let mut processes = world.processes;
        for (ticks, viewer) in (1000..).zip(&self.setting.viewers) {
            processes.start(viewer, ticks, START_MS);
        }
        let actor = Actor {
            standing: Standing::Running(Unfolding::START),
            holds: false,
            wakes: 1,
            pause: None,
            began: false,
            asked: false,
            late: false,
            reused: false,
        };
        let mut state = State {
            disk: world.disk,
            processes: Rc::new(processes),
            actors: vec![actor; self.unfoldings.len()],
            kills: self.setting.rules.kills,
            failures: self.setting.rules.failures,
            preemptions: self.setting.rules.preemptions,
            last: None,
        };
        for who in 0..self.unfoldings.len() {
            state.go_on(self, who, &mut Happened { calls: Vec::new() });
        }
        state
    }

    pub(in super::super) fn pending(&self, state: &State, who: usize) -> Option<(Node, &Call)> {
        let Standing::Running(node) = state.actors[who].standing else { return None };
        match &self.unfoldings[who].position(node).next {
            Next::Call(call) => Some((node, call)),
            Next::Ends(_) => None,
        }
    }

    /// Everything that can happen next.
    ///
    /// A contender that only has to look at the clock does so before anything else happens: that commutes with
    /// whatever the others may do.
    pub(in super::super) fn events(&self, state: &State) -> Vec<Event> {
        let mut events = Vec::new();
        for who in 0..state.actors.len() {
            if let Some((_, Call::Now)) = self.pending(state, who) {
                self.steps(state, who, &mut events);
                return events;
            }
        }
        for who in 0..state.actors.len() {
            let begins = !state.actors[who].began;
            if state.may_step(who) {
                self.steps(state, who, &mut events);
            }
            let actor = &state.actors[who];
            if state.kills > 0 && matches!(actor.standing, Standing::Running(_)) && !begins {
                events.push(Event::Kill { who: who as u8 });
            }
            if self.setting.rules.reuse && actor.standing == Standing::Killed && !actor.reused {
                events.push(Event::Reuse { who: who as u8 });
            }
            if begins && self.setting.rules.alike {
                // Whoever comes after it begins later.
                break;
            }
        }
        events
    }

    fn steps(&self, state: &State, who: usize, events: &mut Vec<Event>) {
        let Some((_, call)) = self.pending(state, who) else { return };
        let actor = &state.actors[who];
        let mut step = |choice| events.push(Event::Step { who: who as u8, choice });
        step(Choice::Plain);
        match call {
            Call::Now if actor.late => {}
            Call::Now => step(Choice::Late),
            Call::Pause(_) if actor.wakes > 0 && actor.pause != Some(state.surroundings()) => {
                step(Choice::Woken)
            }
            _ => {}
        }
        if state.failures > 0 && call.can_fail() {
            self.setting.rules.errnos.iter().for_each(|errno| step(Choice::Fails(*errno)));
        }
    }
}
