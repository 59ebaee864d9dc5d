//! The endpoint of a process with all its streams: what happens to packets.

use super::stream::{Arrived, CREDITS, Far, HEADER, Header, Kind, Stream, read_memory};
use oxmpi_fabric::{BufferId, Endpoint, Event, SlotId};
use std::io;

/// As many credits are told without a packet of the other direction. At most two such packets are under way to a stream,
/// since the peer needs the credits of the first to earn those of a third.
const TELL: u16 = CREDITS / 2;

pub struct State {
    pub endpoint: Endpoint,
    pub streams: Vec<Option<Stream>>,
    /// Buffers that were posted, for so many streams at once.
    pub provided: usize,
    /// Streams that owe credits, or an answer, and could not tell.
    pub owing: Vec<usize>,
    /// The provider could not take a packet since the last look at it.
    pub is_refused: bool,
    /// Numbers of links that have something to read.
    pub ready: Vec<u64>,
    /// Why nothing works any more.
    pub failure: Option<String>,
    /// The stream that each packet on its way belongs to; 0 for a buffer that is free.
    pub senders: Vec<u64>,
    pub events: Vec<Event>,
    /// How many times in a row the provider has refused a sleep, since something has come.
    pub unsleepy: u32,
}

impl State {
    pub fn progress(&mut self) {
        if self.failure.is_some() {
            return;
        }
        let mut events = std::mem::take(&mut self.events);
        let result = self.endpoint.progress(|event| events.push(event));
        if !events.is_empty() {
            self.unsleepy = 0;
        }
        for event in events.drain(..) {
            match event {
                Event::Arrived(buffer, length) => self.arrive(buffer, length),
                Event::Sent(slot) => self.senders[slot.number()] = 0,
                Event::Lost(slot, error) => self.lose(slot.number(), error),
                Event::Read(slot, result) => self.end_read(slot, result),
            }
        }
        self.events = events;
        if let Err(error) = result {
            self.fail(error);
        }
        for index in std::mem::take(&mut self.owing) {
            self.tell(index);
        }
    }

    /// A packet to a stream could not be sent.
    #[cold]
    pub fn lose(&mut self, slot: usize, error: String) {
        let token = std::mem::take(&mut self.senders[slot]);
        if let Some(stream) = self.streams.iter_mut().flatten().find(|stream| stream.token == token) {
            stream.failure.get_or_insert(error);
            self.ready.push(stream.link);
        }
    }

    /// All links are told.
    #[cold]
    pub fn fail(&mut self, error: String) {
        self.failure.get_or_insert(error);
        self.ready.extend(self.streams.iter().flatten().map(|stream| stream.link));
    }

    pub fn give_back(&mut self, buffer: BufferId) {
        if let Err(error) = self.endpoint.give_back(buffer) {
            self.fail(error);
        }
    }

    pub fn arrive(&mut self, buffer: BufferId, length: usize) {
        let packet = &self.endpoint.packet(&buffer)[..length];
        let Some(header) = Header::read(packet) else { return self.give_back(buffer) };
        let stream = self.streams.get_mut(header.token as u32 as usize).and_then(Option::as_mut);
        let Some(stream) = stream.filter(|stream| stream.token == header.token) else {
            // Of nobody whom this process knows, or of a link that is over.
            return self.give_back(buffer);
        };
        self.ready.push(stream.link);
        match stream.take(&header) {
            Ok(Some(ahead)) if header.kind == Kind::Bytes => {
                let end = HEADER + usize::from(header.length);
                stream.put(ahead, Arrived::Bytes { buffer, start: HEADER, end });
            }
            Ok(Some(ahead)) => match read_memory(&packet[HEADER..]) {
                Some((remote, left)) => stream.put(ahead, Arrived::Memory { buffer, remote, left }),
                None => {
                    stream.failure.get_or_insert_with(|| "the peer sent what makes no sense: no memory".into());
                    self.give_back(buffer);
                }
            },
            Ok(None) => self.give_back(buffer),
            Err(why) => {
                stream.failure.get_or_insert_with(|| format!("the peer sent what makes no sense: {why}"));
                self.give_back(buffer);
            }
        }
    }

    /// Tells the peer of buffers that were read, if they are many, and that its memory was read.
    pub fn tell(&mut self, index: usize) {
        let Some(stream) = &mut self.streams[index] else { return };
        let kind = match stream.done {
            Some(_) => Kind::Done,
            None if stream.owed >= TELL => Kind::Credits,
            None => return,
        };
        if stream.peer.is_none() || stream.failure.is_some() {
            return;
        }
        // A credit is told when its buffer is with the provider.
        let is_early = kind == Kind::Credits && self.endpoint.has_unposted();
        if is_early || !self.send_packet(index, kind, 0, |_| {}) {
            self.owing.push(index);
        }
    }

    /// Sends a packet of so many bytes; `false` if that is not possible now.
    pub fn send_packet(&mut self, index: usize, kind: Kind, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let Some(stream) = &mut self.streams[index] else { return false };
        let Some(Far { address, token, .. }) = stream.peer else { return false };
        let Some(slot) = self.endpoint.slot() else {
            self.is_refused = true;
            return false;
        };
        let owed = if self.endpoint.has_unposted() { 0 } else { stream.owed };
        let sequence = stream.done.filter(|_| kind == Kind::Done).unwrap_or(stream.sequence);
        let packet = self.endpoint.slot_bytes(slot);
        let header = Header { token, sequence, credits: owed, kind, length: bytes as u16 };
        packet[..HEADER].copy_from_slice(&header.to_bytes());
        fill(&mut packet[HEADER..HEADER + bytes]);
        match self.endpoint.send(slot, HEADER + bytes, address) {
            Ok(true) => {
                stream.owed -= owed;
                if kind == Kind::Done {
                    stream.done = None;
                }
                if kind.has_place() {
                    stream.credits -= 1;
                    stream.sequence = stream.sequence.wrapping_add(1);
                }
                let token = stream.token;
                self.note_sender(slot, token);
                true
            }
            Ok(false) => {
                self.is_refused = true;
                false
            }
            Err(error) => {
                stream.failure.get_or_insert(error);
                self.ready.push(stream.link);
                false
            }
        }
    }

    pub fn note_sender(&mut self, slot: SlotId, token: u64) {
        if self.senders.len() <= slot.number() {
            self.senders.resize(slot.number() + 1, 0);
        }
        self.senders[slot.number()] = token;
    }

    pub fn check(&self, index: usize) -> io::Result<()> {
        let own = self.streams[index].as_ref().and_then(|stream| stream.failure.as_ref());
        let failure = own.or(self.failure.as_ref());
        failure.map_or(Ok(()), |error| Err(io::Error::other(error.clone())))
    }
}
