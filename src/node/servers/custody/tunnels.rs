//! Tunnels under custody: their registration, and whether one is ready.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::{custody, hold};
use crate::node::arguments::Argument;
use crate::node::errors::exception;
use crate::node::native::native;
use crate::node::objects::Factory;
use crate::node::servers::context::{self, Servers};
use crate::node::servers::tunnels;
use crate::node::value::{Js, Scope};
use crate::process::{Generation, Pid};
use crate::servers::tunnels::{hold as hold_registration, observe, Claimed, Observed};
use crate::servers::Schema;

const VERIFIER: Factory = Factory(
    "(observe, inspect, coordRoot, custodyWaitMs) => {
       const options = { coordRoot, custodyWaitMs }
       return {
         observeProcess: (pid, originalToken) => observe(pid, originalToken),
         withRegistration: (state, effect) => inspect(options, state, effect),
       }
     }",
);

/// A tunnel's registration: a service that its gate's process is. Helper processes are not carried: nobody witnessed
/// their generation.
///
/// Refuses a state that an older version left (`obsolete tunnel provider authority is unknown; state retained`) and one
/// without the gate's start token (`tunnel gate generation witness is unavailable; state retained`).
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "state: TunnelState, coordRoot: string",
    ts_return_type = "RegisterServerInput"
)]
pub(crate) fn tunnel_server_input<'env>(
    env: &'env Env,
    state: Js<'env>,
    coord_root: Js<'env>,
) -> Result<Js<'env>> {
    tunnels::input(&custody(env)?, state, coord_root)
}

/// Answers about a tunnel only from what its original registration witnessed: whether a process is the one that was
/// recorded, and the result of an inspection while the tunnel's registration is held.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "options: ServerOptions",
    ts_return_type = "TunnelReadinessVerifier"
)]
pub(crate) fn create_tunnel_readiness_verifier<'env>(env: &'env Env, options: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let members = Argument::new(options, "options").options()?;
    context::options(&members)?;
    let member =
        |name| members.optional(name, |value| Ok(value.value()))?.map_or_else(|| scope.undefined(), Ok);
    let functions = [native(scope, observe_process)?, native(scope, with_registration)?];
    let [observe, inspect] = functions;
    VERIFIER.call(scope, &[observe, inspect, member("coordRoot")?, member("custodyWaitMs")?])
}

/// The body of `observeProcess`.
fn observe_process<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let [pid, token] = arguments else { return scope.undefined() };
    let pid = Argument::new(*pid, "pid").number()?;
    let token =
        Argument::new(*token, "originalToken").optional().map(|token| token.or_null(Argument::string));
    let token = token.transpose()?.flatten();
    let servers = Servers::new(scope, Schema::Custody)?;
    let observed = observe(servers.host.processes.as_ref(), Pid::from_number(pid), token.as_deref());
    scope.string(match observed {
        Observed::Absent => "absent",
        Observed::Generation(Generation::Same) => "same",
        Observed::Generation(Generation::Different) => "different",
        Observed::Generation(Generation::Unknown) => "unknown",
    })
}

/// The body of `withRegistration`: whatever fails before a promise is handed on is unknown.
fn with_registration<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let [options, state, effect] = arguments else { return scope.undefined() };
    let effect = Argument::new(*effect, "inspect").function()?;
    let inspect = || -> Result<Option<Js<'env>>> {
        let servers = Servers::new(scope, Schema::Custody)?;
        let options = context::options(&Argument::new(*options, "options").options()?)?;
        let Some(state) = read_claimed(*state)? else { return Ok(None) };
        let held = servers.done(hold_registration(&servers.registry(), &state, &options))?;
        held.map(|custody| hold::run(scope, custody, effect)).transpose()
    };
    match inspect() {
        Ok(Some(result)) => Ok(result),
        Ok(None) => scope.string("unknown"),
        Err(error) => {
            // Taking it is what clears it.
            let _ = exception(scope, error)?;
            scope.string("unknown")
        }
    }
}

/// What a tunnel's state claims; `None` for one that no registration can agree with.
fn read_claimed(state: Js<'_>) -> Result<Option<Claimed>> {
    let members = Argument::new(state, "state").object()?;
    let text = |name| members.optional(name, Argument::string);
    let (Some(url), Some(gate_pid), Some(gate_port)) = (
        members.optional("url", Argument::text)?,
        members.optional("gate_pid", Argument::number)?,
        members.optional("gate_port", Argument::number)?,
    ) else {
        return Ok(None);
    };
    Ok(Some(Claimed {
        name: members.required("name", Argument::string)?,
        registration_id: text("registration_id")?,
        gate_start_token: text("gate_start_token")?,
        gate_pid,
        gate_port,
        url,
    }))
}
