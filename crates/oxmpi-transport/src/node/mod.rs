//! Collective operations of ranks on one node over a board that they share (`oxmpi_base::board`).
//!
//! ```text
//! mod.rs         a node: joining a board, and the moves that every operation is made of
//! call.rs        which call a rank is in, as a word that is compared for free
//! data.rs        broadcast, gather, scatter, allgather, alltoall
//! reduction.rs   the same with arithmetic
//! parts.rs       long allreduces, whose parts are computed by whoever is free
//! direct.rs      long ones: straight from one rank's memory to another's
//! cpu_balance.rs      ranks that outnumber CPUs, evenly on them
//! ```
//!
//! What a rank does is decided in one table (`oxmpi_coll::choose`) by what is the same on all ranks: the call, its bytes and the
//! facts that all agreed on when the board was made; never the layout or the address of a buffer. Waiting is the caller's business (see [`Wait`]), so that messages move and other
//! threads get their turn meanwhile.

mod call;
mod cpu_balance;
mod data;
mod direct;
mod parts;
mod reduction;

pub use call::{CallSignature, different_calls};
pub use reduction::{Kernel, Reduction};

use oxmpi_abi::Result;
use oxmpi_base::arena::{Area, Mapping};
use oxmpi_base::board::{BoardMember, ENTRY_BYTES};
use oxmpi_base::ids::Peer;
use oxmpi_base::wait::WakeFence;
use oxmpi_base::{copy, prefetch};
use oxmpi_coll::choose::{Algorithm, BoardWay, Facts, Kind, Shape};
use oxmpi_datatype::{Cursor, Source, Target};
use std::sync::Arc;

/// What an operation needs of its caller.
pub trait Wait {
    /// Looks for something that is probably about to come, unless others need this CPU for it; whether it came.
    fn shortly(&mut self, ready: impl FnMut() -> bool) -> bool;

    /// Waits until `ready` says yes, which may be asked any number of times. `false`: it never will.
    fn until(&mut self, ready: impl FnMut() -> bool) -> bool;

    /// Lets others run first, where ranks outnumber CPUs.
    fn give_way(&mut self);

    /// Wakes a process that may sleep: something was written that it may wait for.
    fn wake(&mut self, process: Peer);

    /// Copies from another process's memory.
    ///
    /// # Safety
    /// `to` can be written for so many bytes, and `from` is memory of that process that it shows.
    unsafe fn read(&mut self, process: Peer, to: *mut u8, from: usize, bytes: usize) -> Result<()>;

    /// Copies to another process's memory.
    ///
    /// # Safety
    /// `from` can be read for so many bytes, and `to` is memory of that process that it shows.
    unsafe fn write(&mut self, process: Peer, from: *const u8, to: usize, bytes: usize) -> Result<()>;
}

/// What ranks do by the size of an operation, taken from the table once, when the board's facts are known.
struct Ways {
    /// Up to so many bytes they go in pieces, short ones in one round: the hot path makes this one comparison.
    short: usize,
    /// Beyond that: from so many bytes on, this way.
    long: Box<[(usize, BoardWay)]>,
}

impl Ways {
    fn new(kind: Kind, ranks: usize, facts: Facts) -> Ways {
        let size = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        let choices = Shape::choices(kind, ranks as u32, facts).into_iter().skip(1);
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

/// A way over the board. Where the table says "by messages" nobody comes here.
fn way(algorithm: Algorithm) -> BoardWay {
    match algorithm {
        Algorithm::Board(way) => way,
        _ => BoardWay::Pieces,
    }
}

/// The ways of all operations that have more than one.
struct Choices {
    bcast: Ways,
    allgather: Ways,
    alltoall: Ways,
    reduce: Ways,
    allreduce: Ways,
}

impl Choices {
    fn new(ranks: usize, facts: Facts) -> Choices {
        let of = |kind| Ways::new(kind, ranks, facts);
        Choices {
            bcast: of(Kind::Bcast),
            allgather: of(Kind::Allgather),
            alltoall: of(Kind::Alltoall),
            reduce: of(Kind::Reduce),
            allreduce: of(Kind::Allreduce),
        }
    }

    /// Up to so many bytes all operations are short.
    fn short(&self) -> usize {
        let all = [&self.bcast, &self.allgather, &self.alltoall, &self.reduce, &self.allreduce];
        all.into_iter().map(|ways| ways.short).min().unwrap_or(0)
    }
}

/// This rank's place among the ranks of a communicator, all on one node.
pub struct Node {
    member: BoardMember,
    mapping: Arc<Mapping>,
    /// Each rank's process.
    members: Box<[Peer]>,
    barrier: WakeFence,
    /// What is true of this board, agreed by all ranks.
    facts: Facts,
    choices: Choices,
    /// Up to so many bytes an allreduce takes one round.
    one_round: usize,
    /// Memory for what is being combined, once there was any.
    scratch: Vec<u8>,
    /// Whether the last operation was a barrier, and who sent to all after the last one.
    arrived: bool,
    sender: Option<usize>,
    /// A hash of the calls that went another way.
    history: u64,
    /// What went wrong in this round concerns no other.
    can_go_on: bool,
}

impl Node {
    /// Bytes of shared memory for so many ranks, each with a staging buffer of so many bytes.
    pub fn memory_for(ranks: usize, staging: usize) -> usize {
        BoardMember::memory_for(ranks, staging)
    }

    /// Takes a rank's place; `None` if the memory does not fit. `oversubscribed`: ranks outnumber CPUs; all ranks must say the
    /// same.
    pub fn new(
        mapping: Mapping,
        members: Box<[Peer]>,
        rank: usize,
        staging: usize,
        barrier: WakeFence,
        oversubscribed: bool,
    ) -> Option<Node> {
        let mapping = Arc::new(mapping);
        let member = BoardMember::new(Arc::clone(&mapping), members.len(), staging, rank)?;
        let cpus = if oversubscribed { Facts::OVERSUBSCRIBED } else { Facts::CPU_EACH };
        let staging = if member.largest_place() >= LARGE_STAGING { Facts::LARGE_STAGING } else { Facts::SMALL_STAGING };
        let facts = Facts::BOARD.and(cpus).and(staging);
        let mut node = Node {
            one_round: 0,
            choices: Choices::new(members.len(), facts),
            member,
            mapping,
            members,
            barrier,
            facts,
            scratch: Vec::new(),
            arrived: false,
            sender: None,
            history: 0,
            can_go_on: false,
        };
        node.add_facts(Facts::NONE);
        Some(node)
    }

    /// All ranks have found out what all of them can do: copy directly, use huge pages.
    pub fn add_facts(&mut self, common: Facts) {
        self.facts = self.facts.and(common);
        self.choices = Choices::new(self.ranks(), self.facts);
        self.one_round = self.choices.allreduce.short.min(self.chunk());
    }

    /// What is true of this board, in words.
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
        ]
        .join(", ")
    }

    /// What the table looks at for an operation over this board.
    pub fn shape(&self, kind: Kind, bytes: usize) -> Shape {
        Shape::new(kind, self.ranks() as u32, bytes as u64, self.facts)
    }

    fn is_oversubscribed(&self) -> bool {
        self.facts.has(Facts::OVERSUBSCRIBED)
    }

    /// A hash of the calls that do not go over the board, and must have been the same on all ranks up to the next that does.
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

    /// Ends a round that has failed. Where the ranks are still in step they can go on with the next one.
    #[cold]
    pub fn fail(&mut self, wait: &mut impl Wait) {
        if std::mem::take(&mut self.can_go_on) {
            self.close(wait);
            // Whoever came last would have.
            self.wake_all(wait);
        } else {
            self.give_up(wait);
        }
    }

    /// The ranks are out of step, or one cannot go on: nobody shall wait for anybody any more.
    #[cold]
    fn give_up(&self, wait: &mut impl Wait) {
        self.member.break_up();
        self.wake_all(wait);
    }

    /// Whether the memory is of this rank's process.
    pub fn is_owner(&self) -> bool {
        self.rank() == 0
    }

    /// Compares all our calls with those of ranks that are about to leave, too, or have left. `history`: as for
    /// [`Node::set_history`]. Ranks that did not wait for each other in their last call may not have noticed that it was a
    /// different one. What was told before is not told again.
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

    /// Whether everybody has left.
    pub fn is_deserted(&self) -> bool {
        self.member.is_deserted()
    }

    pub fn barrier(&mut self, wait: &mut impl Wait) -> Result<()> {
        self.open(wait, CallSignature::BARRIER)?;
        self.member.publish();
        // If the next call waits for data of another rank, the last one here would only come to wait there.
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

    // ---- what operations are made of ----

    fn rank(&self) -> usize {
        self.member.rank()
    }

    /// The others, the next one first, so that not everybody begins with the same.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (rank, ranks) = (self.rank(), self.ranks());
        (rank + 1..ranks).chain(0..rank)
    }

    /// Begins a round in which we write our line.
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

    /// A part of our room for this round.
    #[inline]
    fn place(&mut self, wait: &mut impl Wait, bytes: usize) -> Result<usize> {
        loop {
            if let Some(at) = self.member.place(bytes) {
                return Ok(at);
            }
            self.settle(wait, self.member.spare())?;
        }
    }

    /// Waits until everybody has finished a round.
    #[cold]
    fn settle(&mut self, wait: &mut impl Wait, round: u64) -> Result<()> {
        self.member.set_waiting(true);
        let member = &mut self.member;
        let settled = wait.until(|| member.is_settled(round) || member.is_broken());
        self.member.set_waiting(false);
        if settled { self.check() } else { Err(call::out_of_step()) }
    }

    /// Waits until one rank has finished a round; it has to wake us.
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

    /// Waits for a rank's line, and compares its call with ours.
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

    /// Waits for everybody's line. Nobody is woken before all are there, since all wait for all: who comes last finds the
    /// others there and wakes them.
    #[inline]
    fn meet_all(&mut self, wait: &mut impl Wait) -> Result<()> {
        self.meet_others(wait)?;
        self.exchanged(wait);
        Ok(())
    }

    /// Waits for the lines of all others, and compares their calls with ours.
    ///
    /// One line is looked at until it comes, not all of them all the time: a line that many look at is slow to write. When
    /// it has come all are looked at, since the others have probably come meanwhile.
    #[inline]
    fn meet_others(&mut self, wait: &mut impl Wait) -> Result<()> {
        let member = &self.member;
        let mut awaited = self.others();
        while !member.have_arrived(self.others()) {
            let Some(rank) = awaited.find(|&rank| !member.has_arrived(rank)) else { break };
            if !wait.shortly(|| member.has_arrived(rank)) {
                self.await_others(wait);
                // Not one after the other: somebody may never come because of another's mistake.
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

    /// Until all others have arrived, or one is seen to be in another call: it may be the only one to come, since the others
    /// may not write a line for it.
    #[cold]
    fn await_others(&self, wait: &mut impl Wait) {
        let member = &self.member;
        member.say_waiting();
        wait.until(|| {
            member.have_arrived(self.others()) || self.others().any(|rank| self.differs(rank)) || member.is_broken()
        });
    }

    /// Whether a rank is seen to be in another call, or will never come.
    fn differs(&self, rank: usize) -> bool {
        if self.member.has_arrived(rank) {
            return !self.member.agrees(rank);
        }
        self.member.waits_elsewhere(rank) || self.is_gone(rank)
    }

    /// Whether a rank has left without coming to this round.
    fn is_gone(&self, rank: usize) -> bool {
        // In this order: it may have come and left just now.
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
        // Without the sleeper's fence we may have seen too early that nobody waits; waking has one of its own.
        if self.member.finish() || self.barrier == WakeFence::Symmetric {
            self.wake_all(wait);
        }
    }

    /// A rank has not come, or in another call.
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

    /// Up to so many bytes every operation takes one round, in which everybody shows its line before it looks at others'.
    fn all_in_one_round(&self) -> usize {
        self.choices.short().min(self.chunk() / self.ranks())
    }

    #[inline]
    fn check(&self) -> Result<()> {
        if self.member.is_broken() { Err(call::out_of_step()) } else { Ok(()) }
    }

    // ---- bytes in and out ----

    /// Where our bytes for a round go: to the line if they fit, else to our staging buffer, and the line says where.
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

    /// The same for one rank, who is to find them soon.
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

    /// Writes our bytes for a round; where.
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
        // SAFETY: ours to write in this round, with room for the bytes.
        unsafe { pack(buf, from, to, bytes) };
        Ok(to)
    }

    /// Says in our line where in our staging buffer the bytes are.
    #[inline]
    fn say(&self, round: u64, at: usize) {
        // SAFETY: our line of this round, aligned to 16 bytes.
        unsafe { self.member.body(self.rank(), round).cast::<u64>().write(at as u64) };
    }

    /// Where a rank that has arrived said that its bytes are.
    #[inline]
    fn heard(&self, rank: usize, round: u64) -> usize {
        // SAFETY: the line of a rank that has arrived, aligned to 16 bytes; nobody writes to it before we finish.
        unsafe { self.member.body(rank, round).cast::<u64>().read() as usize }
    }

    /// Where the bytes of a rank that has arrived are.
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

/// Has one other rank find what we wrote to our staging buffer sooner.
#[inline]
fn demote_lines(staging: *const u8, bytes: usize) {
    if bytes <= prefetch::FEW {
        prefetch::demote_lines(staging, bytes);
    }
}

/// What one round can move where staging buffers are large.
const LARGE_STAGING: usize = 256 << 10;

const _: () = assert!(oxmpi_coll::rules::ENTRY_BYTES == ENTRY_BYTES as u64, "the table knows the size of an entry");

/// Copies bytes out of a buffer, from a place in its packed stream on.
///
/// # Safety
/// The buffer can be read, `to` written for so many bytes, and they do not overlap.
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

/// Copies bytes into a buffer, from a place in its packed stream on.
///
/// # Safety
/// The buffer can be written, `from` read for so many bytes, and they do not overlap.
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

/// The same for bytes of which so many come in all that they do not stay in the cache.
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
