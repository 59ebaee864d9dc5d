//! Ranks that wait for each other in different collective calls, of which one at least goes by messages: nobody would ever come.
//!
//! A rank that has slept in vain says in its block of the segment which of the communicator's calls it is in, by number, and
//! what that call is and the one before it was; ranks that wait in the one with the same number, or one more or less, compare.
//! That costs nothing as long as anything moves. (Ranks on a board find out by themselves, at once.)

use crate::library::Guard;
use oxmpi_abi::Error;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_ROOT};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_core::comm::{CallName, Calls};
use oxmpi_transport::node::different_calls;
use std::cell::Cell;

/// A collective call that may have to wait.
pub struct Watch {
    comm: Comm,
    call: CallName,
    /// Whether the communicator has counted the call.
    counted: bool,
    said: Cell<bool>,
}

impl Watch {
    /// Of a call that the communicator [counts](Calls::count) later.
    #[inline]
    pub fn new(fun: Fun, comm: Comm, root: Option<usize>) -> Watch {
        Watch { comm, call: CallName::new(fun as u16, root), counted: false, said: Cell::new(false) }
    }

    /// What the communicator counts.
    #[inline]
    pub fn call(&self) -> CallName {
        self.call
    }

    /// The same, where calls with and without large counts belong together.
    pub fn word(&self) -> u64 {
        word(self.call)
    }

    /// The same watch once it has.
    #[inline]
    pub fn counted(self) -> Watch {
        Watch { counted: true, ..self }
    }

    /// We have slept in vain: says where we are, and looks for ranks that are in another call there.
    #[cold]
    pub fn look(&self, guard: &Guard) -> Option<Error> {
        let comm = guard.comm(self.comm).ok()?;
        if comm.is_inter() {
            return None;
        }
        let mut calls = comm.calls;
        if !self.counted {
            calls.count(self.call);
        }
        say(guard, comm.context, &calls);
        self.said.set(true);
        let shm = guard.engine.shm();
        let mut others = comm.group.iter().enumerate().filter(|&(rank, _)| rank as i32 != comm.rank);
        others.find_map(|(rank, process)| {
            let (place, [last, before]) = shm.block_of(process as usize).waiting.get()?;
            if (place >> 32) as u32 != comm.context {
                return None;
            }
            let ours = [word(calls.last), word(calls.before)];
            let same: &[_] = match (place as u32).wrapping_sub(calls.number) as i32 {
                0 => &[(before, ours[1]), (last, ours[0])],
                1 => &[(before, ours[0])],
                -1 => &[(last, ours[1])],
                _ => &[],
            };
            let (theirs, ours) = same.iter().find(|(theirs, ours)| theirs != ours)?;
            Some(differs(rank, comm.rank as usize, *theirs, *ours))
        })
    }

    /// The wait is over.
    #[inline]
    pub fn end(&self, guard: &Guard) {
        if self.said.replace(false) {
            stop(guard);
        }
    }
}

/// We have slept in vain in a call that is not collective: of operations that go on meanwhile, who waits in another call should
/// know. Whether there are any.
#[cold]
pub fn say_meanwhile(guard: &Guard) -> bool {
    let Some((context, calls)) = guard.first_run() else { return false };
    say(guard, context, &calls);
    true
}

fn say(guard: &Guard, context: u32, calls: &Calls) {
    let place = u64::from(context) << 32 | u64::from(calls.number);
    guard.engine.shm().block().waiting.put(place, [word(calls.last), word(calls.before)]);
}

/// We wait no longer.
#[cold]
pub fn stop(guard: &Guard) {
    guard.engine.shm().block().waiting.put(0, [0, 0]);
}

/// Calls with and without large counts belong together.
fn word(call: CallName) -> u64 {
    let function = Fun::from_u16(call.function).map_or(call.function, |fun| fun.without_large_counts() as u16);
    u64::from(function) | u64::from(call.root) << 16
}

fn differs(rank: usize, me: usize, theirs: u64, ours: u64) -> Error {
    let class = if theirs as u16 == ours as u16 { MPI_ERR_ROOT } else { MPI_ERR_OTHER };
    Error::new(class, different_calls(rank, me, &describe(theirs), &describe(ours)))
}

fn describe(word: u64) -> String {
    let name = Fun::from_u16(word as u16).map_or("a collective function", Fun::name);
    match (word >> 16).checked_sub(1) {
        Some(root) => format!("{name}(root {root})"),
        None => format!("{name}()"),
    }
}
