//! What `--check` compares of each collective call: the function, the root, the operation, and the elements that the ranks
//! must agree on. Calls with wrong arguments are not compared: they get an error. A recorder hears how many bytes this rank
//! gives, or gets where it gives none.

use super::{Block, Blocks, Mixed, Mode, Operands};
use crate::args::Ints;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Datatype};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check::buffers::Use;
use oxmpi_core::check::calls::{Data, Facts, NO_OPERATION, Own, USERS};
use oxmpi_core::operation::Operation;
use oxmpi_core::{check, record};
use oxmpi_datatype::{Classes, Source};
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
    /// `None` where nothing is compared: intercommunicators, and what is no communicator.
    fn new(call: &'c Call<'l>, comm: Comm) -> Option<Checked<'c, 'l>> {
        if check::is_on() {
            call.library().check_thread(call.fun);
        }
        let guard = call.enter().ok()?;
        let found = guard.comm(comm).ok()?;
        let (rank, size, is_inter) = (found.rank, found.size() as usize, found.is_inter());
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

    /// The call is about to read and to write so many blocks. Those of persistent operations are used when they start.
    ///
    /// # Safety
    /// The program keeps the blocks until the operation is complete.
    unsafe fn propose(&mut self, mode: Mode, read: Option<(&Block, i64)>, written: Option<(&Block, i64)>) {
        if matches!(mode, Mode::Persistent(_)) || !check::is_on() {
            return;
        }
        let buffer = |(block, blocks): (&Block, i64)| {
            let is_place = !block.is_in_place();
            let region = block.whole(&self.guard, blocks as usize, false).ok().filter(|_| is_place)?;
            // SAFETY: this function's own condition.
            Some(unsafe { Source::new(region) })
        };
        let read = read.and_then(buffer).map(|buffer| Use::reads(self.call.fun, buffer));
        let written = written.and_then(buffer).map(|buffer| Use::writes(self.call.fun, buffer));
        let uses = read.into_iter().chain(written).collect();
        self.guard.propose_buffers(uses, matches!(mode, Mode::Nonblocking));
    }

    /// A call in which all that was looked at is what this rank gives or gets.
    fn note(self, root: i32, op: u16, data: Data) {
        record::collective(self.bytes.get());
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

    fn blocks(&self, counts: &[i64], datatype: Datatype) -> Option<Vec<Data>> {
        counts.iter().map(|&count| self.data(count, datatype)).collect()
    }
}

/// A function and its form for large counts match.
fn function(fun: Fun) -> u16 {
    fun.without_large_counts() as u16
}

fn number(blocks: Vec<Data>) -> impl Iterator<Item = (u32, Data)> {
    blocks.into_iter().enumerate().map(|(rank, data)| (rank as u32, data))
}

pub(super) fn plain(call: &Call, comm: Comm) {
    if let Some(checked) = Checked::new(call, comm) {
        checked.note(NOBODY, NO_OPERATION, Data::NONE);
    }
}

pub(super) unsafe fn bcast(call: &Call, mode: Mode, buffer: &Block, root: i32, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm)?;
    checked.has_root(root)?;
    let data = checked.block(buffer)?;
    let is_root = checked.rank == root;
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, is_root.then_some((buffer, 1)), (!is_root).then_some((buffer, 1))) };
    checked.note(root, NO_OPERATION, data);
    Some(())
}

pub(super) unsafe fn gather(call: &Call, mode: Mode, send: &Block, recv: &Block, root: i32, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm)?;
    checked.has_root(root)?;
    let is_root = checked.rank == root;
    let data = checked.block(if is_root { recv } else { send })?;
    let all = checked.size as i64;
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some((send, 1)), is_root.then_some((recv, all))) };
    checked.note(root, NO_OPERATION, data);
    Some(())
}

pub(super) unsafe fn scatter(call: &Call, mode: Mode, send: &Block, recv: &Block, root: i32, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm)?;
    checked.has_root(root)?;
    let is_root = checked.rank == root;
    let data = checked.block(if is_root { send } else { recv })?;
    let all = checked.size as i64;
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, is_root.then_some((send, all)), Some((recv, 1))) };
    checked.note(root, NO_OPERATION, data);
    Some(())
}

/// All-gather and all-to-all: each block that is received is as long as each that is sent.
pub(super) unsafe fn among_all(call: &Call, mode: Mode, send: &Block, recv: &Block, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm)?;
    let data = checked.block(recv)?;
    let all = checked.size as i64;
    let is_gather = call.fun.name().contains("gather");
    if !is_gather {
        checked.bytes.set(checked.bytes.get().saturating_mul(all as u64));
    }
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some((send, if is_gather { 1 } else { all })), Some((recv, all))) };
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
    let mut checked = Checked::new(call, comm)?;
    checked.has_root(root)?;
    // SAFETY: the program keeps the block of `send` until the operation is complete.
    unsafe { checked.propose(mode, Some((send, 1)), None) };
    let (mut sent, mut expected) = (Vec::new(), BTreeMap::new());
    if checked.rank == root {
        // SAFETY: this function's own condition.
        let counts = unsafe { checked.counts(recv.counts) }?;
        expected = number(checked.blocks(&counts, recv.datatype)?).collect();
    } else {
        sent.push((root as u32, checked.block(send)?));
    }
    record::collective(checked.bytes.get());
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
    let mut checked = Checked::new(call, comm)?;
    checked.has_root(root)?;
    // SAFETY: the program keeps the block of `recv` until the operation is complete.
    unsafe { checked.propose(mode, None, Some((recv, 1))) };
    let (mut sent, mut expected) = (Vec::new(), BTreeMap::new());
    if checked.rank == root {
        // SAFETY: this function's own condition.
        let counts = unsafe { checked.counts(send.counts) }?;
        sent = number(checked.blocks(&counts, send.datatype)?).collect();
    } else {
        expected.insert(root as u32, checked.block(recv)?);
    }
    record::collective(checked.bytes.get());
    checked.note_blocks(root, NO_OPERATION, Data::NONE, sent, expected);
    Some(())
}

/// # Safety
/// The array of counts has an entry for every rank.
pub(super) unsafe fn allgatherv(call: &Call, mode: Mode, send: &Block, recv: &Blocks, comm: Comm) -> Option<()> {
    let mut checked = Checked::new(call, comm)?;
    // SAFETY: the program keeps the block of `send` until the operation is complete.
    unsafe { checked.propose(mode, Some((send, 1)), None) };
    // SAFETY: this function's own condition.
    let counts = unsafe { checked.counts(recv.counts) }?;
    let own = if send.is_in_place() {
        checked.data(*counts.get(checked.rank as usize)?, recv.datatype)?
    } else {
        checked.block(send)?
    };
    record::collective(checked.bytes.get());
    let everybody = (0..checked.size as u32).map(|rank| (rank, own)).collect();
    let expected = number(checked.blocks(&counts, recv.datatype)?).collect();
    checked.note_blocks(NOBODY, NO_OPERATION, Data::NONE, everybody, expected);
    Some(())
}

/// # Safety
/// The arrays of counts have an entry for every rank.
pub(super) unsafe fn alltoallv(call: &Call, send: &Blocks, recv: &Blocks, comm: Comm) -> Option<()> {
    let checked = Checked::new(call, comm)?;
    let given = if send.is_in_place() { recv } else { send };
    // SAFETY: this function's own condition.
    let (out, into) = unsafe { (checked.counts(given.counts)?, checked.counts(recv.counts)?) };
    let sent = number(checked.blocks(&out, given.datatype)?).collect();
    record::collective(checked.bytes.get());
    let expected = number(checked.blocks(&into, recv.datatype)?).collect();
    checked.note_blocks(NOBODY, NO_OPERATION, Data::NONE, sent, expected);
    Some(())
}

/// # Safety
/// The arrays of counts and types have an entry for every rank.
pub(super) unsafe fn alltoallw(call: &Call, send: &Mixed, recv: &Mixed, comm: Comm) -> Option<()> {
    let checked = Checked::new(call, comm)?;
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
    record::collective(checked.bytes.get());
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
    let mut checked = Checked::new(call, comm)?;
    let (root, blocks) = match results {
        Results::At(root) => {
            checked.has_root(root)?;
            (root, 1)
        }
        Results::Everywhere => (NOBODY, 1),
        Results::Block => (NOBODY, checked.size as i64),
    };
    let op = operation(&checked, operands)?;
    let data = checked.data(count, operands.datatype)?;
    let has_result = root == NOBODY || root == checked.rank;
    let send = Block::new(operands.send, count, operands.datatype);
    let recv = Block::new(operands.recv, count, operands.datatype);
    // SAFETY: the caller's promise about the buffers of the operation.
    unsafe { checked.propose(mode, Some((&send, blocks)), has_result.then_some((&recv, 1))) };
    checked.note(root, op, data);
    Some(())
}

/// # Safety
/// The array of counts has an entry for every rank.
pub(super) unsafe fn reduce_scatter(call: &Call, operands: &Operands, counts: Ints, comm: Comm) -> Option<()> {
    let checked = Checked::new(call, comm)?;
    let op = operation(&checked, operands)?;
    // SAFETY: this function's own condition.
    let counts = unsafe { checked.counts(counts) }?;
    let data = checked.all(&counts, operands.datatype)?;
    checked.note(NOBODY, op, data);
    Some(())
}

fn operation(checked: &Checked<'_, '_>, operands: &Operands) -> Option<u16> {
    match checked.guard.operation(operands.op).ok()? {
        Operation::Predefined(_) => u16::try_from(operands.op.0).ok(),
        Operation::User(_) => Some(USERS),
    }
}
