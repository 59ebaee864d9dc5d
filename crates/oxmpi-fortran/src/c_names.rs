//! The names of the C interface that all files of this crate use: its functions, handles, constants
//! and types. It must use no other file but the generated declarations, those of the ABI and of INTEGER.

pub use crate::abi::*;
pub use crate::generated::c;
pub use crate::integer::{Codes, Fint, FortranStatus, Ints, Out, Statuses, short, wide};
pub use std::ffi::{c_char, c_int, c_void};
pub use std::ptr::null_mut;
