//! Random nested types against a naive reference that knows nothing but the standard's definition
//! of a type map: a list of elements and displacements, and markers. Every case is a seed; a
//! failure prints it, and `OXMPI_PROPERTY_SEED=<seed>` runs that one alone. `OXMPI_PROPERTY_CASES`
//! sets how many are run.

mod reference;

use std::sync::{Arc, LazyLock};

use oxmpi_datatype::{Cursor, Datatype, Region, Source, Target, pack_external, unpack_external};
use reference::{Element, Generator, Map, Rng};

/// Bytes on each side of the origin that a case may access.
const REACH: i128 = 1 << 13;

struct Memory(Vec<u8>);

impl Memory {
    /// Bytes without a pattern; different ones each time.
    fn random(rng: &mut Rng) -> Memory {
        static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let mut rng = Rng::new(0);
            (0..REACH).flat_map(|_| rng.next().to_le_bytes()).collect()
        });
        let len = 2 * REACH as usize;
        let from = rng.below((NOISE.len() - len) as u64) as usize;
        Memory(NOISE[from..from + len].to_vec())
    }

    fn origin(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().wrapping_add(REACH as usize)
    }

    /// Elements at the origin, none of them farther away than REACH.
    fn target(&mut self, count: u64, ty: &Arc<Datatype>) -> Target<'static> {
        // SAFETY: `pick` gives only types that stay within REACH, and the tests drop the target
        // before the memory.
        unsafe { Target::new(Region::typed(self.origin(), count, ty)) }
    }

    fn at(&self, disp: i128) -> usize {
        (REACH + disp) as usize
    }
}

fn run(name: &str, usual: u64, case: fn(&mut Rng)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    if let Some(seed) = number("OXMPI_PROPERTY_SEED") {
        return case(&mut Rng::new(seed));
    }
    let cases = number("OXMPI_PROPERTY_CASES").unwrap_or(usual);
    let start = std::env::var("OXMPI_PROPERTY_START").ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    for seed in start..start + cases {
        let guard = Announce(name, seed);
        case(&mut Rng::new(seed));
        std::mem::forget(guard);
    }
}

/// Prints the seed of a case that fails.
struct Announce<'a>(&'a str, u64);

impl Drop for Announce<'_> {
    fn drop(&mut self) {
        eprintln!("{}: failed with OXMPI_PROPERTY_SEED={}", self.0, self.1);
    }
}

/// A random type whose `count` copies stay within reach.
fn pick(rng: &mut Rng) -> (Arc<Datatype>, Map, u64) {
    loop {
        let depth = rng.below(7) as usize;
        let (ty, map) = Generator::new(rng).tree(depth);
        let count = match rng.below(8) {
            0..=3 => 1,
            4..=6 => rng.below(6),
            _ => rng.below(100),
        };
        let all = map.repeat(count as i64, map.extent());
        if all.elements.iter().all(|e| e.disp.abs() < REACH - 64) && all.elements.len() < 2000 {
            return (ty, map, count);
        }
    }
}

/// The address of each byte of the packed stream.
fn stream(elements: &[Element]) -> Vec<i128> {
    elements.iter().flat_map(|e| (0..e.size as i128).map(|b| e.disp + b)).collect()
}

#[test]
fn bounds_are_those_of_the_definition() {
    run("bounds", 300_000, |rng| {
        let (ty, map, _) = pick(rng);
        let (true_lb, true_ub) = map.true_bounds();
        assert_eq!(ty.size(), map.size(), "size");
        assert_eq!(ty.elements(), map.elements.len() as i128, "elements");
        assert_eq!(ty.true_lb(), true_lb, "true lb");
        assert_eq!(ty.true_extent(), true_ub - true_lb, "true extent");
        assert_eq!((ty.lb(), ty.ub()), (map.lower(), map.upper()), "bounds");
        let runs: Vec<_> = ty.runs().flat_map(|r| reference::elements_of_run(&r)).collect();
        assert_eq!(runs, map.elements, "type map");
    });
}

#[test]
fn streams_are_those_of_the_type_map() {
    run("streams", 800_000, |rng| {
        let (ty, map, count) = pick(rng);
        ty.commit().unwrap();
        let all = map.repeat(count as i64, map.extent());
        let places = stream(&all.elements);
        let mut memory = Memory::random(rng);
        let expected: Vec<u8> = places.iter().map(|p| memory.0[memory.at(*p)]).collect();
        let buf = memory.target(count, &ty);
        assert_eq!(buf.len(), expected.len());

        pack_in_one_and_in_pieces(rng, &buf, &expected);
        list_pieces(rng, &buf, &places, memory.origin());

        // Unpacking: if nothing overlaps, each byte has one place, and no other byte changes.
        let mut touched = places.clone();
        touched.sort_unstable();
        let overlap = touched.windows(2).any(|w| w[0] == w[1]);
        if ty.overlaps(count) {
            assert!(overlap, "claimed to overlap");
        }
        if !overlap {
            let mut target = Memory::random(rng);
            let mut wanted = target.0.clone();
            places.iter().zip(&expected).for_each(|(p, b)| wanted[target.at(*p)] = *b);
            let buf = target.target(count, &ty);
            unpack_in_pieces(rng, &buf, &expected);
            assert!(target.0 == wanted, "unpacked");
        }
    });
}

fn pack_in_one_and_in_pieces(rng: &mut Rng, buf: &Source<'_>, expected: &[u8]) {
    let mut packed = vec![0xa5; expected.len() + 8];
    // SAFETY: the memory outlives the call, and the output has room for the whole stream.
    let n = unsafe { Cursor::new().pack(buf, packed.as_mut_ptr(), usize::MAX) };
    assert_eq!(n, expected.len());
    assert!(packed[..n] == *expected, "packed in one");
    assert_eq!(packed[n..], [0xa5; 8], "wrote behind the end");

    packed.fill(0);
    let mut cursor = Cursor::new();
    if rng.below(4) == 0 && !expected.is_empty() {
        // From the middle on.
        let from = rng.below(expected.len() as u64) as usize;
        cursor.seek(buf, from);
        packed[..from].copy_from_slice(&expected[..from]);
    }
    let step = 1 + rng.below(1 + expected.len() as u64 / 2);
    loop {
        let at = cursor.position();
        let max = rng.below(step + 1) as usize;
        // SAFETY: the memory outlives the call, and the pieces follow each other in the output.
        let n = unsafe { cursor.pack_afar(buf, packed[at..].as_mut_ptr(), max) };
        assert_eq!(n, max.min(expected.len() - at));
        assert_eq!(cursor.position(), at + n);
        if cursor.position() == expected.len() {
            break;
        }
    }
    assert!(packed[..expected.len()] == *expected, "packed in pieces");
}

fn unpack_in_pieces(rng: &mut Rng, buf: &Target<'_>, from: &[u8]) {
    let mut cursor = Cursor::new();
    let step = 1 + rng.below(1 + from.len() as u64);
    while cursor.position() < from.len() {
        let at = cursor.position();
        let len = (rng.below(step + 1) as usize).min(from.len() - at);
        // SAFETY: the memory outlives the call; the input holds `len` bytes from `at` on.
        assert_eq!(unsafe { cursor.unpack(buf, from[at..].as_ptr(), len) }, len);
    }
}

fn list_pieces(rng: &mut Rng, buf: &Region, places: &[i128], origin: *mut u8) {
    let mut cursor = Cursor::new();
    let mut listed = Vec::with_capacity(places.len());
    while cursor.position() < places.len() {
        let mut pieces = Vec::new();
        let (max_pieces, max_bytes) = (1 + rng.below(9) as usize, 1 + rng.below(200) as usize);
        let n = cursor.iovecs(buf, &mut pieces, max_pieces, max_bytes);
        assert!(n > 0 && n <= max_bytes && pieces.len() <= max_pieces);
        assert_eq!(pieces.iter().map(|p| p.1).sum::<usize>(), n);
        assert!(pieces.windows(2).all(|w| w[0].0 + w[0].1 != w[1].0), "neighbours are joined");
        for (at, len) in pieces {
            listed.extend((at..at + len).map(|a| a as i128 - origin.addr() as i128));
        }
    }
    assert!(listed == places, "pieces");
}

#[test]
fn a_type_of_the_same_signature_receives_what_another_sent() {
    run("transfer", 600_000, |rng| {
        let (from, map, count) = pick(rng);
        let all = map.repeat(count as i64, map.extent());
        let (to, target_map) = Generator::new(rng).scatter(&all.elements);
        if target_map.elements.iter().any(|e| e.disp.abs() >= REACH - 64) {
            return;
        }
        from.commit().unwrap();
        to.commit().unwrap();
        assert_eq!(to.size(), all.size());
        let (mut source, mut target) = (Memory::random(rng), Memory::random(rng));
        let mut wanted = target.0.clone();
        for (s, t) in stream(&all.elements).into_iter().zip(stream(&target_map.elements)) {
            wanted[target.at(t)] = source.0[source.at(s)];
        }
        let (sent, received) = (source.target(count, &from), target.target(1, &to));
        let (mut a, mut b) = (Cursor::new(), Cursor::new());
        let mut chunk = [0u8; 96];
        while a.position() < sent.len() {
            let max = 1 + rng.below(96) as usize;
            // SAFETY: both memories outlive the call, and the chunk holds what is asked for.
            unsafe {
                let n = a.pack(&sent, chunk.as_mut_ptr(), max);
                assert_eq!(b.unpack(&received, chunk.as_ptr(), n), n);
            }
        }
        assert!(target.0 == wanted);
    });
}

#[test]
fn partial_messages_are_counted_exactly() {
    run("partial", 400_000, |rng| {
        let (ty, map, _) = pick(rng);
        if map.elements.is_empty() {
            assert_eq!((ty.elements_of(0), ty.elements_of(1), ty.count_of(0)), (Some(0), None, Some(0)));
            return;
        }
        let size = map.size() as u64;
        let bytes = rng.below(3 * size + 1);
        let mut expected = (bytes / size * map.elements.len() as u64) as i128;
        let mut rest = bytes % size;
        for e in &map.elements {
            if rest < e.size as u64 {
                break;
            }
            rest -= e.size as u64;
            expected += 1;
        }
        assert_eq!(ty.elements_of(bytes), (rest == 0).then_some(expected), "{bytes} bytes");
        assert_eq!(ty.count_of(bytes), (bytes % size == 0).then_some((bytes / size).into()));
        // And back: the number of bytes of whole elements.
        assert_eq!(ty.bytes_of(expected as u64), Some(i128::from(bytes - rest)));
    });
}

#[test]
fn external32_comes_back() {
    run("external32", 100_000, |rng| {
        let (ty, map, count) = pick(rng);
        let all = map.repeat(count as i64, map.extent());
        let places = stream(&all.elements);
        let mut touched = places.clone();
        touched.sort_unstable();
        if touched.windows(2).any(|w| w[0] == w[1]) {
            return;
        }
        // Values that every representation can hold: small integers, ones and zeros elsewhere.
        let mut source = Memory(vec![0; 2 * REACH as usize]);
        for e in &all.elements {
            let at = source.at(e.disp);
            source.0[at] = rng.below(2) as u8;
        }
        let size = usize::try_from(ty.external_size()).unwrap() * count as usize;
        assert_eq!(size, all.elements.iter().map(|e| e.external).sum::<usize>());
        let mut packed = vec![0u8; size];
        let mut target = Memory(vec![0; 2 * REACH as usize]);
        // SAFETY: the memories outlive the calls and the buffer has the size that is needed.
        unsafe {
            let n = pack_external(source.origin(), count, &ty, packed.as_mut_ptr(), size).unwrap();
            assert_eq!(n, size);
            let n = unpack_external(target.origin(), count, &ty, packed.as_ptr(), size).unwrap();
            assert_eq!(n, size);
        }
        for e in all.elements.iter().filter(|e| !e.is_long_double) {
            let at = source.at(e.disp);
            assert_eq!(source.0[at..at + e.size], target.0[at..at + e.size], "{e:?}");
        }
    });
}
