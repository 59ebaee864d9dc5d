//! Which ranks of a communicator share a node. It is made from the table of nodes of the job, so that all ranks have the same
//! one; regular placements need no memory per rank, because a communicator may have a million of them.

use std::collections::HashMap;

/// The nodes of a communicator's ranks, numbered in the order of their lowest ranks; the ranks of a node are in ascending
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMap {
    ranks: u32,
    nodes: u32,
    /// The smallest and the largest number of ranks on a node.
    least: u32,
    most: u32,
    placement: Placement,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Placement {
    /// So many ranks in a row on each node; the last may have fewer.
    Rows { each: u32 },
    /// Rows of different lengths: where each begins, and the end of the last.
    UnequalRows { starts: Box<[u32]> },
    /// One rank to each node in turn.
    Dealt,
    /// Anything else: the ranks by node, where each node's begin, and the place of each rank in that list.
    Listed { members: Box<[u32]>, starts: Box<[u32]>, places: Box<[u32]> },
}

impl NodeMap {
    /// The map of so many ranks, from a number of the node of each; `None` if they are all on one node.
    pub fn new(ranks: u32, node_of: impl Fn(u32) -> u32) -> Option<NodeMap> {
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let mut sizes: Vec<u32> = Vec::new();
        let mut in_rows = true;
        let mut last = None;
        for rank in 0..ranks {
            let number = *numbers.entry(node_of(rank)).or_insert(sizes.len() as u32);
            if number as usize == sizes.len() {
                sizes.push(0);
            } else {
                in_rows &= last == Some(number);
            }
            sizes[number as usize] += 1;
            last = Some(number);
        }
        let nodes = sizes.len() as u32;
        if nodes < 2 {
            return None;
        }
        let number = |rank: u32| numbers[&node_of(rank)];
        let starts = || -> Box<[u32]> {
            let ends = sizes.iter().scan(0, |sum, size| {
                *sum += size;
                Some(*sum)
            });
            std::iter::once(0).chain(ends).collect()
        };
        let each = sizes[0];
        let all_but_last = &sizes[..sizes.len() - 1];
        let placement = if in_rows && all_but_last.iter().all(|&size| size == each) && sizes[sizes.len() - 1] <= each {
            Placement::Rows { each }
        } else if in_rows {
            Placement::UnequalRows { starts: starts() }
        } else if (0..ranks).all(|rank| number(rank) == rank % nodes) {
            Placement::Dealt
        } else {
            let starts = starts();
            let mut next = starts.to_vec();
            let mut members = vec![0; ranks as usize];
            let places = (0..ranks).map(|rank| {
                let place = &mut next[number(rank) as usize];
                members[*place as usize] = rank;
                *place += 1;
                *place - 1
            });
            let places = places.collect();
            Placement::Listed { members: members.into(), starts, places }
        };
        let (least, most) = sizes.iter().fold((u32::MAX, 0), |(least, most), &size| (least.min(size), most.max(size)));
        Some(NodeMap { ranks, nodes, least, most, placement })
    }

    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The smallest number of ranks that a node has.
    pub fn least(&self) -> u32 {
        self.least
    }

    /// The largest.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Every node has ranks in a row: combining within nodes first keeps the order of ranks.
    pub fn is_in_order(&self) -> bool {
        matches!(self.placement, Placement::Rows { .. } | Placement::UnequalRows { .. })
    }

    /// How many ranks a node has.
    pub fn size(&self, node: u32) -> u32 {
        match &self.placement {
            Placement::Rows { each } => (*each).min(self.ranks - node * each),
            Placement::Dealt => self.ranks / self.nodes + u32::from(node < self.ranks % self.nodes),
            Placement::UnequalRows { starts } | Placement::Listed { starts, .. } => {
                starts[node as usize + 1] - starts[node as usize]
            }
        }
    }

    /// How many ranks the nodes before this one have.
    pub fn before(&self, node: u32) -> u32 {
        match &self.placement {
            Placement::Rows { each } => (node * each).min(self.ranks),
            Placement::Dealt => node * (self.ranks / self.nodes) + node.min(self.ranks % self.nodes),
            Placement::UnequalRows { starts } | Placement::Listed { starts, .. } => starts[node as usize],
        }
    }

    /// A rank by its node and its number there.
    pub fn rank(&self, node: u32, index: u32) -> u32 {
        match &self.placement {
            Placement::Rows { each } => node * each + index,
            Placement::UnequalRows { starts } => starts[node as usize] + index,
            Placement::Dealt => index * self.nodes + node,
            Placement::Listed { members, starts, .. } => members[(starts[node as usize] + index) as usize],
        }
    }

    /// The node of a rank and its number there.
    pub fn place(&self, rank: u32) -> (u32, u32) {
        let found = |starts: &[u32], at: u32| {
            let node = starts.partition_point(|&start| start <= at) as u32 - 1;
            (node, at - starts[node as usize])
        };
        match &self.placement {
            Placement::Rows { each } => (rank / each, rank % each),
            Placement::UnequalRows { starts } => found(starts, rank),
            Placement::Dealt => (rank % self.nodes, rank / self.nodes),
            Placement::Listed { starts, places, .. } => found(starts, places[rank as usize]),
        }
    }

    /// The ranks of a node.
    pub fn members(&self, node: u32) -> impl Iterator<Item = u32> {
        (0..self.size(node)).map(move |index| self.rank(node, index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: &[u32], in_order: bool) -> NodeMap {
        let map = NodeMap::new(nodes.len() as u32, |rank| nodes[rank as usize]).unwrap();
        assert_eq!((map.is_in_order(), map.ranks()), (in_order, nodes.len() as u32), "{nodes:?}");
        let mut before = 0;
        for node in 0..map.nodes() {
            assert_eq!(map.before(node), before, "{nodes:?}");
            let members: Vec<u32> = map.members(node).collect();
            assert!(members.is_sorted() && members.len() as u32 == map.size(node), "{nodes:?}");
            assert!((map.least()..=map.most()).contains(&map.size(node)));
            for (index, &rank) in members.iter().enumerate() {
                assert_eq!(map.place(rank), (node, index as u32), "{nodes:?}");
                assert_eq!(nodes[rank as usize], nodes[members[0] as usize]);
            }
            before += map.size(node);
        }
        assert_eq!(before, map.ranks());
        assert!((1..map.nodes()).all(|node| map.rank(node - 1, 0) < map.rank(node, 0)), "{nodes:?}: in order");
        map
    }

    #[test]
    fn regular_placements_need_no_list() {
        assert_eq!(check(&[7, 7, 3, 3, 5], true).placement, Placement::Rows { each: 2 });
        assert_eq!(check(&[0, 1, 2, 0, 1], false).placement, Placement::Dealt);
        assert_eq!(check(&[0, 1, 2], true).placement, Placement::Rows { each: 1 });
        assert!(matches!(check(&[4, 1, 1, 1, 0, 0], true).placement, Placement::UnequalRows { .. }));
        assert!(matches!(check(&[1, 1, 0, 1], false).placement, Placement::Listed { .. }));
        assert!(matches!(check(&[0, 1, 0, 1, 0, 0], false).placement, Placement::Listed { .. }));
        assert_eq!(NodeMap::new(4, |_| 9), None);
        assert_eq!(NodeMap::new(1, |_| 0), None);
    }
}
