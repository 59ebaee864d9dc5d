//! C programs compare Fortran's statuses with variables of the C library, which are no part of the
//! standard's ABI.

use crate::symbols;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Stores addresses in pointer variables of the C library, as far as there are such.
pub fn store(variables: &[(&CStr, usize)]) {
    for (name, address) in variables {
        let variable = symbols::find(name).cast::<AtomicPtr<c_void>>();
        // SAFETY: a symbol of such a name is a pointer variable.
        if let Some(variable) = unsafe { variable.as_ref() } {
            variable.store(*address as *mut c_void, Relaxed);
        }
    }
}
