//! The ABI's numbers that this crate names.

pub const ERR_COUNT: i32 = 2;
pub const ERR_TYPE: i32 = 3;
pub const ERR_ARG: i32 = 13;
pub const ERR_TRUNCATE: i32 = 15;

pub const UNDEFINED: i32 = -32766;

pub const ORDER_C: i32 = 12;
pub const ORDER_FORTRAN: i32 = 15;

pub const DISTRIBUTE_NONE: i32 = 16;
pub const DISTRIBUTE_BLOCK: i32 = 17;
pub const DISTRIBUTE_CYCLIC: i32 = 18;
pub const DISTRIBUTE_DFLT_DARG: i32 = 19;

pub const TYPECLASS_LOGICAL: i32 = 191;
pub const TYPECLASS_INTEGER: i32 = 192;
pub const TYPECLASS_REAL: i32 = 193;
pub const TYPECLASS_COMPLEX: i32 = 194;
