//! An acquisition that waits, as a promise.

use std::time::Duration;

use napi::Result;

use super::done;
use super::handles::Handles;
use super::input::{Given, KeptFunctions};
use crate::lease::{Progress, Waiter};
use crate::node::arguments::Argument;
use crate::node::instance::host;
use crate::node::value::{Js, Scope};
use crate::node::waits::{AbortSignal, Step, Task};

pub(super) struct Waiting {
    waiter: Waiter,
    functions: KeptFunctions,
}

/// Read the request and check it. Nothing is written yet.
pub(super) fn begin<'env>(
    scope: Scope<'env>,
    input: Js<'env>,
) -> Result<(Waiting, Option<AbortSignal<'env>>)> {
    let members = Argument::new(input, "input").object()?;
    let given = Given::read(scope, &members)?;
    let wait = members.optional("waitMs", Argument::milliseconds)?.unwrap_or(Duration::ZERO);
    let signal = members.optional("signal", AbortSignal::read)?;
    let waiter = done(scope, Waiter::begin(&host(scope)?, &given.input, &given.functions, wait))?;
    Ok((Waiting { waiter, functions: given.functions.keep()? }, signal))
}

impl Task for Waiting {
    fn advance<'env>(&mut self, scope: Scope<'env>) -> Result<Step<'env>> {
        let functions = self.functions.get(scope)?;
        match done(scope, self.waiter.advance(&host(scope)?, &functions))? {
            Progress::Done(lease) => Handles::of(scope)?.hand_out(scope, lease).map(Step::Done),
            Progress::Wait(pause) => Ok(Step::Wait(pause)),
        }
    }

    fn abort(&mut self, _scope: Scope<'_>) {
        self.waiter.abort();
    }
}

impl Drop for Waiting {
    /// An environment that ends in the middle of a recovery leaves its process alive: a claim of it would stand in
    /// everyone's way until that ends, too.
    fn drop(&mut self) {
        self.waiter.abort();
    }
}
