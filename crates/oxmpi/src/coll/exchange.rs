//! The vector forms and the operations among neighbours over the board of a communicator (`oxmpi_transport::board`): short
//! blocks go over the board, long ones straight from memory to memory, or as messages afterwards. How a block goes depends on
//! its length alone, which its two ranks know; all others need not know.
//!
//! As in `board.rs`, `None` means that the whole operation must use messages, and all ranks decide that alike.

use super::args::{Block, Blocks, Mixed};
use super::board::{is_in_place, perform, rank_of, start};
use super::data::check_apart_from;
use super::neighbors::Neighbors;
use super::shape::{refuse_alias, stage};
use super::{Form, Mode};
use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_coll::choose::Kind;
use oxmpi_coll::neighbor::{Edges, arrivals};
use oxmpi_core::board::Board;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::collective::{BoundPlan, unequal};
use oxmpi_core::wait::mismatch::MismatchCheck;
use oxmpi_datatype::{Region, Source, Target};
use oxmpi_transport::board::{Exchange, Remainder, Work};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) unsafe fn gatherv<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Blocks,
    root: i32,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, form, comm) else { return Ok(None) };
    let Some(root) = rank_of(root, ranks) else { return Ok(None) };
    let mut exchange = new(Kind::Gatherv, fun::<F>(Fun::Gatherv, Fun::Igatherv), Some(root));
    // SAFETY: the program keeps its memory until the operation is complete, and the root's arrays have an entry for every
    // rank, as the module `coll` says.
    let is_fine = unsafe {
        if rank != root {
            one_send(&guard, &mut exchange, &send, root).is_some()
        } else {
            blocks_from_others(&guard, &mut exchange, &recv, rank, ranks)
                .and_then(|own| own_block(&guard, &mut exchange, &send, &recv, rank, own))
                .is_some()
        }
    };
    if is_fine { carry_out(call, &mut guard, form, comm, exchange) } else { Ok(None) }
}

pub(super) unsafe fn scatterv<F: Form>(
    call: &Call,
    form: F,
    send: Blocks,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, form, comm) else { return Ok(None) };
    let Some(root) = rank_of(root, ranks) else { return Ok(None) };
    let mut exchange = new(Kind::Scatterv, fun::<F>(Fun::Scatterv, Fun::Iscatterv), Some(root));
    if rank != root {
        if is_in_place(recv.address) {
            return Ok(None);
        }
        let Ok(to) = recv.whole(&guard, 1, true) else { return Ok(None) };
        // SAFETY: the program keeps the receive buffer until the operation is complete, and uses it for nothing else.
        exchange.recvs.push((root, unsafe { Target::new(to) }));
        return carry_out(call, &mut guard, form, comm, exchange);
    }
    // SAFETY: the root's arrays have an entry for every rank, and the program keeps its memory, as the module `coll` says.
    let Some(own) = (unsafe { blocks_to_others(&guard, &mut exchange, &send, rank, ranks) }) else { return Ok(None) };
    if !is_in_place(recv.address) {
        let Ok(to) = recv.whole(&guard, 1, true) else { return Ok(None) };
        // SAFETY: the array has an entry for every rank.
        let displ = unsafe { send.displs.get(rank) };
        let is_alias = check_apart_from(&guard, &recv, &send, displ).is_err();
        // SAFETY: the program keeps both buffers until the operation is complete.
        if is_alias || !unsafe { set_own(&mut exchange, own, to) } {
            return Ok(None);
        }
    }
    carry_out(call, &mut guard, form, comm, exchange)
}

pub(super) unsafe fn allgatherv<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Blocks,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, form, comm) else { return Ok(None) };
    let mut exchange = new(Kind::Allgatherv, fun::<F>(Fun::Allgatherv, Fun::Iallgatherv), None);
    // SAFETY: the arrays have an entry for every rank, and the program keeps its memory, as the module `coll` says.
    let own = unsafe { blocks_from_others(&guard, &mut exchange, &recv, rank, ranks) };
    let Some(own) = own.filter(|_| !is_in_place(send.address)) else { return Ok(None) };
    let longest = exchange.recvs.iter().map(|(_, block)| block.len()).fold(own.len(), usize::max);
    // All ranks know all lengths.
    if ranks > 2 && longest as u64 > LONGEST {
        return Ok(None);
    }
    // SAFETY: the array has an entry for every rank, and the program keeps both buffers.
    if unsafe { own_block(&guard, &mut exchange, &send, &recv, rank, own) }.is_none() {
        return Ok(None);
    }
    if let Some((block, _)) = &exchange.own {
        exchange.sends.extend((0..ranks).filter(|to| *to != rank).map(|to| (to, block.clone())));
        exchange.is_same = true;
    }
    carry_out(call, &mut guard, form, comm, exchange)
}

pub(super) unsafe fn alltoallv<F: Form>(
    call: &Call,
    form: F,
    send: Blocks,
    recv: Blocks,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, form, comm) else { return Ok(None) };
    if send.is_in_place() {
        return Ok(None);
    }
    let mut exchange = new(Kind::Alltoallv, fun::<F>(Fun::Alltoallv, Fun::Ialltoallv), None);
    // SAFETY: the arrays have an entry for every rank, and the program keeps its memory, as the module `coll` says.
    let found = unsafe {
        blocks_from_others(&guard, &mut exchange, &recv, rank, ranks).zip(blocks_to_others(
            &guard,
            &mut exchange,
            &send,
            rank,
            ranks,
        ))
    };
    let Some((to, from)) = found else { return Ok(None) };
    // SAFETY: both arrays have an entry for every rank.
    let are_same_displs = unsafe { send.displs.get(rank) == recv.displs.get(rank) };
    let is_alias = are_same_displs
        && send.datatype == recv.datatype
        && refuse_alias(send.address, recv.address, from.len()).is_err();
    // SAFETY: the program keeps both blocks until the operation is complete.
    if is_alias || !unsafe { set_own(&mut exchange, from, to) } {
        return Ok(None);
    }
    carry_out(call, &mut guard, form, comm, exchange)
}

pub(super) unsafe fn alltoallw<F: Form>(
    call: &Call,
    form: F,
    send: Mixed,
    recv: Mixed,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, ranks)) = place(&guard, form, comm) else { return Ok(None) };
    if send.is_in_place() || recv.is_in_place() {
        return Ok(None);
    }
    let mut exchange = new(Kind::Alltoallv, fun::<F>(Fun::Alltoallw, Fun::Ialltoallw), None);
    for other in (rank + 1..ranks).chain(0..rank) {
        // SAFETY: the arrays have an entry for every rank.
        let Ok(to) = (unsafe { recv.block(&guard, other, true) }) else { return Ok(None) };
        // SAFETY: the program keeps the block until the operation is complete, and uses it for nothing else.
        exchange.recvs.push((other, unsafe { Target::new(to) }));
    }
    for other in (0..ranks).filter(|other| *other != rank) {
        // SAFETY: the arrays have an entry for every rank.
        let Ok(from) = (unsafe { send.block(&guard, other, false) }) else { return Ok(None) };
        // SAFETY: the program keeps the block until the operation is complete.
        exchange.sends.push((other, unsafe { Source::new(from) }));
    }
    // SAFETY: the arrays have an entry for every rank.
    let own = unsafe { (send.block(&guard, rank, false), recv.block(&guard, rank, true)) };
    let (Ok(from), Ok(to)) = own else { return Ok(None) };
    let is_alias = match (from.as_dense(), to.as_dense()) {
        (Some(given), Some(got)) => refuse_alias(given.cast(), got.cast(), to.len()).is_err(),
        _ => false,
    };
    // SAFETY: the program keeps both blocks until the operation is complete.
    if is_alias || !unsafe { set_own(&mut exchange, from, to) } {
        return Ok(None);
    }
    carry_out(call, &mut guard, form, comm, exchange)
}

pub(super) unsafe fn neighbor_allgather<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    if place(&guard, form, comm).is_none() || is_in_place(send.address) || is_in_place(recv.address) {
        return Ok(None);
    }
    let Ok(neighbors) = Neighbors::new(&guard, comm) else { return Ok(None) };
    let whole = (send.whole(&guard, 1, false), recv.whole(&guard, neighbors.incoming.len(), true));
    let (Ok(from), Ok(_)) = whole else { return Ok(None) };
    let fun = fun::<F>(Fun::NeighborAllgather, Fun::IneighborAllgather);
    let (from, to) = (|_| Ok(from.clone()), |index| recv.unit(&guard, index, true));
    // SAFETY: the blocks are those of the arguments.
    let Some(exchange) = (unsafe { among_neighbors(fun, &neighbors, from, to) }) else { return Ok(None) };
    carry_out(call, &mut guard, form, comm, Exchange { is_same: true, ..exchange })
}

pub(super) unsafe fn neighbor_allgatherv<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Blocks,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    if place(&guard, form, comm).is_none() || is_in_place(send.address) || recv.is_in_place() {
        return Ok(None);
    }
    let Ok(from) = send.whole(&guard, 1, false) else { return Ok(None) };
    let Ok(neighbors) = Neighbors::new(&guard, comm) else { return Ok(None) };
    let fun = fun::<F>(Fun::NeighborAllgatherv, Fun::IneighborAllgatherv);
    // SAFETY: the arrays have an entry for every neighbour; the blocks are those of the arguments.
    let exchange = unsafe {
        let to = |index| recv.block(&guard, index, true);
        among_neighbors(fun, &neighbors, |_| Ok(from.clone()), to)
    };
    let Some(exchange) = exchange else { return Ok(None) };
    carry_out(call, &mut guard, form, comm, Exchange { is_same: true, ..exchange })
}

pub(super) unsafe fn neighbor_alltoall<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    if place(&guard, form, comm).is_none() || is_in_place(send.address) || is_in_place(recv.address) {
        return Ok(None);
    }
    let Ok(neighbors) = Neighbors::new(&guard, comm) else { return Ok(None) };
    let (incoming, outgoing) = (neighbors.incoming.len(), neighbors.outgoing.len());
    if send.whole(&guard, outgoing, false).and(recv.whole(&guard, incoming, true)).is_err() {
        return Ok(None);
    }
    let fun = fun::<F>(Fun::NeighborAlltoall, Fun::IneighborAlltoall);
    let (from, to) = (|index| send.unit(&guard, index, false), |index| recv.unit(&guard, index, true));
    // SAFETY: the blocks are those of the arguments.
    let Some(exchange) = (unsafe { among_neighbors(fun, &neighbors, from, to) }) else { return Ok(None) };
    carry_out(call, &mut guard, form, comm, exchange)
}

pub(super) unsafe fn neighbor_alltoallv<F: Form>(
    call: &Call,
    form: F,
    send: Blocks,
    recv: Blocks,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    if place(&guard, form, comm).is_none() || send.is_in_place() || recv.is_in_place() {
        return Ok(None);
    }
    let Ok(neighbors) = Neighbors::new(&guard, comm) else { return Ok(None) };
    let fun = fun::<F>(Fun::NeighborAlltoallv, Fun::IneighborAlltoallv);
    // SAFETY: the arrays have an entry for every neighbour; the blocks are those of the arguments.
    let exchange = unsafe {
        let (from, to) = (|index| send.block(&guard, index, false), |index| recv.block(&guard, index, true));
        among_neighbors(fun, &neighbors, from, to)
    };
    let Some(exchange) = exchange else { return Ok(None) };
    carry_out(call, &mut guard, form, comm, exchange)
}

pub(super) unsafe fn neighbor_alltoallw<F: Form>(
    call: &Call,
    form: F,
    send: Mixed,
    recv: Mixed,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    if place(&guard, form, comm).is_none() || send.is_in_place() || recv.is_in_place() {
        return Ok(None);
    }
    let Ok(neighbors) = Neighbors::new(&guard, comm) else { return Ok(None) };
    let fun = fun::<F>(Fun::NeighborAlltoallw, Fun::IneighborAlltoallw);
    // SAFETY: the arrays have an entry for every neighbour; the blocks are those of the arguments.
    let exchange = unsafe {
        let (from, to) = (|index| send.block(&guard, index, false), |index| recv.block(&guard, index, true));
        among_neighbors(fun, &neighbors, from, to)
    };
    let Some(exchange) = exchange else { return Ok(None) };
    carry_out(call, &mut guard, form, comm, exchange)
}

/// The longest blocks of an allgather of more than two ranks that go over a board.
const LONGEST: u64 = 64 << 10;

// ---- the parts of an exchange ----

/// Our rank and the number of ranks, if the operation may go over a board.
#[inline]
fn place<F: Form>(guard: &Guard, form: F, comm: Comm) -> Option<(usize, usize)> {
    let found = guard.comms.get(comm)?;
    let may_have_board = match found.board {
        Board::Refused => false,
        Board::Wanted(_) => found.may_have_board() && F::BLOCKING,
        _ => true,
    };
    // The boards of persistent operations are not asked whether their ranks can copy directly.
    let is_kept = matches!(form.mode(), Mode::Persistent(_));
    (may_have_board && !is_kept).then(|| (found.rank as usize, found.group.len()))
}

/// The name of the function: of its blocking form, or of one in the background.
fn fun<F: Form>(blocking: Fun, background: Fun) -> Fun {
    if F::BLOCKING { blocking } else { background }
}

fn new(kind: Kind, fun: Fun, root: Option<usize>) -> Exchange {
    Exchange { fun, kind, root, sends: SmallVec::new(), recvs: SmallVec::new(), own: None, is_same: false }
}

/// Adds the block that goes to the root.
///
/// # Safety
/// The program keeps the block until the operation is complete.
unsafe fn one_send(guard: &Guard, exchange: &mut Exchange, send: &Block, root: usize) -> Option<()> {
    if is_in_place(send.address) {
        return None;
    }
    let from = send.whole(guard, 1, false).ok()?;
    // SAFETY: this function's own condition.
    exchange.sends.push((root, unsafe { Source::new(from) }));
    Some(())
}

/// Adds the blocks that come from all others; returns the one of this rank. `None` if an argument is wrong, which the way by
/// messages reports.
///
/// # Safety
/// The arrays have an entry for every rank, and the program keeps the blocks until the operation is complete.
unsafe fn blocks_from_others(
    guard: &Guard,
    exchange: &mut Exchange,
    recv: &Blocks,
    rank: usize,
    ranks: usize,
) -> Option<Region> {
    if recv.is_in_place() {
        return None;
    }
    // The next rank first, so that not all ranks begin with the same one.
    for from in (rank + 1..ranks).chain(0..rank) {
        // SAFETY: this function's own condition.
        exchange.recvs.push((from, unsafe { Target::new(recv.block(guard, from, true).ok()?) }));
    }
    // SAFETY: this function's own condition.
    unsafe { recv.block(guard, rank, true) }.ok()
}

/// The same with the blocks that go to all others.
///
/// # Safety
/// As for [`blocks_from_others`].
unsafe fn blocks_to_others(
    guard: &Guard,
    exchange: &mut Exchange,
    send: &Blocks,
    rank: usize,
    ranks: usize,
) -> Option<Region> {
    if send.is_in_place() {
        return None;
    }
    for to in (0..ranks).filter(|to| *to != rank) {
        // SAFETY: this function's own condition.
        exchange.sends.push((to, unsafe { Source::new(send.block(guard, to, false).ok()?) }));
    }
    // SAFETY: this function's own condition.
    unsafe { send.block(guard, rank, false) }.ok()
}

/// Sets what this rank sends to itself, unless it is in place: `to` is its block of what is received.
///
/// # Safety
/// As for [`blocks_from_others`].
unsafe fn own_block(
    guard: &Guard,
    exchange: &mut Exchange,
    send: &Block,
    recv: &Blocks,
    rank: usize,
    to: Region,
) -> Option<()> {
    if is_in_place(send.address) {
        return Some(());
    }
    let from = send.whole(guard, 1, false).ok()?;
    // SAFETY: the array has an entry for every rank: this function's own condition.
    let displ = unsafe { recv.displs.get(rank) };
    check_apart_from(guard, send, recv, displ).ok()?;
    // SAFETY: this function's own condition.
    unsafe { set_own(exchange, from, to) }.then_some(())
}

/// Sets what this rank sends to itself; `false` if it is longer or shorter than what it receives.
///
/// # Safety
/// The program keeps both blocks until the operation is complete.
unsafe fn set_own(exchange: &mut Exchange, from: Region, to: Region) -> bool {
    if from.len() != to.len() {
        return false;
    }
    // SAFETY: this function's own condition.
    exchange.own = Some(unsafe { (Source::new(from), Target::new(to)) });
    true
}

/// An exchange with the neighbours: `from` is the block that goes to the neighbour of an index, `to` the one that comes.
///
/// # Safety
/// The program keeps all these blocks until the operation is complete.
unsafe fn among_neighbors(
    fun: Fun,
    neighbors: &Neighbors,
    from: impl Fn(usize) -> Result<Region>,
    to: impl Fn(usize) -> Result<Region>,
) -> Option<Exchange> {
    let mut exchange = new(Kind::Neighbors, fun, None);
    for (index, peer) in neighbors.outgoing.iter().enumerate() {
        // Blocks of neighbours that do not exist are checked too.
        let block = from(index).ok()?;
        if let Some(peer) = peer {
            // SAFETY: this function's own condition.
            exchange.sends.push((*peer as usize, unsafe { Source::new(block) }));
        }
    }
    let edges = if neighbors.grid { Edges::Opposite } else { Edges::Listed };
    for index in arrivals(neighbors.incoming.len(), edges) {
        let block = to(index).ok()?;
        if let Some(peer) = neighbors.incoming[index] {
            // SAFETY: this function's own condition.
            exchange.recvs.push((peer as usize, unsafe { Target::new(block) }));
        }
    }
    Some(exchange)
}

/// Carries an exchange out, or starts or keeps it.
fn carry_out<F: Form>(
    call: &Call,
    guard: &mut Guard,
    form: F,
    comm: Comm,
    exchange: Exchange,
) -> Result<Option<F::Output>> {
    let (root, shape) = (exchange.root, (exchange.kind, 0));
    if !F::BLOCKING {
        return start(call, guard, form, comm, root, shape, || Work::Exchange(Arc::new(exchange)));
    }
    let mut left = Remainder::default();
    let output = perform::<F>(call, guard, comm, root, shape, |board, wait| {
        left = board.exchange(wait, &exchange)?;
        Ok(())
    })?;
    if output.is_none() {
        return Ok(None);
    }
    // All ranks count the operation, so that they agree on the tags of later ones.
    if !left.is_some() {
        guard.comm_mut(comm)?.collective_tag();
    } else {
        let mut stage = stage(guard, comm)?;
        stage.root = root;
        let check = MismatchCheck::new(call.fun, comm, root);
        call.perform(guard, Arc::new(BoundPlan::rest_of(&exchange, &left, stage)), &check.counted())?;
    }
    match left.differs {
        Some(differs) => Err(unequal(differs.rank as i32, differs.got, differs.expected)),
        None => Ok(output),
    }
}
