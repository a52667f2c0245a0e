//! `AbortSignal`: the caller's way to call a task off.

use napi::Result;

use super::super::arguments::Argument;
use super::super::call::{rethrow, Callback};
use super::super::objects::Factory;
use super::super::value::{Js, Kept, Scope};

/// An `AbortSignal`, or what is like one.
#[derive(Clone, Copy)]
pub(in crate::node) struct AbortSignal<'env> {
    signal: Js<'env>,
}

impl<'env> AbortSignal<'env> {
    pub(in crate::node) fn read(argument: Argument<'env>) -> Result<Self> {
        let signal = argument.value();
        let fits = signal.is_object()
            && signal.get("aborted")?.as_boolean().is_some()
            && signal.get("addEventListener")?.is_function()
            && signal.get("removeEventListener")?.is_function();
        if fits {
            Ok(AbortSignal { signal })
        } else {
            Err(argument.wrong_type("an AbortSignal"))
        }
    }

    /// What it was aborted with; `None` while it is not.
    pub(super) fn reason(self) -> Result<Option<Js<'env>>> {
        if self.signal.get("aborted")?.is_truthy() {
            self.signal.get("reason").map(Some)
        } else {
            Ok(None)
        }
    }

    /// Call `abort(number)` when it is aborted.
    pub(super) fn listen(self, abort: Js<'env>, number: u64) -> Result<Listening> {
        const LISTEN: Factory = Factory(
            "(signal, abort, number) => {
                const listener = () => abort(number)
                signal.addEventListener('abort', listener, { once: true })
                return () => signal.removeEventListener('abort', listener)
            }",
        );
        let scope = self.signal.scope();
        let stop = LISTEN.call(scope, &[self.signal, abort, scope.number(number as f64)?])?;
        Ok(Listening { signal: Kept::new(self.signal)?, stop: Kept::new(stop)? })
    }
}

/// A signal that is listened to, until it is told not to.
pub(super) struct Listening {
    signal: Kept,
    stop: Kept,
}

impl Listening {
    /// The signal in this native call.
    pub(super) fn signal<'env>(&self, scope: Scope<'env>) -> Result<AbortSignal<'env>> {
        Ok(AbortSignal { signal: self.signal.get(scope)? })
    }

    pub(super) fn stop(&self, scope: Scope<'_>) -> Result<()> {
        let stop = Callback::new(self.stop.get(scope)?, scope.undefined()?);
        stop.call(&[]).map(drop).map_err(|thrown| rethrow(scope, thrown))
    }
}
