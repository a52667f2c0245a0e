//! JavaScript values: of this native call ([`Js`]), and kept beyond it ([`Kept`]).

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

use std::marker::PhantomData;
use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, Object, ToNapiValue, TypeName, ValidateNapiValue};
use napi::{sys, Env, Error, JsValue, Result, Status, ValueType};

use crate::javascript::text::Text;

/// One native call into an environment, on its thread. Values live as long as it.
#[derive(Clone, Copy)]
pub(super) struct Scope<'env> {
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
    pub(super) unsafe fn from_raw(raw: sys::napi_env) -> Self {
        Scope { raw, call: PhantomData }
    }

    pub(super) fn raw(self) -> sys::napi_env {
        self.raw
    }

    /// The result of a Node-API call: a pending exception stays pending and travels as [`Status::PendingException`].
    pub(super) fn check(self, status: sys::napi_status, what: &str) -> Result<()> {
        match status {
            sys::Status::napi_ok => Ok(()),
            sys::Status::napi_pending_exception => Err(pending()),
            other => Err(Error::new(Status::from(other), format!("{what} failed"))),
        }
    }

    /// The value that a Node-API call writes to its last argument.
    pub(super) fn make(
        self,
        what: &str,
        call: impl FnOnce(*mut sys::napi_value) -> sys::napi_status,
    ) -> Result<Js<'env>> {
        let mut value = ptr::null_mut();
        let status = call(&mut value);
        self.check(status, what)?;
        Ok(Js { scope: self, raw: value })
    }

    pub(super) fn undefined(self) -> Result<Js<'env>> {
        // SAFETY: the environment is in a native call (so for every block of this file).
        self.make("undefined", |value| unsafe { sys::napi_get_undefined(self.raw, value) })
    }

    pub(super) fn null(self) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("null", |value| unsafe { sys::napi_get_null(self.raw, value) })
    }

    pub(super) fn boolean(self, value: bool) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("a boolean", |out| unsafe { sys::napi_get_boolean(self.raw, value, out) })
    }

    pub(super) fn number(self, value: f64) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("a number", |out| unsafe { sys::napi_create_double(self.raw, value, out) })
    }

    pub(super) fn string(self, text: &str) -> Result<Js<'env>> {
        // SAFETY: as above; pointer and length are of one `str`.
        self.make("a string", |out| unsafe {
            sys::napi_create_string_utf8(self.raw, text.as_ptr().cast(), text.len() as isize, out)
        })
    }

    /// `null` for nothing.
    pub(super) fn string_or_null(self, text: Option<&str>) -> Result<Js<'env>> {
        text.map_or_else(|| self.null(), |text| self.string(text))
    }

    /// A string as it is, lone surrogates included.
    pub(super) fn text(self, text: &Text) -> Result<Js<'env>> {
        if let Some(text) = text.to_str() {
            return self.string(text);
        }
        let units: Vec<u16> = text.units().collect();
        // SAFETY: as above; pointer and length are of one vector.
        self.make("a string", |out| unsafe {
            sys::napi_create_string_utf16(self.raw, units.as_ptr(), units.len() as isize, out)
        })
    }

    pub(super) fn array(self, items: impl ExactSizeIterator<Item = Result<Js<'env>>>) -> Result<Js<'env>> {
        // SAFETY: as above.
        let array = self.make("an array", |out| unsafe {
            sys::napi_create_array_with_length(self.raw, items.len(), out)
        })?;
        for (index, item) in (0..).zip(items) {
            // SAFETY: as above; both values are of this call.
            let status = unsafe { sys::napi_set_element(self.raw, array.raw, index, item?.raw) };
            self.check(status, "filling an array")?;
        }
        Ok(array)
    }

    pub(super) fn global(self) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("the global object", |out| unsafe { sys::napi_get_global(self.raw, out) })
    }

    /// Run a script in the environment's own realm.
    pub(super) fn run(self, script: &str) -> Result<Js<'env>> {
        let script = self.string(script)?;
        // SAFETY: as above; the script is a string of this call.
        self.make("a script", |out| unsafe { sys::napi_run_script(self.raw, script.raw, out) })
    }

    /// Take the exception that is pending, so that JavaScript can be called again.
    pub(super) fn take_exception(self) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.make("the exception", |out| unsafe { sys::napi_get_and_clear_last_exception(self.raw, out) })
    }

    /// Throw a value. The error to return says that it is pending.
    pub(super) fn throw(self, value: Js<'env>) -> Error {
        // SAFETY: as above; the value is of this call.
        match unsafe { sys::napi_throw(self.raw, value.raw) } {
            sys::Status::napi_ok => pending(),
            status => Error::new(Status::from(status), "an exception could not be thrown"),
        }
    }
}

/// What is returned while an exception is pending.
fn pending() -> Error {
    Error::new(Status::PendingException, "")
}

/// A JavaScript value of this native call.
#[derive(Clone, Copy)]
pub(super) struct Js<'env> {
    scope: Scope<'env>,
    raw: sys::napi_value,
}

impl<'env> Js<'env> {
    /// # Safety
    /// `raw` is a value of this call.
    pub(super) unsafe fn from_raw(scope: Scope<'env>, raw: sys::napi_value) -> Self {
        Js { scope, raw }
    }

    pub(super) fn from_object(scope: Scope<'env>, object: &Object<'env>) -> Self {
        Js { scope, raw: object.raw() }
    }

    pub(super) fn scope(self) -> Scope<'env> {
        self.scope
    }

    pub(super) fn raw(self) -> sys::napi_value {
        self.raw
    }

    /// `typeof`, with `null` apart.
    pub(super) fn kind(self) -> ValueType {
        let mut kind = 0;
        // SAFETY: environment and value are of this call (so for every block of this file).
        match unsafe { sys::napi_typeof(self.scope.raw, self.raw, &mut kind) } {
            sys::Status::napi_ok => ValueType::from(kind),
            _ => ValueType::Unknown,
        }
    }

    pub(super) fn is_undefined(self) -> bool {
        self.kind() == ValueType::Undefined
    }

    pub(super) fn is_null(self) -> bool {
        self.kind() == ValueType::Null
    }

    pub(super) fn is_function(self) -> bool {
        self.kind() == ValueType::Function
    }

    /// What may have members: an object or a function.
    pub(super) fn is_object(self) -> bool {
        matches!(self.kind(), ValueType::Object | ValueType::Function)
    }

    pub(super) fn is_array(self) -> bool {
        // SAFETY: as above.
        self.truth(|out| unsafe { sys::napi_is_array(self.scope.raw, self.raw, out) })
    }

    pub(super) fn is_date(self) -> bool {
        // SAFETY: as above.
        self.truth(|out| unsafe { sys::napi_is_date(self.scope.raw, self.raw, out) })
    }

    fn truth(self, ask: impl FnOnce(*mut bool) -> sys::napi_status) -> bool {
        let mut answer = false;
        ask(&mut answer) == sys::Status::napi_ok && answer
    }

    /// JavaScript's own truth of the value.
    pub(super) fn is_truthy(self) -> bool {
        let mut value = ptr::null_mut();
        // SAFETY: as above.
        let made = unsafe { sys::napi_coerce_to_bool(self.scope.raw, self.raw, &mut value) };
        made == sys::Status::napi_ok && Js { scope: self.scope, raw: value }.as_boolean() == Some(true)
    }

    pub(super) fn as_boolean(self) -> Option<bool> {
        let mut value = false;
        // SAFETY: as above.
        let status = unsafe { sys::napi_get_value_bool(self.scope.raw, self.raw, &mut value) };
        (status == sys::Status::napi_ok).then_some(value)
    }

    pub(super) fn as_number(self) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: as above.
        let status = unsafe { sys::napi_get_value_double(self.scope.raw, self.raw, &mut value) };
        (status == sys::Status::napi_ok).then_some(value)
    }

    /// A date's time, in milliseconds since the epoch; NaN for an invalid one.
    pub(super) fn as_date(self) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: as above.
        let status = unsafe { sys::napi_get_date_value(self.scope.raw, self.raw, &mut value) };
        (status == sys::Status::napi_ok).then_some(value)
    }

    /// The string as UTF-8, a lone surrogate as U+FFFD.
    pub(super) fn as_string(self) -> Option<String> {
        let mut short = [0_u8; 256];
        let size = self.read_utf8(&mut short)?;
        // A whole string leaves room for the longest character; a cut one does not.
        if size + 4 < short.len() {
            return String::from_utf8(short[..size].to_vec()).ok();
        }
        let mut length = 0;
        // SAFETY: as above; without a buffer only the length is written.
        unsafe { sys::napi_get_value_string_utf8(self.scope.raw, self.raw, ptr::null_mut(), 0, &mut length) };
        let mut bytes = vec![0_u8; length + 1];
        let size = self.read_utf8(&mut bytes)?;
        bytes.truncate(size);
        String::from_utf8(bytes).ok()
    }

    fn read_utf8(self, buffer: &mut [u8]) -> Option<usize> {
        let mut size = 0;
        // SAFETY: as above; pointer and length are of one buffer.
        let status = unsafe {
            let start = buffer.as_mut_ptr().cast();
            sys::napi_get_value_string_utf8(self.scope.raw, self.raw, start, buffer.len(), &mut size)
        };
        (status == sys::Status::napi_ok).then_some(size)
    }

    /// The string as it is, lone surrogates included.
    pub(super) fn as_text(self) -> Option<Text> {
        let mut length = 0;
        // SAFETY: as above; without a buffer only the length is written.
        let status = unsafe {
            sys::napi_get_value_string_utf16(self.scope.raw, self.raw, ptr::null_mut(), 0, &mut length)
        };
        if status != sys::Status::napi_ok {
            return None;
        }
        let mut units = vec![0_u16; length + 1];
        // SAFETY: as above; pointer and length are of one vector.
        unsafe {
            let start = units.as_mut_ptr();
            sys::napi_get_value_string_utf16(self.scope.raw, self.raw, start, units.len(), &mut length)
        };
        units.truncate(length);
        Some(units.into_iter().collect())
    }

    /// A member, through getters and proxies; what they throw stays pending.
    pub(super) fn get(self, name: &str) -> Result<Js<'env>> {
        // As a C string: Node keeps these as property names, which are found in half the time.
        let mut short = [0_u8; 64];
        if name.len() >= short.len() || name.contains('\0') {
            return self.get_key(self.scope.string(name)?);
        }
        short[..name.len()].copy_from_slice(name.as_bytes());
        // SAFETY: as above; the name ends with the zero that the buffer was full of.
        self.scope.make(name, |out| unsafe {
            sys::napi_get_named_property(self.scope.raw, self.raw, short.as_ptr().cast(), out)
        })
    }

    /// `Object.hasOwn`
    pub(super) fn owns(self, name: &str) -> Result<bool> {
        let key = self.scope.string(name)?;
        let mut owns = false;
        // SAFETY: as above.
        let status = unsafe { sys::napi_has_own_property(self.scope.raw, self.raw, key.raw, &mut owns) };
        self.scope.check(status, name)?;
        Ok(owns)
    }

    pub(super) fn get_index(self, index: u32) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.scope
            .make("an element", |out| unsafe { sys::napi_get_element(self.scope.raw, self.raw, index, out) })
    }

    pub(super) fn length(self) -> Result<u32> {
        let mut length = 0;
        // SAFETY: as above.
        let status = unsafe { sys::napi_get_array_length(self.scope.raw, self.raw, &mut length) };
        self.scope.check(status, "reading an array's length")?;
        Ok(length)
    }

    /// The object's own enumerable string keys, in JavaScript's order.
    pub(super) fn keys(self) -> Result<Vec<Js<'env>>> {
        // SAFETY: as above.
        let keys = self.scope.make("keys", |out| unsafe {
            sys::napi_get_all_property_names(
                self.scope.raw,
                self.raw,
                sys::KeyCollectionMode::own_only,
                sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols,
                sys::KeyConversion::numbers_to_strings,
                out,
            )
        })?;
        (0..keys.length()?).map(|index| keys.get_index(index)).collect()
    }

    /// The member that a string value names.
    pub(super) fn get_key(self, key: Js<'env>) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.scope
            .make("a member", |out| unsafe { sys::napi_get_property(self.scope.raw, self.raw, key.raw, out) })
    }

    pub(super) fn set(self, name: &str, value: Js<'env>) -> Result<()> {
        let key = self.scope.string(name)?;
        // SAFETY: as above.
        let status = unsafe { sys::napi_set_property(self.scope.raw, self.raw, key.raw, value.raw) };
        self.scope.check(status, name)
    }
}

impl TypeName for Js<'_> {
    fn type_name() -> &'static str {
        "unknown"
    }

    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl ValidateNapiValue for Js<'_> {}

impl FromNapiValue for Js<'_> {
    unsafe fn from_napi_value(env: sys::napi_env, raw: sys::napi_value) -> Result<Self> {
        Ok(Js { scope: Scope { raw: env, call: PhantomData }, raw })
    }
}

impl ToNapiValue for Js<'_> {
    unsafe fn to_napi_value(_env: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        Ok(value.raw)
    }
}

/// An object or function that is kept beyond the call that brought it, until this is dropped.
///
/// It stays on its environment's thread and is dropped before the environment ends: by its owner, or with
/// everything else that [`super::instance::Instance`] holds.
pub(super) struct Kept {
    env: sys::napi_env,
    reference: sys::napi_ref,
}

impl Kept {
    pub(super) fn new(value: Js<'_>) -> Result<Kept> {
        let mut reference = ptr::null_mut();
        let env = value.scope.raw;
        // SAFETY: environment and value are of this call.
        let status = unsafe { sys::napi_create_reference(env, value.raw, 1, &mut reference) };
        value.scope.check(status, "keeping a value")?;
        Ok(Kept { env, reference })
    }

    pub(super) fn get<'env>(&self, scope: Scope<'env>) -> Result<Js<'env>> {
        // SAFETY: the reference is strong and of this environment.
        scope.make("a kept value", |out| unsafe {
            sys::napi_get_reference_value(scope.raw, self.reference, out)
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: a `Kept` is not `Send`, so this is its environment's thread; the environment has not ended (see above).
        unsafe { sys::napi_delete_reference(self.env, self.reference) };
    }
}
