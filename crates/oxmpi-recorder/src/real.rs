//! Where the real functions are: in the library that the loader would have taken without us.

use crate::stubs::{COUNT, NAMES};
use oxmpi_base::real_symbol;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

static REAL: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(null_mut()) }; COUNT];

/// The function of a stub; null if it was not called before.
#[inline(always)]
pub fn known(number: usize) -> *mut c_void {
    REAL[number].load(Relaxed)
}

/// The function of a stub.
pub fn function(number: usize) -> *mut c_void {
    let known = known(number);
    if known.is_null() { find(number) } else { known }
}

#[cold]
fn find(number: usize) -> *mut c_void {
    let name = NAMES[number].0;
    let Some(found) = real_symbol::find(name) else {
        eprintln!("OxMPI: no library of this process has the function {}", name.to_string_lossy());
        std::process::abort();
    };
    REAL[number].store(found, Relaxed);
    found
}
