//! One-sided communication: windows over memory of all processes of a communicator. `oxmpi-rma`
//! performs the accesses.

pub mod access;
pub mod far;
pub mod hints;
pub mod sync;
pub mod window;

pub use window::{WindowArgs, make, map_together, remove, synchronize};
