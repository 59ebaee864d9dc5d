//! The votes of a job on several hosts, as `mpirun` collects them. It puts ballots and deaths into one order.
//!
//! A vote is over when each member has sent its ballot or has ended. The caller tells every host of deaths before it tells of
//! the votes that end because of them ([`Polls::end`]), so all that survive get the same ballots, and find those who have said
//! nothing in their log. `oxmpi-core` simulates that, with deaths at every step.

use std::collections::{BTreeMap, BTreeSet};

use crate::requests::{SentBallot, VoteId};

/// The ballots that have come, and the processes that have ended.
#[derive(Default)]
pub struct Polls {
    /// World ranks.
    ended: BTreeSet<u32>,
    votes: BTreeMap<VoteId, Poll>,
}

/// A vote that is not over.
struct Poll {
    /// World ranks, in the order of the communicator.
    members: Vec<u32>,
    ballots: BTreeMap<u32, SentBallot>,
}

/// A vote that is over.
pub struct Ended {
    pub vote: VoteId,
    /// In the order of the communicator; nothing from those that have ended without a ballot.
    pub said: Vec<Option<SentBallot>>,
    /// The world ranks that wait for it.
    pub listeners: BTreeSet<u32>,
}

/// The members are not ranks of the job, or the voter is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongMembers;

impl Polls {
    /// Whether a rank has ended.
    pub fn has_ended(&self, rank: u32) -> bool {
        self.ended.contains(&rank)
    }

    /// Ranks have ended. Returns whether each was new.
    pub fn note_end(&mut self, rank: u32) -> bool {
        self.ended.insert(rank)
    }

    /// The votes that are over because of what was noted. Everybody has been told of it.
    pub fn end(&mut self) -> Vec<Ended> {
        let ids: Vec<VoteId> = self.votes.keys().copied().collect();
        ids.into_iter().filter_map(|id| self.take_if_over(id)).collect()
    }

    /// A rank of a job of `size` ranks votes; `members` are world ranks in runs: the first and how many. Returns the vote if it
    /// is over. A ballot of a rank that has ended does not count: it is absent for all.
    pub fn vote(
        &mut self,
        rank: u32,
        id: VoteId,
        members: &[(u32, u32)],
        ballot: SentBallot,
        size: usize,
    ) -> Result<Option<Ended>, WrongMembers> {
        if self.has_ended(rank) {
            return Ok(None);
        }
        let size = size as u64;
        let all: u64 = members.iter().map(|&(_, count)| u64::from(count)).sum();
        let is_own = members.iter().any(|&(first, count)| rank >= first && rank - first < count);
        if members.iter().any(|&(first, count)| u64::from(first) + u64::from(count) > size)
            || members.len() as u64 > size
            || all > size
            || !is_own
        {
            return Err(WrongMembers);
        }
        let expand = || members.iter().flat_map(|&(first, count)| first..first + count).collect();
        let poll = self.votes.entry(id).or_insert_with(|| Poll { members: expand(), ballots: BTreeMap::new() });
        poll.ballots.insert(rank, ballot);
        Ok(self.take_if_over(id))
    }

    fn take_if_over(&mut self, id: VoteId) -> Option<Ended> {
        let Polls { ended, votes } = self;
        let is_over =
            |poll: &Poll| poll.members.iter().all(|rank| poll.ballots.contains_key(rank) || ended.contains(rank));
        votes.get(&id).filter(|poll| is_over(poll))?;
        let Poll { members, ballots } = votes.remove(&id)?;
        let said = members.iter().map(|rank| ballots.get(rank).copied()).collect();
        let listeners = ballots.into_keys().filter(|rank| !ended.contains(rank)).collect();
        Some(Ended { vote: id, said, listeners })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BALLOT: SentBallot = SentBallot { kind: 1, flag: 7, proposal: 0, acked: 0, known: 0 };

    fn id(number: u64) -> VoteId {
        VoteId { context: 4, members: 9, number }
    }

    #[test]
    fn a_vote_is_over_when_each_member_has_voted_or_ended() {
        let mut polls = Polls::default();
        let all = [(0, 2), (3, 1)];
        assert!(polls.vote(0, id(1), &all, BALLOT, 4).unwrap().is_none());
        assert!(polls.vote(3, id(1), &all, BALLOT, 4).unwrap().is_none());
        assert!(polls.note_end(1) && !polls.note_end(1));
        let mut over = polls.end();
        let Ended { vote, said, listeners } = over.pop().unwrap();
        assert_eq!((vote, said), (id(1), vec![Some(BALLOT), None, Some(BALLOT)]));
        assert_eq!(listeners, BTreeSet::from([0, 3]));
        assert!(over.is_empty() && polls.end().is_empty());
    }

    #[test]
    fn a_ballot_counts_if_it_came_before_the_end_of_its_rank_and_not_later() {
        let mut polls = Polls::default();
        assert!(polls.vote(0, id(1), &[(0, 2)], BALLOT, 2).unwrap().is_none());
        polls.note_end(0);
        assert!(polls.end().is_empty());
        let over = polls.vote(1, id(1), &[(0, 2)], BALLOT, 2).unwrap().unwrap();
        assert_eq!(over.said, [Some(BALLOT), Some(BALLOT)]);
        assert_eq!(over.listeners, BTreeSet::from([1]));
        assert!(polls.vote(0, id(2), &[(0, 2)], BALLOT, 2).unwrap().is_none());
        assert_eq!(polls.vote(1, id(2), &[(0, 2)], BALLOT, 2).unwrap().unwrap().said, [None, Some(BALLOT)]);
    }

    #[test]
    fn members_that_do_not_exist_are_refused() {
        let wrong: [&[(u32, u32)]; 5] = [&[(1, 2)], &[(0, 5)], &[(2, u32::MAX)], &[(0, 3), (0, 3)], &[]];
        for members in wrong {
            assert_eq!(Polls::default().vote(0, id(1), members, BALLOT, 4).err(), Some(WrongMembers), "{members:?}");
        }
    }
}
