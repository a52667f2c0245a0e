//! JavaScript values: of this native call ([`Js`]), and kept beyond it ([`Kept`]).

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

mod kept;
mod scope;

use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, Object, ToNapiValue, TypeName, ValidateNapiValue};
use napi::{sys, JsValue, Result, ValueType};

pub(super) use self::kept::Kept;
pub(super) use self::scope::Scope;
use crate::javascript::text::Text;

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
        match unsafe { sys::napi_typeof(self.scope.raw(), self.raw, &mut kind) } {
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
        self.truth(|out| unsafe { sys::napi_is_array(self.scope.raw(), self.raw, out) })
    }

    pub(super) fn is_date(self) -> bool {
        // SAFETY: as above.
        self.truth(|out| unsafe { sys::napi_is_date(self.scope.raw(), self.raw, out) })
    }

    fn truth(self, ask: impl FnOnce(*mut bool) -> sys::napi_status) -> bool {
        let mut answer = false;
        ask(&mut answer) == sys::Status::napi_ok && answer
    }

    /// JavaScript's own truth of the value.
    pub(super) fn is_truthy(self) -> bool {
        let mut value = ptr::null_mut();
        // SAFETY: as above.
        let made = unsafe { sys::napi_coerce_to_bool(self.scope.raw(), self.raw, &mut value) };
        made == sys::Status::napi_ok && Js { scope: self.scope, raw: value }.as_boolean() == Some(true)
    }

    pub(super) fn as_boolean(self) -> Option<bool> {
        let mut value = false;
        // SAFETY: as above.
        let status = unsafe { sys::napi_get_value_bool(self.scope.raw(), self.raw, &mut value) };
        (status == sys::Status::napi_ok).then_some(value)
    }

    pub(super) fn as_number(self) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: as above.
        let status = unsafe { sys::napi_get_value_double(self.scope.raw(), self.raw, &mut value) };
        (status == sys::Status::napi_ok).then_some(value)
    }

    /// A date's time, in milliseconds since the epoch; NaN for an invalid one.
    pub(super) fn as_date(self) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: as above.
        let status = unsafe { sys::napi_get_date_value(self.scope.raw(), self.raw, &mut value) };
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
        unsafe {
            sys::napi_get_value_string_utf8(self.scope.raw(), self.raw, ptr::null_mut(), 0, &mut length)
        };
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
            sys::napi_get_value_string_utf8(self.scope.raw(), self.raw, start, buffer.len(), &mut size)
        };
        (status == sys::Status::napi_ok).then_some(size)
    }

    /// The string as it is, lone surrogates included.
    pub(super) fn as_text(self) -> Option<Text> {
        let mut length = 0;
        // SAFETY: as above; without a buffer only the length is written.
        let status = unsafe {
            sys::napi_get_value_string_utf16(self.scope.raw(), self.raw, ptr::null_mut(), 0, &mut length)
        };
        if status != sys::Status::napi_ok {
            return None;
        }
        let mut units = vec![0_u16; length + 1];
        // SAFETY: as above; pointer and length are of one vector.
        unsafe {
            let start = units.as_mut_ptr();
            sys::napi_get_value_string_utf16(self.scope.raw(), self.raw, start, units.len(), &mut length)
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
            sys::napi_get_named_property(self.scope.raw(), self.raw, short.as_ptr().cast(), out)
        })
    }

    /// `Object.hasOwn`
    pub(super) fn owns(self, name: &str) -> Result<bool> {
        let key = self.scope.string(name)?;
        let mut owns = false;
        // SAFETY: as above.
        let status = unsafe { sys::napi_has_own_property(self.scope.raw(), self.raw, key.raw, &mut owns) };
        self.scope.check(status, name)?;
        Ok(owns)
    }

    pub(super) fn get_index(self, index: u32) -> Result<Js<'env>> {
        // SAFETY: as above.
        self.scope.make("an element", |out| unsafe {
            sys::napi_get_element(self.scope.raw(), self.raw, index, out)
        })
    }

    pub(super) fn length(self) -> Result<u32> {
        let mut length = 0;
        // SAFETY: as above.
        let status = unsafe { sys::napi_get_array_length(self.scope.raw(), self.raw, &mut length) };
        self.scope.check(status, "reading an array's length")?;
        Ok(length)
    }

    /// The object's own enumerable string keys, in JavaScript's order.
    pub(super) fn keys(self) -> Result<Vec<Js<'env>>> {
        // SAFETY: as above.
        let keys = self.scope.make("keys", |out| unsafe {
            sys::napi_get_all_property_names(
                self.scope.raw(),
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
        self.scope.make("a member", |out| unsafe {
            sys::napi_get_property(self.scope.raw(), self.raw, key.raw, out)
        })
    }

    pub(super) fn set(self, name: &str, value: Js<'env>) -> Result<()> {
        let key = self.scope.string(name)?;
        // SAFETY: as above.
        let status = unsafe { sys::napi_set_property(self.scope.raw(), self.raw, key.raw, value.raw) };
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
        // SAFETY: napi converts arguments within the native call that they are of.
        Ok(Js { scope: unsafe { Scope::from_raw(env) }, raw })
    }
}

impl ToNapiValue for Js<'_> {
    unsafe fn to_napi_value(_env: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        Ok(value.raw)
    }
}
