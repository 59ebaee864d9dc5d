//! Error codes, classes and their texts. All of it may be called at any time, from any thread.

use super::{check_place, store, store_text, text};
use crate::call::Call;
use crate::library::LIBRARY;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result};
use std::ffi::{c_char, c_int};

pub unsafe fn error_class(_cx: &Call, errorcode: c_int, errorclass: *mut c_int) -> Result<()> {
    let class = LIBRARY.errors().class_of(errorcode).ok_or_else(|| not_a_code(errorcode))?;
    // SAFETY: null or may be written.
    unsafe { store(errorclass, class, "errorclass") }
}

pub unsafe fn error_string(_cx: &Call, errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) -> Result<()> {
    let words = LIBRARY.errors().string_of(errorcode).ok_or_else(|| not_a_code(errorcode))?;
    // SAFETY: null or, as the standard asks, MPI_MAX_ERROR_STRING characters; the registry's texts fit.
    unsafe { store_text(string, resultlen, words.as_bytes(), "string") }
}

fn not_a_code(code: c_int) -> Error {
    Error::new(MPI_ERR_ARG, format!("{code} is neither an error code nor an error class"))
}

pub unsafe fn add_error_class(_cx: &Call, errorclass: *mut c_int) -> Result<()> {
    check_place(errorclass, "errorclass")?;
    let class = LIBRARY.change_errors(|errors| errors.add_class())?;
    // SAFETY: checked.
    unsafe { store(errorclass, class, "errorclass") }
}

pub unsafe fn add_error_code(_cx: &Call, errorclass: c_int, errorcode: *mut c_int) -> Result<()> {
    check_place(errorcode, "errorcode")?;
    let code = LIBRARY.change_errors(|errors| errors.add_code(errorclass))?;
    // SAFETY: checked.
    unsafe { store(errorcode, code, "errorcode") }
}

pub unsafe fn add_error_string(_cx: &Call, errorcode: c_int, string: *const c_char) -> Result<()> {
    // SAFETY: null or a string.
    let words = String::from_utf8_lossy(unsafe { text(string, "string")? });
    LIBRARY.errors().add_string(errorcode, &words)
}

pub unsafe fn remove_error_class(_cx: &Call, errorclass: c_int) -> Result<()> {
    LIBRARY.change_errors(|errors| errors.remove_class(errorclass))
}

pub unsafe fn remove_error_code(_cx: &Call, errorcode: c_int) -> Result<()> {
    LIBRARY.change_errors(|errors| errors.remove_code(errorcode))
}

pub unsafe fn remove_error_string(_cx: &Call, errorcode: c_int) -> Result<()> {
    LIBRARY.errors().remove_string(errorcode)
}
