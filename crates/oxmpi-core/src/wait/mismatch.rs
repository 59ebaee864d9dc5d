//! Detects ranks that wait for each other in different collective calls, of which at least one goes
//! by messages: they would wait for ever.
//!
//! A rank that has slept in vain publishes in its block of the segment which of the communicator's
//! calls it is in, by number, and the names of that call and of the one before. Ranks that wait in
//! the call with the same number, or one more or less, compare. A rank that detects a difference
//! leaves its own words there, so that the other detects it, too. All that costs nothing as long as
//! anything moves. (Ranks on a board detect it by themselves, at once.)
//!
//! In a job on several nodes the ranks that the call waits for are asked too (`engine/calls.rs`); they pass on what they have
//! found out, so that a rank learns of a difference between two others. A rank that leaves a call with an error, whatever the
//! reason, says so in the same way: the others wait for it in vain.

use super::needs::Needs;
use super::unmatched::Difference;
use super::{Waiting, describe};
use crate::call::Guard;
use crate::call_history::{CallName, Calls};
use crate::collective::{Background, Stage};
use crate::engine::{News, Position};
use crate::process::Process;
use crate::ranks::Ranks;
use oxmpi_abi::Error;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_ROOT};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_base::ids::Peer;
use oxmpi_base::seq_record::SeqRecord;
use oxmpi_transport::board::different_calls;

/// A collective call that may have to wait.
pub struct MismatchCheck {
    comm: Comm,
    call: CallName,
    /// Whether the communicator has counted the call.
    counted: bool,
}

impl MismatchCheck {
    /// For a call that the communicator [counts](Calls::count) later.
    #[inline]
    pub fn new(fun: Fun, comm: Comm, root: Option<usize>) -> MismatchCheck {
        MismatchCheck { comm, call: CallName::new(fun as u16, root), counted: false }
    }

    /// The name that the communicator counts.
    #[inline]
    pub fn call(&self) -> CallName {
        self.call
    }

    /// The same check after the communicator has counted the call.
    #[inline]
    pub fn counted(self) -> MismatchCheck {
        MismatchCheck { counted: true, ..self }
    }

    /// After a sleep in vain: publishes our position, and searches for ranks that have died or are
    /// in another call.
    #[cold]
    pub(super) fn look(&self, guard: &mut Guard, awaited: &[Peer], may_ask: bool) -> Option<Error> {
        let comm = guard.comm(self.comm).ok()?;
        let here = Here::of_comm(comm, self.calls(comm));
        say(guard, &here);
        let comm = guard.comm(self.comm).ok()?;
        if let Some(error) = guard.dead_member(comm) {
            return Some(error);
        }
        // A call that the communicator does not count has no messages of this kind.
        let counted = Here::of_comm(comm, comm.calls);
        let answers = guard.engine.call_answers();
        let found = find_different(guard, &here).or_else(|| find_far(guard, &here, &answers));
        let found = found.or_else(|| find_unmatched(guard, &counted, awaited));
        found.or_else(|| find_left(guard, &here, awaited, &answers)).or_else(|| {
            if may_ask {
                ask(guard, here.context, awaited);
            }
            None
        })
    }

    /// Why the call fails, if a process of the communicator has failed, or it was revoked.
    #[cold]
    pub(super) fn lost(&self, guard: &Guard) -> Option<Error> {
        guard.comm(self.comm).ok()?.check_whole().err()
    }

    /// The cause of a failed call: if a process of the communicator has died, that is it.
    #[cold]
    pub fn cause(&self, guard: &mut Guard, error: Error) -> Error {
        let Ok(comm) = guard.comm(self.comm) else { return error };
        let (context, groups) = (comm.context, [comm.group.clone(), comm.local_group().clone()]);
        guard.true_cause(context, [&groups[0], &groups[1]], error)
    }

    /// The communicator of the call as text.
    pub(super) fn place(&self, state: &Process) -> String {
        let comm = state.comm(self.comm);
        comm.map_or_else(
            |_| String::new(),
            |comm| format!("on {} (call {})", describe::comm(comm), self.calls(comm).number),
        )
    }

    /// The call has failed because messages of another call arrived: publishes that for ranks that
    /// still wait for this one.
    #[cold]
    pub fn differed(&self, guard: &mut Guard) {
        if let Ok(comm) = guard.comm(self.comm) {
            let here = Here::of_comm(comm, self.calls(comm));
            guard.publish_differed(&here);
        }
    }

    /// The communicator's calls up to this one.
    fn calls(&self, comm: &crate::comm::Comm) -> Calls {
        let mut calls = comm.calls;
        if !self.counted {
            calls.count(self.call);
        }
        calls
    }
}

impl Waiting for MismatchCheck {
    fn collective(&self) -> Option<&MismatchCheck> {
        Some(self)
    }

    /// Any rank of the communicator: which of them a round on the board waits for, only the board knows.
    fn needs(&self, state: &Process, needs: &mut Needs) {
        match state.comm(self.comm) {
            Ok(comm) => needs.peers(comm.group.iter().chain(comm.local_group().iter())),
            Err(_) => needs.unknown(),
        }
    }
}

/// After a sleep in vain in a call that is not collective: publishes the position of one background
/// operation, the next one each time, and ends one with an error whose ranks are in another call.
#[cold]
pub(super) fn look_meanwhile(guard: &mut Guard, turn: usize, may_ask: bool) {
    let Some(turn) = turn.checked_rem(guard.runs().len()) else { return };
    let here = Here::of_stage(guard.runs()[turn].stage());
    say(guard, &here);
    let places: Vec<Here> = guard.runs().iter().map(|run| Here::of_stage(run.stage())).collect();
    let mut found = places.iter().enumerate().find_map(|(index, here)| Some((index, find_different(guard, here)?)));
    if found.is_none() {
        let awaited: Vec<Peer> = match &guard.runs()[turn] {
            Background::Plan(run) => guard.awaited_by_run(run).collect(),
            Background::Board(_) => Vec::new(),
        };
        let answers = guard.engine.call_answers();
        let error = find_far(guard, &here, &answers).or_else(|| find_unmatched(guard, &here, &awaited));
        let error = error.or_else(|| find_left(guard, &here, &awaited, &answers));
        found = error.map(|error| (turn, error));
        if may_ask {
            ask(guard, here.context, &awaited);
        }
    }
    if let Some((index, error)) = found {
        guard.end_run(index, error);
    }
}

/// A place among the calls of a communicator.
pub(crate) struct Here {
    pub(super) context: u32,
    pub(super) calls: Calls,
    pub(super) rank: i32,
    pub(super) local: Ranks,
    /// The other group of an intercommunicator.
    pub(super) other: Option<Ranks>,
}

impl Here {
    pub(crate) fn of_comm(comm: &crate::comm::Comm, calls: Calls) -> Here {
        let other = comm.is_inter().then(|| comm.group.clone());
        Here { context: comm.context, calls, rank: comm.rank, local: comm.local_group().clone(), other }
    }

    pub(crate) fn of_stage(stage: &Stage) -> Here {
        let other = stage.is_inter.then(|| stage.group.clone());
        let context = stage.comm_context();
        Here { context, calls: stage.calls, rank: stage.rank, local: stage.local.clone(), other }
    }

    fn position(&self) -> Position {
        Position::new(self.context, self.rank, &self.calls)
    }

    fn groups(&self) -> [Ranks; 2] {
        [self.local.clone(), self.other.clone().unwrap_or_else(|| Ranks::one_node(0))]
    }

    /// The group of a process, in words, and its rank there.
    fn place_of(&self, peer: Peer) -> Option<(&'static str, usize)> {
        let other = || Some((OTHER_GROUP, self.other.as_ref()?.position(peer)?));
        self.local.position(peer).map(|rank| (COMM, rank)).or_else(other)
    }

    /// The group of a process of another node that has told a position, in words, if there can be such a position.
    fn told(&self, (peer, theirs): &(Peer, Position)) -> Option<&'static str> {
        let (of, _) = self.place_of(*peer)?;
        let group = if of == COMM { &self.local } else { self.other.as_ref()? };
        ((theirs.rank as usize) < group.len()).then_some(of)
    }

    /// What a rank of a group says about its place, against ours; an error if they cannot both be right.
    fn compare(&self, of: &str, theirs: &Position) -> Option<Error> {
        let ours = self.position();
        if theirs.context != ours.context {
            return None;
        }
        let same: &[_] = match theirs.number.wrapping_sub(ours.number) as i32 {
            0 => &[(theirs.before, ours.before), (theirs.last, ours.last)],
            1 => &[(theirs.before, ours.last)],
            -1 => &[(theirs.last, ours.before)],
            _ => &[],
        };
        let (they, we) = same.iter().find(|(theirs, ours)| theirs != ours)?;
        let class = if *they as u16 == *we as u16 { MPI_ERR_ROOT } else { MPI_ERR_OTHER };
        let text = different_calls(
            (theirs.rank as usize, of),
            self.rank as usize,
            &describe_call(*they, None),
            &describe_call(*we, None),
        );
        Some(Error::new(class, text))
    }

    /// The error of our call if a rank that it waits for has left it, or a later one, with an error.
    fn left_by(&self, of: &str, theirs: &Position) -> Option<Error> {
        let is_past = theirs.number.wrapping_sub(self.calls.number) as i32 >= 0;
        if !theirs.has_left || theirs.context != self.context || !is_past {
            return None;
        }
        let text = format!(
            "rank {} of {of} has left this call with an error, so rank {} waits for it in vain",
            theirs.rank, self.rank
        );
        Some(Error::new(MPI_ERR_OTHER, text))
    }
}

impl Process {
    /// A context is used for a new communicator: what was published of another one is over.
    pub(crate) fn forget_calls(&mut self, context: u32) {
        self.engine.forget_calls(context);
        let left = &self.engine.node().block().differed;
        if left.get().is_some_and(|(place, _)| (place >> 32) as u32 == context) {
            left.put(0, [0, 0]);
        }
    }

    /// Publishes that this process has left a call with an error, perhaps because calls differ.
    #[cold]
    pub(crate) fn publish_differed(&mut self, here: &Here) {
        if let Some(comm) = self.comm_of(here.context).map(|comm| comm.handle)
            && let Ok(comm) = self.comm_mut(comm)
        {
            comm.calls.differed = true;
        }
        here.calls.publish(&self.engine.node().block().differed, here.context);
        if !self.engine.node().nodes().is_one_node() {
            let position = Position { has_left: true, ..here.position() };
            self.engine.publish_call(News::Differed, position, here.groups());
        }
    }
}

/// Searches for a rank of our group, or of the other one of an intercommunicator, that has
/// published another call at our position.
fn find_different(guard: &mut Guard, here: &Here) -> Option<Error> {
    let (theirs, error) = search_near(guard, here)?;
    found(guard, here, theirs);
    Some(error)
}

fn search_near(guard: &Guard, here: &Here) -> Option<(Position, Error)> {
    let node = guard.engine.node();
    let me = here.rank;
    let ours = here.local.iter().enumerate().filter(|&(rank, _)| rank as i32 != me).map(|found| (COMM, found));
    let theirs = here.other.iter().flat_map(|group| group.iter().enumerate()).map(|found| (OTHER_GROUP, found));
    // Ranks of other nodes publish in memory that is not shared.
    let near = ours.chain(theirs).filter(|(_, (_, process))| node.shares_memory(*process));
    let mut said = near.flat_map(|(of, (rank, process))| {
        let block = node.block_of(process);
        [&block.waiting, &block.differed].into_iter().filter_map(move |said| Some((of, published(said, rank)?)))
    });
    said.find_map(|(of, theirs)| here.compare(of, &theirs).map(|error| (theirs, error)))
}

/// What a rank has published in shared memory.
fn published(record: &SeqRecord<2>, rank: usize) -> Option<Position> {
    let (place, [last, before]) = record.get()?;
    let (context, number) = ((place >> 32) as u32, place as u32);
    Some(Position { context, rank: rank as u32, number, last, before, has_left: false })
}

const COMM: &str = "the communicator";
const OTHER_GROUP: &str = "the other group";

/// The same among the answers of ranks of other nodes.
fn find_far(guard: &mut Guard, here: &Here, answers: &[(Peer, Position)]) -> Option<Error> {
    let (theirs, error) =
        answers.iter().find_map(|answer| Some((&answer.1, here.compare(here.told(answer)?, &answer.1)?)))?;
    found(guard, here, theirs.clone());
    Some(error)
}

/// Searches for a rank that our call waits for and that has left it with an error, here and among the answers.
fn find_left(guard: &mut Guard, here: &Here, awaited: &[Peer], answers: &[(Peer, Position)]) -> Option<Error> {
    let node = guard.engine.node();
    let mut near = awaited.iter().filter(|peer| node.shares_memory(**peer));
    let error = near.find_map(|&peer| {
        let (of, rank) = here.place_of(peer)?;
        let theirs = published(&node.block_of(peer).differed, rank)?;
        here.left_by(of, &Position { has_left: true, ..theirs })
    });
    let mut far = answers.iter().filter(|answer| awaited.contains(&answer.0));
    let error = error.or_else(|| far.find_map(|answer| here.left_by(here.told(answer)?, &answer.1)))?;
    if !guard.engine.has_been_left(here.context, here.calls.number) {
        return None;
    }
    guard.publish_differed(here);
    Some(error)
}

/// The same among the messages of ranks that the call waits for.
fn find_unmatched(guard: &mut Guard, here: &Here, awaited: &[Peer]) -> Option<Error> {
    let Difference { error, theirs } = guard.unmatched_call(here, Some(awaited))?;
    match theirs {
        Some(theirs) => found(guard, here, theirs),
        None => guard.publish_differed(here),
    }
    Some(error)
}

/// Publishes that another rank is in another call.
fn found(guard: &mut Guard, here: &Here, theirs: Position) {
    guard.publish_differed(here);
    // Between two groups a number does not say which rank it is.
    if here.other.is_none() && !guard.engine.node().nodes().is_one_node() {
        guard.engine.publish_call(News::Found, theirs, here.groups());
    }
}

/// Asks the ranks that a call waits for, where there are several nodes: those of this one may have heard of a difference.
fn ask(guard: &mut Guard, context: u32, awaited: &[Peer]) {
    let node = guard.engine.node();
    let (own, is_one) = (node.own(), node.nodes().is_one_node());
    let asked = |peer: &&Peer| !is_one && **peer != own && !node.is_foreign(**peer);
    let peers: Vec<Peer> = awaited.iter().filter(asked).copied().collect();
    guard.engine.ask_calls(&peers, context);
}

fn say(guard: &mut Guard, here: &Here) {
    here.calls.publish(&guard.engine.node().block().waiting, here.context);
    if !guard.engine.node().nodes().is_one_node() {
        guard.engine.publish_call(News::Waits, here.position(), here.groups());
    }
}

/// Withdraws what we published, after the wait.
#[cold]
pub(super) fn stop(guard: &mut Guard) {
    guard.engine.node().block().waiting.put(0, [0, 0]);
    guard.engine.end_of_wait();
}

/// A call from its word, with the bytes that it transfers if they are known.
pub(super) fn describe_call(word: u64, bytes: Option<u64>) -> String {
    let name = Fun::from_u16(word as u16).map_or("a collective function", Fun::name);
    let root = (word >> 16).checked_sub(1).map(|root| format!("root {root}"));
    let words: Vec<String> = bytes.map(|bytes| format!("{bytes} bytes")).into_iter().chain(root).collect();
    format!("{name}({})", words.join(", "))
}
