//! Walks a range of the packed stream of a layout: which bytes of memory, in which order. The sink
//! decides what happens to them: copied in one of the two directions, or listed.

use std::ops::Range;

use oxmpi_base::prefetch;
use oxmpi_base::segment::CACHE_LINE;

use crate::kernel;
use crate::layout::{Kind, Layout, SMALL};

/// Receives runs of memory in packing order. Returning `false` ends the walk.
pub(crate) trait Sink {
    fn block(&mut self, mem: *mut u8, len: usize) -> bool;

    fn strided(&mut self, mem: *mut u8, len: usize, count: usize, stride: isize) -> bool;

    fn equal(&mut self, mem: *mut u8, len: usize, disps: &[isize]) -> bool;

    /// Run `i` is `starts[i + 1] - starts[i]` bytes at `disps[i]`.
    fn blocks(&mut self, mem: *mut u8, disps: &[isize], starts: &[usize]) -> bool;

    /// `count` copies, `stride` apart, of a list of few runs.
    fn tiled(
        &mut self,
        mem: *mut u8,
        count: usize,
        stride: isize,
        body: &mut dyn Iterator<Item = (isize, usize)>,
    ) -> bool;

    /// `count` copies, `stride` apart, of `inner` runs of `len` bytes, `step` apart.
    fn grid(&mut self, mem: *mut u8, count: usize, stride: isize, len: usize, inner: usize, step: isize) -> bool;

    /// Whether [`Sink::tiled`] and [`Sink::grid`] are faster than one body after the other.
    const TILES: bool;
}

/// Walks bytes `from..to` of elements at a distance of `extent`. The range is not empty and within
/// the stream.
pub(crate) fn walk_many<S: Sink>(
    layout: &Layout,
    extent: isize,
    mem: *mut u8,
    from: usize,
    to: usize,
    sink: &mut S,
) -> bool {
    if to <= layout.bytes { walk(layout, mem, from, to, sink) } else { repeat(layout, mem, extent, from, to, sink) }
}

/// Walks bytes `from..to`, a non-empty range, of one element.
fn walk<S: Sink>(layout: &Layout, mem: *mut u8, from: usize, to: usize, sink: &mut S) -> bool {
    match &layout.kind {
        Kind::Block { disp } => sink.block(shift(mem, *disp).wrapping_add(from), to - from),
        Kind::Strided { disp, len, stride, .. } => {
            let at = |i: usize| shift(mem, disp.wrapping_add(stride.wrapping_mul(i as isize)));
            let Some((head, whole, tail)) = split(from, to, *len) else {
                let i = from / len;
                return sink.block(at(i).wrapping_add(from - i * len), to - from);
            };
            head.is_none_or(|(i, off)| sink.block(at(i).wrapping_add(off), len - off))
                && (whole.is_empty() || sink.strided(at(whole.start), *len, whole.len(), *stride))
                && tail.is_none_or(|(i, end)| sink.block(at(i), end))
        }
        Kind::Equal { len, disps } => {
            let Some((head, whole, tail)) = split(from, to, *len) else {
                let i = from / len;
                return sink.block(shift(mem, disps[i]).wrapping_add(from - i * len), to - from);
            };
            head.is_none_or(|(i, off)| sink.block(shift(mem, disps[i]).wrapping_add(off), len - off))
                && (whole.is_empty() || sink.equal(mem, *len, &disps[whole]))
                && tail.is_none_or(|(i, end)| sink.block(shift(mem, disps[i]), end))
        }
        Kind::Blocks { disps, starts } => {
            let mut i = holding(starts, from);
            if from > starts[i] || to < starts[i + 1] {
                let end = to.min(starts[i + 1]);
                if !sink.block(shift(mem, disps[i]).wrapping_add(from - starts[i]), end - from) {
                    return false;
                }
                if end == to {
                    return true;
                }
                i += 1;
            }
            // The last complete run ends before or at `to`.
            let j = i + starts[i + 1..].partition_point(|s| *s <= to);
            (i == j || sink.blocks(mem, &disps[i..j], &starts[i..=j]))
                && (starts[j] == to || sink.block(shift(mem, disps[j]), to - starts[j]))
        }
        Kind::Loop { disp, stride, body, .. } => repeat(body, shift(mem, *disp), *stride, from, to, sink),
        Kind::EqualLoop { disps, body } => {
            let len = body.bytes;
            let (mut i, mut at) = (from / len, from);
            while at < to {
                let end = to.min((i + 1) * len);
                if !walk(body, shift(mem, disps[i]), at - i * len, end - i * len, sink) {
                    return false;
                }
                (i, at) = (i + 1, end);
            }
            true
        }
        Kind::Seq { parts, starts } => {
            let (mut i, mut at) = (holding(starts, from), from);
            while at < to {
                let end = to.min(starts[i] + parts[i].bytes);
                if !walk(&parts[i], mem, at - starts[i], end - starts[i], sink) {
                    return false;
                }
                (i, at) = (i + 1, end);
            }
            true
        }
    }
}

/// Walks bytes `from..to` of copies of the body, `stride` apart.
fn repeat<S: Sink>(body: &Layout, mem: *mut u8, stride: isize, from: usize, to: usize, sink: &mut S) -> bool {
    let len = body.bytes;
    let at = |i: usize| shift(mem, stride.wrapping_mul(i as isize));
    let Some((head, whole, tail)) = split(from, to, len) else {
        let i = from / len;
        return walk(body, at(i), from - i * len, to - i * len, sink);
    };
    head.is_none_or(|(i, off)| walk(body, at(i), off, len, sink))
        && (whole.is_empty() || repeat_whole(body, at(whole.start), stride, whole.len(), sink))
        && tail.is_none_or(|(i, end)| walk(body, at(i), 0, end, sink))
}

/// Runs at this distance or less share cache lines.
const NEAR: usize = 64;

fn repeat_whole<S: Sink>(body: &Layout, mem: *mut u8, stride: isize, count: usize, sink: &mut S) -> bool {
    // A short body is copied run by run for many copies at once, so that the loops have constant
    // bounds.
    let tile = S::TILES && count >= 4 && body.pieces <= SMALL;
    match &body.kind {
        Kind::Block { disp } => return sink.strided(shift(mem, *disp), body.bytes, count, stride),
        Kind::Strided { disp, len, count: inner, stride: step } if tile && *inner <= 4 => {
            let mut runs = (0..*inner as isize).map(|i| (disp + i * step, *len));
            return sink.tiled(mem, count, stride, &mut runs);
        }
        Kind::Strided { disp, len, count: inner, stride: step }
            if S::TILES && stride.unsigned_abs() <= NEAR && step.unsigned_abs() > 2 * NEAR && *len <= NEAR / 2 =>
        {
            return sink.grid(shift(mem, *disp), count, stride, *len, *inner, *step);
        }
        Kind::Equal { len, disps } if tile => {
            return sink.tiled(mem, count, stride, &mut disps.iter().map(|d| (*d, *len)));
        }
        Kind::Blocks { disps, starts } if tile => {
            let mut runs = disps.iter().zip(starts.windows(2)).map(|(d, w)| (*d, w[1] - w[0]));
            return sink.tiled(mem, count, stride, &mut runs);
        }
        _ => {}
    }
    (0..count).all(|i| walk(body, shift(mem, stride.wrapping_mul(i as isize)), 0, body.bytes, sink))
}

/// Splits the range `from..to` into units of `len`: a first unit that begins inside (its number,
/// the offset), the complete units, and a last one that ends inside (its number, the end). `None`:
/// the range is within one unit and does not complete it.
#[inline(always)]
#[allow(clippy::type_complexity)]
fn split(from: usize, to: usize, len: usize) -> Option<(Option<(usize, usize)>, Range<usize>, Option<(usize, usize)>)> {
    // The usual case, from the start, needs no division.
    let (first, off) = if from == 0 { (0, 0) } else { (from / len, from % len) };
    let (last, end) = (to / len, to % len);
    if first == last {
        return None;
    }
    let start = if off > 0 { first + 1 } else { first };
    Some(((off > 0).then_some((first, off)), start..last, (end > 0).then_some((last, end))))
}

/// The item, of those that begin at `starts`, that contains byte `at`. Items are not empty.
fn holding(starts: &[usize], at: usize) -> usize {
    if at == 0 { 0 } else { starts.partition_point(|s| *s <= at) - 1 }
}

#[inline(always)]
fn shift(mem: *mut u8, by: isize) -> *mut u8 {
    mem.wrapping_offset(by)
}

/// Copies between memory and a packed buffer.
pub(crate) struct Copy<const PACK: bool> {
    /// The address of the next byte of the stream.
    packed: *mut u8,
    /// The end of the stream, if its lines are in the cache of another processor that has read
    /// them; then they are prefetched.
    afar: Option<*mut u8>,
    /// The memory is not in the near caches.
    long: bool,
}

/// A stream of at least so many bytes is assumed not to be in the near caches.
const LONG: usize = 256 << 10;

/// Bytes that are packed between two rounds of prefetches, for a stream whose lines come from
/// another cache.
const ANNOUNCED: usize = 1024;

/// Number of blocks of different lengths that are packed at a time.
const SOME_BLOCKS: usize = 32;

/// Blocks at this distance or less are packed faster than such lines arrive without prefetches.
const FAST_STRIDE: usize = 64;

impl<const PACK: bool> Copy<PACK> {
    /// `all` is the length of the whole stream, of which a part goes to `packed` or comes from
    /// there.
    pub fn new(packed: *mut u8, all: usize, afar: Option<*mut u8>) -> Copy<PACK> {
        Copy { packed, afar, long: all >= LONG }
    }

    /// Calls `some` for groups of the `count` blocks of `len` bytes; while a group is copied, the
    /// lines of the next one are prefetched.
    #[inline(always)]
    fn in_groups(&mut self, len: usize, count: usize, mut some: impl FnMut(Range<usize>, *mut u8)) {
        let group = ANNOUNCED / len;
        let mut done = 0;
        if self.afar.is_some() && group > 1 {
            while done + group < count {
                self.announce(group * len);
                some(done..done + group, self.packed);
                self.packed = self.packed.wrapping_add(group * len);
                done += group;
            }
        }
        some(done..count, self.packed);
        self.packed = self.packed.wrapping_add(len * (count - done));
    }

    /// Prefetches the lines behind the next `bytes`, over the same length.
    #[inline(always)]
    fn announce(&self, bytes: usize) {
        let Some(end) = self.afar else { return };
        let left = end.addr().saturating_sub(self.packed.addr());
        for line in (bytes..left.min(2 * bytes)).step_by(CACHE_LINE) {
            prefetch::line_for_writing(self.packed.wrapping_add(line));
        }
    }
}

/// Number of copies of a body that are moved together: a few KiB of memory, which stay in the
/// first-level cache.
const TILE: usize = 32;

impl<const PACK: bool> Sink for Copy<PACK> {
    const TILES: bool = true;

    #[inline]
    fn block(&mut self, mem: *mut u8, len: usize) -> bool {
        // SAFETY: the creator of the sink promised that the buffer, as its type describes it, and
        // the packed bytes are valid.
        unsafe { kernel::any::<PACK>(mem, self.packed, len) };
        self.packed = self.packed.wrapping_add(len);
        true
    }

    #[inline]
    fn strided(&mut self, mem: *mut u8, len: usize, count: usize, stride: isize) -> bool {
        if stride.unsigned_abs() > FAST_STRIDE {
            self.afar = None;
        }
        // SAFETY: the creator of the sink promised that the buffer and the packed bytes are valid.
        if !PACK && self.long && unsafe { kernel::unpack_afar(mem, stride, self.packed, len, count) } {
            self.packed = self.packed.wrapping_add(len * count);
            return true;
        }
        self.in_groups(len, count, |some, packed| {
            let mem = shift(mem, stride.wrapping_mul(some.start as isize));
            // SAFETY: the creator of the sink promised that the buffer and the packed bytes are
            // valid.
            unsafe { kernel::strided::<PACK>(mem, stride, packed, len, len, some.len(), true) };
        });
        true
    }

    #[inline]
    fn equal(&mut self, mem: *mut u8, len: usize, disps: &[isize]) -> bool {
        self.in_groups(len, disps.len(), |some, packed| {
            // SAFETY: the creator of the sink promised that the buffer and the packed bytes are
            // valid.
            unsafe { kernel::equal::<PACK>(mem, &disps[some], packed, len) };
        });
        true
    }

    #[inline]
    fn blocks(&mut self, mem: *mut u8, disps: &[isize], starts: &[usize]) -> bool {
        let mut from = 0;
        while from < disps.len() {
            let to = if self.afar.is_none() { disps.len() } else { disps.len().min(from + SOME_BLOCKS) };
            let bytes = starts[to] - starts[from];
            self.announce(bytes.min(ANNOUNCED));
            // SAFETY: the creator of the sink promised that the buffer and the packed bytes are
            // valid.
            unsafe { kernel::blocks::<PACK>(mem, disps, starts, from..to, self.packed) };
            self.packed = self.packed.wrapping_add(bytes);
            from = to;
        }
        true
    }

    fn tiled(
        &mut self,
        mem: *mut u8,
        count: usize,
        stride: isize,
        body: &mut dyn Iterator<Item = (isize, usize)>,
    ) -> bool {
        let mut runs = [(0, 0); SMALL];
        let mut n = 0;
        let mut bytes = 0;
        for run in body {
            runs[n] = run;
            n += 1;
            bytes += run.1;
        }
        let mut done = 0;
        while done < count {
            let now = TILE.min(count - done);
            let tile = shift(mem, stride.wrapping_mul(done as isize));
            self.announce(bytes * now);
            let mut packed = self.packed;
            for &(disp, len) in &runs[..n] {
                // SAFETY: the creator of the sink promised that the buffer and the packed bytes are
                // valid.
                unsafe { kernel::strided::<PACK>(shift(tile, disp), stride, packed, bytes, len, now, false) };
                packed = packed.wrapping_add(len);
            }
            self.packed = self.packed.wrapping_add(bytes * now);
            done += now;
        }
        true
    }

    /// Columns of a matrix, one after the other (a transposition): a few rows of a few columns at a
    /// time, so that a cache line is used completely while it is in the cache.
    fn grid(&mut self, mem: *mut u8, count: usize, stride: isize, len: usize, inner: usize, step: isize) -> bool {
        let column = len * inner;
        for left in (0..count).step_by(COLUMNS) {
            let columns = left..count.min(left + COLUMNS);
            for top in (0..inner).step_by(ROWS) {
                let rows = ROWS.min(inner - top);
                for i in columns.clone() {
                    let at = stride.wrapping_mul(i as isize).wrapping_add(step.wrapping_mul(top as isize));
                    let to = self.packed.wrapping_add(i * column + top * len);
                    // SAFETY: the creator of the sink promised that the buffer and the packed bytes
                    // are valid.
                    unsafe { kernel::strided::<PACK>(shift(mem, at), step, to, len, len, rows, false) };
                }
            }
        }
        self.packed = self.packed.wrapping_add(column * count);
        true
    }
}

/// Columns that are moved together: as many as share a few cache lines.
const COLUMNS: usize = 16;
const ROWS: usize = 32;

/// Lists the runs, with adjacent ones joined, up to a maximum.
pub(crate) struct List<'a> {
    pub pieces: &'a mut Vec<(usize, usize)>,
    pub max: usize,
    /// Bytes listed so far.
    pub bytes: usize,
}

impl Sink for List<'_> {
    const TILES: bool = false;

    #[inline]
    fn block(&mut self, mem: *mut u8, len: usize) -> bool {
        let mem = mem.addr();
        let full = self.pieces.len() == self.max;
        match self.pieces.last_mut() {
            // Join only with pieces of this walk: an older piece may belong to another buffer.
            Some((at, old)) if self.bytes > 0 && at.wrapping_add(*old) == mem => *old += len,
            _ if full => return false,
            _ => self.pieces.push((mem, len)),
        }
        self.bytes += len;
        true
    }

    fn strided(&mut self, mem: *mut u8, len: usize, count: usize, stride: isize) -> bool {
        (0..count).all(|i| self.block(shift(mem, stride.wrapping_mul(i as isize)), len))
    }

    fn equal(&mut self, mem: *mut u8, len: usize, disps: &[isize]) -> bool {
        disps.iter().all(|d| self.block(shift(mem, *d), len))
    }

    fn blocks(&mut self, mem: *mut u8, disps: &[isize], starts: &[usize]) -> bool {
        disps.iter().zip(starts.windows(2)).all(|(d, w)| self.block(shift(mem, *d), w[1] - w[0]))
    }

    fn grid(&mut self, _: *mut u8, _: usize, _: isize, _: usize, _: usize, _: isize) -> bool {
        unreachable!("a list is made one body after the other")
    }

    fn tiled(&mut self, _: *mut u8, _: usize, _: isize, _: &mut dyn Iterator<Item = (isize, usize)>) -> bool {
        unreachable!("a list is made one body after the other")
    }
}
