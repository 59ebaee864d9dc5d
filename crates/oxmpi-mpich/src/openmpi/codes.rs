//! Error codes and classes.
//!
//! Open MPI returns classes: programs compare what a call returns with `MPI_ERR_X`. So the code of an
//! error of OxMPI becomes its class. Each thread remembers its latest error, so that the text of that
//! class is the text of this error. Classes and codes that the program adds follow the last class.

use crate::generated::tables::{ERROR_CLASSES, theirs};
use crate::values::{ours_in, theirs_in};
use oxmpi_abi::constants::*;
use std::cell::Cell;
use std::ffi::c_int;

const OUR_RAISED: c_int = 1 << 30;
const OUR_CLASS: c_int = MPI_ERR_LASTCODE;
const OUR_FIRST_ADDED: c_int = MPI_ERR_LASTCODE + 1;
const LAST: c_int = theirs::MPI_ERR_LASTCODE as c_int;
const THEIR_FIRST_ADDED: c_int = LAST + 1;
const UNKNOWN: c_int = theirs::MPI_ERR_UNKNOWN as c_int;
/// A number that is no code of Open MPI becomes this less the number, which is none of ours, and comes
/// back as it was.
const STRANGE: c_int = -1_000_000_000;
const NOT_STRANGE: c_int = STRANGE + 1;

thread_local! {
    static LATEST: Cell<c_int> = const { Cell::new(MPI_SUCCESS) };
}

pub fn theirs_of_code(ours: c_int) -> c_int {
    match ours {
        ..=STRANGE => STRANGE - ours,
        NOT_STRANGE..=MPI_SUCCESS => ours,
        MPI_ERR_LASTCODE => LAST,
        1..MPI_ERR_LASTCODE => theirs_in(ERROR_CLASSES, ours).unwrap_or(UNKNOWN),
        OUR_FIRST_ADDED..OUR_RAISED => THEIR_FIRST_ADDED + (ours - OUR_FIRST_ADDED),
        OUR_RAISED.. => {
            LATEST.set(ours);
            theirs_in(ERROR_CLASSES, ours & OUR_CLASS).unwrap_or(UNKNOWN)
        }
    }
}

pub fn ours_of_code(theirs: c_int) -> c_int {
    match theirs {
        ..=MPI_SUCCESS => theirs,
        LAST => MPI_ERR_LASTCODE,
        1..LAST => ours_in(ERROR_CLASSES, theirs).unwrap_or(STRANGE - theirs),
        THEIR_FIRST_ADDED.. => (theirs - THEIR_FIRST_ADDED).saturating_add(OUR_FIRST_ADDED).min(OUR_RAISED - 1),
    }
}

/// The code whose text a program asks for.
pub fn code_of_text(theirs: c_int) -> c_int {
    let (class, latest) = (ours_of_code(theirs), LATEST.get());
    if latest != MPI_SUCCESS && latest & OUR_CLASS == class { latest } else { class }
}
