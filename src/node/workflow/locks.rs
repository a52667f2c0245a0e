//! The resume locks that JavaScript holds functions of.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use napi::Result;

use crate::host::Host;
use crate::node::instance::{host, Instance};
use crate::node::native::native;
use crate::node::objects::Factory;
use crate::node::value::{Js, Scope};
use crate::workflow::resume::ResumeLock;

#[derive(Default)]
pub(super) struct Locks {
    last: Cell<u64>,
    held: RefCell<BTreeMap<u64, Held>>,
}

/// A lock that is given back by its function, or when its worker ends: its process lives on, and nobody else may remove
/// it. With the main thread the process ends, and leaves it to an audited recovery.
struct Held {
    lock: ResumeLock,
    host: Host,
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.host.processes.outlives_this_thread() {
            // What was given back is not there any more: nothing of others is touched.
            self.lock.release();
        }
    }
}

impl Locks {
    pub(super) fn of(scope: Scope<'_>) -> Result<Rc<Locks>> {
        Ok(Instance::of(scope)?.part())
    }

    /// The function that gives a lock back. When none can be made (no stack is left, say), the lock is given back: nobody
    /// would have anything to do it by.
    pub(super) fn hand_out<'env>(&self, scope: Scope<'env>, lock: ResumeLock) -> Result<Js<'env>> {
        let host = host(scope)?;
        self.last.set(self.last.get() + 1);
        let function = function_for(scope, self.last.get());
        match function {
            Ok(_) => drop(self.held.borrow_mut().insert(self.last.get(), Held { lock, host })),
            // Best effort: the failure that is reported is the first one.
            Err(_) => drop(lock.release()),
        }
        function
    }
}

fn function_for(scope: Scope<'_>, number: u64) -> Result<Js<'_>> {
    const RELEASE: Factory = Factory("(release, number) => () => { release(number) }");
    RELEASE.call(scope, &[native(scope, release)?, scope.number(number as f64)?])
}

/// JavaScript's `release(number)`. Releasing again finds nothing, which is fine, or tries once more what has failed.
fn release<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let number = arguments.first().and_then(|number| number.as_number()).unwrap_or_default() as u64;
    let locks = Locks::of(scope)?;
    let mut held = locks.held.borrow_mut();
    if held.get(&number).is_some_and(|held| held.lock.release()) {
        held.remove(&number);
    }
    scope.undefined()
}
