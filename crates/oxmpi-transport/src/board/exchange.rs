//! Blocks from ranks to other ranks of which only these two know the length: the vector forms and the neighbourhood
//! operations. Each rank that sends writes its short blocks behind a table that says where they are and how long, all in one
//! round. Of a long block the table has the address, and its receiver copies it from there; where that cannot be, it goes as a
//! message afterwards. The sender decides that, and the receiver finds it in the table.

use super::direct::Run;
use super::{CallSignature, SharedBoard, Wait, Ways, call, demote_lines, pack, unpack};
use crate::local;
use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_base::board::ENTRY_BYTES;
use oxmpi_coll::choose::{BoardWay, Facts, Kind};
use oxmpi_datatype::{Source, Target};
use smallvec::SmallVec;

/// A word of an entry, or of a table of blocks.
const WORD: usize = size_of::<u64>();
/// In an entry, in place of the offset of the table: it follows in the entry itself.
const IN_ENTRY: u64 = u32::MAX as u64;
/// In an entry: there is no table, since all blocks come as messages.
const NO_TABLE: u64 = u64::MAX;
/// In a table, in place of a rank: the block is for all.
const FOR_ALL: u64 = 0xff;
/// In a table, in place of a length: the block comes as a message.
const AS_MESSAGE: u64 = (1 << 28) - 1;
/// The same: its address and length are where it would be.
const LENT: u64 = AS_MESSAGE - 1;
const LENT_BYTES: usize = 2 * WORD;
/// No table and its blocks are longer, so that offsets fit into a word of the table.
const MOST_ROOM: usize = 1 << 27;

/// The blocks that a rank sends and receives in one operation.
#[derive(Clone)]
pub struct Exchange {
    /// The function, by its small-count form: ranks may mix both.
    pub fun: Fun,
    /// What the table of algorithms calls the operation.
    pub kind: Kind,
    pub root: Option<usize>,
    /// Each block with its receiver: in the order of ranks, or of the neighbours.
    pub sends: SmallVec<[(usize, Source<'static>); 2]>,
    /// Each block with its sender. Several blocks of one sender are in the order in which it has them.
    pub recvs: SmallVec<[(usize, Target<'static>); 2]>,
    /// The block from this rank to itself, if the operation has that apart from the others.
    pub own: Option<(Source<'static>, Target<'static>)>,
    /// All receivers get the same block.
    pub is_same: bool,
}

/// What the round on the board has left of an exchange.
#[derive(Default, Debug)]
pub struct Remainder {
    /// The blocks that go as messages, by their places in the lists.
    pub sends: Vec<usize>,
    pub recvs: Vec<usize>,
    /// The own block is yet to be copied.
    pub own: bool,
    /// Others copy from our memory until they have finished the round.
    pub(super) lends: bool,
    /// The first block with another length than its receiver expects.
    pub differs: Option<Difference>,
}

/// A block of another length than its receiver expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    pub rank: usize,
    pub got: usize,
    pub expected: usize,
}

impl Remainder {
    /// Whether blocks are left to be moved.
    pub fn is_some(&self) -> bool {
        !self.sends.is_empty() || !self.recvs.is_empty() || self.own
    }
}

impl Exchange {
    pub(super) fn signature(&self) -> CallSignature {
        match self.root {
            Some(root) => CallSignature::rooted(self.fun, None, root, 0),
            None => CallSignature::of(self.fun, None, 0),
        }
    }

    /// Whether every rank writes an entry that all others wait for.
    pub(super) fn is_among_all(&self) -> bool {
        matches!(self.kind, Kind::Alltoallv | Kind::Allgatherv)
    }

    /// Whether this rank writes an entry. A neighbour always does: another rank may take it for one that sends.
    fn writes(&self) -> bool {
        !self.sends.is_empty() || self.kind == Kind::Neighbors
    }

    /// How many blocks the table has.
    fn blocks(&self) -> usize {
        if self.is_same { self.sends.len().min(1) } else { self.sends.len() }
    }

    /// The blocks of the table, and for whom they are.
    fn table(&self) -> impl Iterator<Item = (u64, &Source<'static>)> {
        self.sends
            .iter()
            .take(self.blocks())
            .map(|(to, block)| (if self.is_same { FOR_ALL } else { *to as u64 }, block))
    }
}

/// A place in the memory that a rank shows.
enum Found {
    Here(*const u8, usize),
    Lent(usize, usize),
    AsMessage,
}

/// How a block goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Packed,
    Lent(*mut u8),
    AsMessage,
}

impl SharedBoard {
    /// Moves all short blocks, and tells what is left.
    pub fn exchange(&mut self, wait: &mut impl Wait, exchange: &Exchange) -> Result<Remainder> {
        let mut left = Remainder::default();
        self.begin_exchange(wait, exchange.signature(), exchange, &mut left)?;
        self.end_exchange(wait, exchange, &mut left)?;
        if left.lends && !self.is_returned(exchange) {
            self.member.set_waiting(true);
            let is_returned = wait.until(|| self.is_returned(exchange) || self.member.is_broken());
            self.member.set_waiting(false);
            self.check()?;
            if !is_returned {
                return Err(call::out_of_step());
            }
        }
        Ok(left)
    }

    /// Whether all receivers have finished the round, so that none copies from our memory any more.
    pub(super) fn is_returned(&self, exchange: &Exchange) -> bool {
        let round = self.member.round();
        exchange.sends.iter().all(|(to, _)| *to == self.rank() || self.member.has_finished(*to, round))
    }

    #[inline]
    pub(super) fn begin_exchange(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        exchange: &Exchange,
        left: &mut Remainder,
    ) -> Result<()> {
        let most = self.longest_block(exchange);
        if !exchange.writes() {
            self.listen(call)?;
        } else {
            let round = self.open(wait, call)?;
            self.write_blocks(wait, round, exchange, most, left)?;
            self.member.publish();
            if !exchange.is_among_all() {
                for (to, _) in exchange.sends.iter().filter(|(to, _)| *to != self.rank()) {
                    self.wake(wait, *to);
                }
            }
        }
        // Copied while the blocks of the others are on their way.
        if let Some((from, to)) = &exchange.own {
            left.own = from.len() > most;
            if !left.own {
                local::copy(from, to);
            }
        }
        Ok(())
    }

    /// Ends the round. In the background all entries that it waits for have arrived.
    #[inline]
    pub(super) fn end_exchange(
        &mut self,
        wait: &mut impl Wait,
        exchange: &Exchange,
        left: &mut Remainder,
    ) -> Result<()> {
        let round = self.member.round();
        for (index, (from, to)) in exchange.recvs.iter().enumerate() {
            if *from != self.rank() {
                self.await_entry(wait, *from)?;
            }
            match self.block_from(*from, round, exchange, index)? {
                Found::AsMessage => left.recvs.push(index),
                Found::Here(_, got) if got != to.len() => {
                    left.differs.get_or_insert(Difference { rank: *from, got, expected: to.len() });
                }
                Found::Lent(_, got) if got != to.len() => {
                    left.differs.get_or_insert(Difference { rank: *from, got, expected: to.len() });
                }
                Found::Lent(address, bytes) => {
                    let room = Run::room_for(to);
                    // SAFETY: that rank lends so many bytes until we have finished the round, and there is room for them.
                    unsafe { self.read(wait, *from, room.at(0), address, bytes)? };
                    room.put(to, 0, bytes);
                }
                // SAFETY: that rank has written so many bytes there in this round.
                Found::Here(block, bytes) => unsafe { unpack(to, 0, block, bytes) },
            }
        }
        if exchange.is_among_all() {
            self.exchanged(wait);
        } else if exchange.root == Some(self.rank()) && exchange.sends.is_empty() {
            self.member.exchanged();
        }
        self.close(wait);
        Ok(())
    }

    /// The algorithms for the blocks of an exchange.
    fn ways(&self, kind: Kind) -> &Ways {
        match kind {
            Kind::Gatherv => &self.choices.gatherv,
            Kind::Scatterv => &self.choices.scatterv,
            Kind::Allgatherv => &self.choices.allgatherv,
            Kind::Alltoallv => &self.choices.alltoallv,
            _ => &self.choices.neighbors,
        }
    }

    /// The longest block of ours that goes over this board.
    fn longest_block(&self, exchange: &Exchange) -> usize {
        // So that the table and all blocks fit into one round.
        let blocks = exchange.blocks().max(1);
        let most = (self.room().saturating_sub(blocks * WORD) / blocks) & !(WORD - 1);
        self.ways(exchange.kind).short.min(most)
    }

    /// How a block of ours goes. `most`: the longest that is packed.
    #[inline]
    fn delivery(&self, exchange: &Exchange, most: usize, to: u64, block: &Source<'_>) -> Delivery {
        if block.len() <= most {
            return Delivery::Packed;
        }
        let me = self.rank();
        let is_for_us = to == me as u64 || to == FOR_ALL && exchange.sends.iter().any(|(to, _)| *to == me);
        let is_direct = self.facts.has(Facts::DIRECT)
            && !self.is_fenced
            && most >= LENT_BYTES
            && !is_for_us
            && self.ways(exchange.kind).of(block.len()) == BoardWay::Direct;
        block.as_dense().filter(|_| is_direct).map_or(Delivery::AsMessage, Delivery::Lent)
    }

    /// The bytes that one table and its blocks may have.
    fn room(&self) -> usize {
        self.chunk().min(MOST_ROOM)
    }

    /// The bytes of our table and of the blocks behind it; `None` if not even the table fits.
    fn table_bytes(&self, exchange: &Exchange, most: usize) -> Option<usize> {
        let room = |(to, block): (u64, &Source<'_>)| match self.delivery(exchange, most, to, block) {
            Delivery::Packed => block.len().next_multiple_of(WORD),
            Delivery::Lent(_) => LENT_BYTES,
            Delivery::AsMessage => 0,
        };
        let total = exchange.blocks() * WORD + exchange.table().map(room).sum::<usize>();
        (total <= self.room()).then_some(total)
    }

    /// The part of our staging buffer that an exchange uses; `None` if we write no entry.
    pub(super) fn staged_by(&self, exchange: &Exchange) -> Option<usize> {
        let total = self.table_bytes(exchange, self.longest_block(exchange)).unwrap_or(0);
        exchange.writes().then_some(if total <= ENTRY_BYTES - WORD { 0 } else { total })
    }

    fn write_blocks(
        &mut self,
        wait: &mut impl Wait,
        round: u64,
        exchange: &Exchange,
        most: usize,
        left: &mut Remainder,
    ) -> Result<()> {
        let Some(total) = self.table_bytes(exchange, most) else {
            left.sends.extend(0..exchange.sends.len());
            self.say_word(round, NO_TABLE);
            return Ok(());
        };
        let blocks = exchange.blocks();
        let (base, place) = if total <= ENTRY_BYTES - WORD {
            (self.member.body(self.rank(), round).as_ptr().wrapping_add(WORD), IN_ENTRY)
        } else {
            let at = self.place(wait, total)?;
            (self.member.staging(self.rank(), at).as_ptr(), at as u64)
        };
        self.say_word(round, (blocks as u64) << 32 | place);
        let mut at = blocks * WORD;
        for (index, (to, block)) in exchange.table().enumerate() {
            let (place, bytes) = (base.wrapping_add(at), block.len());
            let (length, used) = match self.delivery(exchange, most, to, block) {
                Delivery::Packed => {
                    // SAFETY: the table and all blocks up to this one have room there, as `total` says.
                    unsafe { pack(block, 0, place, bytes) };
                    (bytes as u64, bytes.next_multiple_of(WORD))
                }
                Delivery::Lent(address) => {
                    left.lends = true;
                    // SAFETY: there is room for two words, aligned like the table.
                    unsafe { place.cast::<[u64; 2]>().write([address as u64, bytes as u64]) };
                    (LENT, LENT_BYTES)
                }
                Delivery::AsMessage => {
                    if exchange.is_same {
                        left.sends.extend(0..exchange.sends.len());
                    } else {
                        left.sends.push(index);
                    }
                    (AS_MESSAGE, 0)
                }
            };
            // SAFETY: the table has a word for every block; it is aligned like an entry or a staging buffer.
            unsafe { base.cast::<u64>().add(index).write(to << 56 | (at as u64) << 28 | length) };
            at += used;
        }
        if exchange.sends.len() == 1 && total > ENTRY_BYTES {
            demote_lines(base, total);
        }
        Ok(())
    }

    /// Where the block is that we receive at this place of our list, whose sender has arrived.
    fn block_from(&self, from: usize, round: u64, exchange: &Exchange, place: usize) -> Result<Found> {
        let me = self.rank();
        // SAFETY: the first word of an entry of a rank that has arrived; nobody writes to it before we finish.
        let head = unsafe { self.member.body(from, round).cast::<u64>().read() };
        if head == NO_TABLE {
            return Ok(Found::AsMessage);
        }
        let (blocks, at) = ((head >> 32) as usize, head & IN_ENTRY);
        let bytes = blocks * WORD;
        let table = match at {
            IN_ENTRY if bytes <= ENTRY_BYTES - WORD => {
                self.member.body(from, round).as_ptr().wrapping_add(WORD).cast_const()
            }
            IN_ENTRY => return Err(call::out_of_step()),
            _ => self.staged(from, at, bytes)?,
        };
        // SAFETY: the table of that rank has so many words, as was compared above, and does not change in this round.
        let mut words = (0..blocks).map(|index| unsafe { table.cast::<u64>().add(index).read() });
        let word = if exchange.is_same || exchange.kind == Kind::Gatherv {
            words.next()
        } else if exchange.kind == Kind::Neighbors {
            let before = exchange.recvs[..place].iter().filter(|(rank, _)| *rank == from).count();
            words.filter(|word| word >> 56 == me as u64).nth(before)
        } else {
            // A rank leaves itself out.
            words.nth(me - usize::from(me > from))
        };
        if word.is_none() && exchange.kind == Kind::Neighbors {
            return Ok(Found::Here(std::ptr::null(), 0));
        }
        let Some(word) = word.filter(|word| matches!(word >> 56, to if to == me as u64 || to == FOR_ALL)) else {
            return Err(call::out_of_step());
        };
        let (start, length) = (word >> 28 & AS_MESSAGE, word & AS_MESSAGE);
        if length == AS_MESSAGE {
            return Ok(Found::AsMessage);
        }
        let is_lent = length == LENT;
        let length = if is_lent { LENT_BYTES as u64 } else { length };
        let block = match at {
            IN_ENTRY if start + length <= (ENTRY_BYTES - WORD) as u64 => table.wrapping_add(start as usize),
            IN_ENTRY => return Err(call::out_of_step()),
            _ => self.staged(from, at + start, length as usize)?,
        };
        if is_lent {
            // SAFETY: that rank has written two words there in this round, aligned like the table.
            let [address, bytes] = unsafe { block.cast::<[u64; 2]>().read() };
            return Ok(Found::Lent(address as usize, bytes as usize));
        }
        Ok(Found::Here(block, length as usize))
    }

    fn say_word(&self, round: u64, word: u64) {
        // SAFETY: the first word of our entry of this round, which is aligned to 16 bytes.
        unsafe { self.member.body(self.rank(), round).cast::<u64>().write(word) };
    }

    /// So many bytes in the staging buffer of a rank; an error if they cannot be there.
    fn staged(&self, rank: usize, at: u64, bytes: usize) -> Result<*const u8> {
        match usize::try_from(at) {
            Ok(at) if at.checked_add(bytes).is_some_and(|end| end <= 2 * self.chunk()) => {
                Ok(self.member.staging(rank, at).as_ptr())
            }
            _ => Err(call::out_of_step()),
        }
    }
}
