//! What other libraries of this process have, if they have it.

use std::ffi::{CStr, c_void};

/// The address of a function or variable, or null.
pub fn find(name: &CStr) -> *mut c_void {
    // SAFETY: a text that ends with NUL.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}
