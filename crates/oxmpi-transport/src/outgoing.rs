//! The sending half of the links. A local peer is an index into an array, outside of any enum, so that a message to it
//! meets one test and no dispatch; a far peer has an entry that is made at first contact.
//!
//! A send either takes all of its packet or says [`Full`] and has sent nothing. Packets of a pair arrive in the order of
//! the calls; between pairs nothing is promised.

use crate::node_memory::NodeMemory;
use crate::packet::*;
use crate::table::FarTable;
use oxmpi_base::ids::{Peer, Slot};
use oxmpi_base::own_slot::OwnSlot;
use oxmpi_base::ring::{self, Consumer, Producer};
use oxmpi_base::ticket::{self, Ticket, TicketBook, TicketId};
use oxmpi_datatype::{Cursor, Source};
use std::sync::atomic::Ordering::AcqRel;

/// The link has no room now: nothing was sent. The caller keeps the packet and tries again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

pub struct Outgoing {
    local: Box<[Option<Box<Producer>>]>,
    far: FarTable<Far>,
    book: TicketBook,
    /// Makes the ends of rings.
    ends: OwnSlot,
    node: NodeMemory,
}

/// The link to a peer that does not share the own job's memory. A later link is a variant here.
#[derive(Default)]
enum Far {
    #[default]
    Unopened,
    /// A process of another job on this node, through a ring in its job's memory.
    Foreign(Box<Producer>),
    /// A rank of another pretended node, through a ring of the segment that all of them have.
    Pretended(Box<Producer>),
}

impl Outgoing {
    pub(crate) fn new(ends: OwnSlot, book: TicketBook, node: NodeMemory) -> Outgoing {
        let local = (0..node.ranks()).map(|_| None).collect();
        Outgoing { local, far: FarTable::default(), book, ends, node }
    }

    /// This process.
    #[inline]
    pub fn own(&self) -> Peer {
        self.node.own()
    }

    /// The node's memory.
    #[inline]
    pub fn node(&self) -> &NodeMemory {
        &self.node
    }

    pub fn node_mut(&mut self) -> &mut NodeMemory {
        &mut self.node
    }

    /// The receiving end of the ring from a slot, which is made once.
    pub(crate) fn consumer(&mut self, from: usize) -> Option<Consumer> {
        self.ends.consumer(from)
    }

    /// The largest part of a message that one packet takes: a multiple of [`PART_UNIT`].
    pub fn max_part(&self) -> usize {
        ring::bytes_in(ring::max_packet(self.node.segment().layout().ring_cells)) - BULK_OFFSET
    }

    /// Sends a head and a few words in one cache line; [`Full`] while there is no room.
    pub fn send_control(&mut self, peer: Peer, head: &Head, body: &[u64; CONTROL_WORDS]) -> Result<(), Full> {
        // SAFETY: the cell is 8-byte aligned behind the head and has room for the words.
        self.send_cell(peer, head, |to| unsafe { to.cast::<[u64; CONTROL_WORDS]>().write(*body) })
    }

    /// Sends a head, the words of `prefix` and the next `bytes` bytes of the buffer (at most [`Outgoing::max_part`]); [`Full`]
    /// while there is no room. What does not fit beside the head starts at a cell of its own, so that copies are aligned.
    pub fn send_first(
        &mut self,
        peer: Peer,
        head: &Head,
        prefix: &[u64],
        buf: &Source<'_>,
        cursor: &mut Cursor,
        bytes: usize,
    ) -> Result<(), Full> {
        let front = HEAD_BYTES + size_of_val(prefix);
        debug_assert!(front <= ring::FIRST_BYTES);
        let offset = if front + bytes <= ring::FIRST_BYTES { front } else { BULK_OFFSET };
        let cells = ring::cells_for(offset + bytes);
        let tx = self.producer(peer);
        let Some(at) = tx.reserve(cells) else { return Err(Full) };
        // SAFETY: the reserved cells have room for head, prefix and `bytes` bytes, and are no part of
        // a user's memory.
        unsafe {
            write_head(at, head);
            for (index, &word) in prefix.iter().enumerate() {
                at.add(HEAD_BYTES).cast::<u64>().add(index).write(word);
            }
            cursor.pack_afar(buf, at.as_ptr().add(offset), bytes);
        }
        tx.publish(cells, user_word(head));
        self.wake(peer);
        Ok(())
    }

    /// Sends a head and a whole buffer of at most [`INLINE_BYTES`] bytes in one cache line; [`Full`] while there is no room.
    #[inline]
    pub fn send_inline(&mut self, peer: Peer, head: &Head, buf: &Source<'_>) -> Result<(), Full> {
        let bytes = buf.len();
        assert!(bytes <= INLINE_BYTES);
        // SAFETY: a source may be read, and a cell has room for INLINE_BYTES behind the head, as
        // asserted.
        self.send_cell(peer, head, |to| unsafe {
            match buf.as_dense() {
                Some(from) => copy_small(to, from, bytes),
                None => {
                    Cursor::new().pack(buf, to, bytes);
                }
            }
        })
    }

    /// Sends one cell; `fill` writes at most [`INLINE_BYTES`] bytes behind the head.
    #[inline]
    fn send_cell(&mut self, peer: Peer, head: &Head, fill: impl FnOnce(*mut u8)) -> Result<(), Full> {
        let tx = self.producer(peer);
        let Some(at) = tx.reserve(1) else { return Err(Full) };
        // SAFETY: a cell has room for a head and INLINE_BYTES behind it.
        unsafe {
            write_head(at, head);
            fill(at.as_ptr().add(HEAD_BYTES));
        }
        tx.publish(1, user_word(head));
        tx.prefetch(1);
        self.wake(peer);
        Ok(())
    }

    /// Prepares for another message of that many bytes, while there is nothing better to do.
    pub fn expect_as_long(&mut self, peer: Peer, bytes: usize) {
        let cells = ring::cells_for(BULK_OFFSET + bytes);
        self.producer(peer).prefetch(cells);
    }

    /// Prepares for a second packet of that many bytes, before the first one is [sent](Outgoing::send_bulk).
    pub fn expect_second(&mut self, peer: Peer, bytes: usize) {
        let cells = ring::cells_for(BULK_OFFSET + bytes);
        self.producer(peer).prefetch_second(cells);
    }

    /// Sends the next `bytes` bytes of the buffer (at most [`Outgoing::max_part`]) behind a word for the layer above; [`Full`]
    /// while there is no room.
    pub fn send_bulk(
        &mut self,
        peer: Peer,
        kind: u8,
        word: u64,
        buf: &Source<'_>,
        cursor: &mut Cursor,
        bytes: usize,
    ) -> Result<(), Full> {
        // Never one cell alone, whose data would start elsewhere.
        let cells = ring::cells_for(BULK_OFFSET + bytes.max(1));
        let tx = self.producer(peer);
        let Some(at) = tx.reserve(cells) else { return Err(Full) };
        // SAFETY: the reserved cells have room for the word and, from BULK_OFFSET on, for `bytes`
        // bytes.
        unsafe {
            at.cast::<u64>().write(word);
            cursor.pack_afar(buf, at.as_ptr().add(BULK_OFFSET), bytes);
        }
        tx.publish(cells, u16::from(kind));
        self.wake(peer);
        Ok(())
    }

    /// Whether `peer` asks for no more messages that it would have to store.
    #[inline]
    pub fn under_pressure(&mut self, peer: Peer) -> bool {
        self.producer(peer).under_pressure()
    }

    #[inline]
    fn wake(&self, peer: Peer) {
        self.node.wake(peer);
    }

    #[inline]
    fn producer(&mut self, peer: Peer) -> &mut Producer {
        match peer.slot() {
            Some(slot) => {
                if self.local[slot.index()].is_none() {
                    self.open(slot);
                }
                match &mut self.local[slot.index()] {
                    Some(tx) => tx,
                    None => unreachable!("just opened"),
                }
            }
            None => self.far_producer(peer),
        }
    }

    #[cold]
    fn open(&mut self, slot: Slot) {
        self.local[slot.index()] = Some(open(&mut self.ends, &self.node, slot));
    }

    /// Opens the link to a far peer at first contact.
    #[inline(never)]
    fn far_producer(&mut self, peer: Peer) -> &mut Producer {
        let node = &self.node;
        let far = self.far.at(peer);
        if let Far::Unopened = far {
            *far = match node.pretended_slot(peer) {
                Some(slot) => Far::Pretended(open(&mut self.ends, node, slot)),
                None => Far::Foreign(node.open_to_foreign(peer)),
            };
        }
        match far {
            Far::Foreign(tx) | Far::Pretended(tx) => tx,
            Far::Unopened => unreachable!("just opened"),
        }
    }

    /// Sends nothing more to a far peer.
    pub(crate) fn close(&mut self, peer: Peer) {
        self.far.forget(peer);
    }

    // ---- messages that wait for their receiver ----

    /// A ticket of ours, or `None` while all are in use.
    pub fn offer_ticket(&mut self) -> Option<TicketId> {
        self.book.offer()
    }

    pub fn own_ticket(&self, id: TicketId) -> &Ticket {
        self.book.ticket(id)
    }

    pub fn release_ticket(&mut self, id: TicketId) {
        self.book.release(id);
    }

    pub fn ticket_of(&self, peer: Peer, id: TicketId) -> &Ticket {
        let (segment, slot) = self.node.home_of(peer);
        ticket::ticket_of(segment, slot.index(), id)
    }
}

/// Opens the ring to a slot of the own segment, and says so there.
fn open(ends: &mut OwnSlot, node: &NodeMemory, slot: Slot) -> Box<Producer> {
    let me = node.slot().index();
    let Some(tx) = ends.producer(slot.index()) else { unreachable!("a ring to a rank of the job is opened once") };
    node.segment().doorbell(slot.index())[me / 64].fetch_or(1 << (me % 64), AcqRel);
    Box::new(tx)
}
