//! Votes of this process: `votes.rs` says how they are decided.

use super::Process;
use super::pending::Members;
use crate::comm::Comm;
use crate::contexts::{NOT_YET, Proposal};
use crate::liveness::died;
use crate::ranks::Ranks;
use crate::request::Promise;
use crate::votes::*;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::address::JobId;
use oxmpi_base::ids::Peer;
use oxmpi_base::segment::STATE_FINALIZED;
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence};

/// The library's own votes on a communicator have a number of their own.
const TWIN: u32 = 1;

/// A vote that is decided.
pub(super) struct Counted {
    pub said: Vec<Said>,
    pub decision: Decision,
    /// Of a shrink: who is in the new communicator.
    pub survivors: Vec<bool>,
}

/// The booth of a process of a job.
struct Segments<'a> {
    process: &'a Process,
    members: &'a [Member],
    context: u32,
}

impl Booth for Segments<'_> {
    fn ballot(&self, member: usize, seq: u64) -> Option<Ballot> {
        let (segment, slot) = self.process.engine.node().home(self.members[member].peer)?;
        segment.vote_place(slot.index(), self.context)?.read(seq)
    }

    fn end_of(&self, member: usize) -> Option<(usize, bool)> {
        let node = self.process.engine.node();
        let peer = self.members[member].peer;
        if let Some((segment, slot)) = node.home(peer)
            && !segment.goes_on()
        {
            // There is no log. A process that has finalized has stored its ballots before.
            let block = segment.rank(slot.index());
            let has_left = block.state.load(Ordering::Acquire) == STATE_FINALIZED;
            return (has_left && block.world_ended.load(Ordering::Relaxed) != 0).then_some((0, false));
        }
        node.end_in_log(peer).or_else(|| node.is_of_lost_job(peer).then_some((LOST, true)))
    }
}

impl Process {
    /// Begins an agreement on the bits of a word, which is written at the end.
    ///
    /// # Safety
    /// The word can be read now, and written until the promise is complete.
    #[expect(unsafe_code, reason = "reads a word of the program's")]
    pub unsafe fn begin_agree(&mut self, comm: handle::Comm, flag: *mut c_int) -> Result<Promise> {
        // SAFETY: this function's condition.
        let bits = unsafe { flag.read() } as u32;
        let ballot = Ballot { kind: AGREE, flag: bits, ..Ballot::default() };
        self.begin_vote(comm, 0, ballot, Aim::Agree(Flag(flag)))
    }

    /// The same for the library itself, apart from the votes of the program.
    ///
    /// # Safety
    /// As of [`Process::begin_agree`].
    #[expect(unsafe_code, reason = "reads a word of the caller's")]
    pub unsafe fn begin_settling(&mut self, comm: handle::Comm, flag: *mut c_int) -> Result<Promise> {
        // SAFETY: this function's condition.
        let bits = unsafe { flag.read() } as u32;
        let ballot = Ballot { kind: AGREE, flag: bits, ..Ballot::default() };
        self.begin_vote(comm, TWIN, ballot, Aim::Agree(Flag(flag)))
    }

    /// Begins to make a communicator of the members that have not failed; its handle is valid when the promise is complete
    /// (`MPI_COMM_NULL` is to be used instead where it has no members then).
    pub fn begin_shrink(&mut self, handle: handle::Comm) -> Result<(handle::Comm, Promise)> {
        let parent = self.comm(handle)?;
        self.members_of(parent)?;
        let (errhandler, session, from_group) = (parent.errhandler, parent.session, parent.from_group);
        let local = parent.local.as_ref().map(|_| Ranks::one_node(0));
        let new =
            Comm { session, from_group, ..Comm::new(NOT_YET, parent.rank, Ranks::one_node(0), local, errhandler) };
        let made = self.add_comm(new)?;
        let aim = Aim::Shrink(Shrinking { made, own: None, asked: None });
        let ballot = Ballot { kind: SHRINK, flag: u32::MAX, ..Ballot::default() };
        let promise = self.begin_vote(handle, 0, ballot, aim)?;
        Ok((made, promise))
    }

    /// The members of a communicator in the order that all of them agree on, and the position of this process.
    fn members_of(&self, comm: &Comm) -> Result<(Vec<Member>, usize)> {
        let node = self.engine.node();
        if comm.group.is_empty() {
            bail!(MPI_ERR_COMM, "{} has no members yet: its request is not complete", comm.describe());
        }
        let everybody: Vec<Peer> = comm.everybody().iter().collect();
        let jobs: BTreeSet<JobId> = everybody.iter().map(|peer| node.id_of(*peer).job).collect();
        let job = |peer: Peer| jobs.iter().position(|job| *job == node.id_of(peer).job).unwrap_or(0);
        let addressed = |peer: Peer| comm.local.is_none() || comm.group.position(peer).is_some();
        let members: Vec<Member> =
            everybody.iter().map(|&peer| Member { peer, job: job(peer), is_addressed: addressed(peer) }).collect();
        let own = everybody.iter().position(|peer| *peer == node.own()).unwrap_or(0);
        Ok((members, own))
    }

    /// `twin`: [`TWIN`] or 0.
    fn begin_vote(&mut self, handle: handle::Comm, twin: u32, ballot: Ballot, aim: Aim) -> Result<Promise> {
        let comm = self.comm(handle)?;
        let context = comm.context | twin;
        let (members, own) = self.members_of(comm)?;
        let way = self.way_of(&members);
        if let Way::Here = way {
            self.find_place(context)?;
        }
        let promise = Promise::default();
        let said = vec![None; members.len()];
        let members = members.into();
        let kept = promise.clone();
        self.votes.push(Vote { comm: handle, context, members, own, way, seq: None, ballot, said, aim, promise: kept });
        self.progress_votes();
        Ok(promise)
    }

    /// Makes sure that this process has a place for its votes on a context.
    fn find_place(&mut self, context: u32) -> Result<()> {
        self.free_old_places();
        self.has_voted = true;
        let node = self.engine.node();
        let Some((segment, slot)) = node.home(node.own()) else { unreachable!("the own segment is here") };
        if segment.vote_place(slot.index(), context).is_some() {
            return Ok(());
        }
        match segment.free_vote_place(slot.index(), context) {
            Some(place) => {
                place.give_to(Some(context));
                Ok(())
            }
            None => bail!(MPI_ERR_NO_SPACE, "too many communicators of this process have voted and are not freed"),
        }
    }

    /// A communicator is freed: others may still read what this process has said on it.
    #[inline]
    pub(crate) fn leave_votes(&mut self, comm: &Comm) {
        if self.has_voted {
            self.leave_places(comm);
        }
    }

    fn leave_places(&mut self, comm: &Comm) {
        let node = self.engine.node();
        let has_place = |context: &u32| {
            let own = node.home(node.own());
            own.is_some_and(|(segment, slot)| segment.vote_place(slot.index(), *context).is_some())
        };
        let contexts = [comm.context, comm.context | TWIN].into_iter();
        let left: Vec<u32> = contexts.filter(|_| comm.context != NOT_YET).filter(has_place).collect();
        for context in left {
            self.old_places.push(OldPlace { context, members: comm.everybody().iter().collect() });
            self.free_old_places();
        }
    }

    /// Frees the places that all living members have read to the end.
    fn free_old_places(&mut self) {
        if self.old_places.is_empty() {
            return;
        }
        let mut old = std::mem::take(&mut self.old_places);
        old.retain(|OldPlace { context, members }| {
            let node = self.engine.node();
            let Some((segment, slot)) = node.home(node.own()) else { return false };
            let Some(place) = segment.vote_place(slot.index(), *context) else { return false };
            let has_done = |peer: &Peer| match node.home(*peer) {
                // A member without a place has freed it after its last vote.
                Some((segment, slot)) => {
                    segment.has_ended(slot.index())
                        || node.is_of_lost_job(*peer)
                        || segment.vote_place(slot.index(), *context).is_none_or(|other| other.done() >= place.done())
                }
                None => true,
            };
            let in_use = self.votes.iter().any(|vote| vote.context == *context) || !members.iter().all(has_done);
            if !in_use {
                place.give_to(None);
            }
            in_use
        });
        self.old_places = old;
    }

    /// Moves all votes as far as they can go; whether one has ended.
    #[inline(never)]
    pub(crate) fn progress_votes(&mut self) -> bool {
        let mut ended = false;
        let mut votes = std::mem::take(&mut self.votes);
        let mut busy: Vec<u32> = Vec::new();
        votes.retain_mut(|vote| {
            if busy.contains(&vote.context) {
                return true;
            }
            let goes_on = !self.advance_vote(vote);
            ended |= !goes_on;
            if goes_on {
                busy.push(vote.context);
            }
            goes_on
        });
        votes.append(&mut self.votes);
        self.votes = votes;
        ended
    }

    /// One vote, which is the first of its communicator; whether it has ended.
    fn advance_vote(&mut self, vote: &mut Vote) -> bool {
        loop {
            let seq = match vote.seq {
                Some(seq) => seq,
                None => self.cast(vote),
            };
            let heard = match vote.way {
                Way::Here => self.listen_here(vote, seq).map(|said| self.count(vote, said)),
                Way::ByMpirun(members) => self.listen_to_nodes(vote, members, seq).map(|said| self.count(vote, said)),
                Way::ByMessages(..) => self.talk_to_members(vote, seq),
            };
            let Some(Counted { said, decision, survivors }) = heard else { return false };
            self.finish_vote(vote, seq);
            if self.conclude(vote, &said, &decision, survivors) {
                return true;
            }
            vote.seq = None;
            vote.said.fill(None);
        }
    }

    /// Decides a vote whose members have their deaths in logs.
    fn count(&self, vote: &Vote, said: Vec<Said>) -> Counted {
        let decision = decide(&said, |member| vote.members[member].job);
        let survivors = match vote.aim {
            Aim::Agree(_) => Vec::new(),
            Aim::Shrink(_) => {
                let survives = |member: usize| {
                    let has_failed = self.end_of_member(vote, member).is_some_and(|(place, failed)| {
                        failed && (place as u32) < decision.known[vote.members[member].job]
                    });
                    let is_lost = decision.is_lost(vote.members[member].job);
                    matches!(said[member], Said::Present(_)) && !has_failed && !is_lost
                };
                (0..said.len()).map(survives).collect()
            }
        };
        Counted { said, decision, survivors }
    }

    /// What all members have said in a vote on this node, once all of it is final.
    fn listen_here(&self, vote: &mut Vote, seq: u64) -> Option<Vec<Said>> {
        let booth = Segments { process: self, members: &vote.members, context: vote.context };
        for (member, said) in vote.said.iter_mut().enumerate().filter(|(_, said)| said.is_none()) {
            *said = listen(&booth, member, seq);
        }
        vote.said.iter().copied().collect()
    }

    /// Where a member stands in the log of its job, if it does, and whether it has failed.
    pub(crate) fn end_of_member(&self, vote: &Vote, member: usize) -> Option<(usize, bool)> {
        Segments { process: self, members: &vote.members, context: vote.context }.end_of(member)
    }

    /// Writes the own ballot; the number of the vote.
    fn cast(&mut self, vote: &mut Vote) -> u64 {
        self.look_for_news();
        if let Aim::Shrink(shrinking) = &mut vote.aim
            && vote.ballot.kind == SHRINK
        {
            let between = vote.members.iter().any(|member| member.job != vote.members[0].job);
            if shrinking.own.is_none() {
                shrinking.own = self.draw_context(between);
            }
            vote.ballot.proposal = shrinking.own.map_or(u64::MAX, proposal_word);
        }
        match vote.way {
            Way::ByMessages(members, _) => return self.begin_talk(vote, members),
            _ => (vote.ballot.acked, vote.ballot.known) = self.log_positions(vote),
        }
        if let Way::ByMpirun(members) = vote.way {
            return self.cast_on_nodes(vote, members);
        }
        let node = self.engine.node();
        let place = node.home(node.own()).and_then(|(segment, slot)| segment.vote_place(slot.index(), vote.context));
        let Some(place) = place else { unreachable!("a vote has a place until its end") };
        let seq = place.done() + 1;
        place.write(seq, &vote.ballot);
        // Of two members that write at the same time, at least one sees the other's ballot.
        fence(Ordering::SeqCst);
        vote.seq = Some(seq);
        let booth = Segments { process: self, members: &vote.members, context: vote.context };
        let is_last = (0..vote.members.len()).all(|member| listen(&booth, member, seq).is_some());
        if is_last {
            let others = vote.members.iter().enumerate().filter(|(member, _)| *member != vote.own);
            others.for_each(|(_, member)| self.engine.node().wake(member.peer));
        }
        seq
    }

    /// How much of the log of each job is acknowledged on a communicator, and how much is known.
    fn log_positions(&self, vote: &Vote) -> ([u32; JOBS], [u32; JOBS]) {
        let node = self.engine.node();
        let mut known = [0; JOBS];
        for member in vote.members.iter() {
            known[member.job] = match node.home(member.peer) {
                Some((segment, _)) => segment.deaths(),
                None => node.deaths(),
            } as u32;
        }
        let (mut acked, mut lost) = (known, [false; JOBS]);
        let booth = Segments { process: self, members: &vote.members, context: vote.context };
        let comm = self.comm(vote.comm).ok();
        for (index, member) in vote.members.iter().enumerate() {
            let is_acknowledged = comm.is_some_and(|comm| self.is_acknowledged(comm, member.peer));
            match booth.end_of(index) {
                Some((place, true)) if !is_acknowledged => acked[member.job] = acked[member.job].min(place as u32),
                Some((LOST, true)) => lost[member.job] = true,
                _ => {}
            }
        }
        for (job, acked) in acked.iter_mut().enumerate() {
            if lost[job] && *acked == known[job] {
                *acked = u32::MAX;
            }
        }
        (acked, known)
    }

    fn finish_vote(&mut self, vote: &Vote, seq: u64) {
        let node = self.engine.node();
        let place = node.home(node.own()).and_then(|(segment, slot)| segment.vote_place(slot.index(), vote.context));
        if let Some(place) = place.filter(|_| matches!(vote.way, Way::Here)) {
            place.finish(seq);
        }
        // All that anybody knows stands in the log.
        self.look_for_news();
        if self.engine.node().knows_foreign() {
            self.look_for_dead();
        }
    }

    /// Does what was decided; `false`: another vote follows.
    fn conclude(&mut self, vote: &mut Vote, said: &[Said], decision: &Decision, survivors: Vec<bool>) -> bool {
        let ended = match &mut vote.aim {
            _ if !decision.alike => Some(Some(Error::new(
                MPI_ERR_OTHER,
                "some members called MPIX_Comm_agree and others MPIX_Comm_shrink (or their nonblocking forms)",
            ))),
            Aim::Agree(flag) => {
                let is_inter = vote.members.iter().any(|member| !member.is_addressed);
                let bits = all_bits(said, |member| !is_inter || vote.members[member].is_addressed);
                #[expect(unsafe_code, reason = "writes a word of the program's")]
                // SAFETY: the program keeps the word until the promise is complete.
                unsafe {
                    flag.0.write(bits as c_int);
                }
                Some(decision.unacknowledged.then(|| self.failed_in_vote(vote, said)))
            }
            Aim::Shrink(_) => self.go_on_with_shrink(vote, said, survivors).map(Result::err),
        };
        if let Aim::Shrink(Shrinking { own: Some(own), .. }) = &vote.aim
            && ended.is_some()
        {
            // Of the member whose proposal was taken it is the context of the communicator now.
            if !self.comms.made.iter().any(|(_, comm)| comm.context == own.context) {
                self.contexts.give_back(*own);
            }
        }
        let Some(error) = ended else { return false };
        // Only this function sets it.
        vote.promise.end(error);
        true
    }

    #[cold]
    fn failed_in_vote(&self, vote: &Vote, said: &[Said]) -> Error {
        let absent = said.iter().position(|said| matches!(said, Said::Absent(Some(_)))).unwrap_or(0);
        died(self.engine.node(), vote.members[absent].peer, self.comm(vote.comm).ok())
    }

    /// The next step of a shrink; `None`: another vote follows.
    fn go_on_with_shrink(&mut self, vote: &mut Vote, said: &[Said], survivors: Vec<bool>) -> Option<Result<()>> {
        let Vote { aim: Aim::Shrink(shrinking), ballot, members, own, .. } = vote else { return None };
        if let Some((proposal, survivors)) = shrinking.asked.take() {
            let is_free = all_bits(said, |member| survivors[member]) != 0;
            if is_free {
                return Some(self.make_shrunk(shrinking.made, proposal, members, &survivors));
            }
            if ballot.flag != 0 {
                self.contexts.release(proposal.context);
            }
            if shrinking.own == Some(proposal) {
                shrinking.own = None;
            }
            (ballot.kind, ballot.flag) = (SHRINK, u32::MAX);
            return None;
        }
        let proposed = survivors.iter().zip(said).find_map(|(survives, said)| match said {
            Said::Present(ballot) if *survives => Some(ballot.proposal),
            _ => None,
        });
        let Some(proposal) = proposed.and_then(proposal_from) else {
            return Some(Err(Error::new(
                MPI_ERR_OTHER,
                "all contexts are in use: too many communicators exist at a time",
            )));
        };
        if !proposal.used {
            return Some(self.make_shrunk(shrinking.made, proposal, members, &survivors));
        }
        let is_own = shrinking.own == Some(proposal);
        let is_free = !survivors[*own] || self.reserve_context(proposal.context) || is_own;
        (ballot.kind, ballot.flag) = (IS_FREE, if is_free { u32::MAX } else { 0 });
        shrinking.asked = Some((proposal, survivors));
        None
    }

    fn make_shrunk(
        &mut self,
        made: handle::Comm,
        proposal: Proposal,
        members: &[Member],
        survivors: &[bool],
    ) -> Result<()> {
        self.contexts.release(proposal.context);
        let group = |is_addressed: bool| {
            let of_group = members.iter().zip(survivors).filter(|(member, _)| member.is_addressed == is_addressed);
            let living = of_group.filter(|(_, survives)| **survives).map(|(member, _)| member.peer);
            Ranks::from_list(living.collect())
        };
        let is_inter = members.iter().any(|member| !member.is_addressed);
        let (group, local) = (group(true), is_inter.then(|| group(false)));
        let own = self.engine.node().own();
        let position = local.as_ref().unwrap_or(&group).position(own);
        if group.is_empty() || local.as_ref().is_some_and(Ranks::is_empty) || position.is_none() {
            return Ok(());
        }
        let is_first = self.comes_first(&group, local.as_ref());
        if let (Some(comm), Some(rank)) = (self.comms.made.get_mut(made.0), position) {
            comm.rank = rank as i32;
        }
        self.give_members(Members { comm: made, context: proposal.context, group, is_first }, local);
        Ok(())
    }
}

fn proposal_word(proposal: Proposal) -> u64 {
    u64::from(proposal.context) | u64::from(proposal.used) << 32
}

fn proposal_from(word: u64) -> Option<Proposal> {
    (word != u64::MAX).then_some(Proposal { context: word as u32, used: word >> 32 != 0 })
}
