//! Arguments of MPI functions that point into the program's memory. A value here is the proof that
//! the memory is valid: making one from a pointer is unsafe and happens once, in an entry point,
//! where the standard's text on the function is the promise; using one is safe. Elements are
//! accessed in place, and no reference to them outlives a statement: a call that waits lets other
//! threads and user functions run.
#![expect(unsafe_code, reason = "the one place that follows pointers to a program's arguments")]

use crate::checks::FIRST_ADDRESS;
use crate::process::Process;
use oxmpi_abi::constants::{MPI_ERR_ARG, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_UNDEFINED};
use oxmpi_abi::handle::{Datatype, Request};
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_base::huge;
use oxmpi_datatype::{Source, Target};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The error for a null pointer where the argument must not be null.
#[cold]
pub fn null_pointer(name: &str) -> Error {
    Error::new(MPI_ERR_ARG, format!("the argument {name} is a null pointer"))
}

// ---- buffers ----

/// A buffer to read: `count` elements of `datatype` at an address.
#[derive(Clone, Copy)]
pub struct SourceArg<'m> {
    address: *const u8,
    pub count: i64,
    pub datatype: Datatype,
    memory: PhantomData<&'m ()>,
}

impl<'m> SourceArg<'m> {
    /// # Safety
    /// If `datatype` and `count` are valid, so many elements at `address` may be read until `'m`
    /// ends; for `'static`, until the operation that is started with them is complete.
    #[inline(always)]
    pub unsafe fn new(address: *const c_void, count: i64, datatype: Datatype) -> SourceArg<'m> {
        SourceArg { address: address.cast(), count, datatype, memory: PhantomData }
    }

    #[inline(always)]
    pub fn address(self) -> *const u8 {
        self.address
    }

    /// The buffer with another count.
    ///
    /// # Safety
    /// The standard's text on the function gives the buffer that length.
    pub unsafe fn with_count(self, count: i64) -> SourceArg<'m> {
        SourceArg { count, ..self }
    }

    /// The length of the memory of a one-sided access, if it is contiguous, of a predefined type, and the arguments are
    /// plainly valid.
    #[inline(always)]
    pub fn plain_bytes(self) -> Option<usize> {
        plain_bytes(self.address, self.count, self.datatype, &PLAIN_ACCESS)
    }

    /// The memory of a message, if it is such.
    #[inline(always)]
    pub fn plain(self) -> Option<Source<'m>> {
        let bytes = plain_bytes(self.address, self.count, self.datatype, &PLAIN_MESSAGE)?;
        // SAFETY: `count` elements of the type, which has no gaps, may be read until 'm ends: the constructor's condition.
        Some(unsafe { Source::dense(self.address, bytes) })
    }
}

/// A buffer to write, or to read and write.
#[derive(Clone, Copy)]
pub struct TargetArg<'m> {
    address: *mut u8,
    pub count: i64,
    pub datatype: Datatype,
    memory: PhantomData<&'m mut ()>,
}

impl<'m> TargetArg<'m> {
    /// # Safety
    /// As for [`SourceArg::new`], for writing and reading; no Rust reference to the memory is used
    /// until then.
    #[inline(always)]
    pub unsafe fn new(address: *mut c_void, count: i64, datatype: Datatype) -> TargetArg<'m> {
        TargetArg { address: address.cast(), count, datatype, memory: PhantomData }
    }

    #[inline(always)]
    pub fn address(self) -> *mut u8 {
        self.address
    }

    /// As [`SourceArg::with_count`].
    ///
    /// # Safety
    /// The standard's text on the function gives the buffer that length.
    pub unsafe fn with_count(self, count: i64) -> TargetArg<'m> {
        TargetArg { count, ..self }
    }

    /// As [`SourceArg::plain_bytes`].
    #[inline(always)]
    pub fn plain_bytes(self) -> Option<usize> {
        plain_bytes(self.address, self.count, self.datatype, &PLAIN_ACCESS)
    }

    /// As [`SourceArg::plain`].
    #[inline(always)]
    pub fn plain(self) -> Option<Target<'m>> {
        let bytes = plain_bytes(self.address, self.count, self.datatype, &PLAIN_MESSAGE)?;
        // SAFETY: `count` elements of the type, which has no gaps, may be written until 'm ends: the constructor's condition.
        Some(unsafe { Target::dense(self.address, bytes) })
    }

    /// The same memory, to be read.
    #[inline(always)]
    pub fn as_source(self) -> SourceArg<'m> {
        SourceArg { address: self.address, count: self.count, datatype: self.datatype, memory: PhantomData }
    }
}

/// A one-sided access: what it reads and what it writes of the caller's memory, and the memory of the target.
pub struct Access(pub Option<SourceArg<'static>>, pub Option<TargetArg<'static>>, pub At);

/// The length of a contiguous buffer of a predefined type, if the arguments are plainly valid.
#[inline(always)]
fn plain_bytes(address: *const u8, count: i64, datatype: Datatype, limit: &AtomicUsize) -> Option<usize> {
    let size = oxmpi_datatype::dense_size(datatype.0)?;
    // Long buffers take the general path, which counts their uses. A count below that limit cannot overflow the product.
    let bytes = size * (count as usize).min(huge::LONG);
    let is_valid = bytes == 0 || address as usize >= FIRST_ADDRESS;
    (bytes < limit.load(Relaxed) && is_valid).then_some(bytes)
}

/// Messages of fewer bytes may take short paths.
static PLAIN_MESSAGE: AtomicUsize = AtomicUsize::new(huge::LONG);
/// So may one-sided accesses.
static PLAIN_ACCESS: AtomicUsize = AtomicUsize::new(huge::LONG);

/// From now on all buffers take the general path, where valgrind and `--check` see what is accessed.
pub fn forbid_short_paths() {
    PLAIN_MESSAGE.store(0, Relaxed);
    forbid_short_accesses();
}

/// From now on puts and gets take the general path, where a recorder hears of them.
pub(crate) fn forbid_short_accesses() {
    PLAIN_ACCESS.store(0, Relaxed);
}

impl Process {
    /// A buffer argument, checked.
    #[inline(always)]
    pub fn source_of<'m>(&self, arg: SourceArg<'m>) -> Result<Source<'m>> {
        let region = self.buffer(arg.address, arg.count, arg.datatype)?;
        // SAFETY: the region is that of `count` elements of the type at the address, which may be read until 'm ends.
        Ok(unsafe { Source::new(region) })
    }

    /// A buffer argument that will be written to, checked: its elements do not overlap.
    #[inline(always)]
    pub fn target_of<'m>(&self, arg: TargetArg<'m>) -> Result<Target<'m>> {
        let region = self.target(arg.address, arg.count, arg.datatype)?;
        // SAFETY: the region is that of `count` elements of the type at the address, which may be written until 'm ends.
        Ok(unsafe { Target::new(region) })
    }
}

/// The target of an access to a window.
#[derive(Clone, Copy)]
pub struct At {
    pub rank: c_int,
    pub disp: i64,
    pub count: i64,
    pub datatype: Datatype,
}

impl At {
    #[inline(always)]
    pub fn new(rank: c_int, disp: i64, count: i64, datatype: Datatype) -> At {
        At { rank, disp, count, datatype }
    }
}

/// A buffer of packed data to read, and its length in bytes.
#[derive(Clone, Copy)]
pub struct PackedSource<'m> {
    address: *const u8,
    pub size: i64,
    memory: PhantomData<&'m ()>,
}

impl<'m> PackedSource<'m> {
    /// # Safety
    /// `address` is null, or `size` bytes may be read there until `'m` ends.
    pub unsafe fn new(address: *const c_void, size: i64) -> PackedSource<'m> {
        PackedSource { address: address.cast(), size, memory: PhantomData }
    }

    /// The bytes from a position inside the buffer; null is valid when `needed` is 0.
    pub fn from(self, position: usize, needed: usize, name: &str) -> Result<Source<'m>> {
        check_packed(self.address, needed, name)?;
        let left = (self.size as usize).saturating_sub(position);
        let left = if self.address.is_null() { 0 } else { left };
        // SAFETY: the rest of the buffer's `size` bytes, or none.
        Ok(unsafe { Source::dense(self.address.wrapping_add(position), left) })
    }
}

/// A buffer for packed data, and its length in bytes.
#[derive(Clone, Copy)]
pub struct PackedTarget<'m> {
    address: *mut u8,
    pub size: i64,
    memory: PhantomData<&'m mut ()>,
}

impl<'m> PackedTarget<'m> {
    /// # Safety
    /// `address` is null, or `size` bytes may be written there until `'m` ends, and no Rust reference to them is used meanwhile.
    pub unsafe fn new(address: *mut c_void, size: i64) -> PackedTarget<'m> {
        PackedTarget { address: address.cast(), size, memory: PhantomData }
    }

    /// As [`PackedSource::from`].
    pub fn from(self, position: usize, needed: usize, name: &str) -> Result<Target<'m>> {
        check_packed(self.address, needed, name)?;
        let left = (self.size as usize).saturating_sub(position);
        let left = if self.address.is_null() { 0 } else { left };
        // SAFETY: the rest of the buffer's `size` bytes, or none.
        Ok(unsafe { Target::dense(self.address.wrapping_add(position), left) })
    }
}

fn check_packed(address: *const u8, needed: usize, name: &str) -> Result<()> {
    if address.is_null() && needed > 0 {
        bail!(MPI_ERR_BUFFER, "{name} is a null pointer, but {needed} bytes are to be moved");
    }
    Ok(())
}

// ---- arrays ----

/// An array to read, and its number of elements; null if it is empty, or by mistake.
pub struct Array<'m, T> {
    base: *const T,
    count: i64,
    memory: PhantomData<&'m T>,
}

impl<T> Clone for Array<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Array<'_, T> {}

impl<'m, T: Copy> Array<'m, T> {
    /// # Safety
    /// `base` is null, or `count` elements lie there, which nobody changes until `'m` ends.
    #[inline]
    pub unsafe fn new(base: *const T, count: i64) -> Array<'m, T> {
        Array { base, count, memory: PhantomData }
    }

    pub fn count(self) -> i64 {
        self.count
    }

    pub fn addr(self) -> usize {
        self.base.addr()
    }

    pub fn is_null(self) -> bool {
        self.base.is_null()
    }

    /// The elements. `length` is the name of the argument that says how many, and `class` the error when that is negative.
    pub fn elements(self, name: &str, length: &str, class: c_int) -> Result<&'m [T]> {
        match usize::try_from(self.count) {
            Err(_) => bail!(class, "{length} is {}, which is negative", self.count),
            Ok(0) => Ok(&[]),
            Ok(_) if self.base.is_null() => Err(null_pointer(name)),
            // SAFETY: not null, so `count` elements, which nobody changes until 'm ends.
            Ok(count) => Ok(unsafe { std::slice::from_raw_parts(self.base, count) }),
        }
    }
}

/// An array to read whose length does not come from an argument, but from the size of a group, for
/// example.
pub struct Open<'m, T> {
    base: *const T,
    memory: PhantomData<&'m T>,
}

impl<T> Clone for Open<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Open<'_, T> {}

impl<'m, T: Copy> Open<'m, T> {
    /// # Safety
    /// `base` is null, a special value of the standard, or the array that the standard requires,
    /// which nobody changes until `'m` ends.
    #[inline]
    pub unsafe fn new(base: *const T) -> Open<'m, T> {
        Open { base, memory: PhantomData }
    }

    pub fn addr(self) -> usize {
        self.base.addr()
    }

    /// # Safety
    /// By the standard's text on the function, the array has `count` elements.
    pub unsafe fn of(self, count: i64) -> Array<'m, T> {
        // SAFETY: null, or so many elements: the conditions of the two functions together.
        unsafe { Array::new(self.base, count) }
    }
}

/// The argument `argv` of a command: strings, possibly followed by a null pointer.
#[derive(Clone, Copy)]
pub struct Strings<'m> {
    base: *const *mut std::ffi::c_char,
    memory: PhantomData<&'m u8>,
}

impl<'m> Strings<'m> {
    /// # Safety
    /// `base` is null or an array of pointers to strings, which ends with a null pointer unless the caller of [`Strings::first`]
    /// stops before; nobody changes it until `'m` ends.
    pub unsafe fn new(base: *const *mut std::ffi::c_char) -> Strings<'m> {
        Strings { base, memory: PhantomData }
    }

    /// All strings, at most `most`.
    pub fn first(self, most: usize, name: &str) -> Result<Vec<&'m [u8]>> {
        if most > 0 && self.base.is_null() {
            return Err(null_pointer(name));
        }
        // SAFETY: the array is not null where it is read, and goes on until a null pointer.
        let pointers = (0..most).map(|i| unsafe { self.base.add(i).read() }).take_while(|string| !string.is_null());
        // SAFETY: not null, so a string, which nobody changes until 'm ends.
        Ok(pointers.map(|string| unsafe { std::ffi::CStr::from_ptr(string) }.to_bytes()).collect())
    }

    /// All strings; null stands for none.
    pub fn all(self) -> Vec<&'m [u8]> {
        if self.base.is_null() { Vec::new() } else { self.first(usize::MAX, "argv").unwrap_or_default() }
    }
}

/// A string that is significant on only one process.
#[derive(Clone, Copy)]
pub struct Text<'m> {
    at: *const std::ffi::c_char,
    memory: PhantomData<&'m u8>,
}

impl<'m> Text<'m> {
    /// # Safety
    /// Where the argument is significant, it is null or a string that ends, and nobody changes it until `'m` ends.
    pub unsafe fn new(at: *const std::ffi::c_char) -> Text<'m> {
        Text { at, memory: PhantomData }
    }

    /// # Safety
    /// The argument is significant on this process.
    pub unsafe fn get(self, name: &str) -> Result<&'m [u8]> {
        if self.at.is_null() {
            return Err(null_pointer(name));
        }
        // SAFETY: significant and not null, so a string that ends.
        Ok(unsafe { std::ffi::CStr::from_ptr(self.at) }.to_bytes())
    }
}

/// An array to write, and the number of elements that it has room for.
pub struct OutArray<'m, T> {
    base: *mut T,
    room: i64,
    memory: PhantomData<&'m mut T>,
}

impl<T> Clone for OutArray<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OutArray<'_, T> {}

impl<'m, T: Copy> OutArray<'m, T> {
    /// # Safety
    /// `base` is null, a special value of the standard, or `room` elements can be written there
    /// until `'m` ends.
    #[inline]
    pub unsafe fn new(base: *mut T, room: i64) -> OutArray<'m, T> {
        OutArray { base, room, memory: PhantomData }
    }

    pub fn room(self) -> i64 {
        self.room
    }

    pub fn addr(self) -> usize {
        self.base.addr()
    }

    pub fn is_null(self) -> bool {
        self.base.is_null()
    }

    /// An error for a null pointer if elements are to be stored.
    pub fn check(self, name: &str) -> Result<()> {
        if self.room > 0 && self.base.is_null() { Err(null_pointer(name)) } else { Ok(()) }
    }

    /// Stores an element; drops it if it is out of bounds or the array is null.
    #[inline]
    pub fn set(self, index: usize, value: T) {
        if (index as u64) < self.room.max(0) as u64 && !self.base.is_null() {
            // SAFETY: within the room of an array that is there.
            unsafe { self.base.add(index).write(value) };
        }
    }

    /// Changes the elements of an INOUT argument in place.
    pub fn change(self, name: &str, with: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()> {
        self.check(name)?;
        if self.room <= 0 {
            return with(&mut []);
        }
        // SAFETY: not null, so `room` elements, which nobody else uses during the call.
        with(unsafe { std::slice::from_raw_parts_mut(self.base, self.room as usize) })
    }

    /// Stores elements from the first on; all must have room.
    pub fn fill(self, values: &[T], name: &str) -> Result<()> {
        if self.room < 0 || (self.room as u64) < values.len() as u64 {
            let room = self.room;
            bail!(MPI_ERR_ARG, "the array {name} has room for {room} integers; {} are to be stored", values.len());
        }
        if !values.is_empty() && self.base.is_null() {
            return Err(null_pointer(name));
        }
        values.iter().enumerate().for_each(|(index, &value)| self.set(index, value));
        Ok(())
    }
}

/// An array of `int`, `MPI_Count` or `MPI_Aint`: one form for a function and its large-count twin.
#[derive(Clone, Copy)]
pub struct IntArray<'m> {
    base: *const u8,
    wide: bool,
    count: i64,
    memory: PhantomData<&'m i64>,
}

impl<'m> IntArray<'m> {
    /// # Safety
    /// As for [`Array::new`].
    #[inline]
    pub unsafe fn narrow(base: *const c_int, count: i64) -> IntArray<'m> {
        IntArray { base: base.cast(), wide: false, count, memory: PhantomData }
    }

    /// # Safety
    /// As for [`Array::new`].
    #[inline]
    pub unsafe fn wide(base: *const i64, count: i64) -> IntArray<'m> {
        IntArray { base: base.cast(), wide: true, count, memory: PhantomData }
    }

    /// The elements as 64-bit integers.
    pub fn to_vec(self, name: &str) -> Result<Vec<i64>> {
        let IntArray { base, wide, count, .. } = self;
        if count < 0 {
            bail!(MPI_ERR_COUNT, "the count is {count}, which is negative");
        }
        if count > 0 && base.is_null() {
            return Err(null_pointer(name));
        }
        let mut all = reserved(count, name)?;
        // SAFETY: not null where it is read, so `count` elements of the type that the constructor was given.
        all.extend((0..count as usize).map(|i| unsafe {
            if wide { base.cast::<i64>().add(i).read() } else { base.cast::<c_int>().add(i).read().into() }
        }));
        Ok(all)
    }
}

/// An empty list with room for the elements of an argument, which may be more than fit into memory.
pub fn reserved<T>(count: i64, name: &str) -> Result<Vec<T>> {
    let mut all = Vec::new();
    if all.try_reserve_exact(count as usize).is_err() {
        bail!(oxmpi_abi::constants::MPI_ERR_NO_MEM, "there is no memory for the {count} elements of {name}");
    }
    Ok(all)
}

/// The array of requests of a call that completes or starts several.
#[derive(Clone, Copy)]
pub struct Requests<'m> {
    base: *mut Request,
    count: i64,
    memory: PhantomData<&'m mut Request>,
}

impl<'m> Requests<'m> {
    /// # Safety
    /// `base` is null, or `count` handles lie there, which nobody else changes until `'m` ends; they can be written unless the
    /// call only asks for their state.
    #[inline(always)]
    pub unsafe fn new(base: *const Request, count: i64) -> Requests<'m> {
        Requests { base: base.cast_mut(), count, memory: PhantomData }
    }

    /// The requests in place; the array may be null only when it is empty. Cells, not references to
    /// the handles: user functions and other threads run while a call waits.
    #[inline(always)]
    pub fn cells(self, name: &str) -> Result<&'m [Cell<Request>]> {
        if self.count < 0 {
            return Err(negative_length(name, self.count));
        }
        if self.count == 0 {
            return Ok(&[]);
        }
        if self.base.is_null() {
            return Err(null_pointer(name));
        }
        // SAFETY: not null, so `count` handles; a cell is laid out as what it holds.
        Ok(unsafe { std::slice::from_raw_parts(self.base.cast::<Cell<Request>>(), self.count as usize) })
    }
}

#[cold]
fn negative_length(name: &str, count: i64) -> Error {
    Error::new(MPI_ERR_COUNT, format!("the length of {name} is {count}, which is negative"))
}

// ---- statuses ----

/// The address of a status; null for `MPI_STATUS_IGNORE`.
#[derive(Clone, Copy)]
pub struct OutStatus<'m> {
    at: *mut Status,
    memory: PhantomData<&'m mut Status>,
}

impl<'m> OutStatus<'m> {
    /// # Safety
    /// `at` is null or the address of a status that nobody else uses until `'m` ends.
    #[inline(always)]
    pub unsafe fn new(at: *mut Status) -> OutStatus<'m> {
        OutStatus { at, memory: PhantomData }
    }

    /// Stores the status of an operation, if it is wanted; the error field is unchanged.
    #[inline(always)]
    pub fn set(self, status: &Status) {
        if !self.at.is_null() {
            // SAFETY: the address of a status. It may be uninitialised, but ints have no invalid
            // values and the error field is written back unread.
            unsafe {
                let error = (&raw const (*self.at).error).read();
                self.at.write(*status);
                (*self.at).error = error;
            }
        }
    }

    /// Stores the status with its error field.
    #[inline(always)]
    pub fn set_whole(self, status: Status) {
        if !self.at.is_null() {
            // SAFETY: the address of a status that nobody else uses until 'm ends.
            unsafe { self.at.write(status) };
        }
    }

    /// Stores the status of an empty completion, including its error field.
    pub fn set_empty(self) {
        self.set_whole(Status::empty());
    }

    /// The status in place, while nothing else runs.
    #[inline(always)]
    pub fn with<R>(self, store: impl FnOnce(Option<&mut Status>) -> R) -> R {
        // SAFETY: null or the place of a status, which is eight integers and so has no invalid values; nobody else uses it.
        store(unsafe { self.at.as_mut() })
    }
}

/// The array of statuses of a call that completes several requests, as long as theirs; null for `MPI_STATUSES_IGNORE`.
#[derive(Clone, Copy)]
pub struct Statuses<'m> {
    base: *mut Status,
    count: i64,
    memory: PhantomData<&'m mut Status>,
}

impl<'m> Statuses<'m> {
    /// # Safety
    /// `base` is null or the place of `count` statuses, which nobody else uses until `'m` ends.
    #[inline(always)]
    pub unsafe fn new(base: *mut Status, count: i64) -> Statuses<'m> {
        Statuses { base, count, memory: PhantomData }
    }

    #[inline(always)]
    pub fn at(self, index: usize) -> OutStatus<'m> {
        let inside = !self.base.is_null() && (index as u64) < self.count.max(0) as u64;
        // SAFETY: null, or an element of the array.
        unsafe { OutStatus::new(if inside { self.base.add(index) } else { std::ptr::null_mut() }) }
    }

    /// Stores an error code in the status of an element.
    pub fn set_error(self, index: usize, code: c_int) {
        self.at(index).with(|status| {
            if let Some(status) = status {
                status.error = code;
            }
        });
    }
}

// ---- single values ----

/// The address of an integer, `int`, `MPI_Count` or `MPI_Aint`: one form for a function and its
/// large-count twin.
#[derive(Clone, Copy)]
pub struct OutInt<'m> {
    at: *mut u8,
    wide: bool,
    memory: PhantomData<&'m mut i64>,
}

impl<'m> OutInt<'m> {
    /// # Safety
    /// `at` is null or can be written until `'m` ends; it holds a value where the function reads one.
    #[inline]
    pub unsafe fn narrow(at: *mut c_int) -> OutInt<'m> {
        OutInt { at: at.cast(), wide: false, memory: PhantomData }
    }

    /// # Safety
    /// As for [`OutInt::narrow`].
    #[inline]
    pub unsafe fn wide(at: *mut i64) -> OutInt<'m> {
        OutInt { at: at.cast(), wide: true, memory: PhantomData }
    }

    #[inline]
    pub fn check(self, name: &str) -> Result<()> {
        if self.at.is_null() { Err(null_pointer(name)) } else { Ok(()) }
    }

    /// The value of an INOUT argument.
    pub fn get(self, name: &str) -> Result<i64> {
        self.check(name)?;
        // SAFETY: not null, and of the type that the constructor was given; the function reads this argument.
        Ok(unsafe { if self.wide { self.at.cast::<i64>().read() } else { self.at.cast::<c_int>().read().into() } })
    }

    /// Stores the value; false, and nothing stored, when it does not fit.
    #[inline]
    pub fn set(self, value: i64, name: &str) -> Result<bool> {
        self.check(name)?;
        // SAFETY: not null, and of the type that the constructor was given.
        unsafe {
            if self.wide {
                self.at.cast::<i64>().write(value);
            } else if let Ok(value) = c_int::try_from(value) {
                self.at.cast::<c_int>().write(value);
            } else {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl OutInt<'_> {
    /// Stores a number; `MPI_UNDEFINED` if there is none or it does not fit.
    pub fn set_or_undefined(self, value: Option<i128>, name: &str) -> Result<()> {
        let value = value.and_then(|value| i64::try_from(value).ok());
        if !matches!(value.map(|value| self.set(value, name)).transpose()?, Some(true)) {
            self.set(MPI_UNDEFINED.into(), name)?;
        }
        Ok(())
    }
}

/// The address of a result, which the call may leave unchanged; null by mistake, or when the result
/// is not wanted.
pub struct Out<'m, T> {
    at: *mut T,
    memory: PhantomData<&'m mut T>,
}

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<'m, T> Out<'m, T> {
    /// # Safety
    /// `at` is null or can be written until `'m` ends.
    #[inline(always)]
    pub unsafe fn new(at: *mut T) -> Out<'m, T> {
        Out { at, memory: PhantomData }
    }

    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.at.is_null()
    }

    #[inline(always)]
    pub fn check(self, name: &str) -> Result<()> {
        if self.at.is_null() { Err(null_pointer(name)) } else { Ok(()) }
    }

    /// Stores a value unless the address is null.
    #[inline(always)]
    pub fn set(self, value: T) {
        if !self.at.is_null() {
            // SAFETY: not null, so it can be written.
            unsafe { self.at.write(value) };
        }
    }
}

/// Room for a string and the null character after it.
#[derive(Clone, Copy)]
pub struct OutText<'m> {
    at: *mut u8,
    room: i64,
    memory: PhantomData<&'m mut u8>,
}

impl<'m> OutText<'m> {
    /// # Safety
    /// `at` is null or `room` characters can be written there until `'m` ends.
    #[inline]
    pub unsafe fn new(at: *mut std::ffi::c_char, room: i64) -> OutText<'m> {
        OutText { at: at.cast(), room, memory: PhantomData }
    }

    pub fn room(self) -> i64 {
        self.room
    }

    pub fn is_null(self) -> bool {
        self.at.is_null()
    }

    pub fn check(self, name: &str) -> Result<()> {
        if self.at.is_null() { Err(null_pointer(name)) } else { Ok(()) }
    }

    /// Stores as much of a string as there is room for, and its terminator; returns the number of
    /// characters.
    pub fn set(self, string: &[u8]) -> usize {
        if self.at.is_null() || self.room <= 0 {
            return 0;
        }
        let count = string.len().min(self.room as usize - 1);
        // SAFETY: not null, and there is room for `count` characters and one more.
        unsafe {
            self.at.copy_from_nonoverlapping(string.as_ptr(), count);
            self.at.add(count).write(0);
        }
        count
    }
}
