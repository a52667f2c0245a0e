//! Values that outlive the native call that brought them.

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

use std::ptr;

use napi::{sys, Result};

use super::{Js, Scope};

/// An object or function that is kept beyond the call that brought it, until this is dropped.
///
/// It stays on its environment's thread and is dropped before the environment ends: by its owner, or with
/// everything else that [`crate::node::instance::Instance`] holds.
pub(in crate::node) struct Kept {
    env: sys::napi_env,
    reference: sys::napi_ref,
}

impl Kept {
    pub(in crate::node) fn new(value: Js<'_>) -> Result<Kept> {
        let mut reference = ptr::null_mut();
        let env = value.scope().raw();
        // SAFETY: environment and value are of this call.
        let status = unsafe { sys::napi_create_reference(env, value.raw(), 1, &mut reference) };
        value.scope().check(status, "keeping a value")?;
        Ok(Kept { env, reference })
    }

    pub(in crate::node) fn get<'env>(&self, scope: Scope<'env>) -> Result<Js<'env>> {
        // SAFETY: the reference is strong and of this environment.
        scope.make("a kept value", |out| unsafe {
            sys::napi_get_reference_value(scope.raw(), self.reference, out)
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: a `Kept` is not `Send`, so this is its environment's thread; the environment has not ended (see above).
        unsafe { sys::napi_delete_reference(self.env, self.reference) };
    }
}
