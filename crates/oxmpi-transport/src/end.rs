//! What every link has: an end that sends, and what it knows of the peer behind it.

use std::ptr::NonNull;

/// The sending end of a link to one peer. Packets arrive in the order in which they are published.
pub(crate) trait End {
    /// Room for a packet of so many cells: a pointer to its bytes, or `None` while the link takes none. Reserving again
    /// without publishing is harmless.
    fn reserve(&mut self, cells: usize) -> Option<NonNull<u8>>;
    /// Sends the packet that was written to the reserved cells.
    fn publish(&mut self, cells: usize, user: u16);
    /// The same for a packet of which any number of whole cells may arrive as a packet of its own.
    fn publish_bulk(&mut self, cells: usize, user: u16) {
        self.publish(cells, user);
    }
}

/// Whether a process still takes part, as its link knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    Running,
    /// It receives nothing more.
    Finalized,
    Dead,
}
