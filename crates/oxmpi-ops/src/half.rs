//! IEEE binary16, computed in binary32: one operation there, rounded once more to 11 bits, gives
//! the correctly rounded result. The conversions have no branches, so that the loops over them
//! become vectors.

use crate::binary::Binary;
use crate::number::{Ordered, computed_in_binary32};

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Half(pub u16);

const INFINITY: u32 = 0x7c00;
/// The difference of the exponent biases of the two formats, shifted to the position of the
/// exponent.
const BIAS: u32 = 112 << 23;

impl Half {
    #[inline(always)]
    pub(crate) fn wide(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let rest = u32::from(self.0 & 0x7fff);
        let tiny = (rest as f32 * (1.0 / 16_777_216.0)).to_bits();
        let normal = (rest << 13).wrapping_add(BIAS);
        let infinite = rest << 13 | 0x7f80_0000;
        let bits = if rest < 0x400 {
            tiny
        } else if rest < INFINITY {
            normal
        } else {
            infinite
        };
        f32::from_bits(sign | bits)
    }

    /// Rounds to the nearest, ties to even.
    #[inline(always)]
    pub(crate) fn narrow(wide: f32) -> Half {
        let bits = wide.to_bits();
        let (sign, rest) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
        let nan = 0x7e00 | (rest >> 13 & 0x3ff);
        // The last bit of numbers around one half has the weight of the last bit of a subnormal
        // result, so the addition rounds.
        let tiny = (f32::from_bits(rest) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let normal = rest.wrapping_sub(BIAS).wrapping_add(0xfff + (rest >> 13 & 1)) >> 13;
        let result = if rest > 0x7f80_0000 {
            nan
        } else if rest >= 0x477f_f000 {
            INFINITY // 65520 and larger
        } else if rest < 0x3880_0000 {
            tiny // below 2^-14
        } else {
            normal
        };
        Half((sign | result) as u16)
    }
}

computed_in_binary32!(Half);

impl Ordered for Half {
    #[inline(always)]
    fn below(self, other: Self) -> bool {
        self.wide() < other.wide()
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        u32::from(self.0 & 0x7fff) > INFINITY
    }
}

/// The product of two complex numbers in half precision: each part is rounded once, at the end.
pub(crate) struct HalfComplexProd;

impl Binary for HalfComplexProd {
    type Element = [Half; 2];

    #[inline(always)]
    fn apply(a: [Half; 2], b: [Half; 2]) -> [Half; 2] {
        let (a, b) = (a.map(Half::wide), b.map(Half::wide));
        [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]].map(Half::narrow)
    }
}
