//! The lowered form of a type as bytes, for a process that must find the pieces of memory of another one's type: the agent
//! of a node, which serves one-sided requests from other nodes.
//!
//! What is decoded comes from another process. Every count, length and displacement is checked, so that walking a program
//! can neither overflow nor recurse deeply. A program says nothing about which memory is valid: its user checks every piece.
//!
//! ```text
//! words of 8 bytes: extent, number of nodes, then the nodes; a node names earlier ones by their number; the last is the root
//! ```

use crate::datatype::Datatype;
use crate::layout::{Kind, Layout};
use crate::walk::{List, walk_many};
use std::collections::HashMap;
use std::sync::Arc;

/// The layout of a type, without the type.
pub struct Program {
    layout: Layout,
    extent: isize,
    /// Where an element begins and ends, from its address.
    low: isize,
    high: isize,
}

/// No displacement is larger, so that sums of a few of them fit a word.
const MOST: i128 = 1 << 60;
/// Lowering nests less deeply.
const DEEPEST: usize = 1024;

const BLOCK: u64 = 0;
const STRIDED: u64 = 1;
const EQUAL: u64 = 2;
const BLOCKS: u64 = 3;
const LOOP: u64 = 4;
const EQUAL_LOOP: u64 = 5;
const SEQ: u64 = 6;

impl Datatype {
    /// The program of a committed type that has data, as bytes.
    pub fn program(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.add(self.layout());
        let head = [self.extent() as i64 as u64, encoder.nodes];
        head.iter().chain(&encoder.words).flat_map(|word| word.to_le_bytes()).collect()
    }
}

#[derive(Default)]
struct Encoder {
    words: Vec<u64>,
    nodes: u64,
    /// Bodies that were written already.
    bodies: HashMap<*const Layout, u64>,
}

impl Encoder {
    /// Writes a layout; its number.
    fn add(&mut self, layout: &Layout) -> u64 {
        let number = |number: &isize| *number as i64 as u64;
        let node: Vec<u64> = match &layout.kind {
            Kind::Block { disp } => vec![BLOCK, number(disp), layout.bytes as u64],
            Kind::Strided { disp, len, count, stride } => {
                vec![STRIDED, number(disp), *len as u64, *count as u64, number(stride)]
            }
            Kind::Equal { len, disps } => {
                [EQUAL, *len as u64, disps.len() as u64].into_iter().chain(disps.iter().map(number)).collect()
            }
            Kind::Blocks { disps, starts } => {
                let lens = starts.windows(2).map(|pair| (pair[1] - pair[0]) as u64);
                [BLOCKS, disps.len() as u64].into_iter().chain(disps.iter().map(number)).chain(lens).collect()
            }
            Kind::Loop { disp, count, stride, body } => {
                let body = self.body(body);
                vec![LOOP, number(disp), *count as u64, number(stride), body]
            }
            Kind::EqualLoop { disps, body } => {
                let body = self.body(body);
                [EQUAL_LOOP, body, disps.len() as u64].into_iter().chain(disps.iter().map(number)).collect()
            }
            Kind::Seq { parts, .. } => {
                let parts: Vec<u64> = parts.iter().map(|part| self.add(part)).collect();
                [SEQ, parts.len() as u64].into_iter().chain(parts).collect()
            }
        };
        self.words.extend(node);
        self.nodes += 1;
        self.nodes - 1
    }

    fn body(&mut self, body: &Arc<Layout>) -> u64 {
        if let Some(&number) = self.bodies.get(&Arc::as_ptr(body)) {
            return number;
        }
        let number = self.add(body);
        self.bodies.insert(Arc::as_ptr(body), number);
        number
    }
}

/// A layout that was read, before or after another one refers to it.
enum Node {
    Free(Layout),
    Body(Arc<Layout>),
    Used,
}

/// A node, its range of bytes, and how deep it is.
struct Decoded {
    node: Node,
    low: i128,
    high: i128,
    depth: usize,
}

struct Decoder<'a> {
    words: std::slice::ChunksExact<'a, u8>,
    nodes: Vec<Decoded>,
}

impl Program {
    /// `None` for bytes that no [`Datatype::program`] makes.
    pub fn decode(bytes: &[u8]) -> Option<Program> {
        let mut decoder = Decoder { words: bytes.chunks_exact(8), nodes: Vec::new() };
        if !decoder.words.remainder().is_empty() {
            return None;
        }
        let extent = decoder.signed()?;
        let count = decoder.word()?;
        for _ in 0..count {
            let next = decoder.node()?;
            decoder.nodes.push(next);
        }
        if decoder.word().is_some() {
            return None;
        }
        let Decoded { node, low, high, .. } = decoder.nodes.pop()?;
        let Node::Free(layout) = node else { return None };
        // Every other node is part of the root.
        let rest = decoder.nodes.iter().any(|left| matches!(left.node, Node::Free(_)));
        let fits = low > -MOST && high < MOST && extent.unsigned_abs() < MOST as usize;
        (fits && !rest).then_some(Program { layout, extent, low: low as isize, high: high as isize })
    }

    /// The packed length of an element.
    pub fn bytes(&self) -> usize {
        self.layout.bytes
    }

    /// Appends the pieces of bytes `from..to` of the packed stream of `count` elements at an address, joined where they are
    /// adjacent. `false`, and nothing is appended, if these elements are not in an address space.
    pub fn pieces(&self, base: usize, count: u64, from: usize, to: usize, out: &mut Vec<(usize, usize)>) -> bool {
        let span = i128::from(count.max(1) - 1) * self.extent as i128;
        let (low, high) = (self.low as i128 + span.min(0), self.high as i128 + span.max(0));
        let base_at = base as i128;
        let all = count as i128 * self.layout.bytes as i128;
        let fits = base_at + low >= 0 && base_at + high < MOST * 4 && all <= isize::MAX as i128;
        if !fits || from > to || to as i128 > all {
            return false;
        }
        if from < to {
            let mut sink = List { pieces: out, max: usize::MAX, bytes: 0 };
            walk_many(&self.layout, self.extent, std::ptr::without_provenance_mut(base), from, to, &mut sink);
        }
        true
    }
}

impl Decoder<'_> {
    fn word(&mut self) -> Option<u64> {
        self.words.next().and_then(|word| word.first_chunk()).map(|word| u64::from_le_bytes(*word))
    }

    fn signed(&mut self) -> Option<isize> {
        self.word().map(|word| word as i64 as isize)
    }

    /// A length or a count, which is not zero.
    fn length(&mut self) -> Option<usize> {
        self.word().map(|word| word as usize).filter(|&length| length > 0 && length as i128 <= MOST)
    }

    /// How many words follow for a list.
    fn list_length(&mut self) -> Option<usize> {
        let left = self.words.len();
        self.length().filter(|&length| length <= left)
    }

    fn disps(&mut self, count: usize) -> Option<Box<[isize]>> {
        (0..count).map(|_| self.signed()).collect()
    }

    fn node(&mut self) -> Option<Decoded> {
        let tag = self.word()?;
        let (kind, bytes, pieces, low, high, depth) = match tag {
            BLOCK => {
                let (disp, bytes) = (self.signed()?, self.length()?);
                let (low, high) = (disp as i128, disp as i128 + bytes as i128);
                (Kind::Block { disp }, bytes, 1, low, high, 1)
            }
            STRIDED => {
                let (disp, len, count, stride) = (self.signed()?, self.length()?, self.length()?, self.signed()?);
                let (low, high) = repeated(disp, count, stride, (0, len as i128));
                (Kind::Strided { disp, len, count, stride }, len.checked_mul(count)?, count, low, high, 1)
            }
            EQUAL => {
                let (len, count) = (self.length()?, self.list_length()?);
                let disps = self.disps(count)?;
                let (low, high) = spread(&disps, (0, len as i128))?;
                (Kind::Equal { len, disps }, len.checked_mul(count)?, count, low, high, 1)
            }
            BLOCKS => {
                let count = self.list_length()?;
                let disps = self.disps(count)?;
                let mut starts = vec![0];
                let (mut bytes, mut low, mut high) = (0usize, i128::MAX, i128::MIN);
                for &disp in &disps {
                    let len = self.length()?;
                    bytes = bytes.checked_add(len)?;
                    starts.push(bytes);
                    (low, high) = (low.min(disp as i128), high.max(disp as i128 + len as i128));
                }
                (Kind::Blocks { disps, starts: starts.into() }, bytes, count, low, high, 1)
            }
            LOOP => {
                let (disp, count, stride) = (self.signed()?, self.length()?, self.signed()?);
                let (body, range, depth) = self.body()?;
                let (low, high) = repeated(disp, count, stride, range);
                let (bytes, pieces) = (body.bytes.checked_mul(count)?, body.pieces.saturating_mul(count));
                (Kind::Loop { disp, count, stride, body }, bytes, pieces, low, high, depth + 1)
            }
            EQUAL_LOOP => {
                let (body, range, depth) = self.body()?;
                let count = self.list_length()?;
                let disps = self.disps(count)?;
                let (low, high) = spread(&disps, range)?;
                let (bytes, pieces) = (body.bytes.checked_mul(count)?, body.pieces.saturating_mul(count));
                (Kind::EqualLoop { disps, body }, bytes, pieces, low, high, depth + 1)
            }
            SEQ => {
                let count = self.list_length()?;
                let (mut parts, mut starts) = (Vec::with_capacity(count), Vec::with_capacity(count));
                let (mut bytes, mut pieces, mut low, mut high) = (0usize, 0usize, i128::MAX, i128::MIN);
                let mut deepest = 0;
                for _ in 0..count {
                    let number = self.word()?;
                    let part = self.nodes.get_mut(usize::try_from(number).ok()?)?;
                    let Node::Free(layout) = std::mem::replace(&mut part.node, Node::Used) else { return None };
                    starts.push(bytes);
                    bytes = bytes.checked_add(layout.bytes)?;
                    pieces = pieces.saturating_add(layout.pieces);
                    (low, high, deepest) = (low.min(part.low), high.max(part.high), deepest.max(part.depth));
                    parts.push(layout);
                }
                let kind = Kind::Seq { parts: parts.into(), starts: starts.into() };
                (kind, bytes, pieces, low, high, deepest + 1)
            }
            _ => return None,
        };
        let fits = bytes <= isize::MAX as usize && low > -MOST && high < MOST && depth <= DEEPEST;
        let node = Node::Free(Layout { bytes, pieces, kind });
        fits.then_some(Decoded { node, low, high, depth })
    }

    /// A body that a loop repeats.
    fn body(&mut self) -> Option<(Arc<Layout>, (i128, i128), usize)> {
        let number = self.word()?;
        let Decoded { node, low, high, depth } = self.nodes.get_mut(usize::try_from(number).ok()?)?;
        let body = match std::mem::replace(node, Node::Used) {
            Node::Free(layout) => Arc::new(layout),
            Node::Body(body) => body,
            Node::Used => return None,
        };
        *node = Node::Body(Arc::clone(&body));
        Some((body, (*low, *high), *depth))
    }
}

/// The range of copies at a distance of `stride`.
fn repeated(disp: isize, count: usize, stride: isize, (low, high): (i128, i128)) -> (i128, i128) {
    let (disp, span) = (disp as i128, (count as i128 - 1) * stride as i128);
    (disp + low + span.min(0), disp + high + span.max(0))
}

/// The range of copies at some displacements.
fn spread(disps: &[isize], (low, high): (i128, i128)) -> Option<(i128, i128)> {
    let (first, last) = (disps.iter().min()?, disps.iter().max()?);
    Some((*first as i128 + low, *last as i128 + high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cursor, Region, predefined};
    use oxmpi_abi::constants::{MPI_DOUBLE_INT, MPI_INT};
    use proptest::prelude::*;

    fn int() -> Arc<Datatype> {
        predefined(MPI_INT.0).unwrap().clone()
    }

    fn committed(ty: Arc<Datatype>) -> Arc<Datatype> {
        ty.commit().unwrap();
        ty
    }

    fn types() -> Vec<Arc<Datatype>> {
        let vector = Datatype::vector(7, 2, 5, &int()).unwrap();
        let twice = Datatype::vector(3, 1, 4, &vector).unwrap();
        let indexed = Datatype::hindexed(vec![1, 3, 2, 1], vec![40, 0, 1000, 2000], &twice).unwrap();
        let many: Vec<i64> = (0..40).map(|i| 12 * i * i).collect();
        let equal = Datatype::hindexed_block(1, many, &int()).unwrap();
        let pair = Datatype::vector(4, 1, 3, predefined(MPI_DOUBLE_INT.0).unwrap()).unwrap();
        let mixed = Datatype::create_struct(
            vec![1, 2, 1],
            vec![0, 5000, 90000],
            vec![equal.clone(), vector.clone(), indexed.clone()],
        )
        .unwrap();
        let downward = Datatype::hvector(5, 1, -32, &vector).unwrap();
        [vector, twice, indexed, equal, pair, mixed, downward].into_iter().map(committed).collect()
    }

    #[test]
    fn a_program_finds_the_pieces_of_its_type() {
        for ty in types() {
            let program = Program::decode(&ty.program()).unwrap();
            assert_eq!(program.bytes(), ty.size() as usize);
            let base = 1 << 20;
            for count in [1u64, 3] {
                let region = Region::typed(std::ptr::without_provenance_mut(base), count, &ty);
                for (from, to) in [(0, region.len()), (4, region.len() - 4), (8, 12)] {
                    let mut expected = Vec::new();
                    let mut cursor = Cursor::new();
                    cursor.seek(&region, from);
                    cursor.iovecs(&region, &mut expected, usize::MAX, to - from);
                    let mut found = Vec::new();
                    assert!(program.pieces(base, count, from, to, &mut found), "{ty:?}");
                    assert_eq!(found, expected, "{ty:?} {count} {from} {to}");
                }
                let mut none = Vec::new();
                assert!(!program.pieces(base, count, 0, region.len() + 1, &mut none) && none.is_empty());
            }
        }
    }

    #[test]
    fn a_regular_type_of_a_million_blocks_is_short() {
        let ty = committed(Datatype::vector(1_000_000, 1, 3, &int()).unwrap());
        assert!(ty.program().len() <= 128, "{} bytes", ty.program().len());
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_harmless(words in prop::collection::vec(prop_oneof![0u64..9, any::<u64>()], 0..40)) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            if let Some(program) = Program::decode(&bytes) {
                let mut out = Vec::new();
                let end = program.bytes().min(4096);
                if program.pieces(1 << 61, 1, 0, end, &mut out) {
                    prop_assert_eq!(out.iter().map(|piece| piece.1).sum::<usize>(), end);
                }
            }
        }

        #[test]
        fn a_changed_byte_is_refused_or_harmless(which in 0usize..7, at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = types()[which].program();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Some(program) = Program::decode(&bytes) {
                let mut out = Vec::new();
                let end = program.bytes().min(4096);
                if program.pieces(1 << 61, 2, 0, end, &mut out) {
                    prop_assert_eq!(out.iter().map(|piece| piece.1).sum::<usize>(), end);
                }
            }
        }
    }
}
