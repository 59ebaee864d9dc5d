//! For `--check`: the memory that a collective call reads and writes, piece by piece.

use super::args::{Block, Blocks, Mixed};
use super::mode::Mode;
use super::neighbors::Neighbors;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check::buffers::Use;
use oxmpi_datatype::{Region, Source};

/// With more blocks the buffers of a vector form are not compared.
const MOST_BLOCKS: usize = 64;

/// A buffer argument, and how many blocks it has.
#[derive(Clone, Copy)]
pub(super) enum Memory<'a> {
    Block(&'a Block, usize),
    Blocks(&'a Blocks, usize),
    Mixed(&'a Mixed, usize),
}

impl Memory<'_> {
    /// The same argument with another number of blocks.
    pub fn with_blocks(self, blocks: usize) -> Self {
        match self {
            Memory::Block(block, _) => Memory::Block(block, blocks),
            Memory::Blocks(all, _) => Memory::Blocks(all, blocks),
            Memory::Mixed(all, _) => Memory::Mixed(all, blocks),
        }
    }

    /// The pieces; none where the arguments are wrong, which the call will say.
    ///
    /// # Safety
    /// The arrays have as many entries as there are blocks.
    unsafe fn pieces(self, guard: &Guard) -> Vec<Region> {
        match self {
            Memory::Block(block, blocks) if !block.is_in_place() => {
                block.whole(guard, blocks, false).into_iter().collect()
            }
            Memory::Blocks(all, blocks) if !all.is_in_place() && blocks <= MOST_BLOCKS => {
                // SAFETY: this function's own condition.
                unsafe { all.regions(guard, blocks) }.unwrap_or_default()
            }
            Memory::Mixed(all, blocks) if !all.is_in_place() && blocks <= MOST_BLOCKS => {
                // SAFETY: this function's own condition.
                unsafe { all.blocks(guard, blocks, false) }.unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// The call is about to use memory, or to make a request whose operations will.
///
/// # Safety
/// The arrays of counts have an entry for each block, and the program keeps the blocks until the operation is complete.
#[cold]
pub(super) unsafe fn propose(
    call: &Call,
    guard: &mut Guard,
    mode: Mode,
    read: Option<Memory<'_>>,
    written: Option<Memory<'_>>,
) {
    let all = |memory: Option<Memory<'_>>, used: fn(_, _) -> Use| -> Vec<Use> {
        // SAFETY: this function's own condition.
        let pieces = memory.map(|memory| unsafe { memory.pieces(guard) }).unwrap_or_default();
        // SAFETY: this function's own condition.
        pieces.into_iter().map(|piece| used(call.fun, unsafe { Source::new(piece) })).collect()
    };
    let mut uses = all(read, Use::reads);
    uses.extend(all(written, Use::writes));
    match mode {
        Mode::Persistent(_) => guard.propose_kept_buffers(uses),
        Mode::Nonblocking => guard.propose_buffers(uses, true),
        _ => guard.propose_buffers(uses, false),
    }
}

/// The same for an operation among neighbours. Blocks for neighbours that do not exist are not used, so buffers with such
/// blocks are not looked at.
///
/// # Safety
/// As for [`propose`].
#[cold]
pub(super) unsafe fn among_neighbors(
    call: &Call,
    guard: &mut Guard,
    mode: Mode,
    neighbors: &Neighbors,
    (read, written): (Memory<'_>, Memory<'_>),
) {
    let are_all = |peers: &[Option<u32>]| !peers.is_empty() && peers.iter().all(Option::is_some);
    let (read, written) = (Some(read), Some(written));
    let (read, written) =
        (read.filter(|_| are_all(&neighbors.outgoing)), written.filter(|_| are_all(&neighbors.incoming)));
    // SAFETY: this function's own condition.
    unsafe { propose(call, guard, mode, read, written) };
}
