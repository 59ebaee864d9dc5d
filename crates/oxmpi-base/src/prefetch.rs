//! Prefetching and demoting cache lines: hints without an effect on the results of a program.

use crate::segment::CACHE_LINE;

/// Prefetches a cache line for writing; any address is allowed. The compiler's own prefetch asks
/// for write access only if the target is known to have the instruction; processors without it
/// ignore it.
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

/// Prefetches a cache line for reading; any address is allowed.
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

/// Prefetches a line from memory into the second-level cache only, which can wait for more lines at
/// once than the first.
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

/// Prefetches all lines of a block for reading.
#[inline(always)]
pub fn for_reading(from: *const u8, bytes: usize) {
    (0..bytes).step_by(CACHE_LINE).for_each(|at| line_for_reading(from.wrapping_add(at)));
}

/// Moves just written lines to the cache that all processors share, where another processor gets
/// them sooner than from ours: messages of 64 to 512 bytes arrive 15 to 20 % sooner. For one reader
/// and [few bytes](FEW): with many readers there was no gain, and with many bytes the writer loses
/// more at its next write than the reader gains.
#[inline(always)]
pub fn demote_lines(place: *const u8, bytes: usize) {
    let into_line = place.addr() % CACHE_LINE;
    (0..into_line + bytes).step_by(CACHE_LINE).for_each(|at| line_down(place.wrapping_sub(into_line).wrapping_add(at)));
}

/// Up to this many bytes, demoting lines is worthwhile.
pub const FEW: usize = 1 << 10;

/// Processors without the instruction ignore it.
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
