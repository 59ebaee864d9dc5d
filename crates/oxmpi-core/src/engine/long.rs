//! Operations that may need this process while its program computes, for the helper thread (`helper.rs`): sends that did not
//! leave at once, and receives of messages that may be longer than what arrives by itself. Without a helper thread nothing
//! is remembered.

use super::Messages;
use super::ops::OpId;

/// The operations; some of them may have ended.
pub(super) struct Long {
    ops: Vec<OpId>,
    /// Receives with more room than this are remembered.
    room: usize,
    /// At this length those that have ended are forgotten.
    sweep_at: usize,
    is_on: bool,
    /// Long work is done by parts.
    by_parts: bool,
}

/// The first length at which operations that have ended are searched for.
const FIRST_SWEEP: usize = 64;

impl Long {
    pub const OFF: Long =
        Long { ops: Vec::new(), room: usize::MAX, sweep_at: FIRST_SWEEP, is_on: false, by_parts: false };

    /// Whether a receive with so much room is remembered.
    #[inline]
    pub fn concerns(&self, room: usize) -> bool {
        room > self.room
    }
}

impl Messages {
    /// There is a helper thread from now on.
    pub(crate) fn remember_long(&mut self) {
        self.long = Long { is_on: true, room: self.eager_limit(), ..Long::OFF };
    }

    pub(crate) fn forget_long(&mut self) {
        self.long = Long::OFF;
    }

    /// Remembers an operation that has not ended at once.
    #[inline]
    pub(super) fn note_long(&mut self, op: OpId) {
        if self.long.is_on {
            self.push_long(op);
        }
    }

    #[cold]
    fn push_long(&mut self, op: OpId) {
        if self.long.ops.len() >= self.long.sweep_at {
            let ops = &mut self.ops;
            self.long.ops.retain(|op| ops.named(op.word()).is_some());
            self.long.sweep_at = FIRST_SWEEP.max(2 * self.long.ops.len());
        }
        self.long.ops.push(op);
    }

    /// Whether such an operation is under way, or messages wait for room.
    pub(crate) fn has_long(&mut self) -> bool {
        if !(self.transfers.is_empty() && self.waiting_queues.is_empty() && self.pressure_news.is_empty()) {
            return true;
        }
        while let Some(last) = self.long.ops.last() {
            if self.ops.named(last.word()).is_some() {
                return true;
            }
            self.long.ops.pop();
        }
        false
    }

    /// Whether bytes wait for room in a socket.
    pub(crate) fn wants_room(&self) -> bool {
        self.tx.wants_room()
    }

    /// From now on long work is done by parts, or not any more.
    pub(crate) fn set_by_parts(&mut self, by_parts: bool) {
        self.long.by_parts = by_parts;
    }

    pub(crate) fn is_by_parts(&self) -> bool {
        self.long.by_parts
    }
}
