//! Owner files: a text that is `current` is an owner or it is corrupt, whatever else, and nobody who may live is replaced.

use std::path::Path;

use harnery_native::javascript::json::{parse, Object, Value};
use harnery_native::javascript::timestamp;
use harnery_native::lease::inspect::State;
use harnery_native::lease::{acquire, inspect, Durability, Error, Input, NoHooks, Owner};
use harnery_native::process::{Pid, Presence};
use harnery_native::sim::START_MS;

use super::stage::Stage;

pub const SCOPE: &str = "workspace";
pub const STALE_AFTER_MS: i64 = 1000;
const LEASE: &str = "/x.lease";

pub fn hold(bytes: &[u8]) {
    let stage = Stage::new();
    stage.make_dir(LEASE);
    stage.write(LEASE, "current", bytes);
    let value = read(bytes);

    let seen = inspect(&stage.host, Path::new(LEASE), None, &NoHooks).expect("a lease that can be read");
    assert_eq!(seen.owner.as_ref().map(|owner| &owner.value), value.as_ref());
    assert_eq!(seen.state == State::Corrupt, value.is_none());
    assert_eq!(stage.tree(LEASE), [(format!("{LEASE}/current"), Some(bytes.to_vec()))]);

    match acquire(&stage.host, &input(LEASE), &NoHooks) {
        Ok(mut lease) => {
            let replaced = lease.recovered_owner.as_ref().expect("somebody was replaced");
            assert_eq!(Some(&replaced.value), value.as_ref());
            assert!(may_be_replaced(&stage, replaced));
            assert!(lease.holds(&stage.host));
            lease.release(&stage.host).expect("a holder lets go");
            assert_eq!(stage.tree(LEASE), []);
        }
        Err(error) => {
            assert_eq!(matches!(error, Error::Corrupt(_)), value.is_none(), "{error}");
            assert_eq!(stage.tree(LEASE), [(format!("{LEASE}/current"), Some(bytes.to_vec()))]);
        }
    }
}

pub fn input(path: &str) -> Input {
    Input {
        path: path.into(),
        scope: SCOPE.into(),
        authority_sha256: "a".repeat(64),
        metadata: None,
        stale_after_ms: STALE_AFTER_MS as f64,
        pid: None,
        host: None,
        durability: Durability::Power,
    }
}

/// Dead for certain, and one's own to replace.
fn may_be_replaced(stage: &Stage, owner: &Owner) -> bool {
    let time = |text: &str| timestamp::parse(text).expect("the time of an owner");
    let (created, expires) = (time(&owner.created_at), time(&owner.expires_at));
    let has_expired = expires == created + STALE_AFTER_MS && created <= START_MS && expires <= START_MS;
    let processes = &stage.host.processes;
    let is_absent = Pid::new(owner.pid).is_some_and(|pid| processes.presence(pid) == Presence::Absent);
    let has_witness = owner.witness.is_some();
    owner.scope == SCOPE && owner.host == processes.host_name() && (has_witness || has_expired && is_absent)
}

/// The object in an owner file, if it is an owner's, read once more as the contract has it.
fn read(bytes: &[u8]) -> Option<Value> {
    if !(1..=8192).contains(&bytes.len()) {
        return None;
    }
    parse(bytes).ok().filter(is_owner)
}

pub fn is_owner(value: &Value) -> bool {
    let Some(object) = value.as_object() else { return false };
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| object.get(key).and_then(Value::as_number);
    let has_time = |key: &str| timestamp::parse(text(key)).is_some();
    let pid = number("pid").unwrap_or_default();
    number("schema_version") == Some(1.0)
        && text("owner_file") == format!("owner-{}.json", text("owner_id"))
        && object.get("owner_id").and_then(Value::as_str).is_some()
        && is_safe(text("owner_file"))
        && is_safe(text("scope"))
        && is_sha256(text("authority_sha256"))
        && object.get("metadata").is_none_or(|value| value.as_object().is_some_and(is_metadata))
        && (1.0..=9_007_199_254_740_991.0).contains(&pid)
        && pid.fract() == 0.0
        && object.get("host").and_then(Value::as_text).is_some_and(|host| !host.is_empty())
        && has_time("created_at")
        && has_time("expires_at")
}

pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.chars().all(|digit| "0123456789abcdef".contains(digit))
}

fn is_metadata(object: &Object) -> bool {
    let is_fine = |value: &Value| value.as_text().is_some_and(|text| text.units().count() <= 1000);
    object.len() <= 20
        && object.iter().all(|(key, value)| key.to_str().is_some_and(is_safe) && is_fine(value))
}

fn is_safe(text: &str) -> bool {
    let is_one_of = |more: &str, c: char| c.is_ascii_alphanumeric() || more.contains(c);
    text.len() <= 200
        && text.chars().all(|c| is_one_of("._-", c))
        && text.chars().next().is_some_and(|c| is_one_of("", c))
}
