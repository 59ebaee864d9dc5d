//! What travels over a connection: frames of a header of 32 bytes and the bytes behind it. A header is validated as a
//! whole before anything of it is believed.
//!
//! ```text
//! length u32 | kind u8 | flags u8 | shard u16 | sequence u32 | context u32 | tag i32 | source i32 | total u64
//! ```
//!
//! `length` counts the bytes behind the header. `total` is the message's length, for bulk bytes the operation of the
//! receiver, for other packets the number that their head carries. The highest bit of `flags` is the link's own. All
//! numbers are little-endian. The shard is 0: it is there for processes whose threads have queues of their own.

use crate::packet::{CONTROL_WORDS, DATA, EAGER, Head, MORE};

pub const HEADER_BYTES: usize = 32;

/// The longest message that is sent without asking its receiver.
pub const MOST_EAGER: usize = 256 << 10;
/// The longest message whose bytes travel with its announcement.
pub const MOST_WITH_BYTES: usize = 4 << 10;
/// The longest frame of bulk bytes. Other frames pass between two of them; a socket's own buffer is longer.
pub const MOST_BULK: usize = 1 << 20;

/// Bytes in front of the data of a message that is also an offer.
pub const OFFER_BYTES: usize = 16;

/// The sender's kernel may keep frames that follow until this one is acknowledged.
pub const HELD: u8 = 0x80;

/// Frames of the link itself, which no layer above sees.
pub const PRESS: u8 = 0xf0;
pub const EASE: u8 = 0xf1;
/// The last frame on a connection that is given up for another one.
pub const SWITCH: u8 = 0xf2;
/// The last frame of all.
pub const BYE: u8 = 0xf3;
/// The flag of BYE: the link was not used for a while. Its peers go on, over another link when they need one.
pub const RESTS: u8 = 1;
/// The sender receives nothing more, but may have something to send.
pub const LEAVE: u8 = 0xf4;
/// Where the sender reads a stream over a fabric.
pub const FABRIC: u8 = 0xf6;
/// The longest of that.
const MOST_OFFER: usize = 512;
/// The flag of LEAVE: the sender has finalized `MPI_COMM_WORLD`, for good.
pub const FINALIZED: u8 = 1;
/// The sender asks for a BYE that lets the link rest.
pub const REST: u8 = 0xf5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub length: u32,
    pub kind: u8,
    pub flags: u8,
    /// [`HELD`].
    pub is_held: bool,
    pub sequence: u32,
    pub context: u32,
    pub tag: i32,
    pub source: i32,
    pub total: u64,
}

/// What the bytes behind a header are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Of the link: none, but for FABRIC.
    Link,
    /// A few words.
    Control,
    /// A message, behind so many bytes about its offer.
    Message { prefix: usize },
    /// Bytes of a transfer.
    Bulk,
}

impl Header {
    /// The header of a packet with so many bytes behind it.
    pub fn of(head: &Head, length: usize, sequence: u32) -> Header {
        let Head { kind, flags, context, tag, source, aux } = *head;
        let total = aux.into();
        Header { length: length as u32, kind, flags, is_held: false, sequence, context, tag, source, total }
    }

    /// The header of bulk bytes for an operation of the receiver.
    pub fn bulk(word: u64, length: usize, sequence: u32) -> Header {
        Header { length: length as u32, total: word, ..Header::link(DATA, sequence) }
    }

    pub fn link(kind: u8, sequence: u32) -> Header {
        Header { length: 0, kind, flags: 0, is_held: false, sequence, context: 0, tag: 0, source: 0, total: 0 }
    }

    pub fn head(&self) -> Head {
        let Header { kind, flags, context, tag, source, total, .. } = *self;
        Head { kind, flags, context, tag, source, aux: total as u32 }
    }

    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.length.to_le_bytes());
        (bytes[4], bytes[5]) = (self.kind, self.flags | if self.is_held { HELD } else { 0 });
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.context.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.tag.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.source.to_le_bytes());
        bytes[24..].copy_from_slice(&self.total.to_le_bytes());
        bytes
    }

    /// The header that the bytes are, and what follows it. An error says why no process that follows the protocol sends it.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<(Header, Form), &'static str> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes[6] != 0 || bytes[7] != 0 {
            return Err("a frame for a shard that does not exist");
        }
        let header = Header {
            length: word(0),
            kind: bytes[4],
            flags: bytes[5] & !HELD,
            is_held: bytes[5] & HELD != 0,
            sequence: word(8),
            context: word(12),
            tag: word(16) as i32,
            source: word(20) as i32,
            total: u64::from(word(24)) | u64::from(word(28)) << 32,
        };
        let form = header.form().ok_or("a frame whose length cannot be")?;
        Ok((header, form))
    }

    fn form(&self) -> Option<Form> {
        let length = self.length as usize;
        match self.kind {
            FABRIC => (1..=MOST_OFFER).contains(&length).then_some(Form::Link),
            PRESS | EASE | SWITCH | BYE | LEAVE | REST => (length == 0).then_some(Form::Link),
            EAGER => {
                let (prefix, most) = if self.flags == 0 { (0, MOST_EAGER) } else { (OFFER_BYTES, MOST_WITH_BYTES) };
                let is_whole = length.checked_sub(prefix).is_some_and(|data| data as u64 == self.total && data <= most);
                is_whole.then_some(Form::Message { prefix })
            }
            // Parts are put together by the link.
            MORE => None,
            DATA => (1..=MOST_BULK).contains(&length).then_some(Form::Bulk),
            _ => (length == 8 * CONTROL_WORDS && self.total <= u32::MAX.into()).then_some(Form::Control),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_is_what_was_written() {
        let head = Head { kind: EAGER, flags: 0, context: 0xdead_beef, tag: -7, source: i32::MIN, aux: 100 };
        let header = Header::of(&head, 100, u32::MAX);
        let bytes = header.to_bytes();
        assert_eq!(bytes[..6], [100, 0, 0, 0, EAGER, 0]);
        assert_eq!(Header::from_bytes(&bytes), Ok((header, Form::Message { prefix: 0 })));
        assert_eq!(header.head(), head);
        let held = Header { is_held: true, ..header };
        assert_eq!(held.to_bytes()[5], HELD);
        assert_eq!(Header::from_bytes(&held.to_bytes()), Ok((held, Form::Message { prefix: 0 })));
        let bulk = Header::bulk(u64::MAX, MOST_BULK, 3);
        assert_eq!(Header::from_bytes(&bulk.to_bytes()), Ok((bulk, Form::Bulk)));
    }

    #[test]
    fn frames_that_cannot_be_are_refused() {
        let eager = |flags, length, total| Header { length, flags, total, ..Header::link(EAGER, 0) };
        let long = MOST_EAGER as u32;
        let bad = [
            eager(0, 5, 6),
            eager(0, long + 1, u64::from(long) + 1),
            eager(0, 5, 5 | 1 << 32),
            eager(1, 15, 0),
            eager(1, 5000, 5000 - OFFER_BYTES as u64),
            Header { length: 1, ..Header::link(BYE, 0) },
            Header { length: 31, ..Header::link(crate::packet::CLAIMED, 0) },
            Header { length: 32, total: 1 << 32, ..Header::link(3, 0) },
            Header::link(MORE, 0),
            Header::bulk(1, 0, 0),
            Header::bulk(1, MOST_BULK + 1, 0),
        ];
        for header in bad {
            assert!(Header::from_bytes(&header.to_bytes()).is_err(), "{header:?}");
        }
        assert!(Header::from_bytes(&eager(0, long, long.into()).to_bytes()).is_ok());
        let mut shard = Header::link(BYE, 0).to_bytes();
        shard[7] = 1;
        assert!(Header::from_bytes(&shard).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_header_or_refused(bytes: [u8; HEADER_BYTES]) {
            if let Ok((header, form)) = Header::from_bytes(&bytes) {
                prop_assert_eq!(header.to_bytes(), bytes);
                let length = header.length as usize;
                prop_assert!(length <= MOST_BULK);
                let is_short = matches!(form, Form::Message { prefix } if prefix > length);
                prop_assert!(!is_short);
            }
        }
    }
}
