//! Buffers for buffered sends. The size of the user's memory is the limit that the standard
//! describes; a message that must wait is stored in our own memory, which costs the same and cannot
//! be fragmented or misaligned.

use crate::engine::{Engine, OpId};
use oxmpi_abi::constants::MPI_ERR_BUFFER;
use oxmpi_abi::{Result, bail};

pub struct BufferPool {
    /// What the user attached, returned on detaching.
    pub address: usize,
    /// Bytes attached; `None` for `MPI_BUFFER_AUTOMATIC`, which has no limit.
    pub size: Option<u64>,
    /// Messages under way, oldest first, with the bytes that each occupies.
    pending: Vec<Pending>,
    next: u64,
}

/// What a message takes of the buffer beside its data. `MPI_BSEND_OVERHEAD` is what programs reckon with, and this must not
/// be more in any ABI: 512 in the standard's, 128 in Open MPI's, 96 in MPICH's, 88 in Intel MPI's.
const OVERHEAD: u64 = 88;

/// Polls without progress before a full buffer is an error. Each poll handles some packets; this
/// many handle more than a ring holds.
const POLLS: u32 = 64;

struct Pending {
    number: u64,
    op: OpId,
    bytes: u64,
}

impl BufferPool {
    pub fn new(address: usize, size: Option<u64>) -> BufferPool {
        BufferPool { address, size, pending: Vec::new(), next: 0 }
    }

    /// Makes sure that there is room for a message of so many bytes.
    pub fn check_room(&mut self, engine: &mut Engine, bytes: usize) -> Result<()> {
        let Some(size) = self.size else { return Ok(()) };
        let needed = bytes as u64 + OVERHEAD;
        let mut used = self.reap(engine);
        // Messages that were received long ago may not be known here yet.
        let mut polls = 0;
        while used + needed > size && polls < POLLS {
            polls = if engine.progress() { 0 } else { polls + 1 };
            used = self.reap(engine);
        }
        if used + needed > size {
            bail!(
                MPI_ERR_BUFFER,
                "a buffered message of {bytes} bytes needs {needed} bytes of buffer ({OVERHEAD} of them for the message itself), but \
                 {} of the {size} attached bytes are free",
                size.saturating_sub(used)
            );
        }
        Ok(())
    }

    /// Adds a message that is under way.
    pub fn add(&mut self, op: OpId, bytes: usize) {
        let number = self.next;
        self.next += 1;
        self.pending.push(Pending { number, op, bytes: bytes as u64 + OVERHEAD });
    }

    /// A mark for [`BufferPool::is_flushed`]: every message so far.
    pub fn mark(&self) -> u64 {
        self.next
    }

    /// Whether every message before the mark has left.
    pub fn is_flushed(&mut self, engine: &mut Engine, mark: u64) -> bool {
        self.reap(engine);
        self.pending.first().is_none_or(|oldest| oldest.number >= mark)
    }

    /// Detaches the messages of a buffer whose owner goes away; they continue to their end.
    pub fn abandon(self, engine: &mut Engine) {
        self.pending.into_iter().for_each(|message| engine.detach(message.op));
    }

    /// Drops messages that are complete; returns the bytes that the others occupy.
    fn reap(&mut self, engine: &mut Engine) -> u64 {
        self.pending.retain(|message| engine.take_outcome(message.op).is_none());
        self.pending.iter().map(|message| message.bytes).sum()
    }
}
