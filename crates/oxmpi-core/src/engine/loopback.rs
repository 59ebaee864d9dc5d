//! Messages of a process to itself: the same matching, without a link.

use super::Messages;
use super::foreign::source;
use super::ops::{Op, OpId};
use super::protocol::Mode;
use super::recv::{Body, Message};
use super::send::{Phase, Route, SendOp};
use crate::matching::Envelope;
use oxmpi_datatype::Source;

/// Messages to oneself up to this length are copied when they are sent; longer ones stay in place.
const LOOPBACK_EAGER: usize = 64 << 10;

impl Messages {
    pub(super) fn send_loopback(&mut self, mode: Mode, route: &Route, buf: Source<'static>) -> Option<OpId> {
        let envelope = Envelope { context: route.context, source: source(route.source, self.tx.own()), tag: route.tag };
        let bytes = buf.len();
        if let Some(recv) = self.posted.take_match(&envelope) {
            let send = self.ops.insert(Op::Send(SendOp::new(*route, buf, Phase::ToOffer)));
            self.begin(recv, &envelope, bytes as u64, route.signature);
            self.deliver_loopback(recv, send);
            self.ops.take_outcome(send);
            return None;
        }
        let from = self.tx.own();
        if route.signature.is_ready() {
            self.tell_not_ready(from, &envelope);
        }
        if mode == Mode::Standard && bytes <= LOOPBACK_EAGER {
            let message = Message {
                from,
                bytes: bytes as u64,
                body: Body::Stored(oxmpi_transport::local::pack(&buf)),
                offer: None,
                signature: route.signature,
            };
            self.account_stored(from, message.weight(), 0);
            self.unexpected.push(envelope, message);
            return None;
        }
        let op = self.ops.insert(Op::Send(SendOp::new(*route, buf, Phase::ToOffer)));
        let message =
            Message { from, bytes: bytes as u64, body: Body::Own(op), offer: None, signature: route.signature };
        self.account_stored(from, message.weight(), 0);
        let id = self.unexpected.push(envelope, message);
        if let Some(send) = self.ops.send_mut(op) {
            send.phase = Phase::Own(id);
        }
        Some(op)
    }

    /// Copies from a loopback send to the receive that matched it, and completes both.
    pub(super) fn deliver_loopback(&mut self, recv: OpId, send: OpId) {
        if let Op::Send(from) = self.ops.get(send) {
            let from = from.buf.clone();
            if let Some(to) = self.ops.recv_mut(recv) {
                oxmpi_transport::local::copy(&from, &to.buf);
            }
        }
        self.ops.complete(send);
        self.finish_recv(recv);
    }
}
