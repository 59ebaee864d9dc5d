//! Background operations: the rounds of the blocking ones, begun and ended without waiting in
//! between.
//!
//! [`SharedBoard::advance`] advances a [`BoardRun`] whenever its process makes progress. A board has one
//! round at a time, so a run begins when the previous one has ended, in the order of the calls;
//! `oxmpi-core/src/collective/board.rs` keeps that order. Nothing here waits: a run that cannot
//! continue says so and is advanced again later.

use super::{CallSignature, Exchange, Reduction, Remainder, SharedBoard, Shares, Wait};
use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_base::board::ENTRY_BYTES;
use oxmpi_base::copy;
use oxmpi_coll::choose::{Algorithm, BoardWay, Facts, Kind, Shape};
use oxmpi_coll::tuning::Tuning;
use oxmpi_datatype::{Source, Target};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// An operation with its memory, which stays valid until the operation has ended for the last time.
#[derive(Clone)]
pub enum Work {
    Barrier,
    Bcast {
        root: usize,
        buf: Target<'static>,
    },
    /// Only the root has `recv`; `send` is `None` at a root that is in place.
    Gather {
        root: usize,
        block: usize,
        send: Option<Source<'static>>,
        recv: Option<Target<'static>>,
    },
    /// Only the root has `send`; `recv` is `None` at a root that is in place.
    Scatter {
        root: usize,
        block: usize,
        send: Option<Source<'static>>,
        recv: Option<Target<'static>>,
    },
    /// `send` is `None` in place.
    Allgather {
        block: usize,
        send: Option<Source<'static>>,
        recv: Target<'static>,
    },
    /// `send` is `None` in place.
    Alltoall {
        block: usize,
        send: Option<Source<'static>>,
        recv: Target<'static>,
    },
    /// Only the root has `recv`.
    Reduce {
        root: usize,
        vectors: Vectors,
    },
    Allreduce(Vectors),
    /// `counts`: those of each rank's block, or `None` where the reduction is of one of equal blocks.
    ReduceScatter {
        counts: Option<Box<[usize]>>,
        vectors: Vectors,
    },
    Scan {
        exclusive: bool,
        vectors: Vectors,
    },
    /// [`BoardRun::end_of_exchange`] tells what is left of it.
    Exchange(Arc<Exchange>),
}

/// The operands and results of a reduction, both without gaps. In place both are the same memory.
#[derive(Clone)]
pub struct Vectors {
    reduction: Reduction,
    send: Source<'static>,
    recv: Target<'static>,
}

impl Vectors {
    /// # Safety
    /// Until the operation has ended, `send` can be read for `given` elements and `recv` written for
    /// `got` of them, and nobody else uses it. The kernel is for the elements.
    pub unsafe fn new(
        reduction: Reduction,
        (send, given): (*const u8, usize),
        (recv, got): (*mut u8, usize),
    ) -> Vectors {
        let element = reduction.element;
        // SAFETY: the caller says that the memory is there until the operation has ended, which owns these values.
        let (send, recv) = unsafe { (Source::dense(send, given * element), Target::dense(recv, got * element)) };
        Vectors { reduction, send, recv }
    }

    /// How a reduce-scatter deals its elements.
    fn shares<'a>(&self, counts: &'a Option<Box<[usize]>>) -> Shares<'a> {
        counts.as_deref().map_or(Shares::Equal(self.reduction.count), Shares::Given)
    }

    fn own(&self) -> *const u8 {
        self.send.as_dense().map_or(std::ptr::null(), <*mut u8>::cast_const)
    }

    fn out(&self) -> *mut u8 {
        self.recv.as_dense().unwrap_or(std::ptr::null_mut())
    }

    /// A piece of the elements: its reduction, our operands and the address of the results.
    fn piece(&self, (at, count): (usize, usize)) -> (Reduction, *const u8, *mut u8) {
        let offset = at * self.reduction.element;
        let piece = Reduction { count, ..self.reduction };
        (piece, self.own().wrapping_add(offset), self.out().wrapping_add(offset))
    }
}

/// An operation under way.
pub struct BoardRun {
    work: Work,
    way: BoardWay,
    call: CallSignature,
    /// A hash of the calls before this one that did not go over the board.
    history: u64,
    /// Bytes or elements in all, those of a piece, and those that are done.
    total: usize,
    most: usize,
    done: usize,
    /// Whether this is the second round of the piece, if it has two.
    second: bool,
    /// Whether the round was begun.
    begun: bool,
    /// Whether we are registered as waiting for others to finish earlier rounds.
    is_waiting: bool,
    /// Polls in vain in this round.
    looks: u32,
    /// What an exchange leaves.
    left: Remainder,
    /// The round has ended, but others may still copy from our memory.
    is_lending: bool,
}

/// The result of advancing a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// It waits for other ranks.
    Waiting,
    /// It waits for other ranks, but has moved.
    Moved,
    Ended,
}

/// Pieces of long reductions for all ranks, of which each rank computes a part.
const PARTS: usize = 256 << 10;

/// Polls in vain before a rank publishes its call, and searches for ranks in other calls.
const LOOKS: u32 = 32;

/// The ranks whose entries a round waits for.
enum Awaited {
    Nobody,
    All,
    One(usize),
    /// The ranks before this one.
    Before,
    /// Those that we receive from in an exchange.
    Senders,
}

impl Work {
    /// The function, by its small-count form: ranks may mix both.
    fn fun(&self) -> Fun {
        match self {
            Work::Barrier => Fun::Ibarrier,
            Work::Bcast { .. } => Fun::Ibcast,
            Work::Gather { .. } => Fun::Igather,
            Work::Scatter { .. } => Fun::Iscatter,
            Work::Allgather { .. } => Fun::Iallgather,
            Work::Alltoall { .. } => Fun::Ialltoall,
            Work::Reduce { .. } => Fun::Ireduce,
            Work::Allreduce(_) => Fun::Iallreduce,
            Work::ReduceScatter { counts: None, .. } => Fun::IreduceScatterBlock,
            Work::ReduceScatter { counts: Some(_), .. } => Fun::IreduceScatter,
            Work::Exchange(exchange) => exchange.fun,
            Work::Scan { exclusive: false, .. } => Fun::Iscan,
            Work::Scan { exclusive: true, .. } => Fun::Iexscan,
        }
    }

    fn signature(&self) -> CallSignature {
        let fun = self.fun();
        let computes = |vectors: &Vectors| (Some(vectors.reduction.op), vectors.reduction.bytes());
        match self {
            Work::Exchange(exchange) => exchange.signature(),
            Work::Barrier => CallSignature::of(fun, None, 0),
            Work::Bcast { root, buf } => CallSignature::rooted(fun, None, *root, buf.len()),
            Work::Gather { root, block, .. } | Work::Scatter { root, block, .. } => {
                CallSignature::rooted(fun, None, *root, *block)
            }
            Work::Allgather { block, .. } | Work::Alltoall { block, .. } => CallSignature::of(fun, None, *block),
            Work::Reduce { root, vectors } => {
                let (op, bytes) = computes(vectors);
                CallSignature::rooted(fun, op, *root, bytes)
            }
            Work::Allreduce(vectors) | Work::ReduceScatter { vectors, .. } | Work::Scan { vectors, .. } => {
                let (op, bytes) = computes(vectors);
                CallSignature::of(fun, op, bytes)
            }
        }
    }
}

impl BoardRun {
    /// Whether nothing is left to be done or told.
    pub fn is_complete(&self) -> bool {
        !self.left.is_some() && self.left.differs.is_none()
    }

    /// Of an exchange: what it is, and what the board has left of it.
    pub fn end_of_exchange(self) -> Option<(Arc<Exchange>, Remainder)> {
        match self.work {
            Work::Exchange(exchange) => Some((exchange, self.left)),
            _ => None,
        }
    }

    /// The piece under way, in bytes or elements: its start and length.
    fn piece(&self) -> (usize, usize) {
        (self.done, self.most.min(self.total - self.done))
    }

    /// Goes on to the next round; `false` after the last one.
    fn next(&mut self) -> bool {
        (self.begun, self.looks) = (false, 0);
        if self.way == BoardWay::FixedParts && !self.second {
            self.second = true;
            return true;
        }
        self.second = false;
        self.done += self.piece().1;
        self.done < self.total
    }
}

#[cold]
fn background_ways(kind: Kind, ranks: usize) -> Box<[(usize, Option<BoardWay>)]> {
    let choices = Shape::choices(kind, ranks as u32, Facts::BACKGROUND_BOARD, Tuning::NONE).into_iter();
    let way = |algorithm| match algorithm {
        Algorithm::Board(way) => Some(way),
        _ => None,
    };
    choices.map(|(from, algorithm)| (usize::try_from(from).unwrap_or(usize::MAX), way(algorithm))).collect()
}

impl SharedBoard {
    /// The algorithm of a background operation of so many bytes; `None` if it goes by messages.
    #[inline]
    pub fn background_way(&self, kind: Kind, bytes: usize) -> Option<BoardWay> {
        let ways = self.background[kind as usize].get_or_init(|| background_ways(kind, self.ranks()));
        ways.iter().rev().find(|(from, _)| *from <= bytes).and_then(|(_, way)| *way)
    }

    /// A run of an operation with this algorithm. `history` as for [`SharedBoard::set_history`].
    pub fn run(&self, work: Work, way: BoardWay, history: u64) -> BoardRun {
        let (total, most) = match &work {
            Work::Barrier | Work::Exchange(_) => (0, 1),
            Work::Bcast { buf, .. } => (buf.len(), self.bcast_piece(buf.len())),
            Work::Gather { block, .. } | Work::Allgather { block, .. } => (*block, self.chunk()),
            Work::Scatter { block, .. } | Work::Alltoall { block, .. } => (*block, self.stride(*block)),
            Work::Reduce { vectors, .. } => (vectors.reduction.count, self.reduce_piece(&vectors.reduction)),
            Work::Allreduce(Vectors { reduction, .. }) => {
                (reduction.count, (PARTS.min(self.chunk()) / reduction.element) & !(Reduction::CUT - 1))
            }
            Work::ReduceScatter { counts, vectors } => {
                (vectors.shares(counts).longest(), self.scattered_piece(&vectors.reduction))
            }
            Work::Scan { vectors: Vectors { reduction, .. }, .. } => {
                (reduction.count, self.chunk() / reduction.element)
            }
        };
        let call = work.signature();
        let (done, second, begun, is_waiting, looks) = (0, false, false, false, 0);
        let left = Remainder::default();
        BoardRun {
            work,
            way,
            call,
            history,
            total,
            most,
            done,
            second,
            begun,
            is_waiting,
            looks,
            left,
            is_lending: false,
        }
    }

    /// Advances a run as far as possible without waiting. The runs of a board are advanced one
    /// after another. After an error, call [`SharedBoard::abandon`].
    pub fn advance(&mut self, run: &mut BoardRun, wait: &mut impl Wait) -> Result<Advance> {
        let mut advance = Advance::Waiting;
        loop {
            if run.is_lending {
                return Ok(if self.has_back(run) { Advance::Ended } else { self.check().map(|()| advance)? });
            }
            if !run.begun {
                if !self.has_room(run) {
                    return self.check().map(|()| advance);
                }
                self.set_history(run.history);
                self.arrived = false;
                run.begun = true;
                self.begin(run, wait)?;
                advance = Advance::Moved;
                // Of ranks that publish at the same time, at least one sees all entries and wakes
                // those that sleep; the others may not poll again for long.
                fence(Ordering::SeqCst);
            }
            if !self.has_come(run) {
                return self.look_for_others(run, wait).map(|()| advance);
            }
            self.end(run, wait)?;
            advance = Advance::Moved;
            run.is_lending = run.left.lends;
            if !run.is_lending && !run.next() {
                return Ok(Advance::Ended);
            }
        }
    }

    /// Abandons a run that has failed, or that will never end. Ranks that are still in step can
    /// continue with the next one.
    #[cold]
    pub fn abandon(&mut self, run: &mut BoardRun, wait: &mut impl Wait) {
        self.wait_for_room(run, false);
        self.fail(wait);
    }

    /// Whether the round of a run can begin without waiting for others to finish earlier ones. If
    /// not, they wake us.
    fn has_room(&mut self, run: &mut BoardRun) -> bool {
        let has_room = match self.written(run) {
            Some(bytes) => self.member.has_room(bytes),
            None => true,
        };
        if has_room == run.is_waiting {
            self.wait_for_room(run, !has_room);
        }
        has_room
    }

    /// Whether nobody copies from our memory any more. If not, whoever finishes the round wakes us.
    fn has_back(&mut self, run: &mut BoardRun) -> bool {
        let is_returned = match &run.work {
            Work::Exchange(exchange) => self.is_returned(exchange),
            _ => true,
        };
        if is_returned == run.is_waiting {
            self.wait_for_room(run, !is_returned);
        }
        is_returned
    }

    #[cold]
    fn wait_for_room(&mut self, run: &mut BoardRun, waits: bool) {
        if run.is_waiting != waits {
            run.is_waiting = waits;
            self.member.set_waiting(waits);
        }
    }

    /// Bytes of our staging buffer that the round of a run uses; `None` if we write no entry.
    fn written(&self, run: &BoardRun) -> Option<usize> {
        let (me, ranks, (_, length)) = (self.rank(), self.ranks(), run.piece());
        let staged = |bytes| if bytes > ENTRY_BYTES { bytes } else { 0 };
        match &run.work {
            Work::Barrier => Some(0),
            Work::Exchange(exchange) => self.staged_by(exchange),
            Work::Bcast { root, .. } => (*root == me).then(|| staged(length)),
            Work::Gather { root, .. } => (*root != me).then(|| staged(length)),
            Work::Scatter { root, .. } => (*root == me).then(|| staged(length * ranks)),
            Work::Allgather { .. } => Some(staged(length)),
            Work::Alltoall { .. } => Some(staged(length * ranks)),
            Work::Reduce { root, vectors } => (*root != me).then(|| staged(length * vectors.reduction.element)),
            Work::Allreduce(vectors) | Work::Scan { vectors, .. } => Some(staged(length * vectors.reduction.element)),
            Work::ReduceScatter { vectors, .. } => Some(length * vectors.reduction.element * ranks),
        }
    }

    fn awaited(&self, run: &BoardRun) -> Awaited {
        let me = self.rank();
        match &run.work {
            Work::Bcast { root, .. } | Work::Scatter { root, .. } if *root == me => Awaited::Nobody,
            Work::Bcast { root, .. } | Work::Scatter { root, .. } => Awaited::One(*root),
            Work::Gather { root, .. } | Work::Reduce { root, .. } if *root != me => Awaited::Nobody,
            Work::Scan { .. } => Awaited::Before,
            Work::Exchange(exchange) if exchange.is_among_all() => Awaited::All,
            Work::Exchange(_) => Awaited::Senders,
            _ => Awaited::All,
        }
    }

    /// Whether all entries that the round of a run waits for have arrived.
    fn has_come(&self, run: &BoardRun) -> bool {
        match self.awaited(run) {
            Awaited::Nobody => true,
            Awaited::All => self.member.have_arrived(self.others()),
            Awaited::One(rank) => self.member.has_arrived(rank),
            Awaited::Before => self.member.have_arrived(0..self.rank()),
            Awaited::Senders => self.member.have_arrived(self.senders(run)),
        }
    }

    /// The other ranks that we receive from in an exchange.
    fn senders<'a>(&self, run: &'a BoardRun) -> impl Iterator<Item = usize> + use<'a> {
        let me = self.rank();
        let recvs = match &run.work {
            Work::Exchange(exchange) => &exchange.recvs[..],
            _ => &[],
        };
        recvs.iter().map(|(rank, _)| *rank).filter(move |rank| *rank != me)
    }

    /// Others have not arrived yet: an error if they never will.
    fn look_for_others(&mut self, run: &mut BoardRun, wait: &mut impl Wait) -> Result<()> {
        self.check()?;
        if run.looks < LOOKS {
            run.looks += 1;
            return Ok(());
        }
        if run.looks == LOOKS {
            run.looks += 1;
            self.member.say_waiting();
        }
        let (first, last) = match self.awaited(run) {
            Awaited::Nobody => (0, 0),
            Awaited::All | Awaited::Senders => (0, self.ranks()),
            Awaited::One(rank) => (rank, rank + 1),
            Awaited::Before => (0, self.rank()),
        };
        let is_awaited = |rank: usize| match &run.work {
            Work::Exchange(_) => self.senders(run).any(|sender| sender == rank),
            _ => rank != self.rank(),
        };
        match (first..last).find(|&rank| is_awaited(rank) && self.differs(rank)) {
            Some(rank) => Err(self.mismatch(wait, rank)),
            None => Ok(()),
        }
    }

    fn begin(&mut self, run: &mut BoardRun, wait: &mut impl Wait) -> Result<()> {
        let (call, piece) = (run.call, run.piece());
        match &run.work {
            Work::Exchange(exchange) => self.begin_exchange(wait, call, exchange, &mut run.left),
            Work::Barrier => self.begin_barrier(wait, call),
            Work::Bcast { root, buf } => self.begin_bcast(wait, call, *root, buf, piece),
            Work::Gather { root, send, .. } => self.begin_gather(wait, call, *root, send.as_ref(), piece),
            Work::Scatter { block, send, .. } => self.begin_scatter(wait, call, *block, send.as_ref(), piece),
            Work::Allgather { block, send, recv } => {
                self.begin_allgather(wait, call, *block, send.as_ref(), recv, piece)
            }
            Work::Alltoall { block, send, recv } => self.begin_alltoall(wait, call, *block, send.as_ref(), recv, piece),
            Work::Reduce { root, vectors } => {
                let (piece, own, _) = vectors.piece(piece);
                // SAFETY: the vectors hold the operands of the piece.
                unsafe { self.begin_reduce(wait, &piece, call, *root, own) }
            }
            Work::Allreduce(vectors) => {
                let (piece, own, out) = vectors.piece(piece);
                let (from, bytes) = if run.second {
                    let (first, count) = piece.part(self.rank(), self.ranks());
                    (out.wrapping_add(first * piece.element).cast_const(), count * piece.element)
                } else {
                    (own, piece.bytes())
                };
                // SAFETY: the vectors hold the operands of the piece, and the results of our part
                // in the second round.
                unsafe { self.begin_allreduce(wait, call, from, bytes) }
            }
            Work::ReduceScatter { counts, vectors } => {
                let (reduction, shares) = (&vectors.reduction, vectors.shares(counts));
                // SAFETY: the vectors hold the operands of all blocks.
                unsafe { self.begin_reduce_scatter(wait, reduction, shares, call, vectors.own(), piece) }
            }
            Work::Scan { vectors, .. } => {
                let (piece, own, _) = vectors.piece(piece);
                // SAFETY: the vectors hold the operands of the piece.
                unsafe { self.begin_scan(wait, &piece, call, own) }
            }
        }
    }

    /// Ends the round of a run, after all its entries have arrived.
    fn end(&mut self, run: &mut BoardRun, wait: &mut impl Wait) -> Result<()> {
        let (way, piece) = (run.way, run.piece());
        match &run.work {
            Work::Exchange(exchange) => self.end_exchange(wait, exchange, &mut run.left),
            Work::Barrier => {
                self.meet_all(wait)?;
                self.close(wait);
                Ok(())
            }
            Work::Bcast { root, buf } => self.end_bcast(wait, *root, buf, piece),
            Work::Gather { root, block, send, recv } => {
                self.end_gather(wait, *root, *block, send.as_ref(), recv.as_ref(), piece)
            }
            Work::Scatter { root, block, send, recv } => {
                self.end_scatter(wait, *root, *block, send.as_ref(), recv.as_ref(), piece)
            }
            Work::Allgather { block, recv, .. } => self.end_allgather(wait, way, *block, recv, piece),
            Work::Alltoall { block, recv, .. } => self.end_alltoall(wait, way, *block, recv, piece),
            Work::Reduce { root, vectors } => {
                let (piece, own, out) = vectors.piece(piece);
                let out = (self.rank() == *root).then_some(out);
                let (first, ranks) = (if way == BoardWay::ChainOrder { root + 1 } else { 0 }, self.ranks());
                // SAFETY: the vectors hold the operands of the piece and, at the root, room for the
                // results.
                unsafe { self.end_reduce(wait, &piece, |place| (first + place) % ranks, own, out) }
            }
            Work::Allreduce(vectors) => {
                let (piece, own, out) = vectors.piece(piece);
                if run.second {
                    // SAFETY: the vectors have room for the results of the piece.
                    return unsafe { self.take_parts(wait, &piece, out) };
                }
                let part = match way {
                    BoardWay::FixedParts => piece.part(self.rank(), self.ranks()),
                    _ => (0, piece.count),
                };
                // SAFETY: the vectors hold the operands of the piece, all of which were shown, and
                // room for the results.
                unsafe { self.end_allreduce(wait, &piece, part, own, out) }
            }
            Work::ReduceScatter { counts, vectors } => {
                let (reduction, shares) = (&vectors.reduction, vectors.shares(counts));
                // SAFETY: the vectors hold the operands of all blocks and room for the results of ours.
                unsafe { self.end_reduce_scatter(wait, reduction, shares, vectors.own(), vectors.out(), piece) }
            }
            Work::Scan { exclusive, vectors } => {
                let (piece, own, out) = vectors.piece(piece);
                // SAFETY: the vectors hold the operands of the piece and, except at the first rank
                // of an exclusive scan, room for the results.
                unsafe { self.end_scan(wait, &piece, *exclusive, own, out) }
            }
        }
    }

    /// Copies the parts of a piece that the other ranks have computed.
    ///
    /// # Safety
    /// `out` can be written for the elements of the piece.
    unsafe fn take_parts(&mut self, wait: &mut impl Wait, piece: &Reduction, out: *mut u8) -> Result<()> {
        let round = self.member.round();
        for rank in self.others() {
            self.await_entry(wait, rank)?;
            let (first, count) = piece.part(rank, self.ranks());
            let (start, bytes) = (first * piece.element, count * piece.element);
            // SAFETY: that rank has shown its part, and `out` has room for all parts.
            unsafe { copy::bytes(self.found(rank, round, bytes), out.wrapping_add(start), bytes) };
        }
        self.exchanged(wait);
        self.close(wait);
        Ok(())
    }
}
