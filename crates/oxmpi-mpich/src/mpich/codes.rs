//! Error codes and classes.
//!
//! In MPICH the low seven bits of a code are its class, and a class or code that the program added has
//! bit 30. The codes of OxMPI's own errors, with a sequence number by which their texts are found, get
//! bit 29, which is below MPI_ERR_LASTCODE.

use crate::generated::tables::{ERROR_CLASSES, theirs};
use crate::values::{ours_in, theirs_in};
use oxmpi_abi::constants::*;
use std::ffi::c_int;

const THEIR_CLASS: c_int = 0x7f;
const THEIR_RAISED: c_int = 1 << 29;
const THEIR_SEQUENCE: u32 = 7;
const THEIR_FIRST_ADDED: c_int = 0x4000_0081;
const OUR_RAISED: c_int = 1 << 30;
const OUR_CLASS: c_int = MPI_ERR_LASTCODE;
const OUR_SEQUENCE: u32 = 14;
const OUR_FIRST_ADDED: c_int = MPI_ERR_LASTCODE + 1;
const LAST: c_int = theirs::MPI_ERR_LASTCODE as c_int;

pub fn theirs_of_code(ours: c_int) -> c_int {
    match ours {
        ..=STRANGE => STRANGE - ours,
        NOT_STRANGE..=MPI_SUCCESS => ours,
        MPI_ERR_LASTCODE => LAST,
        1..MPI_ERR_LASTCODE => theirs_in(ERROR_CLASSES, ours).unwrap_or(UNKNOWN),
        OUR_FIRST_ADDED..OUR_RAISED => THEIR_FIRST_ADDED + (ours - OUR_FIRST_ADDED),
        OUR_RAISED.. => {
            let class = theirs_in(ERROR_CLASSES, ours & OUR_CLASS).unwrap_or(UNKNOWN);
            let sequence = (ours & !OUR_RAISED) >> OUR_SEQUENCE;
            THEIR_RAISED | sequence << THEIR_SEQUENCE | class
        }
    }
}

pub fn ours_of_code(theirs: c_int) -> c_int {
    match theirs {
        ..=MPI_SUCCESS => theirs,
        LAST => MPI_ERR_LASTCODE,
        1..=THEIR_CLASS => ours_in(ERROR_CLASSES, theirs).unwrap_or(STRANGE - theirs),
        THEIR_RAISED..LAST => match ours_in(ERROR_CLASSES, theirs & THEIR_CLASS) {
            Some(class) => OUR_RAISED | (theirs & !THEIR_RAISED) >> THEIR_SEQUENCE << OUR_SEQUENCE | class,
            None => STRANGE - theirs,
        },
        THEIR_FIRST_ADDED.. => OUR_FIRST_ADDED + (theirs - THEIR_FIRST_ADDED),
        _ => STRANGE - theirs,
    }
}

const UNKNOWN: c_int = theirs::MPI_ERR_UNKNOWN as c_int;
/// A number that is no code of MPICH becomes this less the number, which is none of ours, and comes back as it was.
const STRANGE: c_int = -1_000_000_000;
const NOT_STRANGE: c_int = STRANGE + 1;

/// The code whose text a program asks for.
pub fn code_of_text(theirs: c_int) -> c_int {
    ours_of_code(theirs)
}
