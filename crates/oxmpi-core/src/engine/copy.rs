//! The bytes of an offer that was taken: copied straight between the two processes, in chunks that both sides claim;
//! or, where one side's layout or the kernel forbids that, streamed through the ring.

use super::ops::{Op, OpId};
use super::pieces::{self, Far, List, Place};
use super::recv::{self, RecvOp};
use super::send::{self, FarSide};
use super::{Arrived, DATA, Messages, STREAM, TAKEN};
use oxmpi_transport::{Full, Packet, Peer, TicketCopy, TicketId, TicketState};

/// A receive that copies from its sender.
pub(super) struct Copying {
    peer: Peer,
    ticket: TicketId,
    send: u64,
    /// The sender's bytes.
    far: Far,
    /// Our pieces, where the buffer has gaps: the sender reads it.
    _list: Option<List>,
    copy: TicketCopy,
    share: Share,
}

impl Copying {
    pub fn peer(&self) -> Peer {
        self.peer
    }
}

#[derive(Clone, Copy)]
enum Share {
    /// The sender may help.
    Both,
    /// We copy alone, and have come so far.
    Alone { done: u64 },
}

/// What one step of a copy that we do alone moves.
const ALONE_STEP: u64 = 256 << 10;
/// From this length on a block is packed so fast that taking the ring's cells back from the receiver takes longer: they are
/// asked for ahead of time. Where blocks are shorter, their own cache lines are waited for, and asking for more delays them.
const LONG_BLOCK: usize = 96;

/// Chunks small enough that both sides find work, large enough that their system calls do not matter: halves, and
/// quarters where a quarter is still long.
fn chunk(length: u64) -> u64 {
    let parts = if length < 512 << 10 { 2 } else { 4 };
    (length / parts).next_multiple_of(4096).clamp(4096, 256 << 10)
}

/// Parts of a stream: short ones let the receiver begin soon, longer ones cost less once both sides are at work.
fn stream_part(length: u64, long_blocks: bool) -> usize {
    const LONG: u64 = 64 << 10;
    const LONGER: u64 = 1 << 20;
    match length {
        LONG..LONGER if long_blocks => 8 << 10,
        ..LONGER => 4 << 10,
        _ => 16 << 10,
    }
}

impl Messages {
    /// Begins to receive the bytes of an offer that was taken.
    pub(super) fn start_copy(&mut self, op: OpId, peer: Peer, ticket: TicketId, send: u64, place: Place, bytes: u64) {
        let Some(recv) = self.ops.recv_mut(op) else { return };
        let length = bytes.min(recv.buf.len() as u64);
        if length == 0 {
            self.tx.ticket_of(peer, ticket).finish(ticket);
            self.control(peer, TAKEN, [ticket.0, send, 0, 0]);
            return self.finish_recv(op);
        }
        let (mut target, mut list) = (Place::NONE, None);
        if place != Place::NONE && self.single_copy && self.tx.node().shares_memory(peer) {
            match recv.buf.as_dense() {
                Some(run) => target = Place::run(run as u64),
                None => list = List::of(&recv.buf, length as usize),
            }
            if let Some(list) = &list {
                target = list.place();
            }
        }
        if target == Place::NONE {
            recv.phase = recv::Phase::Stream { from: peer, left: length };
            return self.control(peer, STREAM, [ticket.0, send, u64::from(op), length]);
        }
        let copy =
            TicketCopy { target: target.address as usize, pieces: target.pieces.into(), length, chunk: chunk(length) };
        self.tx.ticket_of(peer, ticket).invite(&copy);
        self.copies.push(op);
        self.control(peer, TAKEN, [ticket.0, send, 0, 0]);
        let far = Far::read(self.tx.node(), peer, place);
        // Without the sender's list we can copy nothing. But the sender may have copied everything by now and hold its send
        // for done, so it is the first part that we claim which makes us fall back, and no part may be left to claim.
        let far = far.unwrap_or(Far::nothing());
        let copying = Copying { peer, ticket, send, far, _list: list, copy, share: Share::Both };
        if let Some(recv) = self.ops.recv_mut(op) {
            recv.phase = recv::Phase::Copying(Box::new(copying));
        }
    }

    /// Our offer was taken: it may be done already, or the receiver may want help.
    pub(super) fn offer_taken(&mut self, ticket: TicketId, op: OpId) {
        if let Some(send) = self.ops.send_mut(op) {
            send.phase = send::Phase::Taken(ticket);
            self.copies.push(op);
        }
    }

    /// One step of every copy under way.
    pub(super) fn push_copies(&mut self) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.copies.len() {
            let op = self.copies[index];
            let over = match self.ops.get(op) {
                Op::Recv(RecvOp { phase: recv::Phase::Copying(_), .. }) => self.step_receive(op),
                Op::Send(send::SendOp { phase: send::Phase::Taken(ticket), .. }) => self.step_send(op, *ticket),
                // The operation went on as a stream, or ended.
                _ => true,
            };
            if over {
                self.copies.swap_remove(index);
                moved = true;
            } else {
                index += 1;
            }
        }
        moved
    }

    /// Whether this rank can do something about a copy now. If it cannot, the other side is at it, and wakes us when that
    /// changes; it may have gone computing, so this is no time to spin.
    pub fn has_copying_to_do(&self) -> bool {
        self.copies.iter().any(|&op| match self.ops.get(op) {
            Op::Recv(RecvOp { phase: recv::Phase::Copying(copying), .. }) => {
                let ticket = self.tx.ticket_of(copying.peer, copying.ticket);
                let copy = &copying.copy;
                match copying.share {
                    Share::Both => ticket.has_unclaimed(copy) || ticket.all_copied(copy) || ticket.is_broken(),
                    Share::Alone { .. } => true,
                }
            }
            Op::Send(send @ send::SendOp { phase: send::Phase::Taken(id), .. }) => {
                let ticket = self.tx.own_ticket(*id);
                let lost = send.pieces.as_ref().is_some_and(|pieces| matches!(pieces.far, FarSide::Lost));
                let can_help = || ticket.copy().is_some_and(|copy| ticket.has_unclaimed(&copy) && !ticket.is_broken());
                ticket.state(*id) == TicketState::Done || (!lost && can_help())
            }
            _ => true,
        })
    }

    /// The sender's part; `true` when it is over.
    fn step_send(&mut self, op: OpId, id: TicketId) -> bool {
        let ticket = self.tx.own_ticket(id);
        if ticket.state(id) == TicketState::Done {
            self.tx.release_ticket(id);
            self.ops.complete(op);
            return true;
        }
        let Some(send) = self.ops.send_mut(op) else { return true };
        let Some(copy) = ticket.copy() else { return false };
        if !ticket.is_broken() && ticket.has_unclaimed(&copy) {
            let peer = send.peer();
            let mut run = Far::Run(copy.target);
            let far = if copy.pieces == 0 {
                &mut run
            } else {
                // Read before a part is claimed: the list is there as long as there is something to claim.
                let place = Place { address: copy.target as u64, pieces: copy.pieces as u32 };
                let known = &mut send.pieces.get_or_insert_default().far;
                if let FarSide::Unknown = known {
                    *known = Far::read(self.tx.node(), peer, place).map_or(FarSide::Lost, FarSide::Known);
                }
                let FarSide::Known(far) = known else { return false };
                far
            };
            if let Some((offset, length)) = ticket.claim(&copy) {
                let call = |ours: &[_], theirs: &[_]| self.tx.node().copy_to(peer, ours, theirs);
                if pieces::copy(call, &send.buf, far, offset as usize, length as usize) {
                    ticket.add_copied(length);
                } else {
                    ticket.break_off();
                }
                self.tx.node().wake(peer);
            }
        }
        if ticket.all_copied(&copy) {
            // Whether the receiver notices now or after an hour of computing is no concern of the send's.
            self.spent.push_back(id);
            self.ops.complete(op);
            return true;
        }
        false
    }

    /// Takes tickets back that outlived their sends. A few at a time, so that many of them cost an offer no more than one.
    pub(super) fn reap_spent(&mut self) {
        for _ in 0..self.spent.len().min(2) {
            let Some(id) = self.spent.pop_front() else { return };
            if self.tx.own_ticket(id).state(id) == TicketState::Done {
                self.tx.release_ticket(id);
            } else {
                self.spent.push_back(id);
            }
        }
    }

    /// The receiver's part; `true` when it is over.
    fn step_receive(&mut self, op: OpId) -> bool {
        let Some(RecvOp { phase: recv::Phase::Copying(copying), buf, .. }) = self.ops.recv_mut(op) else {
            return true;
        };
        let (peer, id) = (copying.peer, copying.ticket);
        let Copying { far, copy, share, .. } = &mut **copying;
        let ticket = self.tx.ticket_of(peer, id);
        let call = |ours: &[_], theirs: &[_]| self.tx.node().copy_from(peer, ours, theirs);
        match share {
            Share::Both => {
                if let Some((offset, length)) = ticket.claim(copy) {
                    if !pieces::copy(call, buf, far, offset as usize, length as usize) {
                        return self.fall_back(op);
                    }
                    ticket.add_copied(length);
                }
                if !ticket.all_copied(copy) {
                    if ticket.is_broken() {
                        ticket.close(copy);
                        *share = Share::Alone { done: 0 };
                    }
                    return false;
                }
            }
            Share::Alone { done } => {
                let step = ALONE_STEP.min(copy.length - *done);
                if !pieces::copy(call, buf, far, *done as usize, step as usize) {
                    return self.fall_back(op);
                }
                *done += step;
                if *done < copy.length {
                    return false;
                }
            }
        }
        ticket.finish(id);
        self.tx.node().wake(peer);
        self.finish_recv(op);
        true
    }

    /// The kernel does not let us: from now on bytes come through the ring. For a copy of which a part was claimed that will
    /// never be in place: the sender must not be able to find it whole.
    #[cold]
    fn fall_back(&mut self, op: OpId) -> bool {
        self.single_copy = false;
        let Some(recv) = self.ops.recv_mut(op) else { return true };
        let recv::Phase::Copying(ref copying) = recv.phase else { return true };
        let (peer, ticket, send, copy) = (copying.peer, copying.ticket, copying.send, copying.copy);
        self.tx.ticket_of(peer, ticket).close(&copy);
        recv.phase = recv::Phase::Stream { from: peer, left: copy.length };
        self.control(peer, STREAM, [ticket.0, send, u64::from(op), copy.length]);
        true
    }

    /// The receiver wants the bytes through the ring.
    pub(super) fn start_stream(&mut self, ticket: TicketId, op: OpId, receive: u64, length: u64) -> Arrived {
        if self.ops.send_mut(op).is_none_or(|send| length > send.buf.len() as u64) {
            return Arrived::Wrong("it wants more bytes than the message has");
        }
        // Not the receiver's to finish: a send whose ticket is done counts as complete.
        self.tx.own_ticket(ticket).finish(ticket);
        self.tx.release_ticket(ticket);
        if let Some(send) = self.ops.send_mut(op) {
            send.phase = send::Phase::Stream { receive, length };
            send.cursor.seek(&send.buf, 0);
            self.streams.push(op);
        }
        Arrived::Done(false)
    }

    /// Puts parts of every stream into its ring while there is room.
    pub(super) fn push_streams(&mut self) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.streams.len() {
            let op = self.streams[index];
            let Some(send) = self.ops.send_mut(op) else {
                self.streams.swap_remove(index);
                continue;
            };
            let send::Phase::Stream { receive, length } = send.phase else { unreachable!("a stream is in that phase") };
            let long_blocks = send.buf.average_block() >= LONG_BLOCK;
            let part = stream_part(length, long_blocks).min(self.tx.max_part());
            while (send.cursor.position() as u64) < length {
                let bytes = part.min(length as usize - send.cursor.position());
                let peer = send.route.peer;
                if long_blocks {
                    self.tx.expect_second(peer, part);
                }
                if self.tx.send_bulk(peer, DATA, receive, &send.buf, &mut send.cursor, bytes) == Err(Full) {
                    break;
                }
                moved = true;
            }
            if send.cursor.position() as u64 >= length {
                self.streams.swap_remove(index);
                self.ops.complete(op);
            } else {
                index += 1;
            }
        }
        moved
    }

    /// Bytes of a stream.
    pub(super) fn arrive_data(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        let Some((op, recv, left)) = self.ops.streamed(packet.bulk_word(), peer) else {
            return Arrived::Wrong("bytes for a receive that it was not asked for");
        };
        let here = left.min(packet.room(0) as u64);
        let left = left - here;
        recv.phase = recv::Phase::Stream { from: peer, left };
        packet.unpack(0, here as usize, &recv.buf, &mut recv.cursor);
        if left == 0 {
            self.finish_recv(op);
        }
        Arrived::Done(left == 0)
    }
}
