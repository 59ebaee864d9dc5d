//! Links between nodes over TCP. A connection is made when the first packet goes to a peer, or the peer's comes; the
//! link is full until then, so what a call has sent is with the kernel when the call returns.
//!
//! ```text
//! connect.rs   how connections come to be: what links ask for, and what the agent hands over
//! frame.rs     the layout of what travels, and what cannot be
//! joint.rs     what the two ends of a link share
//! tx.rs        the sending end
//! burst.rs     short messages that the kernel may put together
//! rx.rs        the receiving end
//! fabric.rs    streams over libfabric, to which links go on from their sockets
//! network.rs   all links of a process
//! attention.rs the peer whose socket is read in every turn
//! poll.rs      one turn: whose socket is ready, connections that come
//! capacity.rs  how many links there may be
//! rest.rs      links that are closed because there are too many
//! jobs.rs      links to processes of other jobs: how they begin, and how they are left
//! watch.rs     news of the processes of other jobs
//! traffic.rs   what has travelled, for tools
//! ```
//!
//! No call here waits. Only sockets that the kernel says are ready are read, but for the one that was used last.
//!
//! If both sides connect at once, the connection of the lower process stays. The higher one sends SWITCH as its last
//! frame on its own connection, and goes on with the other; frames are handled in the order of their numbers.

mod attention;
mod burst;
mod capacity;
pub mod connect;
mod fabric;
pub(crate) mod frame;
mod jobs;
mod joint;
pub(crate) mod network;
mod poll;
mod rest;
mod rx;
pub mod traffic;
mod tx;
pub(crate) mod watch;

pub use network::Contact;
pub(crate) use rx::TcpRx;
pub(crate) use tx::TcpTx;
