//! Votes whose members are on several nodes. Each sends its ballot to `mpirun`, through its agent; `mpirun` sends what all have
//! said to all, once each member has sent a ballot or has ended. The agents hear of deaths and of ballots in one order, so the
//! log of this node already has the ends of those that have said nothing.

use super::Process;
use crate::votes::{JOBS, Member, Said, Vote, Way, heard, sent};
use oxmpi_base::ids::Peer;
use oxmpi_boot::requests::VoteId;

impl Process {
    /// How the members of a vote hear of each other. Each of them comes to the same answer.
    pub(super) fn way_of(&self, members: &[Member]) -> Way {
        let node = self.engine.node();
        let is_here = members.iter().all(|member| node.home(member.peer).is_some());
        if is_here && members.iter().all(|member| member.job < JOBS) {
            return Way::Here;
        }
        let words = members.iter().flat_map(|member| node.id_of(member.peer).words());
        let hash = words
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29));
        let is_one_job = members.iter().all(|member| member.job == 0);
        if is_one_job && node.goes_on() { Way::ByMpirun(hash) } else { Way::ByMessages(hash, None) }
    }

    fn ranks_of(&self, members: &[Member]) -> Vec<(u32, u32)> {
        self.world_ranks(members.iter().map(|member| member.peer))
    }

    /// The world ranks of processes in runs: the first, and how many follow each other.
    pub(crate) fn world_ranks(&self, processes: impl Iterator<Item = Peer>) -> Vec<(u32, u32)> {
        let nodes = self.engine.node().nodes();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for rank in processes.filter_map(|process| nodes.rank_of(process)) {
            let rank = rank.index() as u32;
            match runs.last_mut() {
                Some((first, count)) if *first + *count == rank => *count += 1,
                _ => runs.push((rank, 1)),
            }
        }
        runs
    }

    /// Sends the own ballot; the number of the vote. All members have had as many votes on this context.
    pub(super) fn cast_on_nodes(&mut self, vote: &mut Vote, members: u64) -> u64 {
        // A rank that has lost a link comes here to go on without the other one.
        self.tell_broken_links();
        let number = self.next_vote(vote.context, members);
        let ballot = sent(&vote.ballot);
        let ranks = self.ranks_of(&vote.members);
        // An agent that cannot be asked has ended, and ends this process.
        let _ = self.send_ballot(VoteId { context: vote.context, members, number }, ranks, ballot);
        vote.seq = Some(number);
        number
    }

    /// The number of the next vote on a context.
    pub(super) fn next_vote(&mut self, context: u32, members: u64) -> u64 {
        let last = self.votes_on_nodes.entry((context, members)).or_insert(0);
        *last += 1;
        *last
    }

    /// What all members have said, once `mpirun` has told it.
    pub(super) fn listen_to_nodes(&mut self, vote: &Vote, members: u64, number: u64) -> Option<Vec<Said>> {
        let ballots = self.take_ballots(VoteId { context: vote.context, members, number })?;
        let ballots = ballots.into_iter().take(vote.members.len()).collect();
        Some(heard(ballots, |member| self.end_of_member(vote, member)))
    }
}
