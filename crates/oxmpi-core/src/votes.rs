//! How the members of a communicator agree on something although some of them die: `MPIX_Comm_agree` and `MPIX_Comm_shrink`.
//!
//! Each member has a place in its segment with two lines (`oxmpi_base::votes`). In vote `s` it writes its ballot to
//! line `s & 1`, the number last, and reads the ballots of all others. A member is *present* if its ballot is there. It is
//! *absent* if it stands in the log of deaths and its ballot is still not there when looked at once more: the log is written
//! after the last store of a process, so that is final. When every member is one or the other, the result is a function of the
//! ballots of those that are present ([`decide`]).
//!
//! There is no coordinator and no second phase. All that survive read the same: a ballot is overwritten only in vote `s + 2`,
//! which its writer begins after vote `s + 1`, and that needs the ballots `s + 1` of all living members, which have read all
//! they need of vote `s` by then. A process that dies counts or does not, depending on one store, the number of its line.
//!
//! Members on several nodes cannot read each other's lines. Those of one job send their ballots to `mpirun`, which puts ballots and
//! deaths into one order, and gives all of them the same ballots (`process/votes_on_nodes.rs`). Members of several jobs that are
//! not all on one machine send messages to each other (`votes/talk.rs`).

use crate::contexts::Proposal;
use crate::engine::OpId;
use crate::request::Promise;
use oxmpi_abi::handle;
use oxmpi_base::ids::Peer;
pub use oxmpi_base::votes::{Ballot, JOBS};
use oxmpi_boot::requests::{SentBallot, VoteId};
use oxmpi_datatype::OwnedBytes;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

pub(crate) const AGREE: u32 = 1;
pub(crate) const SHRINK: u32 = 2;
/// The place of a process in the log of a job whose `mpirun` has ended without writing it there.
pub(crate) const LOST: usize = u32::MAX as usize - 1;
/// Whether a context that was used before is free at all members.
pub(crate) const IS_FREE: u32 = 3;

/// What one member has said in a vote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    Present(Ballot),
    /// It has ended without a ballot; where it stands in the log of its job, if it has failed.
    Absent(Option<usize>),
}

/// Where the ballots and the logs are read.
pub trait Booth {
    /// The ballot of a member in a vote.
    fn ballot(&self, member: usize, seq: u64) -> Option<Ballot>;
    /// Where a member stands in the log of its job, if it does; `false`: it had finalized.
    fn end_of(&self, member: usize) -> Option<(usize, bool)>;
}

/// What a member has said, if that is final.
pub fn listen(booth: &impl Booth, member: usize, seq: u64) -> Option<Said> {
    if let Some(ballot) = booth.ballot(member, seq) {
        return Some(Said::Present(ballot));
    }
    let (place, failed) = booth.end_of(member)?;
    // Once more: a process that reads the log sees all that the dead one has stored.
    let ballot = booth.ballot(member, seq);
    Some(ballot.map_or(Said::Absent(failed.then_some(place)), Said::Present))
}

/// What the members of a vote among several nodes have said, as `mpirun` has told it. It tells of the end of a member before
/// it leaves out its ballot, so that one stands in the log.
pub fn heard(ballots: Vec<Option<SentBallot>>, end_of: impl Fn(usize) -> Option<(usize, bool)>) -> Vec<Said> {
    let first = |value: u32| {
        let mut all = [0; JOBS];
        all[0] = value;
        all
    };
    let said = |(member, ballot): (usize, Option<SentBallot>)| match ballot {
        Some(SentBallot { kind, flag, proposal, acked, known }) => {
            Said::Present(Ballot { kind, flag, proposal, acked: first(acked), known: first(known) })
        }
        None => Said::Absent(end_of(member).filter(|(_, failed)| *failed).map(|(place, _)| place)),
    };
    ballots.into_iter().enumerate().map(said).collect()
}

/// A ballot as it is sent to other nodes; all members are of one job.
pub fn sent(ballot: &Ballot) -> SentBallot {
    let Ballot { kind, flag, proposal, acked, known } = *ballot;
    SentBallot { kind, flag, proposal, acked: acked[0], known: known[0] }
}

/// The result of a vote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Whether all made the same call.
    pub alike: bool,
    /// So much of the log of each job is known to somebody.
    pub known: [u32; JOBS],
    /// Whether a member failed before its ballot, and not all others had acknowledged it.
    pub unacknowledged: bool,
}

impl Decision {
    /// Whether a job has lost its `mpirun`, and with it all its processes, also those that had said something before.
    pub(crate) fn is_lost(&self, job: usize) -> bool {
        self.known[job] as usize > LOST
    }
}

/// Decides a vote; `job_of` is the job of each member.
pub fn decide(said: &[Said], job_of: impl Fn(usize) -> usize) -> Decision {
    let ballots = said.iter().filter_map(|said| match said {
        Said::Present(ballot) => Some(ballot),
        Said::Absent(_) => None,
    });
    let mut decision = Decision { alike: true, known: [0; JOBS], unacknowledged: false };
    let (mut kind, mut acked) = (None, [u32::MAX; JOBS]);
    for ballot in ballots {
        decision.alike &= *kind.get_or_insert(ballot.kind) == ballot.kind;
        decision.known.iter_mut().zip(ballot.known).for_each(|(known, other)| *known = other.max(*known));
        acked.iter_mut().zip(ballot.acked).for_each(|(acked, other)| *acked = other.min(*acked));
    }
    for (member, said) in said.iter().enumerate() {
        if let Said::Absent(Some(place)) = said {
            let job = job_of(member);
            decision.unacknowledged |= *place as u32 >= acked[job];
            decision.known[job] = decision.known[job].max(*place as u32 + 1);
        }
    }
    decision
}

/// The bits that all present members of a part have set.
pub fn all_bits(said: &[Said], is_counted: impl Fn(usize) -> bool) -> u32 {
    let flag = |(member, said): (usize, &Said)| match said {
        Said::Present(ballot) if is_counted(member) => Some(ballot.flag),
        _ => None,
    };
    said.iter().enumerate().filter_map(flag).fold(u32::MAX, |all, flag| all & flag)
}

/// A process in a vote.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub peer: Peer,
    /// The index of its job among those of all members.
    pub job: usize,
    /// Whether it is in the group that ranks in messages name.
    pub is_addressed: bool,
}

/// A vote under way.
pub struct Vote {
    pub(crate) comm: handle::Comm,
    pub(crate) context: u32,
    pub(crate) members: Arc<[Member]>,
    /// This process among them.
    pub(crate) own: usize,
    pub(crate) way: Way,
    /// Its number, once it has begun.
    pub(crate) seq: Option<u64>,
    pub(crate) ballot: Ballot,
    pub(crate) said: Vec<Option<Said>>,
    pub(crate) aim: Aim,
    pub(crate) promise: Promise,
}

/// How the members hear of each other's ballots.
pub(crate) enum Way {
    /// All lines are in memory of this process.
    Here,
    /// `mpirun` collects the ballots. A hash of the members tells the vote from others.
    ByMpirun(u64),
    /// By messages. The conversation of the vote that has begun.
    ByMessages(u64, Option<Box<Conversation>>),
}

/// A vote by messages.
pub(crate) struct Conversation {
    pub talk: talk::Talk,
    /// Messages that are not sent yet, and to whom.
    pub sending: Vec<(usize, OpId)>,
    pub result: Option<Vec<talk::Heard>>,
}

/// Messages of votes that this process has not looked at.
#[derive(Default)]
pub(crate) struct VoteMail {
    pub arriving: Vec<(OpId, Peer, OwnedBytes)>,
    pub kept: BTreeMap<VoteId, Vec<(Peer, talk::Message)>>,
    /// The last vote that is over, by the context and a hash of the members.
    pub over: BTreeMap<(u32, u64), u64>,
}

pub(crate) enum Aim {
    /// Where the result is written.
    Agree(Flag),
    /// The communicator that is made, and the parent's error handler and session.
    Shrink(Shrinking),
}

pub(crate) struct Shrinking {
    pub made: handle::Comm,
    /// This process's own proposal of a context.
    pub own: Option<Proposal>,
    /// The proposal that the others are asked about, and who would be in the communicator.
    pub asked: Option<(Proposal, Vec<bool>)>,
}

/// Memory of the program.
pub(crate) struct Flag(pub *mut c_int);

#[expect(unsafe_code, reason = "an address of memory may go from thread to thread")]
// SAFETY: an address; nothing in it belongs to a thread.
unsafe impl Send for Flag {}
#[expect(unsafe_code, reason = "an address of memory may go from thread to thread")]
// SAFETY: it is written by whoever has the state of the process for itself.
unsafe impl Sync for Flag {}

/// A place that others may still read.
pub struct OldPlace {
    pub(crate) context: u32,
    pub(crate) members: Vec<Peer>,
}

pub mod talk;

#[cfg(test)]
mod node_tests;
#[cfg(test)]
mod tests;
