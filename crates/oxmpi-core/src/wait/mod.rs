//! Waiting: whatever loops until another rank or thread has done something, or sleeps, is here and nowhere else.
//!
//! ```text
//! mod.rs         a call waits: look, move messages, back off, sleep
//! plan.rs        for a collective operation that goes by messages
//! board.rs       for other ranks of a board
//! window.rs      for what other ranks do to a window
//! outside.rs     for a socket
//! mismatch.rs    ranks that wait for each other in different collective calls find out
//! entry.rs       for calls that are inside without the lock
//! ```
//!
//! Every wait lets other threads in, and goes on with the lock when one comes (`guard.rs`). What a wait looks for may be
//! gone afterwards, so it is looked up again by its handle.

pub mod board;
mod entry;
pub mod mismatch;
mod outside;
mod plan;
mod window;

use crate::call::Call;
use crate::engine::{OpId, Outcome};
use crate::guard::Guard;
use crate::process::Process;
use oxmpi_base::wait::{self, Backoff, Step};
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// A sleeper looks around by itself now and then, should a wake-up ever be lost to a rank that died.
const SLEEP: Duration = Duration::from_millis(500);

impl Call<'_> {
    /// Waits until `ready` has something, moving messages meanwhile; other threads get their turn.
    #[inline]
    pub fn wait<R>(&self, guard: &mut Guard, ready: impl FnMut(&mut Process) -> Option<R>) -> R {
        let (mut said, mut turns) = (false, 0..);
        let Ok(result) = self.wait_unless(guard, ready, |guard| {
            said = mismatch::look_meanwhile(guard, turns.next().unwrap_or(0));
            None::<Infallible>
        });
        if said {
            mismatch::stop(guard);
        }
        result
    }

    /// The same, unless `never`, which is asked after every sleep in vain, says why nothing will come.
    #[inline]
    pub fn wait_unless<R, E>(
        &self,
        guard: &mut Guard,
        ready: impl FnMut(&mut Process) -> Option<R>,
        never: impl FnMut(&mut Guard) -> Option<E>,
    ) -> Result<R, E> {
        self.wait_looking(guard, SLEEP, ready, never)
    }

    /// The same with sleeps that are no longer than this.
    #[inline]
    pub fn wait_looking<R, E>(
        &self,
        guard: &mut Guard,
        longest: Duration,
        mut ready: impl FnMut(&mut Process) -> Option<R>,
        mut never: impl FnMut(&mut Guard) -> Option<E>,
    ) -> Result<R, E> {
        let mut backoff = Backoff::new(guard.shared().job());
        loop {
            if let Some(result) = ready(guard) {
                return Ok(result);
            }
            let moved = self.progress(guard);
            guard.follow_lock();
            if moved {
                guard.wake_siblings();
                backoff.renew();
                continue;
            }
            let step = if guard.is_shared() {
                // A hand-over to another rank must not keep our other threads out.
                guard.unlocked(|shared| backoff.pause(shared.job()))
            } else {
                backoff.pause(guard.shared().job())
            };
            if step == Step::Sleep {
                if let Some(end) = self.sleep(guard, longest, &mut ready, &mut never) {
                    return end;
                }
                backoff = Backoff::new(guard.shared().job());
            }
        }
    }

    /// Waits for an operation of the engine's.
    #[inline]
    pub fn wait_op(&self, guard: &mut Guard, op: OpId) -> Outcome {
        self.wait(guard, |process| process.engine.take_outcome(op))
    }

    /// Sleeps until something comes, unless it is there by now, or until it is time to ask whether it ever will.
    #[cold]
    fn sleep<R, E>(
        &self,
        guard: &mut Guard,
        longest: Duration,
        ready: &mut impl FnMut(&mut Process) -> Option<R>,
        never: &mut impl FnMut(&mut Guard) -> Option<E>,
    ) -> Option<Result<R, E>> {
        let (alone, shared) = (!guard.is_shared(), guard.shared());
        wait::prepare_to_sleep(shared.job(), shared.block(), shared.barrier, alone);
        // The last look, now that every sender will see that we sleep.
        let moved = self.progress(guard) || guard.engine.has_copying_to_do();
        let result = ready(guard);
        if moved || result.is_some() {
            wait::wake_now(shared.job(), shared.block());
            return result.map(Ok);
        }
        let start = Instant::now();
        guard.unlocked(|shared| wait::sleep(shared.job(), shared.block(), longest, alone));
        let slept = start.elapsed();
        self.library().sleeps().count(slept);
        if let Some(observer) = self.library().observer() {
            guard.call_user(|| observer.slept(self.fun, slept));
        }
        if slept < longest {
            return None;
        }
        if guard.engine.node().knows_foreign() {
            guard.look_for_dead();
        }
        never(guard).map(Err)
    }
}
