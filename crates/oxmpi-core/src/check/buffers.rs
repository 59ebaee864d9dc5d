//! Buffers of operations under way. Two of them overlap only by mistake if one is written; a send buffer does not change
//! until its operation is complete, nor does a receive buffer before its message comes.
//!
//! A call proposes its buffers before it starts; they become pending when its request gets a handle. Whether a request is
//! still active is asked of the request itself, so a buffer is never thought to be pending for too long. Contiguous buffers
//! are compared with others. Their bytes, and those of other buffers, are hashed: all of a short one, samples of a long one.

use super::message::Expected;
use oxmpi_abi::functions::Fun;
use oxmpi_datatype::Source;
use std::cell::RefCell;

/// A buffer of an operation.
pub struct Use {
    pub(crate) fun: Fun,
    pub(crate) buffer: Source<'static>,
    pub(crate) writes: bool,
    /// The hash at the start of an operation that reads.
    pub(crate) hash: Option<u64>,
    /// Of one that writes: the hash when the library had written all.
    pub(crate) result: Option<u64>,
    /// Of a receive of one message.
    pub(crate) expected: Option<Expected>,
}

impl Use {
    pub fn reads(fun: Fun, buffer: Source<'static>) -> Use {
        Use { fun, buffer, writes: false, hash: None, result: None, expected: None }
    }

    pub fn writes(fun: Fun, buffer: Source<'static>) -> Use {
        Use { fun, buffer, writes: true, hash: None, result: None, expected: None }
    }

    /// A receive that can tell what has become of it.
    pub fn receives(fun: Fun, buffer: Source<'static>, expected: Option<Expected>) -> Use {
        Use { fun, buffer, writes: true, hash: None, result: None, expected }
    }

    /// The bytes, if they are contiguous.
    fn range(&self) -> Option<(usize, usize)> {
        let base = self.buffer.as_dense()?.addr();
        (!self.buffer.is_empty()).then_some((base, base + self.buffer.len()))
    }

    pub(crate) fn overlaps(&self, other: &Use) -> bool {
        match (self.range(), other.range()) {
            (Some(one), Some(two)) => one.0 < two.1 && two.0 < one.1,
            _ => false,
        }
    }

    pub(crate) fn what(&self) -> String {
        format!("{} {}", self.fun.name(), self.verb())
    }

    pub(crate) fn verb(&self) -> &'static str {
        if self.writes { "writes" } else { "reads" }
    }
}

/// The buffer of a one-sided access that is not complete at its origin.
pub(crate) struct LocalUse {
    pub win: usize,
    pub target: usize,
    pub one: Use,
}

/// The buffers of requests of this process, by handle.
#[derive(Default)]
pub struct Buffers {
    pub(crate) pending: Vec<(usize, Use)>,
    /// Those of one-sided accesses.
    pub(crate) accesses: Vec<LocalUse>,
}

thread_local! {
    /// The buffers of the call that this thread is in.
    pub(crate) static PROPOSED: RefCell<Vec<Use>> = const { RefCell::new(Vec::new()) };
}

/// The call of this thread has failed: its buffers do not become pending.
#[cold]
pub fn withdraw() {
    PROPOSED.take();
}

/// With more operations under way buffers are not compared: that would take too long.
pub(crate) const MOST: usize = 128;
