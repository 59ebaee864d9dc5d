//! Statuses: five ints in MPICH's ABI, eight in the standard's. A field that a call does not set
//! keeps what the caller has there.

use crate::values::{Code, Converts, Rank, Tag};
use oxmpi_abi::Status;
use std::ffi::c_int;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TheirStatus {
    count_low: c_int,
    /// The upper part of the count of bytes, shifted by one; bit 0 tells that the operation was cancelled.
    count_high_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

const _: () = assert!(size_of::<TheirStatus>() == 20);

/// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
const IGNORE: usize = 1;

/// Whether a pointer is that of a status.
#[inline]
pub fn is_given(theirs: *mut TheirStatus) -> bool {
    theirs as usize > IGNORE
}

impl TheirStatus {
    pub fn ours(&self) -> Status {
        let high = (self.count_high_and_cancelled as u32 >> 1) as u64;
        let mut ours =
            Status::new(Rank::ours(self.source), Tag::ours(self.tag), high << 32 | self.count_low as u32 as u64);
        ours.set_cancelled(self.count_high_and_cancelled & 1 != 0);
        ours.error = Code::ours(self.error);
        ours
    }

    pub fn new(ours: &Status) -> TheirStatus {
        let mut theirs = TheirStatus {
            count_low: 0,
            count_high_and_cancelled: 0,
            source: 0,
            tag: 0,
            error: Code::theirs(ours.error),
        };
        theirs.set_all_but_error(ours);
        theirs
    }

    /// Stores what a call has made of the status that it was given.
    pub fn set(&mut self, given: &Status, ours: &Status) {
        if ours.error != given.error {
            self.error = Code::theirs(ours.error);
        }
        let mut same = *given;
        same.error = ours.error;
        if *ours != same {
            self.set_all_but_error(ours);
        }
    }

    fn set_all_but_error(&mut self, ours: &Status) {
        let bytes = ours.bytes();
        self.count_low = bytes as c_int;
        self.count_high_and_cancelled = ((bytes >> 32) as c_int) << 1 | c_int::from(ours.is_cancelled());
        self.source = Rank::theirs(ours.source);
        self.tag = Tag::theirs(ours.tag);
    }
}

/// The status of one operation.
pub struct OneStatus {
    theirs: *mut TheirStatus,
    given: Status,
    ours: Status,
}

impl OneStatus {
    /// # Safety
    /// `theirs` is `MPI_STATUS_IGNORE`, null, or the place of a status.
    #[inline]
    pub unsafe fn new(theirs: *mut TheirStatus) -> OneStatus {
        let given = match is_given(theirs) {
            // SAFETY: it is the place of a status, by this function's condition.
            true => unsafe { *theirs }.ours(),
            false => Status::empty(),
        };
        OneStatus { theirs, given, ours: given }
    }

    #[inline]
    pub fn ptr(&mut self) -> *mut Status {
        if is_given(self.theirs) { &raw mut self.ours } else { std::ptr::null_mut() }
    }

    /// # Safety
    /// The place of the status may still be written.
    #[inline]
    pub unsafe fn put(&mut self) {
        if is_given(self.theirs) {
            // SAFETY: it is the place of a status: the condition of `new`.
            unsafe { (*self.theirs).set(&self.given, &self.ours) };
        }
    }
}
