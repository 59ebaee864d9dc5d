//! A ring of 64-byte cells that carries packets from one rank to another: one producer, one
//! consumer.
//!
//! ```text
//! header line | cell 0 | cell 1 | …            a packet is 1..=max_packet() neighbouring cells:
//!
//! first cell   word:  stamp (32 bits) | cells (16 bits) | user (16 bits)
//!                     (written last: the packet is ready)
//!              then:  56 bytes of the packet
//! other cells         64 bytes of the packet each, so that its bytes are contiguous in memory
//! ```
//!
//! A packet of one cell moves as one cache line from core to core, the physical minimum. The stamp
//! is the number of the producer's lap, so the consumer does not write to a cell to free it: it
//! only publishes, from time to time, how many cells it has consumed. Cells after the first contain
//! raw bytes instead of a stamp. Before such a cell becomes the first cell of a packet again, the
//! producer clears its word (`raw` remembers which), because the bytes could look like a stamp.
//!
//! The ring never interprets a packet, and it never blocks: `reserve` returns `None` when it is
//! full.

use crate::arena::Mapping;
use crate::foreign_senders::FOREIGN_CELLS;
use crate::prefetch;
use crate::segment::{CACHE_LINE, Segment};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::ptr::NonNull;
use std::sync::Arc;

/// The line before the cells; only the consumer writes it.
#[repr(C, align(64))]
pub(crate) struct RingHeader {
    /// Number of cells consumed since the start, published lazily.
    consumed: AtomicU64,
    /// Set while the consumer asks the producer to send less (the layer above defines what that
    /// means).
    pressure: AtomicU32,
}

#[repr(C, align(64))]
pub(crate) struct Cell {
    word: AtomicU64,
    body: [u8; FIRST_BYTES],
}

/// Bytes of a packet in its first cell.
pub const FIRST_BYTES: usize = CACHE_LINE - 8;

/// The `user` value that marks the unused cells at the end of a lap.
const SKIP: u16 = u16::MAX;

/// Number of cells of a packet of `bytes` bytes.
#[inline]
pub const fn cells_for(bytes: usize) -> usize {
    1 + bytes.saturating_sub(FIRST_BYTES).div_ceil(CACHE_LINE)
}

/// Bytes that fit into a packet of `cells` cells.
#[inline]
pub const fn bytes_in(cells: usize) -> usize {
    FIRST_BYTES + (cells - 1) * CACHE_LINE
}

/// The largest packet of a ring, in cells. The consumer publishes its count after a quarter of the
/// ring, so that such a packet always fits eventually.
#[inline]
pub const fn max_packet(ring_cells: usize) -> usize {
    ring_cells / 4
}

/// The memory of a ring; the [`Home`] of an end keeps it mapped.
#[derive(Clone, Copy)]
struct Memory {
    header: NonNull<RingHeader>,
    cells: NonNull<Cell>,
    count: usize,
}

/// Keeps the memory of an end mapped.
enum Home {
    Segment {
        _segment: Arc<Segment>,
        from: usize,
    },
    ForeignSender {
        _rings: Arc<Mapping>,
    },
    #[cfg(test)]
    Test,
}

impl Home {
    /// Ends the process if the packet with an impossible length came from a rank of the own job.
    #[cold]
    fn blame(&self, cells: usize) {
        if let Home::Segment { from, .. } = self {
            eprintln!(
                "oxmpi: rank {from} on this node sent a packet of {cells} cells, which cannot be: the job's shared \
                 memory has been overwritten"
            );
            std::process::abort();
        }
    }
}

impl Memory {
    fn in_segment(segment: &Segment, from: usize, to: usize) -> Memory {
        let header = segment.ring(from, to).cast::<RingHeader>();
        // SAFETY: the layout has `ring_cells` cells behind the header line.
        let cells = unsafe { header.add(1).cast::<Cell>() };
        Memory { header, cells, count: segment.layout().ring_cells }
    }

    /// The ring with a number in a mapping of the rings of one foreign sender.
    fn of_foreign_sender(mapping: &Mapping, number: usize) -> Memory {
        let stride = (FOREIGN_CELLS + 1) * CACHE_LINE;
        assert!((number + 1) * stride <= mapping.area().bytes);
        // SAFETY: the assertion above: ring `number` ends inside the mapping.
        let header = unsafe { mapping.base().add(number * stride).cast::<RingHeader>() };
        // SAFETY: one line further on, still inside ring `number`, which has FOREIGN_CELLS cells
        // behind its header.
        let cells = unsafe { header.add(1).cast::<Cell>() };
        Memory { header, cells, count: FOREIGN_CELLS }
    }

    #[inline]
    fn header(&self) -> &RingHeader {
        // SAFETY: the end that holds this keeps its home mapped; the header is all atomics.
        unsafe { self.header.as_ref() }
    }

    #[inline]
    fn word(&self, position: usize) -> &AtomicU64 {
        debug_assert!(position < self.count);
        // SAFETY: in bounds; only the atomic word of the cell is borrowed.
        unsafe { &(*self.cells.as_ptr().add(position)).word }
    }

    #[inline]
    fn body(&self, position: usize) -> NonNull<u8> {
        debug_assert!(position < self.count);
        // SAFETY: in bounds; a raw pointer to the bytes after the word, no reference is made.
        unsafe { NonNull::new_unchecked((&raw mut (*self.cells.as_ptr().add(position)).body).cast()) }
    }
}

#[inline]
const fn pack_word(stamp: u32, cells: usize, user: u16) -> u64 {
    stamp as u64 | (cells as u64) << 32 | (user as u64) << 48
}

/// Maximum number of cells to prefetch: more prefetches would only queue up.
const PREFETCH_MOST: usize = 300;

/// Packets of up to this many cells are [demoted](prefetch::demote_lines).
const FEW_CELLS: usize = prefetch::FEW / CACHE_LINE;

/// The sending end. A ring has only one (see `own_slot.rs`).
pub struct Producer {
    memory: Memory,
    /// Number of cells produced since the start.
    head: u64,
    /// The consumer's count as last read.
    consumed: u64,
    position: usize,
    stamp: u32,
    /// One bit for each cell whose word contains raw bytes.
    raw: Vec<u64>,
    _home: Home,
}

// SAFETY: nothing in it belongs to a thread: the pointers are to shared memory that the end keeps
// mapped, and only methods with `&mut self` write cells.
unsafe impl Send for Producer {}

impl Producer {
    /// The sending end of the ring between two ranks of a segment. Only
    /// [`OwnSlot`](crate::own_slot::OwnSlot) calls it.
    pub(crate) fn new(segment: Arc<Segment>, from: usize, to: usize) -> Producer {
        Producer::over(Memory::in_segment(&segment, from, to), Home::Segment { _segment: segment, from })
    }

    /// The sending end of a foreign sender's ring, by its number in a mapping of such rings.
    ///
    /// # Safety
    /// This process has claimed the slot of the foreign sender that owns the rings, and creates
    /// this end once per claim.
    pub unsafe fn of_foreign_sender(rings: &Arc<Mapping>, number: usize) -> Producer {
        Producer::over(Memory::of_foreign_sender(rings, number), Home::ForeignSender { _rings: Arc::clone(rings) })
    }

    fn over(memory: Memory, home: Home) -> Producer {
        Producer { memory, head: 0, consumed: 0, position: 0, stamp: 1, raw: Vec::new(), _home: home }
    }

    /// Reserves a packet of `cells` cells. Returns a pointer to its `bytes_in(cells)` contiguous
    /// bytes, or `None` while the ring is full. Nothing is sent before [`Producer::publish`];
    /// reserving again without publishing is allowed.
    #[inline]
    pub fn reserve(&mut self, cells: usize) -> Option<NonNull<u8>> {
        debug_assert!(cells <= max_packet(self.memory.count));
        let to_end = self.memory.count - self.position;
        if cells > to_end {
            return self.reserve_past_end(cells, to_end);
        }
        // One cell more: the word after the packet may have to be cleared.
        if !self.has_room(cells + 1) {
            return None;
        }
        Some(self.memory.body(self.position))
    }

    #[cold]
    fn reserve_past_end(&mut self, cells: usize, to_end: usize) -> Option<NonNull<u8>> {
        if !self.has_room(to_end + cells + 1) {
            return None;
        }
        self.publish(to_end, SKIP);
        Some(self.memory.body(self.position))
    }

    #[inline]
    fn has_room(&mut self, cells: usize) -> bool {
        let free = |ring: &Producer| ring.memory.count as u64 - (ring.head - ring.consumed);
        if free(self) >= cells as u64 {
            return true;
        }
        // Acquire: the consumer read the cells before it released them.
        self.consumed = self.memory.header().consumed.load(Ordering::Acquire);
        free(self) >= cells as u64
    }

    /// Sends the packet that was written to the reserved cells. `user` is for the layer above (not
    /// `u16::MAX`).
    #[inline]
    pub fn publish(&mut self, cells: usize, user: u16) {
        let first = self.position;
        let stamp = self.stamp;
        self.head += cells as u64;
        self.position += cells;
        if self.position == self.memory.count {
            self.position = 0;
            self.stamp = self.stamp.wrapping_add(1).max(1);
        }
        if cells > 1 && user != SKIP {
            self.mark_raw(first + 1, cells - 1);
        }
        if !self.raw.is_empty() {
            self.clear_if_raw(first, false);
            self.clear_if_raw(self.position, true);
        }
        if (2..=FEW_CELLS).contains(&cells) && user != SKIP {
            prefetch::demote_lines(self.memory.body(first + 1).as_ptr(), (cells - 1) * CACHE_LINE - 8);
        }
        // Release: the bytes of the packet, and the cleared word behind it, are visible before the
        // stamp.
        self.memory.word(first).store(pack_word(stamp, cells, user), Ordering::Release);
    }

    /// Prefetches for writing the cells of the next packet, if it has the same length, outside the
    /// critical path of the last packet: the consumer read them a lap ago, and getting a line back
    /// takes as long as sending one. One cell more is prefetched, because its word may have to be
    /// cleared.
    #[inline]
    pub fn prefetch(&self, cells: usize) {
        let most = (cells + 1).min(PREFETCH_MOST).min(self.memory.count - self.position);
        for cell in self.position..self.position + most {
            prefetch::line_for_writing(self.memory.word(cell));
        }
    }

    /// The same for the packet after the next, if both have that many cells. Not while the consumer
    /// may still have to read some of these cells: it would have to fetch them again.
    pub fn prefetch_second(&mut self, cells: usize) {
        if !self.has_room(2 * cells + 1) {
            return;
        }
        let first = self.position + cells;
        let first = if first + cells > self.memory.count { 0 } else { first };
        for cell in first..first + cells.min(PREFETCH_MOST) {
            prefetch::line_for_writing(self.memory.word(cell));
        }
    }

    fn mark_raw(&mut self, from: usize, cells: usize) {
        if self.raw.is_empty() {
            self.raw = vec![0; self.memory.count.div_ceil(64)];
        }
        let (mut cell, end) = (from, from + cells);
        while cell < end {
            let bits = (end - cell).min(64 - cell % 64);
            self.raw[cell / 64] |= (u64::MAX >> (64 - bits)) << (cell % 64);
            cell += bits;
        }
    }

    /// Marks a cell as one whose word is a stamp. The store is needed only if nothing else is about
    /// to overwrite the word.
    #[inline]
    fn clear_if_raw(&mut self, cell: usize, store: bool) {
        let (index, bit) = (cell / 64, 1 << (cell % 64));
        if self.raw[index] & bit != 0 {
            self.raw[index] &= !bit;
            if store {
                self.memory.word(cell).store(0, Ordering::Relaxed);
            }
        }
    }

    /// Whether the consumer asks this producer to send less.
    #[inline]
    pub fn under_pressure(&self) -> bool {
        self.memory.header().pressure.load(Ordering::Relaxed) != 0
    }
}

/// A packet at the consuming end, valid until [`Consumer::advance`].
#[derive(Clone, Copy)]
pub struct Packet {
    pub user: u16,
    pub cells: usize,
    /// The packet's `bytes_in(cells)` contiguous bytes.
    pub bytes: NonNull<u8>,
}

/// The receiving end. A ring has only one (see `own_slot.rs`).
pub struct Consumer {
    memory: Memory,
    tail: u64,
    published: u64,
    position: usize,
    stamp: u32,
    broken: bool,
    home: Home,
}

// SAFETY: nothing in it belongs to a thread: the pointers are to shared memory that the end keeps
// mapped, and it reads cells only after it has acquired the producer's stamp.
unsafe impl Send for Consumer {}

impl Consumer {
    /// The receiving end of the ring between two ranks of a segment. Only
    /// [`OwnSlot`](crate::own_slot::OwnSlot) calls it.
    pub(crate) fn new(segment: Arc<Segment>, from: usize, to: usize) -> Consumer {
        Consumer::over(Memory::in_segment(&segment, from, to), Home::Segment { _segment: segment, from })
    }

    /// The receiving end of a foreign sender's ring, which has its own mapping.
    ///
    /// # Safety
    /// The ring leads to this process, and this end is created once for each foreign sender that
    /// connects.
    pub unsafe fn of_foreign_sender(ring: Mapping) -> Consumer {
        Consumer::over(Memory::of_foreign_sender(&ring, 0), Home::ForeignSender { _rings: Arc::new(ring) })
    }

    fn over(memory: Memory, home: Home) -> Consumer {
        Consumer { memory, tail: 0, published: 0, position: 0, stamp: 1, broken: false, home }
    }

    /// Whether the producer has published something that [`Consumer::peek`] has to look at.
    #[inline(always)]
    pub fn has_next(&self) -> bool {
        // Relaxed: `peek` loads the word again before it reads the cells.
        self.memory.word(self.position).load(Ordering::Relaxed) as u32 == self.stamp
    }

    /// The next packet, if one is ready. It stays the next one until [`Consumer::advance`].
    #[inline(always)]
    pub fn peek(&mut self) -> Option<Packet> {
        loop {
            // Acquire: pairs with the producer's release of the stamp.
            let word = self.memory.word(self.position).load(Ordering::Acquire);
            if word as u32 != self.stamp {
                return None;
            }
            let (cells, user) = ((word >> 32) as u16 as usize, (word >> 48) as u16);
            // One cell is always valid; a larger length from the producer is checked.
            if cells != 1 && self.is_impossible(cells) {
                return None;
            }
            if user != SKIP {
                return Some(Packet { user, cells, bytes: self.memory.body(self.position) });
            }
            self.advance(cells);
        }
    }

    /// Whether no correct producer can have published a packet of so many cells here. Then the ring
    /// is not read any more. The sender is given up if it is a process of another job; between
    /// ranks of a job it means that the program has overwritten the shared memory.
    #[inline]
    fn is_impossible(&mut self, cells: usize) -> bool {
        let most = max_packet(self.memory.count).min(self.memory.count - self.position);
        !(1..=most).contains(&cells) && self.give_up(cells)
    }

    #[cold]
    #[inline(never)]
    fn give_up(&mut self, cells: usize) -> bool {
        if !self.broken {
            self.broken = true;
            self.home.blame(cells);
        }
        true
    }

    /// Whether the producer wrote something that cannot be a packet.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Releases the cells of the packet; its bytes must not be read any more. Returns whether the
    /// release was published to the producer.
    #[inline]
    pub fn advance(&mut self, cells: usize) -> bool {
        self.tail += cells as u64;
        self.position += cells;
        if self.position >= self.memory.count {
            self.position = 0;
            self.stamp = self.stamp.wrapping_add(1).max(1);
        }
        if self.tail - self.published < max_packet(self.memory.count) as u64 {
            return false;
        }
        self.published = self.tail;
        // Release: our reads of the cells come before the producer may overwrite them.
        self.memory.header().consumed.store(self.tail, Ordering::Release);
        true
    }

    /// Asks the producer to send less, or no longer.
    pub fn set_pressure(&self, on: bool) {
        self.memory.header().pressure.store(u32::from(on), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring outside any segment.
    struct Owned {
        header: Box<RingHeader>,
        cells: Vec<Cell>,
    }

    impl Owned {
        fn new(count: usize) -> Owned {
            let cell = || Cell { word: AtomicU64::new(0), body: [0; FIRST_BYTES] };
            Owned {
                header: Box::new(RingHeader { consumed: AtomicU64::new(0), pressure: AtomicU32::new(0) }),
                cells: (0..count).map(|_| cell()).collect(),
            }
        }

        fn memory(&mut self) -> Memory {
            Memory {
                header: NonNull::from(&mut *self.header),
                cells: NonNull::new(self.cells.as_mut_ptr()).unwrap(),
                count: self.cells.len(),
            }
        }
    }

    #[cfg(not(loom))]
    mod threads {
        use super::*;

        /// A length that the ring cannot hold is rejected, at any position.
        #[test]
        fn an_impossible_packet_breaks_the_ring() {
            for (before, cells) in [(0, 0), (0, 5), (0, u16::MAX as usize), (14, 3)] {
                let mut ring = Owned::new(16);
                let memory = ring.memory();
                let (mut tx, mut rx) = (Producer::over(memory, Home::Test), Consumer::over(memory, Home::Test));
                for _ in 0..before {
                    tx.reserve(1).unwrap();
                    tx.publish(1, 3);
                    let packet = rx.peek().unwrap();
                    rx.advance(packet.cells);
                }
                memory.word(before).store(pack_word(1, cells, 3), Ordering::Release);
                assert!(rx.peek().is_none() && rx.is_broken(), "{cells} cells at {before}");
                memory.word(before).store(pack_word(1, cells, SKIP), Ordering::Release);
                assert!(rx.peek().is_none(), "nor is a gap of that length skipped");
            }
        }

        fn fill(bytes: NonNull<u8>, len: usize, seed: u64) {
            for i in 0..len {
                // SAFETY: within the reserved packet.
                unsafe { bytes.add(i).write((seed as u8).wrapping_mul(31).wrapping_add(i as u8)) };
            }
        }

        fn check(bytes: NonNull<u8>, len: usize, seed: u64) {
            for i in 0..len {
                // SAFETY: within the peeked packet.
                let byte = unsafe { bytes.add(i).read() };
                assert_eq!(byte, (seed as u8).wrapping_mul(31).wrapping_add(i as u8), "packet {seed} byte {i}");
            }
        }

        /// Packets of every size in an order that wraps at every position, between two threads.
        #[test]
        fn packets_arrive_whole_and_in_order() {
            for count in [16, 17, 63, 64] {
                let mut ring = Owned::new(count);
                let memory = ring.memory();
                let (mut tx, mut rx) = (Producer::over(memory, Home::Test), Consumer::over(memory, Home::Test));
                const PACKETS: u64 = 200_000;
                let size = move |n: u64| 1 + (n.wrapping_mul(2654435761) >> 7) as usize % max_packet(count);
                let sender = std::thread::spawn(move || {
                    for n in 0..PACKETS {
                        let cells = size(n);
                        let bytes = loop {
                            match tx.reserve(cells) {
                                Some(bytes) => break bytes,
                                None => std::thread::yield_now(),
                            }
                        };
                        fill(bytes, bytes_in(cells), n);
                        tx.publish(cells, (n % 1000) as u16);
                    }
                });
                for n in 0..PACKETS {
                    let packet = loop {
                        match rx.peek() {
                            Some(packet) => break packet,
                            None => std::thread::yield_now(),
                        }
                    };
                    assert_eq!((packet.cells, packet.user), (size(n), (n % 1000) as u16));
                    check(packet.bytes, bytes_in(packet.cells), n);
                    rx.advance(packet.cells);
                }
                sender.join().unwrap();
                assert!(rx.peek().is_none());
            }
        }

        /// Raw bytes that look exactly like the stamp of the next lap must not be taken for a
        /// packet.
        #[test]
        fn raw_bytes_never_pass_for_a_stamp() {
            let mut ring = Owned::new(16);
            let memory = ring.memory();
            let (mut tx, mut rx) = (Producer::over(memory, Home::Test), Consumer::over(memory, Home::Test));
            for n in 0..1000u32 {
                let cells = 1 + n as usize % 4;
                let bytes = tx.reserve(cells).unwrap();
                for at in (0..bytes_in(cells)).step_by(8) {
                    // A word with the stamp of this lap or the next: one cell, user 7.
                    let fake = pack_word(tx.stamp + (at as u32 / 8) % 2, 1, 7);
                    // SAFETY: within the reserved packet.
                    unsafe { bytes.add(at).cast::<u64>().write(fake) };
                }
                tx.publish(cells, 3);
                let packet = rx.peek().expect("published");
                assert_eq!((packet.cells, packet.user), (cells, 3));
                rx.advance(cells);
                assert!(rx.peek().is_none(), "a packet that was not sent, after {n}");
            }
        }

        #[test]
        fn a_full_ring_says_so_and_recovers() {
            let mut ring = Owned::new(16);
            let memory = ring.memory();
            let (mut tx, mut rx) = (Producer::over(memory, Home::Test), Consumer::over(memory, Home::Test));
            let mut sent = 0;
            while tx.reserve(1).is_some() {
                tx.publish(1, 0);
                sent += 1;
            }
            assert_eq!(sent, 15, "one cell stays free");
            for _ in 0..sent {
                rx.peek().unwrap();
                rx.advance(1);
            }
            assert!(tx.reserve(4).is_some());
        }
    }

    #[cfg(loom)]
    mod loom_tests {
        use super::*;

        /// All interleavings of a producer that wraps around a small ring and its consumer: each
        /// packet that is seen was published.
        #[test]
        fn loom_no_packet_is_lost_or_invented() {
            loom::model(|| {
                let mut ring = Owned::new(8);
                let memory = ring.memory();
                let (mut tx, mut rx) = (Producer::over(memory, Home::Test), Consumer::over(memory, Home::Test));
                let sender = loom::thread::spawn(move || {
                    let mut n = 0;
                    while n < 5 {
                        let cells = 1 + (n as usize & 1);
                        if tx.reserve(cells).is_none() {
                            loom::thread::yield_now();
                            continue;
                        }
                        if cells == 2 {
                            // Overwrite the word of a cell behind the first, as a copy of user
                            // bytes does.
                            let raw = (tx.position + 1) % 8;
                            memory.word(raw).store(pack_word(2, 1, 9), Ordering::Relaxed);
                        }
                        tx.publish(cells, n);
                        n += 1;
                    }
                });
                let mut expected = 0;
                while expected < 5 {
                    match rx.peek() {
                        Some(packet) => {
                            assert_eq!((packet.user, packet.cells), (expected, 1 + (expected as usize & 1)));
                            rx.advance(packet.cells);
                            expected += 1;
                        }
                        None => loom::thread::yield_now(),
                    }
                }
                sender.join().unwrap();
                assert!(rx.peek().is_none());
            });
        }
    }
}
