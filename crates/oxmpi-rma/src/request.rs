//! The words of a request to another rank for an access to its window, which both sides read and
//! write. This file must not depend on another file of this crate; `assist.rs` and `cooperative.rs`
//! send and serve requests.

use oxmpi_base::work_request::WorkRequest;
use std::cell::UnsafeCell;

/// Among more ranks, polling for assist requests would cost more than they save.
pub const MAX_ASSISTED_RANKS: usize = 16;

/// The most bytes that an assist request carries.
pub const MOST_BYTES: usize = 512;

/// Bytes in the same cache line as the rest of the request.
const NEAR_BYTES: usize = 16;

/// A request of one rank to another. The first cache line holds a whole operation on a few bytes.
#[repr(C, align(128))]
pub struct AssistRequest {
    pub(crate) work: WorkRequest,
    pub(crate) order: UnsafeCell<Order>,
    pub(crate) near: UnsafeCell<[u64; NEAR_BYTES / 8]>,
    bytes: UnsafeCell<[u8; MOST_BYTES]>,
}

// SAFETY: the work request says which side may access the other fields.
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
    /// The bytes are the new ones and, behind them, those to compare with.
    CompareAndSwap,
}

impl What {
    /// The number of bytes that the request or the answer carries.
    pub(crate) fn room(self, length: usize) -> usize {
        if matches!(self, What::CompareAndSwap) { 2 * length } else { length }
    }

    /// The most bytes for which a request takes less time than system calls; a put or get needs
    /// only one.
    pub(crate) fn most(self) -> usize {
        if matches!(self, What::Put | What::Get) { 64 } else { MOST_BYTES }
    }
}

impl AssistRequest {
    /// The address of the bytes.
    pub(crate) fn bytes(&self, room: usize) -> *mut u8 {
        if room <= NEAR_BYTES { self.near.get().cast() } else { self.bytes.get().cast() }
    }
}

/// Below this length, sharing work costs more than it saves, if the target's memory is not mapped
/// here.
pub(crate) const SHORTEST: usize = 32 << 10;

/// Parts begin at multiples of this, which is a multiple of every element size.
pub(crate) const PART_UNIT: usize = 4096;

/// Pauses between polls for something that another rank is doing right now, unless it has lost its
/// CPU.
pub(crate) fn pause(polls: u32) {
    if polls % 256 == 255 {
        std::thread::yield_now();
    }
}
