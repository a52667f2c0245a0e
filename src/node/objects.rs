//! Objects made by JavaScript's own literals, and JSON by JavaScript's own parser.
//!
//! An object literal called from here costs a fifth of an object built member by member through Node-API, and all
//! that it makes have one hidden class. A handle with functions is a literal too: a closure over one shared native
//! function has no finalizer, so a hundred thousand of them leave nothing behind.

use napi::Result;

use super::arguments::Argument;
use super::call::{rethrow, Callback};
use super::instance::Instance;
use super::value::{Js, Scope};
use crate::javascript::json::{self, Value};

/// A function of JavaScript, written here and compiled at its first use in each environment. Beside its arguments it
/// knows what [`BUILT_IN`] captures, by these names.
///
/// ```ignore
/// const POINT: Factory = Factory("(x, y) => ({ x, y })");
/// ```
pub(super) struct Factory(pub(super) &'static str);

impl Factory {
    pub(super) fn call<'env>(&self, scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
        call(self.function(scope)?, arguments)
    }

    /// The function itself, compiled now if it was not yet.
    fn function<'env>(&self, scope: Scope<'env>) -> Result<Js<'env>> {
        Instance::of(scope)?.remembered(scope, self.0.as_ptr() as usize, || {
            call(scope.run(&format!("({NAMES}) => ({})", self.0))?, &[built_in(scope)?])
        })
    }
}

/// What factories use of the runtime, captured when the addon is loaded: a factory may be compiled when a lease has
/// been taken, and what has become of the globals by then must not matter.
const BUILT_IN: &str = "({
    parse: JSON.parse,
    stringify: JSON.stringify,
    dispose: Symbol.dispose,
    Map,
    Set,
    Promise,
    FinalizationRegistry,
    later: typeof setImmediate === 'function' ? setImmediate : (go) => setTimeout(go, 0),
})";
const NAMES: &str = "{ parse, stringify, dispose, Map, Set, Promise, FinalizationRegistry, later }";

const PARSE: Factory = Factory("parse");
const STRINGIFY: Factory = Factory("stringify");

/// Capture what must be as it was when the addon was loaded.
pub(super) fn capture(scope: Scope<'_>) -> Result<()> {
    built_in(scope).map(drop)
}

fn built_in(scope: Scope<'_>) -> Result<Js<'_>> {
    Instance::of(scope)?.remembered(scope, BUILT_IN.as_ptr() as usize, || scope.run(BUILT_IN))
}

fn call<'env>(function: Js<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let scope = function.scope();
    Callback::new(function, scope.undefined()?).call(arguments).map_err(|thrown| rethrow(scope, thrown))
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
pub(super) fn js_to_value(given: &Argument<'_>) -> Result<Option<Value>> {
    let Some(text) = stringify_json(given.value())? else { return Ok(None) };
    let value = json::parse(text.as_bytes());
    value.map(Some).map_err(|error| given.wrong_value(&format!("cannot be read as JSON: {error}")))
}
