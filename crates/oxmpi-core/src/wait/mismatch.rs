//! Detects ranks that wait for each other in different collective calls, of which at least one goes
//! by messages: they would wait for ever.
//!
//! A rank that has slept in vain publishes in its block of the segment which of the communicator's
//! calls it is in, by number, and the names of that call and of the one before. Ranks that wait in
//! the call with the same number, or one more or less, compare. A rank that detects a difference
//! leaves its own words there, so that the other detects it, too. All that costs nothing as long as
//! anything moves. (Ranks on a board detect it by themselves, at once.)

use super::Waiting;
use crate::call::Guard;
use crate::comm::{CallName, Calls, Ranks};
use crate::process::Process;
use oxmpi_abi::Error;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_ROOT};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_base::seq_record::SeqRecord;
use oxmpi_transport::node::different_calls;

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
    pub(super) fn look(&self, guard: &Guard) -> Option<Error> {
        let comm = guard.comm(self.comm).ok()?;
        let calls = self.calls(comm);
        say(guard, comm.context, &calls);
        if let Some(error) = guard.dead_member(comm) {
            return Some(error);
        }
        let other = comm.is_inter().then_some(&comm.group);
        find_different(guard, comm.context, &calls, comm.rank, comm.local_group(), other)
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
        comm.map_or_else(|_| String::new(), |comm| format!("on {} (call {})", comm.describe(), self.calls(comm).number))
    }

    /// The call has failed because messages of another call arrived: publishes that for ranks that
    /// still wait for this one.
    #[cold]
    pub fn differed(&self, guard: &Guard) {
        if let Ok(comm) = guard.comm(self.comm) {
            self.calls(comm).publish(&guard.engine.node().block().differed, comm.context);
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
}

/// After a sleep in vain in a call that is not collective: publishes the position of one background
/// operation, the next one each time, and ends one with an error whose ranks are in another call.
#[cold]
pub(super) fn look_meanwhile(guard: &mut Guard, turn: usize) {
    let runs = guard.runs();
    let Some(stage) = turn.checked_rem(runs.len()).map(|index| runs[index].stage()) else { return };
    say(guard, stage.comm_context(), &stage.calls);
    let found = runs.iter().enumerate().find_map(|(index, run)| {
        let stage = run.stage();
        let other = stage.is_inter.then_some(&stage.group);
        find_different(guard, stage.comm_context(), &stage.calls, stage.rank, &stage.local, other)
            .map(|error| (index, error))
    });
    if let Some((index, error)) = found {
        guard.end_run(index, error);
    }
}

/// Searches for a rank of our group, or of the `other` one of an intercommunicator, that has
/// published another call at our position.
fn find_different(
    guard: &Guard,
    context: u32,
    calls: &Calls,
    me: i32,
    group: &Ranks,
    other: Option<&Ranks>,
) -> Option<Error> {
    let node = guard.engine.node();
    let ours = group.iter().enumerate().filter(|&(rank, _)| rank as i32 != me).map(|found| ("the communicator", found));
    let theirs = other.into_iter().flat_map(|group| group.iter().enumerate()).map(|found| ("the other group", found));
    // Ranks of other nodes publish in memory that is not shared.
    let near = ours.chain(theirs).filter(|(_, (_, process))| node.shares_memory(*process));
    let mut said = near.flat_map(|(of, (rank, process))| {
        let block = node.block_of(process);
        [&block.waiting, &block.differed].into_iter().filter_map(SeqRecord::get).map(move |said| (of, rank, said))
    });
    let found = said.find_map(|(of, rank, (place, [last, before]))| {
        if (place >> 32) as u32 != context {
            return None;
        }
        let ours = [calls.last.word(), calls.before.word()];
        let same: &[_] = match (place as u32).wrapping_sub(calls.number) as i32 {
            0 => &[(before, ours[1]), (last, ours[0])],
            1 => &[(before, ours[0])],
            -1 => &[(last, ours[1])],
            _ => &[],
        };
        let (theirs, ours) = same.iter().find(|(theirs, ours)| theirs != ours)?;
        let class = if *theirs as u16 == *ours as u16 { MPI_ERR_ROOT } else { MPI_ERR_OTHER };
        Some(Error::new(class, different_calls((rank, of), me as usize, &describe(*theirs), &describe(*ours))))
    });
    if found.is_some() {
        calls.publish(&node.block().differed, context);
    }
    found
}

fn say(guard: &Guard, context: u32, calls: &Calls) {
    calls.publish(&guard.engine.node().block().waiting, context);
}

/// Withdraws what we published, after the wait.
#[cold]
pub(super) fn stop(guard: &Guard) {
    guard.engine.node().block().waiting.put(0, [0, 0]);
}

fn describe(word: u64) -> String {
    let name = Fun::from_u16(word as u16).map_or("a collective function", Fun::name);
    match (word >> 16).checked_sub(1) {
        Some(root) => format!("{name}(root {root})"),
        None => format!("{name}()"),
    }
}
