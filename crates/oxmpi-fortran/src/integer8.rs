//! INTEGER and LOGICAL of eight bytes (`-fdefault-integer-8`), for `libmpifort_abi_i8.so.1`: C's int
//! is shorter, so arguments are converted on the way in and results on the way back. Counts and
//! displacements are not among them: the entry points call the large-count functions, which take
//! eight bytes. [`integer4.rs`](../integer4.rs) has the same names for four bytes.
//!
//! A value that does not fit is an error that names call, argument and value; it is never cut.

use oxmpi_abi::Status;
use std::ffi::c_int;
use std::ptr::null_mut;

pub use std::sync::atomic::AtomicI64 as AtomicFint;

/// An INTEGER of the program.
pub type Fint = i64;

/// A status of the program: each int of C's in an INTEGER.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FortranStatus([Fint; FIELDS]);

impl FortranStatus {
    /// Passes a status of C's to a procedure of the program, which may change it.
    ///
    /// # Safety
    /// The status may be read and written.
    pub unsafe fn with(status: *mut Status, procedure: impl FnOnce(*mut FortranStatus)) {
        let ints = status.cast::<[c_int; FIELDS]>();
        // SAFETY: the caller promises that the status, which is as many integers, may be read.
        let mut integers = FortranStatus(unsafe { *ints }.map(wide));
        procedure(&mut integers);
        // SAFETY: the caller promises that the status may be written.
        unsafe { *ints = integers.0.map(|integer| integer as c_int) };
    }
}

const FIELDS: usize = size_of::<Status>() / size_of::<c_int>();

/// The field `MPI_ERROR`, and a value that it never has.
const ERROR: usize = 2;
const NOT_SET: c_int = c_int::MIN;

/// An integer of C as an INTEGER.
#[inline]
pub fn wide(value: c_int) -> Fint {
    value.into()
}

/// An INTEGER that is a handle, an error code or a length, as an integer of C. One that does not
/// fit becomes a number that is none of them, so C reports it.
#[inline]
pub fn short(value: Fint) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MIN)
}

/// What decides about the truth of a LOGICAL: its low word. flang 19 gives the result of a
/// comparison only four bytes, also where a LOGICAL has eight.
#[inline]
pub fn low(logical: Fint) -> c_int {
    logical as c_int
}

/// The value of an INTEGER argument for C: `narrow!(dest, MPI_ERR_RANK, "MPI_Send", comm_c,
/// ierror)`. What follows the argument is its error class, the procedure, the object whose error
/// handler is called, and the place of the code.
macro_rules! narrow {
    ($place:ident, $class:expr, $name:expr, $object:expr, $ierror:ident) => {
        match c_int::try_from(*$place) {
            Ok(value) => value,
            Err(_) => return crate::entry::too_long($ierror, $class, ($name, stringify!($place)), *$place, $object),
        }
    };
}

/// An INTEGER that C reads, and writes when an operation is complete: its place, and as for `narrow!`. C sees its low half;
/// the other one is zero, and remains right because the operation makes no negative number of others.
macro_rules! lasting {
    ($place:ident, $class:expr, $name:expr, $object:expr, $ierror:ident) => {
        match (0..=c_int::MAX.into()).contains(&*$place) {
            true => $place.cast::<c_int>(),
            false => return crate::entry::too_long($ierror, $class, ($name, stringify!($place)), *$place, $object),
        }
    };
}

/// An array of INTEGERs that C reads: the array, its length, and as for `narrow!`.
macro_rules! narrowed {
    ($array:ident, $length:expr, $class:expr, $name:expr, $object:expr, $ierror:ident) => {
        match crate::integer::Ints::read($array, $length) {
            Ok(ints) => ints,
            Err(value) => {
                return crate::entry::too_long($ierror, $class, ($name, stringify!($array)), value, $object);
            }
        }
    };
}

/// An array of INTEGERs that C writes, and perhaps reads: the array and its length.
macro_rules! stored {
    ($array:expr, $length:expr) => {
        crate::integer::Ints::written($array, $length)
    };
}

/// The weights of a graph that C reads, as for `narrowed!`, or writes, as for `stored!`.
macro_rules! weights {
    ($array:ident, $($rest:tt)*) => {
        match crate::places::special_weights($array) {
            Some(special) => crate::integer::Ints::special(special),
            None => weights!(@ $array, $($rest)*),
        }
    };
    (@ $array:ident, $length:expr) => { stored!($array, $length) };
    (@ $array:ident, $($rest:tt)*) => { narrowed!($array, $($rest)*) };
}

/// The integers for C, and the array of the program.
pub struct Ints {
    array: *mut Fint,
    ints: Vec<c_int>,
    /// A number that C takes for an address, such as `MPI_UNWEIGHTED`, or null.
    special: *mut c_int,
}

impl Ints {
    /// The integers of an array, or one of them that does not fit.
    ///
    /// # Safety
    /// `length` elements may be read.
    pub unsafe fn read(array: *mut Fint, length: usize) -> Result<Ints, Fint> {
        // SAFETY: the caller promises that the array has these elements.
        let narrow = |i| unsafe { *array.add(i) };
        let ints = (0..length).map(|i| c_int::try_from(narrow(i)).map_err(|_| narrow(i)));
        Ok(Ints { array, ints: ints.collect::<Result<_, _>>()?, special: null_mut() })
    }

    /// Room for the integers that C stores, with what the array holds now.
    ///
    /// # Safety
    /// `length` elements may be read and written.
    pub unsafe fn written(array: *mut Fint, length: usize) -> Ints {
        // SAFETY: the caller promises that the array has these elements.
        let ints = (0..length).map(|i| short(unsafe { *array.add(i) }));
        Ints { array, ints: ints.collect(), special: null_mut() }
    }

    /// Room for elements that C writes; it may use the first ones only, and the program's array may
    /// have no others.
    pub fn room(array: *mut Fint, length: usize) -> Ints {
        Ints { array, ints: vec![0; length], special: null_mut() }
    }

    /// No integers, but a constant that stands for them.
    pub fn special(special: *mut c_int) -> Ints {
        Ints { array: null_mut(), ints: Vec::new(), special }
    }

    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        if self.special.is_null() { self.ints.as_mut_ptr() } else { self.special }
    }

    /// An element that C has stored.
    ///
    /// # Safety
    /// The array has such an element.
    pub unsafe fn at(&self, index: usize) -> c_int {
        self.ints.get(index).copied().unwrap_or(0)
    }

    /// Stores what C has written.
    ///
    /// # Safety
    /// The array may be written.
    pub unsafe fn put(self) {
        let count = self.ints.len();
        // SAFETY: the caller promises that the whole array may be written.
        unsafe { self.put_first(count) };
    }

    /// Stores the first elements, which C has written.
    ///
    /// # Safety
    /// So many elements may be written.
    pub unsafe fn put_first(self, count: usize) {
        for (i, value) in self.ints.into_iter().take(count).enumerate() {
            // SAFETY: the caller promises that so many elements of the array may be written.
            unsafe { *self.array.add(i) = wide(value) };
        }
    }
}

/// An INTEGER that C writes, and perhaps reads.
pub struct Out {
    place: *mut Fint,
    value: c_int,
}

impl Out {
    /// # Safety
    /// `place` may be read and written.
    #[inline]
    pub unsafe fn new(place: *mut Fint) -> Out {
        // SAFETY: the caller promises that `place` may be read.
        Out { place, value: short(unsafe { *place }) }
    }

    #[inline]
    pub fn place(&mut self) -> *mut c_int {
        &mut self.value
    }

    /// # Safety
    /// The INTEGER may be written.
    #[inline]
    pub unsafe fn put(self) {
        // SAFETY: the caller promises that the INTEGER may be written.
        unsafe { *self.place = wide(self.value) };
    }
}

/// One status or several, of the program, and C's; both are empty where the program ignores them.
pub struct Statuses {
    places: *mut FortranStatus,
    one: [[c_int; FIELDS]; 1],
    more: Vec<[c_int; FIELDS]>,
    count: usize,
}

impl Statuses {
    /// # Safety
    /// There are `count` statuses, or the pointer is null: the program ignores them.
    pub unsafe fn new(places: *mut FortranStatus, count: usize) -> Statuses {
        let count = if places.is_null() { 0 } else { count };
        let more = if count > 1 { vec![[0; FIELDS]; count] } else { Vec::new() };
        let mut made = Statuses { places, one: [[0; FIELDS]], more, count };
        for (i, ints) in made.slice().iter_mut().enumerate() {
            // SAFETY: the caller promises that there are `count` statuses.
            let from = unsafe { (*places.add(i)).0 };
            // The words of C's status, whatever they mean; the program may not have set them.
            *ints = from.map(|integer| integer as c_int);
        }
        made
    }

    /// Room for statuses that C writes; it may use the first ones only, and the program may have no
    /// others. Null as above.
    pub fn room(places: *mut FortranStatus, count: usize) -> Statuses {
        let count = if places.is_null() { 0 } else { count };
        let mut empty = [0; FIELDS];
        empty[ERROR] = NOT_SET;
        let more = if count > 1 { vec![empty; count] } else { Vec::new() };
        Statuses { places, one: [empty], more, count }
    }

    fn slice(&mut self) -> &mut [[c_int; FIELDS]] {
        if self.count > 1 { &mut self.more } else { &mut self.one[..self.count] }
    }

    /// Null where the program ignores them.
    pub fn as_mut_ptr(&mut self) -> *mut Status {
        if self.places.is_null() { null_mut() } else { self.slice().as_mut_ptr().cast() }
    }

    /// Stores what C has written.
    ///
    /// # Safety
    /// The statuses may be written.
    pub unsafe fn put(self) {
        let count = self.count;
        // SAFETY: the caller promises that all statuses may be written.
        unsafe { self.put_first(count) };
    }

    /// Stores the first statuses, which C has written. C leaves the error alone unless the call
    /// fails for it.
    ///
    /// # Safety
    /// So many statuses may be written.
    pub unsafe fn put_first(mut self, count: usize) {
        let places = self.places;
        for (i, ints) in self.slice().iter().take(count).enumerate() {
            // SAFETY: the caller promises that so many statuses may be written.
            let place = unsafe { &mut (*places.add(i)).0 };
            let error = if ints[ERROR] == NOT_SET { place[ERROR] } else { wide(ints[ERROR]) };
            *place = ints.map(wide);
            place[ERROR] = error;
        }
    }
}

/// The error codes of spawned processes. Only the root knows how many processes are wanted, so the
/// number of codes follows from what C has written.
pub struct Codes {
    places: *mut Fint,
    ints: Vec<c_int>,
}

/// More processes than any call spawns.
const MOST_SPAWNED: usize = 1 << 20;

impl Codes {
    /// `places` is null where the program ignores them.
    pub fn new(places: *mut Fint) -> Codes {
        let room = if places.is_null() { 0 } else { MOST_SPAWNED };
        Codes { places, ints: vec![0; room] }
    }

    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        if self.places.is_null() { null_mut() } else { self.ints.as_mut_ptr() }
    }

    /// Stores the codes: a zero for each process that was spawned, another number for each that was
    /// not.
    ///
    /// # Safety
    /// The program has a place for each.
    pub unsafe fn put(self, spawned: impl FnOnce() -> usize) {
        let mut zeros = if self.places.is_null() { 0 } else { spawned() };
        for (i, code) in self.ints.into_iter().enumerate() {
            match (code, zeros) {
                (0, 0) => break,
                (0, _) => zeros -= 1,
                _ => {}
            }
            // SAFETY: the caller promises a place for each process, and this is the code of one.
            unsafe { *self.places.add(i) = wide(code) };
        }
    }
}
