//! C programs compare Fortran's statuses with variables of the C library, which are no part of the
//! standard's ABI.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Stores addresses in pointer variables of the C library, as far as there are such.
pub fn store(variables: &[(&CStr, usize)]) {
    for (name, address) in variables {
        // SAFETY: `dlsym` with a text that ends with NUL; a symbol of that name is a pointer
        // variable.
        unsafe {
            let variable = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast::<AtomicPtr<c_void>>();
            if let Some(variable) = variable.as_ref() {
                variable.store(*address as *mut c_void, Relaxed);
            }
        }
    }
}
