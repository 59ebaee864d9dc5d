//! Processes that will never do anything again, and what cannot complete because of that.
//!
//! A process of another job that has died is found by looking whether it lives. What is under way
//! with it ends with an error: messages and nonblocking collective operations here, and each wait
//! decides for itself by what it waits for (see `wait/`). Looking costs a system call for each
//! foreign process, so only a call that waits in vain does it, or a program that polls in vain.

use crate::comm::{Comm, Ranks};
use crate::matching::Pattern;
use crate::partitioned;
use crate::process::Process;
use crate::request::{Active, Body};
use oxmpi_abi::Error;
use oxmpi_abi::constants::{MPI_ANY_SOURCE, MPI_ERR_PROC_ABORTED};
use oxmpi_base::ids::Rank;
use oxmpi_transport::Ended;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks of a program that polls.
const LOOK: Duration = Duration::from_millis(500);
/// Polls in vain between two looks at the clock.
const POLLS: u32 = 256;

/// When a program that polls has to look for processes that have ended.
#[derive(Default)]
pub struct Polls {
    count: u32,
    last: Option<Instant>,
}

impl Polls {
    /// One more poll was in vain; whether it is time to look.
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

impl Process {
    /// A program has asked in vain for something that another process does, and may ask for ever.
    #[inline]
    pub fn polled_in_vain(&mut self) {
        if self.engine.node().knows_foreign() && self.polls.is_time() {
            self.look_for_dead();
        }
    }

    /// Looks for processes of other jobs that have ended. What waits for them ends with an error.
    #[cold]
    pub fn look_for_dead(&mut self) {
        let ended = self.engine.find_ended();
        if ended.is_empty() {
            return;
        }
        // What they sent before they ended is received first.
        self.engine.drain_all();
        for (peer, how) in ended {
            self.engine.end_with_dead(peer, &died(None));
            for comm in self.comms.iter().map(|(_, comm)| comm).chain(self.files.iter().map(|(_, file)| &file.comm)) {
                let Some(rank) = comm.group.position(peer) else { continue };
                // A process that has ended well may have sent all that was to come from it.
                let any = how == Ended::Died;
                let hopeless = |pattern: &Pattern| {
                    pattern.context == comm.context
                        && (pattern.source == rank as i32 || any && pattern.source == MPI_ANY_SOURCE)
                };
                self.engine.end_posted(hopeless, &died(Some((rank, comm))));
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
    fn end_partitioned(&mut self) {
        let mut hopeless = Vec::new();
        for (_, request) in self.requests.iter() {
            let (Body::Once(active) | Body::Persistent(_, Some(active))) = &request.body else { continue };
            let (Active::Receiving(receiving), Ok(comm)) = (active, self.comm(request.comm)) else { continue };
            let rank = partitioned::lock(receiving).source();
            if rank < comm.group.len() && self.engine.node().has_ended(comm.group.peer(Rank::new(rank))) {
                hopeless.push((Arc::clone(receiving), died(Some((rank, comm)))));
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

    /// The same for groups that use a context; it may have no communicator any more, or not yet.
    pub fn dead_among<'a>(&self, context: u32, groups: impl IntoIterator<Item = &'a Ranks>) -> Option<Error> {
        if !self.engine.node().knows_foreign() {
            return None;
        }
        let dead = |group: &Ranks| group.iter().find(|&process| self.engine.node().has_died(process));
        let dead = groups.into_iter().find_map(dead)?;
        let comm = self.comm_of(context);
        Some(died(comm.and_then(|comm| Some((comm.group.position(dead)?, comm)))))
    }

    /// Why no message that a pattern accepts will come, if its sender has died. Messages that have
    /// come were looked for before.
    pub fn dead_source(&self, pattern: &Pattern) -> Option<Error> {
        let comm = self.comm_of(pattern.context)?;
        let node = self.engine.node();
        let rank = match usize::try_from(pattern.source) {
            Ok(source) => {
                Some(source).filter(|&rank| rank < comm.group.len() && node.has_ended(comm.group.peer(Rank::new(rank))))
            }
            Err(_) => comm.group.iter().position(|process| node.has_died(process)),
        }?;
        Some(died(Some((rank, comm))))
    }

    /// An error of a collective operation: if a process has died, that is the cause, whatever a rank
    /// concluded from what it got.
    #[cold]
    pub fn true_cause(&mut self, context: u32, groups: [&Ranks; 2], error: Error) -> Error {
        if error.class() == MPI_ERR_PROC_ABORTED || !self.engine.node().knows_foreign() {
            return error;
        }
        self.look_for_dead();
        self.dead_among(context, groups).unwrap_or(error)
    }

    /// The communicator that uses a context or its twin; one of a file, too.
    pub fn comm_of(&self, context: u32) -> Option<&Comm> {
        let context = context & !1;
        let predefined = self.has_world.then_some([&self.world, &self.own]).into_iter().flatten();
        let made = self.comms.iter().map(|(_, comm)| comm).chain(self.files.iter().map(|(_, file)| &file.comm));
        predefined.chain(made).find(|comm| comm.context == context)
    }
}

/// The error of what cannot complete because a process of another job has ended.
#[cold]
pub fn died(of: Option<(usize, &Comm)>) -> Error {
    let who = match of {
        Some((rank, comm)) if comm.is_inter() => {
            format!("rank {rank} of the remote group of {}, a process of another job,", comm.describe())
        }
        Some((rank, comm)) => format!("rank {rank} of {}, a process of another job,", comm.describe()),
        None => "a process of another job that takes part".into(),
    };
    Error::new(MPI_ERR_PROC_ABORTED, format!("{who} has ended, so this call cannot complete"))
}
