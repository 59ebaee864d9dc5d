//! Long bytes of a stream: the sender lends its memory and tells where it is, the receiver reads it, straight to its place
//! where that is known, and answers. Until the answer comes, nothing else is sent on the stream in this direction.

use super::state::State;
use super::stream::{Arrived, Far, Fetch, Kind, Lending, MEMORY, Place, Stream, memory_bytes};
use super::walk::Walk;
use oxmpi_base::cma::Piece;
use oxmpi_fabric::{PACKET, Remote, SlotId};
use std::time::{Duration, Instant};

/// From here on bytes are read by the receiver.
const LONG: usize = 32 << 10;
/// What is sent of long bytes together with the header of their frame.
const WITH_HEADER: usize = 512;
/// Fewer bytes than this go through a buffer.
const DIRECT: usize = 4 << 10;
/// What is read at once at most, so that other streams are not kept waiting.
const MOST: usize = 8 << 20;
/// How long the end of a stream waits for what is being read to the memory of a user.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether pieces are lent to the peer.
pub enum Lends {
    /// They are sent in packets.
    Nothing,
    /// So many bytes are sent in packets, the rest is lent by the next call.
    Later(usize),
    /// The peer has not read them yet.
    Wait,
    /// The peer has read so many bytes.
    Done(usize),
}

impl Stream {
    /// Whether the peer has a buffer, and has read what it was lent.
    pub fn may_send(&self) -> bool {
        self.credits > 0 && self.lending.is_none()
    }
}

impl State {
    /// Lends pieces to the peer, if they are long, or goes on with it.
    ///
    /// # Safety
    /// The pieces may be read until this says that the peer has read them, or until the stream has ended.
    pub unsafe fn lend(&mut self, index: usize, pieces: &[Piece]) -> Lends {
        let Some(stream) = &mut self.streams[index] else { return Lends::Nothing };
        if let Some(lending) = &stream.lending {
            let &Lending { address, bytes, is_done, .. } = lending;
            if pieces.first().is_none_or(|&piece| piece != (address, bytes)) {
                stream.failure.get_or_insert_with(|| "the memory that the peer reads was changed".into());
                return Lends::Wait;
            }
            if !is_done {
                return Lends::Wait;
            }
            self.stop_lending(index);
            return Lends::Done(bytes);
        }
        let reads = stream.peer.is_some_and(|peer| peer.reads);
        match *pieces {
            [(address, bytes)] if reads && bytes >= LONG => {
                if stream.credits == 0 {
                    return Lends::Wait;
                }
                let memory = std::ptr::with_exposed_provenance::<u8>(address);
                // SAFETY: the memory may be read, by the contract of this function; it is taken back before the stream ends.
                let Ok(lent) = (unsafe { self.endpoint.lend(memory, bytes) }) else {
                    // Memory that cannot be registered is sent in packets.
                    return Lends::Nothing;
                };
                let (sequence, text) = (stream.sequence, memory_bytes(lent.remote, bytes));
                if self.send_packet(index, Kind::Memory, MEMORY, |packet| packet.copy_from_slice(&text)) {
                    if let Some(stream) = &mut self.streams[index] {
                        stream.lending = Some(Lending { lent, address, bytes, sequence, is_done: false });
                    }
                } else {
                    self.endpoint.take_back(lent);
                }
                Lends::Wait
            }
            [ref before @ .., (_, last)] if reads && last >= LONG && before.len() == 1 => {
                Lends::Later(before.iter().map(|piece| piece.1).sum::<usize>() + WITH_HEADER)
            }
            _ => Lends::Nothing,
        }
    }

    pub fn stop_lending(&mut self, index: usize) {
        let lending = self.streams[index].as_mut().and_then(|stream| stream.lending.take());
        if let Some(lending) = lending {
            self.endpoint.take_back(lending.lent);
        }
    }

    /// Goes on reading the memory of the peer that is next; how many bytes have come.
    ///
    /// # Safety
    /// The pieces may be written. If they `stay`, nobody uses them until the next call, unless this one returns something.
    pub unsafe fn fetch(&mut self, index: usize, pieces: &[Piece], stay: bool) -> usize {
        let Some(stream) = &mut self.streams[index] else { return 0 };
        if stream.fetch.is_none() {
            // SAFETY: the pieces may be written, and nobody uses them while they `stay`: this function's own condition.
            unsafe { self.begin_fetch(index, pieces, stay) };
            return 0;
        }
        let Some(fetch) = stream.fetch.as_mut().filter(|fetch| fetch.is_done) else { return 0 };
        if stream.failure.is_some() {
            self.end_fetch(index);
            return 0;
        }
        match &mut fetch.to {
            &mut Place::Direct { address, bytes, .. } => {
                let is_same = pieces.first().is_some_and(|piece| piece.0 == address && piece.1 >= bytes);
                self.end_fetch(index);
                if !is_same {
                    self.fail_stream(index, "the memory that was read to was changed");
                    return 0;
                }
                self.took_memory(index, bytes);
                bytes
            }
            Place::Staged { start, end } => {
                let total: usize = pieces.iter().map(|piece| piece.1).sum();
                let bytes = (*end - *start).min(total);
                let (from, slot) = (*start, fetch.slot);
                *start += bytes;
                let is_over = start == end;
                let staged = &self.endpoint.slot_bytes(slot)[from..from + bytes];
                // SAFETY: the pieces may be written, by the contract of this function, and have room for so many bytes.
                unsafe { Walk { pieces, at: 0 }.write(staged) };
                if is_over {
                    self.end_fetch(index);
                }
                self.took_memory(index, bytes);
                bytes
            }
        }
    }

    /// # Safety
    /// As [`State::fetch`].
    unsafe fn begin_fetch(&mut self, index: usize, pieces: &[Piece], stay: bool) {
        let Some(stream) = &mut self.streams[index] else { return };
        let Some(Far { address: from, .. }) = stream.peer else { return };
        let &mut Some(Some(Arrived::Memory { remote, left, .. })) = &mut stream.arrived.front_mut() else { return };
        let (remote, left) = (*remote, *left);
        if stream.failure.is_some() {
            return;
        }
        let Some(slot) = self.endpoint.slot() else {
            self.is_refused = true;
            return;
        };
        let direct = pieces.first().filter(|piece| stay && piece.1.min(left) >= DIRECT.min(left)).copied();
        let begun = match direct {
            Some((address, room)) => {
                let bytes = room.min(left).min(MOST).min(self.endpoint.most_read());
                let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: the memory may be written, and stays, by the contract of this function.
                let begun = unsafe { self.endpoint.read_to(slot, to, bytes, from, remote) };
                begun.map(|begun| begun.map(|region| Place::Direct { address, bytes, region }))
            }
            None => {
                let bytes = left.min(PACKET);
                let begun = self.endpoint.read(slot, bytes, from, remote);
                begun.map(|begun| begun.then_some(Place::Staged { start: 0, end: bytes }))
            }
        };
        match begun {
            Ok(Some(to)) => {
                if let Some(stream) = &mut self.streams[index] {
                    stream.fetch = Some(Fetch { slot, to, is_done: false });
                    let token = stream.token;
                    self.note_sender(slot, token);
                }
            }
            Ok(None) => self.is_refused = true,
            Err(error) => self.fail_stream(index, &error),
        }
    }

    /// Something was read from the memory of a peer, or could not be.
    pub fn end_read(&mut self, slot: SlotId, result: Result<(), String>) {
        let token = std::mem::take(&mut self.senders[slot.number()]);
        let Some(stream) = self.streams.iter_mut().flatten().find(|stream| stream.token == token) else {
            return self.endpoint.keep(slot);
        };
        self.ready.push(stream.link);
        match &mut stream.fetch {
            Some(fetch) if fetch.slot == slot => fetch.is_done = true,
            _ => self.endpoint.keep(slot),
        }
        if let Err(error) = result {
            stream.failure.get_or_insert(error);
        }
    }

    /// Forgets what was read.
    fn end_fetch(&mut self, index: usize) {
        let fetch = self.streams[index].as_mut().and_then(|stream| stream.fetch.take());
        if let Some(Fetch { slot, to, .. }) = fetch {
            self.endpoint.keep(slot);
            if let Place::Direct { region, .. } = to {
                self.endpoint.end_region(region);
            }
        }
    }

    /// Whether memory of a user is being written.
    pub fn is_fetching(&self, index: usize) -> bool {
        let fetch = self.streams[index].as_ref().and_then(|stream| stream.fetch.as_ref());
        self.failure.is_none() && fetch.is_some_and(|fetch| !fetch.is_done)
    }

    /// Waits for what is being read to the memory of a user, who may use it for something else then.
    pub fn stop_fetching(&mut self, index: usize) {
        let end = Instant::now() + PATIENCE;
        while self.is_fetching(index) && Instant::now() < end {
            self.progress();
        }
        // What does not end is left as it is: its slot and its region are not used again.
        if !self.is_fetching(index) {
            self.end_fetch(index);
        }
    }

    fn took_memory(&mut self, index: usize, bytes: usize) {
        let Some(stream) = &mut self.streams[index] else { return };
        let sequence = stream.expected;
        let Some(Some(Arrived::Memory { remote, left, .. })) = stream.arrived.front_mut() else { return };
        *remote = Remote { address: remote.address.wrapping_add(bytes as u64), ..*remote };
        *left -= bytes;
        if *left == 0 {
            stream.done = Some(sequence);
            self.take_next(index);
        }
    }

    /// The first packet was read to the end: its buffer is for the next one, and the peer is told.
    pub fn take_next(&mut self, index: usize) {
        if let Some(buffer) = self.streams[index].as_mut().and_then(Stream::next) {
            self.give_back(buffer);
            self.tell(index);
        }
    }

    /// Notes that a stream has more to read than the caller has taken.
    pub fn note_rest(&mut self, index: usize) {
        let Some(stream) = &self.streams[index] else { return };
        let has_more = match stream.arrived.front() {
            Some(Some(Arrived::Bytes { .. })) => true,
            Some(Some(Arrived::Memory { .. })) => stream.fetch.as_ref().is_none_or(|fetch| fetch.is_done),
            _ => false,
        };
        if has_more && stream.failure.is_none() && !self.ready.contains(&stream.link) {
            self.ready.push(stream.link);
        }
    }

    fn fail_stream(&mut self, index: usize, why: &str) {
        if let Some(stream) = &mut self.streams[index] {
            stream.failure.get_or_insert_with(|| why.into());
            self.ready.push(stream.link);
        }
    }
}
