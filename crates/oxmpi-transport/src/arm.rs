//! Sleeping until a link has something. A process that has no links between nodes sleeps on a word of the segment, on
//! which its peers wake it; one that has them sleeps for its sockets and a pipe.
//!
//! The order is: [`Outgoing::arm`], one more poll, then [`Armed::sleep`] or [`Armed::disarm`]. What was sent before arming
//! is seen by that poll, and what is sent after it ends the sleep.

use crate::outgoing::Outgoing;
use oxmpi_base::wait::{self, Sleep};
use oxmpi_base::wake_pipe::Sleeper;
use std::sync::Arc;
use std::time::Duration;

/// A thread that all peers know to be about to sleep.
#[must_use = "peers would wake a thread that does not sleep"]
pub enum Armed {
    Word,
    /// At most for this time.
    Sockets(Arc<Sleeper>, Duration),
}

impl Outgoing {
    /// Tells all peers that this thread is about to sleep; `alone`: it is the only one of the process in the library.
    pub fn arm(&mut self, alone: bool) -> Armed {
        if let Some(network) = &mut self.network {
            network.attention.end_quiet();
        }
        let (job, block, barrier) = (self.node().job(), self.node().block(), self.node().barrier());
        let Some(network) = &self.network else {
            wait::prepare_to_sleep(job, block, barrier, alone);
            return Armed::Word;
        };
        let sleeper = Arc::clone(&network.sleeper);
        sleeper.arm(&Sleep { job, block, alone }, barrier);
        let most = network.fabric.as_ref().map_or(Duration::MAX, |fabric| fabric.longest_sleep());
        self.watch_for_room();
        Armed::Sockets(sleeper, most)
    }
}

impl Armed {
    /// Does not sleep: the last poll has found something.
    pub fn disarm(self, me: &Sleep<'_>) {
        match self {
            Armed::Word => wait::wake_now(me.job, me.block),
            Armed::Sockets(sleeper, _) => sleeper.disarm(me),
        }
    }

    /// Sleeps until a link may have something, or for `limit`.
    pub fn sleep(self, me: &Sleep<'_>, limit: Duration) {
        match self {
            Armed::Word => wait::sleep(me.job, me.block, limit, me.alone),
            Armed::Sockets(sleeper, most) => sleeper.sleep(me, limit.min(most)),
        }
    }
}
