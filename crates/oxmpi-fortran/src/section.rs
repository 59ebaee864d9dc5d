//! Buffers of `mpi_f08`: a descriptor tells where the elements lie. A contiguous buffer is its address and costs nothing more.
//! A section with gaps becomes a datatype ([`Section`]) where MPI takes the buffer as one message, and is copied
//! ([`Scratch`]) where MPI divides it.

use crate::entry::*;

/// `CFI_cdesc_t`, as far as all compilers agree on it.
#[repr(C)]
pub struct Descriptor {
    pub base_addr: *mut c_void,
    elem_len: usize,
    version: c_int,
    rank: i8,
    _attribute_and_type: [u8; 3],
    dim: [Dimension; 15],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Dimension {
    _lower_bound: isize,
    /// -1 for the last one of an array whose size nobody knows.
    extent: isize,
    /// The distance in bytes from one element to the next.
    stride: isize,
}

/// The parts of a text that came by descriptor.
///
/// # Safety
/// `descriptor` may be read.
pub unsafe fn described(descriptor: *mut Descriptor) -> crate::text::Padded {
    // SAFETY: as the caller says.
    unsafe { ((*descriptor).base_addr.cast(), (*descriptor).elem_len) }
}

/// The address of the first element, special ones as C has them.
///
/// # Safety
/// `descriptor` may be read.
#[inline]
pub unsafe fn start_of(descriptor: *mut Descriptor, datatype: Datatype) -> *mut c_void {
    // SAFETY: as the caller says.
    buffer_at(unsafe { (*descriptor).base_addr }, datatype)
}

/// The address of a buffer that has no gaps.
///
/// # Safety
/// `descriptor` may be read.
pub unsafe fn whole(descriptor: *mut Descriptor, datatype: Datatype) -> Option<*mut c_void> {
    // SAFETY: as the caller says.
    unsafe { is_contiguous(descriptor).then(|| start_of(descriptor, datatype)) }
}

/// The size of an element of any variable.
///
/// # Safety
/// `descriptor` may be read.
pub unsafe fn element_size(descriptor: *mut Descriptor) -> usize {
    // SAFETY: as the caller says.
    unsafe { (*descriptor).elem_len }
}

/// The dimensions of a descriptor. Only as many are there as the rank says, so there is no reference to the whole.
unsafe fn dimensions<'a>(descriptor: *mut Descriptor) -> &'a [Dimension] {
    // SAFETY: as the caller says; a descriptor has its rank's number of dimensions.
    unsafe {
        // Volatile, so that it stays a load of one byte: compilers have just stored the rank and its neighbours one by one, and
        // a wider load, which the optimizer likes here, would have to wait for all of them.
        let rank = positive((&raw const (*descriptor).rank).read_volatile()).min(15);
        std::slice::from_raw_parts((&raw const (*descriptor).dim).cast(), rank)
    }
}

#[inline]
unsafe fn is_contiguous(descriptor: *mut Descriptor) -> bool {
    // SAFETY: as the caller says.
    let dims = unsafe { dimensions(descriptor) };
    if dims.is_empty() {
        return true;
    }
    // SAFETY: as above.
    let mut expected = unsafe { (*descriptor).elem_len } as isize;
    let mut contiguous = true;
    for dim in dims {
        match dim.extent {
            0 => return true,
            1 => {}
            _ => contiguous &= dim.stride == expected,
        }
        // After an unknown extent nothing follows.
        expected = expected.wrapping_mul(dim.extent);
    }
    contiguous
}

// ---- a section as a datatype ----

/// A buffer that MPI takes as one message. The datatype of a section is freed at once; MPI keeps it as long as an operation
/// needs it.
pub struct Section {
    descriptor: *mut Descriptor,
    made: Option<Datatype>,
}

/// A count, narrow or wide.
pub trait Number: Copy + Into<i64> + From<bool> {}
impl Number for i32 {}
impl Number for i64 {}

impl Section {
    #[inline]
    pub fn new(descriptor: *mut Descriptor) -> Section {
        Section { descriptor, made: None }
    }

    /// Address, count and datatype for C. `None`: the section does not fit the datatype.
    ///
    /// # Safety
    /// The descriptor may be read and is that of valid memory.
    #[inline]
    pub unsafe fn typed<N: Number>(&mut self, count: N, datatype: Datatype) -> Option<(*mut c_void, N, Datatype)> {
        // SAFETY: as the caller says.
        unsafe {
            if is_contiguous(self.descriptor) {
                return Some((start_of(self.descriptor, datatype), count, datatype));
            }
            let elements = elements(datatype, count.into(), (*self.descriptor).elem_len)?;
            let section = self.build(elements?)?;
            self.made = Some(section);
            Some(((*self.descriptor).base_addr, N::from(true), section))
        }
    }

    /// The datatype of the first elements of the section, in the order of the array.
    unsafe fn build(&self, elements: Elements) -> Option<Datatype> {
        // SAFETY: as the caller says.
        let dims = unsafe { dimensions(self.descriptor) };
        let whole: i64 = dims.iter().map(|d| d.extent as i64).product();
        if elements.count > whole {
            return None;
        }
        // blocks[k]: all elements of the first k dimensions.
        let mut blocks = vec![(1_i64, elements.each)];
        for dim in dims {
            let (count, block) = *blocks.last()?;
            blocks.push((count * dim.extent as i64, vector(dim.extent as i64, dim.stride as i64, block)?));
        }
        // What is asked for: some of the largest blocks, then some of the next smaller ones, and so on.
        let (mut left, mut at) = (elements.count, 0_i64);
        let (mut places, mut types) = (Vec::new(), Vec::new());
        for (k, dim) in dims.iter().enumerate().rev() {
            let (count, block) = blocks[k];
            if left >= count {
                let times = left / count;
                places.push(at);
                types.push(vector(times, dim.stride as i64, block)?);
                at += times * dim.stride as i64;
                left %= count;
            }
        }
        let section = structure(&mut places, &mut types);
        for made in types.into_iter().chain(blocks.into_iter().skip(1).map(|(_, block)| block)) {
            free(made);
        }
        if elements.is_made {
            free(elements.each);
        }
        section
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            free(made);
        }
    }
}

/// So many elements of the array, each of this datatype.
struct Elements {
    count: i64,
    each: Datatype,
    is_made: bool,
}

/// How much of the array `count` values of the datatype cover. The outer `None`: the datatype is bad, which the call itself
/// shall say; the inner one: it has gaps, or does not fit the elements.
fn elements(datatype: Datatype, count: i64, length: usize) -> Option<Option<Elements>> {
    let (mut size, mut lb, mut extent) = (0, 0, 0);
    // SAFETY: the places are valid for the calls.
    let codes =
        unsafe { [c::PMPI_Type_size_c(datatype, &mut size), c::PMPI_Type_get_extent(datatype, &mut lb, &mut extent)] };
    let length = length as i64;
    if codes != [MPI_SUCCESS; 2] || lb != 0 || size != extent || size <= 0 || count < 0 || count * size % length != 0 {
        return Some(None);
    }
    let count = count * size / length;
    let each = match (length % size, size % length) {
        _ if length == size => return Some(Some(Elements { count, each: datatype, is_made: false })),
        (0, _) => contiguous(length / size, datatype),
        // A value lies in several elements: its bytes are all that can be said of one.
        (_, 0) => contiguous(length, MPI_BYTE),
        _ => None,
    };
    Some(each.map(|each| Elements { count, each, is_made: true }))
}

fn contiguous(count: i64, oldtype: Datatype) -> Option<Datatype> {
    made(|newtype| {
        // SAFETY: the place is valid for the call.
        unsafe { c::PMPI_Type_contiguous_c(count, oldtype, newtype) }
    })
}

fn vector(count: i64, stride: i64, oldtype: Datatype) -> Option<Datatype> {
    made(|newtype| {
        // SAFETY: as above.
        unsafe { c::PMPI_Type_create_hvector_c(count, 1, stride, oldtype, newtype) }
    })
}

fn structure(places: &mut [i64], types: &mut [Datatype]) -> Option<Datatype> {
    let mut lengths = vec![1_i64; types.len()];
    let (count, lengths) = (types.len() as i64, lengths.as_mut_ptr());
    let newtype = made(|newtype| {
        // SAFETY: the arrays have `count` elements.
        unsafe { c::PMPI_Type_create_struct_c(count, lengths, places.as_mut_ptr(), types.as_mut_ptr(), newtype) }
    });
    newtype.and_then(|mut newtype| {
        // SAFETY: a datatype just made.
        let code = unsafe { c::PMPI_Type_commit(&mut newtype) };
        (code == MPI_SUCCESS).then_some(newtype)
    })
}

fn made(make: impl FnOnce(*mut Datatype) -> c_int) -> Option<Datatype> {
    let mut newtype = MPI_DATATYPE_NULL;
    (make(&mut newtype) == MPI_SUCCESS).then_some(newtype)
}

fn free(mut datatype: Datatype) {
    // SAFETY: a datatype that was made here.
    unsafe { c::PMPI_Type_free(&mut datatype) };
}

// ---- a section as a copy ----

/// A buffer that is contiguous, or whose elements lie in memory of its own until it is dropped.
pub struct Scratch {
    start: *mut c_void,
    section: Option<Copied>,
}

struct Copied {
    length: usize,
    dims: Vec<Dimension>,
    bytes: Vec<u8>,
    is_written: bool,
}

impl Scratch {
    /// A buffer that MPI reads.
    ///
    /// # Safety
    /// The descriptor may be read and is that of valid memory, as long as the operation lasts.
    #[inline]
    pub unsafe fn input(descriptor: *mut Descriptor) -> Scratch {
        // SAFETY: as the caller says.
        unsafe { Scratch::new(descriptor, false) }
    }

    /// A buffer that MPI writes, and may read.
    ///
    /// # Safety
    /// As for [`Scratch::input`].
    #[inline]
    pub unsafe fn output(descriptor: *mut Descriptor) -> Scratch {
        // SAFETY: as the caller says.
        unsafe { Scratch::new(descriptor, true) }
    }

    #[inline]
    unsafe fn new(descriptor: *mut Descriptor, is_written: bool) -> Scratch {
        // SAFETY: as the caller says.
        unsafe {
            let start = (*descriptor).base_addr;
            if is_contiguous(descriptor) {
                return Scratch { start, section: None };
            }
            let (length, dims) = ((*descriptor).elem_len, dimensions(descriptor).to_vec());
            let count: isize = dims.iter().map(|d| d.extent).product();
            let bytes = vec![0; length * positive(count)];
            let mut scratch = Scratch { start, section: Some(Copied { length, dims, bytes, is_written }) };
            scratch.load();
            scratch
        }
    }

    pub fn is_copy(&self) -> bool {
        self.section.is_some()
    }

    #[inline]
    pub fn address(&mut self, datatype: Datatype) -> *mut c_void {
        match &mut self.section {
            None => buffer_at(self.start, datatype),
            Some(section) => section.bytes.as_mut_ptr().cast(),
        }
    }

    /// From the program's array to the copy.
    pub fn load(&mut self) {
        let start = self.start;
        if let Some(section) = &mut self.section {
            let copy = section.bytes.as_mut_ptr();
            let length = section.length;
            // SAFETY: the array is valid as long as the operation lasts; the copy has room for all its elements.
            section.walk(|from, to| unsafe {
                copy.add(to).copy_from_nonoverlapping(start.cast::<u8>().offset(from), length);
            });
        }
    }

    /// From the copy to the program's array, where MPI may have written.
    pub fn store(&mut self) {
        let start = self.start;
        if let Some(section) = self.section.as_ref().filter(|s| s.is_written) {
            let copy = section.bytes.as_ptr();
            // SAFETY: as above.
            section.walk(|to, from| unsafe {
                start.cast::<u8>().offset(to).copy_from_nonoverlapping(copy.add(from), section.length);
            });
        }
    }

    /// What was written is of no use any more.
    pub fn discard(&mut self) {
        self.section = None;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.store();
    }
}

impl Copied {
    /// Every element, in the order of the array: where it is in the array, where in the copy.
    fn walk(&self, mut element: impl FnMut(isize, usize)) {
        let mut index = vec![0_isize; self.dims.len()];
        let mut at = 0_isize;
        for number in 0..self.bytes.len() / self.length.max(1) {
            element(at, number * self.length);
            for (i, dim) in index.iter_mut().zip(&self.dims) {
                *i += 1;
                at += dim.stride;
                if *i < dim.extent {
                    break;
                }
                at -= *i * dim.stride;
                *i = 0;
            }
        }
    }
}

// SAFETY: the addresses are the program's, whose threads all see the same memory.
unsafe impl Send for Scratch {}
