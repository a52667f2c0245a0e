//! Native functions that JavaScript's own closures share.
//!
//! One function made for each handle would leave the garbage collector a finalizer for each; a closure of
//! JavaScript's own over one shared function leaves nothing.

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

use std::ffi::c_void;
use std::ptr;

use napi::{sys, Result};

use super::errors::{exception, guarded};
use super::instance::Instance;
use super::value::{Js, Scope};

/// The body of a native function: the environment and the arguments, at most eight.
pub(super) type Body = for<'env> fn(Scope<'env>, &[Js<'env>]) -> Result<Js<'env>>;

/// The function with this body, made at its first use in each environment.
pub(super) fn native<'env>(scope: Scope<'env>, body: Body) -> Result<Js<'env>> {
    Instance::of(scope)?.remembered(scope, body as usize, || {
        let data = body as *mut c_void;
        // SAFETY: the environment is in a native call; `data` is what `enter` takes it for.
        scope.make("a native function", |out| unsafe {
            sys::napi_create_function(scope.raw(), ptr::null(), 0, Some(enter), data, out)
        })
    })
}

unsafe extern "C" fn enter(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let (mut raw, mut count, mut data) = ([ptr::null_mut(); 8], 8, ptr::null_mut());
    // SAFETY: Node calls this as a native call with its own `info`; the buffer has room for the eight that it is said
    // to have.
    let (scope, read) = unsafe {
        let read = sys::napi_get_cb_info(env, info, &mut count, raw.as_mut_ptr(), ptr::null_mut(), &mut data);
        (Scope::from_raw(env), read)
    };
    if read != sys::Status::napi_ok {
        return ptr::null_mut();
    }
    // SAFETY: `native` has put it there; the values are of this call.
    let (body, arguments) = unsafe {
        let arguments: Vec<_> = raw.iter().take(count).map(|raw| Js::from_raw(scope, *raw)).collect();
        (std::mem::transmute::<*mut c_void, Body>(data), arguments)
    };
    match guarded(scope, || body(scope, &arguments)) {
        Ok(value) => value.raw(),
        Err(error) => {
            // Thrown again, or thrown at last: JavaScript sees it when this returns.
            if let Ok(exception) = exception(scope, error) {
                let _ = scope.throw(exception);
            }
            ptr::null_mut()
        }
    }
}
