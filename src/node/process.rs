//! Processes: presence, generation, signals, information.

mod information;
mod presence;
mod probes;
mod signals;
mod stand_ins;
mod witness;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

pub(super) use self::stand_ins::{KeptStandIns, StandIns};
use super::arguments::Argument;
use super::instance::host;
use super::value::{Js, Scope};
use crate::process::generation::{self, PidToken};

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

/// Whether two start tokens describe one run of one process: they are equal, or both of procfs with equal ticks and
/// exactly one of them without a boot part (a record from before tokens had one).
#[napi(catch_unwind, ts_args_type = "recorded: string, current: string")]
pub(crate) fn tokens_agree(recorded: Js<'_>, current: Js<'_>) -> Result<bool> {
    let recorded = Argument::new(recorded, "recorded").string()?;
    let current = Argument::new(current, "current").string()?;
    Ok(generation::tokens_agree(&recorded, &current))
}

/// What a recorded start token says of the process that has the number now. `"unverified"` when there is no recorded
/// token or none can be read now.
#[napi(
    catch_unwind,
    ts_args_type = "pid: number, recorded: string | null | undefined",
    ts_return_type = "'match' | 'mismatch' | 'unverified'"
)]
pub(crate) fn check_pid_token<'env>(
    env: &'env Env,
    pid: Js<'env>,
    recorded: Js<'env>,
) -> Result<&'static str> {
    let pid = Argument::new(pid, "pid").pid()?;
    let recorded = token(recorded, "recorded")?;
    let processes = host(Scope::from(env))?.processes;
    let current = pid.and_then(|pid| processes.start_token(pid));
    Ok(match generation::check_pid_token(recorded.as_deref(), current.as_deref()) {
        PidToken::Match => "match",
        PidToken::Mismatch => "mismatch",
        PidToken::Unverified => "unverified",
    })
}

/// Whether the process that has the number now is the one that `token` was recorded of.
///
/// `"unknown"` when `token` is missing or empty, when no token can be read now, and when the two differ only in that
/// one has no boot part: agreeing ticks are no proof. `readToken` replaces the probe; if it throws: `"unknown"`.
#[napi(
    catch_unwind,
    ts_args_type = "pid: number, token: string | null | undefined, readToken?: (pid: number) => string | null",
    ts_return_type = "ProcessGenerationVerdict"
)]
pub(crate) fn verify_process_generation<'env>(
    env: &'env Env,
    pid: Js<'env>,
    token: Js<'env>,
    read_token: Js<'env>,
) -> Result<&'static str> {
    let pid = Argument::new(pid, "pid").pid()?;
    let token = self::token(token, "token")?;
    let read_token = Argument::new(read_token, "readToken").optional().map(Argument::function).transpose()?;
    let Some(pid) = pid else { return Ok("unknown") };
    let processes = host(Scope::from(env))?.processes;
    let stand_ins = StandIns { read_token, ..StandIns::default() };
    Ok(generation::verify(&*processes, pid, token.as_deref(), &stand_ins).as_str())
}

/// A recorded token; `null` and `undefined` are none.
fn token(value: Js<'_>, name: &'static str) -> Result<Option<String>> {
    let given = Argument::new(value, name).optional().map(|token| token.or_null(Argument::string));
    Ok(given.transpose()?.flatten())
}
