//! Votes whose members are on several nodes. Each sends its ballot to `mpirun`, through its agent; `mpirun` sends what all have
//! said to all, once each member has sent a ballot or has ended. The agents hear of deaths and of ballots in one order, so the
//! log of this node already has the ends of those that have said nothing.

use super::Process;
use crate::comm::Comm;
use crate::votes::{Member, Said, Vote, heard, sent};
use oxmpi_abi::constants::MPI_ERR_UNSUPPORTED_OPERATION;
use oxmpi_abi::{Result, bail};
use oxmpi_base::ids::Peer;
use oxmpi_boot::requests::VoteId;

impl Process {
    /// An error if some members are on other nodes and `mpirun` cannot collect their ballots.
    pub(super) fn check_votes_on_nodes(&self, comm: &Comm, members: &[Peer]) -> Result<()> {
        let node = self.engine.node();
        if members.iter().all(|peer| node.home(*peer).is_some()) {
            return Ok(());
        }
        if members.iter().any(|peer| node.is_foreign(*peer)) {
            bail!(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "{} has members of several jobs on several hosts: going on after failures is supported for one job there",
                comm.describe()
            );
        }
        if !node.goes_on() {
            bail!(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "{} has members on several hosts: there this needs mpirun --with-ft ulfm",
                comm.describe()
            );
        }
        Ok(())
    }

    /// A hash of the members by which all of them know the vote, if they are on several nodes.
    pub(super) fn hash_if_on_nodes(&self, members: &[Member]) -> Option<u64> {
        let node = self.engine.node();
        if members.iter().all(|member| node.home(member.peer).is_some()) {
            return None;
        }
        let ranks = self.ranks_of(members);
        let numbers = ranks.iter().flat_map(|(first, count)| [*first, *count]);
        Some(
            numbers
                .fold(0xcbf2_9ce4_8422_2325, |hash, number| (hash ^ u64::from(number)).wrapping_mul(0x100_0000_01b3)),
        )
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
        let last = self.votes_on_nodes.entry((vote.context, members)).or_insert(0);
        *last += 1;
        let number = *last;
        let ballot = sent(&vote.ballot);
        let ranks = self.ranks_of(&vote.members);
        // An agent that cannot be asked has ended, and ends this process.
        let _ = self.send_ballot(VoteId { context: vote.context, members, number }, ranks, ballot);
        vote.seq = Some(number);
        number
    }

    /// What all members have said, once `mpirun` has told it.
    pub(super) fn listen_to_nodes(&mut self, vote: &Vote, number: u64) -> Option<Vec<Said>> {
        let members = vote.on_nodes?;
        let ballots = self.take_ballots(VoteId { context: vote.context, members, number })?;
        let ballots = ballots.into_iter().take(vote.members.len()).collect();
        Some(heard(ballots, |member| self.end_of_member(vote, member)))
    }
}
