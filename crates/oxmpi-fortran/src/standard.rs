//! The C interface below: that of the standard's ABI.

pub use oxmpi_abi::Status;
pub use oxmpi_abi::constants::*;
pub use oxmpi_abi::handle::*;
