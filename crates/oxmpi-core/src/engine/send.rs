//! The sending side. Small messages are sent at once; others are offered to their receiver. A
//! packet that finds no room in the ring waits in the peer's send queue, so that messages of one
//! pair never overtake each other.

use super::ops::{Op, OpId, Outcome};
use super::protocol::{self, Mode, Protocol};
use super::{Messages, Queued, SYNC};
use crate::check;
use crate::explain;
use crate::liveness::died;
use crate::matching::MessageId;
use crate::record;
use oxmpi_base::valgrind;
use oxmpi_datatype::{Cursor, OwnedBytes, Signature, Source};
use oxmpi_profile::hooks::Message;
use oxmpi_transport::transfer::{Control, Quiet, SendTransfer, Withdrawal};
use oxmpi_transport::{EAGER, Full, Head, MORE, OFFER, Peer, RING_PART, SIGNATURE};

/// The destination of a message, and how the receiver identifies it.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The receiver.
    pub peer: Peer,
    pub context: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    pub tag: i32,
    /// What the message says about its type, while programs are checked.
    pub signature: Signature,
}

impl Route {
    #[inline]
    pub(super) fn head(&self, kind: u8, flags: u8, aux: u32) -> Head {
        Head { kind, flags, context: self.context, tag: self.tag, source: self.source, aux }
    }
}

pub(super) struct SendOp {
    pub route: Route,
    pub buf: Source<'static>,
    pub cursor: Cursor,
    pub phase: Phase,
    /// Keeps the bytes of a buffered send alive.
    storage: Option<OwnedBytes>,
}

pub(super) enum Phase {
    /// In the peer's send queue, to be sent eagerly; some parts may already be sent.
    Eager,
    /// In the peer's send queue, to be offered (with its bytes if they are few).
    ToOffer,
    /// Offered; the receiver may claim it, or has claimed it.
    Offered(SendTransfer),
    /// A loopback message among the unexpected messages.
    Own(MessageId),
}

impl SendOp {
    pub fn new(route: Route, buf: Source<'static>, phase: Phase) -> SendOp {
        SendOp { route, buf, cursor: Cursor::new(), phase, storage: None }
    }

    pub fn peer(&self) -> Peer {
        self.route.peer
    }

    pub fn context(&self) -> u32 {
        self.route.context
    }

    /// Whether it waits for a receiver that has not started to receive it.
    pub fn is_untaken(&self) -> bool {
        match &self.phase {
            Phase::ToOffer => true,
            Phase::Offered(transfer) => !transfer.is_claimed(),
            Phase::Eager => self.cursor.position() == 0,
            Phase::Own(_) => false,
        }
    }

    /// Whether it was offered, and the receiver has not said yet whether it takes it.
    pub fn waits_for_answer(&self) -> bool {
        matches!(&self.phase, Phase::Offered(transfer) if !transfer.is_claimed())
    }
}

enum Pushed {
    All,
    Part,
    Nothing,
}

impl Messages {
    /// Sends a message of one packet if nothing is queued before it; `false`: use [`Engine::send`].
    #[inline]
    pub fn send_small(&mut self, route: &Route, buf: &Source<'_>) -> bool {
        let (peer, len) = (route.peer, buf.len());
        if len > RING_PART || peer.is_far() || peer == self.tx.own() || !self.peers.at(peer).queue.is_empty() {
            return false;
        }
        if self.tx.under_pressure(peer) {
            return false;
        }
        let head = route.head(EAGER, 0, len as u32);
        if protocol::is_inline(len) {
            return self.tx.send_inline(peer, &head, buf).is_ok();
        }
        let sent = len <= self.tx.caps(peer).part
            && self.tx.send_first(peer, &head, &[], buf, &mut Cursor::new(), len).is_ok();
        if sent {
            self.tx.expect_as_long(peer, len);
        }
        sent
    }

    /// Starts a send. `None`: it is complete and the buffer may be reused.
    #[inline]
    pub fn send(&mut self, mode: Mode, route: &Route, buf: Source<'static>) -> Option<OpId> {
        if valgrind::is_on() {
            buf.check_defined();
        }
        if check::records() {
            let Route { context, source, tag, .. } = *route;
            let message = Message { bytes: buf.len() as u64, context, source, tag };
            record::sent(self.tx.node(), route.peer, message);
        }
        if route.peer == self.tx.own() {
            return self.send_loopback(mode, route, buf);
        }
        let caps = *self.tx.caps(route.peer);
        let (protocol, why) = protocol::protocol(&caps, mode, buf.len(), || self.tx.under_pressure(route.peer));
        if explain::is_on() {
            protocol::explain_message(self.tx.node(), route.peer, buf.len(), (protocol, why));
        }
        if !matches!(protocol, Protocol::Inline | Protocol::Eager) {
            return Some(self.send_offer(SendOp::new(*route, buf, Phase::ToOffer)));
        }
        if !self.peers.at(route.peer).queue.is_empty() {
            return Some(self.send_queued(SendOp::new(*route, buf, Phase::Eager)));
        }
        let mut cursor = Cursor::new();
        match self.push_eager(route, &buf, &mut cursor) {
            Pushed::All => None,
            Pushed::Part | Pushed::Nothing => {
                Some(self.send_queued(SendOp { cursor, ..SendOp::new(*route, buf, Phase::Eager) }))
            }
        }
    }

    /// A send whose bytes the engine owns, so that the caller need not wait for it.
    #[expect(unsafe_code, reason = "lends memory of the engine's own to an operation")]
    pub fn send_stored(&mut self, route: &Route, bytes: OwnedBytes) -> Option<OpId> {
        // SAFETY: the operation owns the bytes after `keep` and drops them after its end; without
        // an operation the send is complete.
        let source = unsafe { bytes.lend() };
        let op = self.send(Mode::Standard, route, source)?;
        self.keep(op, Some(bytes));
        Some(op)
    }

    /// Gives the engine the bytes that a send reads; it drops them when the send is complete.
    pub fn keep(&mut self, op: OpId, bytes: Option<OwnedBytes>) {
        if let Some(send) = self.ops.send_mut(op) {
            send.storage = bytes;
        }
    }

    /// Offers a message at once if nothing is queued before it.
    fn send_offer(&mut self, mut send: SendOp) -> OpId {
        let (peer, op) = (send.route.peer, self.ops.next_id());
        let may_go = self.peers.at(peer).queue.is_empty() && self.tx.failure(peer).is_none();
        let is_offered = may_go && self.push_offer(op, &mut send);
        self.ops.fill(op, Op::Send(send));
        self.note_long(op);
        if !is_offered {
            self.queue(peer, op);
        }
        op
    }

    fn send_queued(&mut self, send: SendOp) -> OpId {
        let peer = send.route.peer;
        let op = self.ops.insert(Op::Send(send));
        self.note_long(op);
        self.queue(peer, op);
        op
    }

    fn queue(&mut self, peer: Peer, op: OpId) {
        if self.has_queue_ended(peer) {
            let error = died(self.tx.node(), peer, None);
            return self.ops.fail(op, error, Quiet::unshared());
        }
        self.enqueue(peer, Queued::Message(op));
        if self.peers.at(peer).queue.len() == 1 {
            self.push_queues();
        }
    }

    /// Puts a queued message into the ring; `true` when it can leave the queue.
    pub(super) fn push_message(&mut self, op: OpId) -> bool {
        if let Op::Send(send) = self.ops.get(op)
            && let Some(error) = self.tx.failure(send.route.peer)
        {
            let error = error.clone();
            self.ops.fail(op, error, Quiet::unshared());
            return true;
        }
        let Op::Send(mut send) = self.ops.lift(op) else { unreachable!("a queued message is a send") };
        // The receiver may have asked for offers since the message was queued.
        if matches!(send.phase, Phase::Eager) && send.cursor.position() == 0 && self.tx.under_pressure(send.route.peer)
        {
            send.phase = Phase::ToOffer;
        }
        let (gone, done) = match send.phase {
            Phase::Eager => {
                let all = matches!(self.push_eager(&send.route, &send.buf, &mut send.cursor), Pushed::All);
                (all, all)
            }
            _ => (self.push_offer(op, &mut send), false),
        };
        self.ops.put_back(op, Op::Send(send));
        if done {
            self.ops.complete(op);
        }
        gone
    }

    /// Puts as much of a message into the ring as there is room for.
    fn push_eager(&mut self, route: &Route, buf: &Source<'_>, cursor: &mut Cursor) -> Pushed {
        let (peer, len) = (route.peer, buf.len());
        let cut = self.tx.caps(peer).cut;
        let mut pushed = Pushed::Nothing;
        if cursor.position() == 0 {
            if !self.tell_signature(route) {
                return pushed;
            }
            let part = if len <= cut.whole { len } else { cut.first };
            if self.tx.send_first(peer, &route.head(EAGER, 0, len as u32), &[], buf, cursor, part) == Err(Full) {
                return pushed;
            }
            pushed = Pushed::Part;
        }
        while cursor.position() < len {
            let part = cut.next.min(len - cursor.position());
            if self.tx.send_bulk(peer, MORE, 0, buf, cursor, part) == Err(Full) {
                return pushed;
            }
            pushed = Pushed::Part;
        }
        self.tx.expect_as_long(peer, len);
        Pushed::All
    }

    /// Tells what the next message says about its type; `false` while there is no room. Told again when the message itself
    /// finds no room: the last one counts.
    fn tell_signature(&mut self, route: &Route) -> bool {
        route.signature.is_none()
            || self.tx.tell(route.peer, &Control::new(SIGNATURE, [route.signature.word(), 0, 0, 0])).is_ok()
    }

    /// Offers a message to its receiver. A short one travels with the offer.
    fn push_offer(&mut self, op: OpId, send: &mut SendOp) -> bool {
        let (peer, len) = (send.route.peer, send.buf.len());
        if !self.tell_signature(&send.route) {
            return false;
        }
        let pressed = self.tx.under_pressure(peer);
        let offered = match protocol::offered(self.tx.caps(peer), len, pressed) {
            Protocol::OfferWithBytes => {
                self.tx.offer_with_bytes(peer, &send.route.head(EAGER, SYNC, len as u32), op.word(), &send.buf)
            }
            _ => self.tx.offer(peer, &send.route.head(OFFER, 0, 0), op.word(), &send.buf),
        };
        let Ok(transfer) = offered else { return false };
        send.phase = Phase::Offered(transfer);
        true
    }

    /// Tries to cancel a send; it ends as cancelled, or continues. Never waits for the peer, which
    /// may have to be asked.
    pub fn cancel_send(&mut self, op: OpId) {
        let Some(send) = self.ops.send_mut(op) else { return };
        let peer = send.route.peer;
        let withdrawn = match &mut send.phase {
            Phase::ToOffer => self.unqueue(peer, op),
            Phase::Eager => send.cursor.position() == 0 && self.unqueue(peer, op),
            Phase::Offered(transfer) => match self.tx.withdraw(op.word(), transfer) {
                Withdrawal::Done => true,
                Withdrawal::TooLate => false,
                Withdrawal::Asked(control) => return self.tell(peer, control),
            },
            Phase::Own(message) => {
                let message = *message;
                self.unexpected.remove(message).is_some()
            }
        };
        if withdrawn {
            self.ops.end(op, Outcome::cancelled());
        }
    }

    /// Copies the bytes of a message that is being sent, so that its buffer is free before the receiver has taken it all; the
    /// caller detaches the operation. `false`: its bytes do not go as packets, or not yet, or the
    /// receiver reads them where they lie.
    #[expect(unsafe_code, reason = "lends memory of the engine's own to an operation")]
    pub fn keep_copy(&mut self, op: OpId) -> bool {
        let Some(send) = self.ops.send_mut(op) else { return false };
        match send.phase {
            Phase::Eager => {}
            Phase::Offered(SendTransfer::Stream { receive, .. }) if !self.tx.is_lending(send.route.peer, receive) => {}
            _ => return false,
        }
        let bytes = OwnedBytes::packed(&send.buf);
        // SAFETY: the operation owns the bytes, and drops them after its end.
        send.buf = unsafe { bytes.lend() };
        let sent = send.cursor.position();
        send.cursor = Cursor::new();
        send.cursor.seek(&send.buf, sent);
        send.storage = Some(bytes);
        true
    }

    fn unqueue(&mut self, peer: Peer, op: OpId) -> bool {
        let queue = &mut self.peers.at(peer).queue;
        let Some(at) = queue.iter().position(|item| matches!(item, Queued::Message(id) if *id == op)) else {
            return false;
        };
        queue.remove(at);
        if queue.is_empty() {
            self.waiting_queues.retain(|&state| state != peer);
        }
        true
    }
}
