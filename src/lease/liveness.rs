//! Is an owner live? Decided by what its text says first, then by what its process says.
//!
//! Two questions, and neither answers the other. [`Judge::verdict`] asks whether a *lease* may be taken over: expiry
//! makes a same-host owner worth asking about, and only a process that is provably gone makes it dead.
//! [`Judge::may_act`] asks whether a *call* may still be under way: its process may live, expired or not.

use super::owner::Owner;
use super::{Hooks, Probed, Reason};
use crate::host::Host;
use crate::process::{witness, Judgement, Pid, Presence};

/// How far clocks that are not one clock may be apart, in milliseconds.
const CLOCK_GRAIN_MS: i64 = 2000;

/// Whether an owner may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Dead,
    Live(Reason),
}

/// The one who asks.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) host: &'a Host,
    pub(super) hooks: &'a dyn Hooks,
    /// The name of the machine that it runs on, whatever host it gives for its own.
    pub(super) this_host: &'a str,
    /// How long it would hold the lease itself; `None`: it does not want it.
    pub(super) stale_after_ms: Option<i64>,
}

impl Judge<'_> {
    /// Whether the owner may be replaced at `now` (milliseconds since the epoch).
    pub(super) fn verdict(&self, owner: &Owner, now: i64) -> Liveness {
        if owner.host != self.this_host {
            return Liveness::Live(Reason::OtherHost);
        }
        // A machine that starts with a wrong clock must not keep the lease of a boot that is over.
        if self.names_another_boot(owner) {
            return Liveness::Dead;
        }
        match still_counts(owner, now, self.stale_after_ms) {
            Some(reason) => Liveness::Live(reason),
            None => self.ask(owner),
        }
    }

    /// Whether the owner's time is over and nothing can be told of its process from here: it is in another pid namespace or
    /// on another host. Only a person can know that it is gone for good.
    pub(super) fn is_elsewhere(&self, owner: &Owner, now: i64) -> bool {
        match self.verdict(owner, now) {
            Liveness::Live(Reason::OtherNamespace) => true,
            Liveness::Live(Reason::OtherHost) => still_counts(owner, now, self.stale_after_ms).is_none(),
            _ => false,
        }
    }

    /// Whether a call of the process that wrote an owner file may still be under way, given the file's time: the
    /// process is of this host and is not known to be gone.
    pub(super) fn may_act(&self, owner: &Owner, written_ms: i64) -> bool {
        if owner.host != self.this_host || self.names_another_boot(owner) {
            return false;
        }
        let alive = self.ask(owner) != Liveness::Dead;
        if !alive || self.hooks.probe_pid().is_some() || owner.witness.is_some() {
            return alive;
        }
        // Without a witness a leftover whose number is in use again would stand in everyone's way for good. Times
        // tell: the writer had started when it wrote, and it has not outlived its boot.
        !self.was_written_before_its_process(owner, written_ms)
    }

    /// What the process says of an owner whose time is over.
    fn ask(&self, owner: &Owner) -> Liveness {
        if let Some(probe) = self.hooks.probe_pid() {
            return match probe.probe(owner.pid) {
                Probed::Threw { code: Some(code) } if code == "ESRCH" => Liveness::Dead,
                Probed::Threw { code: Some(code) } if code == "EPERM" => Liveness::Live(Reason::Alive),
                Probed::Threw { .. } => Liveness::Live(Reason::UnreadableLiveness),
                Probed::Returned => Liveness::Live(Reason::Alive),
            };
        }
        let processes = &*self.host.processes;
        let Some(pid) = Pid::new(owner.pid) else { return Liveness::Live(Reason::UnreadableLiveness) };
        match &owner.witness {
            Some(recorded) => match witness::judge(processes, pid, recorded) {
                Judgement::Gone | Judgement::Different => Liveness::Dead,
                Judgement::Same => Liveness::Live(Reason::Alive),
                Judgement::Elsewhere => Liveness::Live(Reason::OtherNamespace),
                Judgement::Unknown => Liveness::Live(Reason::UnreadableLiveness),
            },
            None => match processes.presence(pid) {
                Presence::Absent => Liveness::Dead,
                Presence::Present => Liveness::Live(Reason::Alive),
                Presence::Unknown => Liveness::Live(Reason::UnreadableLiveness),
            },
        }
    }

    fn names_another_boot(&self, owner: &Owner) -> bool {
        match &owner.witness {
            Some(recorded) if self.hooks.probe_pid().is_none() => {
                witness::is_of_another_boot(&*self.host.processes, recorded)
            }
            _ => false,
        }
    }

    fn was_written_before_its_process(&self, owner: &Owner, written_ms: i64) -> bool {
        let processes = &*self.host.processes;
        let later = |at: Option<i64>| at.is_some_and(|at| at.saturating_sub(CLOCK_GRAIN_MS) > written_ms);
        later(processes.booted_at_ms())
            || later(Pid::new(owner.pid).and_then(|pid| processes.started_at_ms(pid)))
    }
}

/// Why an owner of this host counts as live by its text alone; `None`: its time is over. The first reason that fits.
fn still_counts(owner: &Owner, now: i64, stale_after_ms: Option<i64>) -> Option<Reason> {
    let (Some(created), Some(expires)) = (owner.created_ms(), owner.expires_ms()) else {
        return Some(Reason::Clock);
    };
    let asked_expiry = stale_after_ms.map(|ms| created.saturating_add(ms));
    if now < created || expires < created {
        Some(Reason::Clock)
    } else if asked_expiry.is_some_and(|asked| asked != expires) {
        Some(Reason::DifferentStaleAfter)
    } else if now < expires {
        Some(Reason::Unexpired)
    } else {
        None
    }
}

/// The reason in words, with the values that it rests on.
pub(super) fn explain(reason: Reason, owner: &Owner, judge: &Judge<'_>, now: i64) -> String {
    let instant = |ms| crate::javascript::timestamp::format(ms).unwrap_or_default();
    let Owner { pid, host, created_at, expires_at, .. } = owner;
    let detail = match reason {
        Reason::OtherHost => format!("recorded on host {host}, this host is {}", judge.this_host),
        Reason::Clock => format!("created at {created_at}, expires at {expires_at}, now {}", instant(now)),
        Reason::DifferentStaleAfter => {
            let recorded = owner.expires_ms().zip(owner.created_ms()).map_or(0, |(end, start)| end - start);
            format!("recorded {recorded} ms, asked for {} ms", judge.stale_after_ms.unwrap_or(recorded))
        }
        Reason::Unexpired => format!("pid {pid} until {expires_at}"),
        Reason::Alive => format!("pid {pid} is running"),
        Reason::OtherNamespace => format!("pid {pid} belongs to another pid namespace"),
        Reason::UnreadableLiveness => format!("nothing certain can be said of pid {pid}"),
    };
    format!("{}: {detail}", reason.as_str())
}
