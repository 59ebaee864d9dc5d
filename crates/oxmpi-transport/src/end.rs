//! What every link has: an end that sends, and what it knows of the peer behind it.

use std::ptr::NonNull;

/// The link has no room now: nothing was sent. The caller keeps the packet and tries again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// The sending end of a link to one peer. Packets arrive in the order in which they are published.
pub(crate) trait End {
    /// Room for a packet of so many cells: a pointer to its bytes, or `None` while the link has no
    /// room. Reserving twice without publishing is harmless.
    fn reserve(&mut self, cells: usize) -> Option<NonNull<u8>>;
    /// Sends the packet that was written to the reserved cells.
    fn publish(&mut self, cells: usize, user: u16);
    /// As [`End::publish`], for a packet that may arrive split after any whole cell.
    fn publish_bulk(&mut self, cells: usize, user: u16) {
        self.publish(cells, user);
    }
}

/// Whether a process is still running, as far as its link knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    Running,
    /// It receives nothing more.
    Finalized,
    Dead,
}
