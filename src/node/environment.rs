//! `process.env` and `process.cwd()` of the calling JavaScript environment, read at each call.
//!
//! Never `getenv`: Bun and worker threads do not pass their writes on to the process.

#![expect(unsafe_code, reason = "the environment is entered again from below the core")]

use std::fmt;
use std::path::PathBuf;

use napi::{sys, Result};

use super::call::Callback;
use super::value::{Js, Scope};
use crate::host::Environment;

/// The `process` object of one JavaScript environment. Only used within its native calls.
pub(super) struct JsEnvironment {
    env: sys::napi_env,
}

impl JsEnvironment {
    pub(super) fn new(scope: Scope<'_>) -> Self {
        JsEnvironment { env: scope.raw() }
    }

    fn scope(&self) -> Scope<'_> {
        // SAFETY: the core runs within a native call of the environment whose `Host` this is part of.
        unsafe { Scope::from_raw(self.env) }
    }

    /// What `read` gives; an exception counts as no answer.
    fn ask<'env, T>(&'env self, read: impl FnOnce(Scope<'env>) -> Result<Option<T>>) -> Option<T> {
        let scope = self.scope();
        read(scope).unwrap_or_else(|_| {
            // Taking it is what clears it.
            let _ = scope.take_exception();
            None
        })
    }
}

impl Environment for JsEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        self.ask(|scope| Ok(process(scope)?.get("env")?.get(name)?.as_string()))
    }

    fn current_dir(&self) -> PathBuf {
        let answer = self.ask(|scope| {
            let process = process(scope)?;
            let cwd = Callback::new(process.get("cwd")?, process);
            match cwd.call(&[]) {
                Ok(path) => Ok(path.as_string()),
                Err(_thrown) => Ok(None),
            }
        });
        // A directory that was removed has no path. Through this name every operation says so itself (`ENOENT`).
        answer.map_or_else(|| PathBuf::from("/proc/self/cwd"), PathBuf::from)
    }
}

fn process(scope: Scope<'_>) -> Result<Js<'_>> {
    scope.global()?.get("process")
}

impl fmt::Debug for JsEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("process.env")
    }
}
