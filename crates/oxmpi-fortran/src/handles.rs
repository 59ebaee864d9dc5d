//! Handles: an INTEGER in Fortran, as wide as a pointer in C. Predefined ones have the same value
//! in both; the C library translates the others.

use crate::c_names::*;
use crate::places::is_in_place;
#[cfg(integer8)]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Predefined handles are below this, which have the same value in C and in Fortran.
#[cfg(not(any(mpich, openmpi)))]
const FIRST_DYNAMIC: usize = 4096;

/// Whether a handle is the same number in C and in Fortran.
#[cfg(not(any(mpich, openmpi)))]
#[inline]
fn is_same(raw: usize) -> bool {
    raw < FIRST_DYNAMIC
}

/// In other ABIs the C library translates all handles.
#[cfg(any(mpich, openmpi))]
#[inline]
fn is_same(_raw: usize) -> bool {
    false
}

pub trait FortranHandle: Handle {
    fn from_int(int: c_int) -> Self;
    fn to_int(self) -> c_int;

    /// Zero is a handle that C returns, not a sign that it has returned none.
    const ZERO_IS_RETURNED: bool = false;

    /// A predefined handle, as a program with these INTEGERs means it.
    #[inline]
    fn predefined(raw: usize) -> Self {
        Self::from_raw(raw)
    }
}

macro_rules! fortran_handles {
    ($($name:ident $from:ident $to:ident $($zero:expr)?;)*) => {$(
        impl FortranHandle for $name {
            $(const ZERO_IS_RETURNED: bool = $zero;)?

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
    Comm PMPI_Comm_fromint PMPI_Comm_toint;
    Errhandler PMPI_Errhandler_fromint PMPI_Errhandler_toint;
    // MPI_FILE_NULL of MPICH.
    File PMPI_File_fromint PMPI_File_toint cfg!(mpich);
    Group PMPI_Group_fromint PMPI_Group_toint;
    Info PMPI_Info_fromint PMPI_Info_toint;
    Message PMPI_Message_fromint PMPI_Message_toint;
    Op PMPI_Op_fromint PMPI_Op_toint;
    Request PMPI_Request_fromint PMPI_Request_toint;
    Session PMPI_Session_fromint PMPI_Session_toint;
    Win PMPI_Win_fromint PMPI_Win_toint;
}

impl FortranHandle for Datatype {
    fn from_int(int: c_int) -> Datatype {
        // SAFETY: the function takes any number.
        unsafe { c::PMPI_Type_fromint(int) }
    }

    fn to_int(self) -> c_int {
        #[cfg(integer8)]
        if HAS_PAIRS.load(Relaxed) && self == two_integers() {
            return MPI_2INTEGER.0 as c_int;
        }
        // SAFETY: the function takes any handle.
        unsafe { c::PMPI_Type_toint(self) }
    }

    /// `MPI_INTEGER` and `MPI_LOGICAL` have other values in the modules of such programs. There is
    /// no predefined handle for two INTEGERs of eight bytes, but there is the datatype.
    #[cfg(integer8)]
    fn predefined(raw: usize) -> Datatype {
        if raw == MPI_2INTEGER.0 { two_integers() } else { Datatype::from_raw(raw) }
    }
}

/// Whether the program has used `MPI_2INTEGER`.
#[cfg(integer8)]
static HAS_PAIRS: AtomicBool = AtomicBool::new(false);

/// What `MPI_2INTEGER` means. Not remembered: the handle may change when MPI is initialized again.
#[cfg(integer8)]
fn two_integers() -> Datatype {
    let mut pair = MPI_DATATYPE_NULL;
    HAS_PAIRS.store(true, Relaxed);
    // SAFETY: the pointer leads to a variable of this function.
    let code = unsafe { c::PMPI_Type_get_value_index(MPI_INTEGER8, MPI_INTEGER8, &mut pair) };
    if code == MPI_SUCCESS { pair } else { MPI_DATATYPE_NULL }
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
        Ok(raw) if is_same(raw) => H::predefined(raw),
        _ => H::from_int(short(int)),
    }
}

/// The datatype that an INTEGER names, where the name matters and not what the program means by it:
/// see [`FortranHandle::predefined`].
///
/// # Safety
/// `place` may be read.
pub unsafe fn get_named(place: *mut Fint) -> Datatype {
    // SAFETY: the caller promises that `place` may be read.
    match unsafe { usize::try_from(*place) } {
        Ok(raw) if is_same(raw) => Datatype::from_raw(raw),
        // SAFETY: the caller promises that `place` may be read.
        _ => unsafe { get(place) },
    }
}

/// The INTEGER of a handle.
#[inline]
pub fn int<H: FortranHandle>(handle: H) -> Fint {
    match handle.raw() {
        raw if is_same(raw) => raw as Fint,
        _ => wide(handle.to_int()),
    }
}

/// Stores a handle that C returned; zero means that it returned none.
///
/// # Safety
/// `place` may be written.
#[inline]
pub unsafe fn put<H: FortranHandle>(place: *mut Fint, handle: H) {
    if handle.raw() != 0 || H::ZERO_IS_RETURNED {
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

/// The sum of some INTEGERs, which is the length of another array.
///
/// # Safety
/// `count` elements may be read.
#[cfg(integer8)]
pub unsafe fn sum_of(integers: *mut Fint, count: usize) -> usize {
    // SAFETY: the caller promises that the array has these elements.
    (0..count).map(|i| positive(unsafe { *integers.add(i) })).sum()
}

/// The last of some INTEGERs, which is the length of another array.
///
/// # Safety
/// `count` elements may be read.
#[cfg(integer8)]
pub unsafe fn last_of(integers: *mut Fint, count: usize) -> usize {
    // SAFETY: the caller promises that the array has these elements.
    if count == 0 { 0 } else { positive(unsafe { *integers.add(count - 1) }) }
}

/// The number of processes that an all-to-all reaches.
pub fn peers(comm: Comm) -> usize {
    // The call itself reports this error, since it knows its name.
    if int(comm) == int(MPI_COMM_NULL) {
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
    if int(comm) == int(MPI_COMM_NULL) {
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
