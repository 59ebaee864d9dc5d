//! The sending half of the links. A local peer is an index into an array, outside any enum, so that
//! a message to it costs one test and no dispatch. A far peer has an entry that is made at first
//! contact.
//!
//! A send takes its whole packet, or returns [`Full`] and has sent nothing. The packets of a pair
//! arrive in the order of the calls; there is no order between pairs.

use crate::caps::{self, Caps, CapsTable, Direct};
use crate::end::{End, Full, Life};
use crate::far::Far;
use crate::node_memory::NodeMemory;
use crate::packet::*;
use crate::table::FarTable;
use crate::tcp::TcpTx;
use crate::tcp::network::Network;
use crate::transfer::own_offers::OwnOffers;
use oxmpi_abi::Error;
#[cfg(feature = "sim")]
use oxmpi_abi::constants::MPI_ERR_PROC_ABORTED;
use oxmpi_base::ids::{Peer, Slot};
use oxmpi_base::offer_cell::OfferCells;
use oxmpi_base::own_slot::OwnSlot;
use oxmpi_base::ring::{self, Consumer, Producer};
use oxmpi_datatype::{Cursor, Source};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::AcqRel;

pub struct Outgoing {
    local: Box<[Option<Box<Producer>>]>,
    far: FarTable<Far>,
    pub(crate) offers: OwnOffers,
    pub(crate) caps: CapsTable,
    may_copy: bool,
    /// Called when a pair first uses its link.
    on_open: Option<fn(&NodeMemory, Peer, &Caps)>,
    /// Hands out the ends of rings.
    ends: OwnSlot,
    node: NodeMemory,
    /// How this process reaches other nodes.
    pub(crate) network: Option<Box<Network>>,
}

impl Outgoing {
    pub(crate) fn new(ends: OwnSlot, cells: OfferCells, node: NodeMemory) -> Outgoing {
        let local = (0..node.ranks()).map(|_| None).collect();
        let caps = CapsTable::new(node.segment().layout().ring_cells);
        let offers = OwnOffers::new(cells);
        Outgoing {
            local,
            far: FarTable::default(),
            offers,
            caps,
            may_copy: true,
            on_open: None,
            ends,
            node,
            network: None,
        }
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

    /// The receiving end of the ring from a slot; `None` if it was handed out before.
    pub(crate) fn consumer(&mut self, from: usize) -> Option<Consumer> {
        self.ends.consumer(from)
    }

    /// What the link to a peer can do.
    #[inline]
    pub fn caps(&self, peer: Peer) -> &Caps {
        match peer.slot() {
            Some(_) => &self.caps.ring,
            None => self.far_caps(peer),
        }
    }

    #[cold]
    fn far_caps(&self, peer: Peer) -> &Caps {
        #[cfg(feature = "sim")]
        if self.node.sim.is_some() {
            return &self.caps.sim;
        }
        if self.goes_by_network(peer) {
            if self.has_fabric() && !self.node.is_foreign(peer) {
                return &caps::FABRIC;
            }
            return &caps::TCP;
        }
        if self.node.shares_memory(peer) { &self.caps.ring } else { &self.caps.pretended }
    }

    /// Whether the memory of peers that share some with us may be copied to and from, as far as is known.
    pub fn may_copy(&self) -> bool {
        self.may_copy
    }

    /// Messages through rings that are longer are offered. Before anything is sent.
    pub fn limit_eager(&mut self, most: usize) {
        for caps in [&mut self.caps.ring, &mut self.caps.pretended] {
            caps.eager = caps.eager.min(most);
        }
    }

    /// From now on nothing is copied straight between this process and others.
    pub fn forbid_copies(&mut self) {
        (self.may_copy, self.caps.ring.direct) = (false, Direct::Forbidden);
    }

    /// From now on messages go as packets; memory of windows is copied straight nevertheless.
    pub fn stream_messages(&mut self) {
        self.caps.ring.direct = Direct::Forbidden;
    }

    /// What is called when a pair first uses its link.
    pub fn on_open(&mut self, tell: fn(&NodeMemory, Peer, &Caps)) {
        self.on_open = Some(tell);
    }

    /// Sends a head and a few words in one cache line; [`Full`] while there is no room.
    pub fn send_control(&mut self, peer: Peer, head: &Head, body: &[u64; CONTROL_WORDS]) -> Result<(), Full> {
        if peer.is_far()
            && let Some(tcp) = self.tcp(peer)
        {
            let sent = tcp.send_control(head, body);
            self.note_sent(peer);
            return sent;
        }
        // SAFETY: the cell is 8-byte aligned behind the head and has room for the words.
        self.send_cell(peer, head, |to| unsafe { to.cast::<[u64; CONTROL_WORDS]>().write(*body) })
    }

    /// Sends a head, the words of `prefix` and the next `bytes` bytes of the buffer (at most
    /// [`Caps::part`]); [`Full`] while there is no room. Data that does not fit beside the head
    /// starts in a cell of its own, so that copies are aligned.
    pub fn send_first(
        &mut self,
        peer: Peer,
        head: &Head,
        prefix: &[u64],
        buf: &Source<'_>,
        cursor: &mut Cursor,
        bytes: usize,
    ) -> Result<(), Full> {
        if peer.is_far()
            && let Some(tcp) = self.tcp(peer)
        {
            let sent = tcp.send_message(head, prefix, buf, cursor, bytes);
            self.note_sent(peer);
            return sent;
        }
        let front = HEAD_BYTES + size_of_val(prefix);
        debug_assert!(front <= ring::FIRST_BYTES);
        let offset = if front + bytes <= ring::FIRST_BYTES { front } else { BULK_OFFSET };
        let cells = ring::cells_for(offset + bytes);
        // SAFETY: the cells have room for head, prefix and `bytes` bytes, and are no part of a user's memory.
        let fill = |at: NonNull<u8>| unsafe {
            write_head(at, head);
            for (index, &word) in prefix.iter().enumerate() {
                at.add(HEAD_BYTES).cast::<u64>().add(index).write(word);
            }
            cursor.pack_afar(buf, at.as_ptr().add(offset), bytes);
        };
        match peer.slot() {
            Some(slot) => send_on(self.local(slot), cells, user_word(head), fill)?,
            None => send_on(self.far(peer), cells, user_word(head), fill)?,
        }
        self.wake(peer);
        Ok(())
    }

    /// Sends a head and a whole buffer of at most [`INLINE_BYTES`] bytes in one cache line; [`Full`] while there is no room.
    #[inline]
    pub fn send_inline(&mut self, peer: Peer, head: &Head, buf: &Source<'_>) -> Result<(), Full> {
        let bytes = buf.len();
        assert!(bytes <= INLINE_BYTES);
        // SAFETY: a `Source` may be read; a cell has room for INLINE_BYTES behind the head, and the
        // assertion above limits `bytes`.
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
        // SAFETY: a cell has room for a head and INLINE_BYTES behind it.
        let fill = |at: NonNull<u8>| unsafe {
            write_head(at, head);
            fill(at.as_ptr().add(HEAD_BYTES));
        };
        match peer.slot() {
            Some(slot) => {
                let tx = self.local(slot);
                send_on(tx, 1, user_word(head), fill)?;
                tx.prefetch(1);
            }
            None => send_on(self.far(peer), 1, user_word(head), fill)?,
        }
        self.wake(peer);
        Ok(())
    }

    /// Prefetches the cells of another message of that length, while the caller has nothing else to
    /// do.
    pub fn expect_as_long(&mut self, peer: Peer, bytes: usize) {
        let cells = ring::cells_for(BULK_OFFSET + bytes);
        if let Some(tx) = self.ring(peer) {
            tx.prefetch(cells);
        }
    }

    /// Prefetches the cells of a second packet of that length, before the first one is
    /// [sent](Outgoing::send_bulk).
    pub fn expect_second(&mut self, peer: Peer, bytes: usize) {
        let cells = ring::cells_for(BULK_OFFSET + bytes);
        if let Some(tx) = self.ring(peer) {
            tx.prefetch_second(cells);
        }
    }

    /// Sends the next `bytes` bytes of the buffer (at most [`Caps::part`]) behind a word for the layer above; [`Full`]
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
        if peer.is_far()
            && let Some(tcp) = self.tcp(peer)
        {
            let sent = tcp.send_bulk(kind, word, buf, cursor, bytes);
            self.note_sent(peer);
            return sent;
        }
        // Never a single cell: its data would start at another offset.
        let cells = ring::cells_for(BULK_OFFSET + bytes.max(1));
        // SAFETY: the cells have room for the word and, from BULK_OFFSET on, for `bytes` bytes.
        let mut fill = |at: NonNull<u8>| unsafe {
            at.cast::<u64>().write(word);
            cursor.pack_afar(buf, at.as_ptr().add(BULK_OFFSET), bytes);
        };
        match peer.slot() {
            Some(slot) => send_on(self.local(slot), cells, u16::from(kind), fill)?,
            None => {
                let tx = self.far(peer);
                fill(tx.reserve(cells).ok_or(Full)?);
                tx.publish_bulk(cells, u16::from(kind));
            }
        }
        self.wake(peer);
        Ok(())
    }

    /// Whether the peer may be reading the bytes for this operation of its where they lie.
    pub fn is_lending(&mut self, peer: Peer, receive: u64) -> bool {
        peer.is_far() && self.tcp(peer).is_some_and(|tcp| tcp.is_lending(receive))
    }

    /// Whether `peer` asks for offers instead of messages that it would have to store.
    #[inline]
    pub fn under_pressure(&mut self, peer: Peer) -> bool {
        match peer.slot() {
            Some(slot) => self.local(slot).under_pressure(),
            None => self.far(peer).under_pressure(),
        }
    }

    #[inline]
    fn wake(&self, peer: Peer) {
        self.node.wake(peer);
    }

    /// The ring to a rank of this node.
    #[inline]
    fn local(&mut self, slot: Slot) -> &mut Producer {
        if self.local[slot.index()].is_none() {
            self.open(slot);
        }
        match &mut self.local[slot.index()] {
            Some(tx) => tx,
            None => unreachable!("just opened"),
        }
    }

    /// The ring to a peer, where it has one.
    #[inline]
    fn ring(&mut self, peer: Peer) -> Option<&mut Producer> {
        match peer.slot() {
            Some(slot) => Some(self.local(slot)),
            None => self.far(peer).ring(),
        }
    }

    #[cold]
    fn open(&mut self, slot: Slot) {
        self.local[slot.index()] = Some(open(&mut self.ends, &self.node, slot));
        self.tell_opened(Peer::local(slot));
    }

    /// The link to a far peer, which is opened at first contact.
    #[inline(never)]
    fn far(&mut self, peer: Peer) -> &mut Far {
        let needs_link = match self.far.at(peer) {
            Far::Unopened => true,
            // If the peer has made a connection for the next link, that one becomes it in the next turn.
            Far::Tcp(tcp) => tcp.is_over() && !self.network.as_ref().is_some_and(|network| network.has_early(peer)),
            _ => false,
        };
        if needs_link {
            if matches!(self.far.at(peer), Far::Tcp(tcp) if !tcp.joint().rests()) {
                self.note_parted(peer);
            }
            let link = self.open_far(peer);
            if !matches!(link, Far::Unopened) {
                self.tell_opened(peer);
            }
            *self.far.at(peer) = link;
        }
        self.far.at(peer)
    }

    #[cold]
    fn open_far(&mut self, peer: Peer) -> Far {
        #[cfg(feature = "sim")]
        if let Some(tx) = self.node.sim.as_ref().and_then(|sim| sim.open(peer)) {
            return Far::Sim(tx);
        }
        if let Some(tcp) = self.open_tcp(peer) {
            return tcp;
        }
        match self.node.pretended_slot(peer) {
            Some(slot) => Far::Pretended(open(&mut self.ends, &self.node, slot)),
            None => self.node.open_to_foreign(peer).map_or(Far::Unopened, Far::Foreign),
        }
    }

    /// The entry of a far peer, opened or not.
    pub(crate) fn far_entry(&mut self, peer: Peer) -> &mut Far {
        self.far.at(peer)
    }

    /// The entry of a far peer, if it has one.
    pub(crate) fn far_known(&self, peer: Peer) -> Option<&Far> {
        self.far.get(peer)
    }

    /// The link to a peer of another node.
    #[cold]
    fn tcp(&mut self, peer: Peer) -> Option<&mut TcpTx> {
        match self.far(peer) {
            Far::Tcp(tx) => Some(tx),
            _ => None,
        }
    }

    /// Why nothing can be sent to a peer, if that is so.
    pub fn failure(&self, peer: Peer) -> Option<&Error> {
        match self.far.get(peer) {
            Some(Far::Dead(error)) => Some(error),
            _ => None,
        }
    }

    /// Sends nothing more to a far peer, for this reason.
    pub fn break_link(&mut self, peer: Peer, error: Error) {
        if self.goes_by_network(peer) {
            *self.far.at(peer) = Far::Dead(error);
        }
    }

    /// A process has ended, for good: if it was on another node, nothing is left of the link to it.
    pub fn bury(&mut self, peer: Peer, error: Error) {
        if self.goes_by_network(peer) {
            self.network.iter_mut().for_each(|network| network.forget(peer));
            self.break_link(peer, error);
        }
    }

    #[cold]
    pub(crate) fn tell_opened(&self, peer: Peer) {
        if let Some(tell) = self.on_open {
            tell(&self.node, peer, self.caps(peer));
        }
    }

    /// Whether a process is still running.
    pub fn life(&self, peer: Peer) -> Life {
        #[cfg(feature = "sim")]
        if let (true, Some(sim)) = (peer.is_far(), &self.node.sim) {
            return sim.life(peer);
        }
        match self.far.get(peer) {
            Some(Far::Dead(_)) => return Life::Dead,
            Some(Far::Tcp(tx)) if tx.joint().takes_nothing() => return Life::Finalized,
            _ if self.goes_by_network(peer) => return Life::Running,
            _ => {}
        }
        if self.node.has_died(peer) {
            return Life::Dead;
        }
        if self.node.has_left(peer) { Life::Finalized } else { Life::Running }
    }

    /// The far peers that died and share no memory with us. Nothing more is sent to them.
    #[cfg(feature = "sim")]
    pub(crate) fn find_dead_far(&mut self) -> Vec<Peer> {
        let dead = self.node.sim.as_ref().map_or(Vec::new(), |sim| sim.dead());
        for &peer in &dead {
            let text = format!("rank {} has died", peer.far_index().unwrap_or_default());
            *self.far.at(peer) = Far::Dead(Error::new(MPI_ERR_PROC_ABORTED, text));
        }
        dead
    }

    /// Sends nothing more to a far peer.
    pub(crate) fn close(&mut self, peer: Peer) {
        self.far.forget(peer);
    }

    /// Whether offers to and from a peer have cells.
    #[inline]
    pub(crate) fn has_offer_cells(&self, peer: Peer) -> bool {
        !peer.is_far() || self.node.home(peer).is_some()
    }

    /// Whether a packet of one cell could be sent now.
    pub(crate) fn has_room(&mut self, peer: Peer) -> bool {
        match peer.slot() {
            Some(slot) => self.local(slot).reserve(1).is_some(),
            None => match self.far(peer) {
                Far::Tcp(tx) => tx.has_room(),
                far => far.reserve(1).is_some(),
            },
        }
    }
}

/// Opens the ring to a slot of the job's segment and rings the doorbell there.
fn open(ends: &mut OwnSlot, node: &NodeMemory, slot: Slot) -> Box<Producer> {
    let me = node.slot().index();
    let Some(tx) = ends.producer(slot.index()) else { unreachable!("a ring to a rank of the job is opened once") };
    node.segment().doorbell(slot.index())[me / 64].fetch_or(1 << (me % 64), AcqRel);
    Box::new(tx)
}

/// Sends one packet over one link; `fill` writes it.
#[inline(always)]
fn send_on(tx: &mut impl End, cells: usize, user: u16, fill: impl FnOnce(NonNull<u8>)) -> Result<(), Full> {
    fill(tx.reserve(cells).ok_or(Full)?);
    tx.publish(cells, user);
    Ok(())
}
