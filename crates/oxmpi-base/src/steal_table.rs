//! The steal table of a rank: its progress in a long reduction. The operation is cut into pieces,
//! and each piece into as many parts as there are ranks. The table says which pieces the rank has
//! reached, which of them it shows to the others, and which of its parts are claimed or computed,
//! and by which rank. A rank that is free computes any unclaimed part, so that a rank on a slow CPU
//! does not delay the others.
//!
//! A rank reaches a piece, then makes sure that all parts of the piece before are computed, its own
//! first. It takes their results before it reaches the next piece but one. A result is stored where
//! the rank that computed it has its own elements of that part, which no other rank needs. So a
//! rank that has reached piece `p` has taken the results of all pieces up to `p - 2`. A rank that
//! is about to reach `p + 2`, and has seen that all ranks have reached `p`, may reuse the memory of
//! piece `p - 2`: [`AREAS`] pieces can be in progress.

use crate::segment::CACHE_LINE;
use crate::sync::{AtomicU64, Ordering};

/// Number of pieces for which a rank has memory.
pub const AREAS: usize = 4;

/// A zeroed table is empty. Ranks that wait for a piece poll another line than those that wait for
/// a part.
#[repr(C, align(64))]
pub struct StealTable {
    /// Number of pieces that this rank has reached.
    reached: AtomicU64,
    /// The piece whose elements are in each area, plus one.
    shown: [AtomicU64; AREAS],
    _other_line: [u8; CACHE_LINE - 8 * (1 + AREAS)],
    /// Number of this rank's parts, in the order of pieces, that are claimed.
    claimed: AtomicU64,
    /// For each area, the last piece whose part is computed, plus one, and the rank that has the
    /// result.
    done: [AtomicU64; AREAS],
}

/// Bits of the rank in a word of `done`.
const RANK_BITS: u32 = 24;

fn area(piece: u64) -> usize {
    piece as usize % AREAS
}

impl StealTable {
    /// Empties the table, before other ranks read it.
    pub fn clear(&self) {
        for word in [&self.reached, &self.claimed].into_iter().chain(&self.shown).chain(&self.done) {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Publishes this rank's elements of a piece. The rank will no longer read results older than
    /// those of the last piece.
    pub fn show(&self, piece: u64) {
        // Release: orders the writes of the elements before it.
        self.shown[area(piece)].store(piece + 1, Ordering::Release);
        self.pass(piece);
    }

    /// Marks a piece as reached without publishing the elements, which the others get elsewhere.
    pub fn pass(&self, piece: u64) {
        // Release: orders the reads of earlier pieces before it.
        self.reached.store(piece + 1, Ordering::Release);
    }

    /// Whether this rank has reached a piece.
    pub fn has_reached(&self, piece: u64) -> bool {
        // Acquire: pairs with `pass`.
        self.reached.load(Ordering::Acquire) > piece
    }

    pub fn has_shown(&self, piece: u64) -> bool {
        // Acquire: pairs with `show`.
        self.shown[area(piece)].load(Ordering::Acquire) == piece + 1
    }

    /// Whether this rank's part of a piece can be claimed. All parts of earlier pieces are claimed.
    pub fn is_free(&self, piece: u64) -> bool {
        self.claimed.load(Ordering::Relaxed) == piece
    }

    /// Claims this rank's part of a piece, unless another rank has.
    pub fn claim(&self, piece: u64) -> bool {
        // Relaxed: it only decides which rank computes. The operands were published by `show`, the
        // result is by `finish`.
        self.claimed.compare_exchange(piece, piece + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Publishes that rank `by` has computed the part.
    pub fn finish(&self, piece: u64, by: usize) {
        // Release: orders the result before it.
        self.done[area(piece)].store((piece + 1) << RANK_BITS | by as u64, Ordering::Release);
    }

    /// The rank that has the result of a part, once it is computed.
    pub fn done_by(&self, piece: u64) -> Option<usize> {
        // Acquire: pairs with `finish`.
        let word = self.done[area(piece)].load(Ordering::Acquire);
        (word >> RANK_BITS == piece + 1).then_some((word & ((1 << RANK_BITS) - 1)) as usize)
    }
}

#[cfg(test)]
impl StealTable {
    /// A table with all words set.
    fn with(number: u64) -> StealTable {
        let word = || AtomicU64::new(number);
        let words = || [(); AREAS].map(|()| word());
        StealTable {
            reached: word(),
            shown: words(),
            _other_line: [0; CACHE_LINE - 8 * (1 + AREAS)],
            claimed: word(),
            done: words(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_claimed_once() {
        let table = StealTable::with(7 << RANK_BITS);
        table.clear();
        assert!(!table.has_shown(0) && !table.has_reached(0) && table.is_free(0) && table.done_by(0).is_none());
        table.show(0);
        assert!(table.has_shown(0) && table.has_reached(0) && !table.has_shown(1));
        table.pass(1);
        assert!(!table.has_shown(1) && table.has_reached(1));
        assert!(table.claim(0) && !table.claim(0) && !table.is_free(0) && table.done_by(0).is_none());
        table.finish(0, 5);
        assert!(table.done_by(0) == Some(5) && table.done_by(AREAS as u64).is_none() && table.is_free(1));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    const RANKS: usize = 2;

    /// A rank's steal table, and its elements, one for each rank's part, in each area.
    struct Rank(StealTable, [[UnsafeCell<u64>; RANKS]; AREAS]);
    // SAFETY: what loom is here to check.
    unsafe impl Sync for Rank {}

    /// The value of a rank for every part of a piece.
    fn element(piece: u64, rank: usize) -> u64 {
        10 * piece + rank as u64
    }

    /// Stores the sum of a part where this rank has published its own element, as in an allreduce.
    /// The elements of a rank that did not publish them come from elsewhere.
    fn compute(ranks: &[Rank], me: usize, piece: u64, part: usize) {
        let source = |rank: usize| match ranks[rank].0.has_shown(piece) && rank != me {
            // SAFETY: loom checks that no thread writes there.
            true => ranks[rank].1[area(piece)][part].with(|word| unsafe { *word }),
            false => element(piece, rank),
        };
        let sum = (0..RANKS).map(source).sum();
        // SAFETY: loom checks that no other thread accesses it.
        ranks[me].1[area(piece)][part].with_mut(|word| unsafe { *word = sum });
        ranks[part].0.finish(piece, me);
    }

    /// The variants: each rank computes its own part when all have published the piece; or any part
    /// then; or any part at once, and a late rank publishes nothing.
    #[derive(Clone, Copy, PartialEq)]
    enum Way {
        Alone,
        Sharing,
        NotWaiting,
    }

    /// Runs one rank, for these parts only, so that loom has few enough interleavings to explore.
    fn all_pieces(ranks: &[Rank], me: usize, parts: &[usize], way: Way, pieces: u64) {
        let other = &ranks[1 - me].0;
        let until = |ready: &dyn Fn() -> bool| {
            while !ready() {
                loom::thread::yield_now();
            }
        };
        for piece in 0..=pieces {
            if piece < pieces {
                until(&|| piece < 2 || other.has_reached(piece - 2));
                if way == Way::NotWaiting && other.has_reached(piece + 1) {
                    ranks[me].0.pass(piece);
                } else {
                    for &part in parts {
                        // SAFETY: loom checks that no other thread accesses it.
                        ranks[me].1[area(piece)][part].with_mut(|word| unsafe { *word = element(piece, me) });
                    }
                    ranks[me].0.show(piece);
                }
            }
            let Some(piece) = piece.checked_sub(1) else { continue };
            until(&|| way == Way::NotWaiting || other.has_shown(piece));
            for &part in parts {
                if (way != Way::Alone || part == me) && ranks[part].0.claim(piece) {
                    compute(ranks, me, piece, part);
                }
            }
            for &part in parts {
                until(&|| ranks[part].0.done_by(piece).is_some());
                let by = ranks[part].0.done_by(piece).unwrap();
                // SAFETY: loom checks that no thread writes there.
                ranks[by].1[area(piece)][part].with(|word| assert_eq!(unsafe { *word }, 20 * piece + 1));
            }
        }
    }

    fn check(parts: &'static [usize], way: Way, pieces: u64, preemptions: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let word = || UnsafeCell::new(0);
            let rank = || Rank(StealTable::with(0), [(); AREAS].map(|()| [(); RANKS].map(|()| word())));
            let ranks = Arc::new([rank(), rank()]);
            let others = Arc::clone(&ranks);
            let thread = loom::thread::spawn(move || all_pieces(&others[..], 1, parts, way, pieces));
            all_pieces(&ranks[..], 0, parts, way, pieces);
            thread.join().unwrap();
        });
    }

    #[test]
    fn loom_a_part_is_computed_once() {
        check(&[0, 1], Way::Sharing, 2, 2);
    }

    #[test]
    fn loom_a_late_rank_need_not_show() {
        check(&[0], Way::NotWaiting, 3, 2);
    }

    #[test]
    fn loom_no_area_is_used_too_early() {
        check(&[0], Way::Alone, AREAS as u64 + 1, 1);
        check(&[0], Way::NotWaiting, AREAS as u64 + 1, 1);
    }
}
