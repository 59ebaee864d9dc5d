//! Buffers for buffered sends. The user's memory sets the limit that the standard describes; a message that has to wait
//! is kept in memory of our own, which costs the same and cannot be fragmented or misaligned.

use crate::engine::{Engine, OpId};
use oxmpi_abi::constants::{MPI_BSEND_OVERHEAD, MPI_ERR_BUFFER};
use oxmpi_abi::{Result, bail};

pub struct BufferPool {
    /// What the user attached, to be given back on detaching.
    pub address: usize,
    /// Bytes attached; `None` for `MPI_BUFFER_AUTOMATIC`, which has no limit.
    pub size: Option<u64>,
    /// Messages on their way, oldest first, with the bytes that each occupies.
    pending: Vec<Pending>,
    next: u64,
}

/// How often to look in vain for messages that have left before a buffer is too small. Each look is at some packets; so many
/// are at more than a ring holds.
const LOOKS: u32 = 64;

struct Pending {
    number: u64,
    op: OpId,
    bytes: u64,
}

impl BufferPool {
    pub fn new(address: usize, size: Option<u64>) -> BufferPool {
        BufferPool { address, size, pending: Vec::new(), next: 0 }
    }

    /// Makes sure that a message of so many bytes has its place.
    pub fn check_room(&mut self, engine: &mut Engine, bytes: usize) -> Result<()> {
        let Some(size) = self.size else { return Ok(()) };
        let needed = bytes as u64 + MPI_BSEND_OVERHEAD as u64;
        let mut used = self.reap(engine);
        // What others have received long ago may not be known here yet.
        let mut looks = 0;
        while used + needed > size && looks < LOOKS {
            looks = if engine.progress() { 0 } else { looks + 1 };
            used = self.reap(engine);
        }
        if used + needed > size {
            bail!(
                MPI_ERR_BUFFER,
                "a buffered message of {bytes} bytes needs {needed} bytes of buffer (MPI_BSEND_OVERHEAD included), but \
                 {} of the {size} attached bytes are free",
                size.saturating_sub(used)
            );
        }
        Ok(())
    }

    /// Notes a message that is on its way.
    pub fn add(&mut self, op: OpId, bytes: usize) {
        let number = self.next;
        self.next += 1;
        self.pending.push(Pending { number, op, bytes: bytes as u64 + MPI_BSEND_OVERHEAD as u64 });
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

    /// The buffer's owner goes away; the messages go on to their end.
    pub fn abandon(self, engine: &mut Engine) {
        self.pending.into_iter().for_each(|message| engine.detach(message.op));
    }

    /// Forgets messages that have left; returns the bytes that the others occupy.
    fn reap(&mut self, engine: &mut Engine) -> u64 {
        self.pending.retain(|message| engine.take_outcome(message.op).is_none());
        self.pending.iter().map(|message| message.bytes).sum()
    }
}
