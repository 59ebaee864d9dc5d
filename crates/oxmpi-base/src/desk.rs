//! What a rank tells of a long operation that goes in pieces, each in as many parts as there are ranks: how many pieces it
//! has shown to the others, and which of its parts are being computed, or are. Whoever is free computes a part, so that
//! a rank on a slow CPU keeps nobody waiting.
//!
//! A rank shows a piece, then sees to it that all parts of the piece before are done, its own first; it takes their results
//! before it shows the next but one. Nobody begins with a piece before all have shown it. So whoever has shown piece `p`
//! has taken the results of all pieces up to `p - 2`, and who is to show `p + 2`, and has seen everybody show `p`, may use the
//! memory of piece `p - 2` again: [`AREAS`] pieces can be under way.

use crate::segment::CACHE_LINE;
use crate::sync::{AtomicU64, Ordering};

/// Pieces for which a rank has memory.
pub const AREAS: usize = 4;

/// Zeroes are a desk on which nothing lies yet. Those who wait for a piece look at another line than those who wait for
/// a part.
#[repr(C, align(64))]
pub struct Desk {
    shown: AtomicU64,
    _other_line: [u8; CACHE_LINE - 8],
    /// How many of this rank's parts, in the order of pieces, somebody computes or has computed, and how many are done.
    claimed: AtomicU64,
    done: AtomicU64,
}

impl Desk {
    /// Takes everything off, before anybody else looks.
    pub fn clear(&self) {
        for word in [&self.shown, &self.claimed, &self.done] {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// This rank's elements of one more piece can be read, and it will not look any more at results before the last piece's.
    pub fn show(&self, piece: u64) {
        // Release: what was written for the piece comes first, and so does what was read of earlier ones.
        self.shown.store(piece + 1, Ordering::Release);
    }

    pub fn has_shown(&self, piece: u64) -> bool {
        // Acquire: pairs with `show`.
        self.shown.load(Ordering::Acquire) > piece
    }

    /// Whether somebody could begin with this rank's part of a piece. All parts of earlier ones are done.
    pub fn is_free(&self, piece: u64) -> bool {
        self.claimed.load(Ordering::Relaxed) == piece
    }

    /// Begins with it, unless somebody else has.
    pub fn claim(&self, piece: u64) -> bool {
        // Relaxed: it only says who. What the part is computed of has been shown, and its result is `finish`ed.
        self.claimed.compare_exchange(piece, piece + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The result of the part that we claimed is there.
    pub fn finish(&self, piece: u64) {
        self.done.store(piece + 1, Ordering::Release);
    }

    pub fn is_done(&self, piece: u64) -> bool {
        // Acquire: pairs with `finish`.
        self.done.load(Ordering::Acquire) > piece
    }
}

#[cfg(test)]
impl Desk {
    /// One on which something lies.
    fn with(number: u64) -> Desk {
        let [shown, claimed, done] = [(); 3].map(|()| AtomicU64::new(number));
        Desk { shown, _other_line: [0; CACHE_LINE - 8], claimed, done }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_claimed_once() {
        let desk = Desk::with(7);
        desk.clear();
        assert!(!desk.has_shown(0) && desk.is_free(0) && !desk.is_done(0));
        desk.show(0);
        assert!(desk.has_shown(0) && !desk.has_shown(1));
        assert!(desk.claim(0) && !desk.claim(0) && !desk.is_free(0) && !desk.is_done(0));
        desk.finish(0);
        assert!(desk.is_done(0) && !desk.is_done(1) && desk.is_free(1));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    const RANKS: usize = 2;

    /// A rank's desk, and its elements, one for each rank's part, in each area.
    struct Rank(Desk, [[UnsafeCell<u64>; RANKS]; AREAS]);
    // SAFETY: what loom is here to check.
    unsafe impl Sync for Rank {}

    fn area(piece: u64) -> usize {
        piece as usize % AREAS
    }

    /// The sum of a part goes to where its rank has shown its element, as in an allreduce.
    fn compute(ranks: &[Rank], piece: u64, part: usize) {
        // SAFETY: loom checks that nobody else reads or writes there.
        let sum = ranks.iter().map(|rank| rank.1[area(piece)][part].with(|word| unsafe { *word })).sum();
        ranks[part].1[area(piece)][part].with_mut(|word| unsafe { *word = sum });
        ranks[part].0.finish(piece);
    }

    /// What a rank does; of these parts alone, so that there are few enough ways for it to happen, and helping or not.
    fn all_pieces(ranks: &[Rank], me: usize, parts: &[usize], helps: bool, pieces: u64) {
        let until = |ready: &dyn Fn() -> bool| {
            while !ready() {
                loom::thread::yield_now();
            }
        };
        for piece in 0..=pieces {
            if piece < pieces {
                for &part in parts {
                    // SAFETY: loom checks that nobody else reads or writes there.
                    ranks[me].1[area(piece)][part].with_mut(|word| unsafe { *word = 10 * piece + me as u64 });
                }
                ranks[me].0.show(piece);
            }
            let Some(piece) = piece.checked_sub(1) else { continue };
            until(&|| ranks[1 - me].0.has_shown(piece));
            for &part in parts {
                if (helps || part == me) && ranks[part].0.claim(piece) {
                    compute(ranks, piece, part);
                }
            }
            for &part in parts {
                until(&|| ranks[part].0.is_done(piece));
                // SAFETY: loom checks that nobody writes there.
                ranks[part].1[area(piece)][part].with(|word| assert_eq!(unsafe { *word }, 20 * piece + 1));
            }
        }
    }

    fn check(parts: &'static [usize], helps: bool, pieces: u64, preemptions: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let word = || UnsafeCell::new(0);
            let rank = || Rank(Desk::with(0), [(); AREAS].map(|()| [(); RANKS].map(|()| word())));
            let ranks = Arc::new([rank(), rank()]);
            let others = Arc::clone(&ranks);
            let thread = loom::thread::spawn(move || all_pieces(&others[..], 1, parts, helps, pieces));
            all_pieces(&ranks[..], 0, parts, helps, pieces);
            thread.join().unwrap();
        });
    }

    #[test]
    fn loom_a_part_is_computed_once() {
        check(&[0, 1], true, 2, 2);
    }

    #[test]
    fn loom_no_area_is_used_too_early() {
        check(&[0], false, AREAS as u64 + 1, 1);
    }
}
