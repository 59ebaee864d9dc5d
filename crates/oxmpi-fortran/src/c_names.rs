//! The names of the C interface that all files of this crate use: its functions, handles, constants
//! and types. It must use no other file but the generated declarations and those of INTEGER.

pub use crate::generated::c;
pub use crate::integer::{Codes, Fint, FortranStatus, Ints, Out, Statuses, short, wide};
pub use oxmpi_abi::Status;
pub use oxmpi_abi::constants::*;
pub use oxmpi_abi::handle::*;
pub use std::ffi::{c_char, c_int, c_void};
pub use std::ptr::null_mut;
