//! Matching: which message goes to which receive. It exists once, above all transports.
//!
//! Two queues hold what waits for the other side: [`PostedQueue`] receives, [`UnexpectedQueue`]
//! messages. Both keep MPI's order: a message goes to the earliest posted receive that accepts it,
//! and a receive takes the earliest arrived message that it accepts. Every operation takes constant
//! time, with wildcards too, whatever is outstanding, and allocates nothing once the queues have
//! reached their working size.
//!
//! Nothing here knows what a receive or a message is; that is the caller's `T`. A message or
//! receive that was taken must not be used again.
//!
//! Read `index.rs` first: a hash table of first-in-first-out lists, on which both queues are built.

mod index;
mod posted;
mod unexpected;

pub use posted::{PostedId, PostedQueue};
pub use unexpected::{MessageId, UnexpectedQueue};

pub use oxmpi_abi::constants::{MPI_ANY_SOURCE as ANY_SOURCE, MPI_ANY_TAG as ANY_TAG};

/// Marks a rank as the source of partitioned messages.
pub const PARTS: i32 = 1 << 30;

/// The envelope of a message. `source` is a rank, 0 or more. The user's tags are 0 or more;
/// negative ones are the library's own (never [`ANY_TAG`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    pub context: u32,
    pub source: i32,
    pub tag: i32,
}

impl Envelope {
    /// The rank that has sent this message, if it is a partition.
    pub fn sender_of_part(&self) -> Option<i32> {
        let is_part = self.context % 2 == 1 && self.tag < 0 && self.source > 0 && self.source & PARTS != 0;
        is_part.then_some(self.source & !PARTS)
    }
}

/// What a receive or a probe accepts: `source` may be [`ANY_SOURCE`], `tag` may be [`ANY_TAG`],
/// which matches only the user's tags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    pub context: u32,
    pub source: i32,
    pub tag: i32,
}

impl Pattern {
    #[inline]
    pub fn matches(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && (self.source == envelope.source || self.source == ANY_SOURCE)
            && if self.tag == ANY_TAG { envelope.tag >= 0 } else { self.tag == envelope.tag }
    }
}

/// The pattern that accepts messages with this envelope and no others.
impl From<Envelope> for Pattern {
    #[inline]
    fn from(envelope: Envelope) -> Pattern {
        Pattern { context: envelope.context, source: envelope.source, tag: envelope.tag }
    }
}

#[cfg(test)]
mod tests;
