//! The probes of start tokens by name.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use crate::node::arguments::Argument;
use crate::node::call::Callback;
use crate::node::instance::host;
use crate::node::value::{Js, Scope};
use crate::process::ps::{parse_start, Output};
use crate::process::{Pid, Probe};

/// How this machine tells when a process started: chosen once, by what it has. `HARNERY_PID_PROBE` (`procfs` or `ps`)
/// forces it and is read at each call.
#[napi(catch_unwind, ts_return_type = "StartTokenProbe")]
pub(crate) fn start_token_probe(env: &Env) -> Result<&'static str> {
    Ok(match host(Scope::from(env))?.processes.probe() {
        Probe::Procfs => "procfs",
        Probe::Ps => "ps",
    })
}

/// The start token as procfs has it, `l<boot>.<ticks>`; `null`: cannot say.
#[napi(catch_unwind, ts_args_type = "pid: number")]
pub(crate) fn procfs_start_token<'env>(env: &'env Env, pid: Js<'env>) -> Result<Option<String>> {
    let Some(pid) = Argument::new(pid, "pid").pid()? else { return Ok(None) };
    Ok(host(Scope::from(env))?.processes.start_token_by(Probe::Procfs, pid))
}

/// The start token as `ps -o lstart=` has it, `p<text>`; `null`: cannot say.
///
/// `run` replaces the program; one that throws, or a status other than 0, means `null`.
#[napi(
    catch_unwind,
    ts_args_type = "pid: number, run?: (pid: number) => { status: number | null; stdout: string }"
)]
pub(crate) fn ps_start_token<'env>(env: &'env Env, pid: Js<'env>, run: Js<'env>) -> Result<Option<String>> {
    let pid = Argument::new(pid, "pid").pid()?;
    let run = Argument::new(run, "run").optional().map(Argument::function).transpose()?;
    let Some(pid) = pid else { return Ok(None) };
    match run {
        Some(run) => Ok(run_by(&run, pid).and_then(|output| parse_start(&output))),
        None => Ok(host(Scope::from(env))?.processes.start_token_by(Probe::Ps, pid)),
    }
}

/// Forget which probe this machine has, and its boot id. Only tests need it.
#[napi(catch_unwind, ts_return_type = "void")]
pub(crate) fn reset_start_token_caches(env: &Env) -> Result<()> {
    host(Scope::from(env))?.processes.forget();
    Ok(())
}

/// What the caller's own `run` gave; `None` when it, or a getter of its answer, threw.
fn run_by(run: &Callback<'_>, pid: Pid) -> Option<Output> {
    let scope = run.scope();
    let answer = run.call(&[scope.number(pid.get().into()).ok()?]).ok()?;
    let member = |name| match answer.get(name) {
        Ok(value) => Some(value),
        Err(_) => {
            // Taking it is what clears it.
            let _ = scope.take_exception();
            None
        }
    };
    let status = member("status")?.as_number();
    let stdout = member("stdout")?.as_string().unwrap_or_default();
    Some(Output { status: (status == Some(0.0)).then_some(0), stdout })
}
