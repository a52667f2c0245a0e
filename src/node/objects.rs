//! Objects made by JavaScript's own literals, and JSON by JavaScript's own parser.
//!
//! An object literal called from here costs a fifth of an object built member by member through Node-API, and all
//! that it makes have one hidden class. A handle with functions is a literal too: a closure over one shared native
//! function has no finalizer, so a hundred thousand of them leave nothing behind.

use napi::Result;

use super::call::{rethrow, Callback};
use super::instance::Instance;
use super::value::{Js, Scope};
use crate::javascript::json::{self, Value};

/// A function of JavaScript, written here and compiled at its first use in each environment.
///
/// ```ignore
/// const POINT: Factory = Factory("(x, y) => ({ x, y })");
/// ```
pub(super) struct Factory(pub(super) &'static str);

impl Factory {
    pub(super) fn call<'env>(&self, scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
        let function = self.function(scope)?;
        Callback::new(function, scope.undefined()?).call(arguments).map_err(|thrown| rethrow(scope, thrown))
    }

    /// The function itself, compiled now if it was not yet.
    pub(super) fn function<'env>(&self, scope: Scope<'env>) -> Result<Js<'env>> {
        Instance::of(scope)?.remembered(scope, self.0.as_ptr() as usize, || scope.run(self.0))
    }
}

/// Captured when the addon is loaded, so that later changes to the global `JSON` do not matter.
const PARSE: Factory = Factory("JSON.parse");
const STRINGIFY: Factory = Factory("JSON.stringify");

/// Compile what must be as it was when the addon was loaded.
pub(super) fn capture(scope: Scope<'_>) -> Result<()> {
    PARSE.function(scope)?;
    STRINGIFY.function(scope)?;
    Ok(())
}

/// `JSON.parse` as it was when the addon was loaded.
pub(super) fn json_parser(scope: Scope<'_>) -> Result<Js<'_>> {
    PARSE.function(scope)
}

/// The value that a JSON text stands for.
pub(super) fn parse_json<'env>(scope: Scope<'env>, text: &str) -> Result<Js<'env>> {
    PARSE.call(scope, &[scope.string(text)?])
}

/// A value of the core as JavaScript's.
pub(super) fn value_to_js<'env>(scope: Scope<'env>, value: &Value) -> Result<Js<'env>> {
    parse_json(scope, &json::stringify(value))
}

/// `JSON.stringify(value)`; `None` where that is `undefined`. What getters and `toJSON` throw leaves the call.
pub(super) fn stringify_json(value: Js<'_>) -> Result<Option<String>> {
    // Lone surrogates arrive as escapes, so the text is always UTF-8.
    Ok(STRINGIFY.call(value.scope(), &[value])?.as_string())
}

/// A JavaScript value as the core's, as JSON has it; `None` where JSON has nothing (`undefined`, a function).
pub(super) fn js_to_value(value: Js<'_>) -> Result<Option<Value>> {
    let Some(text) = stringify_json(value)? else { return Ok(None) };
    json::parse(text.as_bytes()).map(Some).map_err(|error| napi::Error::from_reason(error.to_string()))
}
