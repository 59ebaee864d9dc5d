//! The integer types of the standard ABI on a 64-bit system.

use crate::Status;

/// `MPI_Aint`: as wide as an address.
pub type Aint = i64;
/// `MPI_Count`
pub type Count = i64;
/// `MPI_Offset`
pub type Offset = i64;
/// `MPI_Fint`: a Fortran INTEGER of default kind.
pub type Fint = i32;
/// `MPI_F08_status`: TYPE(MPI_Status) has the layout of the C status while an INTEGER is an int.
pub type F08Status = Status;
/// `MPI_T_cb_safety`
pub type TCbSafety = i32;
/// `MPI_T_source_order`
pub type TSourceOrder = i32;

const _: () = assert!(size_of::<Aint>() == size_of::<usize>(), "the ABI's MPI_Aint is as wide as an address");
