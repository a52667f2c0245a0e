//! The smallest native module: what loading any of them costs. (`cargo build` makes it beside the program.)

#![expect(unsafe_code, reason = "the module's one function has a name that Node looks for")]

use std::ffi::c_void;

/// Node's way into a module; this one exports nothing.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn napi_register_module_v1(_env: *mut c_void, exports: *mut c_void) -> *mut c_void {
    exports
}
