//! Endpoints of libfabric (`libfabric.so.1`), which is loaded when a process is told to use it: nothing of OxMPI is linked
//! with it. An [`Endpoint`] sends and receives packets of at most [`PACKET`] bytes, reliably and in order for each pair;
//! what the packets mean is another layer's.
//!
//! Packets go through buffers of the endpoint, which are registered ahead: no memory of users is registered, and providers
//! that want descriptors for local buffers (`FI_MR_LOCAL`) get them. A receive buffer is posted again as soon as its
//! packet was taken. No call here waits.

mod abi;
mod card;
mod endpoint;
mod library;
mod memory;
mod slab;

pub use card::Seat;
pub use endpoint::{Address, BufferId, Endpoint, Event, SlotId, providers};
pub use library::NAME;
pub use memory::{Lent, Region, Remote};

/// The longest packet.
pub const PACKET: usize = 16 << 10;
