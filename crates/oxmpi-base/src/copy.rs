//! Copies of large blocks of memory.

#[cfg(target_arch = "x86_64")]
use crate::prefetch;
use crate::segment::CACHE_LINE;

/// Blocks of at least this many bytes are copied here, shorter ones by the C library, whose copy is
/// faster for what fits the first-level cache.
pub const LONG: usize = 32 << 10;

/// Blocks of more bytes than this are copied by the C library again: it handles sizes beyond the
/// caches well.
#[cfg(target_arch = "x86_64")]
const LONGEST: usize = 16 << 20;

/// Minimum size of a part that is copied here.
#[cfg(target_arch = "x86_64")]
const PART: usize = 192;

/// Distance in bytes at which target lines are prefetched for writing. Stores retire in order, each
/// after its line has arrived.
#[cfg(target_arch = "x86_64")]
pub const WRITES_AHEAD: usize = 1024;

/// Lines to prefetch when copying past the cache: they are in another processor's cache.
#[cfg(target_arch = "x86_64")]
const READS_AHEAD: usize = 8;

/// Copies memory, at least as fast as the C library.
///
/// # Safety
/// `from` can be read and `to` written for so many bytes, and they do not overlap.
#[inline]
pub unsafe fn bytes(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller promises valid, disjoint ranges of `bytes` bytes.
    unsafe { part(from, to, bytes, bytes, 0) };
}

/// Copies one part of a block of `all` bytes that is gathered from several places; the next
/// `following` bytes go behind this part.
///
/// # Safety
/// As for [`bytes`].
#[inline]
pub unsafe fn part(from: *const u8, to: *mut u8, bytes: usize, all: usize, following: usize) {
    #[cfg(target_arch = "x86_64")]
    if (LONG..=LONGEST).contains(&all) && bytes >= PART && is_x86_feature_detected!("avx512f") {
        // SAFETY: the caller promises valid, disjoint ranges; there are more than two lines, and
        // the processor has AVX-512.
        return unsafe { whole_lines(from, to, bytes, bytes.saturating_add(following)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (all, following);
    // SAFETY: the caller promises valid, disjoint ranges of `bytes` bytes.
    unsafe { to.copy_from_nonoverlapping(from, bytes) };
}

/// Copies cache line by cache line. The first and the last access may overlap others, so that some
/// bytes are copied twice. Lines of the target are prefetched up to `end`.
///
/// # Safety
/// As for [`bytes`], for at least two lines.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn whole_lines(from: *const u8, to: *mut u8, bytes: usize, end: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_storeu_si512};
    const GROUP: usize = 4;
    let line = |at: usize| {
        // SAFETY: the callers pass an offset whose 64 bytes lie inside both ranges.
        unsafe { _mm512_storeu_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) };
    };
    let mut at = to.align_offset(CACHE_LINE);
    if at > 0 {
        line(0);
    }
    let announced = bytes.min(end.saturating_sub(WRITES_AHEAD));
    while at + GROUP * CACHE_LINE <= announced {
        (0..GROUP).for_each(|i| prefetch::line_for_writing(to.wrapping_add(at + WRITES_AHEAD + i * CACHE_LINE)));
        (0..GROUP).for_each(|i| line(at + i * CACHE_LINE));
        at += GROUP * CACHE_LINE;
    }
    while at + CACHE_LINE <= bytes {
        line(at);
        at += CACHE_LINE;
    }
    if at < bytes {
        line(bytes - CACHE_LINE);
    }
}

/// Copies more memory than the caches hold and that is not read again soon. The overwritten lines
/// are not fetched first, and lines that others use stay in the cache.
///
/// # Safety
/// As for [`bytes`].
pub unsafe fn past_cache(from: *const u8, to: *mut u8, bytes: usize) {
    let head = to.align_offset(CACHE_LINE).min(bytes);
    let lines = (bytes - head) / CACHE_LINE;
    let tail = head + lines * CACHE_LINE;
    // SAFETY: the caller promises valid, disjoint ranges; `stream_lines` gets whole lines of `to`.
    unsafe {
        to.copy_from_nonoverlapping(from, head);
        stream_lines(from.add(head), to.add(head), lines);
        to.add(tail).copy_from_nonoverlapping(from.add(tail), bytes - tail);
    }
}

/// # Safety
/// As for [`bytes`], for whole lines of `to`.
#[cfg(target_arch = "x86_64")]
unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const QUARTER: usize = size_of::<__m128i>();
    for at in (0..lines * CACHE_LINE).step_by(CACHE_LINE) {
        prefetch::line_for_reading(from.wrapping_add(at + READS_AHEAD * CACHE_LINE));
        // SAFETY: the caller promises whole lines in valid ranges; a line is aligned for its
        // quarters.
        unsafe {
            let quarters: [__m128i; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.add(at + i * QUARTER).cast()));
            for (i, quarter) in quarters.into_iter().enumerate() {
                _mm_stream_si128(to.add(at + i * QUARTER).cast(), quarter);
            }
        }
    }
    // Streaming stores are not ordered with other stores: a process that is notified later must see
    // them.
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { _mm_sfence() };
}

/// # Safety
/// As for [`bytes`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
    // SAFETY: the caller promises valid, disjoint ranges of `lines` lines.
    unsafe { to.copy_from_nonoverlapping(from, lines * CACHE_LINE) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Copies blocks at many alignments; all bytes must arrive, and no others change.
    fn try_out(how: unsafe fn(*const u8, *mut u8, usize), lengths: &[usize]) {
        let most = lengths.iter().max().unwrap() + 200;
        let source: Vec<u8> = (0..most as u32).map(|i| (i * 7 + i / 251) as u8).collect();
        for (start, end, &bytes) in (0..70)
            .flat_map(|s| [(s, 0), (3, s), (s, s)])
            .flat_map(|(s, e)| lengths.iter().map(move |bytes| (s, e, bytes)))
        {
            let mut target = vec![0xaa; most];
            // SAFETY: both vectors have so many bytes from there on.
            unsafe { how(source.as_ptr().add(start), target.as_mut_ptr().add(end), bytes) };
            assert!(target[end..end + bytes] == source[start..start + bytes], "{bytes} from {start} to {end}");
            assert!(target[..end].iter().chain(&target[end + bytes..]).all(|&byte| byte == 0xaa));
        }
    }

    #[test]
    fn every_byte_and_no_other() {
        try_out(bytes, &[0, 1, 63, 64, 65, 32767, 32768, 32769, 33000, 34000]);
    }

    #[test]
    fn every_byte_and_no_other_past_the_cache() {
        try_out(past_cache, &[0, 1, 15, 63, 64, 65, 200, 700]);
    }
}
