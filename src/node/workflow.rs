//! Workflow runs: resume locks, audited recovery, repository evidence.

mod audit;
mod locks;

use std::path::PathBuf;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use self::locks::Locks;
use super::arguments::Argument;
use super::errors::raise;
use super::instance::host;
use super::objects::{js_to_value, value_to_js};
use super::servers::sharing;
use super::value::{Js, Scope};
use crate::files::Sharing;
use crate::host::Host;
use crate::javascript::json::{Object, Value};
use crate::workflow::recovery::{preview, unlock, Authorization, Preview};
use crate::workflow::resume::{self, LockOwner};
use crate::workflow::{repository, snapshot, Error, RunId};

/// Where the harness keeps a run's manifest: `<coordRoot>/.harnery/workflows/<runId>/run.json`.
///
/// Throws `invalid workflow run id …` (`WORKFLOW_INPUT`).
#[napi(catch_unwind, ts_args_type = "coordRoot: string, runId: string")]
pub(crate) fn workflow_run_manifest_path<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    run_id: Js<'env>,
) -> Result<String> {
    let coord_root = Argument::new(coord_root, "coordRoot").path()?;
    let run_id = self::run_id(Scope::from(env), Argument::new(run_id, "runId"))?;
    Ok(run_id.manifest_path(&coord_root).to_string_lossy().into_owned())
}

/// Take the lock of a run that is about to be resumed; the function gives it back, if it still is this very lock. That
/// function never throws and may be called twice. The end of a worker thread gives its locks back; a process that ends leaves
/// them.
///
/// A lock that exists always refuses, whoever holds it and however old it is: `workflow run … resume lease is already
/// held by pid … on …; its liveness has not been verified` (`WORKFLOW_HELD`). See {@link recoverWorkflowResumeLease}. Throws
/// `WORKFLOW_INPUT`, `WORKFLOW_CORRUPT`, the codes of {@link acquireNoClobberLease} while the lock is just being made or
/// removed, or the failed system call's.
#[napi(catch_unwind, ts_args_type = "coordRoot: string, runId: string", ts_return_type = "() => void")]
pub(crate) fn acquire_workflow_resume_lease<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    run_id: Js<'env>,
) -> Result<Js<'env>> {
    let run = Run::read(Scope::from(env), coord_root, run_id)?;
    let lock = resume::acquire(&run.host, &run.coord_root, &run.id, run.sharing()?);
    Locks::of(run.scope)?.hand_out(run.scope, done(run.scope, lock)?)
}

/// Look at a run's lock, or, with `yes`, remove the one that was looked at.
///
/// Without `yes` nothing is changed. With it the owner must be dead (`workflow resume unlock refused: owner is …`),
/// `lockSha256` the digest of what is there now (`workflow resume unlock requires the exact current preview digest`), and
/// `actor` (1 to 200 characters) and `reason` (1 to 2,000) say who and why; that is on disk before the lock is gone. All
/// of these are `WORKFLOW_REFUSED` or `WORKFLOW_INPUT`. A lock that is no plain file of at most 8 KiB is `WORKFLOW_CORRUPT`.
#[napi(
    catch_unwind,
    ts_args_type = "coordRoot: string, runId: string, options: WorkflowResumeRecoveryOptions",
    ts_return_type = "WorkflowResumeRecoveryResult"
)]
pub(crate) fn recover_workflow_resume_lease<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    run_id: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    let run = Run::read(Scope::from(env), coord_root, run_id)?;
    let options = Argument::new(options, "options").object()?;
    let yes = options.optional("yes", Argument::boolean)?.unwrap_or(false);
    let lock_sha256 = options.optional("lockSha256", Argument::string)?;
    let actor = options.optional("actor", Argument::string)?.unwrap_or_default();
    let reason = options.optional("reason", Argument::string)?.unwrap_or_default();
    if !yes {
        let seen = done(run.scope, preview(&run.host, &run.coord_root, &run.id))?;
        return value_to_js(run.scope, &result("preview", &run.id, &seen, None));
    }
    let authorization = Authorization { lock_sha256: lock_sha256.as_deref(), actor: &actor, reason: &reason };
    let unlocked = unlock(&run.host, &run.coord_root, &run.id, &authorization, run.sharing()?);
    let unlocked = done(run.scope, unlocked)?;
    let result = result("unlocked", &run.id, &unlocked.was, Some(unlocked.recovery_id));
    value_to_js(run.scope, &result)
}

/// Put on record what is about to be done to a run, by whom and why, as an immutable file that exists whole or not at
/// all. `assertCurrent` throws when that file is not what was written any more; `complete` records that it was done.
///
/// Throws `WORKFLOW_INPUT` before anything is written, `WORKFLOW_CORRUPT` from the functions, or the failed system call's
/// code.
#[napi(
    catch_unwind,
    ts_args_type = "coordRoot: string, input: WorkflowRecoveryInput",
    ts_return_type = "WorkflowRecovery"
)]
pub(crate) fn begin_workflow_recovery<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    input: Js<'env>,
) -> Result<Js<'env>> {
    audit::begin(Scope::from(env), coord_root, input)
}

/// All recoveries of a run, oldest first; also those that were begun and not completed. Throws `WORKFLOW_CORRUPT` for a
/// record that cannot be read or is none, and names it.
#[napi(
    catch_unwind,
    ts_args_type = "coordRoot: string, runId: string",
    ts_return_type = "WorkflowRecoveryRecord[]"
)]
pub(crate) fn list_workflow_recoveries<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    run_id: Js<'env>,
) -> Result<Js<'env>> {
    let run = Run::read(Scope::from(env), coord_root, run_id)?;
    let recorded = done(run.scope, crate::workflow::audit::list(&run.host, &run.coord_root, &run.id))?;
    let shown = recorded.into_iter().map(|recorded| {
        let completion = recorded.completion.unwrap_or(Value::Null);
        Value::Object(
            Object::new().with("intent", Some(recorded.intent)).with("completion", Some(completion)),
        )
    });
    value_to_js(run.scope, &Value::Array(shown.collect()))
}

/// What the work tree is like that a directory is in, as `git` tells it within 10 seconds: `ok` when root, head and dirty
/// paths could all be read, `partial` when some, `unavailable` when nothing. `observation_detail` says why.
///
/// At most `maxPaths` dirty paths (15), each cut to 500 characters; then `dirty_paths_truncated`. A detached `branch` is
/// `HEAD`. Blocks for as long as `git` takes. As for `git status`, the clean filters that the Git configuration names are
/// started for files that may have changed: do not observe a repository whose configuration you do not trust. Throws `WORKFLOW_INPUT` for a `cwd` that is not absolute.
#[napi(
    catch_unwind,
    ts_args_type = "cwd: string, options?: { maxPaths?: number }",
    ts_return_type = "WorkflowRepoSnapshot"
)]
pub(crate) fn observe_repository<'env>(env: &'env Env, cwd: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let cwd = Argument::new(cwd, "cwd").string()?;
    let max_paths = Argument::new(options, "options").options()?.optional("maxPaths", |limit| {
        let given = limit.clone().safe_integer()?;
        usize::try_from(given).map_err(|_| limit.out_of_range("a number of paths, 0 or more", given as f64))
    })?;
    let max_paths = max_paths.unwrap_or(repository::DEFAULT_MAX_PATHS);
    value_to_js(scope, &done(scope, repository::observe(&host(scope)?, &cwd, max_paths))?)
}

/// A snapshot from before observations were recorded, told as one that has none: `observation` `"unavailable"` and
/// `No repository observation was recorded.`. Any other comes back as it is.
#[napi(
    catch_unwind,
    ts_args_type = "snapshot: Omit<WorkflowRepoSnapshot, 'observation'> & { observation?: WorkflowRepoSnapshot['observation'] }",
    ts_return_type = "WorkflowRepoSnapshot"
)]
pub(crate) fn normalize_repo_snapshot<'env>(env: &'env Env, snapshot: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let value = self::snapshot(Argument::new(snapshot, "snapshot"))?;
    value_to_js(scope, &snapshot::normalize(&value))
}

/// Whether a value has the shape of a snapshot.
#[napi(catch_unwind, ts_args_type = "value: unknown", ts_return_type = "value is WorkflowRepoSnapshot")]
pub(crate) fn is_repo_snapshot<'env>(env: &'env Env, value: Js<'env>) -> Result<bool> {
    match js_to_value(&Argument::new(value, "value")) {
        Ok(value) => Ok(value.is_some_and(|value| snapshot::is_snapshot(&value))),
        // What JSON cannot hold is no snapshot; taking the exception is what clears it.
        Err(_) => Scope::from(env).take_exception().map(|_| false),
    }
}

/// What two snapshots of a repository establish about what changed between them: what they do not establish is `null`.
/// `incomplete` when anything is unknown or a path stayed dirty; `note` says why. Throws `WORKFLOW_INPUT` for a value that
/// is no snapshot.
#[napi(
    catch_unwind,
    ts_args_type = "before: WorkflowRepoSnapshot, after: WorkflowRepoSnapshot",
    ts_return_type = "WorkflowRepoEvidence"
)]
pub(crate) fn compare_repo_snapshots<'env>(
    env: &'env Env,
    before: Js<'env>,
    after: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let before = snapshot(Argument::new(before, "before"))?;
    let after = snapshot(Argument::new(after, "after"))?;
    value_to_js(scope, &done(scope, snapshot::compare(&before, &after))?)
}

/// A run of one call.
struct Run<'env> {
    scope: Scope<'env>,
    host: Host,
    coord_root: PathBuf,
    id: RunId,
}

impl<'env> Run<'env> {
    fn read(scope: Scope<'env>, coord_root: Js<'env>, run_id: Js<'env>) -> Result<Self> {
        Run::of(scope, Argument::new(coord_root, "coordRoot"), Argument::new(run_id, "runId"))
    }

    fn of(scope: Scope<'env>, coord_root: Argument<'env>, run_id: Argument<'env>) -> Result<Self> {
        let coord_root = coord_root.path()?;
        let id = self::run_id(scope, run_id)?;
        let host = host(scope)?;
        let coord_root = host.resolve(coord_root);
        Ok(Run { scope, host, coord_root, id })
    }

    fn sharing(&self) -> Result<Sharing> {
        sharing(self.scope, Some(&self.coord_root))
    }
}

fn run_id(scope: Scope<'_>, run_id: Argument<'_>) -> Result<RunId> {
    done(scope, RunId::new(&run_id.string()?))
}

fn snapshot(snapshot: Argument<'_>) -> Result<Value> {
    match js_to_value(&snapshot)? {
        Some(value @ Value::Object(_)) => Ok(value),
        _ => Err(snapshot.wrong_type("an object")),
    }
}

fn result(action: &str, run_id: &RunId, seen: &Preview, recovery_id: Option<String>) -> Value {
    let digest = seen.lock_sha256.as_deref().map_or(Value::Null, Value::from);
    let owner = seen.owner.as_ref().map_or(Value::Null, LockOwner::to_value);
    Value::Object(
        Object::new()
            .with("action", Some(action))
            .with("run_id", Some(run_id.as_str()))
            .with("lock_sha256", Some(digest))
            .with("owner_state", Some(seen.owner_state.as_str()))
            .with("owner", Some(owner))
            .with("recovery_id", recovery_id),
    )
}

/// What the core gave, or its failure as an exception.
fn done<T>(scope: Scope<'_>, outcome: std::result::Result<T, Error>) -> Result<T> {
    outcome.map_err(|error| raise(scope, error))
}
