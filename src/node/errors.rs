//! Failures as JavaScript errors: one exhaustive match gives each its class, code, message and extra members.

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

use napi::{sys, Error, Result, Status};

use super::call::rethrow;
use super::objects::value_to_js;
use super::value::{Js, Scope};
use crate::files::PathError;
use crate::javascript::Thrown;

/// Everything that a verb of the core can fail with, and what the binding itself refuses.
pub(super) enum Failure {
    /// A value of the wrong type: `ERR_INVALID_ARG_TYPE`.
    WrongType(String),
    /// A value of the right type that is not allowed: `ERR_INVALID_ARG_VALUE`.
    WrongValue(String),
    /// A number outside its range: `ERR_OUT_OF_RANGE`.
    OutOfRange(String),
    /// A name that no signal has: `ERR_UNKNOWN_SIGNAL`.
    UnknownSignal(String),
    /// A fault of this addon (a panic, or Node-API refusing): `ERR_HARNERY_NATIVE_INTERNAL`.
    Internal(String),
    Path(PathError),
    /// What a function of the caller's threw: thrown again, the very same value.
    Thrown(Thrown),
    /// The system call's own code, or `ERR_HARNERY_SCAN_FAILED`.
    Sockets(crate::net::Error),
    /// The system call's own code, such as `EMFILE`.
    Process(crate::process::signal::Error),
    /// `SERVER_INPUT`, `SERVER_NO_PROJECT`, `SERVER_RETAINED`, `SERVER_CUSTODY`, `SERVER_BUSY`.
    Servers(crate::servers::Error),
    /// `LEASE_INPUT`, `LEASE_HELD`, `LEASE_RECOVERING`, `LEASE_AUTHORITY`, `LEASE_CORRUPT`, `LEASE_LOST`,
    /// `LEASE_UNSUPPORTED`, or the failed system call's.
    Lease(crate::lease::Error),
    /// [`crate::history::Error::code`], or the failed system call's.
    History(crate::history::Error),
    /// [`crate::workflow::Error::code`], the lease's, or the failed system call's.
    Workflow(crate::workflow::Error),
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Failure::Path(error)
    }
}

impl From<crate::net::Error> for Failure {
    fn from(error: crate::net::Error) -> Self {
        Failure::Sockets(error)
    }
}

impl From<crate::lease::Error> for Failure {
    fn from(error: crate::lease::Error) -> Self {
        Failure::Lease(error)
    }
}

impl From<crate::history::Error> for Failure {
    fn from(error: crate::history::Error) -> Self {
        match error {
            crate::history::Error::Path(error) => Failure::Path(error),
            crate::history::Error::Thrown(thrown) => Failure::Thrown(thrown),
            error => Failure::History(error),
        }
    }
}

impl From<crate::workflow::Error> for Failure {
    fn from(error: crate::workflow::Error) -> Self {
        match error {
            crate::workflow::Error::Path(error) => Failure::Path(error),
            crate::workflow::Error::Lease(error) => Failure::Lease(error),
            error => Failure::Workflow(error),
        }
    }
}

impl From<crate::supervisor::Error> for Failure {
    fn from(error: crate::supervisor::Error) -> Self {
        match error {
            crate::supervisor::Error::Path(error) => Failure::Path(error),
            crate::supervisor::Error::Signal(error) => Failure::Process(error),
        }
    }
}

impl From<crate::process::signal::Error> for Failure {
    fn from(error: crate::process::signal::Error) -> Self {
        Failure::Process(error)
    }
}

impl From<crate::servers::Error> for Failure {
    fn from(error: crate::servers::Error) -> Self {
        match error {
            crate::servers::Error::Path(error) => Failure::Path(error),
            crate::servers::Error::Sockets(error) => Failure::Sockets(error),
            crate::servers::Error::Process(error) => Failure::Process(error),
            crate::servers::Error::Thrown(thrown) => Failure::Thrown(thrown),
            crate::servers::Error::Lease(error) => error.into(),
            crate::servers::Error::Nul(error) => Failure::WrongValue(error.to_string()),
            error => Failure::Servers(error),
        }
    }
}

/// Throw a failure as the JavaScript error that it is. The error to return says that it is pending.
pub(super) fn raise(scope: Scope<'_>, failure: impl Into<Failure>) -> Error {
    let description = match describe(failure.into()) {
        Ok(description) => description,
        Err(thrown) => return rethrow(scope, thrown),
    };
    match to_js(scope, &description) {
        Ok(error) => scope.throw(error),
        Err(error) => error,
    }
}

/// Take the exception that an error of the binding stands for.
pub(super) fn exception(scope: Scope<'_>, error: Error) -> Result<Js<'_>> {
    if error.status != Status::PendingException {
        let _pending = raise(scope, Failure::Internal(error.reason));
    }
    scope.take_exception()
}

/// Work in which a panic becomes an exception. (`catch_unwind` of `#[napi]` does it for exports.)
pub(super) fn guarded<T>(scope: Scope<'_>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(raise(scope, Failure::Internal(text.unwrap_or_default())))
    })
}

#[derive(Clone, Copy)]
enum Class {
    Error,
    TypeError,
    RangeError,
}

/// A further own member of an error.
enum Member {
    Number(f64),
    Text(String),
    Json(crate::javascript::json::Value),
}

struct Description {
    class: Class,
    code: Option<String>,
    message: String,
    members: Vec<(&'static str, Member)>,
}

/// What error a failure becomes; `Err`: none, but the very value that the caller's own function threw.
fn describe(failure: Failure) -> std::result::Result<Description, Thrown> {
    let coded = |code, message| Description { class: Class::Error, code, message, members: Vec::new() };
    let plain = |class, code: &str, message: &str| Description {
        class,
        code: Some(code.to_owned()),
        message: message.to_owned(),
        members: Vec::new(),
    };
    Ok(match failure {
        Failure::WrongType(message) => plain(Class::TypeError, "ERR_INVALID_ARG_TYPE", &message),
        Failure::WrongValue(message) => plain(Class::TypeError, "ERR_INVALID_ARG_VALUE", &message),
        Failure::OutOfRange(message) => plain(Class::RangeError, "ERR_OUT_OF_RANGE", &message),
        Failure::UnknownSignal(name) => {
            plain(Class::TypeError, "ERR_UNKNOWN_SIGNAL", &format!("Unknown signal: {name}"))
        }
        Failure::Internal(message) => plain(
            Class::Error,
            "ERR_HARNERY_NATIVE_INTERNAL",
            &format!("harnery-native failed inside: {message}"),
        ),
        Failure::Path(error) => path_error(&error),
        Failure::Lease(error) => return lease_error(error),
        Failure::Process(error) => Description {
            class: Class::Error,
            code: error.code(),
            message: error.to_string(),
            members: system_call(error.source.raw_os_error(), error.syscall),
        },
        Failure::Servers(error) => coded(server_code(&error), error.to_string()),
        Failure::History(error) => coded(error.code().map(Into::into), error.to_string()),
        Failure::Workflow(error) => coded(error.code().map(Into::into), error.to_string()),
        Failure::Sockets(error) => match &error {
            crate::net::Error::Unreadable(path) => {
                Description { message: error.to_string(), ..path_error(path) }
            }
            crate::net::Error::Diagnostics(_)
            | crate::net::Error::LsofMissing(_)
            | crate::net::Error::LsofSlow(_)
            | crate::net::Error::LsofFailed(_) => {
                plain(Class::Error, "ERR_HARNERY_SCAN_FAILED", &error.to_string())
            }
        },
        Failure::Thrown(thrown) => return Err(thrown),
    })
}

fn lease_error(error: crate::lease::Error) -> std::result::Result<Description, Thrown> {
    use crate::lease::Error;
    let (code, message) = (error.code().map(Into::into), error.to_string());
    let members = match error {
        Error::Path(source) | Error::At { source, .. } => {
            return Ok(Description { message, ..path_error(&source) })
        }
        Error::Held { holder, reason, .. } => {
            vec![("holder", Member::Json(holder.value)), ("reason", Member::Text(reason.as_str().to_owned()))]
        }
        Error::Input(_)
        | Error::Recovering(_)
        | Error::Authority(_)
        | Error::Corrupt(_)
        | Error::Lost(_)
        | Error::Unsupported(_) => Vec::new(),
        Error::Thrown(thrown) => return Err(thrown),
    };
    Ok(Description { class: Class::Error, code, message, members })
}

fn server_code(error: &crate::servers::Error) -> Option<String> {
    use crate::servers::Error;
    let code = match error {
        Error::Input(_) => "SERVER_INPUT",
        Error::Nul(_) => "ERR_INVALID_ARG_VALUE",
        Error::NoProject => "SERVER_NO_PROJECT",
        Error::Retained(_) => "SERVER_RETAINED",
        Error::Custody(_) => "SERVER_CUSTODY",
        Error::Busy(_) => "SERVER_BUSY",
        Error::Path(error) => return error.code(),
        Error::Process(error) => return error.code(),
        Error::Lease(error) => return error.code().map(Into::into),
        Error::Sockets(_) => "ERR_HARNERY_SCAN_FAILED",
        Error::Thrown(_) => return None,
    };
    Some(code.to_owned())
}

/// As Node's own: `code`, negative `errno`, `syscall`, `path`.
fn path_error(error: &PathError) -> Description {
    let mut members = system_call(error.errno(), error.syscall);
    members.push(("path", Member::Text(error.path().to_string_lossy().into_owned())));
    Description { class: Class::Error, code: error.code(), message: error.to_string(), members }
}

fn system_call(errno: Option<i32>, syscall: &str) -> Vec<(&'static str, Member)> {
    let errno = errno.map(|errno| ("errno", Member::Number(-f64::from(errno))));
    errno.into_iter().chain([("syscall", Member::Text(syscall.to_owned()))]).collect()
}

fn to_js<'env>(scope: Scope<'env>, description: &Description) -> Result<Js<'env>> {
    let message = scope.string(&description.message)?.raw();
    let create = match description.class {
        Class::Error => sys::napi_create_error,
        Class::TypeError => sys::napi_create_type_error,
        Class::RangeError => sys::napi_create_range_error,
    };
    let mut error = ptr::null_mut();
    // SAFETY: the environment is in a native call and the message is a string of it; a null code means none.
    let status = unsafe { create(scope.raw(), ptr::null_mut(), message, &mut error) };
    scope.check(status, "an error")?;
    // SAFETY: the call has just made it.
    let error = unsafe { Js::from_raw(scope, error) };
    for (name, member) in &description.members {
        let value = match member {
            Member::Number(number) => scope.number(*number)?,
            Member::Text(text) => scope.string(text)?,
            Member::Json(value) => value_to_js(scope, value)?,
        };
        error.set(name, value)?;
    }
    if let Some(code) = &description.code {
        error.set("code", scope.string(code)?)?;
    }
    Ok(error)
}
