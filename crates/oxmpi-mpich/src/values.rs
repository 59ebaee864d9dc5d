//! Integers with a meaning: the constants of the program's ABI to those of the standard's, and back.
//! The same number means different things in different parameters, so each kind of parameter has a
//! type here. A value that means nothing in the program's ABI must not mean something afterwards.

use crate::abi::codes::{ours_of_code, theirs_of_code};
use crate::generated::tables::*;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::TPvarHandle;
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

pub fn ours_in(table: &[(c_int, c_int)], value: c_int) -> Option<c_int> {
    table.iter().find(|(theirs, _)| *theirs == value).map(|(_, ours)| *ours)
}

pub fn theirs_in(table: &[(c_int, c_int)], value: c_int) -> Option<c_int> {
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
        THEIR_PROC_NULL => MPI_PROC_NULL,
        THEIR_ANY_SOURCE => MPI_ANY_SOURCE,
        THEIR_ROOT => MPI_ROOT,
        THEIR_FREE_RANK => FREE_RANK,
        rank => rank,
    }, |ours| match ours {
        MPI_PROC_NULL => THEIR_PROC_NULL,
        MPI_ANY_SOURCE => THEIR_ANY_SOURCE,
        MPI_ROOT => THEIR_ROOT,
        FREE_RANK => THEIR_FREE_RANK,
        rank => rank,
    };
    /// A tag: `MPI_ANY_TAG` is -1 in the other ABIs.
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
    Distribution |theirs| named(DISTRIBUTIONS, theirs), |ours| shown(DISTRIBUTIONS, ours);
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
        THEIR_DEFAULT_ARGUMENT => MPI_DISTRIBUTE_DFLT_DARG,
        // Ours is a number that may be meant as such: a block of 19 elements.
        argument => argument,
    }, |ours| ours;
}

const THEIR_PROC_NULL: c_int = theirs::MPI_PROC_NULL as c_int;
const THEIR_ANY_SOURCE: c_int = theirs::MPI_ANY_SOURCE as c_int;
const THEIR_ROOT: c_int = theirs::MPI_ROOT as c_int;
/// The number from -1 to -4 that is none of these.
const THEIR_FREE_RANK: c_int = -10 - THEIR_PROC_NULL - THEIR_ANY_SOURCE - THEIR_ROOT;
const FREE_RANK: c_int = -10 - MPI_PROC_NULL - MPI_ANY_SOURCE - MPI_ROOT;
const THEIR_DEFAULT_ARGUMENT: c_int = theirs::MPI_DISTRIBUTE_DFLT_DARG as c_int;

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
            // -1 has a meaning here, but none there.
            MPI_DISPLACEMENT_CURRENT => theirs::MPI_DISPLACEMENT_CURRENT,
            displacement => displacement,
        }
    }

    fn theirs(ours: i64) -> i64 {
        ours
    }
}

// ---- handles of performance variables ----

/// The handle that stands for all of them; the others are the same in all ABIs.
impl Converts for TPvarHandle {
    type Ours = TPvarHandle;
    type Theirs = TPvarHandle;
    const UNSET: TPvarHandle = TPvarHandle(usize::MAX - 1);

    fn ours(theirs: TPvarHandle) -> TPvarHandle {
        if theirs.0 == crate::abi::ALL_HANDLES { MPI_T_PVAR_ALL_HANDLES } else { theirs }
    }

    fn theirs(ours: TPvarHandle) -> TPvarHandle {
        ours
    }
}
