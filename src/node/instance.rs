//! What one JavaScript environment remembers of this addon. It ends with the environment.

#![expect(unsafe_code, reason = "Node-API is C; each call's contract is in its SAFETY note")]

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::rc::Rc;

use napi::{sys, Error, Result, Status};

use super::environment::JsEnvironment;
use super::value::{Js, Kept, Scope};
use super::waits::Waits;
use crate::host::Host;

pub(super) struct Instance {
    pub(super) host: Host,
    pub(super) waits: Waits,
    functions: RefCell<BTreeMap<usize, Kept>>,
    parts: RefCell<BTreeMap<TypeId, Rc<dyn Any>>>,
}

impl Instance {
    /// Make the environment's instance, which its end takes down again.
    pub(super) fn install(scope: Scope<'_>) -> Result<()> {
        let instance = Rc::new(Instance {
            host: Host::real(Rc::new(JsEnvironment::new(scope))),
            waits: Waits::default(),
            functions: RefCell::default(),
            parts: RefCell::default(),
        });
        let data = Box::into_raw(Box::new(instance)).cast::<c_void>();
        // SAFETY: the environment is in a native call; `data` is what the callbacks take it for, and `release`, which
        // runs last, is the only one to free it.
        unsafe {
            let status = sys::napi_set_instance_data(scope.raw(), data, Some(release), ptr::null_mut());
            scope.check(status, "keeping the instance")?;
            let status = sys::napi_add_env_cleanup_hook(scope.raw(), Some(wind_down), data);
            scope.check(status, "watching for the environment's end")
        }
    }

    pub(super) fn of(scope: Scope<'_>) -> Result<Rc<Instance>> {
        let mut data = ptr::null_mut();
        // SAFETY: the environment is in a native call.
        let status = unsafe { sys::napi_get_instance_data(scope.raw(), &mut data) };
        scope.check(status, "reading the instance")?;
        if data.is_null() {
            return Err(Error::new(Status::GenericFailure, "the addon was not loaded in this environment"));
        }
        // SAFETY: `install` has put it there, and it is there until the environment ends.
        Ok(Rc::clone(unsafe { &*data.cast::<Rc<Instance>>() }))
    }

    /// A domain's own part of what is remembered, made at its first use.
    pub(super) fn part<T: Default + 'static>(&self) -> Rc<T> {
        let mut parts = self.parts.borrow_mut();
        let part = parts.entry(TypeId::of::<T>()).or_insert_with(|| Rc::new(T::default()));
        Rc::clone(part).downcast().expect("parts are kept by their type")
    }

    /// A function that is made once: a compiled factory, by the address of its text, or a native one, by its own.
    pub(super) fn remembered<'env>(
        &self,
        scope: Scope<'env>,
        key: usize,
        make: impl FnOnce() -> Result<Js<'env>>,
    ) -> Result<Js<'env>> {
        if let Some(function) = self.functions.borrow().get(&key) {
            return function.get(scope);
        }
        let function = make()?;
        self.functions.borrow_mut().insert(key, Kept::new(function)?);
        Ok(function)
    }
}

/// The machine as this environment sees it.
pub(super) fn host(scope: Scope<'_>) -> Result<Host> {
    Ok(Instance::of(scope)?.host.clone())
}

/// The environment is about to end; it can still be spoken to, but JavaScript no longer runs.
unsafe extern "C" fn wind_down(data: *mut c_void) {
    // SAFETY: `release` has not run yet, and this is the environment's thread.
    let instance = unsafe { &*data.cast::<Rc<Instance>>() };
    // A panic of something that is dropped has been reported, and must not leave through C.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        instance.waits.end();
        drop(instance.parts.take());
        drop(instance.functions.take());
    }));
}

unsafe extern "C" fn release(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: `install` has made it with `Box::into_raw`, and nothing asks for it any more.
    drop(unsafe { Box::from_raw(data.cast::<Rc<Instance>>()) });
}
