//! Whether a process is there.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::StandIns;
use crate::node::arguments::Argument;
use crate::node::instance::host;
use crate::node::value::{Js, Scope};
use crate::process::{generation, NoDependencies, Presence};

/// Whether a process with this number is there now. One that has ended and is not collected yet, and the number of a
/// mere thread, are absent; one that may not be signalled is present. A number that no process can have is unknown.
///
/// `probePid` replaces the look: true is present, false is absent, a throw is unknown.
#[napi(
    catch_unwind,
    ts_args_type = "pid: number, probePid?: (pid: number) => boolean",
    ts_return_type = "ProcessPresence"
)]
pub(crate) fn process_presence<'env>(
    env: &'env Env,
    pid: Js<'env>,
    probe_pid: Js<'env>,
) -> Result<&'static str> {
    let pid = Argument::new(pid, "pid").pid()?;
    let probe_pid = Argument::new(probe_pid, "probePid").optional().map(Argument::function).transpose()?;
    let Some(pid) = pid else { return Ok("unknown") };
    let stand_ins = StandIns { probe_pid, ..StandIns::default() };
    let processes = host(Scope::from(env))?.processes;
    Ok(match generation::presence(&*processes, pid, &stand_ins) {
        Presence::Present => "present",
        Presence::Absent => "absent",
        Presence::Unknown => "unknown",
    })
}

/// Whether a process with this number is present, by {@link processPresence}.
#[napi(catch_unwind, ts_args_type = "pid: number")]
pub(crate) fn pid_alive<'env>(env: &'env Env, pid: Js<'env>) -> Result<bool> {
    let Some(pid) = Argument::new(pid, "pid").pid()? else { return Ok(false) };
    let processes = host(Scope::from(env))?.processes;
    Ok(generation::presence(&*processes, pid, &NoDependencies) == Presence::Present)
}
