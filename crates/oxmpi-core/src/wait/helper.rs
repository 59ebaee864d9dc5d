//! The thread of asynchronous progress (`helper.rs`): serves what is under way, or sleeps.
//!
//! Calls of the program come first. The thread takes the lock only when it is free, holds it for a part of a long copy or
//! reduction, and pauses when a call has begun to wait for it. While a call waits in the library, which then moves everything,
//! the thread is parked. So it is also no party to the search for deadlocks: a rank rests only while it is parked.

use crate::call::HelperTurn;
use crate::library::Library;
use crate::process::SLEEP;
use oxmpi_base::time_slice;
use oxmpi_base::wait::Sleep;
use std::thread;
use std::time::Duration;

/// The pauses while calls of the program are inside: they move what can move.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// How a turn ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// There is more to do, or it has slept, or will park.
    Served,
    /// A call of the program is inside, or wants to be.
    GaveWay,
}

impl Library {
    /// What the thread does.
    pub(crate) fn help(&self) {
        time_slice::shorten();
        let mut pause = FIRST_PAUSE;
        while self.helper.await_work() {
            match self.help_a_turn() {
                End::Served => pause = FIRST_PAUSE,
                End::GaveWay => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn help_a_turn(&self) -> End {
        let Some(mut turn) = HelperTurn::try_begin(self) else { return End::GaveWay };
        if turn.waiters > 0 || !turn.has_movable() {
            self.helper.park();
            return End::Served;
        }
        if turn.progress_by_a_part() {
            drop(turn);
            return if self.entry.is_awaited() { End::GaveWay } else { End::Served };
        }
        let shared = turn.shared();
        let me = Sleep { job: shared.job(), block: shared.block(), alone: false };
        let armed = turn.engine.arm(false);
        // The last look, now that every sender sees that we sleep.
        let moved = turn.progress_by_a_part() || turn.engine.has_copying_to_do();
        if moved || !turn.has_movable() || !self.helper.fall_asleep() {
            armed.disarm(&me);
            return End::Served;
        }
        drop(turn);
        armed.sleep(&me, SLEEP);
        self.helper.woke_up();
        End::Served
    }
}
