//! Buffers of `mpi_f08`: a descriptor gives the positions of the elements. A contiguous buffer is
//! passed by its address at no further cost. A section with gaps becomes a datatype ([`Section`])
//! where MPI takes the buffer as one message, and is copied ([`Scratch`]) where MPI divides it.

use crate::c_names::*;
pub use crate::descriptor::Descriptor;
use crate::descriptor::{Dimension, dimensions};
use crate::handles::positive;
use crate::places::buffer_at;

/// Address and length of a text that was passed by descriptor.
///
/// # Safety
/// `descriptor` may be read.
#[cfg(not(mpich))]
pub unsafe fn described(descriptor: *mut Descriptor) -> crate::text::Padded {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    unsafe { ((*descriptor).base_addr.cast(), (*descriptor).elem_len) }
}

/// The address of the first element; special addresses as in C.
///
/// # Safety
/// `descriptor` may be read.
#[inline]
pub unsafe fn start_of(descriptor: *mut Descriptor, datatype: Datatype) -> *mut c_void {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    buffer_at(unsafe { (*descriptor).base_addr }, datatype)
}

/// The address of a buffer that has no gaps.
///
/// # Safety
/// `descriptor` may be read.
pub unsafe fn whole(descriptor: *mut Descriptor, datatype: Datatype) -> Option<*mut c_void> {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    unsafe { is_contiguous(descriptor).then(|| start_of(descriptor, datatype)) }
}

/// The size of an element of any variable.
///
/// # Safety
/// `descriptor` may be read.
pub unsafe fn element_size(descriptor: *mut Descriptor) -> usize {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    unsafe { (*descriptor).elem_len }
}

#[inline]
unsafe fn is_contiguous(descriptor: *mut Descriptor) -> bool {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    let dims = unsafe { dimensions(descriptor) };
    // For an absent array the other fields are not set.
    // SAFETY: the caller promises that the descriptor may be read.
    if dims.len() == 0 || unsafe { (*descriptor).base_addr.is_null() } {
        return true;
    }
    // SAFETY: the caller promises that the descriptor may be read.
    let mut expected = unsafe { (*descriptor).elem_len } as isize;
    let mut contiguous = true;
    for dim in dims {
        match dim.extent {
            // Empty, for which gfortran 11 has -1; or the last one of an assumed-size array, which
            // has no gaps.
            ..=0 => return true,
            1 => {}
            _ => contiguous &= dim.stride == expected,
        }
        expected = expected.wrapping_mul(dim.extent);
    }
    contiguous
}

// ---- a section as a datatype ----

/// A buffer that MPI takes as one message. The datatype of a section is freed at once; MPI keeps it
/// while an operation uses it.
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

    /// Address, count and datatype for C. `None`: the count exceeds the section.
    ///
    /// # Safety
    /// The descriptor may be read and is that of valid memory.
    #[inline(always)]
    pub unsafe fn typed<N: Number>(&mut self, count: N, datatype: Datatype) -> Option<(*mut c_void, N, Datatype)> {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe {
            if is_contiguous(self.descriptor) {
                return Some((start_of(self.descriptor, datatype), count, datatype));
            }
            self.typed_with_gaps(count, datatype)
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn typed_with_gaps<N: Number>(
        &mut self,
        count: N,
        datatype: Datatype,
    ) -> Option<(*mut c_void, N, Datatype)> {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe {
            // C reports bad arguments.
            if datatype == MPI_DATATYPE_NULL || count.into() < 0 {
                return Some((start_of(self.descriptor, datatype), count, datatype));
            }
            let section = match elements(datatype, count.into(), (*self.descriptor).elem_len) {
                Some(elements) => self.build(elements)?,
                None => self.by_bytes(count.into(), datatype)?,
            };
            self.made = Some(section);
            Some(((*self.descriptor).base_addr, N::from(true), section))
        }
    }

    /// The datatype of the first elements of the section, in the order of the array.
    unsafe fn build(&self, elements: Elements) -> Option<Datatype> {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        let dims: Vec<Dimension> = unsafe { dimensions(self.descriptor) }.collect();
        let whole: i64 = dims.iter().map(|d| d.extent as i64).product();
        if elements.count > whole {
            return None;
        }
        // blocks[k]: all elements of the first k dimensions.
        let mut blocks = vec![(1_i64, elements.each)];
        for dim in &dims {
            let (count, block) = *blocks.last()?;
            blocks.push((count * dim.extent as i64, vector(dim.extent as i64, dim.stride as i64, block)?));
        }
        // The elements are some of the largest blocks, then some of the next smaller ones, and so
        // on.
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
        section
    }
}

/// For datatypes that have gaps, or whose values do not fit the elements.
impl Section {
    /// The datatype of the bytes that `count` values cover, at their positions in the section.
    unsafe fn by_bytes(&self, count: i64, datatype: Datatype) -> Option<Datatype> {
        let places = places(count, datatype)?;
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        let (dims, length) =
            unsafe { (dimensions(self.descriptor).collect::<Vec<_>>(), (*self.descriptor).elem_len as i64) };
        let whole = length * dims.iter().map(|d| d.extent as i64).product::<i64>();
        let (mut starts, mut lengths) = (Vec::<i64>::new(), Vec::<i64>::new());
        for place in places {
            if place >= whole {
                return None;
            }
            let at = element_at(&dims, place / length) + place % length;
            match (starts.last(), lengths.last_mut()) {
                (Some(start), Some(run)) if start + *run == at => *run += 1,
                _ => {
                    starts.push(at);
                    lengths.push(1);
                }
            }
        }
        let (count, lengths, starts) = (starts.len() as i64, lengths.as_mut_ptr(), starts.as_mut_ptr());
        committed(made(|newtype| {
            // SAFETY: the arrays have `count` elements.
            unsafe { c::PMPI_Type_create_hindexed_c(count, lengths, starts, MPI_BYTE, newtype) }
        }))
    }
}

/// Where element `number` of an array begins, in its order.
fn element_at(dims: &[Dimension], mut number: i64) -> i64 {
    let mut at = 0;
    for dim in dims {
        at += number % dim.extent as i64 * dim.stride as i64;
        number /= dim.extent as i64;
    }
    at
}

/// The position in a buffer of each byte of `count` values of a datatype, in the order of a
/// message. It packs a buffer in which each byte holds its own position.
fn places(count: i64, datatype: Datatype) -> Option<Vec<i64>> {
    let Shape { size, extent, .. } = Shape::of(datatype)?;
    let (mut first, mut span) = (0, 0);
    // SAFETY: the pointers lead to variables of this function.
    if unsafe { c::PMPI_Type_get_true_extent(datatype, &mut first, &mut span) } != MPI_SUCCESS {
        return None;
    }
    let rest = extent.checked_mul((count - 1).max(0))?;
    let end = first.checked_add(span)?.checked_add(rest.max(0))?;
    let bytes = size.checked_mul(count)?;
    // The datatype must not begin before the section.
    let most = i64::from(c_int::MAX);
    if count < 0 || first + rest.min(0) < 0 || !(0..most).contains(&end) || bytes > most {
        return None;
    }
    let bytes = positive(bytes);
    let mut places = vec![0_i64; bytes];
    let mut packed = vec![0_u8; bytes];
    for part in (0..32).step_by(8).take_while(|part| end >> part != 0) {
        let mut buffer: Vec<u8> = (0..end).map(|place| (place >> part) as u8).collect();
        let mut position = 0;
        // SAFETY: the values lie within the buffer, and there is room for their bytes.
        let code = unsafe {
            let (from, to) = (buffer.as_mut_ptr().cast(), packed.as_mut_ptr().cast());
            c::PMPI_Pack_c(from, count, datatype, to, bytes as i64, &mut position, MPI_COMM_SELF)
        };
        if code != MPI_SUCCESS || position != bytes as i64 {
            return None;
        }
        for (place, byte) in places.iter_mut().zip(&packed) {
            *place |= i64::from(*byte) << part;
        }
    }
    Some(places)
}

impl Drop for Section {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            free(made);
        }
    }
}

/// A number of elements of the array, each of this datatype.
struct Elements {
    count: i64,
    each: Datatype,
    is_made: bool,
}

impl Drop for Elements {
    fn drop(&mut self) {
        if self.is_made {
            free(self.each);
        }
    }
}

/// How much of the array `count` values of the datatype cover. `None`: it has gaps, or does not fit
/// the elements.
fn elements(datatype: Datatype, count: i64, length: usize) -> Option<Elements> {
    let Shape { size, lb, extent } = Shape::of(datatype)?;
    let (length, bytes) = (length as i64, count.checked_mul(size)?);
    if lb != 0 || size != extent || size <= 0 || length <= 0 || count < 0 || bytes % length != 0 {
        return None;
    }
    let count = bytes / length;
    let each = match (length % size, size % length) {
        _ if length == size => return Some(Elements { count, each: datatype, is_made: false }),
        (0, _) => contiguous(length / size, datatype),
        // A value covers several elements, so only bytes can be described.
        (_, 0) => contiguous(length, MPI_BYTE),
        _ => None,
    };
    each.map(|each| Elements { count, each, is_made: true })
}

struct Shape {
    size: i64,
    lb: i64,
    extent: i64,
}

impl Shape {
    fn of(datatype: Datatype) -> Option<Shape> {
        let (mut size, mut lb, mut extent) = (0, 0, 0);
        // SAFETY: the pointers lead to variables of this function.
        let codes = unsafe {
            [c::PMPI_Type_size_c(datatype, &mut size), c::PMPI_Type_get_extent(datatype, &mut lb, &mut extent)]
        };
        (codes == [MPI_SUCCESS; 2]).then_some(Shape { size, lb, extent })
    }
}

fn contiguous(count: i64, oldtype: Datatype) -> Option<Datatype> {
    made(|newtype| {
        // SAFETY: `made` passes a variable of its own as `newtype`.
        unsafe { c::PMPI_Type_contiguous_c(count, oldtype, newtype) }
    })
}

fn vector(count: i64, stride: i64, oldtype: Datatype) -> Option<Datatype> {
    made(|newtype| {
        // SAFETY: `made` passes a variable of its own as `newtype`.
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
    committed(newtype)
}

fn committed(made: Option<Datatype>) -> Option<Datatype> {
    let mut newtype = made?;
    // SAFETY: the handle is a datatype that was just made.
    let code = unsafe { c::PMPI_Type_commit(&mut newtype) };
    (code == MPI_SUCCESS).then_some(newtype)
}

fn made(make: impl FnOnce(*mut Datatype) -> c_int) -> Option<Datatype> {
    let mut newtype = MPI_DATATYPE_NULL;
    (make(&mut newtype) == MPI_SUCCESS).then_some(newtype)
}

fn free(mut datatype: Datatype) {
    // SAFETY: the handle is a datatype that this module made.
    unsafe { c::PMPI_Type_free(&mut datatype) };
}

// ---- a section as a copy ----

/// A buffer that is contiguous, or a copy of its elements until it is dropped.
pub struct Scratch {
    start: *mut c_void,
    section: Option<Copied>,
}

struct Copied {
    length: usize,
    dims: Vec<Dimension>,
    bytes: Vec<u8>,
    /// The content of the program's array before, where MPI may write: only what differs is stored
    /// back, because the program may use the rest at any time.
    before: Option<Vec<u8>>,
}

impl Scratch {
    /// A buffer that MPI reads.
    ///
    /// # Safety
    /// The descriptor may be read and is that of valid memory, as long as the operation lasts.
    #[inline]
    pub unsafe fn input(descriptor: *mut Descriptor) -> Scratch {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe { Scratch::new(descriptor, false) }
    }

    /// A buffer that MPI writes, and may read.
    ///
    /// # Safety
    /// As for [`Scratch::input`].
    #[inline]
    pub unsafe fn output(descriptor: *mut Descriptor) -> Scratch {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe { Scratch::new(descriptor, true) }
    }

    #[inline]
    unsafe fn new(descriptor: *mut Descriptor, is_written: bool) -> Scratch {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe {
            let start = (*descriptor).base_addr;
            if is_contiguous(descriptor) {
                return Scratch { start, section: None };
            }
            let (length, dims) = ((*descriptor).elem_len, dimensions(descriptor).collect::<Vec<_>>());
            let count: isize = dims.iter().map(|d| d.extent).product();
            let bytes = vec![0; length * positive(count)];
            let before = is_written.then(Vec::new);
            let mut scratch = Scratch { start, section: Some(Copied { length, dims, bytes, before }) };
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
            // SAFETY: the array is valid as long as the operation lasts; the copy has room for all
            // its elements.
            section.walk(|from, to| unsafe {
                copy.add(to).copy_from_nonoverlapping(start.cast::<u8>().offset(from), length);
            });
            section.before = section.before.is_some().then(|| section.bytes.clone());
        }
    }

    /// From the copy to the program's array, where MPI has written.
    pub fn store(&mut self) {
        let start = self.start;
        let Some(section) = &mut self.section else { return };
        let Some(before) = section.before.take() else { return };
        let bytes = &section.bytes;
        section.walk(|to, from| {
            let written = from..from + section.length;
            if bytes[written.clone()] != before[written.clone()] {
                // SAFETY: the array is valid as long as the operation lasts.
                unsafe {
                    start.cast::<u8>().offset(to).copy_from_nonoverlapping(bytes[written].as_ptr(), section.length);
                }
            }
        });
        section.before = Some(section.bytes.clone());
    }

    /// Discards what was written.
    pub fn discard(&mut self) {
        if let Some(section) = &mut self.section {
            section.before = None;
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.store();
    }
}

impl Copied {
    /// Each element in the order of the array: its position in the array and in the copy.
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
