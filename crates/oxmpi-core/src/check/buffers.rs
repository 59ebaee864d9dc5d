//! Buffers of operations under way. Two of them overlap only by mistake if one is written; a send buffer does not change
//! until its operation is complete, nor does a receive buffer before its message comes.
//!
//! A call proposes its buffers before it starts; they become pending when its request gets a handle. Whether a request is
//! still active is asked of the request itself, so a buffer is never thought to be pending for too long. Contiguous buffers
//! are compared with others, and those with few pieces. Their bytes, and those of other buffers, are hashed: all of a short one, samples of a long one.

use super::message::Expected;
use oxmpi_abi::functions::Fun;
use oxmpi_base::callers::CALLERS;
use oxmpi_base::watchpoint::Watchpoint;
use oxmpi_datatype::{Cursor, Source};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    /// While the library writes: uses by the program.
    pub(crate) watched: Vec<Watchpoint>,
}

impl Use {
    pub fn reads(fun: Fun, buffer: Source<'static>) -> Use {
        Use::new(fun, buffer, false, None)
    }

    pub fn writes(fun: Fun, buffer: Source<'static>) -> Use {
        Use::new(fun, buffer, true, None)
    }

    /// A receive that can tell what has become of it.
    pub fn receives(fun: Fun, buffer: Source<'static>, expected: Option<Expected>) -> Use {
        Use::new(fun, buffer, true, expected)
    }

    fn new(fun: Fun, buffer: Source<'static>, writes: bool, expected: Option<Expected>) -> Use {
        Use { fun, buffer, writes, hash: None, result: None, expected, watched: Vec::new() }
    }

    /// The same use by the next operation of a persistent request.
    pub(crate) fn again(&self) -> Use {
        Use::new(self.fun, self.buffer.clone(), self.writes, self.expected.clone())
    }

    /// Watches the first bytes while the library writes there.
    pub(crate) fn watch(&mut self, most: usize) {
        let Some((mut start, end)) = self.range().filter(|_| self.writes) else { return };
        while self.watched.len() < most
            && let Some((watched, bytes)) = Watchpoint::new(start, end - start)
        {
            self.watched.push(watched);
            start += bytes;
        }
    }

    /// Where the program has used it, behind the instruction.
    pub(crate) fn used_at(&self) -> Option<u64> {
        self.watched.iter().find_map(Watchpoint::used_at)
    }

    /// The bytes, if they are contiguous.
    fn range(&self) -> Option<(usize, usize)> {
        let base = self.buffer.as_dense()?.addr();
        (!self.buffer.is_empty()).then_some((base, base + self.buffer.len()))
    }

    pub(crate) fn overlaps(&self, other: &Use) -> bool {
        if let (Some(one), Some(two)) = (self.range(), other.range()) {
            return one.0 < two.1 && two.0 < one.1;
        }
        let (Some(ours), Some(theirs)) = (self.pieces(), other.pieces()) else { return false };
        common(ours, theirs)
    }

    /// The same if they are not, in ascending order; `None` if there are very many.
    fn pieces(&self) -> Option<Vec<(usize, usize)>> {
        let mut pieces = Vec::new();
        let known = Cursor::new().iovecs(&self.buffer, &mut pieces, MOST_PIECES, usize::MAX);
        pieces.iter_mut().for_each(|piece| piece.1 += piece.0);
        pieces.sort_unstable();
        (known == self.buffer.len()).then_some(pieces)
    }

    pub(crate) fn what(&self) -> String {
        format!("{} {}", self.fun.name(), self.verb())
    }

    pub(crate) fn verb(&self) -> &'static str {
        if self.writes { "writes" } else { "reads" }
    }
}

/// With more pieces buffers with gaps are not compared.
const MOST_PIECES: usize = 256;

/// Whether two lists of ranges in ascending order have a common byte.
fn common(one: Vec<(usize, usize)>, two: Vec<(usize, usize)>) -> bool {
    let mut rest = two.into_iter().peekable();
    one.into_iter().any(|(from, to)| {
        while rest.next_if(|other| other.1 <= from).is_some() {}
        rest.peek().is_some_and(|other| other.0 < to)
    })
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
    /// Those of persistent requests, for each start.
    pub(crate) kept: HashMap<usize, Vec<Use>>,
    /// Waits for persistent requests, by the call that made them, while this process has never started one.
    pub(crate) never_started: BTreeMap<Option<Fun>, Option<[u64; CALLERS]>>,
    pub(crate) has_started: bool,
    /// Active requests whose operation the program has cancelled.
    pub(crate) cancelled: BTreeSet<usize>,
    /// The requests that threads wait for.
    pub(crate) waits: Vec<(usize, u64)>,
    /// Buffers that were watched.
    watched: usize,
}

impl Buffers {
    /// A function of the program is about to be called. It may use buffers of the operation that calls it, so no use is told
    /// any more.
    pub(crate) fn unwatch(&mut self) {
        self.pending.iter_mut().for_each(|(_, one)| one.watched.clear());
    }

    /// How many watchpoints the next buffer gets. Setting one takes some time: a program that starts very many operations
    /// has a sample of them watched.
    pub(crate) fn watchpoints(&mut self) -> usize {
        self.watched += 1;
        let is_meant = self.watched <= WATCHED || self.watched.is_multiple_of(WATCHED);
        let others = self.pending.iter().map(|(_, one)| one);
        let in_use: usize = others.chain(self.accesses.iter().map(|of| &of.one)).map(|one| one.watched.len()).sum();
        // The first buffer leaves something for others.
        if is_meant { (WATCHPOINTS - in_use.min(WATCHPOINTS)).div_ceil(2) } else { 0 }
    }
}

/// So many operations are watched at first, and then every so many-th one.
const WATCHED: usize = 64;
/// The watchpoints of a thread.
const WATCHPOINTS: usize = 4;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_with_gaps_have_common_bytes_or_not() {
        let columns = |first: usize| (0..4).map(|row| (first + 10 * row, first + 10 * row + 3)).collect::<Vec<_>>();
        assert!(!common(columns(0), columns(3)) && !common(columns(3), columns(0)));
        assert!(common(columns(0), columns(2)) && common(columns(22), columns(0)));
        assert!(!common(columns(0), vec![(3, 10), (13, 20)]) && common(columns(0), vec![(13, 21)]));
        assert!(!common(Vec::new(), columns(0)) && !common(columns(40), columns(0)));
    }
}
