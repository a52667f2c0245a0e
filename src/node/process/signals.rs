//! Signals for a verified generation.

use std::str::FromStr;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::StandIns;
use crate::node::arguments::Argument;
use crate::node::errors::{raise, Failure};
use crate::node::instance::host;
use crate::node::objects::Factory;
use crate::node::value::{Js, Scope};
use crate::process::signal::{signal_group_if_same, signal_if_same, Error, Signalled};
use crate::process::{Dependencies, Generation, Pid, Processes, Signal};

/// Signal a process if it is still the one that `token` was recorded of.
///
/// The process is held (by a pidfd on Linux) before its token is read, and signalled through that hold: a number that
/// is handed out again in between can never be hit. Where the system has no pidfds, or a sandbox forbids them, the
/// token is read once more right before `kill(2)`; a process that ends between those two, and whose number is handed
/// out in that moment, is the window that remains.
///
/// `sent` is false when the verdict is not `"same"` and when the kernel refused the signal. Running out of descriptors
/// throws (`EMFILE`). An unknown signal name is a `TypeError` (`ERR_UNKNOWN_SIGNAL`).
#[napi(
    catch_unwind,
    ts_args_type = "pid: number, token: string | null | undefined, signal: NodeJS.Signals, dependencies?: ProcessGenerationSignalDependencies",
    ts_return_type = "{ sent: boolean; verdict: ProcessGenerationVerdict }"
)]
pub(crate) fn signal_if_same_generation<'env>(
    env: &'env Env,
    pid: Js<'env>,
    token: Js<'env>,
    signal: Js<'env>,
    dependencies: Js<'env>,
) -> Result<Js<'env>> {
    send(Scope::from(env), pid, "pid", token, signal, dependencies, signal_if_same)
}

/// Signal the process group that a process leads, if the leader is still the one that `token` was recorded of.
///
/// As {@link signalIfSameGeneration}; on Linux 6.9 and later the group is reached through the hold too. A process that
/// leads no group, the caller's own group and group 1 are never group-signalled: then `sent` is false with the verdict
/// `"same"`, and the caller signals the process alone. With `dependencies.kill` a group is a negative pid.
#[napi(
    catch_unwind,
    ts_args_type = "leaderPid: number, token: string | null | undefined, signal: NodeJS.Signals, dependencies?: ProcessGenerationSignalDependencies",
    ts_return_type = "{ sent: boolean; verdict: ProcessGenerationVerdict }"
)]
pub(crate) fn signal_group_if_same_generation<'env>(
    env: &'env Env,
    leader_pid: Js<'env>,
    token: Js<'env>,
    signal: Js<'env>,
    dependencies: Js<'env>,
) -> Result<Js<'env>> {
    send(Scope::from(env), leader_pid, "leaderPid", token, signal, dependencies, signal_group_if_same)
}

type Verb =
    fn(&dyn Processes, Pid, Option<&str>, Signal, &dyn Dependencies) -> std::result::Result<Signalled, Error>;

fn send<'env>(
    scope: Scope<'env>,
    pid: Js<'env>,
    pid_name: &'static str,
    token: Js<'env>,
    signal: Js<'env>,
    dependencies: Js<'env>,
    verb: Verb,
) -> Result<Js<'env>> {
    const SIGNALLED: Factory = Factory("(sent, verdict) => ({ sent, verdict })");
    let pid = Argument::new(pid, pid_name).pid()?;
    let token = super::token(token, "token")?;
    let signal = named(Argument::new(signal, "signal"))?;
    let stand_ins = StandIns::of_a_signal(&Argument::new(dependencies, "dependencies").options()?)?;
    let told = match pid {
        Some(pid) => verb(&*host(scope)?.processes, pid, token.as_deref(), signal, &stand_ins)
            .map_err(|error| raise(scope, error))?,
        // A number that is no process's: nobody is asked, nothing is sent.
        None => Signalled { verdict: Generation::Unknown, outcome: None },
    };
    SIGNALLED.call(scope, &[scope.boolean(told.sent())?, scope.string(told.verdict.as_str())?])
}

/// A signal by Node's name for it.
fn named(argument: Argument<'_>) -> Result<Signal> {
    let name = argument.clone().string()?;
    let signal = match name.as_str() {
        "SIGIOT" => Ok(Signal::SIGABRT),
        #[cfg(target_os = "linux")]
        "SIGPOLL" => Ok(Signal::SIGIO),
        name => Signal::from_str(name),
    };
    signal.map_err(|_| raise(argument.scope(), Failure::UnknownSignal(name)))
}
