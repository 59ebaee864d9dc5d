//! The names of the C interface that all files of this crate use: its functions, handles, constants
//! and types. It must use no other file but the generated declarations.

pub use crate::generated::c;
pub use oxmpi_abi::Status;
pub use oxmpi_abi::constants::*;
pub use oxmpi_abi::handle::*;
pub use oxmpi_abi::types::Fint;
pub use std::ffi::{c_char, c_int, c_void};
pub use std::ptr::null_mut;
