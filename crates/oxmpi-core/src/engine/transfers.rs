//! Messages that were offered. The links move their bytes (`oxmpi_transport::transfer`). This
//! module connects transfers with their operations: it drives the steps, and finds the operation
//! that a packet names.

use super::ops::{Op, OpId, Outcome};
use super::recv::{self, Message, RecvOp};
use super::send::{self, SendOp};
use super::{Arrived, Messages, protocol};
use crate::explain;
use crate::liveness::died;
use oxmpi_abi::Error;
use oxmpi_abi::constants::{MPIX_ERR_PROC_FAILED, MPIX_ERR_REVOKED};
use oxmpi_transport::transfer::{
    Answer, Begun, Control, OPERATION_WORD, Quiet, RemoteOffer, RemoteRegion, STREAM, Step,
};
use oxmpi_transport::{Packet, Peer};

/// A message that was offered to a process of another host and given up before it was answered.
pub(super) struct GivenUp {
    pub peer: Peer,
    /// The operation, as packets name it.
    word: u64,
    /// Of the error that has ended it.
    class: i32,
}

/// Steps of transfers in a part: each copies some 100 KiB.
const STEPS_OF_A_PART: usize = 2;

impl Messages {
    /// Begins to receive the bytes of an offer that was claimed.
    pub(super) fn start_transfer(
        &mut self,
        op: OpId,
        peer: Peer,
        offer: RemoteOffer,
        region: RemoteRegion,
        bytes: u64,
    ) {
        if self.has_queue_ended(peer) {
            let error = died(self.tx.node(), peer, None);
            return self.ops.fail(op, error, Quiet::unshared());
        }
        self.note_long(op);
        let Some(recv) = self.ops.recv_mut(op) else { return };
        let control = match self.tx.receive(peer, offer, region, bytes, op.word(), &recv.buf) {
            Begun::Moving { transfer, control, how } => {
                if explain::is_on() {
                    protocol::explain_bulk(self.tx.node(), peer, bytes, how);
                }
                if transfer.needs_steps() {
                    self.transfers.push(op);
                }
                recv.phase = recv::Phase::Moving(transfer);
                control
            }
            Begun::Done(control) => {
                self.finish_recv(op);
                control
            }
        };
        self.tell(peer, control);
    }

    /// One step of every transfer under way; by parts: of some of them.
    pub(super) fn push_transfers(&mut self) -> bool {
        let mut moved = false;
        let mut index = 0;
        let mut steps = if self.is_by_parts() { STEPS_OF_A_PART } else { usize::MAX };
        while index < self.transfers.len() {
            if steps == 0 {
                // The next part begins with the others.
                self.transfers.rotate_left(index);
                break;
            }
            let op = self.transfers[index];
            let (peer, step) = match self.ops.get_mut(op) {
                Op::Send(SendOp { phase: send::Phase::Offered(transfer), route, buf, cursor, .. }) => {
                    (route.peer, self.tx.step_send(route.peer, transfer, buf, cursor))
                }
                Op::Recv(RecvOp { phase: recv::Phase::Moving(transfer), buf, .. }) => {
                    (transfer.peer(), self.tx.step_recv(transfer, op.word(), buf))
                }
                _ => {
                    debug_assert!(false, "an operation leaves the list when it ends");
                    self.transfers.swap_remove(index);
                    continue;
                }
            };
            let has_moved = !matches!(step, Step::Idle);
            (moved, steps) = (moved | has_moved, steps - usize::from(has_moved));
            match step {
                Step::Idle | Step::Moved => {
                    index += 1;
                    continue;
                }
                Step::Done => self.ops.complete(op),
                Step::Tell(control) => self.tell(peer, control),
            }
            self.transfers.swap_remove(index);
        }
        moved
    }

    /// Whether this rank can do a step of a transfer now. Otherwise the other side works on it and
    /// wakes us when that changes. It may be computing, so spinning would be wrong.
    pub fn has_copying_to_do(&self) -> bool {
        self.transfers.iter().any(|&op| match self.ops.get(op) {
            Op::Send(SendOp { phase: send::Phase::Offered(transfer), .. }) => self.tx.can_step_send(transfer),
            Op::Recv(RecvOp { phase: recv::Phase::Moving(transfer), .. }) => self.tx.can_step_recv(transfer),
            _ => false,
        })
    }

    /// Handles the receiver's answer to an offer of ours.
    pub(super) fn arrive_answer(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        const WRONG: Arrived = Arrived::Wrong("an answer to an offer that was not made to it");
        if !self.given_up.is_empty() && self.arrive_late_answer(peer, packet) {
            return Arrived::Done(false);
        }
        let Some((op, Op::Send(send))) = self.ops.named(packet.word(OPERATION_WORD)) else { return WRONG };
        let SendOp { phase: send::Phase::Offered(transfer), route, buf, cursor, .. } = send else { return WRONG };
        if route.peer != peer {
            return WRONG;
        }
        match self.tx.answered(packet, transfer, buf, cursor) {
            Ok(Answer::Steps) => {
                if !self.transfers.contains(&op) {
                    self.transfers.push(op);
                }
                return Arrived::Done(true);
            }
            Ok(Answer::Done) => self.ops.complete(op),
            Ok(Answer::Withdrawn) => self.ops.end(op, Outcome::cancelled()),
            Err(why) => return Arrived::Wrong(why),
        }
        Arrived::Done(true)
    }

    /// Handles bytes of a message whose offer we claimed.
    pub(super) fn arrive_data(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        const WRONG: Arrived = Arrived::Wrong("bytes for a receive that it was not asked for");
        let Some((op, Op::Recv(recv))) = self.ops.named(packet.bulk_word()) else { return WRONG };
        let RecvOp { phase: recv::Phase::Moving(transfer), buf, cursor, .. } = recv else { return WRONG };
        if transfer.peer() != peer {
            return WRONG;
        }
        match transfer.take_data(packet, buf, cursor) {
            Ok(true) => self.finish_recv(op),
            Ok(false) => return Arrived::Done(false),
            Err(why) => return Arrived::Wrong(why),
        }
        Arrived::Done(true)
    }

    /// A sender asks for an offer back that it cannot withdraw itself. If we claimed it in the
    /// meantime, the sender has been told already.
    pub(super) fn arrive_withdraw(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        let is_meant = |offer: &RemoteOffer| offer.is_meant_by(packet);
        let meant = |message: &Message| message.offer.filter(is_meant).filter(|_| message.from == peer);
        let found = self.unexpected.iter().find_map(|(id, _, message)| Some((id, meant(message)?)));
        if let Some((id, offer)) = found {
            self.forget(id);
            self.tell(peer, offer.withdrawn());
        }
        Arrived::Done(false)
    }

    /// A message that was offered to a living process of another host ends with an error. Its memory belongs to the program
    /// again, so the receiver gets nothing any more.
    pub(super) fn give_up(&mut self, op: OpId, peer: Peer, class: i32) {
        if !self.has_queue_ended(peer) {
            self.given_up.push(GivenUp { peer, word: op.word(), class });
            self.tell(peer, Control::withdraw(op.word()));
        }
    }

    /// Handles the answer to an offer that was given up; `false` if this one was not. A receiver that has asked for the bytes
    /// hears that they do not come.
    #[cold]
    fn arrive_late_answer(&mut self, peer: Peer, packet: &Packet<'_>) -> bool {
        let word = packet.word(OPERATION_WORD);
        let Some(at) = self.given_up.iter().position(|message| message.peer == peer && message.word == word) else {
            return false;
        };
        let GivenUp { class, .. } = self.given_up.swap_remove(at);
        if packet.kind() == STREAM {
            self.tell(peer, Control::cut(packet, class));
        }
        true
    }

    /// The sender has given up a message that we have asked for.
    #[cold]
    pub(super) fn arrive_cut(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        let Some((op, Op::Recv(recv))) = self.ops.named(packet.word(OPERATION_WORD)) else {
            return Arrived::Done(false);
        };
        if recv.moves_from() != Some(peer) {
            return Arrived::Wrong("the end of a message that it does not send");
        }
        let error = if packet.word(2) == MPIX_ERR_REVOKED as u64 {
            Error::new(MPIX_ERR_REVOKED, "the sender has given up this message, because the communicator was revoked")
        } else {
            Error::new(MPIX_ERR_PROC_FAILED, "the sender has given up this message, because a process has failed")
        };
        let quiet = self.abort_transfer(op);
        self.ops.fail(op, error, quiet);
        Arrived::Done(true)
    }

    /// Stops the transfer of an operation that is about to end early: nobody else may use its
    /// memory any more.
    pub(super) fn abort_transfer(&mut self, op: OpId) -> Quiet {
        self.transfers.retain(|&other| other != op);
        match self.ops.lift(op) {
            Op::Send(SendOp { phase: send::Phase::Offered(transfer), .. }) => self.tx.abort_send(transfer),
            Op::Recv(RecvOp { phase: recv::Phase::Moving(transfer), .. }) => self.tx.abort_recv(transfer),
            // Packets bring all of its bytes, and none is taken any more.
            _ => Quiet::unshared(),
        }
    }
}
