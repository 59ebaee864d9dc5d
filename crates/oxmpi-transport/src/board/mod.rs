//! Collective operations of ranks on one node over a board that they share (`oxmpi_base::board`).
//!
//! ```text
//! mod.rs         joining a board, and the building blocks of operations
//! call.rs        the signature of a call, to detect ranks in different calls
//! data.rs        broadcast, gather, scatter, allgather, alltoall
//! exchange.rs    blocks whose lengths only their two ranks know: vector forms, neighbourhood
//! reduction.rs   reduce, allreduce, reduce-scatter, scans
//! parts.rs       long allreduces, with work stealing
//! direct.rs      long operations: direct copies between the ranks
//! background.rs  the same rounds for nonblocking operations, which never wait
//! cpu_balance.rs balances ranks over CPUs when ranks outnumber CPUs
//! ```
//!
//! The table of algorithms (`oxmpi_coll::choose`) decides what the ranks do, by facts that are the
//! same on all of them: the call, its bytes and what all agreed on when the board was made; never
//! the layout or the address of a buffer. The caller waits (see [`Wait`]), so that messages move
//! and other threads get a turn in the meantime.

mod background;
mod call;
mod cpu_balance;
mod data;
mod direct;
mod exchange;
mod parts;
mod reduction;

pub use background::{Advance, BoardRun, Vectors, Work};
pub use call::{CallSignature, different_calls, unknown_calls};
pub use exchange::{Difference, Exchange, Remainder};
pub use reduction::{Kernel, Reduction, Shares};

use oxmpi_abi::Result;
use oxmpi_base::arena::{Area, Mapping};
use oxmpi_base::board::{BoardMember, ENTRY_BYTES};
use oxmpi_base::ids::Peer;
use oxmpi_base::wait::WakeFence;
use oxmpi_base::{copy, prefetch};
use oxmpi_coll::choose::{Algorithm, BoardWay, Facts, Kind, Shape};
use oxmpi_coll::tuning::Tuning;
use oxmpi_datatype::{Cursor, Source, Target};
use std::cell::OnceCell;
use std::sync::Arc;

/// What an operation needs from its caller.
pub trait Wait {
    /// Polls for something that should come soon, unless other ranks need this CPU to produce it;
    /// whether it came.
    fn shortly(&mut self, ready: impl FnMut() -> bool) -> bool;

    /// Waits until `ready` returns `true`; it may be called any number of times. `false`: it never
    /// will.
    fn until(&mut self, ready: impl FnMut() -> bool) -> bool;

    /// Yields the CPU, where ranks outnumber CPUs.
    fn give_way(&mut self);

    /// Wakes a process that may sleep, after something was written that it may wait for.
    fn wake(&mut self, process: Peer);

    /// Copies from another process's memory.
    ///
    /// # Safety
    /// `to` can be written for `bytes` bytes, and `from` is memory that the process shows.
    unsafe fn read(&mut self, process: Peer, to: *mut u8, from: usize, bytes: usize) -> Result<()>;

    /// Copies to another process's memory.
    ///
    /// # Safety
    /// `from` can be read for `bytes` bytes, and `to` is memory that the process shows.
    unsafe fn write(&mut self, process: Peer, from: *const u8, to: usize, bytes: usize) -> Result<()>;

    /// Whether a process has ended, so that it copies nothing any more.
    fn has_ended(&self, process: Peer) -> bool;
}

/// The algorithms of an operation by its size, taken from the table once, when the facts of the
/// board are known.
struct Ways {
    /// Up to this many bytes data goes in pieces, short data in one round. The hot path makes only
    /// this comparison.
    short: usize,
    /// Beyond `short`: from that many bytes on, that algorithm.
    long: Box<[(usize, BoardWay)]>,
}

impl Ways {
    fn new(kind: Kind, ranks: usize, facts: Facts, tuning: Tuning) -> Ways {
        let size = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        let choices = Shape::choices(kind, ranks as u32, facts, tuning).into_iter().skip(1);
        let long: Box<[_]> = choices.map(|(from, algorithm)| (size(from), way(algorithm))).collect();
        Ways { short: long.first().map_or(usize::MAX, |(from, _)| from.saturating_sub(1)), long }
    }

    #[inline]
    fn of(&self, bytes: usize) -> BoardWay {
        if bytes <= self.short { BoardWay::Pieces } else { self.long(bytes) }
    }

    fn long(&self, bytes: usize) -> BoardWay {
        self.long.iter().rev().find(|(from, _)| *from <= bytes).map_or(BoardWay::Pieces, |(_, way)| *way)
    }
}

/// An algorithm over the board. Where the table chooses messages, this is not called.
fn way(algorithm: Algorithm) -> BoardWay {
    match algorithm {
        Algorithm::Board(way) => way,
        _ => BoardWay::Pieces,
    }
}

/// The algorithms of all operations that have more than one.
struct Choices {
    bcast: Ways,
    gather: Ways,
    gatherv: Ways,
    scatter: Ways,
    scatterv: Ways,
    allgather: Ways,
    allgatherv: Ways,
    alltoall: Ways,
    alltoallv: Ways,
    neighbors: Ways,
    reduce: Ways,
    allreduce: Ways,
}

impl Choices {
    fn new(ranks: usize, facts: Facts, tuning: Tuning) -> Choices {
        let of = |kind| Ways::new(kind, ranks, facts, tuning);
        Choices {
            bcast: of(Kind::Bcast),
            gather: of(Kind::Gather),
            gatherv: of(Kind::Gatherv),
            scatter: of(Kind::Scatter),
            scatterv: of(Kind::Scatterv),
            allgather: of(Kind::Allgather),
            allgatherv: of(Kind::Allgatherv),
            alltoall: of(Kind::Alltoall),
            alltoallv: of(Kind::Alltoallv),
            neighbors: of(Kind::Neighbors),
            reduce: of(Kind::Reduce),
            allreduce: of(Kind::Allreduce),
        }
    }

    /// Up to this many bytes all operations are short.
    fn short(&self) -> usize {
        let all = [&self.bcast, &self.allgather, &self.alltoall, &self.reduce, &self.allreduce];
        all.into_iter().map(|ways| ways.short).min().unwrap_or(0)
    }
}

/// Of every kind that was used in the background: from so many bytes on it goes this way, or by messages.
type BackgroundWays = [OnceCell<Box<[(usize, Option<BoardWay>)]>>; Kind::COUNT];

/// This rank's use of a board, which the ranks of a communicator on one node share.
pub struct SharedBoard {
    member: BoardMember,
    mapping: Arc<Mapping>,
    /// The process of each rank.
    members: Box<[Peer]>,
    barrier: WakeFence,
    /// The facts of this board, agreed by all ranks.
    facts: Facts,
    /// The limits of the machine, as the owner of the board has them.
    tuning: Tuning,
    choices: Choices,
    background: BackgroundWays,
    /// Up to this many bytes an allreduce takes one round.
    one_round: usize,
    /// Memory for operands that are being combined; allocated at first use.
    scratch: Vec<u8>,
    /// Whether the last operation was a barrier, and which rank sent to all after the last barrier.
    arrived: bool,
    sender: Option<usize>,
    /// A hash of the calls that did not go over the board.
    history: u64,
    /// Whether the next round can still succeed after an error in this one.
    can_go_on: bool,
    /// Whether an operation may end with an error while others go on: then each rank says when it copies.
    is_fenced: bool,
}

impl SharedBoard {
    /// Bytes of shared memory for so many ranks with staging buffers of so many bytes.
    pub fn memory_for(ranks: usize, staging: usize) -> usize {
        BoardMember::memory_for(ranks, staging)
    }

    /// Joins a board; `None` if the memory does not fit. `oversubscribed` (ranks outnumber CPUs)
    /// and `tuning`
    /// must be the same on all ranks.
    pub fn new(
        mapping: Mapping,
        members: Box<[Peer]>,
        rank: usize,
        staging: usize,
        barrier: WakeFence,
        oversubscribed: bool,
        tuning: Tuning,
    ) -> Option<SharedBoard> {
        let mapping = Arc::new(mapping);
        let member = BoardMember::new(Arc::clone(&mapping), members.len(), staging, rank)?;
        let cpus = if oversubscribed { Facts::OVERSUBSCRIBED } else { Facts::CPU_EACH };
        let staging = if member.largest_place() >= LARGE_STAGING { Facts::LARGE_STAGING } else { Facts::SMALL_STAGING };
        let facts = Facts::BOARD.and(cpus).and(staging);
        let choices = Choices::new(members.len(), facts, tuning);
        let board = SharedBoard {
            one_round: choices.allreduce.short.min(member.largest_place()),
            choices,
            background: [const { OnceCell::new() }; Kind::COUNT],
            member,
            mapping,
            members,
            barrier,
            facts,
            tuning,
            scratch: Vec::new(),
            arrived: false,
            sender: None,
            history: 0,
            can_go_on: false,
            is_fenced: false,
        };
        Some(board)
    }

    /// Adds what all ranks together can do: copy directly, use huge pages.
    pub fn add_facts(&mut self, common: Facts) {
        if self.facts.has(common) {
            return;
        }
        self.facts = self.facts.and(common);
        self.choices = Choices::new(self.ranks(), self.facts, self.tuning);
        self.one_round = self.choices.allreduce.short.min(self.chunk());
    }

    /// The ranks go on when one of them dies. The same on all ranks, before anything is copied.
    pub fn fence_copies(&mut self) {
        self.is_fenced = true;
    }

    /// The facts of this board as text.
    pub fn describe_facts(&self) -> String {
        let either = |fact, yes: &'static str, no| if self.facts.has(fact) { yes } else { no };
        [
            either(Facts::OVERSUBSCRIBED, "ranks outnumber CPUs", "every rank has a CPU"),
            either(
                Facts::DIRECT,
                "all may copy directly",
                "not all may copy directly (OXMPI_SINGLE_COPY, or the kernel)",
            ),
            either(Facts::LARGE_STAGING, "staging buffers are large", "staging buffers are small (many boards)"),
            either(Facts::HUGE_PAGES, "huge pages are allowed", "huge pages are not allowed"),
            match self.tuning {
                Tuning::NONE => "the limits of lengths are the defaults",
                _ => "the limits of lengths are those that oxmpi tune measured",
            },
        ]
        .join(", ")
    }

    /// What the table of algorithms needs to know about an operation over this board.
    pub fn shape(&self, kind: Kind, bytes: usize) -> Shape {
        Shape::new(kind, self.ranks() as u32, bytes as u64, self.facts).tuned(self.tuning)
    }

    /// The same for an operation that goes on in the background.
    pub fn background_shape(&self, kind: Kind, bytes: usize) -> Shape {
        SharedBoard::background_shape_of(kind, self.ranks(), bytes)
    }

    /// The same for an operation of so many ranks over a board that is yet to be made.
    pub fn background_shape_of(kind: Kind, ranks: usize, bytes: usize) -> Shape {
        Shape::new(kind, ranks as u32, bytes as u64, Facts::BACKGROUND_BOARD)
    }

    fn is_oversubscribed(&self) -> bool {
        self.facts.has(Facts::OVERSUBSCRIBED)
    }

    /// Sets the hash of the calls that did not go over the board. It must be the same on all ranks
    /// in the next call that does.
    #[inline]
    pub fn set_history(&mut self, history: u64) {
        if history != self.history {
            self.history = history;
            self.member.mix_in(history);
        }
    }

    pub fn ranks(&self) -> usize {
        self.members.len()
    }

    pub fn area(&self) -> Area {
        self.mapping.area()
    }

    /// Ends a round that has failed. Ranks that are still in step can continue with the next one.
    #[cold]
    pub fn fail(&mut self, wait: &mut impl Wait) {
        if std::mem::take(&mut self.can_go_on) {
            self.close(wait);
            // The last rank to arrive would have woken them.
            self.wake_all(wait);
        } else {
            self.give_up(wait);
        }
    }

    /// Releases all waiting ranks: the ranks are out of step, or one cannot continue.
    #[cold]
    fn give_up(&self, wait: &mut impl Wait) {
        self.member.break_up();
        self.wake_all(wait);
    }

    /// Releases all waiting ranks, because nobody can complete an operation on this board any more.
    #[cold]
    pub fn break_up(&self, mut wake: impl FnMut(Peer)) {
        self.member.break_up();
        self.members.iter().for_each(|&member| wake(member));
    }

    /// Whether the memory is of this rank's process.
    pub fn is_owner(&self) -> bool {
        self.rank() == 0
    }

    /// Compares all our calls with those of ranks that are leaving or have left. `history` as for
    /// [`SharedBoard::set_history`]. Ranks that did not wait for each other in their last call may have
    /// missed that their calls differed. A mismatch that was reported before is not reported again.
    pub fn compare_before_leaving(&mut self, history: u64) -> Option<oxmpi_abi::Error> {
        if self.member.is_broken() {
            return None;
        }
        self.set_history(history);
        let rank = self.member.compare_histories()?;
        let calls =
            self.member.first_difference(rank).map(|(theirs, ours)| (CallSignature(theirs), CallSignature(ours)));
        Some(call::mismatch(rank, self.rank(), calls))
    }

    /// Leaves for good.
    pub fn leave(&self) {
        self.member.leave();
    }

    /// Whether everybody has left, or has failed.
    pub fn is_deserted(&self, has_failed: impl Fn(Peer) -> bool) -> bool {
        self.member.is_deserted()
            || (0..self.ranks()).all(|rank| self.member.has_left(rank) || has_failed(self.members[rank]))
    }

    pub fn barrier(&mut self, wait: &mut impl Wait) -> Result<()> {
        self.begin_barrier(wait, CallSignature::BARRIER)?;
        // If the next call waits for data of another rank, the last rank here would only arrive to
        // wait there.
        let gives_way =
            self.sender.is_some_and(|sender| sender != self.rank()) && self.member.have_arrived(self.others());
        self.meet_all(wait)?;
        self.close(wait);
        if gives_way {
            wait.give_way();
        }
        if self.arrived {
            self.sender = None;
        }
        self.arrived = true;
        Ok(())
    }

    #[inline]
    fn begin_barrier(&mut self, wait: &mut impl Wait, call: CallSignature) -> Result<()> {
        self.open(wait, call)?;
        self.member.publish();
        Ok(())
    }

    // ---- building blocks of operations ----

    fn rank(&self) -> usize {
        self.member.rank()
    }

    /// The other ranks, the next one first, so that not all ranks begin with the same one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (rank, ranks) = (self.rank(), self.ranks());
        (rank + 1..ranks).chain(0..rank)
    }

    /// Begins a round in which we write our entry.
    #[inline]
    fn open(&mut self, wait: &mut impl Wait, call: CallSignature) -> Result<u64> {
        let round = self.listen(call)?;
        if !self.member.is_settled(self.member.replaced()) {
            self.settle(wait, self.member.spare())?;
        }
        Ok(round)
    }

    /// Begins a round in which we only read.
    #[inline]
    fn listen(&mut self, call: CallSignature) -> Result<u64> {
        self.check()?;
        Ok(self.member.advance(call.0))
    }

    /// Allocates part of our staging buffer for this round.
    #[inline]
    fn place(&mut self, wait: &mut impl Wait, bytes: usize) -> Result<usize> {
        loop {
            if let Some(at) = self.member.place(bytes) {
                return Ok(at);
            }
            self.settle(wait, self.member.spare())?;
        }
    }

    /// Waits until all ranks have finished a round.
    #[cold]
    fn settle(&mut self, wait: &mut impl Wait, round: u64) -> Result<()> {
        self.member.set_waiting(true);
        let member = &mut self.member;
        let settled = wait.until(|| member.is_settled(round) || member.is_broken());
        self.member.set_waiting(false);
        if settled { self.check() } else { Err(call::out_of_step()) }
    }

    /// Waits until one rank has finished a round; that rank must wake us.
    #[inline]
    fn await_finished(&mut self, wait: &mut impl Wait, rank: usize, round: u64) -> Result<()> {
        let member = &self.member;
        if member.has_finished(rank, round) {
            return Ok(());
        }
        member.set_waiting_for(rank, true);
        let finished = wait.until(|| member.has_finished(rank, round) || member.is_broken());
        member.set_waiting_for(rank, false);
        if finished { self.check() } else { Err(call::out_of_step()) }
    }

    /// Waits for a rank's entry and compares its call with ours.
    #[inline]
    fn await_entry(&mut self, wait: &mut impl Wait, rank: usize) -> Result<()> {
        if !self.member.has_arrived(rank) {
            self.await_rank(wait, rank);
        }
        if !self.member.has_arrived(rank) || !self.member.agrees(rank) {
            return Err(self.mismatch(wait, rank));
        }
        self.member.saw(rank);
        Ok(())
    }

    #[inline]
    fn await_rank(&self, wait: &mut impl Wait, rank: usize) {
        let member = &self.member;
        if !wait.shortly(|| member.has_arrived(rank)) {
            member.say_waiting();
            wait.until(|| {
                member.has_arrived(rank) || member.waits_elsewhere(rank) || member.has_left(rank) || member.is_broken()
            });
        }
    }

    /// Waits for the entries of all ranks. No rank is woken before all have arrived, since all wait
    /// for all: the last one finds the others there and wakes them.
    #[inline]
    fn meet_all(&mut self, wait: &mut impl Wait) -> Result<()> {
        self.meet_others(wait)?;
        self.exchanged(wait);
        Ok(())
    }

    /// Waits for the entries of all others, and compares their calls with ours.
    ///
    /// Polls one entry until it comes, not all of them in turn: an entry that many ranks poll is
    /// slow to write. When it has come, all are checked, since the others have probably arrived by
    /// then.
    #[inline]
    fn meet_others(&mut self, wait: &mut impl Wait) -> Result<()> {
        let member = &self.member;
        let mut awaited = self.others();
        while !member.have_arrived(self.others()) {
            let Some(rank) = awaited.find(|&rank| !member.has_arrived(rank)) else { break };
            if !wait.shortly(|| member.has_arrived(rank)) {
                self.await_others(wait);
                // Not one after the other: a rank may never arrive because of another's mistake.
                if let Some(rank) = self.others().find(|&rank| self.differs(rank)) {
                    return Err(self.mismatch(wait, rank));
                }
                break;
            }
        }
        for rank in self.others() {
            self.await_entry(wait, rank)?;
        }
        Ok(())
    }

    /// Waits until all others have arrived, or one is seen in another call: it may be the only one
    /// that arrives, since the others may write no entry in their call.
    #[cold]
    fn await_others(&self, wait: &mut impl Wait) {
        let member = &self.member;
        member.say_waiting();
        wait.until(|| {
            member.have_arrived(self.others()) || self.others().any(|rank| self.differs(rank)) || member.is_broken()
        });
    }

    /// Whether a rank is seen in another call, or will never arrive.
    fn differs(&self, rank: usize) -> bool {
        if self.member.has_arrived(rank) {
            return !self.member.agrees(rank);
        }
        self.member.waits_elsewhere(rank) || self.is_gone(rank)
    }

    /// Whether a rank has left without arriving in this round.
    fn is_gone(&self, rank: usize) -> bool {
        // In this order: the rank may have arrived and left just now.
        self.member.has_left(rank) && !self.member.has_arrived(rank)
    }

    #[inline]
    fn exchanged(&mut self, wait: &mut impl Wait) {
        self.member.exchanged();
        self.wake_all(wait);
    }

    #[inline]
    fn wake_all(&self, wait: &mut impl Wait) {
        for rank in self.others() {
            wait.wake(self.members[rank]);
        }
    }

    #[inline]
    fn wake(&self, wait: &mut impl Wait, rank: usize) {
        wait.wake(self.members[rank]);
    }

    /// Ends a round.
    #[inline]
    fn close(&mut self, wait: &mut impl Wait) {
        self.member.prefetch();
        // Without the sleeper's fence we may have read too early that nobody waits; waking has a
        // fence of its own.
        if self.member.finish() || self.barrier == WakeFence::Symmetric {
            self.wake_all(wait);
        }
    }

    /// The error when a rank has not arrived, or is in another call.
    #[cold]
    fn mismatch(&mut self, wait: &mut impl Wait, rank: usize) -> oxmpi_abi::Error {
        let Some(rank) = [rank].into_iter().chain(self.others()).find(|&rank| self.differs(rank)) else {
            return call::out_of_step();
        };
        if self.is_gone(rank) {
            self.give_up(wait);
            return call::gone(rank, self.rank());
        }
        let calls =
            self.member.first_difference(rank).map(|(theirs, ours)| (CallSignature(theirs), CallSignature(ours)));
        self.can_go_on = calls.is_some_and(|(theirs, ours)| theirs.is_like(ours, self.all_in_one_round()));
        if !self.can_go_on {
            self.give_up(wait);
        }
        call::mismatch(rank, self.rank(), calls)
    }

    /// Up to this many bytes every operation takes one round, in which each rank writes its entry
    /// before it reads those of others.
    fn all_in_one_round(&self) -> usize {
        self.choices.short().min(self.chunk() / self.ranks())
    }

    #[inline]
    fn check(&self) -> Result<()> {
        if self.member.is_broken() { Err(call::out_of_step()) } else { Ok(()) }
    }

    // ---- bytes in and out ----

    /// Where to write our bytes for a round: to the entry if they fit, otherwise to our staging
    /// buffer; the entry then holds the offset.
    #[inline]
    fn target(&mut self, wait: &mut impl Wait, round: u64, bytes: usize) -> Result<*mut u8> {
        if bytes <= ENTRY_BYTES {
            return Ok(self.member.body(self.rank(), round).as_ptr());
        }
        let at = self.place(wait, bytes)?;
        self.say(round, at);
        Ok(self.member.staging(self.rank(), at).as_ptr())
    }

    /// Writes our bytes for a round, for all others.
    #[inline]
    fn write(&mut self, wait: &mut impl Wait, round: u64, buf: &Source<'_>, from: usize, bytes: usize) -> Result<()> {
        if self.ranks() == 2 {
            return self.write_for_one(wait, round, buf, from, bytes);
        }
        self.put(wait, round, buf, from, bytes)?;
        Ok(())
    }

    /// As [`SharedBoard::write`], for one rank that should find the bytes soon.
    #[inline]
    fn write_for_one(
        &mut self,
        wait: &mut impl Wait,
        round: u64,
        buf: &Source<'_>,
        from: usize,
        bytes: usize,
    ) -> Result<()> {
        let place = self.put(wait, round, buf, from, bytes)?;
        if bytes > ENTRY_BYTES {
            demote_lines(place, bytes);
        }
        Ok(())
    }

    /// Writes our bytes for a round; returns their address.
    #[inline]
    fn put(
        &mut self,
        wait: &mut impl Wait,
        round: u64,
        buf: &Source<'_>,
        from: usize,
        bytes: usize,
    ) -> Result<*mut u8> {
        let to = self.target(wait, round, bytes)?;
        // SAFETY: only we write there in this round, and there is room for `bytes` bytes.
        unsafe { pack(buf, from, to, bytes) };
        Ok(to)
    }

    /// Writes the offset of the bytes in our staging buffer to our entry.
    #[inline]
    fn say(&self, round: u64, at: usize) {
        // SAFETY: our entry of this round, aligned to 16 bytes.
        unsafe { self.member.body(self.rank(), round).cast::<u64>().write(at as u64) };
    }

    /// The offset in the entry of a rank that has arrived.
    #[inline]
    fn heard(&self, rank: usize, round: u64) -> usize {
        // SAFETY: the entry of a rank that has arrived, aligned to 16 bytes; nobody writes to it
        // before we finish.
        unsafe { self.member.body(rank, round).cast::<u64>().read() as usize }
    }

    /// The address of the bytes of a rank that has arrived.
    #[inline]
    fn found(&self, rank: usize, round: u64, bytes: usize) -> *const u8 {
        if bytes <= ENTRY_BYTES {
            self.member.body(rank, round).as_ptr()
        } else {
            self.member.staging(rank, self.heard(rank, round)).as_ptr()
        }
    }

    /// The most bytes that one round moves.
    #[inline]
    fn chunk(&self) -> usize {
        self.member.largest_place()
    }
}

/// Demotes the lines that we wrote to our staging buffer, so that another rank reads them sooner.
#[inline]
fn demote_lines(staging: *const u8, bytes: usize) {
    if bytes <= prefetch::FEW {
        prefetch::demote_lines(staging, bytes);
    }
}

/// What one round can move where staging buffers are large.
const LARGE_STAGING: usize = 256 << 10;

const _: () = assert!(oxmpi_coll::rules::ENTRY_BYTES == ENTRY_BYTES as u64, "the table knows the size of an entry");

/// Copies bytes out of a buffer, from an offset in its packed stream.
///
/// # Safety
/// The buffer can be read and `to` written for `bytes` bytes, and they do not overlap.
#[inline]
unsafe fn pack(buf: &Source<'_>, from: usize, to: *mut u8, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe {
        match buf.as_dense() {
            Some(base) => copy::bytes(base.wrapping_add(from), to, bytes),
            None => {
                let mut cursor = Cursor::new();
                cursor.seek(buf, from);
                cursor.pack_afar(buf, to, bytes);
            }
        }
    }
}

/// Copies bytes into a buffer, from an offset in its packed stream.
///
/// # Safety
/// The buffer can be written and `from` read for `bytes` bytes, and they do not overlap.
#[inline]
unsafe fn unpack(buf: &Target<'_>, to: usize, from: *const u8, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe {
        match buf.as_dense() {
            Some(base) => copy::bytes(from, base.wrapping_add(to), bytes),
            None => {
                let mut cursor = Cursor::new();
                cursor.seek(buf, to);
                cursor.unpack(buf, from, bytes);
            }
        }
    }
}

/// As [`unpack`], with streaming stores: for an operation that moves more bytes than stay in the
/// cache.
///
/// # Safety
/// As for [`unpack`].
unsafe fn unpack_streaming(buf: &Target<'_>, to: usize, from: *const u8, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe {
        match buf.as_dense() {
            Some(base) => copy::past_cache(from, base.wrapping_add(to), bytes),
            None => unpack(buf, to, from, bytes),
        }
    }
}

/// A range in pieces of at most `most`: start and length of each; one empty piece if there is nothing.
fn pieces(total: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..total.div_ceil(most).max(1)).map(move |index| (index * most, most.min(total - index * most)))
}

#[cfg(test)]
mod tests;
