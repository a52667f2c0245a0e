//! Claims: a text that is the claim of a recovery is a claim or it is corrupt, and only a dead claimant's is cleared.

use std::path::Path;

use harnery_native::javascript::json::{parse, Value};
use harnery_native::lease::inspect::State;
use harnery_native::lease::{acquire, inspect, Error, NoHooks};

use super::owner::{input, is_owner, is_sha256, SCOPE};
use super::stage::Stage;

const LEASE: &str = "/x.lease";
const RECOVERY: &str = "/x.lease/recovery";

pub fn hold(bytes: &[u8]) {
    let stage = Stage::new();
    stage.make_dir(LEASE);
    stage.make_dir(RECOVERY);
    stage.write(RECOVERY, "claim.json", bytes);
    let before = stage.tree(LEASE);
    let value = read(bytes);

    let seen = inspect(&stage.host, Path::new(LEASE), None, &NoHooks).expect("a lease that can be read");
    assert_eq!(seen.claim.as_ref().map(|claim| &claim.value), value.as_ref());
    assert_eq!(seen.state, if value.is_some() { State::Recovering } else { State::Corrupt });
    assert_eq!(stage.tree(LEASE), before);

    match acquire(&stage.host, &input(LEASE), &NoHooks) {
        Ok(mut lease) => {
            let claim = seen.claim.expect("only a claim is cleared");
            assert_eq!((claim.claimant.scope.as_str(), claim.observed_owner.scope.as_str()), (SCOPE, SCOPE));
            assert_eq!(claim.claimant.host, stage.host.processes.host_name());
            assert!(lease.recovered_owner.is_none());
            lease.release(&stage.host).expect("a holder lets go");
            assert_eq!(stage.tree(LEASE), []);
        }
        Err(error) => {
            assert_eq!(matches!(error, Error::Corrupt(_)), value.is_none(), "{error}");
            assert_eq!(stage.tree(LEASE), before, "{error}");
        }
    }
}

/// The object in a claim, read once more as the contract has it.
fn read(bytes: &[u8]) -> Option<Value> {
    if bytes.len() > 16 * 1024 {
        return None;
    }
    let value = parse(bytes).ok()?;
    let object = value.as_object()?;
    let created_at = object.get("created_at")?.as_str()?;
    let claimant = object.get("claimant")?;
    let is_claim = object.get("schema_version")?.as_number()? == 1.0
        && is_owner(claimant)
        && is_owner(object.get("observed_owner")?)
        && is_sha256(object.get("observed_sha256")?.as_str()?)
        && claimant.as_object()?.get("created_at")?.as_str()? == created_at;
    is_claim.then_some(value)
}
