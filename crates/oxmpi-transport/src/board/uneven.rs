//! Gather and scatter of blocks whose lengths differ (`MPI_Gatherv`, `MPI_Scatterv`). Only the root knows all lengths, so each
//! block says its own, and all blocks that are short enough go in one round. The ranks of a longer block find that out here,
//! and send it as a message afterwards.

use super::{CallSignature, SharedBoard, Wait, call, demote_lines, pack, unpack};
use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_base::board::ENTRY_BYTES;
use oxmpi_coll::choose::Kind;
use oxmpi_datatype::{Source, Target};

/// A word of an entry, or of the root's table of blocks.
const WORD: usize = size_of::<u64>();
/// In the root's table: the block comes as a message.
const AS_MESSAGE: u64 = u64::MAX;
/// In place of an offset: what follows is in the entry itself.
const IN_ENTRY: u64 = u64::MAX;

/// What became of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// It went over the board.
    Done,
    /// It is too long, and goes as a message.
    AsMessage,
    /// It has so many bytes, and its receiver expects another number.
    Differs(usize),
}

impl SharedBoard {
    /// The longest block of such an operation that goes over this board.
    fn longest_block(&self, kind: Kind) -> usize {
        let most = if kind == Kind::Gatherv { self.choices.gatherv.short } else { self.choices.scatterv.short };
        // So that the blocks of all ranks, and a word for each, fit into one round.
        most.min((self.chunk() / self.ranks()).saturating_sub(WORD) & !(WORD - 1))
    }

    /// `MPI_Gatherv` at a rank that is not the root.
    pub fn give_to_root(&mut self, wait: &mut impl Wait, root: usize, block: &Source<'_>) -> Result<Delivery> {
        let round = self.open(wait, CallSignature::rooted(Fun::Gatherv, None, root, 0))?;
        let (bytes, most) = (block.len(), self.longest_block(Kind::Gatherv));
        self.say_word(round, 0, bytes as u64);
        if bytes <= ENTRY_BYTES - WORD {
            // SAFETY: our entry of this round has room for so many bytes behind the word.
            unsafe { pack(block, 0, self.entry(self.rank(), round).wrapping_add(WORD), bytes) };
        } else if bytes <= most {
            let at = self.place(wait, bytes)?;
            let to = self.member.staging(self.rank(), at).as_ptr();
            // SAFETY: `place` has found room for so many bytes.
            unsafe { pack(block, 0, to, bytes) };
            demote_lines(to, bytes);
            self.say_word(round, 1, at as u64);
        }
        self.member.publish();
        self.wake(wait, root);
        self.close(wait);
        Ok(if bytes <= most.max(ENTRY_BYTES - WORD) { Delivery::Done } else { Delivery::AsMessage })
    }

    /// `MPI_Gatherv` at the root: `room` is where the block of a rank goes, `tell` hears of blocks that did not go there.
    pub fn take_from_all(
        &mut self,
        wait: &mut impl Wait,
        room: impl Fn(usize) -> Target<'static>,
        mut tell: impl FnMut(usize, Delivery),
    ) -> Result<()> {
        let round = self.listen(CallSignature::rooted(Fun::Gatherv, None, self.rank(), 0))?;
        let most = self.longest_block(Kind::Gatherv);
        for rank in self.others() {
            self.await_entry(wait, rank)?;
            let bytes = self.word(rank, round, 0);
            let from = match usize::try_from(bytes) {
                Ok(bytes) if bytes <= ENTRY_BYTES - WORD => self.entry(rank, round).wrapping_add(WORD).cast_const(),
                Ok(bytes) if bytes <= most => self.staged(rank, self.word(rank, round, 1), bytes)?,
                _ => {
                    tell(rank, Delivery::AsMessage);
                    continue;
                }
            };
            let (bytes, to) = (bytes as usize, room(rank));
            if bytes != to.len() {
                tell(rank, Delivery::Differs(bytes));
            } else {
                // SAFETY: that rank has written so many bytes there in this round.
                unsafe { unpack(&to, 0, from, bytes) };
            }
        }
        self.member.exchanged();
        self.close(wait);
        Ok(())
    }

    /// `MPI_Scatterv` at the root: `block` is that of a rank, `tell` hears of those that go as messages.
    pub fn give_to_all(
        &mut self,
        wait: &mut impl Wait,
        block: impl Fn(usize) -> Source<'static>,
        mut tell: impl FnMut(usize),
    ) -> Result<()> {
        let round = self.open(wait, CallSignature::rooted(Fun::Scatterv, None, self.rank(), 0))?;
        let most = self.longest_block(Kind::Scatterv);
        let mut total = self.ranks() * WORD;
        for rank in self.others() {
            let bytes = block(rank).len();
            total += if bytes <= most { bytes.next_multiple_of(WORD) } else { 0 };
        }
        let base = if total <= ENTRY_BYTES - WORD {
            self.say_word(round, 0, IN_ENTRY);
            self.entry(self.rank(), round).wrapping_add(WORD)
        } else {
            let at = self.place(wait, total)?;
            self.say_word(round, 0, at as u64);
            self.member.staging(self.rank(), at).as_ptr()
        };
        let mut at = self.ranks() * WORD;
        for rank in self.others() {
            let block = block(rank);
            let bytes = block.len();
            let word = if bytes <= most {
                // SAFETY: the table and all blocks up to this one have room there, as `total` says.
                unsafe { pack(&block, 0, base.wrapping_add(at), bytes) };
                let word = (at as u64) << 32 | bytes as u64;
                at += bytes.next_multiple_of(WORD);
                word
            } else {
                tell(rank);
                AS_MESSAGE
            };
            // SAFETY: the table has a word for every rank; it is aligned like an entry or a staging buffer.
            unsafe { base.cast::<u64>().add(rank).write(word) };
        }
        if self.ranks() == 2 && total > ENTRY_BYTES {
            demote_lines(base, total);
        }
        self.member.publish();
        self.wake_all(wait);
        self.close(wait);
        Ok(())
    }

    /// `MPI_Scatterv` at a rank that is not the root: `room` is where its block goes.
    pub fn take_from_root(&mut self, wait: &mut impl Wait, root: usize, room: &Target<'_>) -> Result<Delivery> {
        let round = self.listen(CallSignature::rooted(Fun::Scatterv, None, root, 0))?;
        self.await_entry(wait, root)?;
        let place = self.word(root, round, 0);
        let table = self.ranks() * WORD;
        let base = match place {
            IN_ENTRY => self.entry(root, round).wrapping_add(WORD).cast_const(),
            _ => self.staged(root, place, table)?,
        };
        // SAFETY: the root has written a word for every rank there in this round.
        let word = unsafe { base.cast::<u64>().add(self.rank()).read() };
        let (at, bytes) = ((word >> 32) as usize, word as u32 as usize);
        let delivery = match word {
            AS_MESSAGE => Delivery::AsMessage,
            _ if bytes != room.len() => Delivery::Differs(bytes),
            _ => {
                let from = match place {
                    IN_ENTRY if at + bytes <= ENTRY_BYTES - WORD => base.wrapping_add(at),
                    IN_ENTRY => return Err(call::out_of_step()),
                    _ => self.staged(root, place.saturating_add(at as u64), bytes)?,
                };
                // SAFETY: the root has written our block there in this round.
                unsafe { unpack(room, 0, from, bytes) };
                Delivery::Done
            }
        };
        self.close(wait);
        Ok(delivery)
    }

    fn entry(&self, rank: usize, round: u64) -> *mut u8 {
        self.member.body(rank, round).as_ptr()
    }

    fn say_word(&self, round: u64, index: usize, word: u64) {
        // SAFETY: one of the first words of our entry of this round, which is aligned to 16 bytes.
        unsafe { self.entry(self.rank(), round).cast::<u64>().add(index).write(word) };
    }

    /// A word of the entry of a rank that has arrived.
    fn word(&self, rank: usize, round: u64, index: usize) -> u64 {
        // SAFETY: one of the first words of an entry of a rank that has arrived; nobody writes to it before we finish.
        unsafe { self.entry(rank, round).cast::<u64>().add(index).read() }
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
