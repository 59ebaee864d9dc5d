//! Ranks that a debugger has started wait in `MPI_Init` until it lets them go on. `mpirun` holds and releases them by a word
//! of the segment; `oxmpi-core` has the wait.

use crate::segment::JobHeader;
use crate::wait::{futex_wait, futex_wake};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

impl JobHeader {
    /// Called before any rank starts.
    pub fn hold_ranks(&self) {
        self.held.store(1, Relaxed);
    }

    pub fn release_ranks(&self) {
        self.held.store(0, Release);
        futex_wake(&self.held, i32::MAX);
    }

    #[inline]
    pub fn holds_ranks(&self) -> bool {
        self.held.load(Acquire) != 0
    }

    /// Sleeps until the ranks are released, or for `limit`; may return early.
    pub fn sleep_while_held(&self, limit: Duration) {
        futex_wait(&self.held, 1, Some(limit));
    }
}
