//! Error codes, classes and their texts. All of it may be called at any time, from any thread.

use crate::library::LIBRARY;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result};
use std::ffi::c_int;

pub fn error_class(errorcode: c_int) -> Result<c_int> {
    LIBRARY.errors().class_of(errorcode).ok_or_else(|| not_a_code(errorcode))
}

pub fn error_string(errorcode: c_int) -> Result<String> {
    LIBRARY.errors().string_of(errorcode).ok_or_else(|| not_a_code(errorcode))
}

fn not_a_code(code: c_int) -> Error {
    Error::new(MPI_ERR_ARG, format!("{code} is neither an error code nor an error class"))
}

pub fn add_error_class() -> Result<c_int> {
    LIBRARY.change_errors(|errors| errors.add_class())
}

pub fn add_error_code(errorclass: c_int) -> Result<c_int> {
    LIBRARY.change_errors(|errors| errors.add_code(errorclass))
}

pub fn add_error_string(errorcode: c_int, string: &[u8]) -> Result<()> {
    let words = String::from_utf8_lossy(string);
    LIBRARY.errors().add_string(errorcode, &words)
}

pub fn remove_error_class(errorclass: c_int) -> Result<()> {
    LIBRARY.change_errors(|errors| errors.remove_class(errorclass))
}

pub fn remove_error_code(errorcode: c_int) -> Result<()> {
    LIBRARY.change_errors(|errors| errors.remove_code(errorcode))
}

pub fn remove_error_string(errorcode: c_int) -> Result<()> {
    LIBRARY.errors().remove_string(errorcode)
}
