//! A user's buffer as a token, and the cursor that moves through its packed stream.
//!
//! A [`Buf`] is made where the user's arguments come in. Making, cloning and asking it never touches the memory; only
//! the cursor's copies and the transports do, and they are where the promise of validity is taken up.

use std::sync::Arc;

use oxmpi_base::copy;

use crate::datatype::Datatype;
use crate::walk::{Copy, List, walk_many};

/// User memory: pointer, count and layout.
#[derive(Clone)]
pub struct Buf {
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

// SAFETY: a token; what may be done with the memory, and from which thread, is promised to the unsafe functions that
// touch it.
unsafe impl Send for Buf {}
// SAFETY: as above; there is no interior mutability.
unsafe impl Sync for Buf {}

impl Buf {
    /// `bytes` in one run from `base` on.
    #[inline]
    pub fn dense(base: *mut u8, bytes: usize) -> Buf {
        Buf { base, bytes, typed: None }
    }

    /// `count` elements of a type that has been committed, at `base` (which is null for `MPI_BOTTOM`). When they lie
    /// in one run, the result is a dense buffer and does not hold on to the type.
    ///
    /// A packed length beyond the address space (possible only where elements overlap) is cut down to the largest
    /// number of whole elements that fits.
    pub fn typed(base: *mut u8, count: u64, ty: &Arc<Datatype>) -> Buf {
        let facts = &ty.facts;
        let size = facts.size as usize;
        if count == 0 || size == 0 {
            return Buf::dense(base, 0);
        }
        let count = (count as usize).min(isize::MAX as usize / size);
        if facts.block && (count == 1 || facts.dense()) {
            return Buf::dense(base.wrapping_offset(facts.true_lb as isize), count * size);
        }
        Buf { base, bytes: count * size, typed: Some(Typed { ty: ty.clone(), start: 0 }) }
    }

    /// A part of the packed stream, which ends where the buffer does at the latest.
    #[must_use]
    pub fn part(&self, from: usize, bytes: usize) -> Buf {
        let from = from.min(self.bytes);
        let bytes = bytes.min(self.bytes - from);
        match &self.typed {
            None => Buf::dense(self.base.wrapping_add(from), bytes),
            Some(typed) => {
                Buf { base: self.base, bytes, typed: Some(Typed { start: typed.start + from, ..typed.clone() }) }
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

    /// Whether two elements surely share a place, so that the buffer must not be received into. Only what is cheap to
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
    pub fn seek(&mut self, buf: &Buf, byte: usize) {
        self.position = byte.min(buf.bytes);
    }

    /// Copies the next bytes of the stream, `max` at most, to `dst`. Returns how many.
    ///
    /// # Safety
    /// The memory that `buf` describes is valid to read, `dst` is valid to write for `max` bytes (or for what is left
    /// of the stream), and the two do not overlap.
    #[inline]
    pub unsafe fn pack(&mut self, buf: &Buf, dst: *mut u8, max: usize) -> usize {
        // SAFETY: as the caller promised.
        unsafe { self.copy::<true>(buf, dst, max, false) }
    }

    /// The same, where another processor has read or written `dst` just before: its lines have to come from there.
    ///
    /// # Safety
    /// As for [`Cursor::pack`].
    #[inline]
    pub unsafe fn pack_afar(&mut self, buf: &Buf, dst: *mut u8, max: usize) -> usize {
        // SAFETY: as the caller promised.
        unsafe { self.copy::<true>(buf, dst, max, true) }
    }

    /// Copies `len` bytes (or what is left of the stream, when that is less) from `src` into the buffer. Returns how
    /// many.
    ///
    /// # Safety
    /// The memory that `buf` describes is valid to write, `src` is valid to read for `len` bytes (or for what is left
    /// of the stream), and the two do not overlap.
    #[inline]
    pub unsafe fn unpack(&mut self, buf: &Buf, src: *const u8, len: usize) -> usize {
        // SAFETY: as the caller promised; the copy only reads from `src`.
        unsafe { self.copy::<false>(buf, src.cast_mut(), len, false) }
    }

    /// # Safety
    /// As [`Cursor::pack`] or [`Cursor::unpack`].
    #[inline]
    unsafe fn copy<const PACK: bool>(&mut self, buf: &Buf, packed: *mut u8, max: usize, afar: bool) -> usize {
        let n = max.min(buf.bytes.saturating_sub(self.position));
        if n == 0 {
            return 0;
        }
        match &buf.typed {
            None => {
                let mem = buf.base.wrapping_add(self.position);
                let (src, dst) = if PACK { (mem, packed) } else { (packed, mem) };
                // SAFETY: as the caller promised.
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
    pub fn iovecs(&mut self, buf: &Buf, out: &mut Vec<(usize, usize)>, max_pieces: usize, max_bytes: usize) -> usize {
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
