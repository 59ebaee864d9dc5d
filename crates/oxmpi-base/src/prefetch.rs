//! Asking for cache lines before they are needed, and giving them away: hints, without an effect that a program could see.

use crate::segment::CACHE_LINE;

/// Asks for a cache line with the right to write to it; any address will do. The compiler's own prefetch only asks for that
/// right where the target is known to have the instruction; processors without it take it for no operation.
#[inline(always)]
pub fn line_for_writing<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

/// Asks for a cache line that is about to be read; any address will do.
#[inline(always)]
pub fn line_for_reading(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

/// The same for one that is to come from memory as far as the second cache only, which can wait for more lines at once than the
/// first.
#[inline(always)]
pub fn line_from_memory(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T2 }>(place.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::asm!("prfm pldl2keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

/// Asks for all lines of memory that is about to be read.
#[inline(always)]
pub fn for_reading(from: *const u8, bytes: usize) {
    (0..bytes).step_by(CACHE_LINE).for_each(|at| line_for_reading(from.wrapping_add(at)));
}

/// Gives lines that were just written to the cache that all processors share, from where another one gets them sooner than from ours:
/// messages of 64 to 512 bytes come 15 to 20 % sooner. It is for one reader and [few bytes](FEW): with many readers there was nothing to
/// gain, and with many bytes we lose more when we write there again than the reader gains.
#[inline(always)]
pub fn demote_lines(place: *const u8, bytes: usize) {
    let into_line = place.addr() % CACHE_LINE;
    (0..into_line + bytes).step_by(CACHE_LINE).for_each(|at| line_down(place.wrapping_sub(into_line).wrapping_add(at)));
}

/// So many bytes are worth being handed down.
pub const FEW: usize = 1 << 10;

/// Processors without the instruction take it for no operation.
#[inline(always)]
fn line_down(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::asm!("cldemote [{}]", in(reg) place, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
