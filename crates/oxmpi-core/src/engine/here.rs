//! The short ways of a blocking receive: a short message that is here is copied to the buffer, without an operation.

use super::recv::Body;
use super::{Engine, Messages};
use crate::matching::{ANY_SOURCE, Envelope, Pattern};
use oxmpi_abi::Status;
use oxmpi_datatype::{Cursor, Target};
use oxmpi_transport::{EAGER, INLINE_BYTES, Packet, Peer};

/// Messages that receives from any source take from one sender before they look at the next one.
const FROM_ONE: u32 = 16;

/// Where receives from any source look first.
#[derive(Default)]
pub(super) struct LastSender {
    index: usize,
    taken: u32,
}

impl Engine {
    /// Receives a message of one packet without bookkeeping, if it matches and is at the head of
    /// `peer`'s ring, or comes there within so many looks. `None`: [`Engine::recv`] shall receive,
    /// whatever comes.
    #[inline(always)]
    pub fn recv_small(&mut self, peer: Peer, pattern: &Pattern, buf: &Target<'_>, looks: usize) -> Option<Status> {
        if !self.posted.is_empty() || !self.unexpected.is_empty() {
            return None;
        }
        self.take_head(peer, pattern, buf, looks)
    }

    /// Receives a message of one packet from a peer's ring, if it matches and is the next one there, or comes within so
    /// many looks. Nothing that was posted or stored before may match.
    #[inline(always)]
    fn take_head(&mut self, peer: Peer, pattern: &Pattern, buf: &Target<'_>, looks: usize) -> Option<Status> {
        let packet = self.rx.await_local(peer, looks)?;
        let status = unpack_whole(&packet, pattern, buf)?;
        let size = packet.size();
        self.rx.pop(peer, size, self.messages.tx.node());
        Some(status)
    }

    /// Whether [`Engine::recv_here`] may find what [`Engine::recv_small`] does not.
    #[inline(always)]
    pub fn may_be_here(&self, pattern: &Pattern) -> bool {
        !self.unexpected.is_empty() || pattern.source == ANY_SOURCE
    }

    /// Receives a short message that was stored, or is the next one of a ring, without bookkeeping. `None`:
    /// [`Engine::recv`] shall receive, whatever comes.
    #[inline(never)]
    pub fn recv_here(&mut self, peer: Option<Peer>, pattern: &Pattern, buf: &Target<'_>) -> Option<Status> {
        match self.messages.take_stored(pattern, buf) {
            Stored::Received(status) => return Some(status),
            Stored::Long => return None,
            Stored::None => {}
        }
        if !self.posted.is_empty() {
            return None;
        }
        match peer {
            Some(peer) => self.take_head(peer, pattern, buf, 1),
            None => self.take_any_head(pattern, buf),
        }
    }

    /// Receives from the ring that the last such receive has read, or else from the next one that has a match. After some
    /// messages it leaves the next one to the general way, which serves all senders in turn.
    fn take_any_head(&mut self, pattern: &Pattern, buf: &Target<'_>) -> Option<Status> {
        let senders = self.rx.senders(&mut self.messages.tx);
        if self.last_sender.index >= senders {
            self.last_sender.index = 0;
        }
        if self.last_sender.taken >= FROM_ONE {
            self.last_sender = LastSender { index: self.last_sender.index + 1, taken: 0 };
            return None;
        }
        for index in (self.last_sender.index..senders).chain(0..self.last_sender.index) {
            let peer = self.rx.sender(index)?;
            if let Some(status) = self.take_head(peer, pattern, buf, 1) {
                let taken = if index == self.last_sender.index { self.last_sender.taken + 1 } else { 1 };
                self.last_sender = LastSender { index, taken };
                return Some(status);
            }
        }
        None
    }
}

/// Unpacks a packet that is a whole message and matches.
#[inline(always)]
fn unpack_whole(packet: &Packet<'_>, pattern: &Pattern, buf: &Target<'_>) -> Option<Status> {
    if packet.kind() != EAGER {
        return None;
    }
    let head = packet.head();
    let bytes = head.aux as usize;
    let envelope = Envelope { context: head.context, source: head.source, tag: head.tag };
    if head.flags != 0 || bytes > packet.room(0) || bytes > buf.len() || !pattern.matches(&envelope) {
        return None;
    }
    if bytes <= INLINE_BYTES {
        packet.unpack_inline(bytes, buf);
    } else {
        packet.unpack(0, bytes, buf, &mut Cursor::new());
    }
    Some(Status::new(head.source, head.tag, bytes as u64))
}

/// What a search among the stored messages has found.
enum Stored {
    Received(Status),
    /// A match that takes more than a copy: a long one, one whose sender waits, one of which parts are missing, or one that
    /// is longer than the buffer.
    Long,
    None,
}

impl Messages {
    fn take_stored(&mut self, pattern: &Pattern, buf: &Target<'_>) -> Stored {
        let Some((id, envelope, message)) = self.unexpected.find(pattern) else { return Stored::None };
        let Body::Small(bytes) = &message.body else { return Stored::Long };
        let length = message.bytes as usize;
        if message.offer.is_some() || length > buf.len() {
            return Stored::Long;
        }
        oxmpi_transport::local::unpack(&bytes[..length], buf, &mut Cursor::new());
        let (from, weight) = (message.from, message.weight());
        self.unexpected.remove(id);
        self.account_stored(from, 0, weight);
        Stored::Received(Status::new(envelope.source, envelope.tag, length as u64))
    }
}
