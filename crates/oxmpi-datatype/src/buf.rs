//! User memory with a layout: its description ([`Region`]), the right to read it ([`Source`]) or to
//! write it ([`Target`]), and the cursor that moves through its packed stream.
//!
//! A [`Source`] or a [`Target`] is the proof that its memory is valid. Creating one from a pointer
//! is unsafe, and is done once, where the arguments of the user come in; using it is safe. A
//! [`Region`] proves nothing, and its address is never dereferenced. Other threads and processes
//! may write the memory meanwhile, as MPI allows in some cases, so it is accessed by raw copies
//! only, never through a reference.

use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Deref;
use std::sync::Arc;

use oxmpi_base::message_queues::BufferPlace;
use oxmpi_base::{copy, valgrind};

use crate::datatype::Datatype;
use crate::walk::{Copy, List, walk_many};

/// Address, count and layout of memory, which may belong to another process or not exist at all.
#[derive(Clone)]
pub struct Region {
    base: *mut u8,
    /// Packed length.
    bytes: usize,
    /// `None`: the bytes are contiguous from `base` on.
    typed: Option<Typed>,
}

#[derive(Clone)]
struct Typed {
    ty: Arc<Datatype>,
    /// Where the region starts in the packed stream of the elements.
    start: usize,
}

// SAFETY: an address that no method dereferences, and a shared datatype; nothing in it belongs to a
// thread.
unsafe impl Send for Region {}
// SAFETY: nothing changes through `&Region`.
unsafe impl Sync for Region {}

impl Region {
    /// A contiguous region of `bytes` bytes at `base`.
    #[inline]
    pub fn dense(base: *mut u8, bytes: usize) -> Region {
        Region { base, bytes, typed: None }
    }

    /// `count` elements of a committed type at `base` (which is null for `MPI_BOTTOM`). If they are
    /// contiguous, the result is a dense region without a reference to the type.
    ///
    /// A packed length beyond the address space (possible only if elements overlap) is reduced to
    /// the largest number of whole elements that fits.
    pub fn typed(base: *mut u8, count: u64, ty: &Arc<Datatype>) -> Region {
        let facts = &ty.facts;
        let size = facts.size as usize;
        if count == 0 || size == 0 {
            return Region::dense(base, 0);
        }
        let count = (count as usize).min(isize::MAX as usize / size);
        if facts.block && (count == 1 || facts.dense()) {
            return Region::dense(base.wrapping_offset(facts.true_lb as isize), count * size);
        }
        Region { base, bytes: count * size, typed: Some(Typed { ty: ty.clone(), start: 0 }) }
    }

    /// A part of the packed stream; it ends at the end of the region at the latest.
    #[must_use]
    pub fn part(&self, from: usize, bytes: usize) -> Region {
        let from = from.min(self.bytes);
        let bytes = bytes.min(self.bytes - from);
        match &self.typed {
            None => Region::dense(self.base.wrapping_add(from), bytes),
            Some(typed) => {
                Region { base: self.base, bytes, typed: Some(Typed { start: typed.start + from, ..typed.clone() }) }
            }
        }
    }

    /// Packed length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The address of the first byte, if the region is contiguous.
    #[inline]
    pub fn as_dense(&self) -> Option<*mut u8> {
        if self.typed.is_none() { Some(self.base) } else { None }
    }

    /// The type of a region with gaps, the address of its elements, and where the region starts in their packed stream.
    pub fn as_typed(&self) -> Option<(&Arc<Datatype>, usize, usize)> {
        self.typed.as_ref().map(|Typed { ty, start }| (ty, self.base.addr(), *start))
    }

    /// Whether elements surely overlap, so that the region must not be a receive buffer. Only
    /// overlaps that are cheap to detect are found.
    #[inline]
    pub fn overlaps(&self) -> bool {
        match &self.typed {
            None => false,
            Some(Typed { ty, start }) => ty.overlaps((start + self.bytes).div_ceil(ty.facts.size as usize) as u64),
        }
    }

    /// The average length of a contiguous run, to choose between a list of pieces and a packed
    /// copy.
    pub fn average_block(&self) -> usize {
        match &self.typed {
            None => self.bytes,
            Some(typed) => {
                let layout = typed.ty.layout();
                layout.bytes / layout.pieces.max(1)
            }
        }
    }
}

/// Memory that may be read until `'m` ends.
#[derive(Clone)]
pub struct Source<'m> {
    region: Region,
    memory: PhantomData<&'m ()>,
}

impl<'m> Source<'m> {
    /// Where a debugger finds the address and the length of a source at `offset`.
    pub fn place(offset: usize) -> BufferPlace {
        let region = offset + offset_of!(Source<'m>, region);
        let (address, bytes) = (region + offset_of!(Region, base), region + offset_of!(Region, bytes));
        BufferPlace { address: address as u32, bytes: bytes as u32 }
    }

    /// # Safety
    /// All bytes of the region may be read until `'m` ends. For `'static`, this means until the
    /// operation that gets the value has reported its completion: a program promises this with
    /// every MPI call.
    #[inline(always)]
    pub unsafe fn new(region: Region) -> Source<'m> {
        Source { region, memory: PhantomData }
    }

    /// A contiguous source of `bytes` bytes at `base`.
    ///
    /// # Safety
    /// As for [`Source::new`].
    #[inline(always)]
    pub unsafe fn dense(base: *const u8, bytes: usize) -> Source<'m> {
        // SAFETY: the run of `bytes` at `base` may be read until 'm ends: this function's own
        // condition.
        unsafe { Source::new(Region::dense(base.cast_mut(), bytes)) }
    }

    /// The bytes of a slice.
    pub fn of(bytes: &'m [u8]) -> Source<'m> {
        // SAFETY: the slice is borrowed, so it can be read, until 'm ends.
        unsafe { Source::dense(bytes.as_ptr(), bytes.len()) }
    }

    /// A source without bytes.
    #[inline]
    pub fn empty() -> Source<'m> {
        // SAFETY: a region without bytes.
        unsafe { Source::new(Region::dense(std::ptr::null_mut(), 0)) }
    }

    /// A part of the packed stream; it ends at the end of this source at the latest.
    #[must_use]
    pub fn part(&self, from: usize, bytes: usize) -> Source<'m> {
        // SAFETY: a part of a region that may be read until 'm ends.
        unsafe { Source::new(self.region.part(from, bytes)) }
    }

    /// Lets valgrind report bytes that the program has not written.
    #[cold]
    pub fn check_defined(&self) {
        let (mut cursor, mut pieces) = (Cursor::new(), Vec::new());
        while cursor.iovecs(self, &mut pieces, 1024, usize::MAX) > 0 {
            pieces.drain(..).for_each(|(address, bytes)| valgrind::check_defined(address, bytes));
        }
    }
}

impl Source<'_> {
    /// A hash of the bytes: all of a short buffer, samples of a long one.
    pub fn checksum(&self) -> u64 {
        /// Shorter buffers are hashed whole.
        const WHOLE: usize = 8 << 10;
        const SAMPLES: usize = 128;
        const SAMPLE: usize = 64;
        let len = self.len();
        let (parts, step, part) =
            if len <= WHOLE { (1, 0, len) } else { (SAMPLES, (len - SAMPLE) / (SAMPLES - 1), SAMPLE) };
        let mut bytes = [0u8; WHOLE];
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for number in 0..parts {
            let mut cursor = Cursor::new();
            cursor.seek(self, number * step);
            let place = bytes.as_mut_ptr();
            // SAFETY: a part is at most as long as `bytes`, and a source may be read.
            unsafe { cursor.pack(self, place, part) };
            for &byte in &bytes[..part] {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }
}

impl Deref for Source<'_> {
    type Target = Region;

    #[inline(always)]
    fn deref(&self) -> &Region {
        &self.region
    }
}

/// Memory that may be written, and read, until `'m` ends.
#[derive(Clone)]
pub struct Target<'m> {
    source: Source<'m>,
    memory: PhantomData<&'m mut ()>,
}

impl<'m> Target<'m> {
    /// Where a debugger finds the address and the length of a target at `offset`.
    pub fn place(offset: usize) -> BufferPlace {
        Source::place(offset + offset_of!(Target<'m>, source))
    }

    /// # Safety
    /// All bytes of the region may be written and read until `'m` ends, and no Rust reference to
    /// them is used meanwhile. For `'static`, this means until the operation that gets the value
    /// has reported its completion.
    #[inline(always)]
    pub unsafe fn new(region: Region) -> Target<'m> {
        // SAFETY: what may be written may be read.
        Target { source: unsafe { Source::new(region) }, memory: PhantomData }
    }

    /// A contiguous target of `bytes` bytes at `base`.
    ///
    /// # Safety
    /// As for [`Target::new`].
    #[inline(always)]
    pub unsafe fn dense(base: *mut u8, bytes: usize) -> Target<'m> {
        // SAFETY: the run of `bytes` at `base` may be written until 'm ends: this function's own
        // condition.
        unsafe { Target::new(Region::dense(base, bytes)) }
    }

    /// The bytes of a slice.
    pub fn of(bytes: &'m mut [u8]) -> Target<'m> {
        // SAFETY: the slice is borrowed exclusively until 'm ends.
        unsafe { Target::dense(bytes.as_mut_ptr(), bytes.len()) }
    }

    /// A target without bytes.
    #[inline]
    pub fn empty() -> Target<'m> {
        // SAFETY: a region without bytes.
        unsafe { Target::new(Region::dense(std::ptr::null_mut(), 0)) }
    }

    /// A part of the packed stream; it ends at the end of this target at the latest.
    #[must_use]
    pub fn part(&self, from: usize, bytes: usize) -> Target<'m> {
        // SAFETY: a part of a region that may be written until 'm ends.
        unsafe { Target::new(self.source.region.part(from, bytes)) }
    }
}

impl<'m> Deref for Target<'m> {
    type Target = Source<'m>;

    #[inline(always)]
    fn deref(&self) -> &Source<'m> {
        &self.source
    }
}

/// A position in the packed stream of a buffer. A copy can stop and continue at any byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    position: usize,
}

impl Cursor {
    #[inline]
    pub fn new() -> Cursor {
        Cursor::default()
    }

    /// Bytes of the stream before the cursor.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Moves to a byte of the stream, or to its end if that is smaller.
    #[inline]
    pub fn seek(&mut self, buf: &Region, byte: usize) {
        self.position = byte.min(buf.bytes);
    }

    /// Copies the next bytes of the stream, at most `max`, to `dst`. Returns their number.
    ///
    /// # Safety
    /// `dst` is valid to write for `max` bytes (or for what is left of the stream), and does not
    /// overlap the source.
    #[inline]
    pub unsafe fn pack(&mut self, buf: &Source<'_>, dst: *mut u8, max: usize) -> usize {
        // SAFETY: a source may be read; `dst` has room for `max` bytes outside of it.
        unsafe { self.copy::<true>(buf, dst, max, false) }
    }

    /// The same, for a `dst` that another processor has accessed just before, so that its cache
    /// lines must come from there.
    ///
    /// # Safety
    /// As for [`Cursor::pack`].
    #[inline]
    pub unsafe fn pack_afar(&mut self, buf: &Source<'_>, dst: *mut u8, max: usize) -> usize {
        // SAFETY: a source may be read; `dst` has room for `max` bytes outside of it.
        unsafe { self.copy::<true>(buf, dst, max, true) }
    }

    /// Copies `len` bytes (or the rest of the stream, if that is shorter) from `src` into the
    /// buffer. Returns their number.
    ///
    /// # Safety
    /// `src` is valid to read for `len` bytes (or for what is left of the stream), and does not
    /// overlap the target.
    #[inline]
    pub unsafe fn unpack(&mut self, buf: &Target<'_>, src: *const u8, len: usize) -> usize {
        // SAFETY: a target may be written; `src` has `len` bytes outside of it, which are only
        // read.
        unsafe { self.copy::<false>(buf, src.cast_mut(), len, false) }
    }

    /// [`Cursor::pack`] into a slice, up to its length.
    pub fn pack_into(&mut self, buf: &Source<'_>, dst: &mut [u8]) -> usize {
        // SAFETY: the slice may be written, and being borrowed exclusively is not part of a source.
        unsafe { self.pack(buf, dst.as_mut_ptr(), dst.len()) }
    }

    /// [`Cursor::unpack`] for a slice.
    pub fn unpack_from(&mut self, buf: &Target<'_>, src: &[u8]) -> usize {
        // SAFETY: the slice may be read; while it is borrowed no target may write it.
        unsafe { self.unpack(buf, src.as_ptr(), src.len()) }
    }

    /// # Safety
    /// The region may be read for packing, or written for unpacking; `packed` has `max` bytes (or
    /// the rest of the stream) to write or to read; the two do not overlap.
    #[inline]
    unsafe fn copy<const PACK: bool>(&mut self, buf: &Region, packed: *mut u8, max: usize, afar: bool) -> usize {
        let n = max.min(buf.bytes.saturating_sub(self.position));
        if n == 0 {
            return 0;
        }
        match &buf.typed {
            None => {
                let mem = buf.base.wrapping_add(self.position);
                let (src, dst) = if PACK { (mem, packed) } else { (packed, mem) };
                // SAFETY: `n` bytes from the cursor on are inside the dense region, and at most
                // `max` of `packed`.
                unsafe { copy::bytes(src, dst, n) };
            }
            Some(Typed { ty, start }) => {
                let (extent, from) = (ty.extent() as isize, start + self.position);
                let mut sink = Copy::<PACK>::new(packed, buf.bytes, afar.then(|| packed.wrapping_add(n)));
                walk_many(ty.layout(), extent, buf.base, from, from + n, &mut sink);
            }
        }
        self.position += n;
        n
    }

    /// Appends the next pieces of memory (address and length) to `out` until it has `max_pieces`
    /// entries or `max_bytes` have been added. Adjacent pieces are joined. Returns the number of
    /// bytes added, and moves the cursor behind them.
    pub fn iovecs(
        &mut self,
        buf: &Region,
        out: &mut Vec<(usize, usize)>,
        max_pieces: usize,
        max_bytes: usize,
    ) -> usize {
        let n = max_bytes.min(buf.bytes.saturating_sub(self.position));
        if n == 0 || out.len() >= max_pieces {
            return 0;
        }
        let n = match &buf.typed {
            None => {
                out.push((buf.base.addr().wrapping_add(self.position), n));
                n
            }
            Some(Typed { ty, start }) => {
                let (extent, from) = (ty.extent() as isize, start + self.position);
                let mut sink = List { pieces: out, max: max_pieces, bytes: 0 };
                walk_many(ty.layout(), extent, buf.base, from, from + n, &mut sink);
                sink.bytes
            }
        };
        self.position += n;
        n
    }
}
