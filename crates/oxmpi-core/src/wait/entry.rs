//! Turning the lock on while calls may be inside without it. The other side is in `guard.rs`.

use crate::library::Library;
use oxmpi_base::wait;
use std::time::Duration;

/// Looks before the wait gets out of the way of the call that it waits for.
const YIELDS: usize = 100;
/// Between two looks after that.
const PAUSE: Duration = Duration::from_micros(50);

impl Library {
    /// From now on every call takes the lock; returns when none is inside without it. Whoever calls must not be inside.
    pub(crate) fn turn_lock_on(&self) {
        // Calls that begin now take the lock, and wait for it here until those without it are over.
        self.entry.with_lock(|| {
            self.entry.set_threaded();
            let Some(shared) = self.shared() else { return };
            // Who has not seen the word by now has said before that it is inside.
            wait::order_everywhere(shared.barrier);
            let mut looks = 0;
            while self.entry.is_inside() {
                looks += 1;
                if looks < YIELDS { wait::yield_cpu() } else { std::thread::sleep(PAUSE) }
            }
            // A call that sleeps counts as the rank's only thread; it must not go on doing so.
            wait::wake_now(shared.job(), shared.block());
        });
    }
}
