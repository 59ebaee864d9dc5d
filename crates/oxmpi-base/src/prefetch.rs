//! Asking for cache lines before they are needed: hints, without an effect that a program could see.

/// Asks for a cache line with the right to write to it. The compiler's own prefetch only asks for that right where the
/// target is known to have the instruction; processors without it take it for no operation.
#[inline(always)]
pub fn for_writing<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) std::ptr::from_ref(place), options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Asks for memory that is about to be read.
#[inline(always)]
pub fn for_reading(from: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes).step_by(crate::segment::CACHE_LINE) {
        // SAFETY: a hint.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(from.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes);
}
