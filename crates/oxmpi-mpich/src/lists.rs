//! Results that are single values, and arrays of handles, numbers and statuses. Arrays are converted
//! in memory that each thread keeps, so that a program which waits for as many requests again and
//! again allocates nothing.

use crate::abi::TheirHandle;
use crate::generated::c;
use crate::status::{TheirStatus, is_given, unset};
use crate::values::{Converts, Rank};
use oxmpi_abi::Status;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Comm;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;

/// The place of a result, or of an argument that the call changes. It is written only if the call
/// has stored something.
pub struct Place<K: Converts> {
    theirs: *mut K::Theirs,
    given: K::Ours,
    ours: K::Ours,
}

impl<K: Converts> Place<K> {
    #[inline]
    pub fn out(theirs: *mut K::Theirs) -> Place<K> {
        Place { theirs, given: K::UNSET, ours: K::UNSET }
    }

    /// # Safety
    /// `theirs` is null or may be read.
    #[inline]
    pub unsafe fn inout(theirs: *mut K::Theirs) -> Place<K> {
        if theirs.is_null() {
            return Place::out(theirs);
        }
        // SAFETY: not null, so it may be read: this function's condition.
        let given = K::ours(unsafe { *theirs });
        Place { theirs, given, ours: given }
    }

    #[inline]
    pub fn ptr(&mut self) -> *mut K::Ours {
        if self.theirs.is_null() { null_mut() } else { &raw mut self.ours }
    }

    /// # Safety
    /// The place is null or may be written.
    #[inline]
    pub unsafe fn put(&mut self) {
        if !self.theirs.is_null() && self.ours != self.given {
            // SAFETY: not null, so it may be written: this function's condition.
            unsafe { *self.theirs = K::theirs(self.ours) };
        }
    }
}

// ---- memory for arrays ----

thread_local! {
    static FREE: RefCell<Vec<Vec<u64>>> = const { RefCell::new(Vec::new()) };
}

/// Room for some values of a type, kept by the thread afterwards.
struct Room<T> {
    words: Vec<u64>,
    count: usize,
    of: PhantomData<T>,
}

impl<T: Copy> Room<T> {
    fn filled(count: usize, mut value: impl FnMut(usize) -> T) -> Room<T> {
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        let mut words = FREE.try_with(|free| free.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        words.resize((count * size_of::<T>()).div_ceil(size_of::<u64>()), 0);
        let start = words.as_mut_ptr().cast::<T>();
        for i in 0..count {
            // SAFETY: the words have room for `count` values, and are aligned for them.
            unsafe { start.add(i).write(value(i)) };
        }
        Room { words, count, of: PhantomData }
    }

    fn start(&mut self) -> *mut T {
        self.words.as_mut_ptr().cast()
    }

    fn values(&self) -> &[T] {
        // SAFETY: `filled` has written so many values there.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.count) }
    }
}

impl<T> Drop for Room<T> {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.words);
        // A thread that ends keeps nothing.
        let _ = FREE.try_with(|free| free.borrow_mut().push(words));
    }
}

/// An array of handles or numbers.
pub struct List<K: Converts> {
    theirs: *mut K::Theirs,
    ours: Option<Room<K::Ours>>,
}

impl<K: Converts> List<K> {
    /// # Safety
    /// `theirs` is null or has so many elements. `count` is called only if it is not null.
    pub unsafe fn new(theirs: *mut K::Theirs, count: impl FnOnce() -> usize) -> List<K> {
        let ours = (!theirs.is_null()).then(|| {
            // SAFETY: there are so many elements, by this function's condition.
            Room::filled(count(), |i| K::ours(unsafe { *theirs.add(i) }))
        });
        List { theirs, ours }
    }

    pub fn ptr(&mut self) -> *mut K::Ours {
        self.ours.as_mut().map_or(null_mut(), Room::start)
    }

    /// # Safety
    /// The elements of the array may be written.
    pub unsafe fn put(&mut self) {
        for (i, ours) in self.ours.iter().flat_map(Room::values).enumerate() {
            // SAFETY: there are so many elements: the condition of `new`.
            unsafe { *self.theirs.add(i) = K::theirs(*ours) };
        }
    }
}

/// An array of statuses. Those that the call does not set are neither read nor written: the caller's array may end before them
/// if the call says how many it has set.
pub struct Statuses {
    theirs: *mut TheirStatus,
    ours: Option<Room<Status>>,
}

impl Statuses {
    /// # Safety
    /// `theirs` is `MPI_STATUSES_IGNORE`, null, or has as many elements as the call sets, at most `count`.
    pub unsafe fn new(theirs: *mut TheirStatus, count: usize) -> Statuses {
        let ours = is_given(theirs).then(|| Room::filled(count, |_| unset()));
        Statuses { theirs, ours }
    }

    pub fn ptr(&mut self) -> *mut Status {
        self.ours.as_mut().map_or(null_mut(), Room::start)
    }

    /// # Safety
    /// The elements of the array may be written.
    pub unsafe fn put(&mut self) {
        let unset = unset();
        for (i, ours) in self.ours.iter().flat_map(Room::values).enumerate().filter(|(_, ours)| **ours != unset) {
            // SAFETY: the call has set this element, so it is there: the condition of `new`.
            unsafe { (*self.theirs.add(i)).set(&unset, ours) };
        }
    }
}

// ---- lengths ----

/// A number of elements. A negative one is reported by the call.
#[inline]
pub fn length<N: TryInto<usize>>(count: N) -> usize {
    count.try_into().unwrap_or(0)
}

/// The number of processes that take part in a collective exchange.
pub fn peers(comm: TheirHandle) -> usize {
    let (comm, mut is_inter, mut size) = (Comm::ours(comm), 0, 0);
    // SAFETY: the functions take any handle, and the places are those of variables.
    unsafe {
        if c::oxmpi_Comm_test_inter(comm, &mut is_inter) != MPI_SUCCESS {
            return 0;
        }
        match is_inter {
            0 => c::oxmpi_Comm_size(comm, &mut size),
            _ => c::oxmpi_Comm_remote_size(comm, &mut size),
        };
    }
    length(size)
}

/// The types of what is sent are not looked at if the data is in place.
pub fn peers_unless_in_place(sendbuf: *mut c_void, comm: TheirHandle) -> usize {
    if sendbuf as usize == crate::abi::THEIR_IN_PLACE { 0 } else { peers(comm) }
}

/// The numbers of neighbours that a process receives from and sends to.
pub fn neighbors(comm: TheirHandle) -> (usize, usize) {
    let (ours, mut kind) = (Comm::ours(comm), MPI_UNDEFINED);
    let (mut incoming, mut outgoing, mut is_weighted, mut rank) = (0, 0, 0, 0);
    // SAFETY: the functions take any handle, and the places are those of variables.
    unsafe {
        if c::oxmpi_Topo_test(ours, &mut kind) != MPI_SUCCESS {
            return (0, 0);
        }
        match kind {
            MPI_CART => {
                c::oxmpi_Cartdim_get(ours, &mut incoming);
                (incoming, outgoing) = (2 * incoming, 2 * incoming);
            }
            MPI_GRAPH => {
                c::oxmpi_Comm_rank(ours, &mut rank);
                c::oxmpi_Graph_neighbors_count(ours, rank, &mut incoming);
                outgoing = incoming;
            }
            MPI_DIST_GRAPH => {
                c::oxmpi_Dist_graph_neighbors_count(ours, &mut incoming, &mut outgoing, &mut is_weighted);
            }
            // The call reports that there are no neighbours.
            _ => {}
        }
    }
    (length(incoming), length(outgoing))
}

/// The sum of an array of numbers.
///
/// # Safety
/// `numbers` is null or has so many elements.
pub unsafe fn sum(numbers: *mut c_int, count: usize) -> usize {
    // SAFETY: there are so many elements, by this function's condition.
    if numbers.is_null() { 0 } else { (0..count).map(|i| length(unsafe { *numbers.add(i) })).sum() }
}

/// Converts ranks that a call has stored.
///
/// # Safety
/// After success `ranks` has so many elements.
pub unsafe fn put_ranks(code: c_int, ranks: *mut c_int, count: usize) {
    if code == MPI_SUCCESS {
        for i in 0..count {
            // SAFETY: there are so many elements, by this function's condition.
            unsafe { *ranks.add(i) = Rank::theirs(*ranks.add(i)) };
        }
    }
}
