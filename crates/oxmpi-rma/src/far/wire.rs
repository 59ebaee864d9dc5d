//! Requests of an origin to the agent of another node, and the answers, as bytes. What comes over the wire is checked here
//! as far as it can be without knowing the window; `execute.rs` checks the rest.

/// Bytes of a request before its payload.
pub const REQUEST: usize = 72;
/// Bytes of an answer before its payload.
pub const ANSWER: usize = 16;
/// The longest payload of a request or an answer; long operations are several requests.
pub const MOST_BYTES: usize = 64 << 10;
/// The longest program of a type that is sent.
pub const MOST_PROGRAM: usize = 16 << 20;
/// The largest element that is compared and swapped.
pub const MOST_COMPARED: usize = 16;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// No answer. The payload is written.
    Put = 1,
    /// Answered with data.
    Get,
    /// The payload is combined with the target; answered with the old data if it asks for them.
    Accumulate,
    /// The payload is the new element and the one to compare with; answered with the old one.
    CompareAndSwap,
    /// Answered when everything before it has been done.
    Flush,
    /// Takes the lock of a rank; answered when it is taken.
    Lock,
    /// As a flush, and releases the lock.
    Unlock,
    /// Takes the shared locks of all ranks of the node; answered whether they are taken.
    LockAll,
    UnlockAll,
    /// No answer. The origin has reached a round of a fence.
    Round,
    /// No answer. The origin has exposed its memory to a rank of the node.
    Post,
    /// No answer. The origin has completed its accesses to a rank of the node.
    Complete,
    /// A rank of the node tells about its part of a new window.
    Register,
    Unregister,
    /// A rank of the node asks whether the agent can read a word of its memory.
    Probe,
    /// No answer. A part of the program of a type, which gets a number.
    Type,
}

const KINDS: [Kind; 16] = [
    Kind::Put,
    Kind::Get,
    Kind::Accumulate,
    Kind::CompareAndSwap,
    Kind::Flush,
    Kind::Lock,
    Kind::Unlock,
    Kind::LockAll,
    Kind::UnlockAll,
    Kind::Round,
    Kind::Post,
    Kind::Complete,
    Kind::Register,
    Kind::Unregister,
    Kind::Probe,
    Kind::Type,
];

/// The old data are wanted.
pub const FETCH: u8 = 1;
pub const EXCLUSIVE: u8 = 2;
/// The locks of all ranks are waited for; otherwise the answer is at once.
pub const PATIENT: u8 = 4;
const FLAGS: u8 = FETCH | EXCLUSIVE | PATIENT;

/// A request, without its payload. Fields that a kind does not use are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    pub kind: Kind,
    pub flags: u8,
    /// Bytes of the payload.
    pub payload: u32,
    pub window: u64,
    /// Ranks in the window.
    pub target: u32,
    pub origin: u32,
    /// Bytes from the start of the target's window, or an address in a dynamic one.
    pub offset: u64,
    /// Bytes of the target, packed.
    pub length: u64,
    /// Handles of a predefined operation and datatype.
    pub op: u32,
    pub datatype: u32,
    /// Comes back with the answer.
    pub tag: u32,
    /// The number of the target's type; 0 for consecutive bytes.
    pub program: u32,
    /// Elements of that type, and the first byte of their packed stream that is meant.
    pub count: u64,
    pub position: u64,
}

impl Request {
    pub fn new(kind: Kind, window: u64, origin: u32) -> Request {
        Request {
            kind,
            flags: 0,
            payload: 0,
            window,
            target: 0,
            origin,
            offset: 0,
            length: 0,
            op: 0,
            datatype: 0,
            tag: 0,
            program: 0,
            count: 0,
            position: 0,
        }
    }

    pub fn to_bytes(&self) -> [u8; REQUEST] {
        let mut bytes = [0; REQUEST];
        (bytes[0], bytes[1]) = (self.kind as u8, self.flags);
        let mut at = 4;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&self.payload.to_le_bytes());
        put(&self.window.to_le_bytes());
        [self.target, self.origin].iter().for_each(|word| put(&word.to_le_bytes()));
        [self.offset, self.length].iter().for_each(|word| put(&word.to_le_bytes()));
        [self.op, self.datatype, self.tag, self.program].iter().for_each(|word| put(&word.to_le_bytes()));
        [self.count, self.position].iter().for_each(|word| put(&word.to_le_bytes()));
        bytes
    }

    /// `None` for a request that no origin makes.
    pub fn from_bytes(bytes: &[u8; REQUEST]) -> Option<Request> {
        let short = |at: usize| bytes[at..].first_chunk().map(|word| u32::from_le_bytes(*word));
        let long = |at: usize| bytes[at..].first_chunk().map(|word| u64::from_le_bytes(*word));
        let kind = KINDS.into_iter().find(|&kind| kind as u8 == bytes[0])?;
        let request = Request {
            kind,
            flags: bytes[1],
            payload: short(4)?,
            window: long(8)?,
            target: short(16)?,
            origin: short(20)?,
            offset: long(24)?,
            length: long(32)?,
            op: short(40)?,
            datatype: short(44)?,
            tag: short(48)?,
            program: short(52)?,
            count: long(56)?,
            position: long(64)?,
        };
        let known = bytes[2] == 0 && bytes[3] == 0 && request.flags & !FLAGS == 0;
        (known && request.has_right_lengths()).then_some(request)
    }

    fn has_right_lengths(&self) -> bool {
        let Request { payload, length, position, .. } = *self;
        let (payload, most) = (u64::from(payload), MOST_BYTES as u64);
        match self.kind {
            Kind::Put => payload == length && (1..=most).contains(&length),
            Kind::Get => payload == 0 && (1..=most).contains(&length),
            Kind::Accumulate => (payload == 0 || payload == length) && (1..=most).contains(&length),
            Kind::CompareAndSwap => (1..=MOST_COMPARED as u64).contains(&length) && payload == 2 * length,
            Kind::Register => payload == REGISTRATION as u64,
            Kind::Type => {
                let end = position.checked_add(payload);
                (1..=most).contains(&payload)
                    && length <= MOST_PROGRAM as u64
                    && end.is_some_and(|end| end <= length)
                    && self.program != 0
            }
            _ => payload == 0,
        }
    }
}

/// An answer, without its payload: data, or the text of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    pub is_data: bool,
    pub payload: u32,
    pub tag: u32,
    /// An error class of MPI, 0 for success. For [`Kind::LockAll`], [`REFUSED`] when the locks are not free.
    pub class: i32,
}

pub const REFUSED: i32 = -1;

/// The class of an answer that another one follows: a lock is not free yet, and the payload says why ([`Held`]).
pub const NOT_YET: i32 = -2;

/// The lock that a request waits for, and who holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The rank whose lock it is.
    pub rank: u32,
    /// The rank that holds it exclusively; `None` while readers hold it, which are not known.
    pub owner: Option<u32>,
}

impl Held {
    pub fn to_bytes(self) -> [u8; HELD] {
        let mut bytes = [0; HELD];
        bytes[..4].copy_from_slice(&self.rank.to_le_bytes());
        bytes[4..].copy_from_slice(&self.owner.unwrap_or(u32::MAX).to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Held> {
        let bytes: &[u8; HELD] = bytes.try_into().ok()?;
        let (rank, owner) = (*bytes.first_chunk()?, u32::from_le_bytes(*bytes.last_chunk()?));
        Some(Held { rank: u32::from_le_bytes(rank), owner: (owner != u32::MAX).then_some(owner) })
    }
}

/// Bytes of a [`Held`].
pub const HELD: usize = 8;

impl Answer {
    pub fn to_bytes(self) -> [u8; ANSWER] {
        let mut bytes = [0; ANSWER];
        bytes[0] = if self.is_data { 1 } else { 2 };
        bytes[4..8].copy_from_slice(&self.payload.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.tag.to_le_bytes());
        bytes[12..].copy_from_slice(&self.class.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8; ANSWER]) -> Option<Answer> {
        let word = |at: usize| bytes[at..].first_chunk().copied();
        let answer = Answer {
            is_data: bytes[0] == 1,
            payload: u32::from_le_bytes(word(4)?),
            tag: u32::from_le_bytes(word(8)?),
            class: i32::from_le_bytes(word(12)?),
        };
        let known = matches!(bytes[0], 1 | 2) && bytes[1..4] == [0; 3];
        (known && answer.payload as usize <= MOST_BYTES).then_some(answer)
    }
}

/// Bytes of a [`Registration`].
pub const REGISTRATION: usize = 56;

/// What a rank tells its agent about a window, as the payload of [`Kind::Register`]. The origin of the request is its rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registration {
    /// Ranks of the window, on all nodes.
    pub ranks: u32,
    pub dynamic: bool,
    /// See `Window::block_shift`.
    pub block_shift: u8,
    /// The area of the control words, in the node's segment: offset and length.
    pub area: (u64, u64),
    pub memory: Place,
    pub size: u64,
}

/// Where the memory of a rank is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Behind the control words, at this offset.
    InArea(u64),
    /// At this address of its process.
    InProcess(u64),
    /// In another area of the segment, at an offset.
    InOther { area: (u64, u64), inside: u64 },
}

impl Registration {
    pub fn to_bytes(&self) -> [u8; REGISTRATION] {
        let (kind, words) = match self.memory {
            Place::InArea(offset) => (0, [offset, 0, 0]),
            Place::InProcess(address) => (1, [address, 0, 0]),
            Place::InOther { area, inside } => (2, [inside, area.0, area.1]),
        };
        let mut bytes = [0; REGISTRATION];
        bytes[..4].copy_from_slice(&self.ranks.to_le_bytes());
        (bytes[4], bytes[5], bytes[6]) = (u8::from(self.dynamic), self.block_shift, kind);
        let words = [self.area.0, self.area.1, self.size].into_iter().chain(words);
        for (place, word) in bytes[8..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Registration> {
        let bytes: &[u8; REGISTRATION] = bytes.try_into().ok()?;
        let word = |at: usize| bytes[8 + 8 * at..].first_chunk().map(|word| u64::from_le_bytes(*word));
        let memory = match bytes[6] {
            0 => Place::InArea(word(3)?),
            1 => Place::InProcess(word(3)?),
            2 => Place::InOther { area: (word(4)?, word(5)?), inside: word(3)? },
            _ => return None,
        };
        let dynamic = match bytes[4] {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Registration {
            ranks: u32::from_le_bytes(*bytes.first_chunk()?),
            dynamic,
            block_shift: bytes[5],
            area: (word(0)?, word(1)?),
            memory,
            size: word(2)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request() -> Request {
        Request {
            flags: FETCH,
            payload: 40,
            target: 3,
            offset: 1 << 40,
            length: 40,
            op: 7,
            datatype: 8,
            tag: 9,
            program: 10,
            count: 11,
            position: 12,
            ..Request::new(Kind::Accumulate, 0x1234_5678_9abc_def0, 2)
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Request::from_bytes(&request().to_bytes()), Some(request()));
        let answer = Answer { is_data: true, payload: 5, tag: 6, class: -7 };
        assert_eq!(Answer::from_bytes(&answer.to_bytes()), Some(answer));
        for owner in [None, Some(0), Some(70_000)] {
            let held = Held { rank: 3, owner };
            assert_eq!(Held::from_bytes(&held.to_bytes()), Some(held));
        }
        assert_eq!(Held::from_bytes(&[0; HELD - 1]), None);
        for memory in [Place::InArea(4096), Place::InProcess(77), Place::InOther { area: (1, 2), inside: 3 }] {
            let registration =
                Registration { ranks: 4, dynamic: true, block_shift: 12, area: (8192, 4096), memory, size: 99 };
            assert_eq!(Registration::from_bytes(&registration.to_bytes()), Some(registration));
        }
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let kinds = [Kind::Put, Kind::Get, Kind::Accumulate, Kind::CompareAndSwap, Kind::Type, Kind::Register];
        for kind in kinds {
            let long = Request { kind, payload: u32::MAX, length: u64::from(u32::MAX), ..request() };
            assert_eq!(Request::from_bytes(&long.to_bytes()), None, "{kind:?}");
        }
        let short = Request { kind: Kind::Put, payload: 39, ..request() };
        assert_eq!(Request::from_bytes(&short.to_bytes()), None);
        let flush = Request { kind: Kind::Flush, ..request() };
        assert_eq!(Request::from_bytes(&flush.to_bytes()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read_as_what_they_are(bytes in prop::array::uniform32(any::<u8>()), kind in 0u8..20) {
            let mut all = [0; REQUEST];
            all[..32].copy_from_slice(&bytes);
            all[40..].copy_from_slice(&bytes);
            all[0] = kind;
            if let Some(request) = Request::from_bytes(&all) {
                prop_assert_eq!(request.to_bytes(), all);
                prop_assert!(request.payload as usize <= MOST_BYTES);
            }
            let head: [u8; ANSWER] = *all.first_chunk().unwrap();
            if let Some(answer) = Answer::from_bytes(&head) {
                prop_assert_eq!(answer.to_bytes(), head);
            }
            let _ = Registration::from_bytes(&all);
        }
    }
}
