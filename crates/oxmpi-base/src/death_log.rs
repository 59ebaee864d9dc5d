//! What `mpirun` tells the ranks of a job that goes on after deaths, and what ranks tell each other about communicators that
//! are of no use any more. All of it lies in the segment.
//!
//! `mpirun` alone writes the log of deaths: an entry for each process that has ended, in the order in which it has learned of
//! them. Whoever reads an entry also sees everything that the process has stored. A slot ends at most once, and is never used
//! again. On several hosts the agents write it, all in the same order, with the ranks of all hosts. The ranks map it read-only.
//!
//! Ranks do not poll the log: news ring the bell of foreign senders of each rank, which every look at the rings tests anyway.

use crate::segment::{RankBlock, STATE_RUNNING, Segment};
use crate::sync::shared::AtomicU64;
use crate::votes::{Place, tries};
use crate::wait;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// How a process has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Without `MPI_Finalize`.
    Failed,
    /// After `MPI_Finalize`, or without a call of `MPI_Init`.
    Left,
}

/// Whose entry it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// The rank in a slot of this segment.
    Here(usize),
    /// The world rank of a process on another node.
    Elsewhere(usize),
}

/// An entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Death {
    pub who: Who,
    pub end: End,
    /// The status as `wait` returns it.
    pub status: i32,
}

const LEFT: u64 = 1 << 63;
const ELSEWHERE: u32 = 1 << 31;

impl Who {
    /// Slot or rank plus one, never 0.
    fn word(self) -> u32 {
        match self {
            Who::Here(slot) => slot as u32 + 1,
            Who::Elsewhere(rank) => ELSEWHERE | (rank as u32 + 1),
        }
    }

    fn from_word(word: u32) -> Option<Who> {
        let number = (word & !ELSEWHERE).checked_sub(1)? as usize;
        Some(if word & ELSEWHERE == 0 { Who::Here(number) } else { Who::Elsewhere(number) })
    }
}

impl Death {
    /// Who it is in the low half, the status in the high half.
    fn word(self) -> u64 {
        let left = if self.end == End::Left { LEFT } else { 0 };
        u64::from(self.who.word()) | u64::from(self.status as u32 & 0x7fff_ffff) << 32 | left
    }

    fn from_word(word: u64) -> Option<Death> {
        let end = if word & LEFT == 0 { End::Failed } else { End::Left };
        Some(Death { who: Who::from_word(word as u32)?, end, status: (word >> 32) as i32 & 0x7fff_ffff })
    }
}

/// What a rank revokes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Revoking {
    /// It was not revoked before.
    New,
    Again,
    /// The table has no room.
    NoRoom,
}

impl Segment {
    /// The ranks go on when some of them die. Called by `mpirun` before any rank starts.
    pub fn go_on_after_deaths(&self) {
        self.death_head().goes_on.store(1, Relaxed);
    }

    /// Whether the ranks go on when some of them die.
    pub fn goes_on(&self) -> bool {
        self.death_head().goes_on.load(Relaxed) != 0
    }

    fn entry(&self, index: usize) -> &AtomicU64 {
        &self.death_words()[index]
    }

    /// The number of deaths in the log.
    pub fn deaths(&self) -> usize {
        (self.death_head().deaths.load(Acquire) as usize).min(self.death_words().len())
    }

    /// An entry of the log.
    pub fn death(&self, index: usize) -> Option<Death> {
        if index >= self.deaths() {
            return None;
        }
        Death::from_word(self.entry(index).load(Relaxed)).filter(|death| !self.is_beyond(death.who))
    }

    fn is_beyond(&self, who: Who) -> bool {
        matches!(who, Who::Here(slot) if slot >= self.ranks())
    }

    /// Where a process stands in the log, and how it has ended.
    pub fn end_of(&self, who: Who) -> Option<(usize, End)> {
        let deaths = (0..self.deaths()).filter_map(|index| Some((index, self.death(index)?)));
        deaths.into_iter().find(|(_, death)| death.who == who).map(|(index, death)| (index, death.end))
    }

    /// Whether a slot stands in the log.
    pub fn has_ended(&self, slot: usize) -> bool {
        self.end_of(Who::Here(slot)).is_some()
    }

    /// Tells all ranks of deaths; none sees only some of them. Only the one process that watches the ranks of this segment calls
    /// it, from one thread. A process that stands in the log is left out.
    pub fn tell_of_deaths(&self, deaths: &[Death]) {
        let before = self.deaths();
        let mut count = before;
        for death in deaths {
            let is_told = (0..count).any(|index| self.entry(index).load(Relaxed) as u32 == death.who.word());
            if self.is_beyond(death.who) || is_told || count == self.death_words().len() {
                continue;
            }
            self.entry(count).store(death.word(), Relaxed);
            count += 1;
            let Who::Here(slot) = death.who else { continue };
            let block = self.rank(slot);
            if block.state.load(Relaxed) == STATE_RUNNING && !wait::is_counted_asleep(block) {
                // It was counted as awake.
                self.header().awake.fetch_sub(1, Relaxed);
            }
        }
        if count == before {
            return;
        }
        self.death_head().deaths.store(count as u32, Release);
        self.ring_and_wake(0..self.ranks());
    }

    /// Rings the bells of ranks, and wakes them whatever their words say: a rank that was killed while it woke another one
    /// leaves a sleeper whose word is zero.
    pub fn ring_and_wake(&self, slots: impl Iterator<Item = usize> + Clone) {
        for slot in slots.clone() {
            self.foreign_bell(slot).fetch_add(1, AcqRel);
        }
        // The caller may be a process that the barriers of sleepers do not reach.
        wait::full_fence();
        slots.for_each(|slot| wait::wake_in_any_case(self.header(), self.rank(slot)));
    }

    /// This rank has handled so many deaths.
    pub fn has_seen(&self, slot: usize, deaths: usize) {
        self.rank(slot).seen_deaths.store(deaths as u32, Release);
    }

    /// Whether all ranks that live and have joined have handled so many deaths.
    pub fn have_all_seen(&self, deaths: usize) -> bool {
        let lags = |slot: usize| {
            let block: &RankBlock = self.rank(slot);
            block.state.load(Acquire) == STATE_RUNNING && (block.seen_deaths.load(Acquire) as usize) < deaths
        };
        (0..self.ranks()).all(|slot| !lags(slot) || self.has_ended(slot))
    }

    /// Adds a context to those that were revoked. The caller rings.
    pub fn revoke(&self, context: u32) -> Revoking {
        let word = u64::from(context) + 1;
        for entry in self.revoked_words() {
            match entry.load(Acquire) {
                0 => match entry.compare_exchange(0, word, AcqRel, Acquire) {
                    Ok(_) => return Revoking::New,
                    Err(found) if found == word => return Revoking::Again,
                    Err(_) => {}
                },
                found if found == word => return Revoking::Again,
                _ => {}
            }
        }
        Revoking::NoRoom
    }

    /// A context that was revoked, in the order in which they were.
    pub fn revoked(&self, index: usize) -> Option<u32> {
        let word = self.revoked_words().get(index)?.load(Acquire);
        u32::try_from(word.checked_sub(1)?).ok()
    }
}

impl Segment {
    /// The place of a rank for a context, if it has one.
    pub fn vote_place(&self, slot: usize, context: u32) -> Option<&Place> {
        tries(context).map(|index| self.place(slot, index)).find(|place| place.is_of(context))
    }

    /// A place of the own slot that no context has; the caller gives it to the context.
    pub fn free_vote_place(&self, slot: usize, context: u32) -> Option<&Place> {
        tries(context).map(|index| self.place(slot, index)).find(|place| place.is_free())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::MOST_REVOKED;
    use crate::votes::{Ballot, PLACES};
    use std::sync::atomic::Ordering::SeqCst;

    fn failed(slot: usize) -> Death {
        Death { who: Who::Here(slot), end: End::Failed, status: 9 }
    }

    #[test]
    fn a_death_is_told_once_and_rings_all() {
        let (_fd, segment) = Segment::create(3, 2).unwrap();
        assert!(!segment.goes_on());
        segment.go_on_after_deaths();
        assert!(segment.goes_on() && segment.deaths() == 0 && segment.death(0).is_none());
        let left = Death { who: Who::Here(1), end: End::Left, status: 0 };
        let elsewhere = Death { who: Who::Elsewhere(1), end: End::Failed, status: 0 };
        segment.tell_of_deaths(&[failed(2), left]);
        segment.tell_of_deaths(&[failed(2), failed(7)]);
        assert_eq!(segment.deaths(), 2);
        assert_eq!([segment.death(0), segment.death(1), segment.death(2)], [Some(failed(2)), Some(left), None]);
        assert!(segment.has_ended(1) && segment.has_ended(2) && !segment.has_ended(0));
        assert!((0..3).all(|slot| segment.foreign_bell(slot).load(SeqCst) == 1), "once");
        segment.tell_of_deaths(&[elsewhere, elsewhere]);
        assert_eq!([segment.death(2), segment.death(3)], [Some(elsewhere), None]);
        assert_eq!(segment.end_of(Who::Elsewhere(1)), Some((2, End::Failed)));
        assert_eq!(segment.end_of(Who::Here(1)), Some((1, End::Left)));
    }

    #[test]
    fn it_is_known_when_all_that_live_have_seen_a_death() {
        let (_fd, segment) = Segment::create(3, 2).unwrap();
        (0..2).for_each(|slot| segment.rank(slot).state.store(STATE_RUNNING, SeqCst));
        segment.tell_of_deaths(&[failed(0)]);
        assert!(!segment.have_all_seen(1), "rank 1 has not; rank 2 has not joined");
        segment.has_seen(1, 1);
        assert!(segment.have_all_seen(1) && !segment.have_all_seen(2));
    }

    #[test]
    fn a_context_is_revoked_once() {
        let (_fd, segment) = Segment::create(1, 2).unwrap();
        assert_eq!(
            [segment.revoke(0), segment.revoke(6), segment.revoke(0)],
            [Revoking::New, Revoking::New, Revoking::Again]
        );
        assert_eq!([segment.revoked(0), segment.revoked(1), segment.revoked(2)], [Some(0), Some(6), None]);
        let more = (1..MOST_REVOKED as u32 - 1).map(|index| segment.revoke(100 + index)).collect::<Vec<_>>();
        assert!(more.iter().all(|revoking| *revoking == Revoking::New));
        assert_eq!([segment.revoke(50), segment.revoke(6)], [Revoking::NoRoom, Revoking::Again]);
    }

    #[test]
    fn ballots_have_their_places() {
        let (_fd, segment) = Segment::create(2, 2).unwrap();
        assert!(segment.vote_place(1, 8).is_none());
        let place = segment.free_vote_place(1, 8).unwrap();
        place.give_to(Some(8));
        let ballot = Ballot { kind: 3, flag: 5, proposal: 1 << 40, ..Ballot::default() };
        place.write(1, &ballot);
        let found = segment.vote_place(1, 8).unwrap();
        assert_eq!([found.read(1), found.read(2)], [Some(ballot), None]);
        assert!(segment.vote_place(0, 8).is_none() && segment.vote_place(1, 10).is_none());
        found.give_to(None);
        assert!(segment.vote_place(1, 8).is_none());
        let given = (0..PLACES as u32 * 2).filter_map(|context| {
            let place = segment.free_vote_place(0, context * 2)?;
            place.give_to(Some(context * 2));
            Some(context)
        });
        assert!(given.count() > PLACES / 2);
    }
}
