//! Files: what the processes that have one open do together. What one process does with its own descriptor is in `oxmpi-io`.

pub mod access;
pub mod agree;
pub mod datarep;
pub mod hints;
pub mod open;
pub mod view;
