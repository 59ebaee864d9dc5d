//! Where the message queues of a rank are in its memory, for debuggers: `oxmpi-core` writes a [`Layout`] when MPI starts, and
//! `liboxmpi_msgq.so` (`oxmpi-msgq`), which a debugger loads, reads the queues with it. The library itself never does
//! anything for a debugger after that.
//!
//! Places are offsets in bytes. Both sides may be of different versions of OxMPI: a change of anything here, or of what a
//! place means, gets a new [`VERSION`].

use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

/// The name of the [`Published`] in `libmpi_abi.so.1`.
pub const SYMBOL: &str = "oxmpi_message_queues";

pub const MAGIC: u64 = u64::from_le_bytes(*b"OxMPI-MQ");

/// The version of everything in this file.
pub const VERSION: u32 = 2;

/// What the symbol names.
#[repr(C)]
pub struct Published {
    pub magic: u64,
    pub version: u32,
    /// The length of a [`Layout`].
    pub bytes: u32,
    /// Null before MPI has started.
    pub layout: AtomicPtr<Layout>,
}

impl Published {
    pub const fn new() -> Published {
        let layout = AtomicPtr::new(std::ptr::null_mut());
        Published { magic: MAGIC, version: VERSION, bytes: size_of::<Layout>() as u32, layout }
    }
}

impl Default for Published {
    fn default() -> Published {
        Published::new()
    }
}

/// Where everything is. What is not said to be an address is a place in the thing before it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// The address of the state of this process.
    pub process: u64,
    /// The address of the world ranks of this node's slots, of four bytes each.
    pub slot_ranks: u64,
    pub slots: u32,
    pub world_size: u32,
    pub comms: CommsPlace,
    pub posted: PostedPlace,
    pub unexpected: UnexpectedPlace,
    pub ops: OpsPlace,
    pub requests: RequestsPlace,
    pub windows: WindowsPlace,
}

/// The communicators, in the state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CommsPlace {
    pub world: u32,
    pub own: u32,
    /// A byte: the first two exist.
    pub has_world: u32,
    pub made: TablePlace,
    /// In a communicator; the handle is a word.
    pub handle: u32,
    pub context: u32,
    pub rank: u32,
    pub group: u32,
    /// In an intercommunicator, the group of this process; no kind of [`RanksPlace`] elsewhere.
    pub local: u32,
    pub name: VecPlace,
    pub ranks: RanksPlace,
}

/// A group of processes; its first byte is its kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RanksPlace {
    /// The kind of the first slots of this node, and their number.
    pub one_node: u32,
    pub count: u32,
    /// The kind of the world of a job on several nodes.
    pub world: u32,
    /// The kind of a list of processes, the address and the length of the list, and what is before its first element.
    pub list: u32,
    pub address: u32,
    pub len: u32,
    pub skip: u32,
}

/// Receives that no message has matched, in the state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PostedPlace {
    /// The objects are the numbers of operations.
    pub table: TablePlace,
    pub index: IndexPlace,
    /// When each was posted, in words.
    pub sequence: VecPlace,
}

/// Messages that no receive has matched, in the state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct UnexpectedPlace {
    pub table: TablePlace,
    pub index: IndexPlace,
    /// The slot that arrived first, of four bytes.
    pub oldest: u32,
    /// The neighbours of a slot, and the slot that arrived after it in them.
    pub order: VecPlace,
    pub newer: u32,
    /// In a message.
    pub bytes: u32,
}

/// Operations under way, in the state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct OpsPlace {
    pub entries: VecPlace,
    /// The byte of an entry that tells what it is.
    pub kind: u32,
    pub send: u32,
    pub recv: u32,
    /// In the entry of a send.
    pub peer: u32,
    pub context: u32,
    pub tag: u32,
    pub source: BufferPlace,
    /// In the entry of a receive.
    pub target: BufferPlace,
}

/// Requests, in the state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestsPlace {
    pub table: TablePlace,
    /// In a request. The kind is a byte, one of [`RequestKind`].
    pub kind: u32,
    /// The kinds of the operation of one that was started, and of one that is persistent: bytes, of [`OperationKind`] or of a
    /// value beyond them where there is none.
    pub once: u32,
    pub persistent: u32,
    /// The number of a send or receive, after the byte of its kind.
    pub operation: u32,
}

/// What a request is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    Once,
    Sent,
    Persistent,
    Generalized,
}

/// What a request was started for.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    Send,
    Recv,
    Exchange,
    Flush,
    Promise,
    Sending,
    Receiving,
    File,
    Done,
}

/// Windows, in the state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowsPlace {
    /// The objects are addresses of windows.
    pub table: TablePlace,
    /// In a window.
    pub name: VecPlace,
    pub rank: u32,
    pub ranks: u32,
    pub base: u32,
    /// The address of its size (a word), unit and flavor (of four bytes each), in this order.
    pub facts: u32,
}

/// The memory of a message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BufferPlace {
    pub address: u32,
    pub bytes: u32,
}

/// A table of objects with handles (`slots.rs`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TablePlace {
    pub slots: VecPlace,
    /// In a slot; it has an object if the handle has all these bits.
    pub key: u32,
    pub live: u32,
    pub value: u32,
}

/// The patterns of the slots of a queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexPlace {
    pub links: VecPlace,
    /// In a link: a word with the context above the source, and the tag.
    pub context_and_source: u32,
    pub tag: u32,
}

/// A vector.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VecPlace {
    pub address: u32,
    pub len: u32,
    /// The length of an element.
    pub stride: u32,
}

impl VecPlace {
    /// The place of a vector at `offset`. The compiler chooses the order of its words, so they are looked for in one.
    pub fn at<T>(offset: usize) -> VecPlace {
        let probe: Vec<T> = Vec::with_capacity(5);
        let words: [usize; 3] = words(&probe);
        let find = |wanted: usize| words.iter().position(|&word| word == wanted).unwrap_or(0);
        let word = |index: usize| (offset + index * size_of::<usize>()) as u32;
        let address = find(probe.as_ptr().addr());
        VecPlace { address: word(address), len: word(find(probe.len())), stride: size_of::<T>() as u32 }
    }

    /// The same vector, where its holder is at `offset` in something larger.
    #[must_use]
    pub fn inside(self, offset: usize) -> VecPlace {
        VecPlace { address: self.address + offset as u32, len: self.len + offset as u32, ..self }
    }
}

/// The place of a list in a group of processes: address, length, and what is before its first element.
pub fn list_place<T: Copy>(offset: usize, element: T) -> (u32, u32, u32) {
    let probe: Arc<[T]> = Arc::from([element; 3]);
    let words: [usize; 2] = words(&probe);
    let len = usize::from(words[1] == probe.len());
    let word = |index: usize| (offset + index * size_of::<usize>()) as u32;
    (word(1 - len), word(len), (probe.as_ptr().addr() - words[1 - len]) as u32)
}

/// The place of the length of a boxed slice at `offset`.
pub fn slice_len_place(offset: usize) -> u32 {
    let probe: Box<[u8]> = Box::from([0; 3]);
    let words: [usize; 2] = words(&probe);
    (offset + usize::from(words[1] == probe.len()) * size_of::<usize>()) as u32
}

/// Where the value is in an option that has one.
pub fn inside_option<T>() -> usize {
    let none: Option<T> = None;
    // The slice is empty, but at the place of the value.
    none.as_slice().as_ptr().addr() - (&raw const none).addr()
}

/// The words of a value that consists of nothing else.
fn words<T, const N: usize>(value: &T) -> [usize; N] {
    const { assert!(size_of::<T>() == N * size_of::<usize>() && align_of::<T>() == align_of::<usize>()) };
    // SAFETY: the length and the alignment are those of the words. The callers pass vectors and `Arc`s of slices: pointers
    // and lengths, all of whose bytes have values.
    unsafe { std::ptr::from_ref(value).cast::<[usize; N]>().read() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    #[test]
    fn words_are_where_they_are_said_to_be() {
        let vector = vec![7u32, 8, 9];
        let place = VecPlace::at::<u32>(0);
        let found: [usize; 3] = words(&vector);
        assert_eq!(found[place.address as usize / 8], vector.as_ptr().addr());
        assert_eq!((found[place.len as usize / 8], place.stride), (3, 4));
        let inside = place.inside(16);
        assert_eq!((inside.address, inside.len), (place.address + 16, place.len + 16));

        let list: Arc<[u32]> = Arc::from([1, 2, 3, 4]);
        let (address, len, skip) = list_place(0, 1u32);
        let found: [usize; 2] = words(&list);
        assert_eq!(found[address as usize / 8] + skip as usize, list.as_ptr().addr());
        assert_eq!(found[len as usize / 8], 4);

        let boxed: Box<[u8]> = Box::from([1, 2, 3, 4, 5]);
        let found: [usize; 2] = words(&boxed);
        assert_eq!(found[slice_len_place(0) as usize / 8], 5);

        assert_eq!(inside_option::<NonZeroU64>(), 0);
        assert_eq!(inside_option::<u64>(), 8);
    }
}
