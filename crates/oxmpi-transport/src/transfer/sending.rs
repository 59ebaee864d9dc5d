//! The sender's side of a transfer. The offer goes out among the other packets; then the receiver
//! decides, unless the sender withdraws first. The buffer must stay unchanged until a step or an
//! answer ends the transfer, or it is withdrawn or aborted.

use super::pieces::{self, List, RemotePieces, RemoteRegion};
use super::{CLAIMED, Control, DATA, Quiet, STREAM, Step, WITHDRAWN};
use crate::caps::Direct;
use crate::end::Full;
use crate::outgoing::Outgoing;
use crate::packet::{Head, Packet};
use oxmpi_base::ids::Peer;
use oxmpi_base::offer_cell::{Claims, OfferId, State};
use oxmpi_datatype::{Cursor, Source};

/// The state of a message that its sender has offered.
pub enum SendTransfer {
    /// Offered; the receiver may claim it.
    Offered(Offered),
    /// Claimed; both sides copy.
    Copy(Copying),
    /// Claimed; the bytes go as packets to the receiver's operation, up to a length.
    Stream { receive: u64, length: u64 },
}

pub struct Offered {
    /// `None` if the receiver shares no memory with us.
    offer: Option<OfferId>,
    pieces: Option<Box<Pieces>>,
    /// The receiver was asked for a withdrawal.
    asked: bool,
}

pub struct Copying {
    offer: OfferId,
    pieces: Option<Box<Pieces>>,
    /// `None` before the receiver asks for help.
    claims: Option<Claims>,
}

/// For a copy between buffers of which one has gaps.
#[derive(Default)]
struct Pieces {
    /// Our list, which the receiver reads.
    _list: Option<List>,
    /// The receiver's pieces, once it asked for help.
    far: RemoteSide,
}

#[derive(Default)]
enum RemoteSide {
    #[default]
    Unknown,
    Known(RemotePieces),
    /// The list could not be read: the receiver was faster, or the kernel forbids it.
    Lost,
}

/// The result of a withdrawal.
#[derive(Debug)]
pub enum Withdrawal {
    /// The receiver will never see the message, and the buffer is free.
    Done,
    /// The receiver has claimed it, or was asked before.
    TooLate,
    /// The receiver must be asked and decides; its answer comes as a packet.
    Asked(Control),
}

/// The effect of the receiver's answer on a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// [`Outgoing::step_send`] has work from now on.
    Steps,
    /// The message is received.
    Done,
    /// The offer is withdrawn.
    Withdrawn,
}

/// Blocks from this length on are packed so fast that fetching the ring's cells back from the
/// receiver takes longer: they are prefetched. With shorter blocks the CPU waits for the lines of
/// the blocks, and prefetching more delays them.
const LONG_BLOCK: usize = 96;

/// Parts of a stream: short ones let the receiver start soon, longer ones cost less once both sides
/// are working.
fn stream_part(length: u64, long_blocks: bool) -> usize {
    const LONG: u64 = 64 << 10;
    const LONGER: u64 = 1 << 20;
    match length {
        LONG..LONGER if long_blocks => 8 << 10,
        ..LONGER => 4 << 10,
        _ => 16 << 10,
    }
}

impl SendTransfer {
    /// Whether the receiver is known to have claimed the message.
    pub fn is_claimed(&self) -> bool {
        !matches!(self, SendTransfer::Offered(_))
    }
}

impl Outgoing {
    /// Offers a message whose bytes stay here; [`Full`] while there is no room. `op` comes back in
    /// the answers.
    pub fn offer(&mut self, peer: Peer, head: &Head, op: u64, buf: &Source<'_>) -> Result<SendTransfer, Full> {
        let dense = buf.as_dense();
        if dense.is_none() && !self.has_room(peer) {
            // Before a list is made for nothing.
            return Err(Full);
        }
        let offer = self.new_offer(peer)?;
        let (mut region, mut pieces) = (RemoteRegion::NONE, None);
        let direct = self.caps(peer).direct;
        if let Some(at) = dense.filter(|_| direct != Direct::Apart) {
            // Also where this process may not copy: the receiver may.
            region = RemoteRegion::run(at as u64);
        } else if direct == Direct::Allowed
            && let Some(list) = List::of(buf, buf.len())
        {
            region = list.region();
            pieces = Some(Box::new(Pieces { _list: Some(list), far: RemoteSide::Unknown }));
        }
        let head = Head { aux: region.pieces, ..*head };
        let sent = self.send_control(peer, &head, &[buf.len() as u64, region.address, number(offer), op]);
        self.offered(sent, offer, pieces)
    }

    /// Offers a short message, whose bytes travel with the offer. The receiver must claim it
    /// nevertheless.
    pub fn offer_with_bytes(
        &mut self,
        peer: Peer,
        head: &Head,
        op: u64,
        buf: &Source<'_>,
    ) -> Result<SendTransfer, Full> {
        let offer = self.new_offer(peer)?;
        let sent = self.send_first(peer, head, &[number(offer), op], buf, &mut Cursor::new(), buf.len());
        self.offered(sent, offer, None)
    }

    /// A new offer to a peer that shares memory with us; [`Full`] while all cells are in use.
    fn new_offer(&mut self, peer: Peer) -> Result<Option<OfferId>, Full> {
        if !self.has_offer_cells(peer) {
            return Ok(None);
        }
        self.offers.offer().map(Some).ok_or(Full)
    }

    fn offered(
        &mut self,
        sent: Result<(), Full>,
        offer: Option<OfferId>,
        pieces: Option<Box<Pieces>>,
    ) -> Result<SendTransfer, Full> {
        if let (Err(Full), Some(offer)) = (sent, offer) {
            self.offers.withdraw(offer);
        }
        sent.map(|()| SendTransfer::Offered(Offered { offer, pieces, asked: false }))
    }

    /// Tries to withdraw an offer. Never waits for the peer.
    pub fn withdraw(&mut self, op: u64, transfer: &mut SendTransfer) -> Withdrawal {
        let SendTransfer::Offered(offered) = transfer else { return Withdrawal::TooLate };
        match offered.offer {
            Some(offer) if self.offers.withdraw(offer) => Withdrawal::Done,
            Some(_) => Withdrawal::TooLate,
            None if offered.asked => Withdrawal::TooLate,
            None => {
                offered.asked = true;
                Withdrawal::Asked(Control::withdraw(op))
            }
        }
    }

    /// Handles the receiver's answer to an offer. An error says how it violates the protocol.
    pub fn answered(
        &mut self,
        packet: &Packet<'_>,
        transfer: &mut SendTransfer,
        buf: &Source<'_>,
        cursor: &mut Cursor,
    ) -> Result<Answer, &'static str> {
        let wrong = Err("an answer to an offer that was not made to it");
        let (offer, asked) = match transfer {
            SendTransfer::Offered(offered) => (offered.offer, offered.asked),
            SendTransfer::Copy(copying) if packet.kind() == STREAM => (Some(copying.offer), false),
            _ => return wrong,
        };
        if packet.word(0) != number(offer) {
            return wrong;
        }
        match (packet.kind(), offer) {
            (CLAIMED, None) => Ok(Answer::Done),
            (CLAIMED, Some(offer)) => {
                let SendTransfer::Offered(Offered { pieces, .. }) = transfer else { return wrong };
                *transfer = SendTransfer::Copy(Copying { offer, pieces: pieces.take(), claims: None });
                Ok(Answer::Steps)
            }
            (STREAM, _) => {
                let (receive, length) = (packet.word(2), packet.word(3));
                if length > buf.len() as u64 {
                    return Err("it wants more bytes than the message has");
                }
                if let Some(offer) = offer {
                    // The sender must finish the cell itself: a done cell would mean that the send
                    // is complete.
                    self.offers.cells.cell(offer).finish(offer);
                    self.offers.cells.release(offer);
                }
                *transfer = SendTransfer::Stream { receive, length };
                cursor.seek(buf, 0);
                Ok(Answer::Steps)
            }
            (WITHDRAWN, None) if asked => Ok(Answer::Withdrawn),
            _ => wrong,
        }
    }

    /// One step of the sender of a claimed message.
    pub fn step_send(
        &mut self,
        peer: Peer,
        transfer: &mut SendTransfer,
        buf: &Source<'_>,
        cursor: &mut Cursor,
    ) -> Step {
        match transfer {
            SendTransfer::Offered(_) => Step::Idle,
            SendTransfer::Copy(copying) => self.step_copy(peer, copying, buf),
            SendTransfer::Stream { receive, length } => self.step_stream(peer, *receive, *length, buf, cursor),
        }
    }

    fn step_copy(&mut self, peer: Peer, copying: &mut Copying, buf: &Source<'_>) -> Step {
        let id = copying.offer;
        let cell = self.offers.cells.cell(id);
        if cell.state(id) == State::Done {
            self.offers.cells.release(id);
            return Step::Done;
        }
        let Some(copy) = cell.copy() else { return Step::Idle };
        let mut step = Step::Idle;
        if !cell.is_broken() && cell.has_unclaimed(&copy) {
            let mut run = RemotePieces::Run(copy.target);
            let far = if copy.pieces == 0 {
                &mut run
            } else {
                // Read before a part is claimed: the list is valid while there is something to
                // claim.
                let region = RemoteRegion { address: copy.target as u64, pieces: copy.pieces as u32 };
                let known = &mut copying.pieces.get_or_insert_default().far;
                if let RemoteSide::Unknown = known {
                    *known = RemotePieces::read(self.node(), peer, region).map_or(RemoteSide::Lost, RemoteSide::Known);
                }
                let RemoteSide::Known(far) = known else { return Step::Idle };
                far
            };
            let claims = copying.claims.get_or_insert_with(|| Claims::new(copy.sender));
            if let Some((offset, length)) = cell.claim(&copy, claims) {
                let call = |ours: &[_], theirs: &[_]| self.node().copy_to(peer, ours, theirs);
                if pieces::copy(call, buf, far, offset as usize, length as usize) {
                    cell.add_copied(length);
                } else {
                    cell.break_off();
                }
                self.node().wake(peer);
                step = Step::Moved;
            }
        }
        if cell.all_copied(&copy) {
            // The send is complete, whenever the receiver notices.
            self.offers.unreleased.push_back(id);
            return Step::Done;
        }
        step
    }

    /// Sends parts of a stream while there is room.
    fn step_stream(&mut self, peer: Peer, receive: u64, length: u64, buf: &Source<'_>, cursor: &mut Cursor) -> Step {
        let long_blocks = buf.average_block() >= LONG_BLOCK;
        let caps = self.caps(peer);
        // Other packets must be able to pass between long frames.
        let one_a_step = caps.bulk.is_some();
        let part = caps.bulk.unwrap_or(stream_part(length, long_blocks).min(caps.part));
        let mut step = Step::Idle;
        while (cursor.position() as u64) < length {
            let bytes = part.min(length as usize - cursor.position());
            if long_blocks {
                self.expect_second(peer, part);
            }
            if self.send_bulk(peer, DATA, receive, buf, cursor, bytes) == Err(Full) {
                return step;
            }
            step = Step::Moved;
            if one_a_step && !self.is_mid_frame(peer) && (cursor.position() as u64) < length {
                return step;
            }
        }
        Step::Done
    }

    /// Whether [`Outgoing::step_send`] could do something now. Otherwise the receiver is working,
    /// and wakes us when that changes. It may be computing, so spinning would be wrong.
    pub fn can_step_send(&self, transfer: &SendTransfer) -> bool {
        let SendTransfer::Copy(copying) = transfer else { return false };
        let cell = self.offers.cells.cell(copying.offer);
        let lost = copying.pieces.as_ref().is_some_and(|pieces| matches!(pieces.far, RemoteSide::Lost));
        let can_help = || cell.copy().is_some_and(|copy| cell.has_unclaimed(&copy) && !cell.is_broken());
        cell.state(copying.offer) == State::Done || (!lost && can_help())
    }

    /// Ends a transfer whose receiver is dead or refused.
    pub fn abort_send(&mut self, transfer: SendTransfer) -> Quiet {
        let offer = match transfer {
            SendTransfer::Offered(offered) => offered.offer,
            SendTransfer::Copy(copying) => Some(copying.offer),
            SendTransfer::Stream { .. } => None,
        };
        if let Some(offer) = offer
            && !self.offers.withdraw(offer)
        {
            // The receiver may still use the cell, so it is reused only after the receiver has
            // finished it.
            self.offers.unreleased.push_back(offer);
        }
        Quiet(())
    }
}

/// An offer's number in packets; 0 where there is no offer cell.
fn number(offer: Option<OfferId>) -> u64 {
    offer.map_or(0, |offer| offer.0)
}
