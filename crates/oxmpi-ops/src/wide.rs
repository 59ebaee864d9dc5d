//! Real numbers of more than 64 bits, which Rust does not have: C's `long double` and binary128.
//! Sums and products are computed by the x87 unit and by the compiler's own library; comparisons
//! are comparisons of the bits.

use crate::number::{Number, Ordered, Real};

#[cfg(target_arch = "x86_64")]
pub(crate) use x87::Extended as LongDouble;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) type LongDouble = Quad;

/// IEEE binary128.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Quad(pub u128);

impl Quad {
    const SIGN: u32 = 127;
}

impl Ordered for Quad {
    fn below(self, other: Self) -> bool {
        !self.is_nan() && !other.is_nan() && rank(self.0, Quad::SIGN) < rank(other.0, Quad::SIGN)
    }

    fn is_nan(self) -> bool {
        self.0 & !(1 << Quad::SIGN) > 0x7fff << 112
    }
}

impl Number for Quad {
    const NATIVE: bool = false;

    fn add(self, other: Self) -> Self {
        Quad(soft::add(self.0, other.0))
    }

    fn mul(self, other: Self) -> Self {
        Quad(soft::mul(self.0, other.0))
    }

    fn smaller(self, other: Self) -> Self {
        pick(self, other, self.below(other), other.below(self), self.0 >> Quad::SIGN != 0)
    }

    fn larger(self, other: Self) -> Self {
        pick(self, other, other.below(self), self.below(other), self.0 >> Quad::SIGN == 0)
    }
}

impl Real for Quad {
    fn negate(self) -> Self {
        Quad(self.0 ^ 1 << Quad::SIGN)
    }
}

/// Numbers in the order of their values, from sign and magnitude. Zeros are equal.
fn rank(bits: u128, sign: u32) -> i128 {
    let magnitude = (bits & !(u128::MAX << sign)) as i128;
    if bits >> sign & 1 != 0 { -magnitude } else { magnitude }
}

/// Selects one of two when it is known which one wins. If none does: the NaN, or of two zeros the
/// one with the winning sign.
fn pick<N: Ordered>(a: N, b: N, a_is_ahead: bool, b_is_ahead: bool, sign_of_a_is_ahead: bool) -> N {
    let take_a = if a_is_ahead || b_is_ahead { a_is_ahead } else { a.is_nan() || !b.is_nan() && sign_of_a_is_ahead };
    if take_a { a } else { b }
}

#[cfg(target_arch = "x86_64")]
mod x87 {
    use super::{Number, Ordered, Real, pick, rank};
    use std::arch::asm;

    /// The x87 format: 80 bits, of which one is the integer bit of the mantissa, in 16 bytes.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub(crate) struct Extended(pub u128);

    const SIGN: u32 = 79;
    const USED: u128 = (1 << 80) - 1;

    macro_rules! on_x87 {
        ($instruction:literal, $a:expr, $b:expr) => {{
            let mut result = 0u128;
            // SAFETY: reads and writes 10 bytes of the three variables. Two registers of the stack
            // are used and left empty again; naming all eight makes sure that they were free.
            unsafe {
                asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    $instruction,
                    "fstp tbyte ptr [{result}]",
                    a = in(reg) &raw const $a,
                    b = in(reg) &raw const $b,
                    result = in(reg) &raw mut result,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            Extended(result)
        }};
    }

    impl Ordered for Extended {
        fn below(self, other: Self) -> bool {
            !self.is_nan() && !other.is_nan() && rank(self.0 & USED, SIGN) < rank(other.0 & USED, SIGN)
        }

        fn is_nan(self) -> bool {
            self.0 >> 64 & 0x7fff == 0x7fff && (self.0 as u64) << 1 != 0
        }
    }

    impl Number for Extended {
        const NATIVE: bool = false;

        fn add(self, other: Self) -> Self {
            on_x87!("faddp st(1), st", self.0, other.0)
        }

        fn mul(self, other: Self) -> Self {
            on_x87!("fmulp st(1), st", self.0, other.0)
        }

        fn smaller(self, other: Self) -> Self {
            pick(self, other, self.below(other), other.below(self), self.0 >> SIGN & 1 != 0)
        }

        fn larger(self, other: Self) -> Self {
            pick(self, other, other.below(self), self.below(other), self.0 >> SIGN & 1 == 0)
        }
    }

    impl Real for Extended {
        fn negate(self) -> Self {
            Extended(self.0 ^ 1 << SIGN)
        }
    }
}

/// Sums and products of binary128 by the functions that every compiler for these processors uses.
/// They take their arguments in vector registers, which Rust cannot express for a foreign function,
/// so the call is written in assembly.
mod soft {
    use std::arch::asm;
    use std::mem::transmute;

    unsafe extern "C" {
        fn __addtf3();
        fn __multf3();
    }

    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::uint64x2_t as Vector;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::__m128i as Vector;

    #[cfg(target_arch = "x86_64")]
    macro_rules! call {
        ($function:ident, $a:ident, $b:ident) => {
            asm!("call {f}@PLT", f = sym $function, inout("xmm0") $a, in("xmm1") $b, clobber_abi("C"))
        };
    }

    #[cfg(target_arch = "aarch64")]
    macro_rules! call {
        ($function:ident, $a:ident, $b:ident) => {
            asm!("bl {f}", f = sym $function, inout("v0") $a, in("v1") $b, clobber_abi("C"))
        };
    }

    pub(super) fn add(a: u128, b: u128) -> u128 {
        let (mut a, b) = (vector(a), vector(b));
        // SAFETY: a function of two numbers without side effects, called by the platform's
        // convention.
        unsafe { call!(__addtf3, a, b) };
        bits(a)
    }

    pub(super) fn mul(a: u128, b: u128) -> u128 {
        let (mut a, b) = (vector(a), vector(b));
        // SAFETY: a function of two numbers without side effects, called by the platform's convention.
        unsafe { call!(__multf3, a, b) };
        bits(a)
    }

    fn vector(bits: u128) -> Vector {
        // SAFETY: any 16 bytes are a value of either type.
        unsafe { transmute::<u128, Vector>(bits) }
    }

    fn bits(vector: Vector) -> u128 {
        // SAFETY: any 16 bytes are a value of either type.
        unsafe { transmute::<Vector, u128>(vector) }
    }
}
