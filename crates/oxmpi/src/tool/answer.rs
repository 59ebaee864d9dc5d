//! The results of calls of the tool information interface.

use oxmpi_abi::constants::*;

/// The code of a call that failed: one of `MPI_T_ERR_*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code(pub i32);

pub type Answer<T = ()> = Result<T, Code>;

pub const INVALID: Code = Code(MPI_T_ERR_INVALID);
pub const INVALID_HANDLE: Code = Code(MPI_T_ERR_INVALID_HANDLE);
pub const INVALID_INDEX: Code = Code(MPI_T_ERR_INVALID_INDEX);
pub const INVALID_NAME: Code = Code(MPI_T_ERR_INVALID_NAME);
pub(super) const NOT_INITIALIZED: Code = Code(MPI_T_ERR_NOT_INITIALIZED);

/// The value of a variable.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Int(i32),
    Number(u64),
    Seconds(f64),
    Numbers(Vec<u64>),
    Text(&'static str),
}

/// An element of a list, by its index.
pub fn at<T>(list: &[T], index: i32) -> Answer<&T> {
    usize::try_from(index).ok().and_then(|index| list.get(index)).ok_or(INVALID_INDEX)
}
