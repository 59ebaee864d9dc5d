//! Random nested types as in `property.rs`, but described by a value that proptest can shrink: a
//! failure prints the simplest type that still fails.

#[expect(dead_code, reason = "the seeded tests use more of it")]
mod reference;

use std::sync::Arc;

use oxmpi_abi::constants::{MPI_ORDER_C, MPI_ORDER_FORTRAN};
use oxmpi_datatype::{Cursor, Datatype, Region, Source, Target, predefined};
use proptest::prelude::*;
use reference::Map;

/// Bytes on each side of the origin that a case may access.
const REACH: i128 = if cfg!(miri) { 1 << 11 } else { 1 << 14 };

/// How a type is made.
#[derive(Clone, Debug)]
enum Spec {
    /// The number of a usual predefined type.
    Named(usize),
    Contiguous(i64, Box<Spec>),
    Vector(i64, i64, i64, Box<Spec>),
    /// The stride in bytes.
    Hvector(i64, i64, i64, Box<Spec>),
    /// Lengths and displacements in elements.
    Indexed(Vec<(i64, i64)>, Box<Spec>),
    /// One length, and displacements in elements.
    IndexedBlock(i64, Vec<i64>, Box<Spec>),
    /// One length, and displacements in bytes.
    HindexedBlock(i64, Vec<i64>, Box<Spec>),
    /// For each of two dimensions: elements before, inside and behind the part; the order of C or of Fortran.
    Subarray([(i64, i64, i64); 2], bool, Box<Spec>),
    Dup(Box<Spec>),
    /// Lengths and displacements in bytes.
    Hindexed(Vec<(i64, i64)>, Box<Spec>),
    /// Lower bound and extent.
    Resized(i64, i64, Box<Spec>),
    /// Lengths, displacements and types.
    Struct(Vec<(i64, i64, Spec)>),
}

const NAMES: [&str; 5] = ["MPI_CHAR", "MPI_SHORT", "MPI_INT", "MPI_DOUBLE", "MPI_DOUBLE_INT"];

fn spec() -> impl Strategy<Value = Spec> {
    let leaf = (0..NAMES.len()).prop_map(Spec::Named);
    leaf.prop_recursive(4, 12, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let blocks = prop::collection::vec((0..4i64, -80..80i64), 0..5);
        let few = prop::collection::vec((0..4i64, -9..9i64), 0..5);
        let displs = prop::collection::vec(-9..9i64, 0..5);
        let bytes = prop::collection::vec(-80..80i64, 0..5);
        let range = || (0..3i64, 1..4i64, 0..3i64);
        let ranges = (range(), range()).prop_map(|(first, second)| [first, second]);
        let members = prop::collection::vec((0..3i64, -80..120i64, inner), 0..4);
        prop_oneof![
            (0..5i64, boxed.clone()).prop_map(|(count, old)| Spec::Contiguous(count, old)),
            (0..5i64, 0..4i64, -4..7i64, boxed.clone()).prop_map(|(n, len, step, old)| Spec::Vector(n, len, step, old)),
            (0..5i64, 0..4i64, -90..90i64, boxed.clone())
                .prop_map(|(n, len, step, old)| Spec::Hvector(n, len, step, old)),
            (few, boxed.clone()).prop_map(|(blocks, old)| Spec::Indexed(blocks, old)),
            (0..4i64, displs, boxed.clone()).prop_map(|(len, displs, old)| Spec::IndexedBlock(len, displs, old)),
            (0..4i64, bytes, boxed.clone()).prop_map(|(len, displs, old)| Spec::HindexedBlock(len, displs, old)),
            (ranges, any::<bool>(), boxed.clone()).prop_map(|(ranges, c, old)| Spec::Subarray(ranges, c, old)),
            boxed.clone().prop_map(Spec::Dup),
            (blocks, boxed.clone()).prop_map(|(blocks, old)| Spec::Hindexed(blocks, old)),
            (-40..40i64, -30..120i64, boxed).prop_map(|(lb, extent, old)| Spec::Resized(lb, extent, old)),
            members.prop_map(Spec::Struct),
        ]
    })
}

impl Spec {
    /// The type, and its map by the standard's definition.
    fn build(&self) -> (Arc<Datatype>, Map) {
        match self {
            Spec::Named(number) => {
                let named = oxmpi_datatype::NAMED.iter().find(|named| named.name == NAMES[*number]).unwrap();
                let map = Map { elements: reference::basic(named, 0), ..Map::default() };
                (predefined(named.handle.into()).unwrap().clone(), map)
            }
            Spec::Contiguous(count, old) => {
                let (old, map) = old.build();
                (Datatype::contiguous(*count, &old).unwrap(), map.repeat(*count, map.extent()))
            }
            Spec::Vector(count, len, step, old) => {
                let (old, map) = old.build();
                let block = map.repeat(*len, map.extent());
                let all = block.repeat(*count, i128::from(*step) * map.extent());
                (Datatype::vector(*count, *len, *step, &old).unwrap(), all)
            }
            Spec::Hvector(count, len, step, old) => {
                let (old, map) = old.build();
                let all = map.repeat(*len, map.extent()).repeat(*count, i128::from(*step));
                (Datatype::hvector(*count, *len, *step, &old).unwrap(), all)
            }
            Spec::Indexed(blocks, old) => {
                let (old, map) = old.build();
                let in_bytes = |disp: &i64| i128::from(*disp) * map.extent();
                let all = blocks_of(&map, blocks.iter().map(|(len, disp)| (*len, in_bytes(disp))));
                let (lens, disps) = blocks.iter().copied().unzip();
                (Datatype::indexed(lens, disps, &old).unwrap(), all)
            }
            Spec::IndexedBlock(len, disps, old) => {
                let (old, map) = old.build();
                let all = blocks_of(&map, disps.iter().map(|disp| (*len, i128::from(*disp) * map.extent())));
                (Datatype::indexed_block(*len, disps.clone(), &old).unwrap(), all)
            }
            Spec::HindexedBlock(len, disps, old) => {
                let (old, map) = old.build();
                let all = blocks_of(&map, disps.iter().map(|disp| (*len, i128::from(*disp))));
                (Datatype::hindexed_block(*len, disps.clone(), &old).unwrap(), all)
            }
            Spec::Subarray(ranges, is_c, old) => {
                let (old, map) = old.build();
                let sizes: Vec<i64> = ranges.iter().map(|(before, inside, behind)| before + inside + behind).collect();
                let [(row, rows, _), (column, columns, _)] = if *is_c { *ranges } else { [ranges[1], ranges[0]] };
                let width = if *is_c { sizes[1] } else { sizes[0] };
                let first = |line: i64| i128::from((row + line) * width + column) * map.extent();
                let part = blocks_of(&map, (0..rows).map(|line| (columns, first(line))));
                let whole = i128::from(sizes[0] * sizes[1]) * map.extent();
                let all = Map { elements: part.elements, lb: Some(0), ub: Some(whole), ..Map::default() };
                let (inside, before) =
                    (ranges.iter().map(|range| range.1).collect(), ranges.iter().map(|range| range.0).collect());
                let order = if *is_c { MPI_ORDER_C } else { MPI_ORDER_FORTRAN };
                (Datatype::subarray(sizes, inside, before, order, &old).unwrap(), all)
            }
            Spec::Dup(old) => {
                let (old, map) = old.build();
                (Datatype::dup(&old), map)
            }
            Spec::Hindexed(blocks, old) => {
                let (old, map) = old.build();
                let all = blocks_of(&map, blocks.iter().map(|(len, disp)| (*len, i128::from(*disp))));
                let (lens, disps) = blocks.iter().copied().unzip();
                (Datatype::hindexed(lens, disps, &old).unwrap(), all)
            }
            Spec::Resized(lb, extent, old) => {
                let (old, map) = old.build();
                let (lower, upper) = (i128::from(*lb), i128::from(lb + extent));
                let resized = Map { elements: map.elements, lb: Some(lower), ub: Some(upper), ..Map::default() };
                (Datatype::resized(&old, *lb, *extent).unwrap(), resized)
            }
            Spec::Struct(members) => {
                let (mut lens, mut disps, mut types, mut all) = (vec![], vec![], vec![], Map::default());
                for (len, disp, member) in members {
                    let (ty, map) = member.build();
                    all.place(&map.repeat(*len, map.extent()), i128::from(*disp));
                    lens.push(*len);
                    disps.push(*disp);
                    types.push(ty);
                }
                (Datatype::create_struct(lens, disps, types).unwrap(), all)
            }
        }
    }
}

/// Blocks of an element by their lengths and displacements in bytes.
fn blocks_of(map: &Map, blocks: impl Iterator<Item = (i64, i128)>) -> Map {
    let mut all = Map::default();
    blocks.for_each(|(len, disp)| all.place(&map.repeat(len, map.extent()), disp));
    all
}

/// Many cases, unless PROPTEST_CASES says how many. A failure prints the type itself, so no file is kept.
fn config() -> ProptestConfig {
    let usual = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => usual,
        None => ProptestConfig { cases: 4000, ..usual },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn bounds_are_those_of_the_definition(spec in spec()) {
        let (ty, map) = spec.build();
        let (lb, ub) = map.true_bounds();
        prop_assert_eq!(ty.size(), map.size());
        prop_assert_eq!((ty.true_lb(), ty.true_extent()), (lb, ub - lb));
        prop_assert_eq!((ty.lb(), ty.ub()), (map.lower(), map.upper()));
    }

    /// Packed in parts that end anywhere, listed, and unpacked: every byte is where the type map says.
    #[test]
    fn streams_are_those_of_the_type_map(spec in spec(), count in 0..4u64, part in 1..200usize) {
        let (ty, map) = spec.build();
        let all = map.repeat(count as i64, map.extent());
        prop_assume!(all.elements.len() < 2000 && all.elements.iter().all(|e| e.disp.abs() < REACH - 64));
        ty.commit().unwrap();
        let places: Vec<usize> =
            all.elements.iter().flat_map(|e| (0..e.size as i128).map(|b| (REACH + e.disp + b) as usize)).collect();
        let mut memory: Vec<u8> = (0..2 * REACH as usize).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
        let expected: Vec<u8> = places.iter().map(|place| memory[*place]).collect();
        let base = memory.as_mut_ptr();
        let region = Region::typed(base.wrapping_add(REACH as usize), count, &ty);
        prop_assert_eq!(region.len(), expected.len());

        let mut runs = Vec::new();
        prop_assert_eq!(Cursor::new().iovecs(&region, &mut runs, usize::MAX, usize::MAX), expected.len());
        let listed: Vec<usize> = runs.iter().flat_map(|(at, len)| (0..*len).map(move |b| at + b - base.addr())).collect();
        prop_assert_eq!(&listed, &places);

        // SAFETY: every element is within REACH of the origin, and the memory lives to the end of the test.
        let source = unsafe { Source::new(region.clone()) };
        let (mut cursor, mut packed) = (Cursor::new(), Vec::new());
        while cursor.position() < expected.len() {
            let mut bytes = vec![0; part];
            let moved = cursor.pack_into(&source, &mut bytes);
            packed.extend_from_slice(&bytes[..moved]);
        }
        prop_assert_eq!(&packed, &expected);

        let mut once = places.clone();
        once.sort_unstable();
        once.dedup();
        if once.len() == places.len() {
            let mut back = vec![0xa5u8; memory.len()];
            let mut wanted = back.clone();
            places.iter().zip(&expected).for_each(|(place, byte)| wanted[*place] = *byte);
            // SAFETY: the same places in memory that is as long.
            let target = unsafe {
                Target::new(Region::typed(back.as_mut_ptr().wrapping_add(REACH as usize), count, &ty))
            };
            let mut cursor = Cursor::new();
            expected.chunks(part).for_each(|bytes| assert_eq!(cursor.unpack_from(&target, bytes), bytes.len()));
            prop_assert!(back == wanted, "unpacked");
        } else {
            prop_assert!(!expected.is_empty());
        }
    }
}
