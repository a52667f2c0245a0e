//! A recovery that was begun, as an object of JavaScript's: all that it is stands in a closure, nothing is held here.

use napi::Result;

use super::{done, Run};
use crate::files::Sharing;
use crate::javascript::json::Value;
use crate::node::arguments::Argument;
use crate::node::instance::host;
use crate::node::native::native;
use crate::node::objects::{js_to_value, Factory};
use crate::node::paths::{given_back, held};
use crate::node::value::{Js, Scope};
use crate::workflow::audit::{self, Audit, Request};

const RECOVERY: Factory = Factory(
    "(assert, complete, ...audit) => {
        let completed = false
        return {
            intent: parse(audit[1]),
            assertCurrent() { assert(...audit) },
            complete() {
                if (completed) return
                complete(...audit)
                completed = true
            },
        }
    }",
);

pub(super) fn begin<'env>(scope: Scope<'env>, coord_root: Js<'env>, input: Js<'env>) -> Result<Js<'env>> {
    let input = Argument::new(input, "input").object()?;
    let run =
        input.required("run_id", |run_id| Run::of(scope, Argument::new(coord_root, "coordRoot"), run_id))?;
    let action = input.required("action", Argument::string)?;
    let target_sha256 = input.required("target_sha256", Argument::string)?;
    let target = input.optional("target", json)?.unwrap_or(Value::Null);
    let actor = input.required("actor", Argument::string)?;
    let reason = input.required("reason", Argument::string)?;
    let request =
        Request { action: &action, target_sha256: &target_sha256, target, actor: &actor, reason: &reason };
    let sharing = run.sharing()?;
    let begun = done(scope, audit::begin(&run.host, &run.coord_root, &run.id, &request, sharing))?;
    RECOVERY.call(
        scope,
        &[
            native(scope, assert_current)?,
            native(scope, complete)?,
            held(scope, &begun.path)?,
            scope.string(&begun.text)?,
            scope.boolean(begun.sharing == Sharing::Group)?,
        ],
    )
}

/// What JSON can hold. Evidence that it cannot is refused, not left out.
fn json(target: Argument<'_>) -> Result<Value> {
    js_to_value(&target)?.ok_or_else(|| target.wrong_type("a value that JSON can hold"))
}

/// JavaScript's `assert(path, text, isShared)`.
fn assert_current<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    done(scope, given(arguments).assert_current(&host(scope)?))?;
    scope.undefined()
}

/// JavaScript's `complete(path, text, isShared)`.
fn complete<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    done(scope, given(arguments).complete(&host(scope)?))?;
    scope.undefined()
}

/// What the closure holds.
fn given(arguments: &[Js<'_>]) -> Audit {
    let text = arguments.get(1).and_then(|text| text.as_string());
    let is_shared = arguments.get(2).and_then(|shared| shared.as_boolean()) == Some(true);
    Audit {
        path: given_back(arguments.first()),
        text: text.unwrap_or_default(),
        sharing: if is_shared { Sharing::Group } else { Sharing::Private },
    }
}
