//! Which node every rank is on. A job has one node, unless `--pretend-nodes` asks for a test of several: then the ranks
//! of this machine believe to be on as many nodes, and share memory only with ranks of their own one.

use oxmpi_base::ids::WorldRank;
use oxmpi_boot::deal;
use oxmpi_boot::nodes::NodeTable;

/// The nodes that ranks shall believe in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PretendNodes {
    sizes: Sizes,
    /// One rank to each node in turn, instead of one node after the other.
    cyclic: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Sizes {
    /// So many nodes, of sizes that differ by one at most.
    Even(usize),
    /// The ranks of each node.
    Given(Vec<usize>),
}

/// What [`PretendNodes::parse`] takes, for error texts.
pub const FORMS: &str = "is none of N, N:cyclic, A,B,… and A,B,…:cyclic, where N is a number of nodes and A,B,… are the \
                         ranks of each";

impl PretendNodes {
    pub fn parse(text: &str) -> Option<PretendNodes> {
        let (sizes, cyclic) = match text.split_once(':') {
            None => (text, false),
            Some((sizes, "cyclic")) => (sizes, true),
            Some((sizes, "block")) => (sizes, false),
            Some(_) => return None,
        };
        let numbers = sizes.split(',').map(|word| word.parse().ok().filter(|&number| number > 0));
        let numbers: Vec<usize> = numbers.collect::<Option<_>>()?;
        let sizes = match numbers[..] {
            [nodes] => Sizes::Even(nodes),
            _ => Sizes::Given(numbers),
        };
        Some(PretendNodes { sizes, cyclic })
    }

    /// The node of each rank.
    fn deal(&self, ranks: usize) -> Result<Vec<u32>, String> {
        let mut left = match &self.sizes {
            Sizes::Even(nodes) if *nodes > ranks => {
                return Err(format!("--pretend-nodes asks for {nodes} nodes, and there are only {ranks} ranks"));
            }
            Sizes::Even(nodes) => (0..*nodes).map(|node| (ranks + nodes - 1 - node) / nodes).collect(),
            Sizes::Given(sizes) => sizes.clone(),
        };
        let sum = left.iter().fold(0usize, |sum, size| sum.saturating_add(*size));
        if sum != ranks {
            return Err(format!("--pretend-nodes asks for {sum} ranks on {} nodes, and there are {ranks}", left.len()));
        }
        let mut list = Vec::with_capacity(ranks);
        while list.len() < ranks {
            for (node, left) in left.iter_mut().enumerate() {
                let here = if self.cyclic { (*left).min(1) } else { *left };
                *left -= here;
                list.extend(std::iter::repeat_n(node as u32, here));
            }
        }
        Ok(list)
    }
}

/// The table of a job's nodes, as its first rank knows it.
pub fn table(ranks: usize, pretend: Option<&PretendNodes>) -> Result<NodeTable, String> {
    match pretend {
        None => Ok(NodeTable::one_node(WorldRank::FIRST, ranks)),
        Some(pretend) => {
            let places = deal::slots_of_one_segment(&pretend.deal(ranks)?);
            NodeTable::new(deal::blocks(&places), WorldRank::FIRST, true)
        }
    }
}

/// A rank's place in its job: its node, its slot in the segment, and its number among the ranks of its node.
#[derive(Clone, Copy)]
pub struct Place {
    pub node: u32,
    pub slot: usize,
    pub local_rank: usize,
    pub local_size: usize,
}

/// The places of all ranks.
pub fn places(table: &NodeTable) -> Vec<Place> {
    let ranks = (0..table.size()).filter_map(WorldRank::new);
    let found: Vec<(u32, usize)> =
        ranks.filter_map(|rank| table.place(rank)).map(|(node, slot)| (node.number(), slot.index())).collect();
    let mut sizes = vec![0; table.nodes()];
    let locals: Vec<usize> = found
        .iter()
        .map(|&(node, _)| {
            sizes[node as usize] += 1;
            sizes[node as usize] - 1
        })
        .collect();
    let place = |(&(node, slot), local_rank)| Place { node, slot, local_rank, local_size: sizes[node as usize] };
    found.iter().zip(locals).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(text: &str, ranks: usize) -> Result<Vec<u32>, String> {
        PretendNodes::parse(text).unwrap().deal(ranks)
    }

    #[test]
    fn ranks_are_dealt() {
        assert_eq!(dealt("3", 7).unwrap(), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(dealt("3:cyclic", 7).unwrap(), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(dealt("3,1,2", 6).unwrap(), [0, 0, 0, 1, 2, 2]);
        assert_eq!(dealt("3,1,2:cyclic", 6).unwrap(), [0, 1, 2, 0, 2, 0]);
        assert_eq!(dealt("1", 2).unwrap(), [0, 0]);
        assert_eq!(dealt("2:block", 2).unwrap(), [0, 1]);
    }

    #[test]
    fn what_cannot_be_is_said() {
        assert!(dealt("4", 3).unwrap_err().contains("only 3 ranks"));
        assert!(dealt("3,1", 6).unwrap_err().contains("4 ranks on 2 nodes, and there are 6"));
        let huge = format!("{},{}", usize::MAX, usize::MAX);
        assert!(dealt(&huge, 6).unwrap_err().contains("and there are 6"));
        for text in ["", "0", "x", "3:", "3:other", "1,,2", "1,0", "-1", "3:cyclic:block"] {
            assert_eq!(PretendNodes::parse(text), None, "{text}");
        }
    }

    #[test]
    fn places_of_ranks() {
        let pretend = PretendNodes::parse("3,1,2:cyclic").unwrap();
        let found: Vec<_> = places(&table(6, Some(&pretend)).unwrap())
            .iter()
            .map(|place| (place.node, place.slot, place.local_rank, place.local_size))
            .collect();
        assert_eq!(found, [(0, 0, 0, 3), (1, 3, 0, 1), (2, 4, 0, 2), (0, 1, 1, 3), (2, 5, 1, 2), (0, 2, 2, 3)]);
        let alone = places(&table(2, None).unwrap());
        assert!(alone.iter().enumerate().all(|(rank, place)| (place.slot, place.local_rank) == (rank, rank)));
        assert_eq!(alone[1].local_size, 2);
    }
}
