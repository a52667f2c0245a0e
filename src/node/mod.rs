//! The binding: the only place that knows JavaScript.
//!
//! ```text
//! one file per domain       converts, calls the core, converts
//! waits · objects · native  promises without a thread each; objects made by JavaScript's own literals
//! arguments · call          what the caller gave; the caller's functions
//! errors                    every failure as the JavaScript error that it is
//! instance · environment    what one JavaScript environment remembers; `process.env` and `process.cwd()`
//! value · paths             a value of this native call, a value that is kept; a path that a closure holds
//! ```
//!
//! An exception is always thrown here, by us, as a real `Error`; the `napi::Error` that then travels up says only
//! that one is pending. Every export has `catch_unwind`: a panic becomes an exception and never ends the process.

mod arguments;
mod call;
mod environment;
mod errors;
mod features;
mod history;
mod instance;
mod javascript;
mod lease;
mod native;
mod net;
mod objects;
mod paths;
mod process;
mod servers;
mod spawn;
mod supervisor;
mod value;
mod waits;
mod workflow;

use napi::bindgen_prelude::{Env, Object, Result};
use napi_derive::napi;

/// Runs once in each JavaScript environment that loads the addon: the main thread, each worker.
#[napi(module_exports)]
pub(crate) fn load(exports: Object, env: Env) -> Result<()> {
    let scope = value::Scope::from(&env);
    instance::Instance::install(scope)?;
    objects::capture(scope)?;
    servers::custody::share(value::Js::from_object(scope, &exports))
}
