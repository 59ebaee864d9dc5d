//! The sending side: small messages go at once, others are offered to their receiver; what finds no room in the ring
//! waits in the peer's send queue, so that messages of one pair never overtake each other.

use super::ops::{Op, OpId, Outcome};
use super::pieces::{Far, List, Place};
use super::{EAGER, MORE, Messages, OFFER, Queued, SYNC};
use crate::matching::MessageId;
use oxmpi_datatype::{Cursor, OwnedBytes, Source};
use oxmpi_transport::{Full, Head, Peer, TicketId};
use oxmpi_transport::{INLINE_BYTES, PART_UNIT};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Standard, ready and (from a buffer that the caller provides) buffered mode.
    Standard,
    /// Completes only when the receiver has begun to receive.
    Synchronous,
}

/// Where a message goes and how its receiver shall know it.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The receiver.
    pub peer: Peer,
    pub context: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    pub tag: i32,
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
    /// For a copy between buffers of which one has gaps.
    pub pieces: Option<Box<Pieces>>,
}

#[derive(Default)]
pub(super) struct Pieces {
    /// Our own, which the receiver reads.
    list: Option<List>,
    /// The receiver's, once its help was asked for.
    pub far: FarSide,
}

#[derive(Default)]
pub(super) enum FarSide {
    #[default]
    Unknown,
    Known(Far),
    /// The list could not be read: the receiver was faster, or the kernel forbids it.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// In the send queue's queue, to be sent eagerly; parts may be sent.
    Eager,
    /// In the send queue's queue, to be offered (with its bytes when they are few).
    ToOffer,
    /// Announced; the receiver may take it.
    Offered(TicketId),
    /// Taken; both sides copy.
    Taken(TicketId),
    /// Taken; the bytes go through the ring to the receiver's operation, up to a length.
    Stream { receive: u64, length: u64 },
    /// To oneself, waiting among the unexpected messages.
    Own(MessageId),
}

impl Phase {
    /// The offer's ticket, while there is one.
    pub fn ticket(self) -> Option<TicketId> {
        match self {
            Phase::Offered(ticket) | Phase::Taken(ticket) => Some(ticket),
            _ => None,
        }
    }
}

impl SendOp {
    pub fn new(route: Route, buf: Source<'static>, phase: Phase) -> SendOp {
        SendOp { route, buf, cursor: Cursor::new(), phase, storage: None, pieces: None }
    }

    pub fn peer(&self) -> Peer {
        self.route.peer
    }

    pub fn context(&self) -> u32 {
        self.route.context
    }

    /// Whether it waits for a receiver that has not taken anything of it.
    pub fn is_untaken(&self) -> bool {
        match self.phase {
            Phase::ToOffer | Phase::Offered(_) => true,
            Phase::Eager => self.cursor.position() == 0,
            Phase::Taken(_) | Phase::Stream { .. } | Phase::Own(_) => false,
        }
    }

    /// Where the receiver finds the bytes; `list`: also if that takes a list.
    fn place(&mut self, list: bool) -> Place {
        if let Some(at) = self.buf.as_dense() {
            return Place::run(at as u64);
        }
        if list && self.pieces.is_none() {
            let Some(list) = List::of(&self.buf, self.buf.len()) else { return Place::NONE };
            self.pieces = Some(Box::new(Pieces { list: Some(list), ..Pieces::default() }));
        }
        self.pieces.as_ref().and_then(|pieces| pieces.list.as_ref()).map_or(Place::NONE, List::place)
    }
}

/// The first part of a longer message: enough to be worth the packet, little enough that the receiver starts soon. Parts
/// but the last fill their cells, since a receiver takes what a packet has room for.
const FIRST_PART: usize = 4096;
/// The parts after the first.
const NEXT_PART: usize = 4096;
/// Up to here a message is not worth splitting.
const ONE_PART: usize = FIRST_PART + 2048;
const _: () = assert!(FIRST_PART.is_multiple_of(PART_UNIT) && NEXT_PART.is_multiple_of(PART_UNIT));

enum Pushed {
    All,
    Part,
    Nothing,
}

impl Messages {
    /// Sends a message of one packet, if nothing stands in the way; `false`: use [`Engine::send`].
    #[inline]
    pub fn send_small(&mut self, route: &Route, buf: &Source<'_>) -> bool {
        let (peer, len) = (route.peer, buf.len());
        if len > FIRST_PART || peer.is_far() || peer == self.tx.own() || !self.peers.at(peer).queue.is_empty() {
            return false;
        }
        if self.tx.under_pressure(peer) {
            return false;
        }
        let head = route.head(EAGER, 0, len as u32);
        if len <= INLINE_BYTES {
            return self.tx.send_inline(peer, &head, buf).is_ok();
        }
        let sent =
            len <= self.tx.max_part() && self.tx.send_first(peer, &head, &[], buf, &mut Cursor::new(), len).is_ok();
        if sent {
            self.tx.expect_as_long(peer, len);
        }
        sent
    }

    /// Starts a send. `None`: it is complete and the buffer is free.
    #[inline]
    pub fn send(&mut self, mode: Mode, route: &Route, buf: Source<'static>) -> Option<OpId> {
        if route.peer == self.tx.own() {
            return self.send_own(mode, route, buf);
        }
        let eager = mode == Mode::Standard && buf.len() <= self.eager_limit && !self.tx.under_pressure(route.peer);
        if !eager {
            return Some(self.send_queued(SendOp::new(*route, buf, Phase::ToOffer)));
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
        // SAFETY: the operation owns the bytes from `keep` on, and is dropped after its end; without one it has ended.
        let source = unsafe { bytes.lend() };
        let op = self.send(Mode::Standard, route, source)?;
        self.keep(op, Some(bytes));
        Some(op)
    }

    /// Hands the bytes that a send reads to the engine, which drops them when it is done.
    pub fn keep(&mut self, op: OpId, bytes: Option<OwnedBytes>) {
        if let Some(send) = self.ops.send_mut(op) {
            send.storage = bytes;
        }
    }

    fn send_queued(&mut self, send: SendOp) -> OpId {
        let peer = send.route.peer;
        let op = self.ops.insert(Op::Send(send));
        self.enqueue(peer, Queued::Message(op));
        if self.peers.at(peer).queue.len() == 1 {
            self.push_queues();
        }
        op
    }

    /// Puts a queued message into the ring; `true` when it needs the queue no longer.
    pub(super) fn push_message(&mut self, op: OpId) -> bool {
        let Op::Send(mut send) = self.ops.lift(op) else { unreachable!("a queued message is a send") };
        // The receiver may have asked for offers since the message was queued.
        if send.phase == Phase::Eager && send.cursor.position() == 0 && self.tx.under_pressure(send.route.peer) {
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
        let mut pushed = Pushed::Nothing;
        if cursor.position() == 0 {
            let part = if len <= ONE_PART { len } else { FIRST_PART }.min(self.tx.max_part());
            if self.tx.send_first(peer, &route.head(EAGER, 0, len as u32), &[], buf, cursor, part) == Err(Full) {
                return pushed;
            }
            pushed = Pushed::Part;
        }
        let most = NEXT_PART.min(self.tx.max_part());
        while cursor.position() < len {
            let part = most.min(len - cursor.position());
            if self.tx.send_bulk(peer, MORE, 0, buf, cursor, part) == Err(Full) {
                return pushed;
            }
            pushed = Pushed::Part;
        }
        self.tx.expect_as_long(peer, len);
        Pushed::All
    }

    /// Announces a message that waits for its receiver. Few bytes travel with the announcement.
    fn push_offer(&mut self, op: OpId, send: &mut SendOp) -> bool {
        let (peer, len) = (send.route.peer, send.buf.len());
        self.reap_spent();
        let Some(ticket) = self.tx.offer_ticket() else { return false };
        let with_bytes = len <= FIRST_PART.min(self.tx.max_part());
        let sent = if with_bytes {
            let head = send.route.head(EAGER, SYNC, len as u32);
            self.tx.send_first(peer, &head, &[ticket.0, u64::from(op)], &send.buf, &mut send.cursor, len)
        } else {
            let Place { address, pieces } = send.place(self.single_copy && self.tx.node().shares_memory(peer));
            let head = send.route.head(OFFER, 0, pieces);
            self.tx.send_control(peer, &head, &[len as u64, address, ticket.0, u64::from(op)])
        };
        match sent {
            Ok(()) => send.phase = Phase::Offered(ticket),
            Err(Full) => {
                self.tx.own_ticket(ticket).withdraw(ticket);
                self.tx.release_ticket(ticket);
            }
        }
        sent.is_ok()
    }

    /// Tries to take a send back; it ends as cancelled if that works, and goes on otherwise. Never waits for the peer.
    pub fn cancel_send(&mut self, op: OpId) {
        let Op::Send(send) = self.ops.get(op) else { return };
        let (peer, phase) = (send.route.peer, send.phase);
        let withdrawn = match phase {
            Phase::ToOffer => self.unqueue(peer, op),
            Phase::Eager => send.cursor.position() == 0 && self.unqueue(peer, op),
            Phase::Offered(ticket) => {
                let won = self.tx.own_ticket(ticket).withdraw(ticket);
                if won {
                    self.tx.release_ticket(ticket);
                }
                won
            }
            Phase::Own(message) => self.unexpected.remove(message).is_some(),
            Phase::Taken(_) | Phase::Stream { .. } => false,
        };
        if withdrawn {
            self.ops.end(op, Outcome::cancelled());
        }
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
