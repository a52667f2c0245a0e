//! The way from the waiting thread into one JavaScript environment, shut before the environment ends.

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use napi::{sys, Result};

use super::super::instance::Instance;
use super::super::value::Scope;

/// A threadsafe function of one environment, for as long as the environment lives.
///
/// The waiting thread uses it only under the lock, and the environment's clean-up takes it away under the same lock,
/// before Node frees it: so it is never used after that, whatever the order of the two.
pub(super) struct Door {
    function: Mutex<Option<Function>>,
}

struct Function(sys::napi_threadsafe_function);

// SAFETY: this is what a threadsafe function is for: it may be called on any thread.
unsafe impl Send for Function {}

impl Door {
    /// A door that does not keep the environment alive.
    pub(super) fn open(scope: Scope<'_>) -> Result<Arc<Door>> {
        let name = scope.string("harnery-native waits")?.raw();
        let (none, mut function) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the environment is in a native call; without a function of JavaScript's own, `entered` is all that is called.
        unsafe {
            let status = sys::napi_create_threadsafe_function(
                scope.raw(),
                none,
                none,
                name,
                0,
                1,
                ptr::null_mut(),
                None,
                ptr::null_mut(),
                Some(entered),
                &mut function,
            );
            scope.check(status, "opening a way for the waiting thread")?;
            scope.check(
                sys::napi_unref_threadsafe_function(scope.raw(), function),
                "a way that holds nobody",
            )?;
        }
        let door = Arc::new(Door { function: Mutex::new(Some(Function(function))) });
        let kept = Arc::into_raw(Arc::clone(&door)).cast_mut().cast();
        // Registered after the function's own clean-up, hence run before it: the latest goes first.
        // SAFETY: as above; `shut` takes back what is given here.
        let status = unsafe { sys::napi_add_env_cleanup_hook(scope.raw(), Some(shut), kept) };
        scope.check(status, "watching for the environment's end")?;
        Ok(door)
    }

    /// From the waiting thread: have [`super::Waits::over`] called with this number.
    pub(super) fn knock(&self, wait: u64) {
        let function = self.function.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Function(function)) = &*function {
            let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
            // A function that is closing only means that nobody is left to be told.
            // SAFETY: it is there, and under this lock it stays there.
            let _ =
                unsafe { sys::napi_call_threadsafe_function(*function, wait as usize as *mut c_void, mode) };
        }
    }

    /// Whether the environment is to stay alive for what comes through here.
    pub(super) fn hold(&self, scope: Scope<'_>, alive: bool) -> Result<()> {
        let function = self.function.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Function(function)) = &*function else { return Ok(()) };
        // SAFETY: the environment is in a native call, and the function is there.
        let status = unsafe {
            if alive {
                sys::napi_ref_threadsafe_function(scope.raw(), *function)
            } else {
                sys::napi_unref_threadsafe_function(scope.raw(), *function)
            }
        };
        scope.check(status, "holding the event loop")
    }
}

/// The environment is about to end.
unsafe extern "C" fn shut(door: *mut c_void) {
    // SAFETY: `open` has made it with `Arc::into_raw`, for this one call.
    let door = unsafe { Arc::from_raw(door.cast::<Door>()) };
    door.function.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// On the JavaScript thread: somebody knocked.
unsafe extern "C" fn entered(
    env: sys::napi_env,
    _function: sys::napi_value,
    _context: *mut c_void,
    wait: *mut c_void,
) {
    // What was under way when the environment ended.
    if env.is_null() {
        return;
    }
    // SAFETY: Node calls this on the environment's thread, as a native call of its own.
    let scope = unsafe { Scope::from_raw(env) };
    let gone_on =
        catch_unwind(AssertUnwindSafe(|| Instance::of(scope)?.waits.over(scope, wait as usize as u64)));
    // A task's failure is in its promise; what is left is an environment that cannot be spoken to any more.
    if !matches!(gone_on, Ok(Ok(()))) {
        let _ = scope.take_exception();
    }
}
