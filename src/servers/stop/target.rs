//! One process that is to be stopped, held from before it was verified until the stop is over.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use super::super::{Error, RecordedProcess};
use crate::host::Host;
use crate::process::generation::verdict;
use crate::process::signal::{
    hold, kill_group_if_same, kill_if_same, send_group_if_same, send_if_same, Signalled,
};
use crate::process::{
    self, witness, Asked, Dependencies, Generation, Judgement, Pid, Presence, Sent, Signal,
};

/// A process of the record.
#[derive(Debug)]
pub(super) struct Target {
    /// As recorded, for messages.
    pub(super) number: f64,
    recorded: RecordedProcess,
    pid: Option<Pid>,
    /// `None`: nobody had the number when the stop began, or it is no number of a process.
    held: Option<Rc<dyn process::Target>>,
    /// Whether it is signalled through the group that it leads.
    by_group: bool,
    /// The caller answers for the presence.
    probed: Cell<bool>,
    /// The caller answers for the token.
    read: Cell<bool>,
}

/// What is true of a target now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It has ended, and so has the group that it led.
    Gone,
    Same,
    /// Somebody has the number who is not, or may not be, the one that was recorded.
    Other(Generation),
}

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Gone,
    Signalled,
    /// The kernel refused it.
    Forbidden,
    /// It did not get out: the caller's `kill` threw, or there was no safe way to send it.
    Unsent,
    Other(Generation),
}

impl Target {
    pub(super) fn take(host: &Host, recorded: RecordedProcess, by_group: bool) -> Result<Target, Error> {
        let pid = recorded.pid();
        let held = pid.map(|pid| hold(host.processes.as_ref(), pid)).transpose()?.flatten();
        let (number, no) = (recorded.number, Cell::new(false));
        Ok(Target { number, recorded, pid, held, by_group, probed: no.clone(), read: no })
    }

    /// Presence, and the generation of whoever is present.
    pub(super) fn look(&self, host: &Host, dependencies: &dyn Dependencies) -> Seen {
        match self.presence(host, dependencies) {
            Presence::Absent => Seen::Gone,
            Presence::Unknown => Seen::Other(Generation::Unknown),
            Presence::Present => match self.verify(host, dependencies) {
                Generation::Same => Seen::Same,
                // It ended between the two looks, and what has ended has no token.
                _ if self.ended_meanwhile() => Seen::Gone,
                other => Seen::Other(other),
            },
        }
    }

    /// [`Target::look`] of one that was the same before, with the group that it leads.
    pub(super) fn watch(&self, host: &Host, dependencies: &dyn Dependencies) -> Seen {
        let seen = match self.presence(host, dependencies) {
            // What is held cannot have become another.
            Presence::Present if self.is_pinned() && !self.read.get() => Seen::Same,
            Presence::Absent => Seen::Gone,
            _ => self.look(host, dependencies),
        };
        match seen {
            Seen::Gone if self.leaves_group() => Seen::Same,
            seen => seen,
        }
    }

    /// Send a signal: to the group first where it leads one, else to it alone, each after a fresh verification.
    pub(super) fn signal(
        &self,
        host: &Host,
        dependencies: &dyn Dependencies,
        signal: Signal,
    ) -> Result<Reached, Error> {
        match self.presence(host, dependencies) {
            Presence::Absent => return self.signal_orphans(dependencies, signal),
            Presence::Unknown => return Ok(Reached::Other(Generation::Unknown)),
            Presence::Present => {}
        }
        if self.by_group {
            let told = self.send_to_group(host, dependencies, signal)?;
            if told.verdict != Generation::Same {
                return self.judge(dependencies, told, signal);
            }
            if told.sent() {
                return Ok(Reached::Signalled);
            }
        }
        let told = self.send_alone(host, dependencies, signal)?;
        self.judge(dependencies, told, signal)
    }

    /// A descriptor that becomes readable once there is something new to see.
    pub(super) fn wake(&self) -> Option<Rc<OwnedFd>> {
        // To the caller's probe it may live on after the machine says that it has ended.
        let held = self.held.as_ref().filter(|_| !self.probed.get())?;
        if held.has_ended() {
            held.group_wake()
        } else {
            held.wake()
        }
    }

    /// Whether something may change that no descriptor tells of: what the caller's functions answer.
    pub(super) fn is_scripted(&self) -> bool {
        self.probed.get() || self.read.get()
    }

    /// Its number, while it is there.
    pub(super) fn present(&self) -> Option<Pid> {
        self.held.as_ref().filter(|held| !held.has_ended()).map(|held| held.pid())
    }

    fn presence(&self, host: &Host, dependencies: &dyn Dependencies) -> Presence {
        let Some(pid) = self.pid else { return Presence::Unknown };
        let asked = dependencies.probe_pid(pid);
        self.probed.set(asked != Asked::NotSupplied);
        match asked {
            Asked::Answered(true) => Presence::Present,
            Asked::Answered(false) => Presence::Absent,
            Asked::Threw => Presence::Unknown,
            Asked::NotSupplied => match &self.held {
                Some(held) if held.is_pinned() && held.has_ended() => Presence::Absent,
                Some(held) if held.is_pinned() => Presence::Present,
                Some(_) => host.processes.presence(pid),
                // Whoever has the number after nobody had it is a newcomer.
                None => Presence::Absent,
            },
        }
    }

    /// The token as it reads now, and the whole witness where there is one and the machine is asked.
    fn verify(&self, host: &Host, dependencies: &dyn Dependencies) -> Generation {
        let Some(pid) = self.pid else { return Generation::Unknown };
        let token = self.recorded.start_token.as_deref().filter(|token| !token.is_empty());
        if token.is_none() {
            return Generation::Unknown;
        }
        let asked = dependencies.read_token(pid);
        self.read.set(asked != Asked::NotSupplied);
        let by_token = match asked {
            Asked::Answered(now) => return verdict(token, now.as_deref()),
            Asked::Threw => return Generation::Unknown,
            Asked::NotSupplied => verdict(token, host.processes.start_token(pid).as_deref()),
        };
        match (by_token, &self.recorded.witness) {
            (Generation::Same, Some(recorded)) => {
                match witness::judge(host.processes.as_ref(), pid, recorded) {
                    Judgement::Same => Generation::Same,
                    Judgement::Different | Judgement::Gone => Generation::Different,
                    Judgement::Elsewhere | Judgement::Unknown => Generation::Unknown,
                }
            }
            _ => by_token,
        }
    }

    fn send_to_group(
        &self,
        host: &Host,
        dependencies: &dyn Dependencies,
        signal: Signal,
    ) -> Result<Signalled, Error> {
        let verify = || self.verify(host, dependencies);
        match (self.pid, &self.held) {
            (Some(pid), _) if dependencies.replaces_kill() => {
                Ok(kill_group_if_same(host.processes.as_ref(), dependencies, pid, signal, verify))
            }
            (_, Some(held)) => Ok(send_group_if_same(&**held, signal, verify)?),
            (_, None) => Ok(nobody_held(verify())),
        }
    }

    fn send_alone(
        &self,
        host: &Host,
        dependencies: &dyn Dependencies,
        signal: Signal,
    ) -> Result<Signalled, Error> {
        let verify = || self.verify(host, dependencies);
        match (self.pid, &self.held) {
            (Some(pid), _) if dependencies.replaces_kill() => {
                Ok(kill_if_same(dependencies, pid.get(), signal, verify))
            }
            (_, Some(held)) => Ok(send_if_same(&**held, signal, verify)?),
            (_, None) => Ok(nobody_held(verify())),
        }
    }

    fn judge(
        &self,
        dependencies: &dyn Dependencies,
        told: Signalled,
        signal: Signal,
    ) -> Result<Reached, Error> {
        match (told.verdict, told.outcome) {
            _ if self.ended_meanwhile() => self.signal_orphans(dependencies, signal),
            (Generation::Same, Some(Sent::Sent)) => Ok(Reached::Signalled),
            (Generation::Same, Some(Sent::Forbidden)) => Ok(Reached::Forbidden),
            (Generation::Same, _) => Ok(Reached::Unsent),
            (other, _) => Ok(Reached::Other(other)),
        }
    }

    /// It is gone; whoever it left behind in its group is reached through the hold, never by the group's number.
    fn signal_orphans(&self, dependencies: &dyn Dependencies, signal: Signal) -> Result<Reached, Error> {
        let Some(held) = self.held.as_ref().filter(|_| self.leaves_group()) else { return Ok(Reached::Gone) };
        if !held.pins_group() || dependencies.replaces_kill() {
            return Ok(Reached::Unsent);
        }
        // The generation was verified while it was held, and the hold is still the same.
        match send_group_if_same(&**held, signal, || Generation::Same)?.outcome {
            Some(Sent::Sent) => Ok(Reached::Signalled),
            Some(Sent::Forbidden) => Ok(Reached::Forbidden),
            Some(Sent::Gone) => Ok(Reached::Gone),
            Some(Sent::NoGroup) | None => Ok(Reached::Unsent),
        }
    }

    /// Whether members of its group live on. With the caller's own probe only the processes count.
    fn leaves_group(&self) -> bool {
        let held = self.held.as_ref().filter(|_| self.by_group && !self.probed.get());
        held.is_some_and(|held| !held.group_has_ended())
    }

    fn ended_meanwhile(&self) -> bool {
        !self.probed.get() && self.held.as_ref().is_none_or(|held| held.has_ended())
    }

    fn is_pinned(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.is_pinned())
    }
}

/// The machine has nobody with that number, whatever the caller's probe says.
fn nobody_held(verdict: Generation) -> Signalled {
    Signalled { verdict, outcome: (verdict == Generation::Same).then_some(Sent::Gone) }
}
