//! Processes that have ended, and operations that cannot complete because of that.
//!
//! A process of another job that has died is found by checking whether it is alive. Operations with
//! it end with an error: messages and nonblocking collective operations here; each wait decides for
//! itself by what it waits for (see `wait/`). The check costs a system call per foreign process, so
//! only a call that waits in vain makes it, or a program that polls in vain.
//!
//! A rank that has called `MPI_Finalize` does nothing more on the existing communicators, and
//! everything that it sent has arrived. A call that waits for just that rank ends with an error.
//! Nothing else does: a request that the program may still cancel, or one in `MPI_Waitany` beside
//! others that may complete, is no mistake. A process may open a session later: what was made from
//! a session, or is being made, waits for it.

use crate::collective::{Background, Run};
use crate::comm::Comm;
use crate::engine::{OpId, Pending};
use crate::matching::{Envelope, Pattern};
use crate::partitioned::{self, Receiving};
use crate::process::Process;
use crate::ranks::Ranks;
use crate::request::{Active, Body};
use oxmpi_abi::Error;
use oxmpi_abi::constants::{
    MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED, MPIX_ERR_PROC_FAILED, MPIX_ERR_REVOKED,
};
use oxmpi_abi::handle;
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_transport::{Ended, NodeMemory};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time between two checks by a program that polls.
const LOOK: Duration = Duration::from_millis(500);
/// Polls in vain between two reads of the clock.
const POLLS: u32 = 256;

/// When a program that polls must check for processes that have ended.
#[derive(Default)]
pub struct Polls {
    count: u32,
    turns: u8,
    last: Option<Instant>,
}

impl Polls {
    /// True once in a while.
    pub(crate) fn is_turn(&mut self) -> bool {
        self.turns = self.turns.wrapping_add(1);
        self.turns.is_multiple_of(64)
    }

    /// Counts a poll in vain; whether it is time for a check.
    fn is_time(&mut self) -> bool {
        self.count = self.count.wrapping_add(1);
        if !self.count.is_multiple_of(POLLS) {
            return false;
        }
        let due = self.last.is_some_and(|last| last.elapsed() >= LOOK);
        if due || self.last.is_none() {
            self.last = Some(Instant::now());
        }
        due
    }
}

/// The processes that had left at the last check.
#[derive(Default)]
pub(crate) struct Gone {
    peers: Vec<Peer>,
    /// No other thread of this process can send anything.
    alone: bool,
}

impl Gone {
    pub(crate) fn contains(&self, peer: Peer) -> bool {
        self.peers.contains(&peer)
    }
}

/// What will never complete, and why.
enum Hopeless {
    Operation(OpId, Error),
    /// A background collective operation, by its index among the runs.
    Run(usize, Error),
    /// A partitioned receive.
    Receiving(Arc<Mutex<Receiving>>, Error),
}

impl Process {
    /// A call has waited in vain for a while: checks which processes have ended or finalized, and
    /// then receives everything that they sent. `alone`: no other thread of this process can send
    /// anything.
    #[cold]
    pub fn look_around(&mut self, alone: bool) {
        let mut peers = self.engine.node().finalized();
        peers.extend(self.engine.finalized_far());
        self.gone = Gone { peers, alone };
        self.tell_broken_links();
        if self.engine.node().may_lose_peers() {
            self.look_for_dead();
        }
        if !self.gone.peers.is_empty() {
            self.engine.drain_all();
        }
    }

    /// Ends an operation that a call waits for, if it can never complete.
    pub fn fail_operation(&mut self, op: OpId) {
        if let Some(error) = self.hopeless_operation(op) {
            self.engine.fail(op, error);
        }
    }

    /// Ends requests that a call waits for, if none of them can complete; null requests do not
    /// count. Not if another thread may cancel one.
    pub fn fail_requests(&mut self, requests: &[handle::Request]) {
        if !self.gone.alone {
            return;
        }
        let mut hopeless = Vec::new();
        for request in requests {
            let Some(request) = self.requests.get(request.0) else { continue };
            match &request.body {
                Body::Persistent(_, None) => continue,
                Body::Once(active) | Body::Persistent(_, Some(active)) => match self.hopeless(active) {
                    Some(found) => hopeless.push(found),
                    None => return,
                },
                Body::Sent | Body::Generalized(_) => return,
            }
        }
        hopeless.into_iter().take(1).for_each(|found| self.fail(found));
    }

    /// The same for an operation that has no request.
    pub fn fail_active(&mut self, active: &Active) {
        if let Some(found) = self.hopeless(active) {
            self.fail(found);
        }
    }

    fn fail(&mut self, found: Hopeless) {
        match found {
            Hopeless::Operation(op, error) => self.engine.fail(op, error),
            Hopeless::Run(index, error) => self.end_run(index, error),
            Hopeless::Receiving(receiving, error) => partitioned::lock(&receiving).fail(&mut self.engine, error),
        }
    }

    fn hopeless(&self, active: &Active) -> Option<Hopeless> {
        let operation = |op: OpId| self.hopeless_operation(op).map(|error| Hopeless::Operation(op, error));
        match active {
            Active::Send(op) | Active::Recv(op) => operation(*op),
            Active::Exchange(exchange) => {
                exchange.recv.and_then(operation).or_else(|| exchange.send.and_then(operation))
            }
            Active::Promise(promise) => {
                let index = self.runs().iter().position(|run| run.keeps(promise))?;
                match &self.runs()[index] {
                    Background::Plan(run) => self.hopeless_run(run).map(|error| Hopeless::Run(index, error)),
                    // Ranks that leave a board say so there.
                    Background::Board(_) => None,
                }
            }
            Active::Sending(sending) => {
                let op = sending.last_part()?;
                let Pending::Send(route) = self.engine.pending(op)? else { return None };
                let rank = self.world_comm_of(route.context)?.group.position(route.peer)?;
                let error =
                    self.gone_partner(route.context, rank, "and has not received all partitions of this message")?;
                Some(Hopeless::Operation(op, error))
            }
            Active::Receiving(receiving) => {
                let (context, rank) = partitioned::lock(receiving).sender();
                let error =
                    self.gone_partner(context, rank, "so no more partitions of this message will come from it")?;
                Some(Hopeless::Receiving(Arc::clone(receiving), error))
            }
            Active::Flush(..) | Active::File(_) | Active::Done(_) => None,
        }
    }

    /// Why a partitioned message cannot complete, if the rank on its other side has finalized.
    fn gone_partner(&self, context: u32, rank: usize, consequence: &str) -> Option<Error> {
        let comm = self.world_comm_of(context).filter(|comm| rank < comm.group.len())?;
        let peer = comm.group.peer(Rank::new(rank));
        let text = || format!("{} has called MPI_Finalize, {consequence}", member(rank, comm));
        self.gone.contains(peer).then(|| Error::new(class_of(self.engine.node(), peer), text()))
    }

    fn hopeless_operation(&self, op: OpId) -> Option<Error> {
        match self.engine.pending(op)? {
            Pending::Recv(pattern) => self.gone_source(&pattern),
            Pending::Send(route) => {
                let comm = self.world_comm_of(route.context).filter(|_| self.gone.contains(route.peer))?;
                let rank = comm.group.position(route.peer)?;
                let text = format!(
                    "{} has called MPI_Finalize without receiving this message with tag {}",
                    member(rank, comm),
                    route.tag
                );
                Some(Error::new(class_of(self.engine.node(), route.peer), text))
            }
        }
    }

    /// Why a collective operation by messages cannot complete, if a rank that it waits for has
    /// finalized.
    pub fn hopeless_run(&self, run: &Run) -> Option<Error> {
        let comm = self.world_comm_of(run.stage().comm_context())?;
        let gone = self.awaited_by_run(run).find(|&peer| self.gone.contains(peer));
        gone.map(|peer| absent(self.engine.node(), peer, comm))
    }

    /// The processes that a collective operation by messages waits for.
    pub(crate) fn awaited_by_run<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = Peer> + 'a {
        run.operations().filter_map(|op| match self.engine.pending(op)? {
            Pending::Recv(pattern) => run.stage().sender(&pattern),
            Pending::Send(route) => Some(route.peer),
        })
    }

    /// Why no message that a pattern accepts will come, if all possible senders have finalized.
    pub fn gone_source(&self, pattern: &Pattern) -> Option<Error> {
        let comm = self.world_comm_of(pattern.context).filter(|comm| comm.context == pattern.context)?;
        let tag = match pattern.tag {
            MPI_ANY_TAG => String::from("no message"),
            tag => format!("no message with tag {tag}"),
        };
        let own = self.engine.node().own();
        let Ok(rank) = usize::try_from(pattern.source) else {
            let mut others = comm.group.iter().filter(|&peer| peer != own).peekable();
            let any = others.peek().copied()?;
            if !others.all(|peer| self.gone.contains(peer)) || !self.gone.alone {
                return None;
            }
            let unmatched = self.unmatched_from(pattern);
            let text = format!(
                "all other ranks of {} have called MPI_Finalize, so {tag} will come{unmatched}",
                comm.describe()
            );
            return Some(Error::new(class_of(self.engine.node(), any), text));
        };
        let peer = Some(rank).filter(|&rank| rank < comm.group.len()).map(|rank| comm.group.peer(Rank::new(rank)))?;
        if peer == own || !self.gone.contains(peer) {
            return None;
        }
        let unmatched = self.unmatched_from(pattern);
        let text = format!("{} has called MPI_Finalize, so {tag} will come from it{unmatched}", member(rank, comm));
        Some(Error::new(class_of(self.engine.node(), peer), text))
    }

    /// Messages from the senders of a pattern, on its communicator, that have arrived and were not
    /// received.
    fn unmatched_from(&self, pattern: &Pattern) -> String {
        let ours = |envelope: &Envelope| {
            envelope.context == pattern.context
                && (pattern.source == MPI_ANY_SOURCE || envelope.source == pattern.source)
        };
        let tags: BTreeSet<i32> =
            self.engine.unmatched().filter(|(envelope, _)| ours(envelope)).map(|(envelope, _)| envelope.tag).collect();
        if tags.is_empty() {
            return String::new();
        }
        let list: Vec<String> = tags.iter().take(MOST_TAGS).map(i32::to_string).collect();
        let more = if tags.len() > MOST_TAGS { ", …" } else { "" };
        format!("; messages that arrived and match no receive have the tags {}{more}", list.join(", "))
    }

    /// A program has polled in vain for something that another process does, and may poll for ever.
    #[inline]
    pub fn polled_in_vain(&mut self) {
        if self.engine.node().may_lose_peers() && self.polls.is_time() {
            self.look_for_dead();
        }
    }

    /// Checks for processes of other jobs that have ended. Operations that wait for them end with
    /// an error.
    #[cold]
    pub fn look_for_dead(&mut self) {
        self.look_for_news();
        let ended = self.engine.find_ended();
        if ended.is_empty() {
            return;
        }
        // Packets that they sent before their end are received first.
        self.engine.drain_all();
        for (peer, how) in ended {
            if how == Ended::Died && self.engine.node().goes_on() {
                self.note_failed(peer);
            }
            let error = died(self.engine.node(), peer, None);
            self.engine.end_with_dead(peer, &error);
            let made =
                self.comms.made.iter().map(|(_, comm)| comm).chain(self.files.iter().map(|(_, file)| &file.comm));
            for comm in made.chain([&self.comms.world]) {
                let Some(rank) = comm.group.position(peer) else { continue };
                // A process that has finalized may have sent everything that others wait for.
                let any = how == Ended::Died && !self.engine.node().goes_on();
                let hopeless = |pattern: &Pattern| {
                    pattern.context == comm.context
                        && (pattern.source == rank as i32 || any && pattern.source == MPI_ANY_SOURCE)
                };
                let error = died(self.engine.node(), peer, Some(comm));
                self.engine.end_posted(hopeless, &error);
            }
        }
        self.end_partitioned();
        for index in (0..self.runs().len()).rev() {
            let stage = self.runs()[index].stage();
            if let Some(error) = self.dead_among(stage.comm_context(), [&stage.group, &stage.local]) {
                self.end_run(index, error);
            }
        }
    }

    /// Ends partitioned receives whose senders have ended.
    pub(crate) fn end_partitioned(&mut self) {
        let mut hopeless = Vec::new();
        for (_, request) in self.requests.iter() {
            let (Body::Once(active) | Body::Persistent(_, Some(active))) = &request.body else { continue };
            let (Active::Receiving(receiving), Ok(comm)) = (active, self.comm(request.comm)) else { continue };
            let rank = partitioned::lock(receiving).source();
            let Some(peer) = (rank < comm.group.len()).then(|| comm.group.peer(Rank::new(rank))) else { continue };
            if self.engine.node().has_ended(peer) {
                hopeless.push((Arc::clone(receiving), died(self.engine.node(), peer, Some(comm))));
            }
        }
        for (receiving, error) in hopeless {
            partitioned::lock(&receiving).fail(&mut self.engine, error);
        }
    }

    /// Why a collective operation on a communicator cannot complete, if one of its processes has died.
    pub fn dead_member(&self, comm: &Comm) -> Option<Error> {
        self.dead_among(comm.context, [&comm.group, comm.local_group()])
    }

    /// The same for groups that use a context, whose communicator may be freed, or not exist yet.
    pub fn dead_among<'a>(&self, context: u32, groups: impl IntoIterator<Item = &'a Ranks>) -> Option<Error> {
        if self.failures.is_revoked(context) {
            let what = self.comm_of(context).map_or_else(|| "the communicator".into(), Comm::describe);
            return Some(Error::new(MPIX_ERR_REVOKED, format!("{what} was revoked")));
        }
        if !self.engine.node().may_lose_peers() {
            return None;
        }
        let dead = |group: &Ranks| group.iter().find(|&process| self.engine.node().has_died(process));
        let dead = groups.into_iter().find_map(dead)?;
        Some(died(self.engine.node(), dead, self.comm_of(context)))
    }

    /// Why no message that a pattern accepts will come, if its sender has died. The caller has
    /// searched the messages that have arrived.
    pub fn dead_source(&self, pattern: &Pattern) -> Option<Error> {
        let comm = self.comm_of(pattern.context)?;
        let node = self.engine.node();
        if node.goes_on() || self.failures.any() {
            return self.lost_source(pattern, true);
        }
        let rank = match usize::try_from(pattern.source) {
            Ok(source) => {
                Some(source).filter(|&rank| rank < comm.group.len() && node.has_ended(comm.group.peer(Rank::new(rank))))
            }
            Err(_) => comm.group.iter().position(|process| node.has_died(process)),
        }?;
        Some(died(node, comm.group.peer(Rank::new(rank)), Some(comm)))
    }

    /// The cause of an error of a collective operation: if a process has died, that is it, whatever
    /// a rank concluded from what it received.
    #[cold]
    pub fn true_cause(&mut self, context: u32, groups: [&Ranks; 2], error: Error) -> Error {
        if error.is_of_others() {
            return error;
        }
        self.look_for_news();
        if self.engine.node().may_lose_peers() {
            self.look_for_dead();
        }
        self.dead_among(context, groups).unwrap_or(error)
    }

    /// As [`Process::comm_of`], unless it was made from a group: a member that has finalized may be
    /// about to join it.
    pub(crate) fn world_comm_of(&self, context: u32) -> Option<&Comm> {
        self.comm_of(context).filter(|comm| !comm.from_group)
    }

    /// The communicator that uses a context or its twin, including those of files.
    pub fn comm_of(&self, context: u32) -> Option<&Comm> {
        let context = context & !1;
        let predefined = self.comms.has_world.then_some([&self.comms.world, &self.comms.own]).into_iter().flatten();
        let made = self.comms.made.iter().map(|(_, comm)| comm).chain(self.files.iter().map(|(_, file)| &file.comm));
        predefined.chain(made).find(|comm| comm.context == context)
    }
}

/// Tags that a text names.
const MOST_TAGS: usize = 8;

/// A process of another job that is gone has ended, as far as this one can tell.
fn class_of(node: &NodeMemory, peer: Peer) -> i32 {
    match (node.goes_on(), node.is_foreign(peer)) {
        (true, _) => MPIX_ERR_PROC_FAILED,
        (false, true) => MPI_ERR_PROC_ABORTED,
        (false, false) => MPI_ERR_OTHER,
    }
}

/// A process as a member of a communicator.
fn member_named(peer: Peer, comm: &Comm) -> Option<String> {
    let near = |local: &Ranks| {
        let rank = local.position(peer)?;
        Some(format!("rank {rank} of the local group of {}", comm.describe()))
    };
    match comm.group.position(peer) {
        Some(rank) => Some(member(rank, comm)),
        None => comm.local.as_ref().and_then(near),
    }
}

fn member(rank: usize, comm: &Comm) -> String {
    let of = if comm.is_inter() { "the remote group of " } else { "" };
    format!("rank {rank} of {of}{}", comm.describe())
}

/// The error of a collective call that a rank has not made, and never will.
#[cold]
pub fn absent(node: &NodeMemory, peer: Peer, comm: &Comm) -> Error {
    let who = member_named(peer, comm).unwrap_or_else(|| comm.describe());
    Error::new(
        class_of(node, peer),
        format!("{who} has called MPI_Finalize without making this call, which waits for it"),
    )
}

/// The error of an operation that cannot complete because a process has ended, of another job or on
/// another node. `comm`: the communicator of the operation.
#[cold]
pub fn died(node: &NodeMemory, peer: Peer, comm: Option<&Comm>) -> Error {
    let of_comm = comm.and_then(|comm| member_named(peer, comm));
    let in_world = || node.nodes().rank_of(peer).map(|rank| format!("rank {rank} of MPI_COMM_WORLD"));
    let who = match (of_comm, node.is_foreign(peer)) {
        (Some(member), true) => format!("{member}, a process of another job,"),
        (Some(member), false) => member,
        (None, _) => in_world().unwrap_or_else(|| "a process of another job that takes part".into()),
    };
    let class = if node.goes_on() { MPIX_ERR_PROC_FAILED } else { MPI_ERR_PROC_ABORTED };
    Error::new(class, format!("{who} has ended, so this call cannot complete"))
}
