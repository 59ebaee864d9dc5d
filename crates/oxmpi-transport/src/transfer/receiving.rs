//! The receiver's side of a transfer. It claims an offer; then both sides copy chunks directly
//! between the processes. If the layout of one side, the kernel or the link forbids that, the bytes
//! come as packets.
//!
//! The buffer must stay unchanged until a step or a packet ends the transfer, or it is aborted.

use super::pieces::{self, List, RemotePieces, RemoteRegion};
use super::{CLAIMED, Control, OPERATION_WORD, Quiet, STREAM, Step, WITHDRAWN};
use crate::caps::{self, Bulk, Why};
use crate::outgoing::Outgoing;
use crate::packet::Packet;
use oxmpi_base::ids::Peer;
use oxmpi_base::offer_cell::{Claims, Copy as CellCopy, End, OfferCell, OfferId, offer_cell_of};
use oxmpi_datatype::{Cursor, Target};
use std::cell::Cell;
use std::io;
use std::time::Duration;

/// An offer of another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteOffer {
    /// The sender's number of the offer; 0 where no memory is shared with it.
    number: u64,
    /// The sender's operation.
    send: u64,
}

/// The state of a receive whose message was claimed.
pub enum RecvTransfer {
    /// Both sides copy.
    Copy(Box<Copying>),
    /// This many bytes still come as packets.
    Stream { from: Peer, left: u64 },
}

pub struct Copying {
    peer: Peer,
    offer: RemoteOffer,
    id: OfferId,
    /// Where the sender's bytes are, and their pieces once its list was read.
    region: RemoteRegion,
    far: Option<RemotePieces>,
    /// The list of our pieces, if the buffer has gaps; the sender reads it.
    _list: Option<List>,
    copy: CellCopy,
    claims: Claims,
    share: Share,
}

/// How a receive begins whose message was claimed. The sender must be told.
pub enum Begun {
    /// There are no bytes to move.
    Done(Control),
    /// The bytes move this way, and why.
    Moving { transfer: RecvTransfer, control: Control, how: (Bulk, Why) },
}

#[derive(Clone, Copy)]
enum Share {
    /// The sender may help.
    Both,
    /// We copy alone; `done` bytes are copied.
    Alone { done: u64 },
}

/// Bytes per step of a copy that we do alone.
const ALONE_STEP: u64 = 256 << 10;

/// Looks of [`Outgoing::abort_recv`] at a chunk that the sender has claimed before it looks more rarely, and whether the
/// sender still lives; a chunk takes microseconds.
const LOOKS: usize = 1000;
const PAUSE: Duration = Duration::from_micros(50);

/// Chunks are small enough that both sides find work, and large enough that their system calls do
/// not matter: halves, and quarters where a quarter is still long.
fn chunk(length: u64) -> u64 {
    let parts = if length < 512 << 10 { 2 } else { 4 };
    (length / parts).next_multiple_of(4096).clamp(4096, 256 << 10)
}

impl RecvTransfer {
    /// The sender.
    pub fn peer(&self) -> Peer {
        match self {
            RecvTransfer::Copy(copying) => copying.peer,
            RecvTransfer::Stream { from, .. } => *from,
        }
    }

    /// Whether [`Outgoing::step_recv`] has work; otherwise packets bring all bytes.
    pub fn needs_steps(&self) -> bool {
        matches!(self, RecvTransfer::Copy(_))
    }

    /// Bytes that still come as packets.
    pub fn stream_left(&self) -> usize {
        match self {
            RecvTransfer::Stream { left, .. } => *left as usize,
            RecvTransfer::Copy(_) => 0,
        }
    }

    /// So many bytes were put to their place; `true` when they were the last.
    pub fn took(&mut self, bytes: usize) -> bool {
        let RecvTransfer::Stream { left, .. } = self else { return false };
        *left -= bytes as u64;
        *left == 0
    }

    /// Takes the bytes of a [`DATA`](super::DATA) packet; `true` for the last ones. An error says
    /// how they violate the protocol.
    pub fn take_data(
        &mut self,
        packet: &Packet<'_>,
        buf: &Target<'_>,
        cursor: &mut Cursor,
    ) -> Result<bool, &'static str> {
        let RecvTransfer::Stream { left, .. } = self else { return Err("bytes that it was not asked for") };
        let here = (*left).min(packet.room(0) as u64);
        packet.unpack(0, here as usize, buf, cursor);
        *left -= here;
        Ok(*left == 0)
    }
}

impl RemoteOffer {
    /// Whether a [`WITHDRAW`](super::WITHDRAW) packet names this offer.
    pub fn is_meant_by(&self, packet: &Packet<'_>) -> bool {
        self.number == 0 && self.send == packet.word(OPERATION_WORD)
    }

    /// Agrees to a withdrawal; the offer must not be claimed afterwards.
    pub fn withdrawn(&self) -> Control {
        Control::new(WITHDRAWN, [0, self.send, 0, 0])
    }
}

impl Outgoing {
    /// The content of an offer packet: the message's length, the offer, and the region of its
    /// bytes.
    pub fn announced(&self, peer: Peer, packet: &Packet<'_>) -> Result<(u64, RemoteOffer, RemoteRegion), &'static str> {
        let (bytes, region) = (packet.word(0), RemoteRegion { address: packet.word(1), pieces: packet.head().aux });
        if u64::from(region.pieces) > bytes {
            return Err("an offer with more pieces than bytes");
        }
        Ok((bytes, self.remote_offer(peer, packet.word(2), packet.word(3))?, region))
    }

    /// The offer of a message whose bytes came in the same packet.
    pub fn announced_with_bytes(&self, peer: Peer, packet: &Packet<'_>) -> Result<RemoteOffer, &'static str> {
        self.remote_offer(peer, packet.word(0), packet.word(1))
    }

    fn remote_offer(&self, peer: Peer, number: u64, send: u64) -> Result<RemoteOffer, &'static str> {
        let is_valid = if self.has_offer_cells(peer) { OfferId::from_wire(number).is_some() } else { number == 0 };
        if is_valid { Ok(RemoteOffer { number, send }) } else { Err("no such offer") }
    }

    /// Claims the message, so that its sender can no longer withdraw it; `false` if it was
    /// withdrawn.
    pub fn claim(&self, peer: Peer, offer: RemoteOffer) -> bool {
        self.offer_cell_of(peer, offer).is_none_or(|(cell, id)| cell.take(id))
    }

    /// Whether the message could be claimed now.
    pub fn is_offered(&self, peer: Peer, offer: RemoteOffer) -> bool {
        self.offer_cell_of(peer, offer).is_none_or(|(cell, id)| cell.is_offered(id))
    }

    /// Tells the sender of a claimed message whose bytes came with the offer that it is received.
    pub fn acknowledge(&self, peer: Peer, offer: RemoteOffer) -> Control {
        if let Some((cell, id)) = self.offer_cell_of(peer, offer) {
            cell.finish(id);
        }
        Control::new(CLAIMED, [offer.number, offer.send, 0, 0])
    }

    /// Starts to move the bytes of a claimed message into a buffer, as many as fit. The sender must
    /// be told. `op` names the receive in packets.
    pub fn receive(
        &mut self,
        peer: Peer,
        offer: RemoteOffer,
        region: RemoteRegion,
        bytes: u64,
        op: u64,
        buf: &Target<'_>,
    ) -> Begun {
        let length = bytes.min(buf.len() as u64);
        if length == 0 {
            return Begun::Done(self.acknowledge(peer, offer));
        }
        let (mut target, mut list) = (RemoteRegion::NONE, None);
        let (bulk, why) = caps::bulk(self.caps(peer), region != RemoteRegion::NONE, || {
            match buf.as_dense() {
                Some(run) => target = RemoteRegion::run(run as u64),
                None => list = List::of(buf, length as usize),
            }
            if let Some(list) = &list {
                target = list.region();
            }
            target != RemoteRegion::NONE
        });
        let cell = if bulk == Bulk::Copy { self.offer_cell_of(peer, offer) } else { None };
        let Some((cell, id)) = cell else {
            let transfer = RecvTransfer::Stream { from: peer, left: length };
            return Begun::Moving { transfer, control: ask_for_stream(offer, op, length), how: (Bulk::Stream, why) };
        };
        let copy = CellCopy {
            target: target.address as usize,
            pieces: target.pieces.into(),
            length,
            chunk: chunk(length),
            sender: self.sender_end(peer),
        };
        cell.invite(&copy);
        let claims = Claims::new(copy.receiver());
        let copying = Copying { peer, offer, id, region, far: None, _list: list, copy, claims, share: Share::Both };
        let (transfer, control) =
            (RecvTransfer::Copy(Box::new(copying)), Control::new(CLAIMED, [offer.number, offer.send, 0, 0]));
        Begun::Moving { transfer, control, how: (bulk, why) }
    }

    /// One step of the receiver. `op` is the one of [`Outgoing::receive`].
    pub fn step_recv(&mut self, transfer: &mut RecvTransfer, op: u64, buf: &Target<'_>) -> Step {
        let RecvTransfer::Copy(copying) = transfer else { return Step::Idle };
        let (peer, id) = (copying.peer, copying.id);
        let Some((cell, _)) = self.offer_cell_of(peer, copying.offer) else { return Step::Idle };
        let Copying { far, copy, claims, share, region, .. } = &mut **copying;
        // Without the sender's list we can copy nothing. But the sender may already have copied
        // everything and completed its send, so we fall back only when we claim a part, and then no
        // part may be left to claim.
        let far = far
            .get_or_insert_with(|| RemotePieces::read(self.node(), peer, *region).unwrap_or(RemotePieces::nothing()));
        let is_forbidden = Cell::new(false);
        let call = |ours: &[_], theirs: &[_]| {
            self.node().copy_from(peer, ours, theirs).inspect_err(|error| {
                is_forbidden.set(matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported));
            })
        };
        match share {
            Share::Both => {
                let mut step = Step::Idle;
                if let Some((offset, length)) = cell.claim(copy, claims) {
                    if !pieces::copy(call, buf, far, offset as usize, length as usize) {
                        return self.fall_back(transfer, op, is_forbidden.get());
                    }
                    cell.add_copied(length);
                    step = Step::Moved;
                }
                if !cell.all_copied(copy) {
                    if cell.is_broken() {
                        cell.close(copy, claims);
                        *share = Share::Alone { done: 0 };
                    }
                    return step;
                }
            }
            Share::Alone { done } => {
                let step = ALONE_STEP.min(copy.length - *done);
                if !pieces::copy(call, buf, far, *done as usize, step as usize) {
                    return self.fall_back(transfer, op, is_forbidden.get());
                }
                *done += step;
                if *done < copy.length {
                    return Step::Moved;
                }
            }
        }
        cell.finish(id);
        self.node().wake(peer);
        Step::Done
    }

    /// Falls back to packets because a copy has failed: the kernel forbids copies, or, in a job that goes on after deaths, the sender
    /// is dying, which the kernel tells later. A claimed part of this copy will never be done: the sender must not find the copy
    /// complete.
    #[cold]
    fn fall_back(&mut self, transfer: &mut RecvTransfer, op: u64, is_forbidden: bool) -> Step {
        if !self.node().goes_on() || is_forbidden {
            self.forbid_copies();
        }
        let RecvTransfer::Copy(copying) = transfer else { return Step::Idle };
        let Copying { peer, offer, copy, ref claims, .. } = **copying;
        if let Some((cell, _)) = self.offer_cell_of(peer, offer) {
            cell.close(&copy, claims);
        }
        *transfer = RecvTransfer::Stream { from: peer, left: copy.length };
        Step::Tell(ask_for_stream(offer, op, copy.length))
    }

    /// Whether [`Outgoing::step_recv`] could do something now. Otherwise the sender is working, and
    /// wakes us when that changes.
    pub fn can_step_recv(&self, transfer: &RecvTransfer) -> bool {
        let RecvTransfer::Copy(copying) = transfer else { return false };
        let Some((cell, _)) = self.offer_cell_of(copying.peer, copying.offer) else { return false };
        let copy = &copying.copy;
        match copying.share {
            Share::Both => cell.has_unclaimed(copy) || cell.all_copied(copy) || cell.is_broken(),
            Share::Alone { .. } => true,
        }
    }

    /// Ends a transfer whose sender is dead or refused. A living sender may be writing a chunk that
    /// it has claimed: waits for that, however long it takes, since nothing else keeps it from writing.
    pub fn abort_recv(&mut self, transfer: RecvTransfer) -> Quiet {
        let RecvTransfer::Copy(copying) = transfer else { return Quiet(()) };
        let Some((cell, _)) = self.offer_cell_of(copying.peer, copying.offer) else { return Quiet(()) };
        let claimed = cell.close(&copying.copy, &copying.claims);
        let mut looks = 0;
        while !cell.has_copied(claimed) && !cell.is_broken() {
            looks += 1;
            if looks < LOOKS {
                std::thread::yield_now();
            } else if self.node().is_alive(copying.peer) {
                std::thread::sleep(PAUSE);
            } else {
                break;
            }
        }
        Quiet(())
    }

    /// The end of a copy that its sender begins at: of two ranks, the same one always begins at the front, whoever sends.
    fn sender_end(&self, peer: Peer) -> End {
        let is_first = self.node().home(peer).is_some_and(|(_, slot)| slot < self.node().slot());
        if is_first { End::Front } else { End::Back }
    }

    /// The cell of an offer whose sender shares memory with us.
    fn offer_cell_of(&self, peer: Peer, offer: RemoteOffer) -> Option<(&OfferCell, OfferId)> {
        let id = OfferId::from_wire(offer.number)?;
        let (segment, slot) = self.node().home(peer)?;
        Some((offer_cell_of(segment, slot.index(), id), id))
    }
}

fn ask_for_stream(offer: RemoteOffer, op: u64, length: u64) -> Control {
    Control::new(STREAM, [offer.number, offer.send, op, length])
}
