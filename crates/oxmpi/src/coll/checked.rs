//! What `--check` compares of each collective call: the function, the root, the operation, and the elements that the ranks
//! must agree on. Calls with wrong arguments are not compared: they get an error. A recorder hears how many bytes this rank
//! gives, or gets where it gives none.

use super::neighbors::Neighbors;
use super::used::{self, Memory};
use super::{Block, Blocks, Mixed, Mode, Operands};
use crate::args::Ints;
use crate::comm::own_peer;
use oxmpi_abi::constants::{MPI_OP_NULL, MPI_PROC_NULL, MPI_ROOT};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Datatype, Op};
use oxmpi_base::ids::Rank;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check::calls::{ANY_OPERATION, ANY_ROOT, Data, Facts, NO_OPERATION, Own, USERS};
use oxmpi_core::operation::Operation;
use oxmpi_core::{check, record};
use oxmpi_datatype::Classes;
use std::cell::Cell;
use std::collections::BTreeMap;

/// A call under examination.
struct Checked<'c, 'l> {
    guard: Guard<'l>,
    comm: Comm,
    call: &'c Call<'l>,
    rank: i32,
    size: usize,
    /// The bytes of the elements that were looked at.
    bytes: Cell<u64>,
}

/// No root.
const NOBODY: i32 = -1;

impl<'c, 'l> Checked<'c, 'l> {
    /// `None` where nothing more is compared: on intercommunicators, of which only the function, `root` and `op` are, and what
    /// is no communicator.
    fn new(call: &'c Call<'l>, comm: Comm, root: i32, op: Op) -> Option<Checked<'c, 'l>> {
        let mut guard = call.enter().ok()?;
        let found = guard.comm(comm).ok()?;
        let (rank, size, is_inter) = (found.rank, found.size() as usize, found.is_inter());
        if is_inter {
            note_among_groups(call, &mut guard, comm, root, op);
        }
        (!is_inter && (size > 1 || check::records())).then_some(Checked {
            guard,
            comm,
            call,
            rank,
            size,
            bytes: Cell::new(0),
        })
    }

    fn has_root(&self, root: i32) -> Option<()> {
        usize::try_from(root).ok().filter(|&root| root < self.size).map(drop)
    }

    /// So many elements of a type that can be used.
    fn data(&self, count: i64, datatype: Datatype) -> Option<Data> {
        let count = u128::try_from(count).ok()?;
        let found = self.guard.datatype(datatype).ok().filter(|found| found.is_committed())?;
        Some(self.seen(found.classes().repeat(count), u128::try_from(found.size()).ok()?.checked_mul(count)?))
    }

    fn seen(&self, classes: Classes, bytes: u128) -> Data {
        self.bytes.set(self.bytes.get().saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX)));
        Data::new(classes, bytes)
    }

    fn block(&self, block: &Block) -> Option<Data> {
        self.data(block.count, block.datatype)
    }

    /// What a rank sends to itself must be what it expects.
    fn compare_own(&self, sent: &Block, expected: &Block) {
        if !check::is_on() || sent.is_in_place() || expected.is_in_place() {
            return;
        }
        // What is only looked at is not counted.
        let bytes = self.bytes.get();
        if let (Some(sent), Some(expected)) = (self.block(sent), self.block(expected)) {
            check::tell_own_block(self.guard.engine.node(), self.call.fun, sent, expected);
        }
        self.bytes.set(bytes);
    }

    /// The elements of all blocks, which all ranks must agree on one by one.
    fn all(&self, counts: &[i64], datatype: Datatype) -> Option<Data> {
        let found = self.guard.datatype(datatype).ok().filter(|found| found.is_committed())?;
        let mut total = 0u128;
        // The lengths, one by one, and the classes of all.
        let mut lengths: u64 = 0;
        for &count in counts {
            let count = u128::try_from(count).ok()?;
            total = total.checked_add(count)?;
            lengths = (lengths.rotate_left(7) ^ count as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        let classes: Classes = found.classes().repeat(total);
        let data = self.seen(classes, u128::try_from(found.size()).ok()?.checked_mul(total)?);
        Some(if total == 0 { data } else { data.with(lengths) })
    }

    /// The call is about to read and to write memory.
    ///
    /// # Safety
    /// As for [`used::propose`].
    unsafe fn propose(&mut self, mode: Mode, read: Option<Memory<'_>>, written: Option<Memory<'_>>) {
        if check::is_on() {
            // SAFETY: this function's own condition.
            unsafe { used::propose(self.call, &mut self.guard, mode, read, written) };
        }
    }

    /// A call in which all that was looked at is what this rank gives or gets.
    fn note(self, root: i32, op: u16, data: Data) {
        record::collective(self.call.fun, self.bytes.get());
        self.note_blocks(root, op, data, Vec::new(), BTreeMap::new());
    }

    fn note_blocks(mut self, root: i32, op: u16, data: Data, sent: Vec<(u32, Data)>, expected: BTreeMap<u32, Data>) {
        if !check::is_on() {
            return;
        }
        let fun = function(self.call.fun);
        let facts = Facts { fun, root, op, data };
        self.guard.note_collective(self.comm, Own { facts, sent, expected });
    }

    /// The counts of a vector form.
    ///
    /// # Safety
    /// The array has an entry for every rank.
    unsafe fn counts(&self, counts: Ints) -> Option<Vec<i64>> {
        if counts.is_null() {
            return None;
        }
        // SAFETY: there is an entry for every rank: this function's own condition.
        Some((0..self.size).map(|index| unsafe { counts.get(index) }).collect())
    }

    /// The elements of each block of an argument.
    ///
    /// # Safety
    /// The arrays have as many entries as there are blocks.
    unsafe fn block_list(&self, memory: Memory<'_>) -> Option<Vec<Data>> {
        // SAFETY: each index is below the number of blocks.
        let counts = |counts: Ints, blocks: usize| (0..blocks).map(move |index| unsafe { counts.get(index) });
        match memory {
            Memory::Block(block, blocks) => Some(vec![self.block(block)?; blocks]),
            Memory::Blocks(all, blocks) if blocks == 0 || !all.counts.is_null() => {
                self.blocks(&counts(all.counts, blocks).collect::<Vec<i64>>(), all.datatype)
            }
            Memory::Mixed(all, blocks) if blocks == 0 || !(all.counts.is_null() || all.datatypes.is_null()) => {
                let one = |(index, count)| {
                    // SAFETY: the index is below the number of blocks.
                    let datatype = unsafe { all.datatypes.add(index).read() };
                    if count == 0 { Some(Data::NONE) } else { self.data(count, datatype) }
                };
                counts(all.counts, blocks).enumerate().map(one).collect()
            }
            _ => None,
        }
    }

    fn blocks(&self, counts: &[i64], datatype: Datatype) -> Option<Vec<Data>> {
        counts.iter().map(|&count| self.data(count, datatype)).collect()
    }
}

/// A call on an intercommunicator: its root is named by the ranks of the other group. Both groups may give operations of their
/// own, so those of the first one are compared.
fn note_among_groups(call: &Call, guard: &mut Guard, comm: Comm, root: i32, op: Op) -> Option<()> {
    if !check::is_on() {
        return None;
    }
    let found = guard.comm(comm).ok()?;
    let nodes = guard.engine.node().nodes();
    // Nothing else that such a rank gives is significant.
    let is_idle = root == MPI_PROC_NULL;
    let root = match root {
        NOBODY => NOBODY,
        MPI_PROC_NULL => ANY_ROOT,
        MPI_ROOT => nodes.rank_of(own_peer(guard))?.index() as i32,
        _ => {
            let root = usize::try_from(root).ok().filter(|&root| root < found.group.len())?;
            nodes.rank_of(found.group.peer(Rank::new(root)))?.index() as i32
        }
    };
    let op = match guard.operation(op) {
        _ if is_idle || !found.is_first => ANY_OPERATION,
        _ if op == MPI_OP_NULL => NO_OPERATION,
        Ok(Operation::Predefined(_)) => u16::try_from(op.0).ok()?,
        Ok(Operation::User(_)) => USERS,
        Err(_) => return None,
    };
    let facts = Facts { fun: function(call.fun), root, op, data: Data::NONE };
    guard.note_collective(comm, Own { facts, sent: Vec::new(), expected: BTreeMap::new() });
    Some(())
}

/// A function and its form for large counts match.
fn function(fun: Fun) -> u16 {
    fun.without_large_counts() as u16
}

fn number(blocks: Vec<Data>) -> impl Iterator<Item = (u32, Data)> {
    blocks.into_iter().enumerate().map(|(rank, data)| (rank as u32, data))
}

pub(super) fn plain(call: &Call, comm: Comm) {
    if let Some(checked) = Checked::new(call, comm, NOBODY, MPI_OP_NULL) {
        checked.note(NOBODY, NO_OPERATION, Data::NONE);
    }
}

/// An operation among neighbours; with `sends_one` all of them get the same block.
///
/// # Safety
/// The arrays have an entry for every neighbour, and the program keeps the blocks until the operation is complete.
pub(super) unsafe fn neighbors(
    call: &Call,
    mode: Mode,
    sends_one: bool,
    (send, recv): (Memory<'_>, Memory<'_>),
    comm: Comm,
) -> Option<()> {
    let mut checked = Checked::new(call, comm, NOBODY, MPI_OP_NULL)?;
    let neighbors = Neighbors::new(&checked.guard, comm).ok()?;
    let (out, into) = (neighbors.outgoing.len(), neighbors.incoming.len());
    let (send, recv) = (send.with_blocks(if sends_one { 1 } else { out }), recv.with_blocks(into));
    // SAFETY: this function's own condition.
    let (given, taken) = unsafe { (checked.block_list(send)?, checked.block_list(recv)?) };
    if check::is_on() {
        // SAFETY: this function's own condition.
        unsafe { used::among_neighbors(call, &mut checked.guard, mode, &neighbors, (send, recv)) };
    }
    record::collective(call.fun, checked.bytes.get());
    let given = neighbors.outgoing.iter().enumerate().map(|(at, peer)| (*peer, given[if sends_one { 0 } else { at }]));
    let sent = by_peer(given);
    let expected = by_peer(neighbors.incoming.iter().copied().zip(taken));
    checked.note_blocks(NOBODY, NO_OPERATION, Data::NONE, sent.into_iter().collect(), expected);
    Some(())
}

/// The block for each process; not for one that has several blocks which differ.
fn by_peer(blocks: impl Iterator<Item = (Option<u32>, Data)>) -> BTreeMap<u32, Data> {
    let (mut all, mut unclear) = (BTreeMap::new(), Vec::new());
    for (peer, data) in blocks {
        let Some(peer) = peer else { continue };
        if all.insert(peer, data).is_some_and(|other| other != data) {
            unclear.push(peer);
        }
    }
    all.retain(|peer, _| !unclear.contains(peer));
    all
}

pub(super) unsafe fn bcast(call: &Call, mode: Mode, buffer: &Block, root: i32, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm, root, MPI_OP_NULL)?;
    checked.has_root(root)?;
    let data = checked.block(buffer)?;
    let is_root = checked.rank == root;
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe {
        checked.propose(
            mode,
            is_root.then_some(Memory::Block(buffer, 1)),
            (!is_root).then_some(Memory::Block(buffer, 1)),
        )
    };
    checked.note(root, NO_OPERATION, data);
    Some(())
}

pub(super) unsafe fn gather(call: &Call, mode: Mode, send: &Block, recv: &Block, root: i32, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm, root, MPI_OP_NULL)?;
    checked.has_root(root)?;
    let is_root = checked.rank == root;
    let data = checked.block(if is_root { recv } else { send })?;
    if is_root {
        checked.compare_own(send, recv);
    }
    let all = checked.size;
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some(Memory::Block(send, 1)), is_root.then_some(Memory::Block(recv, all))) };
    checked.note(root, NO_OPERATION, data);
    Some(())
}

pub(super) unsafe fn scatter(call: &Call, mode: Mode, send: &Block, recv: &Block, root: i32, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm, root, MPI_OP_NULL)?;
    checked.has_root(root)?;
    let is_root = checked.rank == root;
    let data = checked.block(if is_root { send } else { recv })?;
    if is_root {
        checked.compare_own(send, recv);
    }
    let all = checked.size;
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, is_root.then_some(Memory::Block(send, all)), Some(Memory::Block(recv, 1))) };
    checked.note(root, NO_OPERATION, data);
    Some(())
}

/// All-gather and all-to-all: each block that is received is as long as each that is sent.
pub(super) unsafe fn among_all(call: &Call, mode: Mode, send: &Block, recv: &Block, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm, NOBODY, MPI_OP_NULL)?;
    let data = checked.block(recv)?;
    checked.compare_own(send, recv);
    let all = checked.size;
    let is_gather = call.fun.name().contains("gather");
    if !is_gather {
        checked.bytes.set(checked.bytes.get().saturating_mul(all as u64));
    }
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe {
        checked.propose(
            mode,
            Some(Memory::Block(send, if is_gather { 1 } else { all })),
            Some(Memory::Block(recv, all)),
        )
    };
    checked.note(NOBODY, NO_OPERATION, data);
    Some(())
}

/// # Safety
/// The arrays of the root have an entry for every rank.
pub(super) unsafe fn gatherv(
    call: &Call,
    mode: Mode,
    send: &Block,
    recv: &Blocks,
    root: i32,
    comm: Comm,
) -> Option<()> {
    let mut checked = Checked::new(call, comm, root, MPI_OP_NULL)?;
    checked.has_root(root)?;
    let (is_root, all) = (checked.rank == root, checked.size);
    // SAFETY: this function's own condition, and the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some(Memory::Block(send, 1)), is_root.then_some(Memory::Blocks(recv, all))) };
    let (mut sent, mut expected) = (Vec::new(), BTreeMap::new());
    if checked.rank == root {
        // SAFETY: this function's own condition.
        let counts = unsafe { checked.counts(recv.counts) }?;
        expected = number(checked.blocks(&counts, recv.datatype)?).collect();
    } else {
        sent.push((root as u32, checked.block(send)?));
    }
    record::collective(call.fun, checked.bytes.get());
    checked.note_blocks(root, NO_OPERATION, Data::NONE, sent, expected);
    Some(())
}

/// # Safety
/// As for [`gatherv`].
pub(super) unsafe fn scatterv(
    call: &Call,
    mode: Mode,
    send: &Blocks,
    recv: &Block,
    root: i32,
    comm: Comm,
) -> Option<()> {
    let mut checked = Checked::new(call, comm, root, MPI_OP_NULL)?;
    checked.has_root(root)?;
    let (is_root, all) = (checked.rank == root, checked.size);
    // SAFETY: this function's own condition, and the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, is_root.then_some(Memory::Blocks(send, all)), Some(Memory::Block(recv, 1))) };
    let (mut sent, mut expected) = (Vec::new(), BTreeMap::new());
    if checked.rank == root {
        // SAFETY: this function's own condition.
        let counts = unsafe { checked.counts(send.counts) }?;
        sent = number(checked.blocks(&counts, send.datatype)?).collect();
    } else {
        expected.insert(root as u32, checked.block(recv)?);
    }
    record::collective(call.fun, checked.bytes.get());
    checked.note_blocks(root, NO_OPERATION, Data::NONE, sent, expected);
    Some(())
}

/// # Safety
/// The array of counts has an entry for every rank.
pub(super) unsafe fn allgatherv(call: &Call, mode: Mode, send: &Block, recv: &Blocks, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm, NOBODY, MPI_OP_NULL)?;
    let all = checked.size;
    // SAFETY: this function's own condition, and the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some(Memory::Block(send, 1)), Some(Memory::Blocks(recv, all))) };
    // SAFETY: this function's own condition.
    let counts = unsafe { checked.counts(recv.counts) }?;
    let own = if send.is_in_place() {
        checked.data(*counts.get(checked.rank as usize)?, recv.datatype)?
    } else {
        checked.block(send)?
    };
    record::collective(call.fun, checked.bytes.get());
    let everybody = (0..checked.size as u32).map(|rank| (rank, own)).collect();
    let expected = number(checked.blocks(&counts, recv.datatype)?).collect();
    checked.note_blocks(NOBODY, NO_OPERATION, Data::NONE, everybody, expected);
    Some(())
}

/// # Safety
/// The arrays of counts have an entry for every rank.
pub(super) unsafe fn alltoallv(call: &Call, mode: Mode, send: &Blocks, recv: &Blocks, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm, NOBODY, MPI_OP_NULL)?;
    let all = checked.size;
    // SAFETY: this function's own condition, and the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some(Memory::Blocks(send, all)), Some(Memory::Blocks(recv, all))) };
    let given = if send.is_in_place() { recv } else { send };
    // SAFETY: this function's own condition.
    let (out, into) = unsafe { (checked.counts(given.counts)?, checked.counts(recv.counts)?) };
    let sent = number(checked.blocks(&out, given.datatype)?).collect();
    record::collective(call.fun, checked.bytes.get());
    let expected = number(checked.blocks(&into, recv.datatype)?).collect();
    checked.note_blocks(NOBODY, NO_OPERATION, Data::NONE, sent, expected);
    Some(())
}

/// # Safety
/// The arrays of counts and types have an entry for every rank.
pub(super) unsafe fn alltoallw(call: &Call, mode: Mode, send: &Mixed, recv: &Mixed, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm, NOBODY, MPI_OP_NULL)?;
    let all = checked.size;
    // SAFETY: this function's own condition, and the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some(Memory::Mixed(send, all)), Some(Memory::Mixed(recv, all))) };
    let given = if send.is_in_place() { recv } else { send };
    let blocks = |mixed: &Mixed| -> Option<Vec<Data>> {
        // SAFETY: this function's own condition.
        let counts = unsafe { checked.counts(mixed.counts) }?;
        if mixed.datatypes.is_null() {
            return None;
        }
        let one = |(index, &count): (usize, &i64)| {
            // SAFETY: this function's own condition.
            let datatype = unsafe { mixed.datatypes.add(index).read() };
            if count == 0 { Some(Data::NONE) } else { checked.data(count, datatype) }
        };
        counts.iter().enumerate().map(one).collect()
    };
    let sent = number(blocks(given)?).collect();
    record::collective(call.fun, checked.bytes.get());
    let expected = number(blocks(recv)?).collect();
    checked.note_blocks(NOBODY, NO_OPERATION, Data::NONE, sent, expected);
    Some(())
}

/// Where the result of a reduction is.
#[derive(Clone, Copy)]
pub(super) enum Results {
    At(i32),
    Everywhere,
    /// Each rank has a block of it.
    Block,
}

pub(super) unsafe fn reduction(
    call: &Call,
    mode: Mode,
    operands: &Operands,
    count: i64,
    results: Results,
    comm: Comm,
) -> Option<()> {
    let root = if let Results::At(root) = results { root } else { NOBODY };
    let mut checked = Checked::new(call, comm, root, operands.op)?;
    let blocks = match results {
        Results::At(root) => {
            checked.has_root(root)?;
            1
        }
        Results::Everywhere => 1,
        Results::Block => checked.size,
    };
    let op = operation(&checked, operands)?;
    let data = checked.data(count, operands.datatype)?;
    // The result of the first rank of an exclusive scan is undefined: it need not have a buffer.
    let is_before_all = call.fun.name().contains("xscan") && checked.rank == 0;
    let has_result = (root == NOBODY || root == checked.rank) && !is_before_all;
    let send = Block::new(operands.send, count, operands.datatype);
    let recv = Block::new(operands.recv, count, operands.datatype);
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some(Memory::Block(&send, blocks)), has_result.then_some(Memory::Block(&recv, 1))) };
    checked.note(root, op, data);
    Some(())
}

/// # Safety
/// The array of counts has an entry for every rank.
pub(super) unsafe fn reduce_scatter(
    call: &Call,
    mode: Mode,
    operands: &Operands,
    counts: Ints,
    comm: Comm,
) -> Option<()> {
    let mut checked = Checked::new(call, comm, NOBODY, operands.op)?;
    let op = operation(&checked, operands)?;
    // SAFETY: this function's own condition.
    let counts = unsafe { checked.counts(counts) }?;
    let data = checked.all(&counts, operands.datatype)?;
    let send = Block::new(operands.send, counts.iter().sum(), operands.datatype);
    let recv = Block::new(operands.recv, *counts.get(checked.rank as usize)?, operands.datatype);
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some(Memory::Block(&send, 1)), Some(Memory::Block(&recv, 1))) };
    checked.note(NOBODY, op, data);
    Some(())
}

fn operation(checked: &Checked<'_, '_>, operands: &Operands) -> Option<u16> {
    match checked.guard.operation(operands.op).ok()? {
        Operation::Predefined(_) => u16::try_from(operands.op.0).ok(),
        Operation::User(_) => Some(USERS),
    }
}
