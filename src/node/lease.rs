//! No-clobber leases: who may write.

mod handles;
mod input;
mod waiting;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use self::handles::Handles;
use self::input::{Functions, Given};
use super::arguments::Argument;
use super::errors::raise;
use super::instance::host;
use super::objects::{value_to_js, Factory};
use super::value::{Js, Scope};
use super::waits::promise;
use crate::javascript::json::{Object, Value};
use crate::lease::inspect::{Inspection, State};
use crate::lease::repair::Request;
use crate::lease::{self, Error, Liveness};

/// Take the lease at `path`, or say why not. Nothing of a call that fails is left on disk.
///
/// A holder that is provably dead, of this host and past its time, is replaced; `recovered_owner` names it then. The
/// call blocks for at most 250 ms more than its system calls take: a recovery waits so long until everyone else who
/// is there has left.
///
/// It is held until `release()`; or until the worker thread ends that acquired it, if it names this process. A process that
/// ends leaves it as it is: dead, and stale in time.
///
/// Throws errors with a stable `code`: `LEASE_INPUT` (before anything is written), `LEASE_HELD` (with `holder` and `reason`),
/// `LEASE_RECOVERING`, `LEASE_AUTHORITY`, `LEASE_CORRUPT` (named by path and left as it is), `LEASE_LOST`,
/// `LEASE_UNSUPPORTED` (no hard links), or the failed system call's. What one of the caller's functions throws leaves the
/// call unchanged; a throw from `onRecoveryStep` simulates a crash and leaves everything as it is.
#[napi(catch_unwind, ts_args_type = "input: AcquireNoClobberLeaseInput", ts_return_type = "NoClobberLease")]
pub(crate) fn acquire_no_clobber_lease<'env>(env: &'env Env, input: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let given = Given::read(scope, &Argument::new(input, "input").object()?)?;
    let host = host(scope)?;
    let taken = lease::acquire(&host, &given.input, &given.functions);
    Handles::of(scope)?.hand_out(scope, done(scope, taken)?)
}

/// {@link acquireNoClobberLease} that waits: while the answer is `LEASE_HELD` or `LEASE_RECOVERING`, for the lease's
/// directory to change or the holder's process to end, until `waitMs` milliseconds are over (0 when left out: one
/// try) or `signal` is aborted, which rejects with the signal's reason.
///
/// No thread is held while it waits, and nothing of it is on disk between its tries.
#[napi(
    catch_unwind,
    ts_args_type = "input: AcquireNoClobberLeaseInput & { waitMs?: number; signal?: AbortSignal }",
    ts_return_type = "Promise<NoClobberLease>"
)]
pub(crate) fn acquire_no_clobber_lease_async<'env>(env: &'env Env, input: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    promise(scope, || waiting::begin(scope, input))
}

/// Whether a lease that this environment acquired still is its own: a cleaner may have removed it, a faulty contender
/// taken it. `false` for one that was released.
#[napi(catch_unwind, ts_args_type = "lease: NoClobberLease")]
pub(crate) fn holds_no_clobber_lease<'env>(env: &'env Env, lease: Js<'env>) -> Result<bool> {
    let scope = Scope::from(env);
    let owner = Argument::new(lease, "lease").object()?.required("owner", Argument::object)?;
    let owner_id = owner.required("owner_id", Argument::string)?;
    Ok(Handles::of(scope)?.holds(&host(scope)?, &owner_id))
}

/// Look at a lease; nothing is changed. `digest` is by what {@link repairNoClobberLease} recognises it.
///
/// Without `staleAfterMs` the owners' own times count.
#[napi(
    catch_unwind,
    ts_args_type = "path: string, options?: { staleAfterMs?: number; now?: () => number; probePid?: (pid: number) => void }",
    ts_return_type = "NoClobberLeaseInspection"
)]
pub(crate) fn inspect_no_clobber_lease<'env>(
    env: &'env Env,
    path: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let path = Argument::new(path, "path").path()?;
    let options = Argument::new(options, "options").options()?;
    let stale_after_ms = options.optional("staleAfterMs", Argument::number)?;
    let functions = Functions::to_look_by(scope, &options)?;
    let seen = lease::inspect(&host(scope)?, &path, stale_after_ms, &functions);
    value_to_js(scope, &inspection(done(scope, seen)?))
}

/// Move what makes a lease corrupt into `repaired-<time>/` inside its directory, with a note of who, why and what.
///
/// Only while `digest` is the one of a look at it, and while no owner in it is live; a healthy lease is never touched. With
/// `confirm: "elsewhere"` expired owners of another pid namespace or host, of whom nothing can be told from here, are
/// moved aside too: somebody knows that their container is gone for good.
///
/// Throws with `code` `LEASE_INPUT` (another digest, nothing to repair, no actor or reason), `LEASE_HELD`, or
/// `LEASE_RECOVERING` (another repair, or the lease was taken meanwhile).
#[napi(
    catch_unwind,
    ts_args_type = "path: string, options: { digest: string; actor: string; reason: string; confirm?: 'elsewhere' }",
    ts_return_type = "{ moved_to: string; moved: string[] }"
)]
pub(crate) fn repair_no_clobber_lease<'env>(
    env: &'env Env,
    path: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    const REPAIRED: Factory = Factory("(moved_to, moved) => ({ moved_to, moved })");
    let scope = Scope::from(env);
    let path = Argument::new(path, "path").path()?;
    let options = Argument::new(options, "options").object()?;
    let request = Request {
        digest: options.required("digest", Argument::string)?,
        actor: options.required("actor", Argument::string)?,
        reason: options.required("reason", Argument::string)?,
        elsewhere_is_gone: options.optional("confirm", |word| word.word(&[("elsewhere", ())]))?.is_some(),
    };
    let repaired = done(scope, lease::repair(&host(scope)?, &path, &request))?;
    let moved = scope.array(repaired.moved.iter().map(|name| scope.string(name)))?;
    REPAIRED.call(scope, &[scope.string(&repaired.moved_to.to_string_lossy())?, moved])
}

/// What the core gave, or its failure as an exception.
fn done<T>(scope: Scope<'_>, outcome: std::result::Result<T, Error>) -> Result<T> {
    outcome.map_err(|error| raise(scope, error))
}

fn inspection(seen: Inspection) -> Value {
    let state = match seen.state {
        State::Free => "free",
        State::Held => "held",
        State::Stale => "stale",
        State::Recovering => "recovering",
        State::Corrupt => "corrupt",
    };
    let liveness = seen.liveness.map(|liveness| match liveness {
        Liveness::Dead => "dead",
        Liveness::Live(reason) => reason.as_str(),
    });
    let leftovers = i64::try_from(seen.leftovers).unwrap_or(i64::MAX);
    Value::Object(
        Object::new()
            .with("state", Some(state))
            .with("owner", seen.owner.map(|owner| owner.value))
            .with("liveness", liveness)
            .with("claim", seen.claim.map(|claim| claim.value))
            .with("leftovers", Some(leftovers))
            .with("digest", Some(seen.digest)),
    )
}
