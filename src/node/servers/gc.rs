//! The plan of garbage collection, from the views that a listing gave.

use napi::Result;

use super::answers::OWNER_STATES;
use super::context::{hours, kind};
use crate::node::arguments::{Argument, Members};
use crate::node::objects::Factory;
use crate::node::value::{Js, Scope};
use crate::servers::gc::{decide, Decision, Policy, Subject};

const DECISION: Factory = Factory("(id, action, reason) => ({ id, action, reason })");

/// `planServerGc`
pub(super) fn plan<'env>(scope: Scope<'env>, views: Js<'env>, policy: Js<'env>) -> Result<Js<'env>> {
    let policy = read_policy(&Argument::new(policy, "policy").options()?)?;
    let views = Argument::new(views, "views").array(read_view)?;
    scope.array(views.iter().map(|(id, subject)| {
        let (action, reason) = match decide(subject, &policy) {
            Decision::Stop(reason) => ("stop", reason),
            Decision::Keep(reason) => ("keep", reason),
        };
        DECISION.call(scope, &[*id, scope.string(action)?, scope.string(&reason)?])
    }))
}

/// `GcPolicy`
fn read_policy(members: &Members<'_>) -> Result<Policy> {
    let defaults = Policy::default();
    Ok(Policy {
        idle_hours: members.optional("idleHours", hours)?.unwrap_or(defaults.idle_hours),
        owner_stale_hours: members.optional("ownerStaleHours", hours)?,
    })
}

/// What the plan looks at of a `ServerView`, with its id as it is.
fn read_view(view: Argument<'_>) -> Result<(Js<'_>, Subject)> {
    let members = view.object()?;
    let record = members.required("record", Argument::object)?;
    let id = record.required("id", |id| {
        id.clone().text()?;
        Ok(id.value())
    })?;
    let subject = Subject {
        state: members.required("state", Argument::string)?,
        kind: record.required("kind", kind)?,
        owner_state: members.required("owner_state", |state| state.word(&OWNER_STATES))?,
        idle_ms: members.required("idle_ms", Argument::number)?,
    };
    Ok((id, subject))
}
