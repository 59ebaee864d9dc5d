//! A status of Open MPI: four ints and a count of bytes.

use crate::status::unset;
use crate::values::{Code, Converts, Rank, Tag};
use oxmpi_abi::Status;
use std::ffi::c_int;

/// A status of Fortran lies at any address of an INTEGER.
#[repr(C, packed(4))]
#[derive(Clone, Copy)]
pub struct TheirStatus {
    source: c_int,
    tag: c_int,
    pub error: c_int,
    cancelled: c_int,
    bytes: u64,
}

const _: () = assert!(size_of::<TheirStatus>() == 24);

impl TheirStatus {
    pub fn ours(&self) -> Status {
        let mut ours = Status::new(Rank::ours(self.source), Tag::ours(self.tag), self.bytes);
        ours.set_cancelled(self.cancelled != 0);
        ours.error = Code::ours(self.error);
        ours
    }

    pub fn new(ours: &Status) -> TheirStatus {
        let mut theirs = TheirStatus { source: 0, tag: 0, error: Code::theirs(ours.error), cancelled: 0, bytes: 0 };
        theirs.set_all_but_error(&unset(), ours);
        theirs
    }

    /// The fields that differ from those of `given`.
    pub fn set_all_but_error(&mut self, given: &Status, ours: &Status) {
        if ours.source != given.source {
            self.source = Rank::theirs(ours.source);
        }
        if ours.tag != given.tag {
            self.tag = Tag::theirs(ours.tag);
        }
        if ours.bytes() != given.bytes() {
            self.bytes = ours.bytes();
        }
        self.cancelled = c_int::from(ours.is_cancelled());
    }
}
