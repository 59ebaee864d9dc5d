//! The loop of an operation that works on each element alone, and its compilations for several generations of
//! processors. The loop is plain: the compiler makes vectors of it, wider ones where it may.

use crate::Kernel;

/// A commutative operation on two elements.
pub(crate) trait Binary {
    type Element: Copy;
    /// Elements here in one element of the datatype: two for a complex number whose parts do not meet.
    const PARTS: usize = 1;
    /// Worth compiling for wider vectors.
    const WIDE: bool = true;

    fn apply(a: Self::Element, b: Self::Element) -> Self::Element;
}

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
    // SAFETY: passed on.
    unsafe { each::<B>(left, right, out, count) }
}

/// # Safety
/// As for a [`Kernel`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<B: Binary>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: passed on.
    unsafe { each::<B>(left, right, out, count) }
}

/// # Safety
/// As for a [`Kernel`], on a processor with these parts of AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<B: Binary>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: passed on.
    unsafe { each::<B>(left, right, out, count) }
}

/// # Safety
/// As for a [`Kernel`].
#[inline(always)]
unsafe fn each<B: Binary>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    let (left, right, out) = (left.cast::<B::Element>(), right.cast::<B::Element>(), out.cast::<B::Element>());
    // Where the result replaces an operand, a loop over two arrays says so; the compiler would take three arrays that
    // overlap for something that it must not do in vectors.
    if out.cast_const() == right {
        // SAFETY: passed on.
        unsafe { two::<B>(left, out, count * B::PARTS) }
    } else if out.cast_const() == left {
        // SAFETY: passed on; the order of the operands is all the same.
        unsafe { two::<B>(right, out, count * B::PARTS) }
    } else {
        for i in 0..count * B::PARTS {
            // SAFETY: within the elements that the caller vouched for.
            unsafe { out.add(i).write_unaligned(B::apply(left.add(i).read_unaligned(), right.add(i).read_unaligned())) }
        }
    }
}

/// # Safety
/// `other` is valid to read, `inout` to read and write, for `count` elements; they do not overlap or are the same.
#[inline(always)]
unsafe fn two<B: Binary>(other: *const B::Element, inout: *mut B::Element, count: usize) {
    for i in 0..count {
        // SAFETY: within the elements that the caller vouched for.
        unsafe {
            let place = inout.add(i);
            place.write_unaligned(B::apply(other.add(i).read_unaligned(), place.read_unaligned()));
        }
    }
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
            for count in [1, 5, 31, 64, 200] {
                let a: Vec<u8> = (0..count * size).map(|_| bytes()).collect();
                let b: Vec<u8> = (0..count * size).map(|_| bytes()).collect();
                let (mut plainly, mut widely, mut in_place) = (a.clone(), a.clone(), b.clone());
                // SAFETY: all have `count` elements.
                unsafe {
                    plain::<B>(a.as_ptr(), b.as_ptr(), plainly.as_mut_ptr(), count);
                    kernel(a.as_ptr(), b.as_ptr(), widely.as_mut_ptr(), count);
                    kernel(a.as_ptr(), in_place.as_ptr(), in_place.as_mut_ptr(), count);
                }
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
