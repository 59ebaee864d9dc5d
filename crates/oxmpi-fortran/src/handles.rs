//! Handles: an INTEGER in Fortran, as wide as a pointer in C. Predefined ones have the same value
//! in both; the C library translates the others.

use crate::c_names::*;
use crate::places::is_in_place;

/// Predefined handles are below this.
const FIRST_DYNAMIC: usize = 4096;

pub trait FortranHandle: Handle {
    fn from_int(int: c_int) -> Self;
    fn to_int(self) -> c_int;
}

macro_rules! fortran_handles {
    ($($name:ident $from:ident $to:ident)*) => {$(
        impl FortranHandle for $name {
            fn from_int(int: c_int) -> $name {
                // SAFETY: the function takes any number.
                unsafe { c::$from(int) }
            }

            fn to_int(self) -> c_int {
                // SAFETY: the function takes any handle.
                unsafe { c::$to(self) }
            }
        }
    )*};
}

fortran_handles! {
    Comm PMPI_Comm_fromint PMPI_Comm_toint
    Datatype PMPI_Type_fromint PMPI_Type_toint
    Errhandler PMPI_Errhandler_fromint PMPI_Errhandler_toint
    File PMPI_File_fromint PMPI_File_toint
    Group PMPI_Group_fromint PMPI_Group_toint
    Info PMPI_Info_fromint PMPI_Info_toint
    Message PMPI_Message_fromint PMPI_Message_toint
    Op PMPI_Op_fromint PMPI_Op_toint
    Request PMPI_Request_fromint PMPI_Request_toint
    Session PMPI_Session_fromint PMPI_Session_toint
    Win PMPI_Win_fromint PMPI_Win_toint
}

/// The handle that stands for an INTEGER.
///
/// # Safety
/// `place` may be read.
#[inline]
pub unsafe fn get<H: FortranHandle>(place: *mut Fint) -> H {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    let int = unsafe { *place };
    match usize::try_from(int) {
        Ok(raw) if raw < FIRST_DYNAMIC => H::from_raw(raw),
        _ => H::from_int(int),
    }
}

/// The INTEGER of a handle.
#[inline]
pub fn int<H: FortranHandle>(handle: H) -> Fint {
    match handle.raw() {
        raw if raw < FIRST_DYNAMIC => raw as Fint,
        _ => handle.to_int(),
    }
}

/// Stores a handle that C returned; zero means that it returned none.
///
/// # Safety
/// `place` may be written.
#[inline]
pub unsafe fn put<H: FortranHandle>(place: *mut Fint, handle: H) {
    if handle.raw() != 0 {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe { *place = int(handle) };
    }
}

/// An array of handles for C, on the stack if it is short.
pub struct Few<H> {
    here: [H; 16],
    more: Vec<H>,
    count: usize,
}

impl<H: FortranHandle> Few<H> {
    pub fn empty(count: usize) -> Few<H> {
        let more = if count > 16 { vec![H::from_raw(0); count] } else { Vec::new() };
        Few { here: [H::from_raw(0); 16], more, count }
    }

    /// # Safety
    /// `count` elements may be read.
    pub unsafe fn get(places: *mut Fint, count: usize) -> Few<H> {
        let mut few = Few::empty(count);
        for (i, handle) in few.as_mut_slice().iter_mut().enumerate() {
            // SAFETY: the caller promises that this memory is valid: see the Safety section.
            *handle = unsafe { get(places.add(i)) };
        }
        few
    }

    pub fn as_mut_slice(&mut self) -> &mut [H] {
        if self.more.is_empty() { &mut self.here[..self.count] } else { &mut self.more }
    }

    /// The handle at an index that C returned, if the index is valid.
    pub fn at(&mut self, index: c_int) -> Option<H> {
        self.as_mut_slice().get(usize::try_from(index).ok()?).copied()
    }

    pub fn as_mut_ptr(&mut self) -> *mut H {
        self.as_mut_slice().as_mut_ptr()
    }

    /// Stores the handles that C returned.
    ///
    /// # Safety
    /// The array has as many elements as this list.
    pub unsafe fn put(&mut self, places: *mut Fint) {
        for (i, handle) in self.as_mut_slice().iter().enumerate() {
            // SAFETY: the caller promises that this memory is valid: see the Safety section.
            unsafe { put(places.add(i), *handle) };
        }
    }
}

/// A length from the program. C reports a negative one.
#[inline]
pub fn positive(length: impl TryInto<usize>) -> usize {
    length.try_into().unwrap_or(0)
}

/// The number of processes that an all-to-all reaches.
pub fn peers(comm: Comm) -> usize {
    // The call itself reports this error, since it knows its name.
    if comm == MPI_COMM_NULL {
        return 0;
    }
    let (mut inter, mut size) = (0, 0);
    // SAFETY: the pointers lead to variables of this function.
    unsafe {
        if c::PMPI_Comm_test_inter(comm, &mut inter) != MPI_SUCCESS {
            return 0;
        }
        match inter {
            0 => c::PMPI_Comm_size(comm, &mut size),
            _ => c::PMPI_Comm_remote_size(comm, &mut size),
        };
    }
    positive(size)
}

/// With `MPI_IN_PLACE` as the send buffer, the other arguments for sending are ignored.
pub fn peers_unless_in_place(comm: Comm, sendbuf: *mut c_void) -> usize {
    if is_in_place(sendbuf) { 0 } else { peers(comm) }
}

/// The number of dimensions of a grid.
pub fn dimensions(comm: Comm) -> usize {
    let mut count = 0;
    // SAFETY: the pointers lead to variables of this function.
    unsafe { c::PMPI_Cartdim_get(comm, &mut count) };
    positive(count)
}

/// The number of neighbours that send to this process, and to which it sends.
pub fn neighbors(comm: Comm) -> (usize, usize) {
    if comm == MPI_COMM_NULL {
        return (0, 0);
    }
    let (mut kind, mut rank, mut sources, mut destinations, mut weighted) = (MPI_UNDEFINED, 0, 0, 0, 0);
    // SAFETY: the pointers lead to variables of this function.
    unsafe {
        if c::PMPI_Topo_test(comm, &mut kind) != MPI_SUCCESS {
            return (0, 0);
        }
        match kind {
            MPI_CART => {
                sources = 2 * dimensions(comm) as c_int;
                destinations = sources;
            }
            MPI_GRAPH => {
                c::PMPI_Comm_rank(comm, &mut rank);
                c::PMPI_Graph_neighbors_count(comm, rank, &mut sources);
                destinations = sources;
            }
            MPI_DIST_GRAPH => {
                c::PMPI_Dist_graph_neighbors_count(comm, &mut sources, &mut destinations, &mut weighted);
            }
            _ => {}
        }
    }
    (positive(sources), positive(destinations))
}
