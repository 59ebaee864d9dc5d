//! Collective operations over the board of a communicator (`oxmpi_transport::board`). `coll/mod.rs`
//! tries them first. Blocking ones are performed here, over the board of the communicator;
//! nonblocking ones go to a queue of the same board, and persistent ones get boards of their own
//! (`oxmpi-core/src/collective/board.rs`).
//!
//! Every function returns `None` when the operation must use messages instead. That decision must
//! be the same on all ranks. It depends only on the communicator, the call, the bytes, the root and
//! the operation, or on arguments that are plainly wrong, which the path by messages reports.

use super::args::Block;
use super::reductions::Operands;
use super::{Form, Mode};
use crate::args::Ints;
use crate::comm;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_IN_PLACE};
use oxmpi_abi::handle::{Comm, Datatype, Request};
use oxmpi_abi::{Result, bail};
use oxmpi_base::arena::Area;
use oxmpi_base::{huge, valgrind};
use oxmpi_coll::choose::{Algorithm, BoardWay, Facts, Kind, Shape};
use oxmpi_coll::rules::longest_on_board;
use oxmpi_coll::tuning::Tuning;
use oxmpi_core::agreement::{AgreementIo, Participants};
use oxmpi_core::board::{BOARD_AFTER_CALLS, Board, BoardUse};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::explain;
use oxmpi_core::record;
use oxmpi_core::request::{Active, Body, Request as Made, Start};
use oxmpi_core::settings;
use oxmpi_core::wait::board::BoardWait;
use oxmpi_core::wait::mismatch::MismatchCheck;
use oxmpi_datatype::{Region, Source, Target};
use oxmpi_transport::board::{Reduction, SharedBoard, Shares, Vectors, Work};
use std::ffi::c_void;

#[inline]
pub(super) fn barrier<F: Form>(call: &Call, form: F, comm: Comm) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    if !F::BLOCKING {
        return start(call, &mut guard, form, comm, None, (Kind::Barrier, 0), || Work::Barrier);
    }
    perform::<F>(call, &mut guard, comm, None, (Kind::Barrier, 0), |board, wait| board.barrier(wait))
}

#[inline]
pub(super) unsafe fn bcast<F: Form>(
    call: &Call,
    form: F,
    buffer: Block,
    root: i32,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, comm) else { return Ok(None) };
    let Some(root) = rank_of(root, ranks) else { return Ok(None) };
    let Some(buf) = blocks(&guard, &buffer, 1, rank != root) else { return Ok(None) };
    // SAFETY: the program keeps the buffer until the operation is complete; the root's is only read.
    let buf = unsafe { Target::new(buf) };
    let shape = (Kind::Bcast, buf.len());
    if !F::BLOCKING {
        return start(call, &mut guard, form, comm, Some(root), shape, || Work::Bcast { root, buf });
    }
    perform::<F>(call, &mut guard, comm, Some(root), shape, |board, wait| board.bcast(wait, root, &buf))
}

#[inline]
pub(super) unsafe fn gather<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, comm) else { return Ok(None) };
    let Some(root) = rank_of(root, ranks) else { return Ok(None) };
    let Some((to, from)) = rooted(&guard, &recv, &send, (rank, root), ranks, true) else { return Ok(None) };
    // SAFETY: the program keeps both buffers until the call returns, and uses them for nothing
    // else.
    let (to, from) = unsafe { (to.map(|to| Target::new(to)), from.map(|from| Source::new(from))) };
    let length = from.as_ref().map(|from| from.len());
    let Some(block) = length.or(to.as_ref().map(|to| to.len() / ranks)) else { return Ok(None) };
    if block > GATHERED && !(F::BLOCKING && goes_directly(&guard, comm, Kind::Gather, block)) {
        return Ok(None);
    }
    let shape = (Kind::Gather, block);
    if !F::BLOCKING {
        let work = || Work::Gather { root, block, send: from, recv: to };
        return start(call, &mut guard, form, comm, Some(root), shape, work);
    }
    perform::<F>(call, &mut guard, comm, Some(root), shape, |board, wait| {
        board.gather(wait, root, block, from.as_ref(), to.as_ref())
    })
}

#[inline]
pub(super) unsafe fn scatter<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, comm) else { return Ok(None) };
    let Some(root) = rank_of(root, ranks) else { return Ok(None) };
    let Some((from, to)) = rooted(&guard, &send, &recv, (rank, root), ranks, false) else { return Ok(None) };
    // SAFETY: the program keeps both buffers until the call returns, and uses them for nothing
    // else.
    let (from, to) = unsafe { (from.map(|from| Source::new(from)), to.map(|to| Target::new(to))) };
    let Some(block) = to.as_ref().map(|to| to.len()).or(from.as_ref().map(|from| from.len() / ranks)) else {
        return Ok(None);
    };
    if block > SCATTERED && !(F::BLOCKING && goes_directly(&guard, comm, Kind::Scatter, block)) {
        return Ok(None);
    }
    let shape = (Kind::Scatter, block);
    if !F::BLOCKING {
        let work = || Work::Scatter { root, block, send: from, recv: to };
        return start(call, &mut guard, form, comm, Some(root), shape, work);
    }
    perform::<F>(call, &mut guard, comm, Some(root), shape, |board, wait| {
        board.scatter(wait, root, block, from.as_ref(), to.as_ref())
    })
}

#[inline]
pub(super) unsafe fn allgather<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, comm) else { return Ok(None) };
    let Some((from, to)) = pair(&guard, (&send, 1), (&recv, ranks), rank) else { return Ok(None) };
    let block = to.len() / ranks;
    if from.as_ref().is_some_and(|from| from.len() != block) {
        return Ok(None);
    }
    let shape = (Kind::Allgather, block);
    if !F::BLOCKING {
        let work = || Work::Allgather { block, send: from, recv: to };
        return start(call, &mut guard, form, comm, None, shape, work);
    }
    perform::<F>(call, &mut guard, comm, None, shape, |board, wait| board.allgather(wait, block, from.as_ref(), &to))
}

#[inline]
pub(super) unsafe fn alltoall<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((_, ranks)) = place(&guard, comm) else { return Ok(None) };
    let Some((from, to)) = pair(&guard, (&send, ranks), (&recv, ranks), 0) else { return Ok(None) };
    let block = to.len() / ranks;
    if from.as_ref().is_some_and(|from| from.len() != to.len()) {
        return Ok(None);
    }
    let shape = (Kind::Alltoall, block);
    if !F::BLOCKING {
        let work = || Work::Alltoall { block, send: from, recv: to };
        return start(call, &mut guard, form, comm, None, shape, work);
    }
    perform::<F>(call, &mut guard, comm, None, shape, |board, wait| board.alltoall(wait, block, from.as_ref(), &to))
}

#[inline]
pub(super) unsafe fn reduce<F: Form>(
    call: &Call,
    form: F,
    operands: &Operands,
    count: i64,
    root: i32,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, comm) else { return Ok(None) };
    let Some(root) = rank_of(root, ranks) else { return Ok(None) };
    let Some(reduction) = reduction(operands, count) else { return Ok(None) };
    let (own, out) = if rank == root {
        let Some((own, out)) = both(&guard, operands, (count, 1), (count, 1)) else { return Ok(None) };
        (own, Some(out))
    } else {
        let Some(own) = source(&guard, operands, count, 1) else { return Ok(None) };
        (own, None)
    };
    let shape = (Kind::Reduce, reduction.bytes());
    if !F::BLOCKING {
        let target = out.map_or((std::ptr::null_mut(), 0), |out| (out, reduction.count));
        // SAFETY: the caller of the operation promises its memory, of which `own` is what we give; only the root receives.
        let vectors = unsafe { Vectors::new(reduction, (own, reduction.count), target) };
        return start(call, &mut guard, form, comm, Some(root), shape, || Work::Reduce { root, vectors });
    }
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says; kernel, size and count are the
    // type's own.
    compute::<F>(call, &mut guard, comm, Some(root), shape, |board, wait| unsafe {
        board.reduce(wait, &reduction, root, own, out)
    })
}

#[inline]
pub(super) unsafe fn allreduce<F: Form>(
    call: &Call,
    form: F,
    operands: &Operands,
    count: i64,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    if place(&guard, comm).is_none() {
        return Ok(None);
    }
    let Some(reduction) = reduction(operands, count) else { return Ok(None) };
    let Some((own, out)) = both(&guard, operands, (count, 1), (count, 1)) else { return Ok(None) };
    let shape = (Kind::Allreduce, reduction.bytes());
    if !F::BLOCKING {
        // SAFETY: the caller of the operation promises its memory; kernel, size and count are the type's own.
        let vectors = unsafe { Vectors::new(reduction, (own, reduction.count), (out, reduction.count)) };
        return start(call, &mut guard, form, comm, None, shape, || Work::Allreduce(vectors));
    }
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says; kernel, size and count are the
    // type's own.
    compute::<F>(call, &mut guard, comm, None, shape, |board, wait| unsafe {
        board.allreduce(wait, &reduction, own, out)
    })
}

/// The count is that of one rank's block.
#[inline]
pub(super) unsafe fn reduce_scatter_block<F: Form>(
    call: &Call,
    form: F,
    operands: &Operands,
    count: i64,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((_, ranks)) = place(&guard, comm) else { return Ok(None) };
    let Some(reduction) = reduction(operands, count) else { return Ok(None) };
    let Some((own, out)) = both(&guard, operands, (count, ranks), (count, 1)) else { return Ok(None) };
    let (shape, shares) = ((Kind::ReduceScatter, reduction.bytes() * ranks), Shares::Equal(reduction.count));
    if !F::BLOCKING {
        // SAFETY: the caller of the operation promises its memory, of which `own` has a block for every rank.
        let vectors = unsafe { Vectors::new(reduction, (own, reduction.count * ranks), (out, reduction.count)) };
        let work = || Work::ReduceScatter { counts: None, vectors };
        return start(call, &mut guard, form, comm, None, shape, work);
    }
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says; kernel, size and count are the
    // type's own.
    compute::<F>(call, &mut guard, comm, None, shape, |board, wait| unsafe {
        board.reduce_scatter(wait, &reduction, shares, own, out)
    })
}

/// The counts are those of each rank's block.
pub(super) unsafe fn reduce_scatter<F: Form>(
    call: &Call,
    form: F,
    operands: &Operands,
    counts: Ints,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, comm) else { return Ok(None) };
    if counts.is_null() || !guard.comm(comm)?.may_have_board() {
        return Ok(None);
    }
    // SAFETY: the array has an entry for every rank of the communicator, which has one group.
    let counts = (0..ranks).map(|rank| usize::try_from(unsafe { counts.get(rank) }));
    let Ok(counts) = counts.collect::<std::result::Result<Box<[usize]>, _>>() else { return Ok(None) };
    let total = counts.iter().try_fold(0i64, |sum, &count| sum.checked_add_unsigned(count as u64));
    let Some(total) = total else { return Ok(None) };
    let Some(reduction) = reduction(operands, total) else { return Ok(None) };
    let Some((own, out)) = both(&guard, operands, (total, 1), (counts[rank] as i64, 1)) else { return Ok(None) };
    let shape = (Kind::ReduceScatter, reduction.bytes());
    if !F::BLOCKING {
        // SAFETY: the caller of the operation promises its memory, of which `own` has all blocks and `out` is for ours.
        let vectors = unsafe { Vectors::new(reduction, (own, reduction.count), (out, counts[rank])) };
        let work = || Work::ReduceScatter { counts: Some(counts), vectors };
        return start(call, &mut guard, form, comm, None, shape, work);
    }
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says; kernel and size are the type's
    // own, and the counts those of the blocks.
    compute::<F>(call, &mut guard, comm, None, shape, |board, wait| unsafe {
        board.reduce_scatter(wait, &reduction, Shares::Given(&counts), own, out)
    })
}

#[inline]
pub(super) unsafe fn scan<F: Form>(
    call: &Call,
    form: F,
    operands: &Operands,
    count: i64,
    exclusive: bool,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, _)) = place(&guard, comm) else { return Ok(None) };
    let Some(reduction) = reduction(operands, count) else { return Ok(None) };
    let kind = if exclusive { Kind::Exscan } else { Kind::Scan };
    if reduction.bytes() > SCANS {
        return Ok(None);
    }
    let (own, out) = if exclusive && rank == 0 && !is_in_place(operands.send) && operands.send != operands.recv {
        // The first rank receives nothing. (All ranks report aliased buffers.)
        let Some(own) = source(&guard, operands, count, 1) else { return Ok(None) };
        (own, std::ptr::null_mut())
    } else {
        let Some(found) = both(&guard, operands, (count, 1), (count, 1)) else { return Ok(None) };
        found
    };
    let shape = (kind, reduction.bytes());
    if !F::BLOCKING {
        // SAFETY: the caller of the operation promises its memory; the first rank of an exclusive scan receives nothing.
        let vectors = unsafe { Vectors::new(reduction, (own, reduction.count), (out, reduction.count)) };
        return start(call, &mut guard, form, comm, None, shape, || Work::Scan { exclusive, vectors });
    }
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says; kernel, size and count are the
    // type's own.
    compute::<F>(call, &mut guard, comm, None, shape, |board, wait| unsafe {
        board.scan(wait, &reduction, exclusive, own, out)
    })
}

/// Whether blocks that are too long for the staging buffers go straight from rank to rank, because the communicator has a
/// board whose ranks can do that.
#[cold]
fn goes_directly(guard: &Guard, comm: Comm, kind: Kind, block: usize) -> bool {
    let direct = Algorithm::Board(BoardWay::Direct);
    guard.background_board(comm).is_some_and(|board| board.shape(kind, block).choose().take == direct)
}

/// The longest blocks and operands that go through the staging buffers of any board, from the table of algorithms.
const GATHERED: usize = longest_on_board(Kind::Gather) as usize;
const SCATTERED: usize = longest_on_board(Kind::Scatter) as usize;
const SCANS: usize = longest_on_board(Kind::Scan) as usize;
const _: () = assert!(SCANS == longest_on_board(Kind::Exscan) as usize, "one limit for both scans");

/// Our rank and the number of ranks, if there may be a board.
#[inline]
fn place(guard: &Guard, comm: Comm) -> Option<(usize, usize)> {
    let comm = guard.comms.get(comm)?;
    if matches!(comm.board, Board::Refused) { None } else { Some((comm.rank as usize, comm.group.len())) }
}

#[inline]
pub(super) fn rank_of(root: i32, ranks: usize) -> Option<usize> {
    usize::try_from(root).ok().filter(|&root| root < ranks)
}

/// A buffer of so many contiguous blocks; `None` if it has gaps.
#[inline]
fn whole(
    guard: &Guard,
    address: *const c_void,
    count: i64,
    datatype: Datatype,
    blocks: usize,
    written: bool,
) -> Option<Region> {
    let count = count.checked_mul(blocks as i64)?;
    if written {
        guard.target(address.cast(), count, datatype).ok()
    } else {
        guard.buffer(address.cast(), count, datatype).ok()
    }
}

pub(super) fn is_in_place(address: *const c_void) -> bool {
    address as usize == MPI_IN_PLACE
}

/// The buffers of an operation in which every rank sends and receives so many blocks; `own` is the
/// offset of our block. The send buffer is `None` when it is in place.
#[inline]
fn pair(
    guard: &Guard,
    (send, sent): (&Block, usize),
    (recv, received): (&Block, usize),
    own: usize,
) -> Option<(Option<Source<'static>>, Target<'static>)> {
    // SAFETY: the program keeps the receive buffer until the call returns, and uses it for nothing
    // else.
    let to = unsafe { Target::new(blocks(guard, recv, received, true)?) };
    if is_in_place(send.address) {
        return Some((None, to));
    }
    // SAFETY: the program keeps the send buffer until the call returns, and uses it for nothing
    // else.
    let from = unsafe { Source::new(blocks(guard, send, sent, false)?) };
    (!are_same(send, recv, from.len(), own)).then_some((Some(from), to))
}

/// The buffers of an operation with a root. The root has a buffer of all blocks; every rank has one
/// of a single block, except a root that is in place.
#[inline]
fn rooted(
    guard: &Guard,
    all: &Block,
    one: &Block,
    (rank, root): (usize, usize),
    ranks: usize,
    gathers: bool,
) -> Option<(Option<Region>, Option<Region>)> {
    if rank != root {
        return Some((None, Some(blocks(guard, one, 1, !gathers)?)));
    }
    let whole = blocks(guard, all, ranks, gathers)?;
    if is_in_place(one.address) {
        return Some((Some(whole), None));
    }
    let single = blocks(guard, one, 1, !gathers)?;
    let fits = single.len() * ranks == whole.len() && !are_same(one, all, single.len(), rank);
    fits.then_some((Some(whole), Some(single)))
}

/// Whether a dense buffer begins where another one begins, or at our block of it.
#[inline]
fn are_same(one: &Block, other: &Block, bytes: usize, own: usize) -> bool {
    let plain = |block: &Block| oxmpi_datatype::dense_size(block.datatype.0).is_some();
    let (one_at, other_at) = (one.address as usize, other.address as usize);
    (one_at == other_at || one_at == other_at.wrapping_add(own.wrapping_mul(bytes)))
        && bytes > 0
        && plain(one)
        && plain(other)
}

/// A buffer argument of so many blocks.
#[inline]
fn blocks(guard: &Guard, block: &Block, blocks: usize, written: bool) -> Option<Region> {
    whole(guard, block.address, block.count, block.datatype, blocks, written)
}

/// The reduction, if operation and type are predefined and the type has no gaps.
#[inline]
fn reduction(operands: &Operands, count: i64) -> Option<Reduction> {
    let dense = oxmpi_ops::dense(operands.op.0, operands.datatype.0)?;
    if matches!(dense.op, oxmpi_ops::Op::Replace | oxmpi_ops::Op::NoOp) {
        return None;
    }
    let count = usize::try_from(count).ok()?;
    Some(Reduction { op: operands.op, kernel: dense.kernel, element: dense.size, count })
}

/// Our operand, of so many blocks.
#[inline]
fn source(guard: &Guard, operands: &Operands, count: i64, blocks: usize) -> Option<*const u8> {
    whole(guard, operands.send, count, operands.datatype, blocks, false)?;
    Some(operands.send.cast())
}

/// Our operand and our result buffer.
#[inline]
fn both(
    guard: &Guard,
    operands: &Operands,
    (given, given_blocks): (i64, usize),
    (got, got_blocks): (i64, usize),
) -> Option<(*const u8, *mut u8)> {
    let (recv, datatype) = (operands.recv, operands.datatype);
    if is_in_place(operands.send) {
        whole(guard, recv, given, datatype, given_blocks, true)?;
        return Some((recv.cast(), recv.cast()));
    }
    whole(guard, recv, got, datatype, got_blocks, true)?;
    let own = source(guard, operands, given, given_blocks)?;
    (own != recv.cast() || got == 0).then_some((own, recv.cast()))
}

/// As [`perform`], but the board is made at the first call: the result of a reduction must not
/// depend on how many operations came before, and another algorithm may combine in another order.
#[inline]
fn compute<F: Form>(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    root: Option<usize>,
    shape: (Kind, usize),
    operation: impl FnOnce(&mut SharedBoard, &mut BoardWait) -> Result<()>,
) -> Result<Option<F::Output>> {
    if let Some(found) = guard.comms.get_mut(comm)
        && let Board::Wanted(calls) = &mut found.board
    {
        *calls = BOARD_AFTER_CALLS;
    }
    perform::<F>(call, guard, comm, root, shape, operation)
}

/// Runs an operation over the communicator's board, if it has one.
#[inline]
pub(super) fn perform<F: Form>(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    root: Option<usize>,
    shape: (Kind, usize),
    operation: impl FnOnce(&mut SharedBoard, &mut BoardWait) -> Result<()>,
) -> Result<Option<F::Output>> {
    let watch = MismatchCheck::new(call.fun, comm, root);
    let Some(mut board) = take(call, guard, comm, &watch)? else { return Ok(None) };
    if explain::is_heard() {
        explain_way(call, guard, comm, &board.shape(shape.0, shape.1));
    }
    let watch = watch.counted();
    let wait = &mut BoardWait::new(call, guard, &watch);
    let mut result = operation(&mut board, wait);
    if let Err(error) = result {
        board.fail(wait);
        result = Err(wait.cause(error));
    }
    match guard.comms.get_mut(comm) {
        Some(found) => found.board = Board::Ready(board),
        // Another thread freed the communicator in the meantime.
        None => guard.leave_board(*board),
    }
    result.map(|()| Some(F::output(None)))
}

/// Starts an operation over the communicator's board, if it has one and the table says so; keeps a
/// persistent one.
pub(super) fn start<F: Form>(
    call: &Call,
    guard: &mut Guard,
    form: F,
    comm: Comm,
    root: Option<usize>,
    (kind, bytes): (Kind, usize),
    work: impl FnOnce() -> Work,
) -> Result<Option<F::Output>> {
    let mode = form.mode();
    if let Mode::Persistent(_) = mode {
        mode.check(call)?;
        let kept = keep(call, guard, comm, root, (kind, bytes), work)?;
        return Ok(kept.map(|request| F::output(Some(request))));
    }
    let Some(board) = guard.background_board(comm) else {
        if explain::is_on() {
            let text = "no board for nonblocking operations yet, because a blocking one makes it";
            explain_board(guard, comm, text);
        }
        return Ok(None);
    };
    let Some(way) = board.background_way(kind, bytes) else { return Ok(None) };
    if explain::is_heard() {
        explain_way(call, guard, comm, &board.background_shape(kind, bytes));
    }
    let name = MismatchCheck::new(call.fun, comm, root).call();
    let promise = guard.start_on_board(comm, (name, root), work(), way)?;
    Ok(Some(F::output(Some(guard.once(comm, Active::Promise(promise))))))
}

/// Makes the request of a persistent operation with a board of its own, if the ranks can have one
/// and the table says so.
fn keep(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    root: Option<usize>,
    (kind, bytes): (Kind, usize),
    work: impl FnOnce() -> Work,
) -> Result<Option<Request>> {
    if let Some(refusal) = guard.refuses_board(comm)? {
        explain_board(guard, comm, refusal);
        return Ok(None);
    }
    let shape = SharedBoard::background_shape_of(kind, guard.comm(comm)?.group.len(), bytes);
    let Algorithm::Board(way) = shape.choose().take else { return Ok(None) };
    let check = MismatchCheck::new(call.fun, comm, root);
    let Some(board) = join(call, guard, comm, &check, BoardUse::Operation)? else {
        explain_board(
            guard,
            comm,
            "no board for this operation, because a process has no memory for it, or has too many",
        );
        return Ok(None);
    };
    if explain::is_heard() {
        explain_way(call, guard, comm, &shape);
    }
    // It does not go over the communicator's board.
    let calls = &mut guard.comm_mut(comm)?.calls;
    calls.count(check.call());
    calls.by_messages(check.call().word());
    let operation = guard.keep_on_board(comm, root, work(), way, board)?;
    let start = Start::OnBoard(operation, record::kept());
    let body = Body::Persistent(Box::new(start), None);
    Ok(Some(Request(guard.requests.insert(Made { comm, body }))))
}

/// Explains and records which algorithm the ranks will use on a board.
#[cold]
fn explain_way(call: &Call, guard: &Guard, comm: Comm, shape: &Shape) {
    record::algorithm(call.fun, shape.choose().take.describe());
    if let Some(speaker) = guard.comms.get(comm).and_then(|comm| comm.speaker()) {
        let rule = shape.choose();
        speaker.say(call.fun.name(), rule.why, || shape.describe(rule));
    }
}

/// Explains why a communicator has no board, or the facts of its board.
#[cold]
fn explain_board(guard: &Guard, comm: Comm, text: &str) {
    if let Some(speaker) = guard.comms.get(comm).and_then(|comm| comm.speaker()) {
        speaker.tell(text);
    }
}

/// Takes the board out of the communicator while an operation uses it, because other threads may
/// change the table of communicators in the meantime.
#[inline]
fn take(call: &Call, guard: &mut Guard, comm: Comm, watch: &MismatchCheck) -> Result<Option<Box<SharedBoard>>> {
    let Some(found) = guard.comms.get_mut(comm) else { return Ok(None) };
    match std::mem::replace(&mut found.board, Board::Busy) {
        Board::Ready(mut board) => {
            found.calls.count(watch.call());
            board.set_history(found.calls.history);
            Ok(Some(board))
        }
        other => take_general(call, guard, comm, other, watch),
    }
}

#[cold]
fn take_general(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    board: Board,
    watch: &MismatchCheck,
) -> Result<Option<Box<SharedBoard>>> {
    let refusal = if let Board::Wanted(_) = board { guard.refuses_board(comm)? } else { None };
    let found = guard.comm_mut(comm)?;
    if let Err(error) = found.check_whole() {
        found.board = board;
        return Err(error);
    }
    match board {
        Board::Busy => {
            bail!(MPI_ERR_OTHER, "another thread is in a collective operation on {}", found.describe())
        }
        Board::Queued => {
            found.board = Board::Queued;
            call.wait(guard, watch, |process| {
                let is_queued = process.comm(comm).is_ok_and(|comm| matches!(comm.board, Board::Queued));
                (!is_queued).then_some(())
            })?;
            return take(call, guard, comm, watch);
        }
        Board::Wanted(_) if refusal.is_some() => {
            found.board = Board::Refused;
            explain_board(guard, comm, refusal.unwrap_or_default());
        }
        Board::Wanted(calls) if calls < BOARD_AFTER_CALLS => {
            found.board = Board::Wanted(calls + 1);
            explain_board(guard, comm, "no board yet, because a communicator of a single use shall cost little");
        }
        Board::Wanted(_) => {
            let mut made = make(call, guard, comm, watch);
            let found = guard.comm_mut(comm)?;
            match &mut made {
                Ok(Some(board)) => {
                    found.calls.count(watch.call());
                    board.set_history(found.calls.history);
                }
                Ok(None) => {
                    found.board = Board::Refused;
                    explain_board(guard, comm, "no board, because a process has no memory for it, or has too many");
                }
                // The call ends here; later calls keep their numbers.
                Err(_) => {
                    found.calls.count(watch.call());
                    found.board = Board::Refused;
                }
            }
            return made;
        }
        other => found.board = other,
    }
    Ok(None)
}

/// Makes the communicator's board together with all its ranks; `None` if one of them cannot.
fn make(call: &Call, guard: &mut Guard, comm: Comm, watch: &MismatchCheck) -> Result<Option<Box<SharedBoard>>> {
    let Some(mut board) = join(call, guard, comm, watch, BoardUse::Communicator)? else { return Ok(None) };
    if guard.engine.node().goes_on() {
        board.fence_copies();
    }
    let wait = &mut BoardWait::new(call, guard, watch);
    let probed = board.probe(wait).map_err(|error| wait.cause(error))?;
    let direct = Facts::DIRECT.when(probed && guard.engine.may_copy());
    let bits = direct.and(Facts::HUGE_PAGES.when(huge::is_allowed())).to_bits();
    let participants = participants(guard, comm)?;
    let common =
        comm::run_agreement_watched(call, guard, watch, |io| async move { io.common(&participants, bits).await })?;
    board.add_facts(Facts::from_bits(common));
    if explain::is_on() {
        explain_board(guard, comm, &format!("a board: {}", board.describe_facts()));
    }
    Ok(Some(board))
}

/// Allocates a board and joins it, together with all ranks of the communicator; `None` if one of
/// them cannot.
fn join(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    watch: &MismatchCheck,
    board_use: BoardUse,
) -> Result<Option<Box<SharedBoard>>> {
    let participants = participants(guard, comm)?;
    let mut words = [0u64; 5];
    let mut allocated = None;
    if participants.rank == 0
        && let Some((area, room)) = guard.allocate_board(participants.len(), board_use)
    {
        let oversubscribed = guard.is_oversubscribed(participants.len());
        let tuning = settings::tuning().to_bits();
        words = [area.offset as u64, area.bytes as u64, room as u64, u64::from(oversubscribed), tuning];
        allocated = Some(area);
    }
    let among = participants.clone();
    let tell = |io: AgreementIo| async move { io.tell(&among, &mut words).await.map(|()| words) };
    let words = comm::run_agreement_watched(call, guard, watch, tell)?;
    let tuning = Tuning::from_bits(words[4]);
    let [offset, bytes, room, oversubscribed, _] = words.map(|word| word as usize);
    let area = Area { offset, bytes };
    // Messages show valgrind what is sent.
    let may_join = bytes > 0 && !valgrind::is_on();
    let board = if may_join { guard.join_board(comm, area, room, oversubscribed != 0, tuning)? } else { None };
    let here = board.is_some();
    let all_here =
        comm::run_agreement_watched(call, guard, watch, |io| async move { io.all(&participants, here).await })?;
    if !all_here {
        guard.give_up_board(here, allocated);
        return Ok(None);
    }
    Ok(board)
}

fn participants(guard: &mut Guard, comm: Comm) -> Result<Participants> {
    let own = comm::own_peer(guard);
    guard.comm_mut(comm)?.participants(own)
}
