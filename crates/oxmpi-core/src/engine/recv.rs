//! The receiving side: matches posted receives with arriving messages, in the order that MPI
//! requires.

use super::foreign::source;
use super::ops::{Op, OpId, Outcome};
use super::{Arrived, Assembly, Messages, SYNC};
use crate::check::{self, message::Expected};
use crate::matching::{Envelope, MessageId, Pattern, PostedId};
use oxmpi_abi::constants::MPI_ERR_TRUNCATE;
use oxmpi_abi::{Error, Status};
use oxmpi_check::Finding;
use oxmpi_check::catalogue::SEND_READY;
use oxmpi_datatype::{Cursor, Signature, Target};
use oxmpi_transport::transfer::{RecvTransfer, RemoteOffer, RemoteRegion};
use oxmpi_transport::{INLINE_BYTES, Packet, Peer, RING_EAGER};

pub(super) struct RecvOp {
    pub buf: Target<'static>,
    pub cursor: Cursor,
    pub phase: Phase,
    /// The type of the buffer, while programs are checked.
    pub expected: Option<Expected>,
}

pub(super) enum Phase {
    Posted(PostedId),
    /// Matched; parts are still coming.
    Arriving,
    /// Matched and claimed; the links move its bytes.
    Moving(RecvTransfer),
}

impl RecvOp {
    /// The peer whose offer it has claimed.
    pub fn moves_from(&self) -> Option<Peer> {
        match &self.phase {
            Phase::Moving(transfer) => Some(transfer.peer()),
            _ => None,
        }
    }
}

/// A message that no receive has matched.
pub struct Message {
    /// The sender.
    pub(super) from: Peer,
    pub(super) bytes: u64,
    pub(super) body: Body,
    /// Set when the sender waits for the match, and may withdraw the message until then.
    pub(super) offer: Option<RemoteOffer>,
    /// What it says about its type.
    pub(super) signature: Signature,
}

pub(super) enum Body {
    Small([u8; INLINE_BYTES]),
    /// The bytes that have arrived: less than the message while parts are still coming.
    Stored(Vec<u8>),
    /// The bytes are at the sender.
    Offered(RemoteRegion),
    /// A send of our own that has not been matched.
    Own(OpId),
}

/// What a message counts beside its bytes, for the limit on stored messages.
const MESSAGE_WEIGHT: usize = 128;

impl Message {
    /// The message's length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The sender.
    pub fn from(&self) -> Peer {
        self.from
    }

    fn is_complete(&self) -> bool {
        match &self.body {
            Body::Stored(bytes) => bytes.len() as u64 == self.bytes,
            _ => true,
        }
    }

    pub(super) fn weight(&self) -> usize {
        match &self.body {
            Body::Small(_) | Body::Stored(_) => self.bytes as usize + MESSAGE_WEIGHT,
            _ => MESSAGE_WEIGHT,
        }
    }
}

impl Messages {
    /// Starts a receive.
    #[inline(always)]
    pub fn recv(&mut self, pattern: Pattern, buf: Target<'static>) -> OpId {
        self.recv_as(pattern, buf, None)
    }

    /// Starts a receive of a type that is compared with the message's.
    #[inline(always)]
    pub fn recv_as(&mut self, pattern: Pattern, buf: Target<'static>, expected: Option<Expected>) -> OpId {
        let is_long = self.long.concerns(buf.len());
        let op = self.begin_recv(pattern, buf, expected);
        if is_long {
            self.note_long(op);
        }
        op
    }

    #[inline(always)]
    fn begin_recv(&mut self, pattern: Pattern, buf: Target<'static>, expected: Option<Expected>) -> OpId {
        if !self.unexpected.is_empty()
            && let Some((id, envelope, message)) = self.take_unexpected(&pattern, false)
        {
            return self.recv_stored(&envelope, message, Some(id), buf, expected);
        }
        let op = self.ops.next_id();
        let posted = self.posted.post(pattern, op);
        self.ops.fill(op, Op::Recv(RecvOp { buf, cursor: Cursor::new(), phase: Phase::Posted(posted), expected }));
        op
    }

    #[inline(never)]
    fn recv_stored(
        &mut self,
        envelope: &Envelope,
        message: Message,
        id: Option<MessageId>,
        buf: Target<'static>,
        expected: Option<Expected>,
    ) -> OpId {
        let phase = Phase::Arriving;
        let op = self.ops.insert(Op::Recv(RecvOp { buf, cursor: Cursor::new(), phase, expected }));
        self.deliver(op, envelope, message, id);
        op
    }

    /// The status of the message that a receive with this pattern would get, if it is here.
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Status> {
        while let Some((id, envelope, message)) = self.unexpected.find(pattern) {
            let status = Status::new(envelope.source, envelope.tag, message.bytes);
            if message.offer.is_none_or(|offer| self.tx.is_offered(message.from, offer)) {
                return Some(status);
            }
            self.forget(id);
        }
        None
    }

    /// Takes the message that a receive with this pattern would get, for a later matched receive.
    pub fn take_message(&mut self, pattern: &Pattern) -> Option<(Envelope, Message)> {
        let (_, envelope, message) = self.take_unexpected(pattern, true)?;
        Some((envelope, message))
    }

    /// Starts the receive of a message from [`Messages::take_message`].
    pub fn recv_message(&mut self, envelope: &Envelope, message: Message, buf: Target<'static>) -> OpId {
        self.recv_message_as(envelope, message, buf, None)
    }

    /// The same with a type that is compared with the message's.
    pub fn recv_message_as(
        &mut self,
        envelope: &Envelope,
        message: Message,
        buf: Target<'static>,
        expected: Option<Expected>,
    ) -> OpId {
        self.recv_stored(envelope, message, None, buf, expected)
    }

    /// Cancels a receive that no message has matched.
    pub fn cancel_recv(&mut self, op: OpId) {
        let Op::Recv(recv) = self.ops.get(op) else { return };
        if let Phase::Posted(posted) = recv.phase
            && self.posted.cancel(posted).is_some()
        {
            self.ops.end(op, Outcome::cancelled());
        }
    }

    /// Removes the earliest message that matches and that its sender has not withdrawn. With
    /// `whole`, skips a message whose parts are still coming.
    fn take_unexpected(&mut self, pattern: &Pattern, whole: bool) -> Option<(MessageId, Envelope, Message)> {
        loop {
            let (id, _, message) = self.unexpected.find(pattern)?;
            if whole && !message.is_complete() {
                return None;
            }
            if !message.offer.is_none_or(|offer| self.tx.claim(message.from, offer)) {
                self.forget(id);
                continue;
            }
            let (envelope, message) = self.unexpected.remove(id)?;
            self.account_stored(message.from, 0, message.weight());
            return Some((id, envelope, message));
        }
    }

    /// Drops a message that its sender has withdrawn.
    pub(super) fn forget(&mut self, id: MessageId) {
        let Some((_, message)) = self.unexpected.remove(id) else { return };
        self.account_stored(message.from, 0, message.weight());
        let assembly = &mut self.peers.at(message.from).assembly;
        if let Assembly::Store(stored, left) = *assembly
            && stored == id
        {
            *assembly = Assembly::Discard(left);
        }
    }

    /// Gives a message to a receive. `id` names the message if it may still be arriving.
    fn deliver(&mut self, op: OpId, envelope: &Envelope, message: Message, id: Option<MessageId>) {
        let Some(room) = self.begin(op, envelope, message.bytes, message.signature) else { return };
        match message.body {
            Body::Small(bytes) => self.unpack_stored(op, &bytes[..(message.bytes as usize).min(room)]),
            Body::Stored(bytes) => {
                let left = message.bytes - bytes.len() as u64;
                self.unpack_stored(op, &bytes[..bytes.len().min(room)]);
                if left > 0 {
                    debug_assert!(
                        matches!(self.peers.at(message.from).assembly, Assembly::Store(stored, _) if Some(stored) == id)
                    );
                    self.peers.at(message.from).assembly = Assembly::Receive(op, left);
                    return;
                }
            }
            Body::Offered(region) => {
                if let Some(offer) = message.offer {
                    self.start_transfer(op, message.from, offer, region, message.bytes);
                }
                return;
            }
            Body::Own(send) => return self.deliver_loopback(op, send),
        }
        if let Some(offer) = message.offer {
            self.acknowledge(message.from, offer);
        }
        self.finish_recv(op);
    }

    /// Stores the expected outcome of a receive; returns the room in its buffer.
    #[inline(always)]
    pub(super) fn begin(&mut self, op: OpId, envelope: &Envelope, bytes: u64, signature: Signature) -> Option<usize> {
        let recv = self.ops.recv_mut(op)?;
        if let Some(expected) = &recv.expected {
            expected.matched(self.tx.node(), &recv.buf);
            expected.compare(self.tx.node(), envelope, bytes, signature);
        }
        let room = recv.buf.len();
        recv.phase = Phase::Arriving;
        let error = if bytes > room as u64 { Some(truncated(envelope, bytes, room)) } else { None };
        let status = Status::new(envelope.source, envelope.tag, bytes.min(room as u64));
        self.ops.expect(op, Outcome { status, error });
        Some(room)
    }

    fn unpack_stored(&mut self, op: OpId, bytes: &[u8]) {
        if let Some(recv) = self.ops.recv_mut(op) {
            oxmpi_transport::local::unpack(bytes, &recv.buf, &mut recv.cursor);
        }
    }

    #[inline]
    pub(super) fn finish_recv(&mut self, op: OpId) {
        self.ops.complete(op);
    }

    /// Tells the sender of a synchronous message that it was matched.
    fn acknowledge(&mut self, peer: Peer, offer: RemoteOffer) {
        let control = self.tx.acknowledge(peer, offer);
        self.tell(peer, control);
    }

    // ---- packets ----

    /// Handles the first packet of a message. With `deferring`, a packet that would have to be
    /// stored is left in the ring.
    #[inline]
    pub(super) fn arrive_eager(&mut self, peer: Peer, packet: &Packet<'_>, defer_unmatched: bool) -> Arrived {
        let head = packet.head();
        let envelope = Envelope { context: head.context, source: source(head.source, peer), tag: head.tag };
        let bytes = head.aux as usize;
        if head.flags != 0 || bytes > RING_EAGER {
            return self.arrive_sync(peer, packet, &envelope, head.flags, bytes, defer_unmatched);
        }
        self.arrive_message(peer, packet, &envelope, bytes, defer_unmatched)
    }

    /// A message that is longer than those of rings may be.
    #[cold]
    fn arrive_long(
        &mut self,
        peer: Peer,
        packet: &Packet<'_>,
        envelope: &Envelope,
        bytes: usize,
        defer_unmatched: bool,
    ) -> Arrived {
        self.arrive_message(peer, packet, envelope, bytes, defer_unmatched)
    }

    #[inline(always)]
    fn arrive_message(
        &mut self,
        peer: Peer,
        packet: &Packet<'_>,
        envelope: &Envelope,
        bytes: usize,
        defer_unmatched: bool,
    ) -> Arrived {
        let here = bytes.min(packet.room(0));
        match self.posted.take_match(envelope) {
            Some(op) => {
                let signature = self.arriving_signature(peer);
                let Some(room) = self.begin(op, envelope, bytes as u64, signature) else { return Arrived::Done(false) };
                if let Some(recv) = self.ops.recv_mut(op) {
                    if bytes <= INLINE_BYTES {
                        packet.unpack_inline(bytes.min(room), &recv.buf);
                    } else {
                        packet.unpack(0, here.min(room), &recv.buf, &mut recv.cursor);
                    }
                }
                if here < bytes {
                    self.peers.at(peer).assembly = Assembly::Receive(op, (bytes - here) as u64);
                } else {
                    self.finish_recv(op);
                }
                Arrived::Done(true)
            }
            None if defer_unmatched => Arrived::Deferred,
            None => {
                self.store(peer, packet, 0, *envelope, bytes, None);
                Arrived::Done(false)
            }
        }
    }

    fn arrive_sync(
        &mut self,
        peer: Peer,
        packet: &Packet<'_>,
        envelope: &Envelope,
        flags: u8,
        bytes: usize,
        defer_unmatched: bool,
    ) -> Arrived {
        if flags == 0 && bytes <= self.tx.caps(peer).eager {
            return self.arrive_long(peer, packet, envelope, bytes, defer_unmatched);
        }
        if flags != SYNC || bytes > packet.room(16) {
            return Arrived::Wrong("its length or its flags cannot be");
        }
        let offer = match self.tx.announced_with_bytes(peer, packet) {
            Ok(offer) => offer,
            Err(why) => return Arrived::Wrong(why),
        };
        let Some((posted, &op)) = self.posted.peek_match(envelope) else {
            if defer_unmatched {
                return Arrived::Deferred;
            }
            self.store(peer, packet, 16, *envelope, bytes, Some(offer));
            return Arrived::Done(false);
        };
        if !self.tx.claim(peer, offer) {
            return Arrived::Done(false);
        }
        self.posted.cancel(posted);
        let signature = self.arriving_signature(peer);
        let Some(room) = self.begin(op, envelope, bytes as u64, signature) else { return Arrived::Done(false) };
        if let Some(recv) = self.ops.recv_mut(op) {
            packet.unpack(16, bytes.min(room), &recv.buf, &mut recv.cursor);
        }
        self.acknowledge(peer, offer);
        self.finish_recv(op);
        Arrived::Done(true)
    }

    /// Handles an offer. `deferring` as for [`Messages::arrive_eager`].
    pub(super) fn arrive_offer(&mut self, peer: Peer, packet: &Packet<'_>, defer_unmatched: bool) -> Arrived {
        let head = packet.head();
        let envelope = Envelope { context: head.context, source: source(head.source, peer), tag: head.tag };
        let (bytes, offer, region) = match self.tx.announced(peer, packet) {
            Ok(announced) => announced,
            Err(why) => return Arrived::Wrong(why),
        };
        match self.posted.peek_match(&envelope) {
            Some((posted, &op)) => {
                if self.tx.claim(peer, offer) {
                    self.posted.cancel(posted);
                    let signature = self.arriving_signature(peer);
                    if self.begin(op, &envelope, bytes, signature).is_some() {
                        self.start_transfer(op, peer, offer, region, bytes);
                    }
                    return Arrived::Done(true);
                }
            }
            None if defer_unmatched => return Arrived::Deferred,
            None => {
                let signature = self.early_signature(peer, &envelope);
                let message = Message { from: peer, bytes, body: Body::Offered(region), offer: Some(offer), signature };
                self.account_stored(peer, message.weight(), 0);
                self.unexpected.push(envelope, message);
            }
        }
        Arrived::Done(false)
    }

    /// What a message that has just arrived says about its type.
    #[inline]
    fn arriving_signature(&mut self, peer: Peer) -> Signature {
        if check::is_on() { std::mem::take(&mut self.peers.at(peer).signature) } else { Signature::NONE }
    }

    /// The same of one whose receive is not posted.
    fn early_signature(&mut self, peer: Peer, envelope: &Envelope) -> Signature {
        let signature = self.arriving_signature(peer);
        if signature.is_ready() {
            self.tell_not_ready(peer, envelope);
        }
        signature
    }

    /// A message in ready mode has come before its receive was posted.
    #[cold]
    pub(super) fn tell_not_ready(&self, from: Peer, envelope: &Envelope) {
        let node = self.tx.node();
        let of_world = |peer: Peer| node.nodes().rank_of(peer).map(|rank| rank.index());
        let to = of_world(self.tx.own()).map_or_else(|| "a rank".into(), |rank| format!("rank {rank}"));
        let tag = envelope.tag;
        let text = format!("a send in ready mode (MPI_Rsend) to {to} with tag {tag}, which had not posted its receive");
        let finding = Finding { rank: of_world(from), ..Finding::new(&SEND_READY, text) };
        check::tell_finding(node, finding, None);
    }

    /// Stores a message that no receive matches yet.
    fn store(
        &mut self,
        peer: Peer,
        packet: &Packet<'_>,
        prefix: usize,
        envelope: Envelope,
        bytes: usize,
        offer: Option<RemoteOffer>,
    ) {
        let here = bytes.min(packet.room(prefix));
        let body = if bytes <= INLINE_BYTES {
            let mut small = [0; INLINE_BYTES];
            packet.copy_to(prefix, &mut small[..bytes]);
            Body::Small(small)
        } else {
            let mut stored = Vec::with_capacity(bytes);
            packet.append_to(prefix, here, &mut stored);
            Body::Stored(stored)
        };
        let signature = self.early_signature(peer, &envelope);
        let message = Message { from: peer, bytes: bytes as u64, body, offer, signature };
        self.account_stored(peer, message.weight(), 0);
        let id = self.unexpected.push(envelope, message);
        if here < bytes {
            self.peers.at(peer).assembly = Assembly::Store(id, (bytes - here) as u64);
        }
    }

    /// Handles the next part of a message.
    pub(super) fn arrive_more(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        let (Assembly::Receive(_, left) | Assembly::Store(_, left) | Assembly::Discard(left)) =
            self.peers.at(peer).assembly
        else {
            return Arrived::Wrong("a part that belongs to no message");
        };
        let here = left.min(packet.room(0) as u64);
        let rest = left - here;
        let mut done = None;
        match &mut self.peers.at(peer).assembly {
            Assembly::Receive(op, left) => {
                *left = rest;
                let op = *op;
                if let Some(recv) = self.ops.recv_mut(op) {
                    let room = recv.buf.len() - recv.cursor.position();
                    packet.unpack(0, (here as usize).min(room), &recv.buf, &mut recv.cursor);
                }
                done = Some(op);
            }
            Assembly::Store(id, left) => {
                *left = rest;
                if let Some(Message { body: Body::Stored(bytes), .. }) = self.unexpected.get_mut(*id) {
                    packet.append_to(0, here as usize, bytes);
                }
            }
            Assembly::Discard(left) => *left = rest,
            Assembly::None => {}
        }
        if rest > 0 {
            return Arrived::Done(false);
        }
        self.peers.at(peer).assembly = Assembly::None;
        if let Some(op) = done {
            self.finish_recv(op);
        }
        Arrived::Done(true)
    }
}

#[cold]
fn truncated(envelope: &Envelope, bytes: u64, room: usize) -> Error {
    // The tags of the library's own messages say nothing to anybody.
    let tag = if envelope.tag < 0 { String::new() } else { format!(" with tag {}", envelope.tag) };
    Error::new(
        MPI_ERR_TRUNCATE,
        format!(
            "the message from rank {}{tag} has {bytes} bytes, but the receive buffer has room for {room} bytes",
            envelope.source
        ),
    )
}
