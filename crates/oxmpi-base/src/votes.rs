//! The words of a rank that others read while they vote. They lie in the segment; `death_log.rs` finds those of a rank.

use crate::sync::shared::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Processes of so many jobs can vote together.
pub const JOBS: usize = 12;

/// Communicators of a rank that have voted and are not freed.
pub const PLACES: usize = 1024;

/// So many places may have a context.
const TRIES: usize = 16;

/// What a rank says in a vote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ballot {
    pub kind: u32,
    pub flag: u32,
    /// A proposal, if the vote needs one.
    pub proposal: u64,
    /// Of each job whose processes take part: so many entries of its log are acknowledged, and known.
    pub acked: [u32; JOBS],
    pub known: [u32; JOBS],
}

#[repr(C, align(64))]
struct Line {
    /// The number of the vote, stored last.
    seq: AtomicU64,
    proposal: AtomicU64,
    kind: AtomicU32,
    flag: AtomicU32,
    acked: [AtomicU32; JOBS],
    known: [AtomicU32; JOBS],
}

/// The votes of a rank on one communicator. The rank alone writes it.
#[repr(C, align(64))]
pub struct Place {
    /// The context plus one, or 0.
    owner: AtomicU64,
    /// The last vote of which the rank has the result.
    done: AtomicU64,
    lines: [Line; 2],
}

impl Place {
    /// Stores a ballot, its number last.
    pub fn write(&self, seq: u64, ballot: &Ballot) {
        let line = &self.lines[(seq & 1) as usize];
        line.kind.store(ballot.kind, Relaxed);
        line.flag.store(ballot.flag, Relaxed);
        line.proposal.store(ballot.proposal, Relaxed);
        for job in 0..JOBS {
            line.acked[job].store(ballot.acked[job], Relaxed);
            line.known[job].store(ballot.known[job], Relaxed);
        }
        line.seq.store(seq, Release);
    }

    /// The ballot of a vote, if it is there.
    pub fn read(&self, seq: u64) -> Option<Ballot> {
        let line = &self.lines[(seq & 1) as usize];
        if line.seq.load(Acquire) != seq {
            return None;
        }
        let words = |from: &[AtomicU32; JOBS]| std::array::from_fn(|job| from[job].load(Relaxed));
        Some(Ballot {
            kind: line.kind.load(Relaxed),
            flag: line.flag.load(Relaxed),
            proposal: line.proposal.load(Relaxed),
            acked: words(&line.acked),
            known: words(&line.known),
        })
    }

    pub fn finish(&self, seq: u64) {
        self.done.store(seq, Release);
    }

    pub fn done(&self) -> u64 {
        self.done.load(Acquire)
    }

    /// Gives the place to a context, or to none.
    pub fn give_to(&self, context: Option<u32>) {
        self.owner.store(0, Release);
        self.done.store(0, Relaxed);
        self.lines.iter().for_each(|line| line.seq.store(0, Relaxed));
        self.owner.store(context.map_or(0, |context| u64::from(context) + 1), Release);
    }

    pub(crate) fn is_of(&self, context: u32) -> bool {
        self.owner.load(Acquire) == u64::from(context) + 1
    }

    pub(crate) fn is_free(&self) -> bool {
        self.owner.load(Relaxed) == 0
    }
}

/// The places that a context may have.
pub(crate) fn tries(context: u32) -> impl Iterator<Item = usize> {
    let hash = (context >> 1).wrapping_mul(0x9e37_79b9) as usize >> 16;
    (0..TRIES).map(move |step| (hash + step) % PLACES)
}
