//! The lowered form of a type map: nested strided blocks, as few as possible, in packing order. It
//! describes where the bytes of the packed stream are, and nothing about their meaning.
//!
//! Each node knows its packed length, so any byte of the stream is found by descending from the
//! root: a cursor needs no state except a position. The nesting is bounded (each level at least
//! doubles the bytes, and lowering bounds the rest), so walking a layout may recurse.

use std::sync::Arc;

pub(crate) struct Layout {
    /// Packed length.
    pub bytes: usize,
    /// Upper bound of the number of contiguous pieces, for lists of memory pieces.
    pub pieces: usize,
    pub kind: Kind,
}

pub(crate) enum Kind {
    /// One run of `bytes`.
    Block { disp: isize },
    /// `count` runs of `len`, `stride` apart.
    Strided { disp: isize, len: usize, count: usize, stride: isize },
    /// Runs of equal length, at any displacements.
    Equal { len: usize, disps: Box<[isize]> },
    /// Runs of any length; run `i` is bytes `starts[i]..starts[i + 1]` of the stream.
    Blocks { disps: Box<[isize]>, starts: Box<[usize]> },
    /// `count` copies of the body, `stride` apart.
    Loop { disp: isize, count: usize, stride: isize, body: Arc<Layout> },
    /// Copies of the body, at any displacements.
    EqualLoop { disps: Box<[isize]>, body: Arc<Layout> },
    /// A sequence; part `i` begins at byte `starts[i]` of the stream.
    Seq { parts: Box<[Layout]>, starts: Box<[usize]> },
}

/// A loop of at most this many pieces is unrolled into its neighbours' list, and a list of at most
/// this many pieces may be the body that the tiled kernel repeats.
pub(crate) const SMALL: usize = 16;

impl Layout {
    pub fn block(disp: isize, len: usize) -> Layout {
        Layout { bytes: len, pieces: 1, kind: Kind::Block { disp } }
    }

    pub fn strided(disp: isize, len: usize, count: usize, stride: isize) -> Layout {
        if count == 1 || stride == len as isize {
            return Layout::block(disp, len * count);
        }
        Layout { bytes: len * count, pieces: count, kind: Kind::Strided { disp, len, count, stride } }
    }

    /// `count > 0` copies of a body with data, merged with the body if they continue it.
    pub fn repeat(disp: isize, count: usize, stride: isize, body: &Arc<Layout>) -> Layout {
        let folded = |inner: usize, step: isize| step.checked_mul(inner as isize) == Some(stride);
        match body.kind {
            Kind::Block { disp: d } => return Layout::strided(disp + d, body.bytes, count, stride),
            Kind::Strided { disp: d, len, count: c, stride: s } if count == 1 || folded(c, s) => {
                return Layout::strided(disp + d, len, c * count, s);
            }
            Kind::Loop { disp: d, count: c, stride: s, body: ref inner } if count == 1 || folded(c, s) => {
                return Layout::repeated(disp + d, c * count, s, inner.clone());
            }
            _ => {}
        }
        Layout::repeated(disp, count, stride, body.clone())
    }

    fn repeated(disp: isize, count: usize, stride: isize, body: Arc<Layout>) -> Layout {
        let (bytes, pieces) = (body.bytes * count, body.pieces.saturating_mul(count));
        Layout { bytes, pieces, kind: Kind::Loop { disp, count, stride, body } }
    }

    /// Whether two bytes of the stream surely have the same address. `false` if that is not cheap
    /// to detect.
    pub fn overlaps(&self) -> bool {
        match &self.kind {
            Kind::Block { .. } => false,
            Kind::Strided { len, stride, .. } => stride.unsigned_abs() < *len,
            Kind::Equal { len, disps } => runs_overlap(disps.iter().map(|d| (*d, *len))),
            Kind::Blocks { disps, starts } => {
                runs_overlap(disps.iter().zip(starts.windows(2)).map(|(d, w)| (*d, w[1] - w[0])))
            }
            Kind::Loop { count, stride, body, .. } => (*count > 1 && *stride == 0) || body.overlaps(),
            Kind::EqualLoop { disps, body } => runs_overlap(disps.iter().map(|d| (*d, 1))) || body.overlaps(),
            Kind::Seq { parts, .. } => parts.iter().any(Layout::overlaps),
        }
    }

    /// Calls `f` for each run of a layout of few pieces.
    fn each_block(&self, at: isize, f: &mut dyn FnMut(isize, usize)) {
        match &self.kind {
            Kind::Block { disp } => f(at + disp, self.bytes),
            Kind::Strided { disp, len, count, stride } => {
                (0..*count as isize).for_each(|i| f(at + disp + i * stride, *len));
            }
            Kind::Equal { len, disps } => disps.iter().for_each(|d| f(at + d, *len)),
            Kind::Blocks { disps, starts } => {
                disps.iter().zip(starts.windows(2)).for_each(|(d, w)| f(at + d, w[1] - w[0]));
            }
            Kind::Loop { disp, count, stride, body } => {
                (0..*count as isize).for_each(|i| body.each_block(at + disp + i * stride, f));
            }
            Kind::EqualLoop { disps, body } => disps.iter().for_each(|d| body.each_block(at + d, f)),
            Kind::Seq { parts, .. } => parts.iter().for_each(|p| p.each_block(at, f)),
        }
    }
}

/// Compares neighbours only, in the given order or, for a short list, in the order of addresses.
fn runs_overlap(runs: impl ExactSizeIterator<Item = (isize, usize)>) -> bool {
    const SHORT: usize = 1024;
    if runs.len() <= SHORT {
        let mut sorted: Vec<_> = runs.collect();
        sorted.sort_unstable();
        return sorted.windows(2).any(|w| w[0].0.wrapping_add_unsigned(w[0].1) > w[1].0);
    }
    let mut last: Option<(isize, usize)> = None;
    for run in runs {
        if last.is_some_and(|l| l.0 <= run.0 && l.0.wrapping_add_unsigned(l.1) > run.0) {
            return true;
        }
        last = Some(run);
    }
    false
}

/// Combines runs and loops, in packing order, into one layout.
#[derive(Default)]
pub(crate) struct Builder {
    disps: Vec<isize>,
    lens: Vec<usize>,
    parts: Vec<Layout>,
}

impl Builder {
    /// Reserves memory for so many runs.
    pub fn reserve(&mut self, runs: usize) {
        self.disps.reserve(runs);
        // One more: the lengths become the starts, which include the end.
        self.lens.reserve(runs + 1);
    }

    /// Adds a run of bytes; joins it to the run before if it continues that.
    #[inline]
    pub fn block(&mut self, disp: isize, len: usize) {
        if let (Some(last), Some(last_len)) = (self.disps.last(), self.lens.last_mut())
            && last.wrapping_add_unsigned(*last_len) == disp
        {
            *last_len += len;
            return;
        }
        self.disps.push(disp);
        self.lens.push(len);
    }

    pub fn part(&mut self, part: Layout) {
        if part.pieces <= SMALL {
            part.each_block(0, &mut |disp, len| self.block(disp, len));
        } else {
            self.flush();
            self.parts.push(part);
        }
    }

    pub fn finish(mut self) -> Layout {
        self.flush();
        if self.parts.len() == 1 {
            return self.parts.remove(0);
        }
        let mut starts = Vec::with_capacity(self.parts.len());
        let (mut bytes, mut pieces) = (0, 0usize);
        for part in &self.parts {
            starts.push(bytes);
            bytes += part.bytes;
            pieces = pieces.saturating_add(part.pieces);
        }
        Layout { bytes, pieces, kind: Kind::Seq { parts: self.parts.into(), starts: starts.into() } }
    }

    /// Turns the collected runs into one part of the simplest kind.
    fn flush(&mut self) {
        let (disps, lens) = (std::mem::take(&mut self.disps), std::mem::take(&mut self.lens));
        let (&[first, ..], &[len, ..]) = (&disps[..], &lens[..]) else { return };
        let bytes: usize = lens.iter().sum();
        let pieces = disps.len();
        let equal = lens.iter().all(|l| *l == len);
        let stride = if pieces > 1 { disps[1].wrapping_sub(first) } else { 0 };
        // Equal blocks, some of which happen to be adjacent, are faster as equal blocks than as a
        // mixture.
        let unit = lens.iter().copied().min().unwrap_or(0);
        let parted = bytes / unit;
        let mixed = !equal && parted <= pieces + pieces / 2 && lens.iter().all(|l| l % unit == 0);
        let part = if mixed {
            let each =
                disps.iter().zip(&lens).flat_map(|(d, l)| (0..*l).step_by(unit).map(|o| d.wrapping_add_unsigned(o)));
            Layout { bytes, pieces: parted, kind: Kind::Equal { len: unit, disps: each.collect() } }
        } else if pieces == 1 {
            Layout::block(first, len)
        } else if equal && disps.windows(2).all(|w| w[1].wrapping_sub(w[0]) == stride) {
            Layout::strided(first, len, pieces, stride)
        } else if equal {
            Layout { bytes, pieces, kind: Kind::Equal { len, disps: disps.into() } }
        } else {
            let mut at = 0;
            let mut starts = lens;
            for start in &mut starts {
                at += std::mem::replace(start, at);
            }
            starts.push(at);
            Layout { bytes, pieces, kind: Kind::Blocks { disps: disps.into(), starts: starts.into() } }
        };
        self.parts.push(part);
    }
}
