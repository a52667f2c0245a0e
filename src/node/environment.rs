//! `process.env` and `process.cwd()` of the calling JavaScript environment, read at each call.
//!
//! Never `getenv`: Bun and worker threads do not pass their writes on to the process.

#![expect(unsafe_code, reason = "the environment is entered again from below the core")]

use std::fmt;
use std::path::PathBuf;

use napi::{sys, Result};

use super::objects::Factory;
use super::value::{Js, Scope};
use crate::host::{Environment, ProcessEnvironment};

const VARIABLE: Factory = Factory("(name) => { try { return process.env[name] } catch {} }");
/// Of the one variable that is asked for at each look at a process: its name need not be made first.
const PROBE: Factory = Factory("() => { try { return process.env.HARNERY_PID_PROBE } catch {} }");
const CWD: Factory = Factory("() => { try { return process.cwd() } catch {} }");

/// The `process` object of one JavaScript environment. Only used within its native calls.
pub(super) struct JsEnvironment {
    env: sys::napi_env,
}

impl JsEnvironment {
    pub(super) fn new(scope: Scope<'_>) -> Self {
        JsEnvironment { env: scope.raw() }
    }

    /// What a function of JavaScript answers, where it is text.
    fn ask<'env>(&'env self, call: impl FnOnce(Scope<'env>) -> Result<Js<'env>>) -> Option<String> {
        // SAFETY: the core runs within a native call of the environment whose `Host` this is part of.
        let scope = unsafe { Scope::from_raw(self.env) };
        match call(scope) {
            Ok(answer) => answer.as_string(),
            Err(_) => {
                // An environment that is ending; taking the exception is what clears it.
                let _ = scope.take_exception();
                None
            }
        }
    }
}

impl Environment for JsEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        self.ask(|scope| match name {
            "HARNERY_PID_PROBE" => PROBE.call(scope, &[]),
            _ => VARIABLE.call(scope, &[scope.string(name)?]),
        })
    }

    fn current_dir(&self) -> PathBuf {
        match self.ask(|scope| CWD.call(scope, &[])) {
            // What is not UTF-8 in the path has been replaced, and another directory may have that name.
            Some(path) if !path.contains(char::REPLACEMENT_CHARACTER) => PathBuf::from(path),
            // The runtime cannot name it, or it was removed.
            _ => ProcessEnvironment.current_dir(),
        }
    }
}

impl fmt::Debug for JsEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("process.env")
    }
}
