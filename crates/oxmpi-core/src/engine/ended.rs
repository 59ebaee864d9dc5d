//! What is left of processes that have ended, and of contexts that were revoked.
//!
//! A whole message that a process had sent before its end is received, also later. What was only announced, or has come in
//! part, is dropped. Sends to it end at once from then on: its queue begins with [`Queued::Ended`] for ever.

use super::ops::{Op, OpId};
use super::{Arrived, Assembly, Engine, Messages, Queued, recv, send};
use crate::matching::{MessageId, Pattern};
use oxmpi_abi::Error;
use oxmpi_transport::transfer::{Control, Quiet};
use oxmpi_transport::{Ended, Peer, REVOKED};

impl Engine {
    /// The deaths and revoked contexts that are new. Everything that the processes had sent has been taken.
    #[cold]
    pub fn take_news(&mut self) -> (Vec<(Peer, Ended)>, Vec<u32>) {
        self.messages.has_news = false;
        if !self.node().has_news() && self.messages.revoked.is_empty() {
            return (Vec::new(), Vec::new());
        }
        // A rank that reads an entry of the log also sees what the process of that entry has sent.
        let ended = self.node_mut().take_deaths();
        self.drain_all();
        let mut revoked = self.node_mut().take_revoked();
        revoked.append(&mut self.messages.revoked);
        self.messages.has_news = false;
        (ended, revoked)
    }

    /// A process of this job has ended: sends nothing to it any more, and reads nothing.
    pub fn close(&mut self, dead: Peer, error: &Error) {
        self.end_with_dead(dead, error);
        self.rx.close(dead);
        self.messages.tx.bury(dead, error.clone());
        self.broken_links.retain(|(broken, _)| *broken != dead);
        self.lost_links.retain(|lost| *lost != dead);
        let queue = &mut self.messages.peers.at(dead).queue;
        queue.push_back(Queued::Ended);
    }
}

impl Messages {
    /// Whether there are deaths or revoked contexts that were not taken.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.has_news
    }

    /// Tells a process whose memory is not here that a context was revoked.
    pub(crate) fn tell_revoked(&mut self, peer: Peer, context: u32) {
        self.tell(peer, Control::new(REVOKED, [context.into(), 0, 0, 0]));
    }

    pub(super) fn arrive_revoked(&mut self, context: u32) -> Arrived {
        self.revoked.push(context);
        self.has_news = true;
        Arrived::Done(true)
    }

    /// Whether nothing is sent to a peer any more.
    pub(super) fn has_queue_ended(&mut self, peer: Peer) -> bool {
        matches!(self.peers.at(peer).queue.front(), Some(Queued::Ended))
    }

    /// Ends all operations with a dead peer with an error.
    pub fn end_with_dead(&mut self, dead: Peer, error: &Error) {
        self.peers.at(dead).queue.clear();
        self.waiting_queues.retain(|&state| state != dead);
        self.given_up.retain(|message| message.peer != dead);
        let assembling = match std::mem::take(&mut self.peers.at(dead).assembly) {
            Assembly::Receive(op, _) => Some(op),
            Assembly::Store(message, _) => {
                // Its rest will never come, so no receive may match it.
                self.forget(message);
                None
            }
            Assembly::None | Assembly::Discard(_) => None,
        };
        let with_dead = |op: &Op| match op {
            Op::Send(send) => send.peer() == dead,
            Op::Recv(recv) => recv.moves_from() == Some(dead),
            _ => false,
        };
        for op in self.ops.find(with_dead).into_iter().chain(assembling) {
            let quiet = self.abort_transfer(op);
            self.ops.fail(op, error.clone(), quiet);
        }
        // Their bytes were in its memory.
        let lost = |message: &recv::Message| message.from() == dead && matches!(message.body, recv::Body::Offered(_));
        let lost: Vec<MessageId> =
            self.unexpected.iter().filter(|(_, _, message)| lost(message)).map(|(id, _, _)| id).collect();
        lost.into_iter().for_each(|id| self.forget(id));
    }

    /// Ends posted receives that only a dead process could have matched with an error.
    pub fn end_posted(&mut self, is_hopeless: impl Fn(&Pattern) -> bool, error: &Error) {
        let hopeless: Vec<_> =
            self.posted.iter().filter(|(_, pattern, _)| is_hopeless(pattern)).map(|(id, _, &op)| (id, op)).collect();
        for (id, op) in hopeless {
            self.posted.cancel(id);
            self.ops.fail(op, error.clone(), Quiet::unshared());
        }
    }

    /// Ends what has not begun on a context or its twin: receives that nothing has matched, and sends that nobody takes. What
    /// two processes have begun they also end.
    pub fn end_on(&mut self, context: u32, error: &Error) {
        let ours = |other: u32| other & !1 == context;
        self.end_posted(|pattern| ours(pattern.context), error);
        let untaken =
            |op: &Op| matches!(op, Op::Send(send) if ours(send.context()) && (send.is_untaken() || send.is_own()));
        for op in self.ops.find(untaken) {
            self.fail(op, error.clone());
        }
    }

    /// The pattern of a receive that nothing has matched.
    pub fn posted_pattern(&self, op: OpId) -> Option<Pattern> {
        match self.ops.get(op) {
            Op::Recv(recv) if matches!(recv.phase, recv::Phase::Posted(_)) => {
                self.posted.iter().find(|(_, _, posted)| **posted == op).map(|(_, pattern, _)| pattern)
            }
            _ => None,
        }
    }
}

impl send::SendOp {
    /// Whether it is a message to this process itself that has not been received.
    fn is_own(&self) -> bool {
        matches!(self.phase, send::Phase::Own(_))
    }
}
