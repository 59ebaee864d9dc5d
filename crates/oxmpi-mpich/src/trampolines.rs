//! Functions between OxMPI and those of the program that get no pointer of their own: reductions,
//! error handlers, and callbacks of events. Each function of the program gets one from a table as
//! long as [`MOST`], and keeps it for ever: MPI does not say when it is used for the last time.

use crate::values::{Code, Converts, Safety};
use oxmpi_abi::handle::*;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of different functions of each kind.
const MOST: usize = 256;

pub const TOO_MANY: &str = "a program built for MPICH can give OxMPI at most 256 different reductions, and as many error \
                            handlers and event callbacks";

/// The functions of one kind: their addresses, in the order in which they came; zero is free.
struct Functions([AtomicUsize; MOST]);

impl Functions {
    const fn new() -> Functions {
        Functions([const { AtomicUsize::new(0) }; MOST])
    }

    /// The place of a function, if there is one left.
    fn place_of(&self, function: *mut c_void) -> Option<usize> {
        let address = function as usize;
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

/// The length is an int or an `MPI_Count`, and passed on as it came.
type Reduction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_int);

static REDUCTIONS: Functions = Functions::new();

pub fn reduction(function: *mut c_void) -> Option<*mut c_void> {
    REDUCTIONS.place_of(function).map(|place| table!(reduce)[place])
}

unsafe extern "C" fn reduce<const PLACE: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut c_void,
    datatype: *mut Datatype,
) {
    // SAFETY: only the functions of places that have one of the program's were given to OxMPI, and that
    // one is a reduction. OxMPI passes what a reduction gets.
    unsafe {
        let mut datatype = Datatype::theirs(*datatype);
        transmute::<usize, Reduction>(REDUCTIONS.at(PLACE))(input, inout, length, &mut datatype);
    }
}

// ---- error handlers ----

type ErrorHandler<T> = unsafe extern "C" fn(*mut T, *mut c_int, ...);

static HANDLERS: Functions = Functions::new();

/// The function for an error handler of objects with such handles.
pub fn error_handler<H: Converts<Ours = H> + Copy>(function: *mut c_void) -> Option<*mut c_void> {
    HANDLERS.place_of(function).map(|place| table!(handle::<H>)[place])
}

unsafe extern "C" fn handle<const PLACE: usize, H: Converts<Ours = H> + Copy>(object: *mut H, code: *mut c_int) {
    // SAFETY: only the functions of places that have one of the program's were given to OxMPI, and that
    // one is an error handler. OxMPI passes an object and a code.
    unsafe {
        let given = Code::theirs(*code);
        let (mut object, mut left) = (H::theirs(*object), given);
        transmute::<usize, ErrorHandler<H::Theirs>>(HANDLERS.at(PLACE))(&mut object, &mut left);
        if left != given {
            *code = Code::ours(left);
        }
    }
}

// ---- events ----

type OnEvent = unsafe extern "C" fn(TEventInstance, TEventRegistration, c_int, *mut c_void);
type OnFree = unsafe extern "C" fn(TEventRegistration, c_int, *mut c_void);
type OnDropped = unsafe extern "C" fn(i64, TEventRegistration, c_int, c_int, *mut c_void);

static EVENTS: Functions = Functions::new();
static FREED: Functions = Functions::new();
static DROPPED: Functions = Functions::new();

pub fn on_event(function: *mut c_void) -> Option<*mut c_void> {
    EVENTS.place_of(function).map(|place| table!(event)[place])
}

pub fn on_free(function: *mut c_void) -> Option<*mut c_void> {
    FREED.place_of(function).map(|place| table!(freed)[place])
}

pub fn on_dropped(function: *mut c_void) -> Option<*mut c_void> {
    DROPPED.place_of(function).map(|place| table!(dropped)[place])
}

unsafe extern "C" fn event<const PLACE: usize>(
    instance: TEventInstance,
    registration: TEventRegistration,
    safety: c_int,
    user_data: *mut c_void,
) {
    // SAFETY: the place has a function of the program, which is one for events.
    unsafe {
        transmute::<usize, OnEvent>(EVENTS.at(PLACE))(instance, registration, Safety::theirs(safety), user_data);
    }
}

unsafe extern "C" fn freed<const PLACE: usize>(
    registration: TEventRegistration,
    safety: c_int,
    user_data: *mut c_void,
) {
    // SAFETY: the place has a function of the program, which is one for freed registrations.
    unsafe { transmute::<usize, OnFree>(FREED.at(PLACE))(registration, Safety::theirs(safety), user_data) };
}

unsafe extern "C" fn dropped<const PLACE: usize>(
    count: i64,
    registration: TEventRegistration,
    source: c_int,
    safety: c_int,
    user_data: *mut c_void,
) {
    let safety = Safety::theirs(safety);
    // SAFETY: the place has a function of the program, which is one for dropped events.
    unsafe { transmute::<usize, OnDropped>(DROPPED.at(PLACE))(count, registration, source, safety, user_data) };
}
