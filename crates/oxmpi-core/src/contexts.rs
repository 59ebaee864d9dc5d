//! Contexts: the numbers that separate the messages of one communicator from those of all others,
//! and how the processes of a new communicator agree on one.
//!
//! Messages are matched at the receiver, by context; so no process may ever use a context for two
//! things at a time. A context is even and has a twin, the next number, for the library's own
//! messages on the communicator.
//!
//! ```text
//!  31  30                                 1   0
//! +---+------------------+-----------------+---+
//! | 0 |    world rank    |     counter     | 0 |     as many bits for the world rank as the job needs
//! +---+------------------+-----------------+---+
//! | 1 |              counter               | 0 |     for communicators with processes of several jobs
//! +---+------------------------------------+---+
//! ```
//!
//! The first process of a new communicator proposes a context from its own share of the numbers and
//! tells the others. No other process proposes from that share, so two agreements never want the
//! same number, whatever threads, communicators and orders they run in: there is nothing to lock or
//! retry, and one broadcast is enough. The members need not wait for each other, since messages in
//! a context that the receiver does not know yet are stored like all unexpected ones.
//!
//! # Reuse
//! Until the counter has wrapped around (in a job of 8 processes after 2^27 communicators) every
//! number is new. After that, `MPI_Comm_free` does not prove that a number is free: it is local,
//! other members may be behind, and requests, active or persistent, may outlive it by any time. So
//! a number that has been used is proposed with a question: each member of the *new* communicator
//! checks whether it has anything left of that context, a communicator, a request, an operation, a
//! message, and the number is taken only if none has. That is enough, because a message of an
//! earlier use can do harm only at a member of the new communicator. Such a member was a member of
//! the old one, too. If a receive of the old one is pending or can still be started there, that
//! member refuses. If it has neither, and no communicator to start one with, then no message for it
//! can be under way or be sent later, unless the program sent something that was never going to be
//! received.
//!
//! # Several jobs
//! Processes of different jobs have no shares of their own, so numbers with the first bit set are
//! always proposed with that question. Two agreements may want the same number at the same time: a
//! process that accepts it for one holds the number for it, and refuses others, until the agreement
//! has ended.
//!
//! The check searches everything that the process holds. It is rare, and in exchange nothing is
//! counted where it would cost time for every message.

mod in_use;

use crate::agreement::{AgreementIo, Participants, spans_jobs};
use crate::ranks::Ranks;
use oxmpi_abi::constants::{MPI_ERR_ARG, MPI_ERR_GROUP, MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED, MPIX_ERR_PROC_FAILED};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::{Peer, Rank, WorldRank};
use oxmpi_boot::network::KEY_WORDS;
use std::collections::BTreeSet;

/// For agreements between processes that share no communicator. The tags of its messages are made
/// from the program's strings.
pub const MEETING: u32 = 4;

/// The context of a communicator that is still being made. No message carries it.
pub const NOT_YET: u32 = 6;

/// For connection requests: the tag is the port's number. The twin is for the two roots, once they
/// have connected.
pub const PORTS: u32 = 8;

/// For votes by messages (`votes/talk.rs`), with this tag.
pub const VOTES: u32 = 10;
pub const VOTE_TAG: i32 = -10;

/// Counter values below this are never drawn: on process 0 they are the contexts of the world, of
/// `MPI_COMM_SELF`, [`MEETING`], [`NOT_YET`], [`PORTS`] and [`VOTES`].
const FIRST: u32 = 6;

/// Debug builds wrap around soon, so that tests see contexts reused.
const MOST_BITS: u32 = if cfg!(debug_assertions) { 17 } else { 30 };

/// The bit of contexts between jobs, and how many there are.
const BETWEEN: u32 = 1 << 31;
const BETWEEN_BITS: u32 = if cfg!(debug_assertions) { 17 } else { 30 };

pub(crate) fn is_between_jobs(context: u32) -> bool {
    context & BETWEEN != 0
}

/// One process's share of the contexts, by its world rank.
pub struct Contexts {
    process: u32,
    bits: u32,
    next: u32,
    /// Whether the counter has wrapped around.
    again: bool,
    unused: Vec<Proposal>,
    /// The next context between jobs.
    between: u32,
    /// The last number of a window.
    windows: u32,
    /// The contexts that are held for agreements under way.
    reserved: BTreeSet<u32>,
}

/// A context that a process proposes for a new communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proposal {
    pub context: u32,
    /// It has been used before: all members must agree that it is free.
    pub used: bool,
}

impl Proposal {
    fn from_words(words: &[u64]) -> Proposal {
        Proposal { context: words[0] as u32, used: words[1] != 0 }
    }

    fn to_words(self) -> [u64; 2] {
        [u64::from(self.context), u64::from(self.used)]
    }
}

/// The proposal of a first member that has no context left.
const NONE_LEFT: Proposal = Proposal { context: u32::MAX, used: false };

impl Contexts {
    pub fn new(process: WorldRank, processes: usize) -> Contexts {
        let process = process.index() as u32;
        let bits = (30 - processes.next_power_of_two().trailing_zeros()).min(MOST_BITS);
        // Processes start at different numbers, so that they seldom want the same one.
        let between = std::process::id().wrapping_mul(0x9e37_79b9).wrapping_add(process);
        let reserved = BTreeSet::new();
        Contexts { process, bits, next: FIRST, again: false, unused: Vec::new(), between, windows: 0, reserved }
    }

    /// The next context between jobs, whether or not it is free.
    fn draw_between(&mut self) -> Proposal {
        self.between = self.between.wrapping_add(1) & ((1 << BETWEEN_BITS) - 1);
        Proposal { context: BETWEEN | self.between << 1, used: true }
    }

    /// A number by which a window is revoked, whose first member this process is.
    pub fn draw_for_window(&mut self) -> u32 {
        self.windows = self.windows.wrapping_add(1) & ((1 << self.bits) - 1);
        (self.process << self.bits | self.windows) << 1 | 1
    }

    /// The next context, whether or not it is free.
    fn draw(&mut self) -> Proposal {
        if let Some(proposal) = self.unused.pop() {
            return proposal;
        }
        let proposal = Proposal { context: (self.process << self.bits | self.next) << 1, used: self.again };
        self.next += 1;
        if self.next == 1 << self.bits {
            (self.next, self.again) = (FIRST, true);
        }
        proposal
    }

    pub fn give_back(&mut self, proposal: Proposal) {
        if !is_between_jobs(proposal.context) {
            self.unused.push(proposal);
        }
    }

    /// Releases a context that was held for an agreement which has ended.
    pub fn release(&mut self, context: u32) {
        self.reserved.remove(&context);
    }
}

/// All members agree on a context for a new object. `key` identifies the object that each of them
/// makes; members whose key differs from that of the first member get an error.
pub async fn agree(io: AgreementIo, participants: Participants, key: u64) -> Result<u32> {
    settle(&io, &participants, None, key).await
}

/// As [`agree`], and every member gets a word of each member.
pub async fn agree_and_gather(io: AgreementIo, participants: Participants, own: u64) -> Result<(u32, Vec<u64>)> {
    let words = io.gather(&participants, &[own]).await?;
    Ok((settle(&io, &participants, None, 0).await?, words))
}

/// As [`agree`], if all members already know a proposal.
async fn settle(io: &AgreementIo, participants: &Participants, known: Option<Proposal>, key: u64) -> Result<u32> {
    let mut known = known;
    loop {
        let proposal = match known.take() {
            Some(proposal) => proposal,
            None => {
                let own = if participants.rank == 0 { propose(io, &participants.members).await } else { NONE_LEFT };
                let [context, used] = own.to_words();
                let mut words = [context, used, key];
                io.tell(participants, &mut words).await?;
                if words[2] != key {
                    bail!(MPI_ERR_ARG, "the members of the new communicator passed different groups or string tags");
                }
                Proposal::from_words(&words)
            }
        };
        if proposal == NONE_LEFT {
            return Err(none_left());
        }
        if !proposal.used {
            return Ok(proposal.context);
        }
        let free = io.reserve(proposal.context).await;
        if io.all(participants, free).await? {
            return Ok(proposal.context);
        }
        if free {
            io.release(proposal.context);
        }
    }
}

/// A context for some processes, or [`NONE_LEFT`].
async fn propose(io: &AgreementIo, members: &Ranks) -> Proposal {
    let between_jobs = io.spans_jobs(members).await;
    io.draw(between_jobs).await.unwrap_or(NONE_LEFT)
}

#[cold]
fn none_left() -> Error {
    Error::new(MPI_ERR_OTHER, "all contexts are in use: too many communicators exist at a time")
}

/// What a process passes to a split.
#[derive(Clone, Copy)]
pub struct SplitArgs {
    /// `None`: no new communicator.
    pub color: Option<u32>,
    pub key: i32,
}

/// The result of a split: the processes of the same color in their new order, of the own group and,
/// between groups, of the other one.
pub struct SplitResult {
    pub context: u32,
    pub near: Vec<Peer>,
    pub far: Vec<Peer>,
}

/// Splits participants by color. `is_near` says for each member whether it is in this process's
/// group; without a second group all are. `None` for a process that gets no communicator.
///
/// Every member gets all colors and keys, so the work is to sort: n log n in all.
pub async fn split(
    io: AgreementIo,
    participants: Participants,
    is_near: Option<Vec<bool>>,
    args: SplitArgs,
) -> Result<Option<SplitResult>> {
    const WIDTH: usize = 3;
    const NO_COLOR: u64 = u64::MAX;
    let own = propose(&io, &participants.members).await;
    let [context, used] = own.to_words();
    // With its sign bit flipped, the key compares as an unsigned number.
    let order = (args.key as u32 ^ 1 << 31) as u64;
    let said = [args.color.map_or(NO_COLOR, u64::from), used << 32 | order, context];
    let all = io.gather(&participants, &said).await?;
    let Some(color) = args.color else {
        if own != NONE_LEFT {
            io.give_back(own);
        }
        return Ok(None);
    };
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (rank, said) in all.chunks_exact(WIDTH).enumerate() {
        if said[0] == u64::from(color) {
            let side = if is_near.as_ref().is_none_or(|is_near| is_near[rank]) { &mut near } else { &mut far };
            side.push((said[1] as u32, rank));
        }
    }
    // Members of a group are listed in rank order, so ties are broken correctly.
    near.sort_unstable();
    far.sort_unstable();
    let leads = near[0].1.min(far.first().map_or(usize::MAX, |first| first.1));
    let useless = is_near.is_some() && far.is_empty();
    if (useless || leads != participants.rank) && own != NONE_LEFT {
        io.give_back(own);
    }
    if useless {
        return Ok(None);
    }
    let said = &all[leads * WIDTH..][..WIDTH];
    let proposal = Proposal { context: said[2] as u32, used: said[1] >> 32 != 0 };
    let processes =
        |side: &[(u32, usize)]| side.iter().map(|&(_, rank)| participants.members.peer(Rank::new(rank))).collect();
    let mut members: Vec<usize> = near.iter().chain(&far).map(|&(_, rank)| rank).collect();
    // The same order for both groups, beginning with the proposer, which also proposes again.
    members.sort_unstable_by_key(|&rank| (rank != leads, rank));
    let members: Vec<Peer> = members.into_iter().map(|rank| participants.members.peer(Rank::new(rank))).collect();
    let (near, far): (Vec<Peer>, Vec<Peer>) = (processes(&near), processes(&far));
    let new = Participants::new(
        members.into(),
        participants.members.peer(Rank::new(participants.rank)),
        participants.context,
        participants.tag,
    );
    let context = settle(&io, &new, Some(proposal), 0).await?;
    Ok(Some(SplitResult { context, near, far }))
}

/// The result of joining two groups for an intercommunicator: its context and the other group.
pub struct Joined {
    pub context: u32,
    pub far: Vec<Peer>,
}

/// Refuses to join: the leader cannot take part in [`join`], and the others must not wait for it.
/// They get an error of the same class.
pub async fn refuse(io: AgreementIo, near: Participants, class: i32) -> Result<()> {
    io.tell(&near, &mut [0, class as u64, 0, 0]).await
}

/// Joins two groups. The first members are the leaders; `bridge` connects only the two leaders.
/// `group` is the group of this side in rank order. All members get the other group and a context.
///
/// Members of different groups communicate only over the bridge, so they need no earlier
/// connection.
pub async fn join(io: AgreementIo, near: Participants, group: Ranks, bridge: Option<Participants>) -> Result<Joined> {
    // The size of the other group, a proposal, and the words of an introduction; or zero and an error
    // class, if a leader refused.
    let mut facts = [0; 4];
    let (mut far, mut introduction) = (Vec::new(), Vec::new());
    let mut lead = None;
    let mut failed = None;
    if let Some(bridge) = bridge {
        match Lead::meet(&io, &near, &group, bridge).await {
            Ok((met, proposal, words, introduces)) => {
                let [context, used] = proposal.to_words();
                let count = (words.len() / ProcessId::WORDS) as u64;
                facts = [count, context, used, introduces.len() as u64];
                (lead, far, introduction) = (Some(met), words, introduces);
            }
            Err(error) => {
                facts = [0, error.class() as u64, 0, 0];
                failed = Some(error);
            }
        }
    }
    io.tell(&near, &mut facts).await?;
    if facts[0] == 0 {
        return Err(failed.unwrap_or_else(|| could_not(facts[1] as i32)));
    }
    far.resize(facts[0] as usize * ProcessId::WORDS, 0);
    io.tell(&near, &mut far).await?;
    introduction.resize(facts[3] as usize, 0);
    if !introduction.is_empty() {
        io.tell(&near, &mut introduction).await?;
    }
    let far = ids_in(&far)?;
    let ours: BTreeSet<ProcessId> = io.ids_of(&near.members).await.into_iter().collect();
    if far.iter().any(|id| ours.contains(id)) {
        bail!(MPI_ERR_GROUP, "the two groups have a process in common");
    }
    let far = io.peers_at(far, introduction).await;
    let mut proposal = Proposal::from_words(&facts[1..]);
    loop {
        if proposal == NONE_LEFT {
            return Err(none_left());
        }
        if !proposal.used {
            return Ok(Joined { context: proposal.context, far: far? });
        }
        let here = match &far {
            Err(error) => out_of_reach(error),
            Ok(_) if io.reserve(proposal.context).await => FREE,
            Ok(_) => IN_USE,
        };
        let least = io.least(&near, here).await?;
        let mut words = [least, 0, 0];
        if let Some(lead) = &lead {
            words = lead.decide(&io, least).await;
        }
        io.tell(&near, &mut words).await?;
        let verdict = words[0];
        if verdict == FREE {
            return Ok(Joined { context: proposal.context, far: far? });
        }
        if here == FREE {
            io.release(proposal.context);
        }
        if verdict <= OUT_OF_REACH {
            let class = match verdict {
                FAILED => MPIX_ERR_PROC_FAILED,
                ENDED => MPI_ERR_PROC_ABORTED,
                _ => MPI_ERR_OTHER,
            };
            return Err(far.err().unwrap_or_else(|| could_not(class)));
        }
        proposal = Proposal::from_words(&words[1..]);
    }
}

/// A member's answer to a proposal in [`join`]; the least counts.
const FAILED: u64 = 0;
const ENDED: u64 = 1;
const OUT_OF_REACH: u64 = 2;
const IN_USE: u64 = 3;
const FREE: u64 = 4;

/// The answer of a member that cannot reach all of the other group.
fn out_of_reach(error: &Error) -> u64 {
    match error.is_survivable() {
        true => FAILED,
        false if error.is_of_others() => ENDED,
        false => OUT_OF_REACH,
    }
}

#[cold]
fn could_not(class: i32) -> Error {
    Error::new(
        class,
        "the root or leader of the group could not join the other group, or one of its processes could not",
    )
}

/// The process ids in words from another process.
fn ids_in(words: &[u64]) -> Result<Vec<ProcessId>> {
    let ids: Option<Vec<ProcessId>> = words.chunks_exact(ProcessId::WORDS).map(ProcessId::from_words).collect();
    ids.ok_or_else(|| Error::new(MPI_ERR_OTHER, "the other group's leader names a process that cannot exist"))
}

/// More members or words about them than any group has.
const MOST_MEMBERS: u64 = 1 << 26;

/// A leader that is connected to the other one.
struct Lead {
    bridge: Participants,
    /// The order of the two ids decides which leader proposes.
    proposes: bool,
    between_jobs: bool,
}

impl Lead {
    /// Exchanges the groups of both sides; returns a proposal, the ids of the other group, and how it is reached where it
    /// is on other hosts: the key of the leader that proposes, and the places of the other group.
    async fn meet(
        io: &AgreementIo,
        near: &Participants,
        group: &Ranks,
        bridge: Participants,
    ) -> Result<(Lead, Proposal, Vec<u64>, Vec<u64>)> {
        let other = 1 - bridge.rank;
        let ours = io.ids_of(group).await;
        let leader = io.ids_of(&vec![near.members.peer(Rank::new(0))].into()).await[0];
        let (key_id, places) = io.places_of(&ours).await;
        let mut hello = vec![ours.len() as u64, places.len() as u64];
        hello.extend(key_id);
        hello.extend(leader.words());
        io.send(&bridge, other, &hello);
        io.send(&bridge, other, &ours.iter().flat_map(|id| id.words()).collect::<Vec<u64>>());
        if !places.is_empty() {
            io.send(&bridge, other, &places);
        }
        let hello = io.receive(&bridge, other, hello.len()).await?;
        if hello[0] > MOST_MEMBERS || hello[1] > MOST_MEMBERS {
            bail!(MPI_ERR_OTHER, "the other group's leader says that it has {} processes", hello[0]);
        }
        let theirs = io.receive(&bridge, other, hello[0] as usize * ProcessId::WORDS).await?;
        let their_places = match hello[1] as usize {
            0 => Vec::new(),
            count => io.receive(&bridge, other, count).await?,
        };
        let all: Vec<ProcessId> = ours.into_iter().chain(ids_in(&theirs)?).collect();
        let proposes = ids_in(&hello[2 + KEY_WORDS..])?.first().is_some_and(|other| leader < *other);
        let lead = Lead { bridge, proposes, between_jobs: spans_jobs(&all) };
        let mut introduction = Vec::new();
        if lead.between_jobs && !(places.is_empty() && their_places.is_empty()) {
            introduction.extend_from_slice(if proposes { &key_id } else { &hello[2..2 + KEY_WORDS] });
            introduction.extend(their_places);
        }
        let proposal = lead.propose(io).await?;
        Ok((lead, proposal, theirs, introduction))
    }

    /// One of the two leaders proposes a context, and both know it.
    async fn propose(&self, io: &AgreementIo) -> Result<Proposal> {
        let other = 1 - self.bridge.rank;
        if !self.proposes {
            return Ok(Proposal::from_words(&io.receive(&self.bridge, other, 2).await?));
        }
        let proposal = io.draw(self.between_jobs).await.unwrap_or(NONE_LEFT);
        io.send(&self.bridge, other, &proposal.to_words());
        Ok(proposal)
    }

    /// Combines the answers of both groups to a proposal; returns the next proposal where it is in
    /// use.
    async fn decide(&self, io: &AgreementIo, least: u64) -> [u64; 3] {
        let other = 1 - self.bridge.rank;
        io.send(&self.bridge, other, &[least]);
        let theirs = match io.receive(&self.bridge, other, 1).await {
            Ok(theirs) => theirs,
            Err(error) => return [out_of_reach(&error), 0, 0],
        };
        let verdict = least.min(theirs[0]);
        if verdict != IN_USE {
            return [verdict, 0, 0];
        }
        match self.propose(io).await {
            Ok(proposal) => {
                let [context, used] = proposal.to_words();
                [IN_USE, context, used]
            }
            Err(error) => [out_of_reach(&error), 0, 0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::simulated::World;
    use crate::agreement::{Agreement, sends_of_gather};
    use std::future::Future;

    #[test]
    fn a_failure_that_can_be_survived_is_what_all_hear_of() {
        let answers = [MPIX_ERR_PROC_FAILED, MPI_ERR_PROC_ABORTED, MPI_ERR_OTHER];
        let answers = answers.map(|class| out_of_reach(&Error::new(class, "")));
        assert_eq!(answers, [FAILED, ENDED, OUT_OF_REACH]);
        assert!(answers.is_sorted() && answers.iter().all(|answer| *answer < IN_USE.min(FREE)));
    }

    #[test]
    fn shares_do_not_overlap_and_go_around() {
        for processes in [1, 2, 3, 8, 1000] {
            let mut seen = std::collections::BTreeSet::new();
            for process in std::collections::BTreeSet::from([0, processes / 2, processes - 1]) {
                let mut share = Contexts { bits: 4, ..Contexts::new(WorldRank::new(process).unwrap(), processes) };
                let round: Vec<Proposal> = (FIRST..1 << 4).map(|_| share.draw()).collect();
                assert!(round.iter().all(|proposal| !proposal.used && proposal.context % 2 == 0));
                assert!(round.iter().all(|proposal| seen.insert(proposal.context)));
                let again = share.draw();
                assert_eq!(again, Proposal { context: round[0].context, used: true });
                share.give_back(again);
                assert_eq!(share.draw(), again);
                assert_ne!(share.draw(), again);
            }
            assert!(!seen.contains(&0) && !seen.contains(&2) && !seen.contains(&MEETING));
        }
    }

    /// The agreements of all processes, one each.
    fn everybody<T, F>(world: &mut World, size: usize, agreement: impl Fn(AgreementIo, Participants) -> F) -> Vec<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let participants = |rank| Participants { members: Ranks::one_node(size), rank, context: 1, tag: 9 };
        world.run((0..size).map(|rank| (rank, Agreement::new(|io| agreement(io, participants(rank))))).collect())
    }

    #[test]
    fn all_agree_with_one_broadcast() {
        for size in [1, 2, 3, 8, 100] {
            let mut world = World::new(size);
            let agreed = everybody(&mut world, size, |io, participants| agree(io, participants, 5));
            let context = agreed[0].as_ref().unwrap();
            assert!(agreed.iter().all(|other| other.as_ref().unwrap() == context));
            assert_eq!(world.messages, size - 1);
        }
    }

    #[test]
    fn a_used_context_is_taken_only_if_all_agree() {
        for size in [1, 2, 3, 8, 100] {
            let mut world = World::new(size);
            world.draw = |_, count| Some(Proposal { context: 100 * count, used: true });
            // The last of the first hundred holds 100, the second 200; the first process knows
            // which ones it holds.
            world.is_free = |process, context| match context {
                100 => process != 99,
                200 => process != 1,
                _ => true,
            };
            let agreed = everybody(&mut world, size, |io, participants| agree(io, participants, 0));
            let expected = if size == 100 { 300 } else { 100 };
            assert!(agreed.into_iter().all(|context| context.unwrap() == expected));
        }
    }

    #[test]
    fn without_contexts_all_fail_at_once() {
        let mut world = World::new(5);
        world.draw = |_, _| None;
        let ends = everybody(&mut world, 5, |io, participants| agree(io, participants, 0));
        assert!(ends.into_iter().all(|end| end.unwrap_err().class() == MPI_ERR_OTHER));
    }

    #[test]
    fn a_member_with_another_key_gets_an_error() {
        let mut world = World::new(4);
        let ends = everybody(&mut world, 4, |io, participants| {
            let key = u64::from(participants.rank == 2);
            agree(io, participants, key)
        });
        let failed: Vec<bool> = ends.iter().map(Result::is_err).collect();
        assert_eq!(failed, [false, false, true, false]);
    }

    #[test]
    fn a_split_of_any_size() {
        for size in [1, 2, 3, 7, 8, 33, 1000] {
            let mut world = World::new(size);
            let args = |rank: usize| SplitArgs {
                color: (rank % 7 != 3).then_some((rank * rank % 5) as u32),
                key: (rank as i32 * 7919) % 13 - 6,
            };
            let results = everybody(&mut world, size, |io, participants| {
                let args = args(participants.rank);
                split(io, participants, None, args)
            });
            for (rank, result) in results.iter().enumerate() {
                let result = result.as_ref().unwrap();
                let Some(color) = args(rank).color else {
                    assert!(result.is_none());
                    continue;
                };
                let mut expected: Vec<usize> = (0..size).filter(|&other| args(other).color == Some(color)).collect();
                expected.sort_by_key(|&other| args(other).key);
                let result = result.as_ref().unwrap();
                assert!(result.near.iter().copied().eq(expected.iter().map(|&slot| Peer::at_slot(slot))));
                let first = results[expected[0]].as_ref().unwrap().as_ref().unwrap();
                assert_eq!(result.context, first.context);
                assert_eq!((result.context >> 12) as usize, expected[0], "the first of the part proposes");
            }
            let colors: std::collections::BTreeSet<_> = (0..size).filter_map(|rank| args(rank).color).collect();
            assert_eq!(world.given_back, size - colors.len());
            // One gather, in which every member gets three words from each.
            assert_eq!((world.messages, world.words), (size * sends_of_gather(size), 3 * size * (size - 1)));
        }
    }

    #[test]
    fn a_split_between_two_groups() {
        // Processes 0 to 4 on one side, 5 to 7 on the other; odd colors exist on one side only.
        let mut world = World::new(8);
        let results = everybody(&mut world, 8, |io, participants| {
            let rank = participants.rank;
            let is_near = (0..8).map(|other| (other < 5) == (rank < 5)).collect();
            let color = if rank < 5 { rank as u32 % 2 } else { 0 };
            split(io, participants, Some(is_near), SplitArgs { color: Some(color), key: -(rank as i32) })
        });
        for (rank, result) in results.into_iter().enumerate() {
            let result = result.unwrap();
            if rank < 5 && rank % 2 == 1 {
                assert!(result.is_none());
                continue;
            }
            let result = result.unwrap();
            let (low, high) = ([4, 2, 0].map(Peer::at_slot), [7, 6, 5].map(Peer::at_slot));
            let sides = if rank < 5 { [&low[..], &high[..]] } else { [&high[..], &low[..]] };
            assert_eq!([&result.near[..], &result.far[..]], sides);
            assert_eq!(result.context >> 12, 4);
        }
    }

    #[test]
    fn two_groups_join() {
        for (left, right) in [(1, 1), (2, 3), (4, 1), (5, 60)] {
            let size = left + right;
            let mut world = World::new(size);
            let sides: [Ranks; 2] = [
                Ranks::from_list((0..left).map(Peer::at_slot).collect()),
                Ranks::from_list((left..size).rev().map(Peer::at_slot).collect()),
            ];
            // The leaders are the last member of each side.
            let leaders = sides.each_ref().map(|side| side.peer(Rank::new(side.len() - 1)));
            let agreements = (0..size).map(|process| {
                let side = usize::from(process >= left);
                let group = sides[side].clone();
                let near = Participants::new(group.clone(), Peer::at_slot(process), 11 + side as u32, 3)
                    .led_by(group.len() - 1);
                let bridge = (near.rank == 0).then(|| Participants {
                    members: vec![leaders[side], leaders[1 - side]].into(),
                    rank: 0,
                    context: 20,
                    tag: -5,
                });
                (process, Agreement::new(|io| join(io, near, group, bridge)))
            });
            let ends: Vec<Joined> = world.run(agreements.collect()).into_iter().map(Result::unwrap).collect();
            for (process, end) in ends.iter().enumerate() {
                assert_eq!(end.context, ends[0].context);
                assert!(end.far.iter().copied().eq(sides[usize::from(process < left)].iter()));
            }
        }
    }

    #[test]
    fn the_largest_job_still_has_numbers() {
        let mut share = Contexts::new(WorldRank::new((1 << 20) - 1).unwrap(), 1 << 20);
        assert_eq!(share.bits, 10);
        assert!(share.draw().context > 0);
    }
}
