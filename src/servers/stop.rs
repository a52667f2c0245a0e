//! Stopping a server: SIGTERM, and SIGKILL to what is left after the grace period.
//!
//! A stop never sleeps. It goes on when a process that it holds has ended, or when its time is over; between, the
//! caller does what it likes. Every decision is made afresh right before each signal, on processes that were held
//! before they were verified, and the result is computed from what is true afterwards, never from what a signal's
//! call returned.
//!
//! ```text
//! begin    whose is it · is everyone the one that was recorded · may this record ask for it
//! round    SIGTERM, then SIGKILL: the leader through its group, every helper by itself
//! await    until all are gone, or the round's time is over
//! end      the record goes, as soon as the registry's lock is free
//! ```

mod aftermath;
mod target;
mod warrant;

use std::time::Duration;

use self::target::{Reached, Seen, Target};
use super::names::number;
use super::store::{Found, Store};
use super::{custody, Error, RecordedProcess, Schema, ServerId, ServerRecord, Site};
use crate::clock::Pause;
use crate::host::Host;
use crate::lease::Progress;
use crate::process::{witness, Dependencies, Generation, Judgement, Signal};

/// How long a server may take to end after SIGTERM, unless told otherwise.
pub const DEFAULT_GRACE: Duration = Duration::from_millis(5000);

/// How long it may take after SIGKILL.
const AFTER_KILL: Duration = Duration::from_millis(2000);

/// How often what has no descriptor to wait on is looked at.
const POLL: Duration = Duration::from_millis(25);

/// How a stop came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Nobody was left to stop.
    NotRunning,
    Signal,
    /// Nothing was sent, or nothing more; the record stays.
    Refused,
}

/// What a stop did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopResult {
    pub id: String,
    pub stopped: bool,
    pub method: Method,
    /// Of a refusal: what the process that has the number is.
    pub generation: Option<Generation>,
    pub detail: Option<String>,
}

/// What a stop may be told.
#[derive(Debug, Clone)]
pub struct StopOptions {
    /// Where the record is; without it the process is stopped all the same, and there is no record to remove.
    pub site: Option<Site>,
    pub schema: Schema,
    /// After SIGTERM, before SIGKILL.
    pub grace: Duration,
}

/// A stop under way. Dropping it sends nothing more and leaves the record.
#[derive(Debug)]
#[must_use = "a stop does nothing until it is advanced"]
pub struct Stop {
    record: ServerRecord,
    options: StopOptions,
    policy: Policy,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Begin,
    Round {
        signal: Signal,
        targets: Vec<Target>,
    },
    Await {
        signal: Signal,
        targets: Vec<Target>,
        end: Duration,
    },
    /// The result stands; the record is to be removed.
    Remove {
        result: StopResult,
        end: Duration,
    },
    Over,
}

/// What the two contracts do differently.
#[derive(Debug)]
struct Policy {
    /// The leader is signalled through the group that it leads.
    by_group: bool,
    /// The registry must still hold this very registration before anything is sent.
    needs_receipt: bool,
    /// A signal that did not get out leaves too much unknown to go on.
    unsent_refuses: bool,
}

impl Policy {
    fn of(schema: Schema) -> Policy {
        match schema {
            Schema::Current => Policy { by_group: true, needs_receipt: false, unsent_refuses: false },
            Schema::Custody => Policy { by_group: false, needs_receipt: true, unsent_refuses: true },
        }
    }
}

/// What a stage says.
enum Turn {
    Go(Stage),
    Wait(Stage, Pause),
    Done(StopResult),
}

impl Stop {
    pub fn new(record: ServerRecord, options: StopOptions) -> Stop {
        let policy = Policy::of(options.schema);
        Stop { record, options, policy, stage: Stage::Begin }
    }

    /// Go on, until there is something to wait for.
    ///
    /// # Errors
    /// Running out of descriptors; the registry could not be read, or its record not be removed. Nothing more is sent
    /// and the record stays.
    ///
    /// # Panics
    /// When it is advanced after it was done or has failed.
    pub fn advance(
        &mut self,
        host: &Host,
        dependencies: &dyn Dependencies,
    ) -> Result<Progress<StopResult>, Error> {
        loop {
            let turn = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Begin => self.begin(host, dependencies)?,
                Stage::Round { signal, targets } => self.round(host, dependencies, signal, targets)?,
                Stage::Await { signal, targets, end } => self.look(host, dependencies, signal, targets, end),
                Stage::Remove { result, end } => self.remove(host, result, end)?,
                Stage::Over => panic!("a stop that is over was advanced"),
            };
            match turn {
                Turn::Go(stage) => self.stage = stage,
                Turn::Wait(stage, pause) => {
                    self.stage = stage;
                    return Ok(Progress::Wait(pause));
                }
                Turn::Done(result) => return Ok(Progress::Done(result)),
            }
        }
    }

    fn begin(&self, host: &Host, dependencies: &dyn Dependencies) -> Result<Turn, Error> {
        if let Some(refusal) = self.elsewhere(host) {
            return Ok(Turn::Done(refusal));
        }
        let mut targets = self.take_targets(host)?;
        let mut nobody = true;
        for target in &mut targets {
            match target.look(host, dependencies) {
                Seen::Gone => {}
                Seen::Same => nobody = false,
                Seen::Other(generation) => return Ok(Turn::Done(self.refuse(target.number, generation))),
            }
        }
        if nobody {
            return Ok(self.remove_then(host, self.result(false, Method::NotRunning)));
        }
        let StopOptions { site, schema, .. } = &self.options;
        if let Some(detail) = warrant::missing(host, &self.record, *schema, site.as_ref(), &targets)? {
            return Ok(Turn::Done(self.refused(Generation::Same, detail)));
        }
        if self.policy.needs_receipt && !self.is_current(host)? {
            return Ok(Turn::Done(self.refuse(self.record.leader().number, Generation::Unknown)));
        }
        Ok(Turn::Go(Stage::Round { signal: Signal::SIGTERM, targets }))
    }

    fn round(
        &self,
        host: &Host,
        dependencies: &dyn Dependencies,
        signal: Signal,
        mut targets: Vec<Target>,
    ) -> Result<Turn, Error> {
        let (mut left, mut forbidden) = (0, 0);
        for target in &mut targets {
            match target.signal(host, dependencies, signal)? {
                Reached::Gone => continue,
                Reached::Signalled => {}
                Reached::Unsent | Reached::Forbidden if self.policy.unsent_refuses => {
                    return Ok(Turn::Done(self.refuse(target.number, Generation::Unknown)));
                }
                Reached::Forbidden => forbidden += 1,
                Reached::Unsent => {}
                Reached::Other(generation) => return Ok(Turn::Done(self.refuse(target.number, generation))),
            }
            left += 1;
        }
        if left > 0 && left == forbidden {
            return Ok(Turn::Done(self.refused(Generation::Same, "permission denied".to_owned())));
        }
        let time = if signal == Signal::SIGKILL { AFTER_KILL } else { self.options.grace };
        let end = host.clock.monotonic().saturating_add(time);
        Ok(Turn::Go(Stage::Await { signal, targets, end }))
    }

    fn look(
        &self,
        host: &Host,
        dependencies: &dyn Dependencies,
        signal: Signal,
        mut targets: Vec<Target>,
        end: Duration,
    ) -> Turn {
        let mut pause = Pause { at_most: end.saturating_sub(host.clock.monotonic()), wake: Vec::new() };
        let mut all_gone = true;
        for target in &mut targets {
            match target.watch(host, dependencies) {
                Seen::Gone => continue,
                Seen::Same => all_gone = false,
                Seen::Other(generation) => return Turn::Done(self.refuse(target.number, generation)),
            }
            let wake = target.wake();
            if wake.is_none() || target.is_scripted() {
                pause.at_most = pause.at_most.min(POLL);
            }
            pause.wake.extend(wake);
        }
        if all_gone {
            let detail = aftermath::who_listens(host, &self.record);
            return self.remove_then(host, StopResult { detail, ..self.result(true, Method::Signal) });
        }
        if host.clock.monotonic() < end {
            return Turn::Wait(Stage::Await { signal, targets, end }, pause);
        }
        if signal != Signal::SIGKILL {
            return Turn::Go(Stage::Round { signal: Signal::SIGKILL, targets });
        }
        let detail = Some("process survived SIGKILL".to_owned());
        Turn::Done(StopResult { detail, ..self.result(false, Method::Signal) })
    }

    fn remove(&self, host: &Host, result: StopResult, end: Duration) -> Result<Turn, Error> {
        let Some(site) = &self.options.site else { return Ok(Turn::Done(result)) };
        match aftermath::remove(host, site, self.options.schema, &self.record)? {
            None => Ok(Turn::Done(result)),
            Some(busy) if host.clock.monotonic() >= end => Err(busy),
            Some(_busy) => {
                let pause = Pause { at_most: aftermath::LOCK_POLL, wake: Vec::new() };
                Ok(Turn::Wait(Stage::Remove { result, end }, pause))
            }
        }
    }

    fn remove_then(&self, host: &Host, result: StopResult) -> Turn {
        let end = host.clock.monotonic().saturating_add(aftermath::LOCK_WAIT);
        Turn::Go(Stage::Remove { result, end })
    }

    /// Every process of the record, held; each once.
    fn take_targets(&self, host: &Host) -> Result<Vec<Target>, Error> {
        let mut processes: Vec<RecordedProcess> = Vec::new();
        for process in self.record.processes() {
            if !processes.contains(&process) {
                processes.push(process);
            }
        }
        let targets = processes.into_iter().enumerate();
        targets
            .map(|(index, process)| Target::take(host, process, self.policy.by_group && index == 0))
            .collect()
    }

    /// Why nothing can be said of it from here.
    fn elsewhere(&self, host: &Host) -> Option<StopResult> {
        let refuse =
            |detail: String| StopResult { detail: Some(detail), ..self.result(false, Method::Refused) };
        if self.record.host() != Some(host.processes.host_name().as_str()) {
            return Some(refuse(format!("runs on {}", self.record.host().unwrap_or("an unknown host"))));
        }
        let is_elsewhere = |process: &RecordedProcess| {
            let (pid, recorded) = (process.pid()?, process.witness.as_ref()?);
            Some(witness::judge(host.processes.as_ref(), pid, recorded) == Judgement::Elsewhere)
        };
        let any = self.record.processes().iter().any(|process| is_elsewhere(process) == Some(true));
        any.then(|| refuse("runs in another pid namespace".to_owned()))
    }

    /// Whether the registry still holds this very registration.
    fn is_current(&self, host: &Host) -> Result<bool, Error> {
        let (Some(site), Some(id)) = (&self.options.site, ServerId::new(&self.record.id())) else {
            return Ok(false);
        };
        let Some(store) = Store::open(host, &site.coord_root)? else { return Ok(false) };
        let found = store.read(&id, self.options.schema)?;
        Ok(matches!(found, Found::Record(now, _) if custody::is_exact_receipt(&now, &self.record)))
    }

    fn refuse(&self, pid: f64, generation: Generation) -> StopResult {
        let (pid, verdict) = (number(pid), generation.as_str());
        let detail = format!("pid {pid} generation is {verdict}; left the server record in place");
        self.refused(generation, detail)
    }

    fn refused(&self, generation: Generation, detail: String) -> StopResult {
        let generation = Some(generation);
        StopResult { generation, detail: Some(detail), ..self.result(false, Method::Refused) }
    }

    fn result(&self, stopped: bool, method: Method) -> StopResult {
        let id = self.record.id().into_owned();
        StopResult { id, stopped, method, generation: None, detail: None }
    }
}
