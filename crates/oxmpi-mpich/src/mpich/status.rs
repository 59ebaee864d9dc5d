//! A status of MPICH: five ints.

use crate::status::unset;
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
    pub error: c_int,
}

const _: () = assert!(size_of::<TheirStatus>() == 20);

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
        theirs.set_all_but_error(&unset(), ours);
        theirs
    }

    /// The fields that differ from those of `given`.
    pub fn set_all_but_error(&mut self, given: &Status, ours: &Status) {
        let bytes = ours.bytes();
        if bytes != given.bytes() {
            self.count_low = bytes as c_int;
            self.count_high_and_cancelled = ((bytes >> 32) as c_int) << 1;
        }
        self.count_high_and_cancelled = self.count_high_and_cancelled & !1 | c_int::from(ours.is_cancelled());
        if ours.source != given.source {
            self.source = Rank::theirs(ours.source);
        }
        if ours.tag != given.tag {
            self.tag = Tag::theirs(ours.tag);
        }
    }
}
