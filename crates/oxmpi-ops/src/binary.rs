//! The loop of an operation that works on each element alone, compiled for several generations of
//! processors. The loop is plain: the compiler vectorises it, with wider vectors where it may.

use std::slice::{from_raw_parts, from_raw_parts_mut};

use oxmpi_base::prefetch;
use oxmpi_base::segment::CACHE_LINE;

use crate::Kernel;

/// A commutative operation on two elements.
pub(crate) trait Binary {
    type Element: Copy;
    /// Elements of this type per element of the datatype: two for a complex number whose parts are
    /// independent.
    const PARTS: usize = 1;
    /// Whether it is worth compiling for wider vectors.
    const WIDE: bool = true;

    fn apply(a: Self::Element, b: Self::Element) -> Self::Element;
}

/// Operands of at least this many bytes are prefetched: the distance in bytes, and the lines per
/// group.
const MANY: usize = 4 << 10;
const LOADS_AHEAD: usize = 1536;
const STORES_AHEAD: usize = 1024;
const GROUP: usize = 8 * CACHE_LINE;

/// The fastest compilation that this processor can run.
pub(crate) fn pick<B: Binary>() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = for_avx512::<B>().or_else(for_avx2::<B>) {
        return kernel;
    }
    plain::<B>
}

#[cfg(target_arch = "x86_64")]
fn for_avx512<B: Binary>() -> Option<Kernel> {
    let able = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    if B::WIDE && able { Some(avx512::<B>) } else { None }
}

#[cfg(target_arch = "x86_64")]
fn for_avx2<B: Binary>() -> Option<Kernel> {
    if B::WIDE && is_x86_feature_detected!("avx2") { Some(avx2::<B>) } else { None }
}

/// # Safety
/// As for a [`Kernel`].
unsafe fn plain<B: Binary>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the caller promises what a [`Kernel`] needs.
    unsafe { each::<B>(left, right, out, count) }
}

/// # Safety
/// As for a [`Kernel`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<B: Binary>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the caller promises what a [`Kernel`] needs, on a processor with these features.
    unsafe { each::<B>(left, right, out, count) }
}

/// # Safety
/// As for a [`Kernel`], on a processor with these parts of AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<B: Binary>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the caller promises what a [`Kernel`] needs, on a processor with these features.
    unsafe { each::<B>(left, right, out, count) }
}

/// An element at any address.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Loose<T: Copy>(T);

/// # Safety
/// As for a [`Kernel`].
#[inline(always)]
unsafe fn each<B: Binary>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    let (left, right) = (left.cast::<Loose<B::Element>>(), right.cast::<Loose<B::Element>>());
    let out = out.cast::<Loose<B::Element>>();
    let count = count * B::PARTS;
    if count == 0 {
        return; // The pointers may be dangling.
    }
    // Where the result replaces an operand, the loop uses two arrays: the compiler does not
    // vectorise a loop over three arrays that may overlap.
    if out.cast_const() == right || out.cast_const() == left {
        // The operation commutes, so the order of the operands does not matter.
        let other = if out.cast_const() == right { left } else { right };
        if out.cast_const() == other {
            // SAFETY: the pointers cover `count` elements, as a [`Kernel`] demands.
            return unsafe { one::<B>(from_raw_parts_mut(out, count)) };
        }
        // SAFETY: the pointers cover `count` elements, as a [`Kernel`] demands; the arrays do not
        // overlap.
        unsafe { two::<B>(from_raw_parts(other, count), from_raw_parts_mut(out, count)) };
    } else {
        // SAFETY: the groups are within the `count` elements that a [`Kernel`] may access; the
        // result overlaps no operand.
        in_groups([left, right], out, count, |at, count| unsafe {
            let (left, right) = (from_raw_parts(left.add(at), count), from_raw_parts(right.add(at), count));
            three::<B>(left, right, from_raw_parts_mut(out.add(at), count));
        });
    }
}

fn one<B: Binary>(inout: &mut [Loose<B::Element>]) {
    inout.iter_mut().for_each(|inout| *inout = Loose(B::apply(inout.0, inout.0)));
}

#[inline(always)]
fn three<B: Binary>(left: &[Loose<B::Element>], right: &[Loose<B::Element>], out: &mut [Loose<B::Element>]) {
    for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
        *out = Loose(B::apply(left.0, right.0));
    }
}

#[inline(always)]
fn two<B: Binary>(other: &[Loose<B::Element>], inout: &mut [Loose<B::Element>]) {
    for (inout, other) in inout.iter_mut().zip(other) {
        *inout = Loose(B::apply(other.0, inout.0));
    }
}

/// Computes all elements. Long operands are prefetched: they often come from another processor's
/// cache or begin on a new page, and stores retire in order, each after its line has arrived.
#[inline(always)]
fn in_groups<T>(operands: [*const T; 2], out: *mut T, count: usize, compute: impl Fn(usize, usize)) {
    let (group, ahead) = (GROUP / size_of::<T>(), LOADS_AHEAD / size_of::<T>());
    let mut done = 0;
    if count >= MANY / size_of::<T>() {
        while done + ahead + group <= count {
            let [left, right] = operands.map(|operand| operand.wrapping_add(done).cast::<u8>());
            let out = out.wrapping_add(done).cast::<u8>();
            for line in (0..GROUP).step_by(CACHE_LINE) {
                prefetch::line_for_reading(left.wrapping_add(LOADS_AHEAD + line));
                prefetch::line_for_reading(right.wrapping_add(LOADS_AHEAD + line));
                prefetch::line_for_writing(out.wrapping_add(STORES_AHEAD + line));
            }
            compute(done, group);
            done += group;
        }
    }
    compute(done, count - done);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::half::Half;
    use crate::number::*;

    /// Every compilation gives the same bits.
    fn compare<B: Binary>() {
        #[cfg(target_arch = "x86_64")]
        for kernel in [for_avx512::<B>(), for_avx2::<B>()].into_iter().flatten() {
            let (size, mut seed) = (size_of::<B::Element>() * B::PARTS, 1u64);
            let mut bytes = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Numbers without NaNs, whose bits the standard of arithmetic leaves open.
                (seed >> 33) as u8 & 0x3b
            };
            for count in [1, 5, 31, 64, 200, 5000] {
                let a: Vec<u8> = (0..count * size).map(|_| bytes()).collect();
                let b: Vec<u8> = (0..count * size).map(|_| bytes()).collect();
                let (mut plainly, mut widely, mut in_place) = (a.clone(), a.clone(), b.clone());
                let (mut doubled, mut itself) = (b.clone(), a.clone());
                // SAFETY: all have `count` elements.
                unsafe {
                    plain::<B>(a.as_ptr(), b.as_ptr(), plainly.as_mut_ptr(), count);
                    kernel(a.as_ptr(), b.as_ptr(), widely.as_mut_ptr(), count);
                    kernel(a.as_ptr(), in_place.as_ptr(), in_place.as_mut_ptr(), count);
                    plain::<B>(a.as_ptr(), a.as_ptr(), doubled.as_mut_ptr(), count);
                    let all = itself.as_mut_ptr();
                    kernel(all, all, all, count);
                }
                assert_eq!(doubled, itself);
                assert_eq!(plainly, widely);
                assert_eq!(plainly, in_place);
            }
        }
    }

    #[test]
    fn wider_vectors_give_the_same_bits() {
        compare::<Sum<u8>>();
        compare::<Prod<u16>>();
        compare::<Prod<u64>>();
        compare::<Smaller<i8>>();
        compare::<Larger<i32>>();
        compare::<Smaller<u64>>();
        compare::<Sum<f32>>();
        compare::<Prod<f64>>();
        compare::<Smaller<f32>>();
        compare::<Larger<f64>>();
        compare::<Sum<f64, 2>>();
        compare::<ComplexProd<f32>>();
        compare::<Sum<Half>>();
        compare::<Larger<Half>>();
        compare::<Xor<u32>>();
    }
}
