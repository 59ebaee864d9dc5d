//! Waiting: every loop that waits for another rank or thread, and every sleep, is here and nowhere
//! else.
//!
//! ```text
//! mod.rs         a call waits: look, move messages, back off, sleep
//! waiting.rs     what a call can wait for, and how each of these can fail
//! agreement.rs   for an agreement of processes
//! plan.rs        for a collective operation that goes by messages
//! board.rs       for other ranks of a board
//! window.rs      for what other ranks do to a window
//! outside.rs     for a socket
//! describe.rs    what a call waits for, in words
//! mismatch.rs    ranks that wait for each other in different collective calls find out
//! unmatched.rs   the same, from messages that match no receive
//! needs.rs       which ranks can end a wait
//! rest.rs        a rank that can do nothing before others act says so
//! helper.rs      the thread of asynchronous progress
//! entry.rs       for calls that are inside without the lock
//! debugger.rs    until a debugger lets the ranks go on that it has started
//! ```
//!
//! Every wait lets other threads in, and goes on with the lock when one comes (`call.rs`). What a wait looks for may be
//! gone afterwards, so it is looked up again by its handle.
//!
//! A wait that has slept in vain for a while asks whether it can still succeed: see [`Waiting`]. As
//! long as anything moves, none of this is executed.

pub mod agreement;
pub mod board;
pub mod debugger;
mod describe;
mod entry;
mod helper;
pub mod mismatch;
pub mod needs;
mod outside;
mod plan;
mod rest;
mod unmatched;
pub mod waiting;
pub mod window;

use crate::call::{Call, Guard};
use crate::engine::{OpId, Outcome};
use crate::process::{Process, SLEEP};
use crate::record::Told;
use crate::request::Active;
use mismatch::MismatchCheck;
use needs::Needs;
use oxmpi_abi::{Error, Result};
use oxmpi_base::callers::{self, CALLERS};
use oxmpi_base::ids::Peer;
use oxmpi_base::load;
use oxmpi_base::wait::{Backoff, Sleep, Step};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// What a call waits for. Asked only after the call has slept in vain for a while.
pub trait Waiting {
    /// Why the wait can never succeed. A wait for an operation may end the operation instead, with
    /// an error as its outcome.
    fn failed(&self, _state: &mut Process) -> Option<Error> {
        None
    }

    /// Why the wait fails now that some process has failed, or something was revoked. It may end an operation instead. Asked
    /// before each sleep.
    fn lost(&self, _state: &mut Process) -> Option<Error> {
        None
    }

    /// A description that follows the name of the call: `from rank 3, tag 7, on MPI_COMM_WORLD`.
    /// Empty when there is nothing to say.
    fn describe(&self, _state: &Process) -> String {
        String::new()
    }

    /// The collective call that waits, to detect ranks that wait in another one.
    fn collective(&self) -> Option<&MismatchCheck> {
        None
    }

    /// The processes that a collective call waits for.
    fn awaited(&self, _state: &Process) -> Vec<Peer> {
        Vec::new()
    }

    /// Adds all processes of which an action can end the wait, or bring it a step further. A wait that does not say so may be
    /// ended by anything.
    fn needs(&self, _state: &Process, needs: &mut Needs) {
        needs.unknown();
    }

    /// Why the wait may be in vain: a message that nearly is what it waits for.
    fn hint(&self, _state: &Process) -> String {
        String::new()
    }

    /// The longest sleep before the call asks.
    fn longest_sleep(&self) -> Duration {
        SLEEP
    }
}

/// A wait that has been in vain for so long looks for the first time.
const FIRST_LOOK: Duration = Duration::from_millis(300);

/// The looks of one wait.
#[derive(Default)]
struct Looks {
    /// When the wait began to sleep, or last looked.
    last: Option<Instant>,
    /// The same as a number that other processes read, for the first sleep.
    since: u64,
    /// How many looks there were.
    count: usize,
    /// The number of the record that this wait has published, or 0.
    record: u64,
    /// The return addresses of the call.
    callers: Option<[u64; CALLERS]>,
    /// The question of `mpirun` that this look answers.
    question: Option<u64>,
}

impl Call<'_> {
    /// Waits until `ready` returns something, moves messages and lets other threads in.
    #[inline]
    pub fn wait<R>(
        &self,
        guard: &mut Guard,
        what: &dyn Waiting,
        mut ready: impl FnMut(&mut Process) -> Option<R>,
    ) -> Result<R> {
        let mut backoff = Backoff::new(guard.shared().job());
        let mut looks = Looks::default();
        let mut told = Told::new();
        let mut is_counted = false;
        let end = loop {
            if let Some(result) = ready(guard) {
                break Ok(result);
            }
            let moved = self.progress(guard);
            guard.follow_lock();
            if moved {
                if looks.count > 0 {
                    rest::withdraw(guard);
                }
                told.stop();
                guard.wake_siblings();
                backoff.renew();
                continue;
            }
            told.begin();
            if guard.is_locked() && !is_counted {
                guard.waiters += 1;
                is_counted = true;
            }
            let step = if guard.lets_others_in() {
                // Yielding to another rank must not keep our other threads out.
                guard.unlocked(|shared| backoff.pause(shared.job()))
            } else {
                backoff.pause(guard.shared().job())
            };
            if step == Step::Sleep {
                if let Some(end) = self.sleep(guard, what, &mut looks, &mut ready) {
                    break end;
                }
                backoff = Backoff::new(guard.shared().job());
            }
        };
        if looks.count > 0 {
            Self::end_of_looks(guard);
        }
        if is_counted {
            guard.waiters -= 1;
        }
        told.stop();
        end
    }

    /// The wait is over: what it has published is not true any more.
    #[cold]
    fn end_of_looks(guard: &mut Guard) {
        rest::withdraw(guard);
        mismatch::stop(guard);
        let node = guard.engine.node();
        node.wait_record().write("", [0; CALLERS]);
        node.hint().write("", [0; CALLERS]);
    }

    /// Waits for an operation of the engine's.
    #[inline]
    pub fn wait_op(&self, guard: &mut Guard, op: OpId) -> Outcome {
        let end = self.wait(guard, &waiting::Operation(op), |process| process.engine.take_outcome(op));
        // The operation itself fails, so there is always an outcome.
        end.unwrap_or_else(|error| Outcome { error: Some(error), ..Outcome::sent() })
    }

    /// Waits for a send and a receive that have no request.
    pub fn wait_exchange(&self, guard: &mut Guard, active: Active) -> Outcome {
        let active = RefCell::new(active);
        let is_done = |process: &mut Process| active.borrow_mut().is_done(&mut process.engine, |_, _, _| true);
        // It ends by itself: its operations fail.
        let _ = self.wait(guard, &waiting::Started(&active), |process| is_done(process).then_some(()));
        active.into_inner().finish(&mut guard.engine)
    }

    /// Sleeps until something comes, unless it is already there, or until it is time to ask whether
    /// it can still come.
    #[cold]
    fn sleep<R>(
        &self,
        guard: &mut Guard,
        what: &dyn Waiting,
        looks: &mut Looks,
        ready: &mut impl FnMut(&mut Process) -> Option<R>,
    ) -> Option<Result<R>> {
        let (alone, shared) = (!guard.is_shared(), guard.shared());
        let mut longest = what.longest_sleep().min(guard.longest_sleep);
        if looks.count == 0 {
            longest = longest.min(FIRST_LOOK);
        }
        self.library().helper.make_room(shared);
        let me = Sleep { job: shared.job(), block: shared.block(), alone };
        let armed = guard.engine.arm(alone);
        // The last poll, now that every sender sees that we sleep.
        let moved = self.progress(guard) || guard.engine.has_copying_to_do();
        let result = ready(guard);
        if moved || result.is_some() {
            armed.disarm(&me);
            rest::withdraw(guard);
            return result.map(Ok);
        }
        if guard.failures.any() {
            let error = failure(guard, what);
            // An operation may have ended because of that.
            if let Some(end) = error.map(Err).or_else(|| ready(guard).map(Ok)) {
                armed.disarm(&me);
                rest::withdraw(guard);
                return Some(end);
            }
        }
        if rest::question(guard).is_some() {
            armed.disarm(&me);
            looks.count += 1;
            return self.look(guard, what, looks, ready);
        }
        let start = Instant::now();
        if looks.last.is_none() {
            looks.since = load::now();
        }
        guard.unlocked(|_| armed.sleep(&me, longest));
        let slept = start.elapsed();
        self.library().sleeps().count(slept);
        if let Some(observer) = self.library().observer() {
            guard.call_user(|| observer.slept(self.fun, slept));
        }
        // The time of the whole wait counts: signals or messages for others may end every sleep
        // early.
        if looks.last.get_or_insert(start).elapsed() < longest && rest::question(guard).is_none() {
            return None;
        }
        looks.last = Some(Instant::now());
        looks.count += 1;
        self.look(guard, what, looks, ready)
    }

    /// The wait was in vain for a while: checks whether it can still succeed.
    #[cold]
    fn look<R>(
        &self,
        guard: &mut Guard,
        what: &dyn Waiting,
        looks: &mut Looks,
        ready: &mut impl FnMut(&mut Process) -> Option<R>,
    ) -> Option<Result<R>> {
        let alone = !guard.is_shared();
        // What is looked at from now on is newer than the question.
        looks.question = rest::question(guard);
        guard.look_around(alone);
        // It may have come in the meantime, or failed because of what was found.
        let moved = self.look_to_the_end(guard);
        if let Some(result) = ready(guard) {
            return Some(Ok(result));
        }
        if moved {
            rest::withdraw(guard);
        }
        // While `mpirun` asks, it counts the frames: a question to other ranks would be one.
        let may_ask = looks.question.is_none();
        let different = match what.collective() {
            Some(check) => {
                let awaited = what.awaited(guard);
                check.look(guard, &awaited, may_ask)
            }
            None => {
                mismatch::look_meanwhile(guard, looks.count, may_ask);
                None
            }
        };
        if let Some(error) = different.or_else(|| what.failed(guard)) {
            return Some(Err(error));
        }
        // For mpirun, in case it must report where every rank is.
        let (text, hint) = (describe::whole(guard, what), what.hint(guard));
        let callers = *looks.callers.get_or_insert_with(callers::callers);
        guard.engine.node().wait_record().write(&text, callers);
        guard.engine.node().hint().write(&hint, [0; CALLERS]);
        self.rest(guard, what, looks);
        None
    }
}

/// Why a wait ends because a process has failed, or an object was revoked.
#[cold]
fn failure(guard: &mut Guard, what: &dyn Waiting) -> Option<Error> {
    match what.collective() {
        Some(check) => check.lost(guard),
        None => what.lost(guard),
    }
}
