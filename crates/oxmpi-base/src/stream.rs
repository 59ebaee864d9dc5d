//! Copies past the cache, for more bytes than it holds: the lines that are overwritten are not fetched first, and those that
//! others read stay where they are.

use crate::segment::CACHE_LINE;

/// Lines that are asked for ahead of the one that is copied: they are in another processor's cache.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 8;

/// Copies memory that is not read again soon.
///
/// # Safety
/// `from` can be read and `to` written for so many bytes, and they do not overlap.
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    let head = to.align_offset(CACHE_LINE).min(bytes);
    let lines = (bytes - head) / CACHE_LINE;
    let tail = head + lines * CACHE_LINE;
    // SAFETY: as the caller says; the lines are whole ones of `to`.
    unsafe {
        to.copy_from_nonoverlapping(from, head);
        copy_lines(from.add(head), to.add(head), lines);
        to.add(tail).copy_from_nonoverlapping(from.add(tail), bytes - tail);
    }
}

/// # Safety
/// As for [`copy`], for whole lines of `to`.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_lines(from: *const u8, to: *mut u8, lines: usize) {
    use std::arch::x86_64::{__m128i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_sfence, _mm_stream_si128};
    const QUARTER: usize = size_of::<__m128i>();
    for at in (0..lines * CACHE_LINE).step_by(CACHE_LINE) {
        // SAFETY: as the caller says; a hint may name any address, and a line is aligned for its quarters.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at + AHEAD * CACHE_LINE).cast());
            let quarters: [__m128i; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.add(at + i * QUARTER).cast()));
            for (i, quarter) in quarters.into_iter().enumerate() {
                _mm_stream_si128(to.add(at + i * QUARTER).cast(), quarter);
            }
        }
    }
    // Streaming stores are not ordered with others: whoever is told of them later must find them.
    // SAFETY: every x86-64 has it.
    unsafe { _mm_sfence() };
}

/// # Safety
/// As for [`copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_lines(from: *const u8, to: *mut u8, lines: usize) {
    // SAFETY: as the caller says.
    unsafe { to.copy_from_nonoverlapping(from, lines * CACHE_LINE) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_no_other_for_any_alignment() {
        let source: Vec<u8> = (0..1000u32).map(|i| (i * 7 + i / 251) as u8).collect();
        for (start, end, bytes) in (0..70)
            .flat_map(|s| [(s, 0), (3, s), (s, s)])
            .flat_map(|(s, e)| [0, 1, 15, 63, 64, 65, 200, 700].map(|bytes| (s, e, bytes)))
        {
            let mut target = vec![0xaa; 1000];
            // SAFETY: both vectors have so many bytes from there on.
            unsafe { copy(source.as_ptr().add(start), target.as_mut_ptr().add(end), bytes) };
            assert_eq!(target[end..end + bytes], source[start..start + bytes], "{bytes} from {start} to {end}");
            assert!(target[..end].iter().chain(&target[end + bytes..]).all(|&byte| byte == 0xaa));
        }
    }
}
