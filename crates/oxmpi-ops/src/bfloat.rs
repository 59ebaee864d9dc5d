//! The 16-bit format of `MPIX_BFLOAT16`: the upper half of a binary32, computed there. One operation in
//! binary32, rounded once more to 8 bits, gives the correctly rounded result. The conversions have no
//! branches, so that the loops over them become vectors.

use crate::number::{Ordered, computed_in_binary32};

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bfloat(pub u16);

impl Bfloat {
    #[inline(always)]
    pub(crate) fn wide(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    /// Rounds to the nearest, ties to even.
    #[inline(always)]
    pub(crate) fn narrow(wide: f32) -> Bfloat {
        let bits = wide.to_bits();
        // The first bit of the fraction keeps a NaN one.
        let nan = bits >> 16 | 0x40;
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        let result = if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded };
        Bfloat(result as u16)
    }
}

computed_in_binary32!(Bfloat);

impl Ordered for Bfloat {
    #[inline(always)]
    fn below(self, other: Self) -> bool {
        self.wide() < other.wide()
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0 & 0x7fff > 0x7f80
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_nearest_and_to_even() {
        for bits in 0..0x7f80u16 {
            assert_eq!(Bfloat::narrow(Bfloat(bits).wide()).0, bits);
            let middle = f32::from_bits(u32::from(bits) << 16 | 0x8000);
            assert_eq!(Bfloat::narrow(middle.next_down()).0, bits);
            assert_eq!(Bfloat::narrow(middle.next_up()).0, bits + 1);
            assert_eq!(Bfloat::narrow(-middle).0, 0x8000 | (bits + (bits & 1)));
        }
        assert_eq!(Bfloat::narrow(f32::MAX).0, 0x7f80);
        assert_eq!(Bfloat::narrow(f32::NEG_INFINITY).0, 0xff80);
        let signalling = f32::from_bits(0x7f80_0001);
        assert!(Bfloat::narrow(signalling).is_nan() && Bfloat(0x7f81).wide().is_nan());
        assert!(!Bfloat(0x7f80).is_nan());
    }
}
