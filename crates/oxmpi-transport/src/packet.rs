//! The format of packets between two processes: a head from the layer above, and bytes behind it.
//! Every link carries packets in this format, so that all of them share one receiving side.
//!
//! A [`Packet`] borrows the receiving end that it came from, so it cannot be read after it was
//! popped.

use oxmpi_base::ring;
use oxmpi_datatype::{Cursor, Target};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The head that the layer above writes. The transport does not interpret it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: u8,
    pub flags: u8,
    pub context: u32,
    pub tag: i32,
    pub source: i32,
    pub aux: u32,
}

/// A message, or the first part of one; `aux` is its length. With flags it is also an offer.
pub const EAGER: u8 = 1;
/// The next part of the message that the last EAGER packet of this sender started.
pub const MORE: u8 = 2;
/// A message that stays with its sender until it is claimed.
pub const OFFER: u8 = 3;
/// To the sender: its offer was claimed. Body: offer, the sender's operation.
pub const CLAIMED: u8 = 4;
/// To the sender: its offer was claimed, and the bytes shall come as packets. Body: offer, the
/// sender's operation, the receiver's operation, length.
pub const STREAM: u8 = 5;
/// Bytes of a stream; the word in front is the receiver's operation.
pub const DATA: u8 = 6;
/// To the receiver: the sender wants to withdraw its offer. Body: 0, the sender's operation.
pub const WITHDRAW: u8 = 7;
/// To the sender: its offer is withdrawn. Body: 0, its operation.
pub const WITHDRAWN: u8 = 8;
/// To a process that is awaited: in which collective call does it wait? Body: the wait that asks, the context.
pub const ASK_CALL: u8 = 9;
/// The answer. Body: the wait and the rank, the context and the number of the call, the names of the call and of the one before.
pub const TELL_CALL: u8 = 10;

/// What the next message of this sender says about its type, for `--check`. Body: the signature.
pub const SIGNATURE: u8 = 11;
/// A collective call of this process, for `--check`. Body: four words.
pub const CALL_RECORD: u8 = 12;
/// To the receiver: the message whose bytes it asked for has been given up, because a process has failed or the communicator was
/// revoked. Body: 0, the receiver's operation, the class of the error.
pub const CUT: u8 = 13;

/// A context that both processes have was revoked. Body: the context.
pub const REVOKED: u8 = 14;

/// Bytes of a [`Head`] in a packet, without kind and flags, which travel in the cell's word.
pub(crate) const HEAD_BYTES: usize = 16;

/// Bytes that fit beside a head in one cache line.
pub const INLINE_BYTES: usize = ring::FIRST_BYTES - HEAD_BYTES;

/// Words in the body of a control packet.
pub const CONTROL_WORDS: usize = 4;

/// Bytes in front of the data of a packet of several cells: the data starts at a cell of its own, aligned to a cache line.
pub(crate) const BULK_OFFSET: usize = ring::FIRST_BYTES;

/// All parts of a message except the last are multiples of this: a receiver takes all that a packet
/// has room for.
pub const PART_UNIT: usize = 64;

/// A packet that has arrived. Its bytes stay in place until
/// [`Incoming::pop`](crate::Incoming::pop), which cannot be called while the packet is borrowed.
pub struct Packet<'a> {
    user: u16,
    cells: usize,
    bytes: NonNull<u8>,
    end: PhantomData<&'a ()>,
}

/// The size for [`Incoming::pop`](crate::Incoming::pop).
#[derive(Clone, Copy)]
pub struct PacketSize {
    pub(crate) cells: usize,
}

impl<'a> Packet<'a> {
    /// # Safety
    /// The packet has `bytes_in(cells)` readable bytes that nobody writes during `'a`.
    #[inline]
    pub(crate) unsafe fn new(packet: ring::Packet) -> Packet<'a> {
        Packet { user: packet.user, cells: packet.cells, bytes: packet.bytes, end: PhantomData }
    }

    /// Ends the borrow of the packet.
    #[inline]
    pub fn size(self) -> PacketSize {
        PacketSize { cells: self.cells }
    }

    #[inline]
    pub fn kind(&self) -> u8 {
        self.user as u8
    }

    #[inline]
    pub fn head(&self) -> Head {
        // SAFETY: every packet has a first cell with room for a head; its bytes are plain numbers.
        let (context, tag, source, aux) = unsafe {
            let at = self.bytes.cast::<u32>();
            (
                at.read_unaligned(),
                at.add(1).cast::<i32>().read_unaligned(),
                at.add(2).cast::<i32>().read_unaligned(),
                at.add(3).read_unaligned(),
            )
        };
        Head { kind: self.user as u8, flags: (self.user >> 8) as u8, context, tag, source, aux }
    }

    /// The word in front of a bulk packet.
    #[inline]
    pub fn bulk_word(&self) -> u64 {
        // SAFETY: every packet has a first cell.
        unsafe { self.bytes.cast::<u64>().read_unaligned() }
    }

    /// The offset of the data in a packet that has `prefix` bytes behind its head.
    #[inline]
    fn data(&self, prefix: usize) -> usize {
        if self.cells == 1 { HEAD_BYTES + prefix } else { BULK_OFFSET }
    }

    /// Bytes of data that the packet has room for, with `prefix` bytes behind its head.
    #[inline]
    pub fn room(&self, prefix: usize) -> usize {
        ring::bytes_in(self.cells) - self.data(prefix)
    }

    /// A word of the body behind the head; `index` counts words of eight bytes.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        assert!((index + 1) * 8 <= INLINE_BYTES);
        // SAFETY: in the packet's first cell, as asserted.
        unsafe { self.bytes.add(HEAD_BYTES).cast::<u64>().add(index).read_unaligned() }
    }

    /// Copies `bytes` bytes of data to the next bytes of the buffer.
    #[inline]
    pub fn unpack(&self, prefix: usize, bytes: usize, buf: &Target<'_>, cursor: &mut Cursor) {
        assert!(bytes <= self.room(prefix));
        // SAFETY: the packet has `bytes` bytes from there on, and a target may be written.
        unsafe { cursor.unpack(buf, self.bytes.as_ptr().add(self.data(prefix)), bytes) };
    }

    /// Copies the `bytes` bytes of a packet of one cell to the start of a buffer that has room for them.
    #[inline]
    pub fn unpack_inline(&self, bytes: usize, buf: &Target<'_>) {
        assert!(bytes <= INLINE_BYTES && bytes <= buf.len());
        // SAFETY: the first cell has INLINE_BYTES behind the head, and a target may be written.
        unsafe {
            let from = self.bytes.as_ptr().add(HEAD_BYTES);
            match buf.as_dense() {
                Some(to) => copy_small(to, from, bytes),
                None => {
                    Cursor::new().unpack(buf, from, bytes);
                }
            }
        }
    }

    /// Copies bytes of data.
    pub fn copy_to(&self, prefix: usize, to: &mut [u8]) {
        assert!(to.len() <= self.room(prefix));
        // SAFETY: in the packet's bytes; a slice of ours does not overlap the segment.
        unsafe {
            let from = self.bytes.as_ptr().add(self.data(prefix));
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
        }
    }

    /// Appends bytes of data to the stored part of a message.
    pub fn append_to(&self, prefix: usize, bytes: usize, store: &mut Vec<u8>) {
        assert!(bytes <= self.room(prefix));
        // SAFETY: in the packet's bytes, which nobody writes before `pop`.
        store.extend_from_slice(unsafe {
            std::slice::from_raw_parts(self.bytes.as_ptr().add(self.data(prefix)), bytes)
        });
    }
}

#[inline]
pub(crate) fn user_word(head: &Head) -> u16 {
    u16::from(head.kind) | u16::from(head.flags) << 8
}

/// # Safety
/// `at` is the start of a reserved packet.
#[inline]
pub(crate) unsafe fn write_head(at: NonNull<u8>, head: &Head) {
    let low = u64::from(head.context) | u64::from(head.tag as u32) << 32;
    let high = u64::from(head.source as u32) | u64::from(head.aux) << 32;
    // SAFETY: a packet has room for a head at its start.
    unsafe {
        at.cast::<u64>().write_unaligned(low);
        at.cast::<u64>().add(1).write_unaligned(high);
    }
}

/// A copy of few bytes without a call: two overlapping moves for each range of lengths.
///
/// # Safety
/// As for `copy_nonoverlapping`; `len` is at most [`INLINE_BYTES`].
#[inline(always)]
pub(crate) unsafe fn copy_small(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: every access lies within `len` bytes of its pointer, and all loads come before the first store.
    unsafe {
        if len == 8 {
            to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned());
        } else if len >= 16 {
            let first = from.cast::<u128>().read_unaligned();
            let last = from.add(len - 16).cast::<u128>().read_unaligned();
            if len > 32 {
                let middle = from.add(16).cast::<u128>().read_unaligned();
                to.add(16).cast::<u128>().write_unaligned(middle);
            }
            to.cast::<u128>().write_unaligned(first);
            to.add(len - 16).cast::<u128>().write_unaligned(last);
        } else if len > 8 {
            let first = from.cast::<u64>().read_unaligned();
            let last = from.add(len - 8).cast::<u64>().read_unaligned();
            to.cast::<u64>().write_unaligned(first);
            to.add(len - 8).cast::<u64>().write_unaligned(last);
        } else if len >= 4 {
            let first = from.cast::<u32>().read_unaligned();
            let last = from.add(len - 4).cast::<u32>().read_unaligned();
            to.cast::<u32>().write_unaligned(first);
            to.add(len - 4).cast::<u32>().write_unaligned(last);
        } else if len > 0 {
            let (first, middle, last) = (*from, *from.add(len / 2), *from.add(len - 1));
            *to = first;
            *to.add(len / 2) = middle;
            *to.add(len - 1) = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_copies_of_every_length() {
        let from: Vec<u8> = (1..=64).collect();
        for len in 0..=INLINE_BYTES {
            let mut to = [0u8; 64];
            // SAFETY: both have 64 bytes.
            unsafe { copy_small(to.as_mut_ptr(), from.as_ptr(), len) };
            assert_eq!(to[..len], from[..len]);
            assert!(to[len..].iter().all(|&byte| byte == 0), "wrote past {len} bytes");
        }
    }
}
