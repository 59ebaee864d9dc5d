//! Functions between C and the reductions and error handlers of a program whose INTEGERs have eight
//! bytes: C passes ints and handles by reference, and the procedure must get INTEGERs.
//!
//! C passes no extra state to these, so each procedure gets a function of its own, from a table as
//! long as [`MOST`]. A procedure keeps its function for ever: MPI does not say when an operation or
//! an error handler is used for the last time.

use crate::c_names::*;
use crate::handles::{FortranHandle, int};
use std::mem::transmute;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of different procedures of each kind.
const MOST: usize = 256;

pub const TOO_MANY: &str = "a program whose INTEGERs have eight bytes can give MPI at most 256 different reductions and \
                            256 different error handlers";

/// The procedures of one kind: their addresses, in the order in which they came; zero is free.
struct Procedures([AtomicUsize; MOST]);

impl Procedures {
    const fn new() -> Procedures {
        Procedures([const { AtomicUsize::new(0) }; MOST])
    }

    /// The place of a procedure, if there is one left.
    fn place_of(&self, procedure: *mut c_void) -> Option<usize> {
        let address = procedure as usize;
        self.0.iter().position(|place| {
            let before = place.compare_exchange(0, address, Relaxed, Relaxed).unwrap_or_else(|before| before);
            before == 0 || before == address
        })
    }

    fn at(&self, place: usize) -> usize {
        self.0[place].load(Relaxed)
    }
}

/// The functions of a generic one, for all places.
macro_rules! table {
    ($function:ident $(::<$handle:ty>)?) => {{
        macro_rules! four {
            ($n:expr) => {
                [
                    $function::<{ $n }, $($handle)?> as *mut c_void,
                    $function::<{ $n + 1 }, $($handle)?> as *mut c_void,
                    $function::<{ $n + 2 }, $($handle)?> as *mut c_void,
                    $function::<{ $n + 3 }, $($handle)?> as *mut c_void,
                ]
            };
        }
        macro_rules! sixteen {
            ($n:expr) => {
                [four!($n), four!($n + 4), four!($n + 8), four!($n + 12)]
            };
        }
        macro_rules! sixty_four {
            ($n:expr) => {
                [sixteen!($n), sixteen!($n + 16), sixteen!($n + 32), sixteen!($n + 48)]
            };
        }
        let all = [sixty_four!(0), sixty_four!(64), sixty_four!(128), sixty_four!(192)];
        let functions: [*mut c_void; MOST] =
            // SAFETY: arrays in arrays lie in memory like one array of all their elements.
            unsafe { transmute(all) };
        functions
    }};
}

// ---- reductions ----

type Reduction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut Fint);

static REDUCTIONS: Procedures = Procedures::new();

/// The function for a reduction. Its length is that of a large one: an INTEGER is as wide.
pub fn reduction(procedure: *mut c_void) -> Option<*mut c_void> {
    REDUCTIONS.place_of(procedure).map(|place| table!(reduce)[place])
}

unsafe extern "C" fn reduce<const PLACE: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut i64,
    datatype: *mut Datatype,
) {
    // SAFETY: MPI passes a length and a datatype as it does to a large reduction of C. Only the
    // functions of places that have a procedure were given to MPI, and that procedure is a
    // reduction of the program.
    unsafe {
        let (mut length, mut datatype) = (*length, int(*datatype));
        transmute::<usize, Reduction>(REDUCTIONS.at(PLACE))(input, inout, &mut length, &mut datatype);
    }
}

// ---- error handlers ----

type ErrorHandler = unsafe extern "C" fn(*mut Fint, *mut Fint);

static HANDLERS: Procedures = Procedures::new();

/// The function for an error handler of objects with such handles.
pub fn error_handler<H: FortranHandle>(procedure: *mut c_void) -> Option<*mut c_void> {
    HANDLERS.place_of(procedure).map(|place| table!(handle::<H>)[place])
}

unsafe extern "C" fn handle<const PLACE: usize, H: FortranHandle>(object: *mut H, code: *mut c_int) {
    // SAFETY: MPI passes an object and a code as it does to an error handler of C. Only the
    // functions of places that have a procedure were given to MPI, and that procedure is an error
    // handler of the program.
    unsafe {
        let (mut object, mut integer) = (int(*object), wide(*code));
        transmute::<usize, ErrorHandler>(HANDLERS.at(PLACE))(&mut object, &mut integer);
        *code = short(integer);
    }
}
