//! The copy loops. `PACK` is the direction: from memory into the packed stream, or back. Common
//! block lengths are constants of the loops, so that the compiler turns a block into one or two
//! moves.
//!
//! Nothing here is checked: the callers compute every address from a layout.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use oxmpi_base::segment::CACHE_LINE;
use oxmpi_base::{copy, prefetch};
use std::time::{Duration, Instant};

/// Prefetch distance in a list, in blocks.
const AHEAD: usize = 8;

/// Blocks at this distance are loaded from several places in turn: the processor prefetches all
/// streams, and more loads are in flight. Columns of matrices that fit the second-level cache are
/// packed 15 to 30 % faster than from one place.
const FAR_APART: usize = 128;

/// The number of places; and the distance up to which two instructions may share the loads of a
/// place.
const PLACES: usize = 4;
const SHARED_LOADS: usize = 1024;

/// The processor prefetches loads of one instruction that are less than 2 KiB apart. Loads farther
/// apart are prefetched by software, [`FAR_AHEAD`] blocks ahead; a page has few of them, and more
/// places would need more pages.
const FAR_LOADS: usize = 2048;
const FAR_PLACES: usize = 2;
const FAR_AHEAD: isize = 8;

/// The same for nearer lines that come from memory. With prefetches into the second-level cache
/// only, more of them are in flight: columns are packed 20 to 30 % faster. Lines that are in a
/// cache arrive sooner without prefetches. [`MANY`] blocks may come from memory; they do if the
/// [`FIRST`] ones take [`FROM_MEMORY`] or longer.
const PLACES_IN_MEMORY: usize = 8;
const MEMORY_AHEAD: isize = 4;
const MANY: usize = 64 << 10;
const FIRST: usize = 1024;
const FROM_MEMORY: Duration = Duration::from_nanos(13 * FIRST as u64);

/// Prefetch distance of strided stores, in blocks, for blocks at least [`FAR_STORES`] bytes apart.
/// Stores retire in order, each after its line and its page translation have arrived; with
/// prefetches many are in flight: messages with a column of a matrix became twice as fast. Many
/// more would evict each other from the cache if the stride is a power of two.
const STORES_AHEAD: isize = 8;
const FAR_STORES: usize = 256;

/// Blocks of these lengths are copied here, others by `memcpy` of the C library. That is better
/// where the overlapping last moves of a block would be a large share, and where a block is so long
/// that its choices cost nothing.
const MEDIUM: usize = 512;
const LONG: usize = 4096;

/// From this length on, more than the first line of a block to be stored is prefetched.
const SEVERAL_LINES: usize = 192;

/// Copies `count` blocks of `len` bytes, at a distance of `mem_stride` in memory and of
/// `packed_stride` in the stream. `once`: nothing else in their cache lines is copied soon, so the
/// lines are not in the cache yet.
///
/// # Safety
/// All blocks are valid to read on the one side and to write on the other, and the two sides do not
/// overlap.
pub(crate) unsafe fn strided<const PACK: bool>(
    mem: *mut u8,
    mem_stride: isize,
    packed: *mut u8,
    packed_stride: usize,
    len: usize,
    count: usize,
    once: bool,
) {
    let announce = once && mem_stride.unsigned_abs() >= FAR_STORES;
    macro_rules! by_len {
        ($($n:literal)*) => {
            match len {
                // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
                $($n => unsafe { fixed_len::<$n, PACK>(mem, mem_stride, packed, packed_stride, count, announce) },)*
                _ => {
                    // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
                    unsafe { any_len::<PACK>(mem, mem_stride, packed, packed_stride, len, count, announce) }
                }
            }
        };
    }
    // Every second element: the stride is a constant too, so that the compiler vectorises it.
    match (len, mem_stride, packed_stride) {
        // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
        (4, 8, 4) => return unsafe { fixed::<4, PACK>(mem, 8, packed, 4, count, false) },
        // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
        (8, 16, 8) => return unsafe { fixed::<8, PACK>(mem, 16, packed, 8, count, false) },
        _ => {}
    }
    let apart = mem_stride.unsigned_abs();
    if PACK && count >= MANY && (FAR_APART..FAR_LOADS).contains(&apart) && packed_stride == len {
        // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
        unsafe {
            match len {
                4 => return many::<4>(mem, mem_stride, packed, count),
                8 => return many::<8>(mem, mem_stride, packed, count),
                16 => return many::<16>(mem, mem_stride, packed, count),
                _ => {}
            }
        }
    }
    by_len!(1 2 3 4 6 8 12 16 20 24 32 40 48 56 64);
}

/// Copies blocks of a length without loops of its own.
///
/// # Safety
/// As [`strided`].
unsafe fn any_len<const PACK: bool>(
    mem: *mut u8,
    mem_stride: isize,
    packed: *mut u8,
    packed_stride: usize,
    len: usize,
    count: usize,
    announce: bool,
) {
    let at =
        |i: usize| (mem.wrapping_offset(mem_stride.wrapping_mul(i as isize)), packed.wrapping_add(packed_stride * i));
    let all = len * count;
    // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
    unsafe {
        if len >= LONG || PACK && announce && len >= SEVERAL_LINES && all >= copy::LONG {
            // The next blocks go behind this one in the stream.
            let following = |i: usize| if PACK && packed_stride == len { all - (i + 1) * len } else { 0 };
            for i in 0..count {
                let (m, p) = at(i);
                let (from, to) = if PACK { (m, p) } else { (p, m) };
                copy::part(from, to, len, all, following(i));
            }
        } else if announce && !PACK {
            for i in 0..count {
                let ((m, p), (next, _)) = (at(i), at(i + 1));
                if len >= SEVERAL_LINES {
                    lines::<PACK, true>(m, p, len, next);
                } else {
                    prefetch::line_for_writing(next);
                    any::<PACK>(m, p, len);
                }
            }
        } else {
            for i in 0..count {
                let (m, p) = at(i);
                any::<PACK>(m, p, len);
            }
        }
    }
}

/// A separate function for each length: in one function, their loops would not get enough
/// registers.
///
/// # Safety
/// As [`strided`].
#[inline(never)]
unsafe fn fixed_len<const N: usize, const PACK: bool>(
    mem: *mut u8,
    mem_stride: isize,
    packed: *mut u8,
    packed_stride: usize,
    count: usize,
    announce: bool,
) {
    // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
    unsafe { fixed::<N, PACK>(mem, mem_stride, packed, packed_stride, count, announce) }
}

/// # Safety
/// As [`strided`].
#[inline(always)]
unsafe fn fixed<const N: usize, const PACK: bool>(
    mut mem: *mut u8,
    mem_stride: isize,
    mut packed: *mut u8,
    packed_stride: usize,
    count: usize,
    announce: bool,
) {
    let mut left = count;
    let apart = mem_stride.unsigned_abs();
    if PACK && packed_stride == N && apart >= FAR_APART && count >= 8 * PLACES {
        // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
        let done = unsafe {
            if apart <= SHARED_LOADS {
                from_places::<N, PLACES, 2, 0>(mem, mem_stride, packed, count, |_| ())
            } else if apart < FAR_LOADS {
                from_places::<N, PLACES, 1, 0>(mem, mem_stride, packed, count, |_| ())
            } else {
                from_places::<N, FAR_PLACES, 1, FAR_AHEAD>(mem, mem_stride, packed, count, prefetch::line_for_reading)
            }
        };
        mem = mem.wrapping_offset(done as isize * mem_stride);
        packed = packed.wrapping_add(done * N);
        left = count - done;
    }
    #[cfg(target_arch = "x86_64")]
    if PACK && N == 8 && packed_stride == 8 {
        while left >= 4 {
            // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
            unsafe {
                two_words(mem, mem_stride, packed);
                two_words(mem.wrapping_offset(2 * mem_stride), mem_stride, packed.wrapping_add(16));
            }
            mem = mem.wrapping_offset(4 * mem_stride);
            packed = packed.wrapping_add(32);
            left -= 4;
        }
    }
    while left >= 4 {
        for i in 0..4 {
            if announce && !PACK {
                prefetch::line_for_writing(mem.wrapping_offset((i + STORES_AHEAD).wrapping_mul(mem_stride)));
            }
            // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
            unsafe {
                one::<N, PACK>(mem.wrapping_offset(i * mem_stride), packed.wrapping_add(i as usize * packed_stride))
            };
        }
        mem = mem.wrapping_offset(4 * mem_stride);
        packed = packed.wrapping_add(4 * packed_stride);
        left -= 4;
    }
    while left > 0 {
        // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
        unsafe { one::<N, PACK>(mem, packed) };
        mem = mem.wrapping_offset(mem_stride);
        packed = packed.wrapping_add(packed_stride);
        left -= 1;
    }
}

/// Unpacks into memory that is not in the near caches, if there is a better way than [`strided`].
/// Returns whether there was.
///
/// # Safety
/// As [`strided`], for blocks that follow each other in the stream.
pub(crate) unsafe fn unpack_afar(mem: *mut u8, mem_stride: isize, packed: *mut u8, len: usize, count: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    if mem_stride == 2 * len as isize && is_x86_feature_detected!("avx512f") {
        // SAFETY: the caller promises valid blocks, as for [`strided`]; the processor has the
        // instructions.
        unsafe {
            match len {
                4 => unpack_every_second::<4>(mem, packed, count),
                8 => unpack_every_second::<8>(mem, packed, count),
                _ => return false,
            }
        }
        return true;
    }
    let _ = (mem, mem_stride, packed, len, count);
    false
}

/// Unpacks into every second element of 4 or 8 bytes, one line of the stream (two lines of memory)
/// at a time, with prefetches. The elements in between are not written.
///
/// # Safety
/// As [`strided`]; the processor has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn unpack_every_second<const N: usize>(mem: *mut u8, packed: *mut u8, count: usize) {
    use std::arch::x86_64::*;
    let in_line = CACHE_LINE / N;
    let whole = count / in_line * in_line;
    let (low_8, high_8) = (_mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0), _mm512_set_epi64(7, 7, 6, 6, 5, 5, 4, 4));
    let low_4 = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    let high_4 = _mm512_add_epi32(low_4, _mm512_set1_epi32(8));
    // SAFETY: the caller promises valid elements; so many are left wherever a line is copied, and
    // the masks leave out the elements in between.
    unsafe {
        for i in (0..whole).step_by(in_line) {
            let elements = _mm512_loadu_si512(packed.add(i * N).cast());
            let first = mem.add(i * 2 * N);
            let second = first.add(CACHE_LINE);
            prefetch::line_for_writing(first.wrapping_add(copy::WRITES_AHEAD));
            prefetch::line_for_writing(second.wrapping_add(copy::WRITES_AHEAD));
            if N == 8 {
                _mm512_mask_storeu_epi64(first.cast(), 0x55, _mm512_permutexvar_epi64(low_8, elements));
                _mm512_mask_storeu_epi64(second.cast(), 0x55, _mm512_permutexvar_epi64(high_8, elements));
            } else {
                _mm512_mask_storeu_epi32(first.cast(), 0x5555, _mm512_permutexvar_epi32(low_4, elements));
                _mm512_mask_storeu_epi32(second.cast(), 0x5555, _mm512_permutexvar_epi32(high_4, elements));
            }
        }
        for i in whole..count {
            one::<N, false>(mem.add(i * 2 * N), packed.add(i * N));
        }
    }
}

/// Packs so many distant blocks that their lines may come from memory or from a cache. The time of
/// the first blocks tells which.
///
/// # Safety
/// As [`strided`]; the blocks follow each other in the stream.
unsafe fn many<const N: usize>(mem: *mut u8, mem_stride: isize, packed: *mut u8, count: usize) {
    let block = |i: usize| (mem.wrapping_offset(mem_stride.wrapping_mul(i as isize)), packed.wrapping_add(i * N));
    let start = Instant::now();
    // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
    unsafe {
        fixed_len::<N, true>(mem, mem_stride, packed, N, FIRST, false);
        let mut done = FIRST;
        if start.elapsed() >= FROM_MEMORY {
            let (mem, packed) = block(done);
            let (count, announce) = (count - done, prefetch::line_from_memory);
            done += from_places::<N, PLACES_IN_MEMORY, 1, MEMORY_AHEAD>(mem, mem_stride, packed, count, announce);
        }
        let (mem, packed) = block(done);
        fixed_len::<N, true>(mem, mem_stride, packed, N, count - done, false);
    }
}

/// Packs most of the blocks, `STEP` from each place in turn, and returns their number. Lines
/// `AHEAD` blocks further on are prefetched.
///
/// # Safety
/// As [`strided`]; the blocks follow each other in the stream.
#[inline(always)]
unsafe fn from_places<const N: usize, const PLACES: usize, const STEP: usize, const AHEAD: isize>(
    mem: *mut u8,
    mem_stride: isize,
    packed: *mut u8,
    count: usize,
    announce: impl Fn(*const u8),
) -> usize {
    let of_each = count / PLACES / STEP * STEP;
    for i in (0..of_each).step_by(STEP) {
        for first in (0..PLACES).map(|place| place * of_each + i) {
            let m = mem.wrapping_offset(mem_stride.wrapping_mul(first as isize));
            let p = packed.wrapping_add(first * N);
            announce(m.wrapping_offset(mem_stride.wrapping_mul(AHEAD)));
            // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
            unsafe {
                #[cfg(target_arch = "x86_64")]
                if N == 8 && STEP == 2 {
                    two_words(m, mem_stride, p);
                    continue;
                }
                for k in 0..STEP {
                    one::<N, true>(m.wrapping_offset(k as isize * mem_stride), p.wrapping_add(k * N));
                }
            }
        }
    }
    PLACES * of_each
}

/// Packs two words with one store, which leaves more execution slots for the loads that limit the
/// speed.
///
/// # Safety
/// Both words may be read, and 16 bytes written.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn two_words(mem: *mut u8, mem_stride: isize, packed: *mut u8) {
    use std::arch::x86_64::{_mm_load_sd, _mm_loadh_pd, _mm_storeu_pd};
    // SAFETY: the caller promises both words and 16 bytes of `packed`. These moves need no
    // alignment and do not change bits.
    unsafe {
        let both = _mm_loadh_pd(_mm_load_sd(mem.cast()), mem.wrapping_offset(mem_stride).cast());
        _mm_storeu_pd(packed.cast(), both);
    }
}

/// Copies blocks of `len` bytes at `mem` plus each of `disps`, consecutive in the stream.
///
/// # Safety
/// As [`strided`].
pub(crate) unsafe fn equal<const PACK: bool>(mem: *mut u8, disps: &[isize], packed: *mut u8, len: usize) {
    macro_rules! by_len {
        ($($n:literal)*) => {
            match len {
                // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
                $($n => unsafe { equal_fixed::<$n, PACK>(mem, disps, packed) },)*
                _ => {
                    for (i, d) in disps.iter().enumerate() {
                        // SAFETY: the caller promises valid blocks on both sides, as for
                        // [`strided`].
                        unsafe { any::<PACK>(mem.wrapping_offset(*d), packed.wrapping_add(i * len), len) };
                    }
                }
            }
        };
    }
    by_len!(1 2 3 4 6 8 12 16 24 32 48 64);
}

/// # Safety
/// As [`strided`].
#[inline(never)]
unsafe fn equal_fixed<const N: usize, const PACK: bool>(mem: *mut u8, disps: &[isize], mut packed: *mut u8) {
    // First the blocks with a successor to prefetch, then the last ones.
    let far = disps.len().saturating_sub(AHEAD);
    for (d, ahead) in disps[..far].iter().zip(&disps[AHEAD.min(disps.len())..]) {
        prefetch::line_for_reading(mem.wrapping_offset(*ahead));
        // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
        unsafe { one::<N, PACK>(mem.wrapping_offset(*d), packed) };
        packed = packed.wrapping_add(N);
    }
    for d in &disps[far..] {
        // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
        unsafe { one::<N, PACK>(mem.wrapping_offset(*d), packed) };
        packed = packed.wrapping_add(N);
    }
}

/// Copies some of the blocks of a list: block `i` is `starts[i + 1] - starts[i]` bytes at `mem +
/// disps[i]`, and follows its predecessor in the stream; the first of them goes to `packed`.
///
/// # Safety
/// As [`strided`].
pub(crate) unsafe fn blocks<const PACK: bool>(
    mem: *mut u8,
    disps: &[isize],
    starts: &[usize],
    some: Range<usize>,
    packed: *mut u8,
) {
    let first = starts[some.start];
    let ahead = &disps[(some.start + AHEAD).min(disps.len())..];
    for (i, (d, w)) in disps[some.clone()].iter().zip(starts[some.start..=some.end].windows(2)).enumerate() {
        if let Some(next) = ahead.get(i) {
            prefetch::line_for_reading(mem.wrapping_offset(*next));
        }
        // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
        unsafe { any::<PACK>(mem.wrapping_offset(*d), packed.wrapping_add(w[0] - first), w[1] - w[0]) };
    }
}

/// Copies one block of any length.
///
/// # Safety
/// As [`strided`].
#[inline(always)]
pub(crate) unsafe fn any<const PACK: bool>(mem: *mut u8, packed: *mut u8, len: usize) {
    // SAFETY: the caller promises valid blocks, as for [`strided`]; a length between two powers of
    // two is two moves that overlap.
    unsafe {
        match len {
            0 => {}
            1 => one::<1, PACK>(mem, packed),
            2..=3 => ends::<2, PACK>(mem, packed, len),
            4..=7 => ends::<4, PACK>(mem, packed, len),
            8..=16 => ends::<8, PACK>(mem, packed, len),
            17..=32 => ends::<16, PACK>(mem, packed, len),
            33..=64 => ends::<32, PACK>(mem, packed, len),
            MEDIUM..LONG => lines::<PACK, false>(mem, packed, len, mem),
            _ if PACK => copy::bytes(mem, packed, len),
            _ => copy::bytes(packed, mem, len),
        }
    }
}

/// Copies a block of at least 64 bytes, 64 bytes at a time; the last move may overlap the one
/// before. `ANNOUNCE`: the lines at `next` are prefetched for storing.
///
/// # Safety
/// As [`strided`]; `next` may be any address.
unsafe fn lines<const PACK: bool, const ANNOUNCE: bool>(mem: *mut u8, packed: *mut u8, len: usize, next: *mut u8) {
    let mut at = 0;
    while at + 64 <= len {
        if ANNOUNCE {
            prefetch::line_for_writing(next.wrapping_add(at));
        }
        // SAFETY: the caller promises a valid block; the move is inside it.
        unsafe { one::<64, PACK>(mem.wrapping_add(at), packed.wrapping_add(at)) };
        at += 64;
    }
    if at < len {
        let last = len - 64;
        // SAFETY: the caller promises a valid block of at least 64 bytes; the move is inside it.
        unsafe { one::<64, PACK>(mem.wrapping_add(last), packed.wrapping_add(last)) };
    }
}

/// Copies the first and the last `N` bytes of a block of `N..=2 * N` bytes.
///
/// # Safety
/// As [`strided`].
#[inline(always)]
unsafe fn ends<const N: usize, const PACK: bool>(mem: *mut u8, packed: *mut u8, len: usize) {
    let (src, dst) = if PACK { (mem, packed) } else { (packed, mem) };
    // SAFETY: the caller promises a valid block; both loads come before the stores, and lie inside
    // the block.
    unsafe {
        let head = src.cast::<[u8; N]>().read_unaligned();
        let tail = src.add(len - N).cast::<[u8; N]>().read_unaligned();
        dst.cast::<[u8; N]>().write_unaligned(head);
        dst.add(len - N).cast::<[u8; N]>().write_unaligned(tail);
    }
}

/// # Safety
/// As [`strided`].
#[inline(always)]
unsafe fn one<const N: usize, const PACK: bool>(mem: *mut u8, packed: *mut u8) {
    let (src, dst) = if PACK { (mem, packed) } else { (packed, mem) };
    // SAFETY: the caller promises valid blocks on both sides, as for [`strided`].
    unsafe { dst.cast::<[u8; N]>().write_unaligned(src.cast::<[u8; N]>().read_unaligned()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways to copy a block, by its length: the right bytes arrive, and no others change.
    #[test]
    fn strided_blocks_of_every_length() {
        for len in (1..=200).chain([255, 1000, 2047, 2048, 4095, 4096, 4097]) {
            for (gap, count) in [(1, 9), (len, 9), (len, 67), (300, 9), (300, 67), (900, 100), (3000, 67)] {
                let stride = len + gap;
                let mem: Vec<u8> = (0..stride * count).map(|i| ((i * 31) >> 3) as u8 | 1).collect();
                let mut packed = vec![0; len * count + 1];
                let mut back = vec![0; stride * count];
                // SAFETY: `count` blocks fit into both sides; nothing is written to `mem`.
                unsafe {
                    let step = stride as isize;
                    strided::<true>(mem.as_ptr().cast_mut(), step, packed.as_mut_ptr(), len, len, count, true);
                    if !unpack_afar(back.as_mut_ptr(), step, packed.as_mut_ptr(), len, count) {
                        strided::<false>(back.as_mut_ptr(), step, packed.as_mut_ptr(), len, len, count, true);
                    }
                }
                assert_eq!(packed[len * count], 0, "packed too much of {len}");
                for (i, (row, returned)) in mem.chunks(stride).zip(back.chunks(stride)).enumerate() {
                    assert_eq!(packed[i * len..][..len], row[..len], "packed block {i} of {len}");
                    assert_eq!(returned[..len], row[..len], "unpacked block {i} of {len}");
                    assert!(returned[len..].iter().all(|b| *b == 0), "block {i} of {len} spilled");
                }
            }
        }
    }

    /// Distant blocks, so many that their lines may come from memory, packed from several places in
    /// turn.
    fn pack_many<const N: usize>(stride: usize, count: usize) {
        let mut memory: Vec<u8> = (0..count * stride).map(|i| (i * 31 + i / 255) as u8).collect();
        let expected: Vec<u8> = memory.chunks(stride).flat_map(|block| &block[..N]).copied().collect();
        let mem = memory.as_mut_ptr();
        let (mut packed, mut announced) = (vec![0; N * count], vec![0; N * count]);
        // SAFETY: both vectors have room for so many blocks.
        let done = unsafe {
            strided::<true>(mem, stride as isize, packed.as_mut_ptr(), N, N, count, true);
            let (to, announce) = (announced.as_mut_ptr(), prefetch::line_from_memory);
            from_places::<N, PLACES_IN_MEMORY, 1, MEMORY_AHEAD>(mem, stride as isize, to, count, announce)
        };
        assert!(packed == expected, "{count} blocks of {N}, {stride} apart");
        assert!(done > count - PLACES_IN_MEMORY && announced[..done * N] == expected[..done * N]);
    }

    #[test]
    fn every_block_of_many() {
        for count in [MANY, MANY + 1, MANY + 1023] {
            pack_many::<4>(128, count);
            pack_many::<8>(136, count);
            pack_many::<16>(160, count);
        }
        pack_many::<8>(2048, 1000);
    }
}
