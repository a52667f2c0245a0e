//! Canonical JSON and its digest.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::arguments::Argument;
use super::objects::js_to_value;
use super::value::Js;
use crate::javascript::json::{self, Value};

/// The canonical JSON text of a value: at every depth array indices first, ascending, then the other keys in
/// `localeCompare` order (root collation), without blanks.
///
/// The value is taken as `JSON.stringify` takes it: `undefined` members are left out and `toJSON` is asked. What JSON has
/// nothing for (`undefined`, a function) is a `TypeError`, and so is nesting deeper than 512.
#[napi(catch_unwind, ts_args_type = "value: unknown")]
pub(crate) fn canonical_json<'env>(_env: &'env Env, value: Js<'env>) -> Result<String> {
    Ok(json::canonical(&read(value)?))
}

/// The lower-case hexadecimal SHA-256 of {@link canonicalJson} in UTF-8.
#[napi(catch_unwind, ts_args_type = "value: unknown")]
pub(crate) fn stable_digest<'env>(_env: &'env Env, value: Js<'env>) -> Result<String> {
    Ok(json::digest(&read(value)?))
}

fn read(value: Js<'_>) -> Result<Value> {
    let value = Argument::new(value, "value");
    js_to_value(&value)?.ok_or_else(|| value.wrong_type("a value that JSON can express"))
}
