//! Statuses. A field that a call does not set keeps what the caller has there.

pub use crate::abi::status::TheirStatus;
use crate::generated::tables::theirs;
use crate::values::{Code, Converts};
use oxmpi_abi::Status;

/// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
const IGNORE: usize = theirs::MPI_STATUS_IGNORE as usize;

/// Whether a pointer is that of a status.
#[inline]
pub fn is_given(theirs: *mut TheirStatus) -> bool {
    theirs as usize > IGNORE
}

/// Given to calls in place of the caller's statuses, which need not be read then: no call sets these values.
pub fn unset() -> Status {
    const NEVER: i32 = i32::MIN + 1;
    let mut unset = Status::new(NEVER, NEVER, u64::MAX);
    unset.error = NEVER;
    unset
}

impl TheirStatus {
    /// Stores what a call has made of the status that it was given.
    pub fn set(&mut self, given: &Status, ours: &Status) {
        if ours.error != given.error {
            self.error = Code::theirs(ours.error);
        }
        let mut same = *given;
        same.error = ours.error;
        if *ours != same {
            self.set_all_but_error(given, ours);
        }
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
