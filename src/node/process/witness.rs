//! Witnesses: what is recorded of a process beside its start token.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use crate::javascript::json::{Object, Value};
use crate::node::arguments::Argument;
use crate::node::instance::host;
use crate::node::objects::value_to_js;
use crate::node::value::{Js, Scope};
use crate::process::{witness, Judgement, Witness};

/// What to record of the process that has the number now; `null` when it cannot be observed.
#[napi(catch_unwind, ts_args_type = "pid: number", ts_return_type = "ProcessWitness | null")]
pub(crate) fn process_witness<'env>(env: &'env Env, pid: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let pid = Argument::new(pid, "pid").pid()?;
    let processes = host(scope)?.processes;
    let Some(seen) = pid.and_then(|pid| processes.witness(pid)) else { return scope.null() };
    let object = Object::new()
        .with("start_token", seen.start_token)
        .with("pidfd_inode", seen.pidfd_inode)
        .with("pid_namespace", seen.pid_namespace)
        .with("time_namespace", seen.time_namespace);
    value_to_js(scope, &Value::Object(object))
}

/// What a recorded witness says of the process that has the number now. Whoever deletes or takes over acts only on
/// `"gone"` and `"different"`; whoever signals acts only on `"same"`.
///
/// `"elsewhere"`: it lives, if at all, in another pid namespace. A process restored from a checkpoint reads as
/// `"different"`.
#[napi(
    catch_unwind,
    ts_args_type = "pid: number, witness: ProcessWitness",
    ts_return_type = "WitnessJudgement"
)]
pub(crate) fn judge_witness<'env>(env: &'env Env, pid: Js<'env>, witness: Js<'env>) -> Result<&'static str> {
    let pid = Argument::new(pid, "pid").pid()?;
    let members = Argument::new(witness, "witness").object()?;
    let field = |name| members.optional(name, Argument::string);
    let recorded = Witness {
        start_token: field("start_token")?,
        pidfd_inode: field("pidfd_inode")?,
        pid_namespace: field("pid_namespace")?,
        time_namespace: field("time_namespace")?,
    };
    let Some(pid) = pid else { return Ok("unknown") };
    Ok(match witness::judge(&*host(Scope::from(env))?.processes, pid, &recorded) {
        Judgement::Same => "same",
        Judgement::Different => "different",
        Judgement::Gone => "gone",
        Judgement::Elsewhere => "elsewhere",
        Judgement::Unknown => "unknown",
    })
}
