//! Moving bytes between ranks. A transport knows peers and bytes; it never knows a communicator, a datatype's
//! constructor or what a packet means. What arrives is matched above, in `oxmpi-core`, once for all transports.
//!
//! [`shm::Shm`] connects the ranks of one node over their shared segment, and processes of other jobs there (`strangers.rs`); [`own`] copies within this process; [`node`] has
//! the collective operations of ranks that share a board.

pub mod node;
pub mod own;
mod ports;
pub mod shm;
mod strangers;
mod table;

pub use oxmpi_base::cma::{MAX_PIECES, Piece};
pub use oxmpi_base::ids::{Peer, Slot};
pub use oxmpi_base::ticket::{Copy as TicketCopy, State as TicketState, TicketId};
pub use shm::{Head, Incoming, Shm};
pub use table::PeerTable;
