//! Promises without a thread each: a [`Task`] goes on between its pauses on the JavaScript thread, and the one waiting
//! thread of the process only tells when a pause is over.
//!
//! The environment stays alive for as long as a task of it is unsettled. It may end before: then its tasks are
//! dropped, and a pause that is over later finds the [`Door`] shut.

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

mod door;
mod signal;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use napi::{sys, Result};

use super::errors::{exception, guarded, raise, Failure};
use super::instance::Instance;
use super::native::native;
use super::value::{Js, Scope};
use crate::clock::waiting::{close_now, Waiting};
use crate::clock::Pause;
use crate::files::PathError;
use door::Door;
pub(super) use signal::AbortSignal;
use signal::Listening;

/// Work that goes on between pauses.
pub(super) trait Task {
    /// Go on: at once when the task begins, then after each pause. An error rejects the promise.
    fn advance<'env>(&mut self, scope: Scope<'env>) -> Result<Step<'env>>;

    /// The caller's signal was aborted between two steps: undo what is half done. The promise is rejected with the
    /// signal's reason, and the task is dropped. (An environment that ends only drops it.)
    fn abort(&mut self, scope: Scope<'_>);
}

/// How far a task has come.
pub(super) enum Step<'env> {
    /// The promise's value.
    Done(Js<'env>),
    /// Go on after this pause.
    Wait(Pause),
}

/// The promise of a task. Whatever `begin` refuses (arguments, mostly) rejects it, as in an `async` function.
pub(super) fn promise<'env, T: Task + 'static>(
    scope: Scope<'env>,
    begin: impl FnOnce() -> Result<(T, Option<AbortSignal<'env>>)>,
) -> Result<Js<'env>> {
    let instance = Instance::of(scope)?;
    let (promise, deferred) = new_promise(scope)?;
    let begun =
        begin().and_then(|(task, signal)| match signal.map(AbortSignal::reason).transpose()?.flatten() {
            Some(reason) => Err(scope.throw(reason)),
            None => instance.waits.add(scope, Box::new(task), deferred, signal),
        });
    match begun {
        Ok(number) => instance.waits.advance(scope, number)?,
        Err(error) => settle(scope, deferred, Err(error))?,
    }
    Ok(promise)
}

/// The tasks of one environment.
#[derive(Default)]
pub(super) struct Waits {
    last: Cell<u64>,
    tasks: RefCell<BTreeMap<u64, Entry>>,
    /// Which task each wait is for. A wait that is not here was called off.
    awaited: RefCell<BTreeMap<u64, u64>>,
    door: RefCell<Option<Arc<Door>>>,
}

struct Entry {
    /// Away while it advances.
    task: Option<Box<dyn Task>>,
    waiting: Option<(u64, Waiting)>,
    deferred: sys::napi_deferred,
    listening: Option<Rc<Listening>>,
    /// The signal was aborted while the task was advancing.
    aborted: bool,
}

impl Waits {
    fn add<'env>(
        &self,
        scope: Scope<'env>,
        task: Box<dyn Task>,
        deferred: sys::napi_deferred,
        signal: Option<AbortSignal<'env>>,
    ) -> Result<u64> {
        let number = self.next();
        let listening = match signal {
            Some(signal) => {
                let listening = signal.listen(native(scope, aborted)?, number)?;
                // Aborted while we began to listen: nobody heard it.
                if let Some(reason) = signal.reason()? {
                    listening.stop(scope)?;
                    return Err(scope.throw(reason));
                }
                Some(Rc::new(listening))
            }
            None => None,
        };
        let entry = Entry { task: Some(task), waiting: None, deferred, listening, aborted: false };
        self.tasks.borrow_mut().insert(number, entry);
        Ok(number)
    }

    fn next(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    /// Let a task go on, and see to what it says. No table is borrowed while JavaScript may run.
    fn advance(&self, scope: Scope<'_>, number: u64) -> Result<()> {
        let task = self.tasks.borrow_mut().get_mut(&number).and_then(|entry| entry.task.take());
        let Some(mut task) = task else { return Ok(()) };
        let pause = match guarded(scope, || task.advance(scope)) {
            Ok(Step::Wait(pause)) => pause,
            Ok(Step::Done(value)) => return self.finish(scope, number, Ok(value)),
            Err(error) => return self.finish(scope, number, Err(error)),
        };
        let aborted = self.tasks.borrow().get(&number).is_some_and(|entry| entry.aborted);
        if aborted {
            return self.call_off(scope, number, task);
        }
        match self.wait(scope, number, &pause) {
            Ok(waiting) => {
                if let Some(entry) = self.tasks.borrow_mut().get_mut(&number) {
                    entry.task = Some(task);
                    entry.waiting = Some(waiting);
                }
                Ok(())
            }
            Err(error) => {
                // Taken first: while an exception is pending, the task could not call JavaScript.
                let exception = exception(scope, error)?;
                stop(scope, task)?;
                self.finish(scope, number, Err(scope.throw(exception)))
            }
        }
    }

    fn wait(&self, scope: Scope<'_>, number: u64, pause: &Pause) -> Result<(u64, Waiting)> {
        let wait = self.next();
        let door = self.door(scope)?;
        door.hold(scope, true)?;
        let waiting = Waiting::begin(pause, move || door.knock(wait))
            .map_err(|error| raise(scope, PathError::new("epoll_ctl", "", error)))?;
        self.awaited.borrow_mut().insert(wait, number);
        Ok((wait, waiting))
    }

    /// A pause is over.
    fn over(&self, scope: Scope<'_>, wait: u64) -> Result<()> {
        let Some(number) = self.awaited.borrow_mut().remove(&wait) else { return Ok(()) };
        let waiting = self.tasks.borrow_mut().get_mut(&number).and_then(|entry| entry.waiting.take());
        if let Some((_, waiting)) = waiting {
            waiting.close_later();
        }
        self.advance(scope, number)
    }

    /// A signal was aborted.
    fn abort(&self, scope: Scope<'_>, number: u64) -> Result<()> {
        let task = match self.tasks.borrow_mut().get_mut(&number) {
            Some(entry) => {
                entry.aborted = true;
                entry.task.take()
            }
            None => None,
        };
        // A task that is away is advancing further down this very stack; it is called off at its next pause.
        task.map_or(Ok(()), |task| self.call_off(scope, number, task))
    }

    fn call_off(&self, scope: Scope<'_>, number: u64, task: Box<dyn Task>) -> Result<()> {
        stop(scope, task)?;
        let listening = self.tasks.borrow().get(&number).and_then(|entry| entry.listening.clone());
        let reason = match listening {
            Some(listening) => listening.signal(scope).and_then(AbortSignal::reason),
            None => Ok(None),
        };
        let error = match reason {
            Ok(Some(reason)) => scope.throw(reason),
            Ok(None) => raise(scope, Failure::WrongValue("the signal is not aborted any more".to_owned())),
            Err(error) => error,
        };
        self.finish(scope, number, Err(error))
    }

    /// Settle a task's promise and forget the task.
    fn finish<'env>(&self, scope: Scope<'env>, number: u64, outcome: Result<Js<'env>>) -> Result<()> {
        let Some(entry) = self.tasks.borrow_mut().remove(&number) else { return Ok(()) };
        if let Some((wait, _called_off)) = &entry.waiting {
            self.awaited.borrow_mut().remove(wait);
        }
        let settled = settle(scope, entry.deferred, outcome);
        if let Some(listening) = &entry.listening {
            listening.stop(scope).or_else(|_| scope.take_exception().map(drop))?;
        }
        if self.tasks.borrow().is_empty() {
            if let Some(door) = &*self.door.borrow() {
                door.hold(scope, false)?;
            }
        }
        settled
    }

    /// The environment ends: nothing can be settled any more.
    pub(super) fn end(&self) {
        self.awaited.take();
        drop(self.tasks.take());
        close_now();
    }

    fn door(&self, scope: Scope<'_>) -> Result<Arc<Door>> {
        if let Some(door) = &*self.door.borrow() {
            return Ok(Arc::clone(door));
        }
        let door = Door::open(scope)?;
        *self.door.borrow_mut() = Some(Arc::clone(&door));
        Ok(door)
    }
}

/// Let a task undo what is half done. What goes wrong there changes nothing for the promise, which has its reason.
fn stop(scope: Scope<'_>, mut task: Box<dyn Task>) -> Result<()> {
    let stopped = guarded(scope, || {
        task.abort(scope);
        Ok(())
    });
    stopped.or_else(|error| exception(scope, error).map(drop))
}

/// JavaScript's `abort(number)`.
fn aborted<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let number = arguments.first().and_then(|number| number.as_number()).unwrap_or_default();
    Instance::of(scope)?.waits.abort(scope, number as u64)?;
    scope.undefined()
}

fn new_promise(scope: Scope<'_>) -> Result<(Js<'_>, sys::napi_deferred)> {
    let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the environment is in a native call.
    let status = unsafe { sys::napi_create_promise(scope.raw(), &mut deferred, &mut promise) };
    scope.check(status, "a promise")?;
    // SAFETY: the call has just made it.
    Ok((unsafe { Js::from_raw(scope, promise) }, deferred))
}

/// Settle a promise: with a value, with the exception that is pending, or with the binding's own failure.
fn settle<'env>(scope: Scope<'env>, deferred: sys::napi_deferred, outcome: Result<Js<'env>>) -> Result<()> {
    let (settle, value) = match outcome {
        Ok(value) => (sys::napi_resolve_deferred as Settle, value),
        Err(error) => (sys::napi_reject_deferred as Settle, exception(scope, error)?),
    };
    // SAFETY: the environment is in a native call, and nobody else settles this promise.
    let status = unsafe { settle(scope.raw(), deferred, value.raw()) };
    scope.check(status, "settling a promise")
}

type Settle = unsafe fn(sys::napi_env, sys::napi_deferred, sys::napi_value) -> sys::napi_status;
