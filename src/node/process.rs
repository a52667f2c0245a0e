//! Processes: presence, generation, signals.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::arguments::Argument;
use super::instance::host;
use super::value::{Js, Scope};

/// The start token of the process that has the number now: `l<boot>.<ticks>` where there is a procfs, `p<text>`
/// where `ps` has to tell.
///
/// `null` means "cannot say": no such process, unreadable, or `pid` is no positive integer.
#[napi(catch_unwind, ts_args_type = "pid: number")]
pub(crate) fn process_start_token<'env>(env: &'env Env, pid: Js<'env>) -> Result<Option<String>> {
    let scope = Scope::from(env);
    let Some(pid) = Argument::new(pid, "pid").pid()? else { return Ok(None) };
    Ok(host(scope)?.processes.start_token(pid))
}
