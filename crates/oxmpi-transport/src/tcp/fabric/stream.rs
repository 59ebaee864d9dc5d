//! One direction of a stream as this process knows it: which packets have come, how many may be sent, and memory that is
//! read by the peer, or from it.

use oxmpi_fabric::{Address, BufferId, Lent, PACKET, Region, Remote, SlotId};
use std::collections::VecDeque;

/// Bytes of the header of a packet.
pub const HEADER: usize = 16;
/// Bytes of a stream in a packet.
pub const DATA: usize = PACKET - HEADER;
/// Packets that may be under way to a stream.
pub const CREDITS: u16 = 12;

pub struct Stream {
    pub token: u64,
    /// The number of its link.
    pub link: u64,
    pub peer: Option<Far>,
    /// Packets that the peer has buffers for.
    pub credits: u16,
    /// The number of the next packet to send.
    pub sequence: u32,
    /// Buffers that were read, and that the peer does not know of.
    pub owed: u16,
    /// The number of the first packet of `arrived`.
    pub expected: u32,
    /// Packets in the order of their numbers, as far as they have come. The first may have been read in part.
    pub arrived: VecDeque<Option<Arrived>>,
    /// Memory that the peer reads now.
    pub lending: Option<Lending>,
    /// Memory of the peer that is being read.
    pub fetch: Option<Fetch>,
    /// The number of a packet whose memory was read, which the peer is not told yet.
    pub done: Option<u32>,
    /// Why nothing can be sent any more.
    pub failure: Option<String>,
}

/// The other side of a stream.
#[derive(Clone, Copy)]
pub struct Far {
    pub address: Address,
    /// Its name for the stream.
    pub token: u64,
    /// It can read our memory.
    pub reads: bool,
}

/// What has come and was not read.
pub enum Arrived {
    Bytes { buffer: BufferId, start: usize, end: usize },
    Memory { buffer: BufferId, remote: Remote, left: usize },
}

impl Arrived {
    pub fn buffer(self) -> BufferId {
        match self {
            Arrived::Bytes { buffer, .. } | Arrived::Memory { buffer, .. } => buffer,
        }
    }
}

pub struct Lending {
    pub lent: Lent,
    pub address: usize,
    pub bytes: usize,
    /// The packet that told of it.
    pub sequence: u32,
    /// The peer has read it.
    pub is_done: bool,
}

pub struct Fetch {
    pub slot: SlotId,
    pub to: Place,
    pub is_done: bool,
}

/// Where memory of the peer is read to.
pub enum Place {
    /// To the user's memory, with the region that the provider wants for it.
    Direct { address: usize, bytes: usize, region: Option<Region> },
    /// To the buffer of the slot, from which these bytes were not taken yet.
    Staged { start: usize, end: usize },
}

impl Stream {
    pub fn new(token: u64, link: u64) -> Stream {
        Stream {
            token,
            link,
            peer: None,
            credits: CREDITS,
            sequence: 0,
            owed: 0,
            expected: 0,
            arrived: VecDeque::new(),
            lending: None,
            fetch: None,
            done: None,
            failure: None,
        }
    }

    /// Takes the credits of a packet, and what else it says without bytes; how many packets before this one have not been
    /// read to the end, `None` if it has no place among them.
    pub fn take(&mut self, header: &Header) -> Result<Option<usize>, &'static str> {
        if header.credits > CREDITS - self.credits {
            return Err("credits for packets that were not sent");
        }
        let ahead = header.sequence.wrapping_sub(self.expected) as usize;
        match header.kind {
            Kind::Credits => {}
            Kind::Done => match &mut self.lending {
                Some(lending) if lending.sequence == header.sequence && !lending.is_done => lending.is_done = true,
                _ => return Err("it has read memory that was not lent"),
            },
            Kind::Bytes | Kind::Memory => {
                if ahead >= usize::from(CREDITS) || self.arrived.get(ahead).is_some_and(Option::is_some) {
                    return Err("a packet without a credit, or twice");
                }
            }
        }
        self.credits += header.credits;
        Ok(header.kind.has_place().then_some(ahead))
    }

    pub fn put(&mut self, ahead: usize, arrived: Arrived) {
        while self.arrived.len() <= ahead {
            self.arrived.push_back(None);
        }
        self.arrived[ahead] = Some(arrived);
    }

    /// Takes the first packet, which was read to the end: its buffer.
    pub fn next(&mut self) -> Option<BufferId> {
        let buffer = self.arrived.pop_front()??.buffer();
        self.expected = self.expected.wrapping_add(1);
        self.owed += 1;
        Some(buffer)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Bytes of the stream.
    Bytes,
    /// Where the next bytes of the stream lie in the sender's memory.
    Memory,
    /// Nothing but credits.
    Credits,
    /// The memory that the packet of this number told of was read.
    Done,
}

impl Kind {
    /// Whether packets of this kind are numbered and need a credit.
    pub fn has_place(self) -> bool {
        matches!(self, Kind::Bytes | Kind::Memory)
    }
}

pub struct Header {
    pub token: u64,
    pub sequence: u32,
    pub credits: u16,
    pub kind: Kind,
    pub length: u16,
}

/// Bits of the length that say the kind.
const KIND_SHIFT: u32 = 14;
/// Bytes of a packet that tells of memory: address, key and length.
pub const MEMORY: usize = 24;

impl Header {
    pub fn to_bytes(&self) -> [u8; HEADER] {
        let length = self.length | (self.kind as u16) << KIND_SHIFT;
        let rest = u64::from(self.sequence) | u64::from(self.credits) << 32 | u64::from(length) << 48;
        (u128::from(self.token) | u128::from(rest) << 64).to_le_bytes()
    }

    /// The header of a packet; `None` for one that cannot be.
    pub fn read(packet: &[u8]) -> Option<Header> {
        let word = u128::from_le_bytes(*packet.first_chunk::<HEADER>()?);
        let rest = (word >> 64) as u64;
        let length = (rest >> 48) as u16;
        let kind = [Kind::Bytes, Kind::Memory, Kind::Credits, Kind::Done][usize::from(length >> KIND_SHIFT)];
        let length = length & ((1 << KIND_SHIFT) - 1);
        let is_long_enough = match kind {
            Kind::Bytes => length > 0,
            Kind::Memory => usize::from(length) == MEMORY,
            Kind::Credits | Kind::Done => length == 0,
        };
        let header = Header { token: word as u64, sequence: rest as u32, credits: (rest >> 32) as u16, kind, length };
        (is_long_enough && usize::from(length) == packet.len() - HEADER).then_some(header)
    }
}

/// Address, key and length of memory, as a packet tells them.
pub fn memory_bytes(remote: Remote, bytes: usize) -> [u8; MEMORY] {
    let mut text = [0; MEMORY];
    for (at, word) in [remote.address, remote.key, bytes as u64].into_iter().enumerate() {
        text[8 * at..8 * at + 8].copy_from_slice(&word.to_le_bytes());
    }
    text
}

/// The same, read; `None` for no bytes.
pub fn read_memory(bytes: &[u8]) -> Option<(Remote, usize)> {
    let (words, _) = bytes.as_chunks::<8>();
    let [address, key, length] = *words else { return None };
    let [address, key, length] = [address, key, length].map(u64::from_le_bytes);
    let length = usize::try_from(length).ok().filter(|&length| length > 0 && length <= isize::MAX as usize)?;
    Some((Remote { address, key }, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream { expected: u32::MAX, ..Stream::new(1, 0) }
    }

    fn header(sequence: u32, credits: u16, kind: Kind) -> Header {
        Header { token: 1, sequence, credits, kind, length: 8 }
    }

    #[test]
    fn headers() {
        let mut packet = Header { length: 2, ..header(7, 3, Kind::Bytes) }.to_bytes().to_vec();
        assert!(Header::read(&packet).is_none(), "two bytes are missing");
        packet.extend([1, 2]);
        let read = Header::read(&packet).unwrap();
        assert_eq!((read.token, read.sequence, read.credits, read.kind, read.length), (1, 7, 3, Kind::Bytes, 2));
        packet.push(3);
        assert!(Header::read(&packet).is_none(), "one byte too many");
        assert!(Header::read(&packet[..HEADER - 1]).is_none());
        for kind in [Kind::Bytes, Kind::Memory, Kind::Done] {
            let bytes = Header { length: u16::from(kind == Kind::Done), ..header(0, 0, kind) }.to_bytes();
            assert!(Header::read(&bytes).is_none(), "{kind:?} of a wrong length");
        }
    }

    #[test]
    fn memory() {
        let remote = Remote { address: 0x1234, key: u64::MAX };
        assert_eq!(read_memory(&memory_bytes(remote, 77)), Some((remote, 77)));
        assert_eq!(read_memory(&memory_bytes(remote, 0)), None);
        assert_eq!(read_memory(&memory_bytes(remote, usize::MAX)), None);
        assert_eq!(read_memory(&[0; 16]), None);
    }

    /// Completions need not come in the order of the packets.
    #[test]
    fn packets_are_sorted() {
        let mut stream = stream();
        assert_eq!(stream.take(&header(1, 0, Kind::Bytes)), Ok(Some(2)));
        assert_eq!(stream.take(&header(u32::MAX, 0, Kind::Memory)), Ok(Some(0)));
        assert_eq!(stream.take(&header(9, 0, Kind::Credits)), Ok(None), "credits alone have no place");
    }

    #[test]
    fn nonsense_is_refused() {
        let mut stream = stream();
        assert!(stream.take(&header(u32::MAX, 1, Kind::Bytes)).is_err(), "a credit for nothing");
        assert!(stream.take(&header(u32::MAX - 1, 0, Kind::Bytes)).is_err(), "a packet of the past");
        assert!(stream.take(&header(u32::from(CREDITS) - 1, 0, Kind::Memory)).is_err(), "one too many");
        assert!(stream.take(&header(0, 0, Kind::Done)).is_err(), "nothing was lent");
        stream.credits -= 2;
        assert_eq!(stream.take(&header(0, 2, Kind::Credits)), Ok(None));
        assert_eq!(stream.credits, CREDITS);
    }
}
