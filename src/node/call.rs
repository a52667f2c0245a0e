//! The caller's functions: called with the right `this`, and whatever they throw kept as the value that it is.
//!
//! napi's own `Function::call` turns what is thrown into an error of its own (a thrown string is lost, an error
//! with a cyclic `cause` recurses without end). Here the exception is taken, and the very same value is thrown again.

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

use std::ptr;

use napi::{sys, Error, Result, Status};

use super::value::{Js, Kept, Scope};
use crate::javascript::Thrown;

/// A function that the caller gave, with the object that it was a member of.
#[derive(Clone, Copy)]
pub(super) struct Callback<'env> {
    function: Js<'env>,
    this: Js<'env>,
}

impl<'env> Callback<'env> {
    /// `function` is known to be one; `this` is `undefined` for a plain argument.
    pub(super) fn new(function: Js<'env>, this: Js<'env>) -> Self {
        Callback { function, this }
    }

    /// The function, to be handed on to JavaScript.
    pub(super) fn function(&self) -> Js<'env> {
        self.function
    }

    pub(super) fn scope(&self) -> Scope<'env> {
        self.function.scope()
    }

    /// Call it. What it throws comes back as the value that it is, to be thrown on or judged.
    pub(super) fn call(&self, arguments: &[Js<'env>]) -> std::result::Result<Js<'env>, Thrown> {
        let scope = self.scope();
        let raw: Vec<_> = arguments.iter().map(|argument| argument.raw()).collect();
        let mut result = ptr::null_mut();
        // SAFETY: everything is of this native call; pointer and length are of one vector.
        let status = unsafe {
            let (this, function) = (self.this.raw(), self.function.raw());
            sys::napi_call_function(scope.raw(), this, function, raw.len(), raw.as_ptr(), &mut result)
        };
        match status {
            // SAFETY: the call has just made it.
            sys::Status::napi_ok => Ok(unsafe { Js::from_raw(scope, result) }),
            sys::Status::napi_pending_exception => Err(take(scope)),
            other => Err(Thrown::new(Raised::Status(Status::from(other)))),
        }
    }

    /// Keep it for later calls from the event loop.
    pub(super) fn keep(&self) -> Result<KeptCallback> {
        let this = if self.this.is_object() { Some(Kept::new(self.this)?) } else { None };
        Ok(KeptCallback { function: Kept::new(self.function)?, this })
    }
}

/// A caller's function that is kept beyond the call that brought it.
pub(super) struct KeptCallback {
    function: Kept,
    this: Option<Kept>,
}

impl KeptCallback {
    /// The function in this native call.
    pub(super) fn get<'env>(&self, scope: Scope<'env>) -> Result<Callback<'env>> {
        let this = self.this.as_ref().map_or_else(|| scope.undefined(), |this| this.get(scope))?;
        Ok(Callback { function: self.function.get(scope)?, this })
    }
}

/// What a [`Thrown`] of the core holds; made and taken back within one native call.
enum Raised {
    Value(sys::napi_value),
    /// JavaScript could not be called (its environment is ending).
    Status(Status),
}

/// Take the pending exception as a value of the core.
pub(super) fn take(scope: Scope<'_>) -> Thrown {
    match scope.take_exception() {
        Ok(value) => Thrown::new(Raised::Value(value.raw())),
        Err(error) => Thrown::new(Raised::Status(error.status)),
    }
}

/// A failure of the binding on its way through the core: an exception that it left pending, or its own.
pub(super) fn thrown_by(scope: Scope<'_>, error: Error) -> Thrown {
    match error.status {
        Status::PendingException => take(scope),
        status => Thrown::new(Raised::Status(status)),
    }
}

/// Throw the very same value again.
pub(super) fn rethrow(scope: Scope<'_>, thrown: Thrown) -> Error {
    match thrown.0.downcast::<Raised>().map(|raised| *raised) {
        // SAFETY: the value was taken in this same native call.
        Ok(Raised::Value(value)) => scope.throw(unsafe { Js::from_raw(scope, value) }),
        Ok(Raised::Status(status)) => Error::new(status, "JavaScript could not be called"),
        Err(_) => Error::new(Status::GenericFailure, "a thrown value that is not JavaScript's"),
    }
}

/// The own or inherited `code` of a thrown value, where it is a string. Getters that throw count as none.
pub(super) fn code_of(scope: Scope<'_>, thrown: &Thrown) -> Option<String> {
    let Some(Raised::Value(value)) = thrown.0.downcast_ref::<Raised>() else { return None };
    // SAFETY: the value was taken in this same native call.
    let value = unsafe { Js::from_raw(scope, *value) };
    if !value.is_object() {
        return None;
    }
    match value.get("code") {
        Ok(code) => code.as_string(),
        Err(_) => {
            // Taking it is what clears it; what it was does not matter here.
            let _ = scope.take_exception();
            None
        }
    }
}
