//! Memory with a layout: where it is ([`Region`]), and that it may be read ([`Source`]) or written ([`Target`]); and the
//! cursor that moves through its packed stream.
//!
//! A value of [`Source`] or [`Target`] is the proof that its memory is there. Making one from a pointer is unsafe, once,
//! where a user's arguments come in; using it is safe. A [`Region`] proves nothing, and nothing follows its address.
//! Others may write the memory meanwhile, as MPI allows in places: only raw copies touch it, never a reference.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use oxmpi_base::copy;

use crate::datatype::Datatype;
use crate::walk::{Copy, List, walk_many};

/// Address, count and layout of memory, which may be another process's, or none at all.
#[derive(Clone)]
pub struct Region {
    base: *mut u8,
    /// Packed length.
    bytes: usize,
    /// `None`: the bytes lie in one run from `base` on.
    typed: Option<Typed>,
}

#[derive(Clone)]
struct Typed {
    ty: Arc<Datatype>,
    /// Where in the packed stream of the elements the buffer begins.
    start: usize,
}

// SAFETY: an address that no method follows, and a shared datatype; nothing in it belongs to a thread.
unsafe impl Send for Region {}
// SAFETY: nothing changes through `&Region`.
unsafe impl Sync for Region {}

impl Region {
    /// `bytes` in one run from `base` on.
    #[inline]
    pub fn dense(base: *mut u8, bytes: usize) -> Region {
        Region { base, bytes, typed: None }
    }

    /// `count` elements of a type that has been committed, at `base` (which is null for `MPI_BOTTOM`). When they lie
    /// in one run, the result is a dense buffer and does not hold on to the type.
    ///
    /// A packed length beyond the address space (possible only where elements overlap) is cut down to the largest
    /// number of whole elements that fits.
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

    /// A part of the packed stream, which ends where the buffer does at the latest.
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

    /// Packed bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Where the bytes begin, when they lie in one run.
    #[inline]
    pub fn as_dense(&self) -> Option<*mut u8> {
        if self.typed.is_none() { Some(self.base) } else { None }
    }

    /// Whether two elements surely share a place, so that the region must not be received into. Only what is cheap to
    /// see is seen.
    #[inline]
    pub fn overlaps(&self) -> bool {
        match &self.typed {
            None => false,
            Some(Typed { ty, start }) => ty.overlaps((start + self.bytes).div_ceil(ty.facts.size as usize) as u64),
        }
    }

    /// How long a run of memory is on average, to choose between a list of pieces and a packed copy.
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
    /// # Safety
    /// All bytes of the region may be read until `'m` ends. For `'static`, that is until the operation that the value
    /// is given to has reported its end: the promise that a program makes with every call of MPI.
    #[inline(always)]
    pub unsafe fn new(region: Region) -> Source<'m> {
        Source { region, memory: PhantomData }
    }

    /// `bytes` in one run from `base` on.
    ///
    /// # Safety
    /// As for [`Source::new`].
    #[inline(always)]
    pub unsafe fn dense(base: *const u8, bytes: usize) -> Source<'m> {
        // SAFETY: the run of `bytes` at `base` may be read until 'm ends: this function's own condition.
        unsafe { Source::new(Region::dense(base.cast_mut(), bytes)) }
    }

    /// Bytes of this program's own.
    pub fn of(bytes: &'m [u8]) -> Source<'m> {
        // SAFETY: the slice is borrowed, so it can be read, until 'm ends.
        unsafe { Source::dense(bytes.as_ptr(), bytes.len()) }
    }

    /// No memory at all.
    #[inline]
    pub fn empty() -> Source<'m> {
        // SAFETY: a region without bytes.
        unsafe { Source::new(Region::dense(std::ptr::null_mut(), 0)) }
    }

    /// A part of the packed stream, which ends where this does at the latest.
    #[must_use]
    pub fn part(&self, from: usize, bytes: usize) -> Source<'m> {
        // SAFETY: a part of a region that may be read until 'm ends.
        unsafe { Source::new(self.region.part(from, bytes)) }
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
    /// # Safety
    /// All bytes of the region may be written and read until `'m` ends, and no Rust reference to them is used meanwhile.
    /// For `'static`, that is until the operation that the value is given to has reported its end.
    #[inline(always)]
    pub unsafe fn new(region: Region) -> Target<'m> {
        // SAFETY: what may be written may be read.
        Target { source: unsafe { Source::new(region) }, memory: PhantomData }
    }

    /// `bytes` in one run from `base` on.
    ///
    /// # Safety
    /// As for [`Target::new`].
    #[inline(always)]
    pub unsafe fn dense(base: *mut u8, bytes: usize) -> Target<'m> {
        // SAFETY: the run of `bytes` at `base` may be written until 'm ends: this function's own condition.
        unsafe { Target::new(Region::dense(base, bytes)) }
    }

    /// Bytes of this program's own.
    pub fn of(bytes: &'m mut [u8]) -> Target<'m> {
        // SAFETY: the slice is borrowed exclusively until 'm ends.
        unsafe { Target::dense(bytes.as_mut_ptr(), bytes.len()) }
    }

    /// No memory at all.
    #[inline]
    pub fn empty() -> Target<'m> {
        // SAFETY: a region without bytes.
        unsafe { Target::new(Region::dense(std::ptr::null_mut(), 0)) }
    }

    /// A part of the packed stream, which ends where this does at the latest.
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

/// A place in the packed stream of a buffer. It can stop and go on at any byte.
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

    /// Goes to a byte of the stream; beyond the end is the end.
    #[inline]
    pub fn seek(&mut self, buf: &Region, byte: usize) {
        self.position = byte.min(buf.bytes);
    }

    /// Copies the next bytes of the stream, `max` at most, to `dst`. Returns how many.
    ///
    /// # Safety
    /// `dst` is valid to write for `max` bytes (or for what is left of the stream), and does not overlap the source.
    #[inline]
    pub unsafe fn pack(&mut self, buf: &Source<'_>, dst: *mut u8, max: usize) -> usize {
        // SAFETY: a source may be read; `dst` has room for `max` bytes outside of it.
        unsafe { self.copy::<true>(buf, dst, max, false) }
    }

    /// The same, where another processor has read or written `dst` just before: its lines have to come from there.
    ///
    /// # Safety
    /// As for [`Cursor::pack`].
    #[inline]
    pub unsafe fn pack_afar(&mut self, buf: &Source<'_>, dst: *mut u8, max: usize) -> usize {
        // SAFETY: a source may be read; `dst` has room for `max` bytes outside of it.
        unsafe { self.copy::<true>(buf, dst, max, true) }
    }

    /// Copies `len` bytes (or what is left of the stream, when that is less) from `src` into the buffer. Returns how
    /// many.
    ///
    /// # Safety
    /// `src` is valid to read for `len` bytes (or for what is left of the stream), and does not overlap the target.
    #[inline]
    pub unsafe fn unpack(&mut self, buf: &Target<'_>, src: *const u8, len: usize) -> usize {
        // SAFETY: a target may be written; `src` has `len` bytes outside of it, which are only read.
        unsafe { self.copy::<false>(buf, src.cast_mut(), len, false) }
    }

    /// [`Cursor::pack`] for a slice, as far as it has room.
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
    /// The region may be read to pack, written to unpack; `packed` has `max` bytes (or what is left of the stream) to
    /// write or to read; the two do not overlap.
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
                // SAFETY: `n` bytes from the cursor on are inside the dense region, and at most `max` of `packed`.
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

    /// Adds the next pieces of memory, as address and length, to `out` until it holds `max_pieces`, or `max_bytes` have
    /// been added. Neighbours are joined. Returns the number of bytes added, and moves behind them.
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
