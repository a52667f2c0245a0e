//! What can be told about a process, and whose child it is.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use crate::node::arguments::Argument;
use crate::node::instance::host;
use crate::node::objects::Factory;
use crate::node::value::{Js, Scope};
use crate::process::ancestry::{ancestry as ancestry_of, MAX_HOPS};

/// What can be told about a process: `command` is its argument list joined with blanks and trimmed, `cwd` is `null`
/// when unreadable. `null` when there is no such process.
#[napi(catch_unwind, ts_args_type = "pid: number", ts_return_type = "ProcessInfo | null")]
pub(crate) fn read_process_info<'env>(env: &'env Env, pid: Js<'env>) -> Result<Js<'env>> {
    const INFO: Factory = Factory("(pid, ppid, command, cwd) => ({ pid, ppid, command, cwd })");
    let scope = Scope::from(env);
    let pid = Argument::new(pid, "pid").pid()?;
    let processes = host(scope)?.processes;
    let Some(info) = pid.and_then(|pid| processes.info(pid)) else { return scope.null() };
    let pid = scope.number(info.pid.get().into())?;
    let parent = info.parent.map_or_else(|| scope.null(), |parent| scope.number(parent as f64))?;
    let command = scope.string(&info.command)?;
    INFO.call(scope, &[pid, parent, command, scope.string_or_null(info.cwd.as_deref())?])
}

/// A process and its parents, nearest first: before process 1, a repeat, or after `maxHops` (32) it ends.
#[napi(catch_unwind, ts_args_type = "pid: number, maxHops?: number", ts_return_type = "number[]")]
pub(crate) fn ancestry<'env>(env: &'env Env, pid: Js<'env>, max_hops: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let pid = Argument::new(pid, "pid").pid()?;
    let max_hops = Argument::new(max_hops, "maxHops").optional().map(Argument::number).transpose()?;
    // The cast saturates; NaN is no hop at all.
    let max_hops = max_hops.map_or(MAX_HOPS, |hops| hops.ceil() as usize);
    let processes = host(scope)?.processes;
    let chain = pid.map(|pid| ancestry_of(&*processes, pid, max_hops)).unwrap_or_default();
    scope.array(chain.iter().map(|pid| scope.number(pid.get().into())))
}
