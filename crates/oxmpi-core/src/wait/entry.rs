//! Turning the lock on while calls may be inside without it. The other side is in `call.rs`.

use crate::library::Library;
use oxmpi_base::wait;
use std::time::Duration;

/// Polls with yields before sleeping, so that the awaited call can run.
const YIELDS: usize = 100;
/// Time between polls after that.
const PAUSE: Duration = Duration::from_micros(50);

impl Library {
    /// Makes every call take the lock; returns when none is inside without it. The caller must not
    /// be inside.
    pub(crate) fn turn_lock_on(&self) {
        // Calls that begin now wait for the lock here until those without it have ended.
        self.entry.with_lock(|| {
            self.entry.set_threaded();
            let Some(shared) = self.shared() else { return };
            // A call that has not seen the word by now has marked itself as inside before.
            wait::order_everywhere(shared.barrier);
            let mut polls = 0;
            while self.entry.is_inside() {
                polls += 1;
                if polls < YIELDS { wait::yield_cpu() } else { std::thread::sleep(PAUSE) }
            }
            // A call that sleeps believes that it is the only thread; it must wake up to notice the
            // lock.
            wait::wake_now(shared.job(), shared.block());
        });
    }
}
