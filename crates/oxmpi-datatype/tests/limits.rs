//! The sizes that a type may have: very deep, very many blocks, very large.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxmpi_datatype::{Cursor, Datatype, Region, Source, Target, predefined};

const INT: usize = 0x209;
const DOUBLE: usize = 0x214;

fn of(handle: usize) -> Arc<Datatype> {
    predefined(handle).unwrap().clone()
}

fn pack(buf: &Source<'_>) -> Vec<u8> {
    let mut out = vec![0; buf.len()];
    assert_eq!(Cursor::new().pack_into(buf, &mut out), out.len());
    out
}

/// A part of a buffer is packed and listed like that part of the whole, at any cut.
#[test]
fn parts_of_buffers() {
    let memory: Vec<u8> = (0..20_000u32).map(|i| (i * 7 + i / 250) as u8).collect();
    let base = memory.as_ptr().cast_mut();
    for ty in [
        Datatype::vector(20, 3, 7, &of(INT)).unwrap(),
        Datatype::indexed(vec![3, 1, 4], vec![40, 0, 9], &of(DOUBLE)).unwrap(),
        Datatype::contiguous(30, &of(INT)).unwrap(),
    ] {
        ty.commit().unwrap();
        // SAFETY: the memory is only read, and lives to the end of the test.
        let whole = unsafe { Source::new(Region::typed(base, 5, &ty)) };
        let packed = pack(&whole);
        for (from, bytes) in [(0, 0), (0, 10), (3, 64), (61, 200), (packed.len() - 5, 5)] {
            let part = whole.part(from, bytes);
            assert_eq!(pack(&part), packed[from..from + bytes]);
            assert_eq!(pack(&part.part(bytes / 3, bytes)), packed[from + bytes / 3..from + bytes], "a part of a part");
            let mut runs = Vec::new();
            assert_eq!(Cursor::new().iovecs(&part, &mut runs, 1000, usize::MAX), bytes);
            let listed = runs.iter().flat_map(|&(at, len)| &memory[at - base as usize..][..len]);
            assert!(listed.eq(&packed[from..from + bytes]));
        }
        assert_eq!(whole.part(packed.len() - 5, 50).len(), 5);
        assert_eq!(whole.part(packed.len() + 5, 50).len(), 0);
    }
}

/// Every kind of long list, packed as for a ring (in groups with prefetches), in parts of any
/// length, and unpacked; compared with the runs of the type.
#[test]
fn long_lists_are_packed_in_groups() {
    const COUNT: i64 = 40_001;
    let int = || of(INT);
    let places = |step: i64| (0..COUNT).map(|i| i * step + i % 3).collect::<Vec<_>>();
    let member = Datatype::create_struct(vec![1, 1, 1], vec![0, 8, 17], vec![int(), of(DOUBLE), int()]).unwrap();
    let types = [
        Datatype::vector(COUNT, 1, 2, &int()).unwrap(),
        Datatype::vector(COUNT, 1, 2, &of(DOUBLE)).unwrap(),
        Datatype::vector(COUNT, 3, -5, &int()).unwrap(),
        Datatype::vector(COUNT, 1, 40, &of(DOUBLE)).unwrap(),
        Datatype::vector(COUNT / 50, 600, 700, &int()).unwrap(),
        Datatype::indexed_block(2, places(6), &int()).unwrap(),
        Datatype::indexed((0..COUNT).map(|i| i % 7).collect(), places(9), &int()).unwrap(),
        Datatype::contiguous(COUNT, &Datatype::resized(&member, 0, 24).unwrap()).unwrap(),
    ];
    for (which, ty) in types.iter().enumerate() {
        ty.commit().unwrap();
        let (origin, len) = (-ty.true_lb().min(0), ty.true_extent() + ty.true_lb().abs());
        let memory: Vec<u8> = (0..len).map(|i| ((i * 37) >> 3) as u8 | 1).collect();
        let mut back = vec![0; memory.len()];
        let start = origin as isize;
        let place = |at: i128| (at + origin) as usize;
        let runs = ty.runs().map(|run| (run.disp, run.disp + i128::from(run.count) * run.named.scalar.size() as i128));
        let runs: Vec<_> = runs.flat_map(|(from, to)| place(from)..place(to)).collect();
        let expected: Vec<u8> = runs.iter().map(|at| memory[*at]).collect();
        for part in [expected.len(), 4096 - 8, 1999] {
            let region = Region::typed(memory.as_ptr().wrapping_offset(start).cast_mut(), 1, ty);
            // SAFETY: the memory is only read, and lives to the end of the test.
            let buf = unsafe { Source::new(region) };
            let mut packed = vec![0xa5; expected.len() + 64];
            let mut cursor = Cursor::new();
            while cursor.position() < expected.len() {
                let at = cursor.position();
                // SAFETY: the memory is only read, and the output has room for the whole stream.
                unsafe { cursor.pack_afar(&buf, packed[at..].as_mut_ptr(), part) };
            }
            assert!(packed[..expected.len()] == expected, "type {which} in parts of {part}");
            assert_eq!(packed[expected.len()..], [0xa5; 64], "type {which} wrote behind the end");
        }
        let region = Region::typed(back.as_mut_ptr().wrapping_offset(start), 1, ty);
        // SAFETY: the type reaches no farther than in the memory that was packed, which is as long.
        let buf = unsafe { Target::new(region) };
        Cursor::new().unpack_from(&buf, &expected);
        let mut wanted = vec![0; memory.len()];
        runs.iter().for_each(|at| wanted[*at] = memory[*at]);
        assert!(back == wanted, "type {which} unpacked");
    }
}

#[test]
fn nesting_has_no_limit() {
    const LEVELS: usize = 20_000;
    // One int more at each level, with every other way to wrap a type in between.
    let mut chain = of(INT);
    for i in 0..LEVELS {
        chain = match i % 4 {
            0 => Datatype::create_struct(vec![1, 1], vec![0, 8], vec![of(INT), chain]).unwrap(),
            1 => Datatype::dup(&chain),
            2 => Datatype::contiguous(1, &chain).unwrap(),
            _ => Datatype::hindexed_block(1, vec![-8], &chain).unwrap(),
        };
    }
    let ints = LEVELS / 4 + 1;
    assert_eq!(chain.elements(), ints as i128);
    chain.commit().unwrap();
    assert_eq!(chain.elements_of(4 * (ints as u64 - 1)), Some(ints as i128 - 1));
    assert_eq!(chain.runs().count(), ints);
    let mut pieces = Vec::new();
    let far = Region::typed(std::ptr::without_provenance_mut(1 << 32), 1, &chain);
    assert_eq!(Cursor::new().iovecs(&far, &mut pieces, usize::MAX, usize::MAX), 4 * ints);
    drop(chain);
}

#[test]
fn a_member_that_occurs_twice_at_every_level_is_kept_once() {
    // 2^34 ints, in 34 nodes.
    let mut ty = of(INT);
    for level in 0..34 {
        let (disp, mid) = (12i64 << level, 8i64 << level);
        ty = Datatype::create_struct(vec![1, 1, 1], vec![0, mid, disp], vec![ty.clone(), of(INT), ty]).unwrap();
    }
    let before = Instant::now();
    ty.commit().unwrap();
    assert!(before.elapsed() < Duration::from_millis(500));
    assert_eq!(ty.elements(), (1 << 35) - 1);
    assert_eq!(ty.elements_of(4 * 1_234_567_891), Some(1_234_567_891));
    // The last int is at the place of the last member of the last member, and so on.
    let buf = Region::typed(std::ptr::null_mut(), 1, &ty);
    let mut cursor = Cursor::new();
    cursor.seek(&buf, buf.len() - 4);
    let mut pieces = Vec::new();
    assert_eq!(cursor.iovecs(&buf, &mut pieces, 8, 64), 4);
    assert_eq!(pieces, [((0..34).map(|l| 12usize << l).sum(), 4)]);
}

#[test]
fn a_million_irregular_blocks_commit_in_a_second() {
    const N: usize = 1_000_000;
    let (mut lens, mut disps, mut at) = (Vec::with_capacity(N), Vec::with_capacity(N), 0i64);
    for i in 0..N as i64 {
        let len = 1 + i * 7919 % 3;
        lens.push(len);
        disps.push(at);
        at += len + 1 + i * 104_729 % 5;
    }
    let before = Instant::now();
    let irregular = Datatype::indexed(lens.clone(), disps.clone(), &of(DOUBLE)).unwrap();
    irregular.commit().unwrap();
    let equal = Datatype::indexed_block(1, disps.clone(), &of(DOUBLE)).unwrap();
    equal.commit().unwrap();
    let members = vec![of(DOUBLE); N];
    let bytes: Vec<i64> = disps.iter().map(|d| d * 8).collect();
    let members = Datatype::create_struct(lens.clone(), bytes, members).unwrap();
    members.commit().unwrap();
    let took = before.elapsed();
    assert!(took < Duration::from_secs(3), "three types of a million blocks took {took:?}");

    let mut memory: Vec<u64> = (0..at as u64).collect();
    let expected: Vec<u64> =
        (0..N).flat_map(|i| (0..lens[i]).map(move |j| (i, j))).map(|(i, j)| (disps[i] + j) as u64).collect();
    for ty in [&irregular, &members] {
        // SAFETY: the memory has room for all blocks, and is only read.
        let packed = pack(&unsafe { Source::new(Region::typed(memory.as_mut_ptr().cast(), 1, ty)) });
        let words: Vec<u64> = packed.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
        assert!(words == expected);
    }
}

#[test]
fn more_than_two_to_the_31_elements_and_the_40_bytes() {
    let (int, double) = (of(INT), of(DOUBLE));
    let many = Datatype::contiguous(3 << 31, &int).unwrap();
    assert_eq!((many.size(), many.elements()), (12 << 31, 3 << 31));
    let far = Datatype::hvector(3, 1, 1 << 44, &double).unwrap();
    assert_eq!((far.extent(), far.size()), ((2 << 44) + 8, 24));
    far.commit().unwrap();
    let mut pieces = Vec::new();
    let buf = Region::typed(std::ptr::null_mut(), 2, &far);
    Cursor::new().iovecs(&buf, &mut pieces, 8, usize::MAX);
    let step = 1usize << 44;
    let at = |i: usize| (i % 3 * step + i / 3 * (2 * step + 8), 8);
    // The third block of the first element touches the first of the second.
    assert_eq!(pieces, [at(0), at(1), (2 * step, 16), at(4), at(5)]);
    // A strided type of 2^33 blocks is still a few words, and any byte of it is found at once.
    let sparse = Datatype::vector(1 << 33, 1, 2, &double).unwrap();
    sparse.commit().unwrap();
    let buf = Region::typed(std::ptr::null_mut(), 1, &sparse);
    let mut cursor = Cursor::new();
    cursor.seek(&buf, (8 << 33) - 12);
    pieces.clear();
    assert_eq!(cursor.iovecs(&buf, &mut pieces, 8, usize::MAX), 12);
    let last = 16 * ((1 << 33) - 1);
    assert_eq!(pieces, [(last - 16 + 4, 4), (last, 8)]);
}

#[test]
fn sizes_beyond_64_bits_are_known_but_not_committed() {
    let big = Datatype::contiguous(1 << 62, &of(DOUBLE)).unwrap();
    assert_eq!(big.size(), 8 << 62);
    assert_eq!(big.commit().unwrap_err().class(), 3);
    let bigger = Datatype::contiguous(1 << 58, &big).unwrap();
    assert_eq!(bigger.extent(), 8 << 120);
    assert_eq!(Datatype::contiguous(8, &bigger).unwrap_err().class(), 2);
    assert_eq!(Datatype::hvector(i64::MAX, 1, i64::MIN, &bigger).unwrap_err().class(), 2);
}
