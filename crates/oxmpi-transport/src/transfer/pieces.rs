//! Single copies between buffers with gaps. Each side has a list of its pieces in its own memory,
//! which the other side reads like any other memory.
//!
//! A list stays in place while its operation is under way. A late reader may read garbage, but
//! claims no part of the copy then, since none is left.

use crate::node_memory::NodeMemory;
use oxmpi_base::cma::{MAX_PIECES, Piece};
use oxmpi_base::ids::Peer;
use oxmpi_datatype::{Cursor, Region};
use std::io;

/// The memory of one side, as it is described to the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteRegion {
    /// The address of the bytes or, if there are pieces, of their list; 0: no copy is possible.
    pub(super) address: u64,
    /// 0: the bytes are contiguous.
    pub(super) pieces: u32,
}

impl RemoteRegion {
    pub(super) const NONE: RemoteRegion = RemoteRegion { address: 0, pieces: 0 };

    pub(super) fn run(address: u64) -> RemoteRegion {
        RemoteRegion { address, pieces: 0 }
    }
}

/// Blocks shorter than this go through the ring: the kernel's work per piece on both sides would
/// cost more than two copies.
const PIECE_MIN: usize = 2048;

/// The pieces of a buffer of this process, for the other side to read: address and length, in the order of the stream.
pub(super) struct List(Vec<[usize; 2]>);

impl List {
    /// The list of a buffer with gaps; `None` where single copies do not pay.
    pub fn of(buf: &Region, bytes: usize) -> Option<List> {
        if buf.average_block() < PIECE_MIN {
            return None;
        }
        let mut pieces = Vec::new();
        let listed = Cursor::new().iovecs(buf, &mut pieces, u32::MAX as usize, bytes);
        (listed == bytes).then(|| List(pieces.into_iter().map(|(at, len)| [at, len]).collect()))
    }

    pub fn region(&self) -> RemoteRegion {
        RemoteRegion { address: self.0.as_ptr() as u64, pieces: self.0.len() as u32 }
    }
}

/// The memory of the other side.
pub(super) enum RemotePieces {
    Run(usize),
    Pieces {
        list: Vec<[usize; 2]>,
        /// Where the next search begins: a piece, and the offset of its first byte in the stream.
        index: usize,
        start: usize,
    },
}

impl RemotePieces {
    /// Reads the list, if there is one; `None` when that is not possible.
    pub fn read(node: &NodeMemory, peer: Peer, region: RemoteRegion) -> Option<RemotePieces> {
        let address = region.address as usize;
        let count = region.pieces as usize;
        if count == 0 {
            return Some(RemotePieces::Run(address));
        }
        let mut list = vec![[0usize; 2]; count];
        let bytes = size_of_val(&list[..]);
        let local = (list.as_mut_ptr() as usize, bytes);
        copy_run(|l, r| node.copy_from(peer, l, r), local, (address, bytes)).then_some(RemotePieces::Pieces {
            list,
            index: 0,
            start: 0,
        })
    }

    /// Memory that cannot be accessed: every copy fails.
    pub fn nothing() -> RemotePieces {
        RemotePieces::Pieces { list: Vec::new(), index: 0, start: 0 }
    }

    /// The pieces from byte `from` of the stream on, up to `bytes` bytes or as many pieces as a
    /// system call takes.
    fn pieces(&mut self, from: usize, bytes: usize, out: &mut Vec<Piece>) {
        out.clear();
        let (list, index, start) = match self {
            RemotePieces::Run(address) => return out.push((*address + from, bytes)),
            RemotePieces::Pieces { list, index, start } => (list, index, start),
        };
        while from < *start {
            *index -= 1;
            *start -= list[*index][1];
        }
        let mut skip = from - *start;
        let mut left = bytes;
        while let Some(&[at, len]) = list.get(*index) {
            if skip < len {
                let part = left.min(len - skip);
                out.push((at.wrapping_add(skip), part));
                left -= part;
                if left == 0 || out.len() == MAX_PIECES {
                    return;
                }
                skip = len;
            }
            skip -= len;
            *start += len;
            *index += 1;
        }
    }
}

/// Copies bytes `from..from + bytes` of the stream between our buffer and the other side, however
/// many bytes the kernel moves at a time. `call` takes our pieces first.
pub(super) fn copy(
    call: impl Fn(&[Piece], &[Piece]) -> io::Result<usize>,
    near: &Region,
    far: &mut RemotePieces,
    from: usize,
    bytes: usize,
) -> bool {
    if let (Some(near), RemotePieces::Run(far)) = (near.as_dense(), &*far) {
        return copy_run(call, (near as usize + from, bytes), (far + from, bytes));
    }
    let mut cursor = Cursor::new();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < bytes {
        ours.clear();
        cursor.seek(near, from + done);
        cursor.iovecs(near, &mut ours, MAX_PIECES, bytes - done);
        far.pieces(from + done, bytes - done, &mut theirs);
        // The kernel stops where the shorter list ends.
        match call(&ours, &theirs) {
            Ok(moved) if moved > 0 => done += moved,
            _ => return false,
        }
    }
    true
}

fn copy_run(call: impl Fn(&[Piece], &[Piece]) -> io::Result<usize>, near: Piece, far: Piece) -> bool {
    let mut done = 0;
    while done < near.1 {
        match call(&[(near.0 + done, near.1 - done)], &[(far.0 + done, far.1 - done)]) {
            Ok(moved) if moved > 0 => done += moved,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(far: &mut RemotePieces, from: usize, bytes: usize) -> Vec<Piece> {
        let mut out = vec![(1, 1)];
        far.pieces(from, bytes, &mut out);
        out
    }

    #[test]
    fn pieces_of_any_part_of_the_stream() {
        let list = vec![[100, 10], [200, 5], [300, 20]];
        let mut far = RemotePieces::Pieces { list, index: 0, start: 0 };
        assert_eq!(all(&mut far, 0, 35), [(100, 10), (200, 5), (300, 20)]);
        assert_eq!(all(&mut far, 12, 4), [(202, 3), (300, 1)]);
        assert_eq!(all(&mut far, 15, 20), [(300, 20)]);
        assert_eq!(all(&mut far, 34, 1), [(319, 1)]);
        assert_eq!(all(&mut far, 3, 7), [(103, 7)], "backwards again");
        assert_eq!(all(&mut far, 9, 2), [(109, 1), (200, 1)]);
        assert_eq!(all(&mut RemotePieces::Run(1000), 5, 7), [(1005, 7)]);
        assert_eq!(all(&mut RemotePieces::nothing(), 5, 7), []);
    }

    #[test]
    fn no_more_pieces_than_a_call_takes() {
        let list = (0..3000).map(|i| [10 * i, 4]).collect();
        let mut far = RemotePieces::Pieces { list, index: 0, start: 0 };
        let first = all(&mut far, 0, 12000);
        assert_eq!((first.len(), first[MAX_PIECES - 1]), (MAX_PIECES, (10 * (MAX_PIECES - 1), 4)));
        let next = all(&mut far, 4 * MAX_PIECES, 12000 - 4 * MAX_PIECES);
        assert_eq!((next.len(), next[0]), (MAX_PIECES, (10 * MAX_PIECES, 4)));
    }

    /// Lists with different piece boundaries, in parts of any length, and a kernel that moves some
    /// bytes at a time: every byte gets its value.
    #[test]
    fn copies_between_lists() {
        let list = vec![[7, 3], [100, 20], [200, 41]];
        let mut far = RemotePieces::Pieces { list, index: 0, start: 0 };
        let near = Region::dense(std::ptr::without_provenance_mut(1000), 64);
        let moved = std::cell::RefCell::new(vec![0; 64]);
        let call = |ours: &[Piece], theirs: &[Piece]| {
            let bytes = |pieces: &[Piece]| pieces.iter().flat_map(|p| p.0..p.0 + p.1).collect::<Vec<_>>();
            let pairs = bytes(ours).into_iter().zip(bytes(theirs)).take(11);
            Ok(pairs.map(|(to, from)| moved.borrow_mut()[to - 1000] = from).count())
        };
        for (from, bytes) in [(30, 34), (0, 2), (2, 28)] {
            assert!(copy(call, &near, &mut far, from, bytes));
        }
        let expected: Vec<usize> = (7..10).chain(100..120).chain(200..241).collect();
        assert_eq!(*moved.borrow(), expected);
        assert!(!copy(|_, _| Ok(0), &near, &mut far, 0, 5), "a kernel that moves nothing");
    }
}
