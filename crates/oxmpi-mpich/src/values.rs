//! Integers with a meaning: the constants of MPICH's ABI to those of the standard's, and back. The
//! same number means different things in different parameters, so each kind of parameter has a type
//! here. A value that means nothing in MPICH must not mean something afterwards.

use crate::generated::tables::*;
use oxmpi_abi::constants::*;
use std::ffi::c_int;

/// The kind of a parameter: how its values are converted.
pub trait Converts {
    type Ours: Copy + PartialEq;
    type Theirs: Copy;
    /// A value that no call stores.
    const UNSET: Self::Ours;
    fn ours(theirs: Self::Theirs) -> Self::Ours;
    fn theirs(ours: Self::Ours) -> Self::Theirs;
}

/// A number that is none of the standard's constants, in no kind of parameter.
const MEANINGLESS: c_int = -2_147_000_000;

fn ours_in(table: &[(c_int, c_int)], value: c_int) -> Option<c_int> {
    table.iter().find(|(theirs, _)| *theirs == value).map(|(_, ours)| *ours)
}

fn theirs_in(table: &[(c_int, c_int)], value: c_int) -> Option<c_int> {
    table.iter().find(|(_, ours)| *ours == value).map(|(theirs, _)| *theirs)
}

macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident |$theirs:ident| $to_ours:expr, |$ours:ident| $to_theirs:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Converts for $name {
            type Ours = c_int;
            type Theirs = c_int;
            const UNSET: c_int = MEANINGLESS - 1;

            #[inline]
            fn ours($theirs: c_int) -> c_int {
                $to_ours
            }

            #[inline]
            fn theirs($ours: c_int) -> c_int {
                $to_theirs
            }
        }
    )*};
}

integers! {
    /// A rank. The four numbers change places, so that each one comes back as it was.
    Rank |theirs| match theirs {
        -1 => MPI_PROC_NULL,
        -2 => MPI_ANY_SOURCE,
        -3 => MPI_ROOT,
        -4 => -2,
        rank => rank,
    }, |ours| match ours {
        MPI_PROC_NULL => -1,
        MPI_ANY_SOURCE => -2,
        MPI_ROOT => -3,
        -2 => -4,
        rank => rank,
    };
    /// A tag: `MPI_ANY_TAG` is -1 in MPICH.
    Tag |theirs| match theirs {
        -1 => MPI_ANY_TAG,
        -2 => -1,
        tag => tag,
    }, |ours| match ours {
        MPI_ANY_TAG => -1,
        -1 => -2,
        tag => tag,
    };
    /// An attribute key. Those that the program makes are the same in both.
    Keyval |theirs| ours_in(KEYS, theirs).unwrap_or(match theirs {
        0..KEYS_OF_PROGRAMS => MEANINGLESS,
        key => key,
    }), |ours| theirs_in(KEYS, ours).unwrap_or(ours);
    /// An error code or class.
    Code |theirs| ours_of_code(theirs), |ours| theirs_of_code(ours);
    ThreadLevel |theirs| named(THREAD_LEVELS, theirs), |ours| shown(THREAD_LEVELS, ours);
    Assertion |theirs| flags(ASSERTIONS, theirs), |ours| shown_flags(ASSERTIONS, ours);
    AccessMode |theirs| flags(ACCESS_MODES, theirs), |ours| shown_flags(ACCESS_MODES, ours);
    Binding |theirs| named(BINDINGS, theirs), |ours| shown(BINDINGS, ours);
    Combiner |theirs| named(COMBINERS, theirs), |ours| shown(COMBINERS, ours);
    Comparison |theirs| named(COMPARISONS, theirs), |ours| shown(COMPARISONS, ours);
    Lock |theirs| named(LOCKS, theirs), |ours| shown(LOCKS, ours);
    Order |theirs| named(ORDERS, theirs), |ours| shown(ORDERS, ours);
    PvarClass |theirs| named(PVAR_CLASSES, theirs), |ours| shown(PVAR_CLASSES, ours);
    Safety |theirs| named(SAFETIES, theirs), |ours| shown(SAFETIES, ours);
    Scope |theirs| named(SCOPES, theirs), |ours| shown(SCOPES, ours);
    Seek |theirs| named(SEEKS, theirs), |ours| shown(SEEKS, ours);
    SourceOrder |theirs| named(SOURCE_ORDERS, theirs), |ours| shown(SOURCE_ORDERS, ours);
    SplitType |theirs| named(SPLIT_TYPES, theirs), |ours| shown(SPLIT_TYPES, ours);
    Topology |theirs| named(TOPOLOGIES, theirs), |ours| shown(TOPOLOGIES, ours);
    TypeClass |theirs| named(TYPE_CLASSES, theirs), |ours| shown(TYPE_CLASSES, ours);
    Verbosity |theirs| named(VERBOSITIES, theirs), |ours| shown(VERBOSITIES, ours);
    /// An argument of a distribution: `MPI_DISTRIBUTE_DFLT_DARG`, or a number.
    DistributionArgument |theirs| match theirs {
        -49767 => MPI_DISTRIBUTE_DFLT_DARG,
        // Ours is a number that may be meant as such: a block of 19 elements.
        argument => argument,
    }, |ours| ours;
}

/// Keys of programs are not below this.
const KEYS_OF_PROGRAMS: c_int = 1024;

/// One of a group of constants. Another number stays what it is, so that the error names it, unless
/// it has a meaning in the standard's ABI.
fn named(table: &[(c_int, c_int)], theirs: c_int) -> c_int {
    let other = if theirs_in(table, theirs).is_none() { theirs } else { MEANINGLESS };
    ours_in(table, theirs).unwrap_or(other)
}

fn shown(table: &[(c_int, c_int)], ours: c_int) -> c_int {
    theirs_in(table, ours).unwrap_or(ours)
}

/// A set of constants with one bit each. An unknown bit becomes one that is unknown, too.
fn flags(table: &[(c_int, c_int)], theirs: c_int) -> c_int {
    let known = table.iter().fold(0, |bits, (bit, _)| bits | bit);
    let ours = table.iter().filter(|(bit, _)| theirs & bit != 0).fold(0, |bits, (_, bit)| bits | bit);
    if theirs & !known == 0 { ours } else { ours | 1 << 30 }
}

fn shown_flags(table: &[(c_int, c_int)], ours: c_int) -> c_int {
    table.iter().filter(|(_, bit)| ours & bit != 0).fold(0, |bits, (bit, _)| bits | bit)
}

// ---- error codes ----
//
// In MPICH the low seven bits of a code are its class, and a class or code that the program added has
// bit 30. The codes of OxMPI's own errors, with a sequence number by which their texts are found, get
// bit 29, which is below MPI_ERR_LASTCODE.

const THEIR_CLASS: c_int = 0x7f;
const THEIR_RAISED: c_int = 1 << 29;
const THEIR_SEQUENCE: u32 = 7;
const THEIR_FIRST_ADDED: c_int = 0x4000_0081;
const OUR_RAISED: c_int = 1 << 30;
const OUR_CLASS: c_int = MPI_ERR_LASTCODE;
const OUR_SEQUENCE: u32 = 14;
const OUR_FIRST_ADDED: c_int = MPI_ERR_LASTCODE + 1;
const LAST: c_int = theirs::MPI_ERR_LASTCODE as c_int;

fn theirs_of_code(ours: c_int) -> c_int {
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

fn ours_of_code(theirs: c_int) -> c_int {
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

/// `MPI_ERR_UNKNOWN` of MPICH.
const UNKNOWN: c_int = 13;
/// A number that is no code of MPICH becomes this less the number, which is none of ours, and comes back as it was.
const STRANGE: c_int = -1_000_000_000;
const NOT_STRANGE: c_int = STRANGE + 1;

// ---- offsets ----

/// The displacement of a file view.
pub struct Displacement;

impl Converts for Displacement {
    type Ours = i64;
    type Theirs = i64;
    const UNSET: i64 = i64::MIN;

    fn ours(theirs: i64) -> i64 {
        match theirs {
            theirs::MPI_DISPLACEMENT_CURRENT => MPI_DISPLACEMENT_CURRENT,
            // -1 has a meaning here, but none in MPICH.
            MPI_DISPLACEMENT_CURRENT => theirs::MPI_DISPLACEMENT_CURRENT,
            displacement => displacement,
        }
    }

    fn theirs(ours: i64) -> i64 {
        ours
    }
}
