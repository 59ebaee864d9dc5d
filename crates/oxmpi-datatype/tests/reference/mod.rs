//! The reference: a type map as the standard defines it, element by element, and a generator that
//! builds a random type together with its map.

use std::sync::Arc;

use oxmpi_datatype::{Datatype, LB, NAMED, Named, Run, Scalar, UB, predefined, predefined_or_marker};

/// SplitMix64.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.next() % n }
    }

    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }
}

/// One entry of a type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    pub handle: u16,
    /// 0, or 1 for the index of a pair.
    pub part: u8,
    pub disp: i128,
    pub size: usize,
    pub align: usize,
    pub external: usize,
    pub is_long_double: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Map {
    pub elements: Vec<Element>,
    /// The end of the last component type, with padding; only with elements.
    pub end: Option<i128>,
    pub lb: Option<i128>,
    pub ub: Option<i128>,
}

pub fn basic(named: &Named, disp: i128) -> Vec<Element> {
    let element = |part, scalar: Scalar, at: usize, external: u8| Element {
        handle: named.handle,
        part,
        disp: disp + at as i128,
        size: scalar.size(),
        align: scalar.align(),
        external: external.into(),
        is_long_double: matches!(scalar, Scalar::LongDouble | Scalar::CLongDouble),
    };
    let mut all = vec![element(0, named.scalar, 0, named.external)];
    all.extend(named.index.map(|i| element(1, i.scalar, i.at.into(), i.external)));
    all
}

pub fn elements_of_run(run: &Run) -> Vec<Element> {
    (0..run.count).flat_map(|i| basic(run.named, run.disp + i as i128 * run.named.extent() as i128)).collect()
}

impl Map {
    pub fn size(&self) -> i128 {
        self.elements.iter().map(|e| e.size as i128).sum()
    }

    pub fn true_bounds(&self) -> (i128, i128) {
        let lb = self.elements.iter().map(|e| e.disp).min().unwrap_or(0);
        let ub = self.elements.iter().map(|e| e.disp + e.size as i128).max().unwrap_or(0);
        (lb, ub)
    }

    pub fn lower(&self) -> i128 {
        match self.lb {
            Some(lb) => lb,
            // Without data the bounds are empty.
            None if self.elements.is_empty() => self.ub.unwrap_or(0),
            None => self.true_bounds().0,
        }
    }

    pub fn upper(&self) -> i128 {
        let lb = self.lower();
        match self.ub {
            Some(ub) => ub,
            None if self.elements.is_empty() => lb,
            None => {
                let align = self.elements.iter().map(|e| e.align).max().unwrap_or(1) as i128;
                let ub = self.end.unwrap_or_else(|| self.true_bounds().1);
                (ub..).find(|u| (u - lb) % align == 0).unwrap()
            }
        }
    }

    pub fn extent(&self) -> i128 {
        self.upper() - self.lower()
    }

    pub fn place(&mut self, other: &Map, disp: i128) {
        self.elements.extend(other.elements.iter().map(|e| Element { disp: e.disp + disp, ..*e }));
        if !other.elements.is_empty() {
            let end = disp + if other.ub.is_some() { other.true_bounds().1 } else { other.upper() };
            self.end = Some(self.end.map_or(end, |old| old.max(end)));
        }
        if let Some(lb) = other.lb {
            self.lb = Some(self.lb.map_or(lb + disp, |old| old.min(lb + disp)));
        }
        if let Some(ub) = other.ub {
            self.ub = Some(self.ub.map_or(ub + disp, |old| old.max(ub + disp)));
        }
    }

    pub fn repeat(&self, count: i64, stride: i128) -> Map {
        let mut all = Map::default();
        (0..count).for_each(|i| all.place(self, i as i128 * stride));
        all
    }
}

/// Builds a type together with its map.
pub struct Generator<'a> {
    rng: &'a mut Rng,
}

/// Maximum number of elements of a type in a test.
const MOST: usize = 600;

impl<'a> Generator<'a> {
    pub fn new(rng: &'a mut Rng) -> Generator<'a> {
        Generator { rng }
    }

    /// A type nested at most `depth` deep.
    pub fn tree(&mut self, depth: usize) -> (Arc<Datatype>, Map) {
        if depth == 0 {
            return self.leaf();
        }
        let (old, map) = self.tree(depth - 1);
        if map.elements.len() > MOST / 8 {
            return (old, map);
        }
        self.derive(&old, &map, depth)
    }

    fn leaf(&mut self) -> (Arc<Datatype>, Map) {
        let named = match self.rng.below(3) {
            0 => &NAMED[self.rng.below(NAMED.len() as u64) as usize],
            _ => {
                let usual = ["MPI_INT", "MPI_DOUBLE", "MPI_CHAR", "MPI_SHORT", "MPI_DOUBLE_INT"];
                let name = usual[self.rng.below(5) as usize];
                NAMED.iter().find(|n| n.name == name).unwrap()
            }
        };
        let elements = basic(named, 0);
        let mut map = Map { elements, ..Map::default() };
        if named.index.is_some() {
            // The gap at the end of a pair follows from its alignment, as for any struct.
            assert_eq!(map.extent(), named.extent() as i128);
        }
        map.lb = None;
        (predefined(named.handle.into()).unwrap().clone(), map)
    }

    fn derive(&mut self, old: &Arc<Datatype>, map: &Map, depth: usize) -> (Arc<Datatype>, Map) {
        let extent = map.extent();
        let small = |r: &mut Rng| r.between(0, 4);
        let rng = &mut *self.rng;
        let mut new = Map::default();
        let ty = match rng.below(12) {
            0 => {
                let n = small(rng);
                new = map.repeat(n, extent);
                Datatype::contiguous(n, old)
            }
            1 => {
                let (n, len, stride) = (small(rng), small(rng), rng.between(-4, 6));
                let block = map.repeat(len, extent);
                new = block.repeat(n, stride as i128 * extent);
                Datatype::vector(n, len, stride, old)
            }
            2 => {
                let far = if rng.below(8) == 0 { 12 } else { 1 };
                let (n, len, stride) = (rng.between(0, 9), small(rng), far * rng.between(-60, 90));
                new = map.repeat(len, extent).repeat(n, stride as i128);
                Datatype::hvector(n, len, stride, old)
            }
            3..=6 => {
                let n = small(rng) as usize;
                let lens: Vec<i64> = (0..n).map(|_| rng.between(0, 3)).collect();
                let in_bytes = rng.below(2) == 0;
                let reach = if in_bytes { 80 } else { 5 };
                let disps: Vec<i64> = (0..n).map(|_| rng.between(-reach, reach)).collect();
                let unit = if in_bytes { 1 } else { extent };
                let same = rng.below(2) == 0 && n > 0;
                for i in 0..n {
                    let len = if same { lens[0] } else { lens[i] };
                    new.place(&map.repeat(len, extent), disps[i] as i128 * unit);
                }
                match (in_bytes, same) {
                    (false, false) => Datatype::indexed(lens, disps, old),
                    (true, false) => Datatype::hindexed(lens, disps, old),
                    (false, true) => Datatype::indexed_block(lens[0], disps, old),
                    (true, true) => Datatype::hindexed_block(lens[0], disps, old),
                }
            }
            7 | 8 => return self.structure(old, map, depth),
            9 => {
                let (lb, extent) = (rng.between(-40, 40), rng.between(-30, 120));
                new.elements = map.elements.clone();
                new.lb = Some(lb as i128);
                new.ub = Some((lb + extent) as i128);
                Datatype::resized(old, lb, extent)
            }
            10 => {
                new = map.clone();
                Ok(Datatype::dup(old))
            }
            _ => return self.array(old, map),
        };
        (ty.unwrap(), new)
    }

    fn structure(&mut self, old: &Arc<Datatype>, map: &Map, depth: usize) -> (Arc<Datatype>, Map) {
        let n = self.rng.between(0, 4) as usize;
        let (mut lens, mut disps, mut types, mut new) = (vec![], vec![], vec![], Map::default());
        for _ in 0..n {
            let (len, disp) = (self.rng.between(0, 2), self.rng.between(-80, 120));
            let (ty, member) = match self.rng.below(10) {
                0 => (predefined_or_marker(LB).unwrap().clone(), Map { lb: Some(0), ..Map::default() }),
                1 => (predefined_or_marker(UB).unwrap().clone(), Map { ub: Some(0), ..Map::default() }),
                2..=5 => (old.clone(), map.clone()),
                _ => {
                    let depth = self.rng.below(depth.min(3) as u64) as usize;
                    self.tree(depth)
                }
            };
            new.place(&member.repeat(len, member.extent()), disp as i128);
            lens.push(len);
            disps.push(disp);
            types.push(ty);
        }
        (Datatype::create_struct(lens, disps, types).unwrap(), new)
    }

    /// A subarray or a distributed array by definition: the coordinates in it, in storage order.
    fn array(&mut self, old: &Arc<Datatype>, map: &Map) -> (Arc<Datatype>, Map) {
        let rng = &mut *self.rng;
        let ndims = rng.between(1, 3) as usize;
        let fortran = rng.below(2) == 0;
        let order = if fortran { 15 } else { 12 };
        let sizes: Vec<i64> = (0..ndims).map(|_| rng.between(1, 4)).collect();
        let (ty, members): (_, Vec<Vec<i64>>) = if rng.below(2) == 0 {
            let subsizes: Vec<i64> = sizes.iter().map(|s| rng.between(1, *s)).collect();
            let starts: Vec<i64> = sizes.iter().zip(&subsizes).map(|(s, n)| rng.between(0, s - n)).collect();
            let members = starts.iter().zip(&subsizes).map(|(s, n)| (*s..s + n).collect()).collect();
            (Datatype::subarray(sizes.clone(), subsizes, starts, order, old), members)
        } else {
            let mut psizes = vec![];
            let (mut distribs, mut dargs, mut blocks) = (vec![], vec![], vec![]);
            for s in &sizes {
                let distrib = rng.between(16, 18) as i32;
                let p = if distrib == 16 { 1 } else { rng.between(1, 3) };
                let ceil = (s + p - 1) / p;
                let (darg, block) = match (distrib, rng.below(2)) {
                    (16, _) => (0, *s),
                    (17, 0) => (19, ceil),
                    (18, 0) => (19, 1),
                    // 19 stands for the default.
                    _ => {
                        let block = if distrib == 17 { rng.between(ceil, ceil + 2) } else { rng.between(1, 3) };
                        (block as i32, block)
                    }
                };
                psizes.push(p as i32);
                distribs.push(distrib);
                dargs.push(darg);
                blocks.push(block);
            }
            let size: i32 = psizes.iter().product();
            let rank = rng.below(size as u64) as i32;
            // The grid of processes is row-major.
            let mut rest = rank;
            let mut coords = vec![0; ndims];
            for i in (0..ndims).rev() {
                coords[i] = (rest % psizes[i]) as i64;
                rest /= psizes[i];
            }
            let members = (0..ndims)
                .map(|i| (0..sizes[i]).filter(|x| (x / blocks[i]) % psizes[i] as i64 == coords[i]).collect())
                .collect();
            (Datatype::darray(size, rank, sizes.clone(), distribs, dargs, psizes, order, old), members)
        };
        let extent = map.extent();
        let mut new = Map { lb: Some(0), ub: Some(sizes.iter().product::<i64>() as i128 * extent), ..Map::default() };
        let fastest: Vec<usize> = if fortran { (0..ndims).collect() } else { (0..ndims).rev().collect() };
        let mut offsets = vec![0i128];
        let mut stride = extent;
        for i in fastest {
            let members = &members[i];
            let place = |m: &i64| offsets.iter().map(move |o| o + *m as i128 * stride).collect::<Vec<_>>();
            offsets = members.iter().flat_map(place).collect();
            stride *= sizes[i] as i128;
        }
        let unmarked = Map { elements: map.elements.clone(), ..Map::default() };
        offsets.iter().for_each(|o| new.place(&unmarked, *o));
        (ty.unwrap(), new)
    }

    /// A type with these elements in this order, at places that do not overlap.
    pub fn scatter(&mut self, elements: &[Element]) -> (Arc<Datatype>, Map) {
        // Basic elements again: a pair is one element.
        let whole: Vec<&Element> = elements.iter().filter(|e| e.part == 0).collect();
        let (mut lens, mut disps, mut types) = (vec![], vec![], vec![]);
        let mut slots = vec![];
        let mut at = -((whole.len() * 20) as i64);
        let mut i = 0;
        while i < whole.len() {
            // A run of equal elements sometimes becomes one member.
            let same = whole[i..].iter().take_while(|e| e.handle == whole[i].handle).count();
            let n = if self.rng.below(2) == 0 { 1 } else { 1 + self.rng.below(same as u64) as usize };
            let ty = predefined(whole[i].handle.into()).unwrap();
            lens.push(n as i64);
            types.push(ty.clone());
            slots.push((at, n as i64 * ty.extent() as i64));
            at += n as i64 * ty.extent() as i64 + if self.rng.below(3) == 0 { self.rng.between(1, 20) } else { 0 };
            i += n;
        }
        // Swap places of equal length, so that the order in memory is not that of the stream.
        for i in 0..slots.len() {
            let j = self.rng.below(slots.len() as u64) as usize;
            if slots[i].1 == slots[j].1 && self.rng.below(2) == 0 {
                slots.swap(i, j);
            }
        }
        let mut map = Map::default();
        for (i, (disp, _)) in slots.iter().enumerate() {
            disps.push(*disp);
            let named = types[i].named().unwrap();
            let one = Map { elements: basic(named, 0), ..Map::default() };
            map.place(&one.repeat(lens[i], one.extent()), *disp as i128);
        }
        (Datatype::create_struct(lens, disps, types).unwrap(), map)
    }
}
