//! The bytes of an offer that was taken: copied straight between the two processes, in chunks that both sides claim;
//! or, where one side's layout or the kernel forbids that, streamed through the ring.

use super::ops::{Op, OpId};
use super::recv::{self, RecvOp};
use super::send;
use super::{DATA, Engine, STREAM, TAKEN};
use oxmpi_datatype::Buf;
use oxmpi_transport::{Incoming, Piece, TicketCopy, TicketId, TicketState};

/// A receive that copies from its sender.
pub(super) struct Copying {
    peer: usize,
    ticket: TicketId,
    send: u64,
    /// The sender's bytes.
    address: usize,
    share: Share,
}

#[derive(Clone, Copy)]
enum Share {
    /// The sender may help.
    Both(TicketCopy),
    /// We copy `length` bytes alone.
    Alone { length: u64 },
}

/// What one step of a copy that we do alone moves.
const ALONE_STEP: usize = 256 << 10;
/// Blocks shorter than this are read in one piece and unpacked, since the kernel's work for a piece would cost more.
const PIECE_MIN: usize = 512;
/// What is read at once to be unpacked: it should still be in the cache then.
const UNPACK_STEP: usize = 64 << 10;
/// From this length on a block is packed so fast that taking the ring's cells back from the receiver takes longer: they are
/// asked for ahead of time. Where blocks are shorter, their own cache lines are waited for, and asking for more delays them.
const LONG_BLOCK: usize = 128;

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

impl Engine {
    /// Begins to receive the bytes of an offer that was taken.
    pub(super) fn start_copy(&mut self, op: OpId, peer: usize, ticket: TicketId, send: u64, address: u64, bytes: u64) {
        let Some(recv) = self.ops.recv_mut(op) else { return };
        let length = bytes.min(recv.buf.len() as u64);
        if length == 0 {
            self.shm.ticket_of(peer, ticket).finish(ticket);
            self.control(peer, TAKEN, [ticket.0, send, 0, 0]);
            return self.finish_recv(op);
        }
        if address == 0 || !self.single_copy {
            recv.phase = recv::Phase::Stream(length);
            self.shm.ticket_of(peer, ticket).finish(ticket);
            return self.control(peer, STREAM, [ticket.0, send, u64::from(op), length]);
        }
        let share = match recv.buf.as_dense() {
            Some(target) => {
                let copy = TicketCopy { target: target as usize, length, chunk: chunk(length) };
                self.shm.ticket_of(peer, ticket).invite(&copy);
                Share::Both(copy)
            }
            None => Share::Alone { length },
        };
        let copying = Copying { peer, ticket, send, address: address as usize, share };
        recv.phase = recv::Phase::Copying(Box::new(copying));
        self.copies.push(op);
        self.control(peer, TAKEN, [ticket.0, send, 0, 0]);
    }

    /// Our offer was taken: it may be done already, or the receiver may want help.
    pub(super) fn offer_taken(&mut self, ticket: TicketId, op: OpId) -> bool {
        if let Some(send) = self.ops.send_mut(op) {
            send.phase = send::Phase::Taken(ticket);
            self.copies.push(op);
        }
        true
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
                let ticket = self.shm.ticket_of(copying.peer, copying.ticket);
                match copying.share {
                    Share::Both(copy) => ticket.has_unclaimed(&copy) || ticket.all_copied(&copy) || ticket.is_broken(),
                    Share::Alone { .. } => true,
                }
            }
            Op::Send(send::SendOp { phase: send::Phase::Taken(id), buf, .. }) => {
                let ticket = self.shm.own_ticket(*id);
                let can_help =
                    || ticket.copy().is_some_and(|copy| buf.as_dense().is_some() && ticket.has_unclaimed(&copy));
                ticket.state(*id) == TicketState::Done || can_help()
            }
            _ => true,
        })
    }

    /// The sender's part; `true` when it is over.
    fn step_send(&mut self, op: OpId, id: TicketId) -> bool {
        let ticket = self.shm.own_ticket(id);
        if ticket.state(id) == TicketState::Done {
            self.shm.release_ticket(id);
            self.ops.complete(op);
            return true;
        }
        let Op::Send(send) = self.ops.get(op) else { return true };
        let (Some(copy), Some(from)) = (ticket.copy(), send.buf.as_dense()) else { return false };
        if let Some((offset, length)) = ticket.claim(&copy) {
            let local = (from as usize + offset as usize, length as usize);
            let remote = (copy.target + offset as usize, length as usize);
            if transfer(|l, r| self.shm.copy_to(send.peer(), l, r), local, remote) {
                ticket.add_copied(length);
            } else {
                ticket.break_off();
            }
            self.shm.wake(send.peer());
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
            if self.shm.own_ticket(id).state(id) == TicketState::Done {
                self.shm.release_ticket(id);
            } else {
                self.spent.push_back(id);
            }
        }
    }

    /// The receiver's part; `true` when it is over.
    fn step_receive(&mut self, op: OpId) -> bool {
        let Some(RecvOp { phase: recv::Phase::Copying(copying), buf, cursor, .. }) = self.ops.recv_mut(op) else {
            return true;
        };
        let ticket = self.shm.ticket_of(copying.peer, copying.ticket);
        let (peer, address) = (copying.peer, copying.address);
        match copying.share {
            Share::Both(copy) => {
                if let Some((offset, length)) = ticket.claim(&copy) {
                    let local = (copy.target + offset as usize, length as usize);
                    let remote = (address + offset as usize, length as usize);
                    if !transfer(|l, r| self.shm.copy_from(peer, l, r), local, remote) {
                        return self.fall_back(op);
                    }
                    ticket.add_copied(length);
                }
                if !ticket.all_copied(&copy) {
                    if ticket.is_broken() {
                        copying.share = Share::Alone { length: copy.length };
                    }
                    return false;
                }
            }
            Share::Alone { length } => {
                let done = cursor.position();
                let step = ALONE_STEP.min(length as usize - done);
                if !read_into(&self.shm, peer, address + done, buf, cursor, step) {
                    return self.fall_back(op);
                }
                if (cursor.position() as u64) < length {
                    return false;
                }
            }
        }
        ticket.finish(copying.ticket);
        self.shm.wake(peer);
        self.finish_recv(op);
        true
    }

    /// The kernel does not let us: from now on bytes come through the ring.
    #[cold]
    fn fall_back(&mut self, op: OpId) -> bool {
        self.single_copy = false;
        let Some(recv) = self.ops.recv_mut(op) else { return true };
        let recv::Phase::Copying(ref copying) = recv.phase else { return true };
        let (peer, ticket, send) = (copying.peer, copying.ticket, copying.send);
        let length = match copying.share {
            Share::Both(copy) => copy.length,
            Share::Alone { length } => length,
        };
        recv.cursor.seek(&recv.buf, 0);
        recv.phase = recv::Phase::Stream(length);
        self.shm.ticket_of(peer, ticket).finish(ticket);
        self.control(peer, STREAM, [ticket.0, send, u64::from(op), length]);
        true
    }

    /// The receiver wants the bytes through the ring.
    pub(super) fn start_stream(&mut self, ticket: TicketId, op: OpId, receive: u64, length: u64) {
        self.shm.release_ticket(ticket);
        if let Some(send) = self.ops.send_mut(op) {
            send.phase = send::Phase::Stream { receive, length };
            send.cursor.seek(&send.buf, 0);
            self.streams.push(op);
        }
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
            let part = stream_part(length, long_blocks).min(self.shm.max_part());
            while (send.cursor.position() as u64) < length {
                let bytes = part.min(length as usize - send.cursor.position());
                let peer = send.route.peer;
                if long_blocks {
                    self.shm.expect_second(peer, part);
                }
                if !self.shm.send_bulk(peer, DATA, receive, &send.buf, &mut send.cursor, bytes) {
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

    /// Bytes of a stream; `true` when it is complete.
    pub(super) fn arrive_data(&mut self, packet: Incoming) -> bool {
        let op = packet.bulk_word() as OpId;
        let Some(recv) = self.ops.recv_mut(op) else { return false };
        let recv::Phase::Stream(ref mut left) = recv.phase else { return false };
        let here = (*left).min(packet.room(0) as u64);
        *left -= here;
        let done = *left == 0;
        packet.unpack(0, here as usize, &recv.buf, &mut recv.cursor);
        if done {
            self.finish_recv(op);
        }
        done
    }
}

/// Copies one piece to one piece, whatever the kernel moves at a time.
fn transfer(call: impl Fn(&[Piece], &[Piece]) -> std::io::Result<usize>, local: Piece, remote: Piece) -> bool {
    let mut done = 0;
    while done < local.1 {
        match call(&[(local.0 + done, local.1 - done)], &[(remote.0 + done, remote.1 - done)]) {
            Ok(moved) if moved > 0 => done += moved,
            _ => return false,
        }
    }
    true
}

/// Reads the peer's next `bytes` bytes into a buffer that is not contiguous.
fn read_into(
    shm: &oxmpi_transport::Shm,
    peer: usize,
    address: usize,
    buf: &Buf,
    cursor: &mut oxmpi_datatype::Cursor,
    bytes: usize,
) -> bool {
    if buf.average_block() < PIECE_MIN {
        let mut chunk = vec![0u8; UNPACK_STEP.min(bytes)];
        let mut done = 0;
        while done < bytes {
            let part = chunk.len().min(bytes - done);
            let local = (chunk.as_mut_ptr() as usize, part);
            if !transfer(|l, r| shm.copy_from(peer, l, r), local, (address + done, part)) {
                return false;
            }
            oxmpi_transport::own::unpack(&chunk[..part], buf, cursor);
            done += part;
        }
        return true;
    }
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < bytes {
        pieces.clear();
        let part = cursor.iovecs(buf, &mut pieces, oxmpi_transport::MAX_PIECES, bytes - done);
        match shm.copy_from(peer, &pieces, &[(address + done, part)]) {
            Ok(moved) if moved == part => done += part,
            _ => return false,
        }
    }
    true
}
