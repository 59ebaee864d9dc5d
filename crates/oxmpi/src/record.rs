//! How a recorder begins to hear of what the library does: `liboxmpi_recorder.so` looks for this symbol.

use oxmpi_profile::hooks::{Recorder, VERSION};
use std::ffi::{c_int, c_uint};

/// Tells this recorder of everything from now on; not 0 if it was built for another version of the library.
///
/// # Safety
/// `recorder` is null or lives for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxmpi_record(recorder: *const Recorder, version: c_uint) -> c_int {
    // SAFETY: this function's own condition; a recorder of this version is what the type says.
    match unsafe { recorder.as_ref() } {
        Some(recorder) if version == VERSION => oxmpi_core::record::begin(recorder),
        _ => return 1,
    }
    0
}
