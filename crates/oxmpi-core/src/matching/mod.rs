//! Matching: which message goes to which receive. It exists once, above all transports.
//!
//! Two queues hold what is waiting for the other side: [`PostedQueue`] receives, [`UnexpectedQueue`] messages. Both
//! keep MPI's order: a message goes to the earliest posted receive that accepts it, and a receive takes the earliest
//! arrived message that it accepts. Every operation is constant time, with wildcards too, whatever is outstanding,
//! and allocates nothing once the queues have reached their working size.
//!
//! Nothing here knows what a receive or a message is; that is the caller's `T`. Nothing here may be called with the
//! same message twice: what is taken is gone.
//!
//! Read `index.rs` first: a hash of first-in-first-out lists, which both queues are built from.

mod index;
mod posted;
mod unexpected;

pub use posted::{PostedId, PostedQueue};
pub use unexpected::{MessageId, UnexpectedQueue};

pub use oxmpi_abi::constants::{MPI_ANY_SOURCE as ANY_SOURCE, MPI_ANY_TAG as ANY_TAG};

/// What a message says of itself. `source` is a rank, 0 or more. A tag of 0 or more is the user's; negative ones
/// are the library's own (never [`ANY_TAG`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    pub context: u32,
    pub source: i32,
    pub tag: i32,
}

/// What a receive or a probe accepts: `source` may be [`ANY_SOURCE`], `tag` may be [`ANY_TAG`], which stands for the
/// user's tags only.
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
