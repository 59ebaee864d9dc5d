//! Facts about a type map that are known without walking it, and the rules to compute them: when
//! type maps are repeated, displaced or concatenated, their facts are combined. All arithmetic is
//! 128-bit and checked.

use oxmpi_abi::{Error, Result};

use crate::datatype::{Lens, Wide};
use crate::named::Named;
use oxmpi_abi::constants::MPI_ERR_COUNT;

/// The facts about a finished type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Bytes of data.
    pub size: Wide,
    /// Basic elements.
    pub elements: Wide,
    /// Bytes of the data in `external32`.
    pub external: Wide,
    pub lb: Wide,
    pub ub: Wide,
    /// Start and end of the data; both 0 if there is none.
    pub true_lb: Wide,
    pub true_ub: Wide,
    /// Whether the bounds come from markers, so that added data does not change them.
    pub marked_lb: bool,
    pub marked_ub: bool,
    /// The largest alignment among the elements.
    pub align: u8,
    /// The data, in the order of the type map, is contiguous from `true_lb` on.
    pub block: bool,
    /// The predefined type of all elements, if there is only one.
    pub only: Option<&'static Named>,
    /// A struct somewhere below has several derived members, so a subtree may be reached on several
    /// paths.
    pub branching: bool,
}

impl Facts {
    pub const EMPTY: Facts = Facts {
        size: 0,
        elements: 0,
        external: 0,
        lb: 0,
        ub: 0,
        true_lb: 0,
        true_ub: 0,
        marked_lb: false,
        marked_ub: false,
        align: 1,
        block: true,
        only: None,
        branching: false,
    };

    pub fn basic(named: &'static Named) -> Facts {
        Facts {
            size: named.size() as Wide,
            elements: if named.index.is_some() { 2 } else { 1 },
            external: named.external_size() as Wide,
            ub: named.extent() as Wide,
            true_ub: named.end() as Wide,
            align: named.align() as u8,
            block: named.size() == named.extent(),
            only: Some(named),
            ..Facts::EMPTY
        }
    }

    pub fn extent(&self) -> Wide {
        self.ub - self.lb
    }

    /// Whether copies at a distance of the extent are contiguous.
    pub fn dense(&self) -> bool {
        self.block && self.size == self.extent()
    }
}

impl Facts {
    /// A shortcut for a vector: the result of calling [`Map::repeat`] twice, for the usual small
    /// numbers and without markers; `None` otherwise.
    pub fn small_vector(&self, count: i64, len: i64, stride: Wide) -> Option<Facts> {
        const SMALL: u128 = 1 << 20;
        let small = |w: Wide| w.unsigned_abs() < SMALL;
        let plain = !self.marked_lb && !self.marked_ub && self.size > 0 && count > 0 && len > 0;
        let sizes = [self.size, self.elements, self.external, self.ub, self.true_lb, self.true_ub];
        let sizes = sizes.into_iter().all(small) && small(count.into()) && small(len.into());
        if !plain || !sizes || stride.unsigned_abs() >= SMALL * SMALL {
            return None;
        }
        let (extent, stride, size) = (self.extent() as i64, stride as i64, self.size as i64);
        let (inner, outer) = (extent * (len - 1), stride * (count - 1));
        let (low, high) = (inner.min(0) + outer.min(0), inner.max(0) + outer.max(0));
        let (true_lb, true_ub) = (self.true_lb as i64 + low, self.true_ub as i64 + high);
        let end = self.ub as i64 + high;
        let copies = Wide::from(count * len);
        Some(Facts {
            size: self.size * copies,
            elements: self.elements * copies,
            external: self.external * copies,
            lb: true_lb.into(),
            ub: (end + ((true_lb - end) & (i64::from(self.align) - 1))).into(),
            true_lb: true_lb.into(),
            true_ub: true_ub.into(),
            block: self.block && (len == 1 || extent == size) && (count == 1 || stride == size * len),
            ..*self
        })
    }
}

/// The facts about an unfinished type map: the upper bound is not rounded, and bounds exist only
/// where there are markers.
#[derive(Clone, Copy)]
pub(crate) struct Map {
    size: Wide,
    elements: Wide,
    external: Wide,
    /// Start and end of the data.
    data: Option<(Wide, Wide)>,
    /// The end of the last component type, with its padding.
    end: Wide,
    lb: Option<Wide>,
    ub: Option<Wide>,
    align: u8,
    block: bool,
    only: Only,
    pub branching: bool,
}

#[derive(Clone, Copy)]
enum Only {
    Nothing,
    One(&'static Named),
    Several,
}

impl Map {
    pub const EMPTY: Map = Map {
        size: 0,
        elements: 0,
        external: 0,
        data: None,
        end: 0,
        lb: None,
        ub: None,
        align: 1,
        block: true,
        only: Only::Nothing,
        branching: false,
    };

    pub fn of(f: &Facts) -> Map {
        Map {
            size: f.size,
            elements: f.elements,
            external: f.external,
            data: (f.size > 0).then_some((f.true_lb, f.true_ub)),
            // A marked bound says nothing about padding; the marker decides.
            end: if f.marked_ub { f.true_ub } else { f.ub },
            lb: f.marked_lb.then_some(f.lb),
            ub: f.marked_ub.then_some(f.ub),
            align: f.align,
            block: f.block,
            only: match f.only {
                Some(named) => Only::One(named),
                None if f.size == 0 => Only::Nothing,
                None => Only::Several,
            },
            branching: f.branching,
        }
    }

    /// `n` copies at a distance of `stride` bytes.
    pub fn repeat(self, n: i64, stride: Wide) -> Result<Map> {
        match n {
            0 => return Ok(Map::EMPTY),
            1 => return Ok(self),
            _ => {}
        }
        let n = Wide::from(n);
        let last = mul(stride, n - 1)?;
        let (low, high) = (last.min(0), last.max(0));
        Ok(Map {
            size: mul(self.size, n)?,
            elements: mul(self.elements, n)?,
            external: mul(self.external, n)?,
            data: self.data.map(|(a, b)| Ok::<_, Error>((add(a, low)?, add(b, high)?))).transpose()?,
            end: add(self.end, high)?,
            lb: self.lb.map(|b| add(b, low)).transpose()?,
            ub: self.ub.map(|b| add(b, high)).transpose()?,
            block: self.block && (stride == self.size || self.size == 0),
            ..self
        })
    }

    pub fn shift(self, by: Wide) -> Result<Map> {
        Ok(Map {
            data: self.data.map(|(a, b)| Ok::<_, Error>((add(a, by)?, add(b, by)?))).transpose()?,
            end: add(self.end, by)?,
            lb: self.lb.map(|b| add(b, by)).transpose()?,
            ub: self.ub.map(|b| add(b, by)).transpose()?,
            ..self
        })
    }

    /// Blocks of copies of a map, at any displacements: the same as [`Map::repeat`], [`Map::shift`]
    /// and [`Map::then`] for one block after the other, but fast for very many blocks.
    pub fn blocks(self, extent: Wide, lens: &Lens, disps: &[i64], unit: Wide) -> Result<Map> {
        // If all arithmetic surely fits into 64 bits, the loop needs no checks. Markers are rare,
        // and few blocks are not worth it.
        let far = disps.iter().fold(0, |most: u64, d| most.max(d.unsigned_abs()));
        let (long, total) = match lens {
            Lens::All(len) => (*len, Wide::from(*len) * disps.len() as Wide),
            Lens::Each(lens) => {
                lens.iter().fold((0, 0), |(most, sum): (i64, Wide), len| (most.max(*len), sum + Wide::from(*len)))
            }
        };
        let reach = Wide::from(far)
            .checked_mul(unit.saturating_abs())
            .and_then(|reach| reach.checked_add(Wide::from(long).checked_mul(extent.saturating_abs())?));
        let (Some((first, last)), Some(reach)) = (self.data, reach) else {
            return self.any_blocks(extent, lens, disps, unit);
        };
        let limit = Wide::from(i64::MAX) / 4;
        if self.lb.is_some() || self.ub.is_some() || [reach, first.abs(), last.abs()].iter().any(|r| *r > limit) {
            return self.any_blocks(extent, lens, disps, unit);
        }
        if total == 0 {
            return Ok(Map::EMPTY);
        }
        let (unit, extent, first, last) = (unit as i64, extent as i64, first as i64, last as i64);
        let dense = self.block && Wide::from(extent) == self.size;
        let (mut low, mut high, mut block, mut end) = (i64::MAX, i64::MIN, self.block, None);
        let mut add = |copies: i64, d: &i64| {
            if copies > 0 {
                let (start, over) = (d * unit, (copies - 1) * extent);
                low = low.min(start + first + over.min(0));
                high = high.max(start + last + over.max(0));
                block &= (copies == 1 || dense) && end.is_none_or(|end| end == start + first);
                end = Some(start + last + over);
            }
        };
        match lens {
            Lens::All(len) => disps.iter().for_each(|d| add(*len, d)),
            Lens::Each(lens) => lens.iter().zip(disps).for_each(|(len, d)| add(*len, d)),
        }
        Ok(Map {
            size: mul(self.size, total)?,
            elements: mul(self.elements, total)?,
            external: mul(self.external, total)?,
            data: Some((low.into(), high.into())),
            end: Wide::from(high) + (self.end - Wide::from(last)),
            block,
            ..self
        })
    }

    fn any_blocks(self, extent: Wide, lens: &Lens, disps: &[i64], unit: Wide) -> Result<Map> {
        let mut map = Map::EMPTY;
        for (i, disp) in disps.iter().enumerate() {
            map = map.then(self.repeat(lens.get(i), extent)?.shift(mul(Wide::from(*disp), unit)?)?)?;
        }
        Ok(map)
    }

    /// Concatenates another map.
    pub fn then(self, next: Map) -> Result<Map> {
        fn both(a: Option<Wide>, b: Option<Wide>, of: fn(Wide, Wide) -> Wide) -> Option<Wide> {
            match (a, b) {
                (Some(a), Some(b)) => Some(of(a, b)),
                _ => a.or(b),
            }
        }
        let (data, block) = match (self.data, next.data) {
            (Some((a, b)), Some((c, d))) => (Some((a.min(c), b.max(d))), self.block && next.block && b == c),
            (None, _) => (next.data, next.block),
            (_, None) => (self.data, self.block),
        };
        let end = match (self.data, next.data) {
            (None, _) => next.end,
            (_, None) => self.end,
            _ => self.end.max(next.end),
        };
        Ok(Map {
            size: add(self.size, next.size)?,
            elements: add(self.elements, next.elements)?,
            external: add(self.external, next.external)?,
            data,
            end,
            lb: both(self.lb, next.lb, Wide::min),
            ub: both(self.ub, next.ub, Wide::max),
            align: self.align.max(next.align),
            block,
            only: match (self.only, next.only) {
                (Only::Nothing, only) | (only, Only::Nothing) => only,
                (Only::One(a), Only::One(b)) if std::ptr::eq(a, b) => Only::One(a),
                _ => Only::Several,
            },
            branching: self.branching || next.branching,
        })
    }

    /// Computes the bounds by the standard's definition: the markers if there are any, else the
    /// data, with its end rounded so that the extent is a multiple of the largest alignment. The
    /// end includes the padding of component types, so that a type covers all its components; if
    /// everything is aligned, this makes no difference.
    pub fn finish(self) -> Result<Facts> {
        let (true_lb, true_ub) = self.data.unwrap_or((0, 0));
        let lb = self.lb.unwrap_or(if self.data.is_some() { true_lb } else { self.ub.unwrap_or(0) });
        let ub = match self.ub {
            Some(ub) => ub,
            None if self.data.is_none() => lb,
            None => {
                // Alignments are powers of two.
                add(self.end, add(lb, -self.end)? & (Wide::from(self.align) - 1))?
            }
        };
        // The extent must not overflow.
        add(ub, -lb)?;
        Ok(Facts {
            size: self.size,
            elements: self.elements,
            external: self.external,
            lb,
            ub,
            true_lb,
            true_ub,
            marked_lb: self.lb.is_some(),
            marked_ub: self.ub.is_some(),
            align: self.align,
            block: self.block,
            only: match self.only {
                Only::One(named) => Some(named),
                _ => None,
            },
            branching: self.branching,
        })
    }
}

/// The largest magnitude of a displacement: a difference of two never overflows.
const LIMIT: Wide = Wide::MAX / 4;

pub(crate) fn add(a: Wide, b: Wide) -> Result<Wide> {
    a.checked_add(b).filter(|sum| (-LIMIT..=LIMIT).contains(sum)).ok_or_else(too_large)
}

#[inline]
pub(crate) fn mul(a: Wide, b: Wide) -> Result<Wide> {
    // Usually both fit into a word, and the product is one instruction instead of a call.
    let product = match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(Wide::from(a) * Wide::from(b)),
        _ => a.checked_mul(b),
    };
    product.filter(|product| (-LIMIT..=LIMIT).contains(product)).ok_or_else(too_large)
}

#[cold]
fn too_large() -> Error {
    Error::new(MPI_ERR_COUNT, "the type would span more than 2^125 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::predefined;
    use crate::{Datatype, construct};
    use std::sync::Arc;

    /// The shortcut for vectors finds the same facts as the general way.
    #[test]
    fn small_vectors_are_vectors() {
        let int = predefined(oxmpi_abi::constants::MPI_INT.0).unwrap();
        let pair = predefined(oxmpi_abi::constants::MPI_DOUBLE_INT.0).unwrap();
        let apart = Datatype::vector(3, 1, -2, int).unwrap();
        let moved = Datatype::hindexed(vec![1, 2], vec![5, 40], pair).unwrap();
        let marked = Datatype::resized(int, -4, 20).unwrap();
        let children: [&Arc<Datatype>; 5] = [int, pair, &apart, &moved, &marked];
        let mut quick = 0;
        for child in children {
            for (count, len) in [(0, 1), (1, 0), (1, 1), (1, 7), (4, 1), (4, 3)] {
                for stride in [-100, -12, -4, 0, 4, 12, 16, 28, 1 << 39, 1 << 50] {
                    let map = Map::of(&child.facts).repeat(len, child.extent()).and_then(|m| m.repeat(count, stride));
                    let long = map.and_then(Map::finish).unwrap();
                    if let Some(short) = child.facts.small_vector(count, len, stride) {
                        assert_eq!(format!("{short:?}"), format!("{long:?}"), "{count} {len} {stride} of {child:?}");
                        quick += 1;
                    }
                    let made = construct::vector(count, len, stride, child, crate::contents::Origin::Hvector).unwrap();
                    assert_eq!(format!("{:?}", made.facts), format!("{long:?}"));
                }
            }
        }
        assert_eq!(quick, 4 * 4 * 9);
    }
}
