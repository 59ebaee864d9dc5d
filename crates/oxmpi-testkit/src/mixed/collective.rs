//! The serial model of collective operations: what each rank sends, the content of its memory
//! before, and its required content afterwards. Nothing here communicates.

use super::program::{Collective, Form, Kind, Op, mix};
use super::resolve::View;
use super::strip::{UNTOUCHED, block};
use oxmpi_abi::constants::{MPI_PROC_NULL, MPI_ROOT};

/// A collective operation on one rank.
pub struct Case<'a> {
    pub step: usize,
    pub kind: Kind,
    pub view: &'a View,
    what: &'a Collective,
}

/// Counts and displacements of blocks, in units.
pub struct Spans {
    pub counts: Vec<usize>,
    pub displs: Vec<usize>,
    pub total: usize,
}

impl Spans {
    fn even(blocks: usize, count: usize) -> Spans {
        let displs = (0..blocks).map(|index| index * count).collect();
        Spans { counts: vec![count; blocks], displs, total: blocks * count }
    }

    /// In reverse order, with a gap after each.
    fn apart(counts: Vec<usize>) -> Spans {
        let total = counts.iter().sum::<usize>() + counts.len();
        let ends = counts.iter().scan(0, |end, count| {
            *end += count + 1;
            Some(*end)
        });
        Spans { displs: ends.map(|end| total - end).collect(), total, counts }
    }

    /// The numbers of a buffer with these blocks.
    fn fill(&self, of: impl Fn(usize, usize) -> Vec<i32>) -> Vec<i32> {
        let mut all = vec![UNTOUCHED; 2 * self.total];
        for (index, (&count, &displ)) in self.counts.iter().zip(&self.displs).enumerate() {
            all[2 * displ..2 * (displ + count)].copy_from_slice(&of(index, count));
        }
        all
    }
}

impl<'a> Case<'a> {
    pub fn new(step: usize, what: &'a Collective, view: &'a View) -> Case<'a> {
        use Kind::*;
        let kind = match what.kind {
            // Between two groups these do not exist, or need counts that the program does not have.
            ReduceScatterBlock | ReduceScatter | Scan | Exscan if view.is_inter => Allreduce,
            kind => kind,
        };
        Case { step, kind, view, what }
    }

    pub fn form(&self) -> Form {
        self.what.form
    }

    pub fn op(&self) -> Op {
        self.what.op
    }

    pub fn count(&self) -> usize {
        self.what.count
    }

    pub fn layouts(&self) -> u32 {
        self.what.layouts
    }

    // ---- roots ----

    /// Whether the root is in this rank's own group.
    fn is_root_near(&self) -> bool {
        !self.view.is_inter || self.view.is_first == (self.what.spread & 1 == 0)
    }

    fn root_group(&self) -> &[usize] {
        if self.is_root_near() { &self.view.near } else { &self.view.far }
    }

    fn root(&self) -> usize {
        self.what.root % self.root_group().len()
    }

    pub fn is_root(&self) -> bool {
        self.is_root_near() && self.view.me == self.root()
    }

    /// The argument that names the root.
    pub fn root_argument(&self) -> i32 {
        match self.view.is_inter && self.is_root_near() {
            true if self.is_root() => MPI_ROOT,
            true => MPI_PROC_NULL,
            false => self.root() as i32,
        }
    }

    /// Whether this rank is in the other group than the root of the operation.
    fn faces_root(&self) -> bool {
        !self.view.is_inter || !self.is_root_near()
    }

    pub fn is_in_place(&self) -> bool {
        use Kind::*;
        self.what.in_place
            && !self.view.is_inter
            && match self.kind {
                Barrier | Bcast => false,
                Gather | Gatherv | Scatter | Scatterv | Reduce => self.is_root(),
                _ => true,
            }
    }

    // ---- blocks ----

    /// The units that a rank sends if ranks send different numbers.
    fn count_of(&self, rank: usize) -> usize {
        mix(self.what.spread, rank, 4) as usize % (self.what.count + 1)
    }

    /// The units from one rank to another.
    fn count_between(&self, from: usize, to: usize) -> usize {
        // In place, both directions have the same length.
        let (a, b) = if self.what.in_place { (from.min(to), from.max(to)) } else { (from, to) };
        mix(self.what.spread, a, b + 5) as usize % (self.what.count + 1)
    }

    pub fn send_spans(&self) -> Spans {
        use Kind::*;
        let (me, others, count) = (self.view.me, self.view.far.len(), self.what.count);
        match self.kind {
            Barrier => Spans::even(0, 0),
            Gatherv | Allgatherv => Spans::even(1, self.count_of(me)),
            Scatter | Alltoall | ReduceScatterBlock => Spans::even(others, count),
            Scatterv => Spans::apart((0..others).map(|rank| self.count_of(rank)).collect()),
            Alltoallv | Alltoallw => Spans::apart((0..others).map(|to| self.count_between(me, to)).collect()),
            ReduceScatter => Spans::even(1, (0..others).map(|rank| self.count_of(rank)).sum()),
            _ => Spans::even(1, count),
        }
    }

    pub fn recv_spans(&self) -> Spans {
        use Kind::*;
        let (me, others, count) = (self.view.me, self.view.far.len(), self.what.count);
        match self.kind {
            Barrier => Spans::even(0, 0),
            Gather | Allgather | Alltoall => Spans::even(others, count),
            Gatherv | Allgatherv => Spans::apart((0..others).map(|rank| self.count_of(rank)).collect()),
            Alltoallv | Alltoallw => Spans::apart((0..others).map(|from| self.count_between(from, me)).collect()),
            Scatterv => Spans::even(1, self.count_of(me)),
            ReduceScatter => Spans::even(1, self.count_of(me)),
            _ => Spans::even(1, count),
        }
    }

    /// The counts of `MPI_Reduce_scatter`.
    pub fn result_counts(&self) -> Vec<usize> {
        (0..self.view.near.len()).map(|rank| self.count_of(rank)).collect()
    }

    // ---- numbers ----

    /// What this rank sends, if it is not in place.
    pub fn given(&self) -> Vec<i32> {
        self.send_spans().fill(|to, units| block(self.step, self.view.near[self.view.me], to, units))
    }

    /// The content of the receive buffer before the operation.
    pub fn before(&self) -> Vec<i32> {
        use Kind::*;
        let own = self.view.near[self.view.me];
        let untouched = || self.recv_spans().fill(|_, units| vec![UNTOUCHED; 2 * units]);
        if self.kind == Bcast && self.is_root() {
            return self.given();
        }
        if !self.is_in_place() {
            return untouched();
        }
        match self.kind {
            Gather | Gatherv | Allgather | Allgatherv => self.recv_spans().fill(|index, units| {
                if index == self.view.me { block(self.step, own, 0, units) } else { vec![UNTOUCHED; 2 * units] }
            }),
            Alltoall | Alltoallv | Alltoallw => {
                self.recv_spans().fill(|index, units| block(self.step, own, index, units))
            }
            Reduce | Allreduce | ReduceScatterBlock | ReduceScatter | Scan | Exscan => self.given(),
            _ => untouched(),
        }
    }

    /// The content of the receive buffer after the operation, or its beginning; `None` if it is
    /// undefined.
    pub fn after(&self) -> Option<Vec<i32>> {
        use Kind::*;
        let View { me, near, far, .. } = self.view;
        let received = |to: usize| self.recv_spans().fill(|from, units| block(self.step, far[from], to, units));
        Some(match self.kind {
            Barrier => Vec::new(),
            Bcast if self.faces_root() => block(self.step, self.root_group()[self.root()], 0, self.what.count),
            Gather | Gatherv if self.is_root() => received(0),
            Scatter | Scatterv if self.faces_root() && !self.is_in_place() => {
                block_at(self.step, self.root_group()[self.root()], *me, &self.recv_spans())
            }
            Bcast | Gather | Gatherv | Scatter | Scatterv => self.before(),
            Allgather | Allgatherv => received(0),
            Alltoall | Alltoallv | Alltoallw => received(*me),
            Reduce if !self.is_root() => self.before(),
            Reduce | Allreduce => self.fold(far, 0..2 * self.what.count),
            ReduceScatterBlock => {
                let count = 2 * self.what.count;
                self.fold(near, me * count..(me + 1) * count)
            }
            ReduceScatter => {
                let counts = self.result_counts();
                let start = 2 * counts[..*me].iter().sum::<usize>();
                self.fold(near, start..start + 2 * counts[*me])
            }
            Scan => self.fold(&near[..=*me], 0..2 * self.what.count),
            Exscan if *me == 0 => return None,
            Exscan => self.fold(&near[..*me], 0..2 * self.what.count),
        })
    }

    /// The operands of some ranks combined in rank order; a part of the result.
    fn fold(&self, ranks: &[usize], part: std::ops::Range<usize>) -> Vec<i32> {
        let given = |&rank: &usize| -> Vec<i32> {
            self.send_spans().fill(|to, units| block(self.step, rank, to, units))[part.clone()].to_vec()
        };
        let all = ranks.iter().map(given);
        all.reduce(|left, right| {
            let pairs = left.chunks_exact(2).zip(right.chunks_exact(2));
            pairs.flat_map(|(left, right)| combine(self.what.op, [left[0], left[1]], [right[0], right[1]])).collect()
        })
        .unwrap_or_default()
    }
}

/// A block that stands alone in a buffer.
fn block_at(step: usize, from: usize, to: usize, spans: &Spans) -> Vec<i32> {
    spans.fill(|_, units| block(step, from, to, units))
}

/// The operation on two pairs.
pub fn combine(op: Op, left: [i32; 2], right: [i32; 2]) -> [i32; 2] {
    let each = |combine: fn(i32, i32) -> i32| [combine(left[0], right[0]), combine(left[1], right[1])];
    match op {
        Op::Sum | Op::UserSum => each(i32::wrapping_add),
        Op::Max => each(i32::max),
        Op::Bxor => each(|a, b| a ^ b),
        Op::MinLoc => left.min(right),
        Op::Compose => {
            let [a, b] = left;
            let [c, d] = right;
            [a.wrapping_mul(c), a.wrapping_mul(d).wrapping_add(b)]
        }
    }
}
