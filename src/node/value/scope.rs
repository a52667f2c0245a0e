//! One native call into an environment, and the values that it can make.

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

use std::marker::PhantomData;
use std::ptr;

use napi::{sys, Env, Error, Result, Status};

use super::Js;
use crate::javascript::text::Text;

/// One native call into an environment, on its thread. Values live as long as it.
#[derive(Clone, Copy)]
pub(in crate::node) struct Scope<'env> {
    raw: sys::napi_env,
    call: PhantomData<&'env Env>,
}

impl<'env> From<&'env Env> for Scope<'env> {
    fn from(env: &'env Env) -> Self {
        Scope { raw: env.raw(), call: PhantomData }
    }
}

impl<'env> Scope<'env> {
    /// # Safety
    /// `raw` is an environment that is inside a native call on this thread, which lasts for `'env`.
    pub(in crate::node) unsafe fn from_raw(raw: sys::napi_env) -> Self {
        Scope { raw, call: PhantomData }
    }

    pub(in crate::node) fn raw(self) -> sys::napi_env {
        self.raw
    }

    /// The result of a Node-API call: a pending exception stays pending and travels as [`Status::PendingException`].
    pub(in crate::node) fn check(self, status: sys::napi_status, what: &str) -> Result<()> {
        match status {
            sys::Status::napi_ok => Ok(()),
            sys::Status::napi_pending_exception => Err(pending()),
            other => Err(Error::new(Status::from(other), format!("{what} failed"))),
        }
    }

    /// The value that a Node-API call writes to its last argument.
    pub(in crate::node) fn make(
        self,
        what: &str,
        call: impl FnOnce(*mut sys::napi_value) -> sys::napi_status,
    ) -> Result<Js<'env>> {
        let mut value = ptr::null_mut();
        let status = call(&mut value);
        self.check(status, what)?;
        // SAFETY: the call has just made it.
        Ok(unsafe { Js::from_raw(self, value) })
    }

    pub(in crate::node) fn undefined(self) -> Result<Js<'env>> {
        // SAFETY: the environment is in a native call (so for every block of this file).
        self.make("undefined", |value| unsafe { sys::napi_get_undefined(self.raw, value) })
    }

    pub(in crate::node) fn null(self) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("null", |value| unsafe { sys::napi_get_null(self.raw, value) })
    }

    pub(in crate::node) fn boolean(self, value: bool) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("a boolean", |out| unsafe { sys::napi_get_boolean(self.raw, value, out) })
    }

    pub(in crate::node) fn number(self, value: f64) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("a number", |out| unsafe { sys::napi_create_double(self.raw, value, out) })
    }

    pub(in crate::node) fn string(self, text: &str) -> Result<Js<'env>> {
        let create = match text.is_ascii() {
            // The same characters, and nothing to decode: a few times faster for long texts.
            true => sys::napi_create_string_latin1,
            false => sys::napi_create_string_utf8,
        };
        // SAFETY: as above; pointer and length are of one `str`.
        self.make("a string", |out| unsafe {
            create(self.raw, text.as_ptr().cast(), text.len() as isize, out)
        })
    }

    /// `null` for nothing.
    pub(in crate::node) fn string_or_null(self, text: Option<&str>) -> Result<Js<'env>> {
        text.map_or_else(|| self.null(), |text| self.string(text))
    }

    /// A string as it is, lone surrogates included.
    pub(in crate::node) fn text(self, text: &Text) -> Result<Js<'env>> {
        if let Some(text) = text.to_str() {
            return self.string(text);
        }
        let units: Vec<u16> = text.units().collect();
        // SAFETY: as above; pointer and length are of one vector.
        self.make("a string", |out| unsafe {
            sys::napi_create_string_utf16(self.raw, units.as_ptr(), units.len() as isize, out)
        })
    }

    /// A `Buffer` with a copy of these bytes.
    pub(in crate::node) fn buffer(self, bytes: &[u8]) -> Result<Js<'env>> {
        let data = bytes.as_ptr().cast();
        // SAFETY: as above; pointer and length are of one slice.
        self.make("a buffer", |out| unsafe {
            sys::napi_create_buffer_copy(self.raw, bytes.len(), data, ptr::null_mut(), out)
        })
    }

    pub(in crate::node) fn array(
        self,
        items: impl ExactSizeIterator<Item = Result<Js<'env>>>,
    ) -> Result<Js<'env>> {
        // SAFETY: as above.
        let array = self.make("an array", |out| unsafe {
            sys::napi_create_array_with_length(self.raw, items.len(), out)
        })?;
        for (index, item) in (0..).zip(items) {
            // SAFETY: as above; both values are of this call.
            let status = unsafe { sys::napi_set_element(self.raw, array.raw(), index, item?.raw()) };
            self.check(status, "filling an array")?;
        }
        Ok(array)
    }

    /// Run a script in the environment's own realm.
    pub(in crate::node) fn run(self, script: &str) -> Result<Js<'env>> {
        let script = self.string(script)?;
        // SAFETY: as above; the script is a string of this call.
        self.make("a script", |out| unsafe { sys::napi_run_script(self.raw, script.raw(), out) })
    }

    /// Take the exception that is pending, so that JavaScript can be called again.
    pub(in crate::node) fn take_exception(self) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("the exception", |out| unsafe { sys::napi_get_and_clear_last_exception(self.raw, out) })
    }

    /// Throw a value. The error to return says that it is pending.
    pub(in crate::node) fn throw(self, value: Js<'env>) -> Error {
        // SAFETY: as above; the value is of this call.
        match unsafe { sys::napi_throw(self.raw, value.raw()) } {
            sys::Status::napi_ok => pending(),
            status => Error::new(Status::from(status), "an exception could not be thrown"),
        }
    }
}

/// What is returned while an exception is pending.
fn pending() -> Error {
    Error::new(Status::PendingException, "")
}
