//! Errors of this library, with a text.

use crate::abi::MPI_SUCCESS;
use crate::generated::c;
use std::ffi::c_int;

/// A code of this class with this text.
pub fn code(class: c_int, text: &str) -> c_int {
    let mut code = class;
    let text = std::ffi::CString::new(text).unwrap_or_default();
    // SAFETY: the pointers lead to variables of this function, and the text ends with NUL.
    unsafe {
        if c::PMPI_Add_error_code(class, &mut code) == MPI_SUCCESS {
            c::PMPI_Add_error_string(code, text.as_ptr().cast_mut());
        }
    }
    code
}
