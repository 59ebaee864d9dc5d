//! Links: moving bytes between processes. A link knows peers and bytes; it never knows a communicator, a datatype's
//! constructor or what a packet means. What arrives is matched above, in `oxmpi-core`, once for all links.
//!
//! ```text
//! links.rs        all links of a process, in two halves
//! outgoing.rs     sending: local peers by index, far ones by an entry
//! incoming.rs     receiving: the senders, and the packets that have arrived
//! arm.rs          sleeping until a link has something
//! caps.rs         what a link can do for a pair of processes, and the limits that follow
//! end.rs          what every link has
//! far.rs          the links behind an entry for a far peer
//! sim/            a simulated network, for tests only (feature `sim`)
//! tcp/            links between nodes
//! packet.rs       the layout of a packet; a packet borrowed until it is popped
//! transfer/       messages that wait with their sender, and how their bytes move
//! node_memory.rs  facts and memory of the node, without messages
//! foreign.rs      processes of other jobs on the node
//! deaths.rs       ranks of the job that have ended, where it goes on
//! ports.rs        numbers by which a process accepts connections
//! table.rs        a value for every peer
//! local.rs        copies within this process
//! board/          collective operations of ranks that share a board
//! ```

mod arm;
pub mod board;
mod caps;
mod deaths;
mod end;
mod far;
mod foreign;
mod incoming;
mod links;
pub mod local;
mod node_memory;
mod outgoing;
mod packet;
mod ports;
#[cfg(feature = "sim")]
pub mod sim;
mod table;
pub mod tcp;
pub mod transfer;

pub use arm::Armed;
pub use caps::{Bulk, Caps, Cut, Direct, RING_EAGER, RING_PART, Why};
pub use end::{Full, Life};
pub use foreign::Ended;
pub use incoming::Incoming;
pub use links::Links;
pub use node_memory::NodeMemory;
pub use outgoing::Outgoing;
pub use oxmpi_base::cma::{MAX_PIECES, Piece};
pub use oxmpi_base::ids::{Peer, Slot};
pub use packet::{
    ASK_CALL, CALL_RECORD, CONTROL_WORDS, EAGER, Head, INLINE_BYTES, MORE, OFFER, PART_UNIT, Packet, PacketSize,
    REVOKED, SIGNATURE, TELL_CALL,
};
pub use table::PeerTable;
