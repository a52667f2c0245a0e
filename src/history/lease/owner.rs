//! Who a lease belongs to, and whether that process is dead.

use crate::files::record::{self, Read};
use crate::files::{Dir, PathError};
use crate::host::Host;
use crate::javascript::json::{self, Object, Value};
use crate::javascript::timestamp;
use crate::process::{witness, Judgement, Pid, Presence, Witness};

pub(super) const OWNER_FILE: &str = "owner.json";

/// An owner younger than this is never judged dead, but by a restart of the machine.
pub(super) const STALE_MS: i64 = 30_000;
/// No owner that anybody writes comes near it.
const LIMIT_BYTES: usize = 64 * 1024;

/// What a lease directory says about its owner.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Occupant {
    /// No `owner.json`.
    Nobody,
    /// Something that is no owner: it cannot be judged, so it stays.
    Torn,
    Owner(Record),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pid: i64,
    acquired_ms: i64,
    witness: Option<Witness>,
}

/// Read `owner.json` through the directory's handle.
pub(super) fn read(dir: &Dir) -> Result<Occupant, PathError> {
    Ok(match record::read(dir, OWNER_FILE, LIMIT_BYTES)? {
        Read::Missing => Occupant::Nobody,
        Read::NotAFile(_) | Read::TooLarge(_) => Occupant::Torn,
        Read::Bytes { bytes, .. } => parse(&bytes).map_or(Occupant::Torn, Occupant::Owner),
    })
}

/// This process's own owner text.
pub(super) fn text(host: &Host, owner_id: &str) -> String {
    let me = host.processes.me();
    let owner = Object::new()
        .with("owner_id", Some(owner_id))
        .with("pid", Some(i64::from(me.get())))
        .with("acquired_at", timestamp::format(host.clock.now_ms()))
        .with("witness", host.own_witness(me).map(|witness| witness.to_value()));
    json::stringify(&Value::Object(owner)) + "\n"
}

fn parse(bytes: &[u8]) -> Option<Record> {
    if bytes.last() != Some(&b'\n') {
        return None;
    }
    let value = json::parse(bytes).ok()?;
    let owner = value.as_object()?;
    owner.get("owner_id")?.as_text().filter(|id| !id.is_empty())?;
    Some(Record {
        pid: owner.get("pid")?.as_safe_integer()?,
        acquired_ms: owner.get("acquired_at")?.as_str().and_then(timestamp::parse)?,
        witness: owner.get("witness").and_then(Witness::from_value),
    })
}

/// What can be told of an owner from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It lives, or is too young to be judged, or nothing can be told.
    Live,
    Dead,
    /// It is old, and if it lives, then in another pid namespace: only a person can know.
    Elsewhere,
}

impl Record {
    /// Who has the lease, for whoever may not take it.
    pub(super) fn since(&self) -> String {
        let at = timestamp::format(self.acquired_ms).unwrap_or_default();
        format!(
            "process {} has it since {at}; once that process is gone and 30 s are over it is taken over",
            self.pid
        )
    }

    pub(super) fn is_dead(&self, host: &Host) -> bool {
        self.judge(host) == Verdict::Dead
    }

    pub(super) fn judge(&self, host: &Host) -> Verdict {
        // A machine that starts with a wrong clock must not keep a dead boot's lease.
        let processes = host.processes.as_ref();
        if self.witness.as_ref().is_some_and(|witness| witness::is_of_another_boot(processes, witness)) {
            return Verdict::Dead;
        }
        // A clock that went back makes the owner younger, which is the cautious side.
        if host.clock.now_ms().saturating_sub(self.acquired_ms) < STALE_MS {
            return Verdict::Live;
        }
        let Some(pid) = Pid::new(self.pid) else { return Verdict::Live };
        match &self.witness {
            Some(witness) => match witness::judge(processes, pid, witness) {
                Judgement::Gone | Judgement::Different => Verdict::Dead,
                Judgement::Elsewhere => Verdict::Elsewhere,
                Judgement::Same | Judgement::Unknown => Verdict::Live,
            },
            None if processes.presence(pid) == Presence::Absent => Verdict::Dead,
            None => Verdict::Live,
        }
    }
}
