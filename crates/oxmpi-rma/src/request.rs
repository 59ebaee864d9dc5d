//! What a rank asks of another for an access to its window: the words that both read and write. They must depend on no
//! other file of this crate; `assist.rs` and `cooperative.rs` ask and answer.

use oxmpi_base::work_request::WorkRequest;
use std::cell::UnsafeCell;

/// Among more ranks, looking for assist requests would cost more than they save.
pub const MAX_ASSISTED_RANKS: usize = 16;

/// The most bytes that an assist request may take along.
pub const MOST_BYTES: usize = 512;

/// Bytes that lie in the same cache line as the rest.
const NEAR_BYTES: usize = 16;

/// What one rank asks another for. The first cache line has all of an operation on a few bytes.
#[repr(C, align(128))]
pub struct AssistRequest {
    pub(crate) work: WorkRequest,
    pub(crate) order: UnsafeCell<Order>,
    pub(crate) near: UnsafeCell<[u64; NEAR_BYTES / 8]>,
    bytes: UnsafeCell<[u8; MOST_BYTES]>,
}

// SAFETY: who may touch what besides the work request is what the work request says.
unsafe impl Sync for AssistRequest {}

/// An operation on a run of bytes of the target's memory.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Order {
    pub what: What,
    pub length: u64,
    pub offset: u64,
}

#[derive(Clone, Copy)]
#[repr(C, u32)]
pub enum What {
    Put,
    Get,
    /// Handles of a predefined operation and datatype.
    Combine {
        op: u32,
        datatype: u32,
        fetch: bool,
    },
    /// The bytes are those to put there and, behind them, those to compare with.
    CompareAndSwap,
}

impl What {
    /// The bytes that go along, there or back.
    pub(crate) fn room(self, length: usize) -> usize {
        if matches!(self, What::CompareAndSwap) { 2 * length } else { length }
    }

    /// The most of them with which asking takes less time than system calls, of which a put or get needs only one.
    pub(crate) fn most(self) -> usize {
        if matches!(self, What::Put | What::Get) { 64 } else { MOST_BYTES }
    }
}

impl AssistRequest {
    /// Where so many bytes lie.
    pub(crate) fn bytes(&self, room: usize) -> *mut u8 {
        if room <= NEAR_BYTES { self.near.get().cast() } else { self.bytes.get().cast() }
    }
}

/// Under this, agreeing on parts takes longer than it saves, where the target's memory is not mapped here.
pub(crate) const SHORTEST: usize = 32 << 10;

/// Parts begin at multiples of this, which is also a multiple of all elements that are accumulated together.
pub(crate) const PART_UNIT: usize = 4096;

/// What is done between looks at something that another rank is doing right now, unless its CPU was taken from it.
pub(crate) fn pause(polls: u32) {
    if polls % 256 == 255 {
        std::thread::yield_now();
    }
}
