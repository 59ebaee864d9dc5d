//! Whether anything of this rank's moves by itself while it sleeps, for a rank that can do nothing before others act
//! (`wait/rest.rs`).

use super::ops::{Op, OpId};
use super::{Assembly, Messages, recv, send};
use crate::matching::Pattern;
use oxmpi_transport::Peer;

impl Messages {
    /// Whether nothing is between this rank and another one that both may move without a call of either's program: each
    /// operation waits for a message that has not come, or for a receiver that has not begun. Nothing moves towards a process
    /// that has finalized.
    pub fn is_quiet(&self) -> bool {
        let finalized = self.node().finalized();
        let is_still = |op: &Op| match op {
            Op::Send(send) => {
                matches!(send.phase, send::Phase::Own(_)) || send.waits_for_answer() || finalized.contains(&send.peer())
            }
            Op::Recv(recv) => matches!(recv.phase, recv::Phase::Posted(_)),
            Op::Free { .. } | Op::Over => true,
        };
        self.transfers.is_empty()
            && self.pressure_news.is_empty()
            && self.waiting_queues.iter().all(|peer| finalized.contains(peer))
            && self.ops.all().all(is_still)
            && self.peers.iter().all(|(_, state)| matches!(state.assembly, Assembly::None))
            && self.calls.is_nobody_left()
    }

    /// Changes when an operation ends, or this rank answers a packet. What it does beside that, it does in calls of its
    /// program.
    pub fn activity(&self) -> u64 {
        self.ops.over() + self.told
    }

    /// The receivers of all messages that have not been received.
    pub fn awaited_receivers(&self) -> impl Iterator<Item = Peer> + '_ {
        self.ops.pending_sends()
    }

    /// The patterns of all posted receives.
    pub fn posted_patterns(&self) -> impl Iterator<Item = Pattern> + '_ {
        self.posted.iter().map(|(_, pattern, _)| pattern)
    }

    /// Whether an operation is a message to this rank itself that it has not received.
    pub fn is_to_itself(&self, op: OpId) -> bool {
        matches!(self.ops.get(op), Op::Send(send) if matches!(send.phase, send::Phase::Own(_)))
    }
}
