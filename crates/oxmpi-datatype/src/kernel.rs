//! The copy loops. `PACK` says the direction: from memory into the packed stream, or back. Block lengths that occur in
//! practice are constants of the loop, so that the compiler turns a block into one or two moves.
//!
//! Nothing here checks anything: the callers have computed every address from a layout.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use oxmpi_base::segment::CACHE_LINE;
use oxmpi_base::{copy, prefetch};
use std::time::{Duration, Instant};

/// How many blocks ahead in a list a load is announced.
const AHEAD: usize = 8;

/// Blocks so far apart are loaded from several places in turn: the processor foresees all of them, and has more to fetch at once.
/// Columns of matrices that the second cache holds are packed 15 to 30 % faster than from one place.
const FAR_APART: usize = 128;

/// From so many places. Up to so far apart two instructions may share the loads of a place.
const PLACES: usize = 4;
const SHARED_LOADS: usize = 1024;

/// The processor foresees loads of one instruction that are less than 2 KiB apart. Others are announced, so many blocks ahead; a
/// page has few of them then, and more places would need more pages.
const FAR_LOADS: usize = 2048;
const FAR_PLACES: usize = 2;
const FAR_AHEAD: isize = 8;

/// The same where lines, not that far apart, come from memory. Announced to the second cache only, more of them come at once:
/// columns are packed 20 to 30 % faster. Lines that are in a cache come sooner unannounced. So many blocks may well come from
/// memory; they do if the first ones take so long.
const PLACES_IN_MEMORY: usize = 8;
const MEMORY_AHEAD: isize = 4;
const MANY: usize = 64 << 10;
const FIRST: usize = 1024;
const FROM_MEMORY: Duration = Duration::from_nanos(13 * FIRST as u64);

/// How many blocks ahead a strided store is announced, when the blocks are at least so far apart. Stores retire in order,
/// each after its line has come and its page was found; announced, many come at once: messages of a matrix's column
/// became twice as fast. Many more would push each other out of the cache where the stride is a power of two.
const STORES_AHEAD: isize = 8;
const FAR_STORES: usize = 256;

/// Blocks of these lengths are moved here, others by the library's `memcpy`. It is better where the last moves of a block, which
/// overlap, would be many of all, and where a block is so long that its choices cost nothing.
const MEDIUM: usize = 512;
const LONG: usize = 4096;

/// From this length on it is worth it to announce more than the first line of a block that will be stored to.
const SEVERAL_LINES: usize = 192;

/// `count` blocks of `len`: `mem_stride` apart in memory, `packed_stride` apart in the stream. `once`: nothing else in their
/// cache lines is about to be moved, so that the lines are not there yet.
///
/// # Safety
/// All blocks are valid to read on the one side and to write on the other, and the two sides do not overlap.
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
                // SAFETY: as the caller promised.
                $($n => unsafe { fixed_len::<$n, PACK>(mem, mem_stride, packed, packed_stride, count, announce) },)*
                _ => {
                    // SAFETY: as the caller promised.
                    unsafe { any_len::<PACK>(mem, mem_stride, packed, packed_stride, len, count, announce) }
                }
            }
        };
    }
    // Every second element: the stride is a constant too, and the compiler makes vectors of it.
    match (len, mem_stride, packed_stride) {
        // SAFETY: as the caller promised.
        (4, 8, 4) => return unsafe { fixed::<4, PACK>(mem, 8, packed, 4, count, false) },
        // SAFETY: as the caller promised.
        (8, 16, 8) => return unsafe { fixed::<8, PACK>(mem, 16, packed, 8, count, false) },
        _ => {}
    }
    let apart = mem_stride.unsigned_abs();
    if PACK && count >= MANY && (FAR_APART..FAR_LOADS).contains(&apart) && packed_stride == len {
        // SAFETY: as the caller promised.
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

/// Blocks of a length that is not worth loops of its own.
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
    // SAFETY: as the caller promised.
    unsafe {
        if len >= LONG || PACK && announce && len >= SEVERAL_LINES && all >= copy::LONG {
            // In the stream the next blocks go behind this one.
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

/// A function of its own for every length: all in one, they would not find registers for their loops.
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
    // SAFETY: as the caller promised.
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
        // SAFETY: as the caller promised.
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
            // SAFETY: as the caller promised.
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
            // SAFETY: as the caller promised.
            unsafe {
                one::<N, PACK>(mem.wrapping_offset(i * mem_stride), packed.wrapping_add(i as usize * packed_stride))
            };
        }
        mem = mem.wrapping_offset(4 * mem_stride);
        packed = packed.wrapping_add(4 * packed_stride);
        left -= 4;
    }
    while left > 0 {
        // SAFETY: as the caller promised.
        unsafe { one::<N, PACK>(mem, packed) };
        mem = mem.wrapping_offset(mem_stride);
        packed = packed.wrapping_add(packed_stride);
        left -= 1;
    }
}

/// Unpacks into memory that is not in the near caches, where there is a better way than [`strided`]; was there one?
///
/// # Safety
/// As [`strided`], for blocks that follow each other in the stream.
pub(crate) unsafe fn unpack_afar(mem: *mut u8, mem_stride: isize, packed: *mut u8, len: usize, count: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    if mem_stride == 2 * len as isize && is_x86_feature_detected!("avx512f") {
        // SAFETY: as the caller promised; the processor has the instructions.
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

/// Unpacks into every second element of 4 or 8 bytes, a line of the stream at a time, which is two of memory; those are announced.
/// What lies between the elements is not touched.
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
    // SAFETY: as the caller promised: so many elements are left wherever a line is moved, and the masks leave out what is between.
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

/// Packs so many blocks, far apart, that their lines may come from memory or from a cache: which, the first ones tell by the time
/// that they take.
///
/// # Safety
/// As [`strided`]; the blocks follow each other in the stream.
unsafe fn many<const N: usize>(mem: *mut u8, mem_stride: isize, packed: *mut u8, count: usize) {
    let block = |i: usize| (mem.wrapping_offset(mem_stride.wrapping_mul(i as isize)), packed.wrapping_add(i * N));
    let start = Instant::now();
    // SAFETY: as the caller promised.
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

/// Packs most of the blocks, `STEP` from each place in turn; how many? Lines `AHEAD` blocks further on are announced.
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
            // SAFETY: as the caller promised.
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

/// Packs two words with one store: that leaves more of the processor to the loads, which are what takes time.
///
/// # Safety
/// Both words may be read, and 16 bytes written.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn two_words(mem: *mut u8, mem_stride: isize, packed: *mut u8) {
    use std::arch::x86_64::{_mm_load_sd, _mm_loadh_pd, _mm_storeu_pd};
    // SAFETY: as the caller promised. These moves need no alignment and leave the bits as they are.
    unsafe {
        let both = _mm_loadh_pd(_mm_load_sd(mem.cast()), mem.wrapping_offset(mem_stride).cast());
        _mm_storeu_pd(packed.cast(), both);
    }
}

/// Blocks of `len` at `mem` plus each of `disps`, one after the other in the stream.
///
/// # Safety
/// As [`strided`].
pub(crate) unsafe fn equal<const PACK: bool>(mem: *mut u8, disps: &[isize], packed: *mut u8, len: usize) {
    macro_rules! by_len {
        ($($n:literal)*) => {
            match len {
                // SAFETY: as the caller promised.
                $($n => unsafe { equal_fixed::<$n, PACK>(mem, disps, packed) },)*
                _ => {
                    for (i, d) in disps.iter().enumerate() {
                        // SAFETY: as the caller promised.
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
    // The far ones first, with their successors announced; then the rest, which have been.
    let far = disps.len().saturating_sub(AHEAD);
    for (d, ahead) in disps[..far].iter().zip(&disps[AHEAD.min(disps.len())..]) {
        prefetch::line_for_reading(mem.wrapping_offset(*ahead));
        // SAFETY: as the caller promised.
        unsafe { one::<N, PACK>(mem.wrapping_offset(*d), packed) };
        packed = packed.wrapping_add(N);
    }
    for d in &disps[far..] {
        // SAFETY: as the caller promised.
        unsafe { one::<N, PACK>(mem.wrapping_offset(*d), packed) };
        packed = packed.wrapping_add(N);
    }
}

/// Some of the blocks of a list: block `i` is `starts[i + 1] - starts[i]` bytes at `mem + disps[i]`, and follows the one before
/// it in the stream; the first of them goes to `packed`.
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
        // SAFETY: as the caller promised.
        unsafe { any::<PACK>(mem.wrapping_offset(*d), packed.wrapping_add(w[0] - first), w[1] - w[0]) };
    }
}

/// One block of any length.
///
/// # Safety
/// As [`strided`].
#[inline(always)]
pub(crate) unsafe fn any<const PACK: bool>(mem: *mut u8, packed: *mut u8, len: usize) {
    // SAFETY: as the caller promised; a length between two powers of two is two moves that overlap.
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

/// A block of at least 64 bytes, 64 at a time; the last ones may be some that were moved already. `ANNOUNCE`: the lines at
/// `next` will be stored to soon.
///
/// # Safety
/// As [`strided`]; `next` may be any address.
unsafe fn lines<const PACK: bool, const ANNOUNCE: bool>(mem: *mut u8, packed: *mut u8, len: usize, next: *mut u8) {
    let mut at = 0;
    while at + 64 <= len {
        if ANNOUNCE {
            prefetch::line_for_writing(next.wrapping_add(at));
        }
        // SAFETY: as the caller promised; inside the block.
        unsafe { one::<64, PACK>(mem.wrapping_add(at), packed.wrapping_add(at)) };
        at += 64;
    }
    if at < len {
        let last = len - 64;
        // SAFETY: as above; the block has at least 64 bytes.
        unsafe { one::<64, PACK>(mem.wrapping_add(last), packed.wrapping_add(last)) };
    }
}

/// The first and the last `N` bytes of a block of `N..=2 * N`.
///
/// # Safety
/// As [`strided`].
#[inline(always)]
unsafe fn ends<const N: usize, const PACK: bool>(mem: *mut u8, packed: *mut u8, len: usize) {
    let (src, dst) = if PACK { (mem, packed) } else { (packed, mem) };
    // SAFETY: as the caller promised; both loads come before the stores, and lie inside the block.
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
    // SAFETY: as the caller promised.
    unsafe { dst.cast::<[u8; N]>().write_unaligned(src.cast::<[u8; N]>().read_unaligned()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way of moving a block, by its length: what arrives, and that nothing beside it is touched.
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

    /// Blocks far apart, so many that their lines may come from memory, packed from several places in turn.
    fn pack_many<const N: usize>(stride: usize, count: usize) {
        let mut memory: Vec<u8> = (0..count * stride).map(|i| (i * 31 + i / 255) as u8).collect();
        let expected: Vec<u8> = memory.chunks(stride).flat_map(|block| &block[..N]).copied().collect();
        let mem = memory.as_mut_ptr();
        let (mut packed, mut announced) = (vec![0; N * count], vec![0; N * count]);
        // SAFETY: memory for so many blocks, and for their bytes.
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
