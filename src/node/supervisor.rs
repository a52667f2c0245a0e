//! The supervisor: its status, and the request to stop.

use std::path::PathBuf;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::arguments::Argument;
use super::errors::raise;
use super::instance::host;
use super::objects::{value_to_js, Factory};
use super::process::StandIns;
use super::servers::sharing;
use super::value::{Js, Scope};
use crate::javascript::json::{Object, Value};
use crate::javascript::timestamp;
use crate::process::NoDependencies;
use crate::supervisor::{paths, read_status, request_stop, Status};

/// Where the supervisor of a project keeps its files.
#[napi(catch_unwind, ts_args_type = "coordRoot: string", ts_return_type = "SupervisorPaths")]
pub(crate) fn supervisor_paths<'env>(env: &'env Env, coord_root: Js<'env>) -> Result<Js<'env>> {
    const PATHS: Factory =
        Factory("(root, service, lease, stop, snapshot) => ({ root, service, lease, stop, snapshot })");
    let scope = Scope::from(env);
    let paths = paths(&absolute(scope, coord_root)?);
    let all = [paths.root, paths.service, paths.lease, paths.stop, paths.snapshot];
    let all: Result<Vec<_>> = all.iter().map(|path| scope.string(&path.to_string_lossy())).collect();
    PATHS.call(scope, &all?)
}

/// Whether a supervisor is at work on a project, at `nowMs` (now): of this host, with a heartbeat of at most 15 seconds
/// (else `stale`), starting, running or stopping, its process there and not of another generation. `record` is left out
/// when there is no valid one; what cannot be read is none.
#[napi(catch_unwind, ts_args_type = "coordRoot: string, nowMs?: number", ts_return_type = "SupervisorStatus")]
pub(crate) fn read_supervisor_status<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    now_ms: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let coord_root = absolute(scope, coord_root)?;
    let now_ms = Argument::new(now_ms, "nowMs").optional().map(|now| {
        let given = now.clone().number()?;
        timestamp::from_number(given).ok_or_else(|| now.out_of_range("a time that a Date can hold", given))
    });
    let host = host(scope)?;
    let now_ms = now_ms.transpose()?.unwrap_or_else(|| host.clock.now_ms());
    let status = read_status(&host, &coord_root, now_ms, &NoDependencies);
    value_to_js(scope, &Value::Object(shown(status, &coord_root)))
}

/// Ask the supervisor to stop. `stop.json` is written first, so that the request survives a signal that is lost; then a
/// running supervisor of this host gets SIGTERM, if its process still is the one that wrote the record and whoever wrote
/// the file may signal it.
///
/// Returns the status read afterwards; `stop.signal` is `null` when there was nobody to signal. `dependencies` replace the
/// machine's answers: `kill` the signal itself. Throws the failed system call's code.
#[napi(
    catch_unwind,
    ts_args_type = "coordRoot: string, dependencies?: SupervisorProcessDependencies & ProcessGenerationSignalDependencies",
    ts_return_type = "SupervisorStopResult"
)]
pub(crate) fn request_supervisor_stop<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    dependencies: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let coord_root = absolute(scope, coord_root)?;
    let functions = StandIns::of_a_server(&Argument::new(dependencies, "dependencies").options()?)?;
    let sharing = sharing(scope, Some(&coord_root))?;
    let stopped = request_stop(&host(scope)?, &coord_root, sharing, &functions);
    let stop = stopped.map_err(|error| raise(scope, error))?;
    let signal = stop.signal.map(|signal| {
        let verdict = signal.verdict.as_str();
        Object::new().with("sent", Some(Value::Bool(signal.sent()))).with("verdict", Some(verdict))
    });
    let request = Object::new()
        .with("requested_at", Some(stop.requested_at))
        .with("signal", Some(signal.map_or(Value::Null, Value::Object)));
    value_to_js(scope, &Value::Object(shown(stop.status, &coord_root).with("stop", Some(request))))
}

fn absolute(scope: Scope<'_>, coord_root: Js<'_>) -> Result<PathBuf> {
    let coord_root = Argument::new(coord_root, "coordRoot").path()?;
    Ok(host(scope)?.resolve(coord_root))
}

fn shown(status: Status, coord_root: &std::path::Path) -> Object {
    let paths = paths(coord_root);
    Object::new()
        .with("running", Some(Value::Bool(status.is_running)))
        .with("stale", Some(Value::Bool(status.is_stale)))
        .with("record", status.record)
        .with("status_path", Some(paths.service.to_string_lossy().into_owned()))
        .with("snapshot_path", Some(paths.snapshot.to_string_lossy().into_owned()))
}
