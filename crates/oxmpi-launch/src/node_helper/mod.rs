//! The helper of a node whose ranks another launcher has started, `mpirun --node-helper FD`: what an agent is for ranks of
//! our own (`oxmpi_boot::node_helper` has the words that it exchanges with them).
//!
//! ```text
//! gather.rs   ranks come, until they say that all are there
//! node.rs     the segment, the port, one-sided requests; what happens when a rank dies
//! ```
//!
//! It starts no rank and cannot stop one, except by its own end: all ranks hold its lifeline. So it ends when they have
//! ended, and never before, whatever signals the launcher sends to the processes of the node. When a rank dies, it tells
//! the helpers of all other nodes, because not every launcher ends a job that has lost a process.

mod gather;
mod node;

use std::ffi::OsString;
use std::os::unix::net::UnixListener;

use oxmpi_boot::node_helper::OPTION;

use crate::reach::Listening;
use crate::sys;
use gather::Gathering;
use node::Node;

/// Whether these are the arguments of such a helper.
pub fn is_meant(arguments: &[OsString]) -> bool {
    arguments.first().is_some_and(|first| first == OPTION)
}

/// Serves the ranks of this node until they have ended. Returns the exit status.
pub fn help(arguments: &[OsString], listening: Listening) -> i32 {
    let fd = arguments.get(1).and_then(|word| word.to_str()?.parse().ok());
    let Some(socket) = fd.and_then(sys::adopt_socket) else {
        eprintln!("mpirun: {OPTION} is for the MPI library alone");
        return 2;
    };
    // Signals stay blocked, as the library has started this process.
    match serve(UnixListener::from(socket), listening) {
        Ok(()) => 0,
        Err(text) => {
            eprintln!("mpirun: the ranks of this node cannot be helped: {text}");
            1
        }
    }
}

fn serve(listener: UnixListener, listening: Listening) -> Result<(), String> {
    // A reader of a rank's output must not wait for this process. The rank itself goes on to use the streams.
    sys::leave_stdio().map_err(|error| error.to_string())?;
    let Some(ranks) = Gathering::new(listener)?.run()? else { return Ok(()) };
    let Some(mut node) = Node::prepare(ranks, listening).start()? else { return Ok(()) };
    node.run().map_err(|error| error.to_string())
}
