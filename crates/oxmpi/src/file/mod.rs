//! Files: what their processes do together. `oxmpi-io` accesses the descriptor of one process.

pub mod access;
pub mod agree;
pub mod buffering;
mod checked;
pub mod datarep;
pub mod hints;
pub mod open;
mod together;
pub mod view;
