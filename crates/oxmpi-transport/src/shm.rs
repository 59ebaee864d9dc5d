//! Processes of one node: a ring for every ordered pair, tickets for messages that wait for their receiver, single copies
//! straight out of a peer's memory.
//!
//! Rings are opened lazily. A sender marks itself, once, in the receiver's doorbell; a receiver polls the rings of those
//! that ever rang. Processes of other jobs are in `strangers.rs`. User memory is touched here and in the datatype kernels only.

use crate::strangers::Strangers;
use crate::table::PeerTable;
use oxmpi_base::address::JobId;
use oxmpi_base::arena::{Area, Arena};
use oxmpi_base::ids::{Peer, Slot};
use oxmpi_base::own_slot::OwnSlot;
use oxmpi_base::pid::Pid;
use oxmpi_base::ring::{self, Consumer, Producer};
use oxmpi_base::segment::{IN_CALL, JobHeader, RankBlock, STATE_FINALIZED, STATE_RUNNING, Segment};
use oxmpi_base::ticket::{self, Ticket, TicketBook, TicketId};
use oxmpi_base::wait::{self, Barrier};
use oxmpi_base::{cma, cma::Piece};
use oxmpi_datatype::{Buf, Cursor};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// What the layer above writes at the front of a packet. The transport carries it and reads none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: u8,
    pub flags: u8,
    pub context: u32,
    pub tag: i32,
    pub source: i32,
    pub aux: u32,
}

/// Bytes of a [`Head`] in a packet, besides its kind and flags, which travel in the cell's word.
const HEAD_BYTES: usize = 16;

/// Bytes that fit beside a head into one cache line.
pub const INLINE_BYTES: usize = ring::FIRST_BYTES - HEAD_BYTES;

/// Words in the body of a control packet.
pub const CONTROL_WORDS: usize = 4;

/// Bytes in front of the data of a packet of several cells: the data starts at a cell of its own, aligned to a cache line.
const BULK_OFFSET: usize = ring::FIRST_BYTES;

/// The parts of a message but the last are multiples of this: a receiver takes all that a packet has room for.
pub const PART_UNIT: usize = 64;

pub struct Shm {
    me: Slot,
    barrier: Barrier,
    pub(crate) ends: PeerTable<Ends>,
    /// Peers that ever sent something here, in the order in which they were noticed.
    senders: Vec<Peer>,
    doorbell_seen: Vec<u64>,
    /// What guests have told so far.
    guests_heard: u64,
    book: TicketBook,
    arena: Arena,
    /// Makes the ends of rings.
    own: OwnSlot,
    segment: Arc<Segment>,
    pub(crate) strangers: Box<Strangers>,
}

/// The ends of the two rings between this process and a peer, once they are open.
#[derive(Default)]
pub(crate) struct Ends {
    tx: Option<Box<Producer>>,
    rx: Option<Box<Consumer>>,
}

/// A packet that has arrived; its bytes are valid until [`Shm::pop`].
#[derive(Clone, Copy)]
pub struct Incoming {
    user: u16,
    cells: usize,
    bytes: NonNull<u8>,
}

impl Shm {
    /// Joins a job's segment as rank `me`, which nobody may have done before.
    pub fn attach(segment: Segment, job: JobId, me: Slot) -> io::Result<Shm> {
        let segment = Arc::new(segment);
        let taken = || {
            io::Error::other(format!("slot {} of the job's shared segment is in use, or does not exist", me.index()))
        };
        let mut own = OwnSlot::claim(Arc::clone(&segment), me.index()).ok_or_else(taken)?;
        let book = own.tickets().ok_or_else(taken)?;
        let barrier = wait::register();
        cma::permit_peers();
        let ranks = segment.ranks();
        let block = segment.rank(me.index());
        block.pid.store(std::process::id(), Relaxed);
        let shm = Shm {
            me,
            barrier,
            ends: PeerTable::new(ranks),
            senders: Vec::new(),
            doorbell_seen: vec![0; ranks.div_ceil(64)],
            guests_heard: 0,
            book,
            arena: Arena::new(&segment, me.index()),
            own,
            segment,
            strangers: Box::new(Strangers::new(job)),
        };
        shm.rejoin();
        Ok(shm)
    }

    /// This process.
    #[inline]
    pub fn own(&self) -> Peer {
        Peer::local(self.me)
    }

    pub fn slot(&self) -> Slot {
        self.me
    }

    /// How many ranks the own job has here.
    #[inline]
    pub fn ranks(&self) -> usize {
        self.segment.ranks()
    }

    pub(crate) fn segment(&self) -> &Segment {
        &self.segment
    }

    pub fn job(&self) -> &JobHeader {
        self.segment.header()
    }

    pub fn block(&self) -> &RankBlock {
        self.segment.rank(self.me.index())
    }

    #[inline]
    pub fn block_of(&self, peer: Peer) -> &RankBlock {
        match peer.slot() {
            Some(slot) => self.segment.rank(slot.index()),
            None => self.block_of_stranger(peer),
        }
    }

    /// The CPU that `mpirun` bound a process to, or the first of several; `None` when it is not bound.
    pub fn cpu_of(&self, peer: Peer) -> Option<usize> {
        (self.block_of(peer).cpu.load(Relaxed) as usize).checked_sub(1)
    }

    pub fn barrier(&self) -> Barrier {
        self.barrier
    }

    /// Memory that any process can [map](Shm::map) once it is told the area; it reads as zeroes.
    pub fn allocate(&mut self, bytes: usize) -> io::Result<Area> {
        self.arena.take(bytes).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Gives back what this rank [allocated](Shm::allocate), once nobody uses it.
    pub fn release(&mut self, area: Area) {
        self.arena.give_back(&self.segment, area);
    }

    /// Bytes of the areas that this rank has [allocated](Shm::allocate).
    pub fn allocated(&self) -> usize {
        self.arena.given_out()
    }

    /// Bytes of memory that the node's segment takes up.
    pub fn segment_memory(&self) -> u64 {
        self.segment.memory()
    }

    /// Says that this rank takes part, as it did before it [left](Shm::leave).
    pub fn rejoin(&self) {
        self.job().awake.fetch_add(1, Relaxed);
        self.block().leaving.store(0, Relaxed);
        // Release: whoever sees the rank running also sees its process id.
        self.block().state.store(STATE_RUNNING, Release);
    }

    /// Says that this rank takes part in nothing, for now or for good.
    pub fn leave(&self) {
        self.block().state.store(STATE_FINALIZED, Release);
        self.job().awake.fetch_sub(1, Relaxed);
    }

    /// Says that this rank will receive nothing more, so that nobody waits for it in order to leave.
    pub fn prepare_to_leave(&self) {
        self.block().leaving.store(1, Release);
        for slot in 0..self.ranks() {
            self.wake(Peer::at_slot(slot));
        }
        self.wake_strangers();
    }

    /// Whether `peer` is in a call of the library and awake, as it looks now.
    #[inline]
    pub fn is_waiting(&self, peer: Peer) -> bool {
        let block = self.block_of(peer);
        block.call.load(Relaxed) & IN_CALL != 0 && block.sleep.load(Relaxed) == 0
    }

    /// Whether `peer` sleeps in a call of the library, as it looks now.
    pub fn is_asleep(&self, peer: Peer) -> bool {
        let block = self.block_of(peer);
        block.call.load(Relaxed) & IN_CALL != 0 && block.sleep.load(Relaxed) != 0
    }

    /// Whether `peer` receives nothing more.
    pub fn has_left(&self, peer: Peer) -> bool {
        self.block_of(peer).leaving.load(Acquire) != 0 || self.is_dead(peer)
    }

    // ---- sending ----

    /// The largest part of a message that one packet takes: a multiple of [`PART_UNIT`].
    pub fn max_part(&self) -> usize {
        ring::bytes_in(ring::max_packet(self.segment.layout().ring_cells)) - BULK_OFFSET
    }

    /// Sends a head and a few words in one cache line; `false` while the ring is full.
    pub fn send_control(&mut self, peer: Peer, head: &Head, body: &[u64; CONTROL_WORDS]) -> bool {
        // SAFETY: the cell is 8-byte aligned behind the head and has room for the words.
        self.send_cell(peer, head, |to| unsafe { to.cast::<[u64; CONTROL_WORDS]>().write(*body) })
    }

    /// Sends a head, the words of `prefix` and the next `bytes` bytes of the buffer (at most [`Shm::max_part`]); `false`
    /// while the ring is full. What does not fit beside the head starts at a cell of its own, so that copies are aligned.
    pub fn send_first(
        &mut self,
        peer: Peer,
        head: &Head,
        prefix: &[u64],
        buf: &Buf,
        cursor: &mut Cursor,
        bytes: usize,
    ) -> bool {
        let front = HEAD_BYTES + size_of_val(prefix);
        debug_assert!(front <= ring::FIRST_BYTES);
        let offset = if front + bytes <= ring::FIRST_BYTES { front } else { BULK_OFFSET };
        let cells = ring::cells_for(offset + bytes);
        let tx = self.producer(peer);
        let Some(at) = tx.reserve(cells) else { return false };
        // SAFETY: the reserved cells have room for head, prefix and `bytes` bytes, and a Buf is memory that the caller of
        // MPI vouches for until its operation completes.
        unsafe {
            write_head(at, head);
            for (index, &word) in prefix.iter().enumerate() {
                at.add(HEAD_BYTES).cast::<u64>().add(index).write(word);
            }
            cursor.pack_afar(buf, at.as_ptr().add(offset), bytes);
        }
        tx.publish(cells, user_word(head));
        self.wake(peer);
        true
    }

    /// Sends a head and a whole buffer of at most [`INLINE_BYTES`] bytes in one cache line; `false` while the ring is full.
    #[inline]
    pub fn send_inline(&mut self, peer: Peer, head: &Head, buf: &Buf) -> bool {
        let bytes = buf.len();
        assert!(bytes <= INLINE_BYTES);
        // SAFETY: a Buf is memory that the caller of MPI vouches for until its operation completes.
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
    fn send_cell(&mut self, peer: Peer, head: &Head, fill: impl FnOnce(*mut u8)) -> bool {
        let tx = self.producer(peer);
        let Some(at) = tx.reserve(1) else { return false };
        // SAFETY: a cell has room for a head and INLINE_BYTES behind it.
        unsafe {
            write_head(at, head);
            fill(at.as_ptr().add(HEAD_BYTES));
        }
        tx.publish(1, user_word(head));
        tx.prefetch(1);
        self.wake(peer);
        true
    }

    /// Prepares for another message of that many bytes, while there is nothing better to do.
    pub fn expect_as_long(&mut self, peer: Peer, bytes: usize) {
        let cells = ring::cells_for(BULK_OFFSET + bytes);
        self.producer(peer).prefetch(cells);
    }

    /// Prepares for a second packet of that many bytes, before the first one is [sent](Shm::send_bulk).
    pub fn expect_second(&mut self, peer: Peer, bytes: usize) {
        let cells = ring::cells_for(BULK_OFFSET + bytes);
        self.producer(peer).prefetch_second(cells);
    }

    /// Sends the next `bytes` bytes of the buffer (at most [`Shm::max_part`]) behind a word for the layer above; `false`
    /// while the ring is full.
    pub fn send_bulk(&mut self, peer: Peer, kind: u8, word: u64, buf: &Buf, cursor: &mut Cursor, bytes: usize) -> bool {
        // Never one cell alone, whose data would start elsewhere.
        let cells = ring::cells_for(BULK_OFFSET + bytes.max(1));
        let tx = self.producer(peer);
        let Some(at) = tx.reserve(cells) else { return false };
        // SAFETY: the reserved cells have room for the word and, from BULK_OFFSET on, for `bytes` bytes; the Buf is
        // vouched for as above.
        unsafe {
            at.cast::<u64>().write(word);
            cursor.pack_afar(buf, at.as_ptr().add(BULK_OFFSET), bytes);
        }
        tx.publish(cells, u16::from(kind));
        self.wake(peer);
        true
    }

    /// Whether `peer` asks for no more messages that it would have to store.
    #[inline]
    pub fn under_pressure(&mut self, peer: Peer) -> bool {
        self.producer(peer).under_pressure()
    }

    #[inline]
    pub fn wake(&self, peer: Peer) {
        match peer.slot() {
            Some(slot) => wait::wake(self.segment.header(), self.segment.rank(slot.index()), self.barrier),
            None => self.wake_stranger(peer),
        }
    }

    #[inline]
    fn producer(&mut self, peer: Peer) -> &mut Producer {
        if self.ends.at(peer).tx.is_none() {
            self.open(peer);
        }
        match &mut self.ends.at(peer).tx {
            Some(tx) => tx,
            None => unreachable!("just opened"),
        }
    }

    #[cold]
    fn open(&mut self, peer: Peer) {
        let me = self.me.index();
        let tx = match peer.slot() {
            None => self.open_to_stranger(peer),
            Some(slot) => {
                let tx = self.own.producer(slot.index()).map(Box::new);
                let Some(tx) = tx else { unreachable!("a ring to a rank of the job is opened once") };
                self.segment.doorbell(slot.index())[me / 64].fetch_or(1 << (me % 64), AcqRel);
                tx
            }
        };
        self.ends.at(peer).tx = Some(tx);
    }

    // ---- receiving ----

    /// How many peers ever sent something here; their numbers are [`Shm::sender`]`(0..)`.
    #[inline]
    pub fn senders(&mut self) -> usize {
        for word in 0..self.doorbell_seen.len() {
            let rung = self.segment.doorbell(self.me.index())[word].load(Relaxed);
            if rung != self.doorbell_seen[word] {
                self.admit(word, rung);
            }
        }
        self.senders.len()
    }

    #[inline]
    pub fn sender(&self, index: usize) -> Peer {
        self.senders[index]
    }

    #[cold]
    fn admit(&mut self, word: usize, rung: u64) {
        let mut new = rung & !self.doorbell_seen[word];
        self.doorbell_seen[word] = rung;
        while new != 0 {
            let slot = word * 64 + new.trailing_zeros() as usize;
            new &= new - 1;
            // A bit that is none of a rank, or comes again, was set by no peer that follows the rules.
            if let Some(rx) = self.own.consumer(slot) {
                self.ends.at(Peer::at_slot(slot)).rx = Some(Box::new(rx));
                self.senders.push(Peer::at_slot(slot));
            }
        }
    }

    /// Whether guests came or left since [`Shm::see_guests`].
    #[inline]
    pub fn has_guest_news(&self) -> bool {
        self.segment.guest_bell(self.me.index()).load(Relaxed) != self.guests_heard
    }

    pub(crate) fn heard_guests(&mut self, rung: u64) {
        self.guests_heard = rung;
    }

    pub(crate) fn has_receiver(&self, peer: Peer) -> bool {
        self.ends.get(peer).is_some_and(|ends| ends.rx.is_some())
    }

    pub(crate) fn receive_from(&mut self, peer: Peer, rx: Box<Consumer>) {
        self.ends.at(peer).rx = Some(rx);
        self.senders.push(peer);
    }

    /// Whether `peer` wrote something to its ring that cannot be a packet.
    pub(crate) fn is_ring_broken(&self, peer: Peer) -> bool {
        self.ends.get(peer).and_then(|ends| ends.rx.as_ref()).is_some_and(|rx| rx.is_broken())
    }

    pub(crate) fn receive_no_more_from(&mut self, peer: Peer) {
        self.ends.at(peer).rx = None;
        self.senders.retain(|&sender| sender != peer);
    }

    pub(crate) fn send_no_more_to(&mut self, peer: Peer) {
        self.ends.at(peer).tx = None;
    }

    /// The next packet from `peer`, which stays there until [`Shm::pop`].
    #[inline]
    pub fn peek(&mut self, peer: Peer) -> Option<Incoming> {
        let packet = self.ends.at(peer).rx.as_mut()?.peek()?;
        Some(Incoming { user: packet.user, cells: packet.cells, bytes: packet.bytes })
    }

    /// Gives the packet that was peeked last back to its sender.
    #[inline]
    pub fn pop(&mut self, peer: Peer, packet: Incoming) {
        let Some(rx) = self.ends.at(peer).rx.as_mut() else { return };
        if rx.advance(packet.cells) {
            // It may sleep until there is room.
            self.wake(peer);
        }
    }

    /// Asks `peer` to send nothing that we would have to store, or lifts that.
    pub fn set_pressure(&mut self, peer: Peer, on: bool) {
        if let Some(rx) = &self.ends.at(peer).rx {
            rx.set_pressure(on);
        }
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
        let (segment, slot) = self.home_of(peer);
        ticket::ticket_of(segment, slot.index(), id)
    }

    #[inline]
    fn pid_of(&self, peer: Peer) -> io::Result<Pid> {
        Pid::new(self.block_of(peer).pid.load(Relaxed)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Copies from `peer`'s memory to ours; may move fewer bytes than asked for.
    pub fn copy_from(&self, peer: Peer, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
        let pid = self.pid_of(peer)?;
        // SAFETY: `local` comes from the Buf of a pending receive.
        unsafe { cma::read(pid, local, remote) }
    }

    /// Copies from our memory to `peer`'s; may move fewer bytes than asked for.
    pub fn copy_to(&self, peer: Peer, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
        let pid = self.pid_of(peer)?;
        // SAFETY: `local` comes from the Buf of a pending send; `remote` from the ticket that its receiver took.
        unsafe { cma::write(pid, local, remote) }
    }
}

impl Incoming {
    #[inline]
    pub fn kind(&self) -> u8 {
        self.user as u8
    }

    #[inline]
    pub fn head(&self) -> Head {
        // SAFETY: every packet has a first cell with room for a head; its bytes are plain numbers.
        let (context, tag, source, aux) = unsafe {
            let at = self.bytes.cast::<u32>();
            (at.read(), at.add(1).cast::<i32>().read(), at.add(2).cast::<i32>().read(), at.add(3).read())
        };
        Head { kind: self.user as u8, flags: (self.user >> 8) as u8, context, tag, source, aux }
    }

    /// The word in front of a bulk packet.
    #[inline]
    pub fn bulk_word(&self) -> u64 {
        // SAFETY: as above.
        unsafe { self.bytes.cast::<u64>().read() }
    }

    /// Where the data of a packet starts that has `prefix` bytes behind its head.
    #[inline]
    fn data(&self, prefix: usize) -> usize {
        if self.cells == 1 { HEAD_BYTES + prefix } else { BULK_OFFSET }
    }

    /// Bytes of data that the packet has room for, with `prefix` bytes behind its head.
    #[inline]
    pub fn room(&self, prefix: usize) -> usize {
        ring::bytes_in(self.cells) - self.data(prefix)
    }

    /// A number of the body behind the head, `index` counting words of eight bytes.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        assert!((index + 1) * 8 <= INLINE_BYTES);
        // SAFETY: in the packet's first cell, which is 8-byte aligned behind the head.
        unsafe { self.bytes.add(HEAD_BYTES).cast::<u64>().add(index).read() }
    }

    /// Copies `bytes` bytes of data to the next bytes of the buffer.
    #[inline]
    pub fn unpack(&self, prefix: usize, bytes: usize, buf: &Buf, cursor: &mut Cursor) {
        assert!(bytes <= self.room(prefix));
        // SAFETY: in the packet's bytes; the Buf is that of a pending receive.
        unsafe { cursor.unpack(buf, self.bytes.as_ptr().add(self.data(prefix)), bytes) };
    }

    /// Copies the `bytes` bytes of a packet of one cell to the start of a buffer that has room for them.
    #[inline]
    pub fn unpack_inline(&self, bytes: usize, buf: &Buf) {
        assert!(bytes <= INLINE_BYTES && bytes <= buf.len());
        // SAFETY: in the first cell; the Buf is that of a pending receive.
        unsafe {
            let from = self.bytes.as_ptr().add(HEAD_BYTES);
            match buf.as_dense() {
                Some(to) => copy_small(to, from, bytes),
                None => {
                    Cursor::new().unpack(buf, from, bytes);
                }
            }
        }
    }

    /// Copies bytes of data.
    pub fn copy_to(&self, prefix: usize, to: &mut [u8]) {
        assert!(to.len() <= self.room(prefix));
        // SAFETY: in the packet's bytes; a slice of ours does not overlap the segment.
        unsafe {
            let from = self.bytes.as_ptr().add(self.data(prefix));
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
        }
    }

    /// Appends bytes of data to what is stored of a message.
    pub fn append_to(&self, prefix: usize, bytes: usize, store: &mut Vec<u8>) {
        assert!(bytes <= self.room(prefix));
        // SAFETY: in the packet's bytes, which nobody writes before `pop`.
        store.extend_from_slice(unsafe {
            std::slice::from_raw_parts(self.bytes.as_ptr().add(self.data(prefix)), bytes)
        });
    }
}

#[inline]
fn user_word(head: &Head) -> u16 {
    u16::from(head.kind) | u16::from(head.flags) << 8
}

/// # Safety
/// `at` is the start of a reserved packet.
#[inline]
unsafe fn write_head(at: NonNull<u8>, head: &Head) {
    let low = u64::from(head.context) | u64::from(head.tag as u32) << 32;
    let high = u64::from(head.source as u32) | u64::from(head.aux) << 32;
    // SAFETY: a packet's bytes start 8-byte aligned and hold at least FIRST_BYTES.
    unsafe {
        at.cast::<u64>().write(low);
        at.cast::<u64>().add(1).write(high);
    }
}

/// A copy of few bytes without a call: two overlapping moves for each range of lengths.
///
/// # Safety
/// As for `copy_nonoverlapping`; `len` is at most [`INLINE_BYTES`].
#[inline(always)]
unsafe fn copy_small(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: every access lies within `len` bytes of its pointer, and all loads come before the first store.
    unsafe {
        if len == 8 {
            to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned());
        } else if len >= 16 {
            let first = from.cast::<u128>().read_unaligned();
            let last = from.add(len - 16).cast::<u128>().read_unaligned();
            if len > 32 {
                let middle = from.add(16).cast::<u128>().read_unaligned();
                to.add(16).cast::<u128>().write_unaligned(middle);
            }
            to.cast::<u128>().write_unaligned(first);
            to.add(len - 16).cast::<u128>().write_unaligned(last);
        } else if len > 8 {
            let first = from.cast::<u64>().read_unaligned();
            let last = from.add(len - 8).cast::<u64>().read_unaligned();
            to.cast::<u64>().write_unaligned(first);
            to.add(len - 8).cast::<u64>().write_unaligned(last);
        } else if len >= 4 {
            let first = from.cast::<u32>().read_unaligned();
            let last = from.add(len - 4).cast::<u32>().read_unaligned();
            to.cast::<u32>().write_unaligned(first);
            to.add(len - 4).cast::<u32>().write_unaligned(last);
        } else if len > 0 {
            let (first, middle, last) = (*from, *from.add(len / 2), *from.add(len - 1));
            *to = first;
            *to.add(len / 2) = middle;
            *to.add(len - 1) = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_copies_of_every_length() {
        let from: Vec<u8> = (1..=64).collect();
        for len in 0..=INLINE_BYTES {
            let mut to = [0u8; 64];
            // SAFETY: both have 64 bytes.
            unsafe { copy_small(to.as_mut_ptr(), from.as_ptr(), len) };
            assert_eq!(to[..len], from[..len]);
            assert!(to[len..].iter().all(|&byte| byte == 0), "wrote past {len} bytes");
        }
    }
}
