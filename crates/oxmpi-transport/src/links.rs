//! All links of a process: how it reaches every peer, and how they reach it. The engine owns them and knows of peers
//! only what these types say; which memory or network is behind a peer is not its business.
//!
//! The two halves are apart so that a packet of the receiving half can be read while answers go through the sending
//! half. Messages to oneself never come here: they stay in the engine.

use crate::incoming::Incoming;
use crate::node_memory::NodeMemory;
use crate::outgoing::Outgoing;
use oxmpi_base::address::JobId;
use oxmpi_base::ids::Slot;
use oxmpi_base::own_slot::OwnSlot;
use oxmpi_base::segment::Segment;
use std::io;
use std::sync::Arc;

pub struct Links {
    pub tx: Outgoing,
    pub rx: Incoming,
}

impl Links {
    /// Joins a job's segment in a slot, which nobody may have done before.
    pub fn attach(segment: Segment, job: JobId, me: Slot) -> io::Result<Links> {
        let segment = Arc::new(segment);
        let taken = || {
            io::Error::other(format!("slot {} of the job's shared segment is in use, or does not exist", me.index()))
        };
        let mut ends = OwnSlot::claim(Arc::clone(&segment), me.index()).ok_or_else(taken)?;
        let book = ends.tickets().ok_or_else(taken)?;
        let node = NodeMemory::attach(segment, job, me);
        Ok(Links { rx: Incoming::new(node.ranks()), tx: Outgoing::new(ends, book, node) })
    }

    /// The node's memory.
    pub fn node(&self) -> &NodeMemory {
        self.tx.node()
    }
}
