//! A job on several hosts that goes on when ranks die (`--with-ft`). `mpirun` puts what the agents tell into one order, and tells
//! all of them in that order: which processes have ended, what was revoked, and what the members of a vote have said. A host
//! that is lost is the end of all its processes; what it says later is not heard.
//!
//! `oxmpi_boot::polls` collects the ballots. `mpirun` is the one process that must not die, and that is so in any case: all
//! agents end with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use oxmpi_agent::frame::{BadFrame, EVERY_NODE};
use oxmpi_agent::message::{DeadRank, Down, FailedRank, Stop};
use oxmpi_boot::polls::{self, Polls, WrongMembers};
use oxmpi_boot::requests::{Ballots, MOST_BALLOTS, SentBallot, VoteId};

use super::broken_links::{BrokenLinks, Sentence};
use super::ending::Verdict;
use super::{Phase, Root};
use crate::report::{self, printable};
use crate::spawned::Spawned;

/// What has happened to the job.
#[derive(Default)]
pub(super) struct GoingOn {
    /// The ranks that have ended, and votes.
    polls: Polls,
    /// Ranks that have aborted a communicator, and the ranks of other hosts that are ended because of that.
    aborts: BTreeMap<u32, BTreeSet<u32>>,
    /// The last failure.
    pub last: Option<FailedRank>,
    /// A process of a spawned job has ended well.
    pub family_is_well: bool,
    /// Links between ranks that have broken.
    broken: BrokenLinks,
}

impl Root<'_> {
    /// Whether the other ranks go on when one fails. A spawned job that the root has not taken ends, so that the root hears of
    /// the failure.
    pub(super) fn goes_on(&self) -> bool {
        self.settings.keep_going && self.has_run && self.spawned.as_ref().is_none_or(Spawned::is_taken)
    }

    /// A rank has failed, and the others go on.
    pub(super) fn on_lone_failure(&mut self, mut failed: FailedRank, ended: u32, is_no_mpi: bool) {
        failed.text = printable(&failed.text);
        if self.verdict.is_some() {
            return;
        }
        if !self.goes_on() {
            let live = self.live();
            return self.fail(Verdict::Failed(failed, live), Stop::Failure);
        }
        if is_no_mpi {
            // Its status counts.
            self.late.get_or_insert(failed);
            return;
        }
        // Those of other hosts may have ended meanwhile.
        let elsewhere = self.going_on.aborts.remove(&failed.rank).unwrap_or_default();
        let others = match elsewhere.is_empty() {
            true => self.live(),
            false => {
                let polls = &self.going_on.polls;
                let ends = |rank: u32| rank == failed.rank || elsewhere.contains(&rank) || polls.has_ended(rank);
                (0..self.size as u32).filter(|&rank| !ends(rank)).count()
            }
        };
        let left = others.saturating_sub(ended as usize);
        let is_last = left == 0 && self.well() == 0;
        self.say(&format!("{}{}", failed.text, report::go_on(ended as usize + elsewhere.len(), left, is_last)));
        self.going_on.last = Some(failed);
    }

    /// A rank aborts a communicator: ends the members on other hosts. Those on its own are ended by its agent.
    pub(super) fn on_abort(&mut self, (number, slot): (usize, u32), members: &[(u32, u32)]) -> Result<(), BadFrame> {
        let is_member = |rank: u32| members.iter().any(|&(first, count)| rank >= first && rank - first < count);
        let Some(&rank) = self.nodes[number].ranks.get(slot as usize).filter(|&&rank| is_member(rank)) else {
            // No rank aborts a communicator of others.
            return Ok(());
        };
        if !self.goes_on() {
            return Ok(());
        }
        let mut ended = BTreeSet::new();
        for (node, found) in self.nodes.iter().enumerate().filter(|&(node, _)| node != number) {
            let polls = &self.going_on.polls;
            let is_meant = |&(_, &rank): &(usize, &u32)| is_member(rank) && !polls.has_ended(rank);
            let slots: Vec<u32> =
                found.ranks.iter().enumerate().filter(is_meant).map(|(slot, _)| slot as u32).collect();
            ended.extend(slots.iter().map(|&slot| found.ranks[slot as usize]));
            if !slots.is_empty() {
                self.branches.send(node as u32, &Down::Doom(slots))?;
            }
        }
        self.going_on.aborts.insert(rank, ended);
        Ok(())
    }

    /// The ranks that have ended well.
    pub(super) fn well(&self) -> usize {
        self.nodes.iter().map(|node| node.well).sum()
    }

    /// A host is lost: all its ranks have failed.
    pub(super) fn go_on_without(&mut self, number: usize, text: &str) -> Result<(), BadFrame> {
        let others = self.live();
        let is_last = others == 0 && self.well() == 0;
        self.say(&format!("{text}{}", report::go_on(0, others, is_last)));
        let ranks = self.nodes[number].ranks.clone();
        let dead: Vec<DeadRank> = ranks.iter().map(|&rank| DeadRank { rank, has_left: false, status: 0 }).collect();
        let rank = ranks.first().copied().unwrap_or(0);
        self.going_on.last = Some(FailedRank { rank, text: text.into(), status: 1, quiet: false });
        self.on_deaths(number, dead)
    }

    /// Processes of a node have ended.
    pub(super) fn on_deaths(&mut self, number: usize, dead: Vec<DeadRank>) -> Result<(), BadFrame> {
        self.rests.forget();
        let ranks = &self.nodes[number].ranks;
        if let Some(stranger) = dead.iter().find(|dead| !ranks.contains(&dead.rank)) {
            return Err(BadFrame(format!("rank {} is on another host", stranger.rank)));
        }
        let polls = &mut self.going_on.polls;
        let new: Vec<DeadRank> = dead.into_iter().filter(|dead| polls.note_end(dead.rank)).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.branches.send(EVERY_NODE, &Down::Deaths(new))?;
        // Everybody has been told before a vote ends because of it.
        self.going_on.polls.end().into_iter().try_for_each(|ended| self.tell_vote(&ended))
    }

    /// A rank votes.
    pub(super) fn on_vote(
        &mut self,
        (number, slot): (usize, u32),
        id: VoteId,
        members: Vec<(u32, u32)>,
        ballot: SentBallot,
    ) -> Result<(), BadFrame> {
        let Some(&rank) = self.nodes[number].ranks.get(slot as usize) else {
            return Err(BadFrame(format!("there is no slot {slot}")));
        };
        match self.going_on.polls.vote(rank, id, &members, ballot, self.size) {
            Ok(ended) => ended.map_or(Ok(()), |ended| self.tell_vote(&ended)),
            Err(WrongMembers) => Err(BadFrame("a vote has members that the job does not have, or is another's".into())),
        }
    }

    /// Tells the members of a vote that is over what all have said.
    fn tell_vote(&mut self, ended: &polls::Ended) -> Result<(), BadFrame> {
        let members = ended.said.len() as u32;
        for (node, found) in self.nodes.iter().enumerate().filter(|(_, node)| node.phase == Phase::Running) {
            let slots = found.ranks.iter().enumerate().filter(|(_, rank)| ended.listeners.contains(rank));
            let slots: Vec<u32> = slots.map(|(slot, _)| slot as u32).collect();
            if slots.is_empty() {
                continue;
            }
            for (index, part) in ended.said.chunks(MOST_BALLOTS).enumerate() {
                let first = (index * MOST_BALLOTS) as u32;
                let ballots = Ballots { first, members, said: part.to_vec() };
                self.branches.send(node as u32, &Down::Voted { slots: slots.clone(), vote: ended.vote, ballots })?;
            }
        }
        Ok(())
    }

    /// A rank says that its link to another one is broken: the agent of that one is asked whether it lives.
    pub(super) fn on_broken_link(
        &mut self,
        (number, slot): (usize, u32),
        other: u32,
        why: &str,
    ) -> Result<(), BadFrame> {
        let place = self.place_of(other);
        let (Some(&rank), Some((node, slot))) = (self.nodes[number].ranks.get(slot as usize), place) else {
            // A rank may say anything.
            return Ok(());
        };
        if node == number as u32
            || !self.going_on.broken.claim((number as u32, rank), other, printable(why), Instant::now())
        {
            return Ok(());
        }
        self.branches.send(node, &Down::DoesLive(slot))
    }

    /// The agent of a rank says that the rank lives.
    pub(super) fn on_living(&mut self, (number, slot): (usize, u32)) {
        if let Some(&rank) = self.nodes[number].ranks.get(slot as usize) {
            self.going_on.broken.lives(rank);
        }
    }

    /// Ends ranks that have lost their links to others.
    pub(super) fn end_cut_off(&mut self, now: Instant) {
        let polls = &self.going_on.polls;
        for Sentence { rank, text } in self.going_on.broken.judge(now, |rank| polls.has_ended(rank)) {
            self.say(&format!("rank {rank} is ended, because {text}"));
            if let Some((node, slot)) = self.place_of(rank) {
                // A message of this length always fits into a frame.
                let _ = self.branches.send(node, &Down::End(slot));
            }
        }
    }

    /// The node and the slot of a rank.
    fn place_of(&self, rank: u32) -> Option<(u32, u32)> {
        self.nodes.iter().enumerate().find_map(|(node, found)| {
            let slot = found.ranks.iter().position(|&known| known == rank)?;
            Some((node as u32, slot as u32))
        })
    }

    /// The status of a job of which no rank has ended the others, if some of its ranks have failed.
    pub(super) fn status_after_deaths(&self) -> Option<i32> {
        let failed = self.going_on.last.as_ref()?;
        let is_spawned = self.spawned.as_ref().is_some_and(Spawned::is_looked_after);
        Some(if self.is_well() || is_spawned { 0 } else { failed.status & 0xff })
    }

    /// Whether a process of this job, or of one that it spawned, has ended well.
    pub(super) fn is_well(&self) -> bool {
        self.well() > 0 || self.going_on.family_is_well
    }
}
