//! What the operations compute on one element. Integers wrap around. Minimum and maximum of real
//! numbers do not depend on the order of the operands: a NaN wins against every number, and -0 is
//! smaller than +0.

use crate::binary::Binary;
use std::marker::PhantomData;

pub(crate) trait Number: Ordered {
    /// Whether the processor has this arithmetic, so that it can be vectorised.
    const NATIVE: bool = true;

    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    fn larger(self, other: Self) -> Self;
}

/// A number that can be negated, for complex products.
pub(crate) trait Real: Number {
    fn negate(self) -> Self;
}

/// Comparisons of values for MINLOC and MAXLOC.
pub(crate) trait Ordered: Copy {
    fn below(self, other: Self) -> bool;

    fn is_nan(self) -> bool {
        false
    }
}

/// Operations on bits, and on integers as truth values.
pub(crate) trait Bits: Copy {
    const ZERO: Self;
    const ONE: Self;

    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_true(self) -> bool;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const NATIVE: bool = size_of::<$t>() <= 8;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
        }

        impl Ordered for $t {
            #[inline(always)]
            fn below(self, other: Self) -> bool {
                self < other
            }
        }

        impl Bits for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline(always)]
            fn is_true(self) -> bool {
                self != 0
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128);

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }

            /// Neither is smaller: they are equal (or zeros of any sign), or one is a NaN. The
            /// bitwise OR of both is then -0 if one is -0, and a NaN if one is a NaN.
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                let both = $t::from_bits(self.to_bits() | other.to_bits());
                if self < other { self } else if other < self { other } else { both }
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                let (a, b) = (self.to_bits(), other.to_bits());
                let neither = $t::from_bits(if self == other { a & b } else { a | b });
                if self > other { self } else if other > self { other } else { neither }
            }
        }

        impl Real for $t {
            #[inline(always)]
            fn negate(self) -> Self {
                -self
            }
        }

        impl Ordered for $t {
            #[inline(always)]
            fn below(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
        }
    )*};
}

floats!(f32 f64);

/// The sum of two numbers, or of two numbers with `PARTS` parts.
pub(crate) struct Sum<N, const PARTS: usize = 1>(PhantomData<N>);
pub(crate) struct Prod<N>(PhantomData<N>);
pub(crate) struct Smaller<N>(PhantomData<N>);
pub(crate) struct Larger<N>(PhantomData<N>);
/// The product of two complex numbers by the plain formula: infinite parts may become NaNs.
pub(crate) struct ComplexProd<N>(PhantomData<N>);
pub(crate) struct And<N>(PhantomData<N>);
pub(crate) struct Or<N>(PhantomData<N>);
pub(crate) struct Xor<N>(PhantomData<N>);
pub(crate) struct BothTrue<N>(PhantomData<N>);
pub(crate) struct OneTrue<N>(PhantomData<N>);
pub(crate) struct OnlyOneTrue<N>(PhantomData<N>);

impl<N: Number, const PARTS: usize> Binary for Sum<N, PARTS> {
    type Element = N;
    const PARTS: usize = PARTS;
    const WIDE: bool = N::NATIVE;

    #[inline(always)]
    fn apply(a: N, b: N) -> N {
        a.add(b)
    }
}

impl<N: Real> Binary for ComplexProd<N> {
    type Element = [N; 2];
    const WIDE: bool = N::NATIVE;

    #[inline(always)]
    fn apply(a: [N; 2], b: [N; 2]) -> [N; 2] {
        [a[0].mul(b[0]).add(a[1].mul(b[1]).negate()), a[0].mul(b[1]).add(a[1].mul(b[0]))]
    }
}

macro_rules! binary {
    ($($name:ident: $bound:ident, $wide:expr, $a:ident $b:ident => $result:expr;)*) => {$(
        impl<N: $bound> Binary for $name<N> {
            type Element = N;
            const WIDE: bool = $wide;

            #[inline(always)]
            fn apply($a: N, $b: N) -> N {
                $result
            }
        }
    )*};
}

binary! {
    Prod: Number, N::NATIVE, a b => a.mul(b);
    Smaller: Number, N::NATIVE, a b => a.smaller(b);
    Larger: Number, N::NATIVE, a b => a.larger(b);
    And: Bits, size_of::<N>() <= 8, a b => a.and(b);
    Or: Bits, size_of::<N>() <= 8, a b => a.or(b);
    Xor: Bits, size_of::<N>() <= 8, a b => a.xor(b);
    BothTrue: Bits, false, a b => truth(a.is_true() & b.is_true());
    OneTrue: Bits, false, a b => truth(a.is_true() | b.is_true());
    OnlyOneTrue: Bits, false, a b => truth(a.is_true() ^ b.is_true());
}

#[inline(always)]
fn truth<N: Bits>(value: bool) -> N {
    if value { N::ONE } else { N::ZERO }
}

/// Implements [`Number`] for a short format whose `wide` and `narrow` convert to and from binary32.
macro_rules! computed_in_binary32 {
    ($short:ident) => {
        impl $crate::number::Number for $short {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $short::narrow(self.wide() + other.wide())
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                $short::narrow(self.wide() * other.wide())
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                $short::narrow($crate::number::Number::smaller(self.wide(), other.wide()))
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                $short::narrow($crate::number::Number::larger(self.wide(), other.wide()))
            }
        }
    };
}
pub(crate) use computed_in_binary32;
