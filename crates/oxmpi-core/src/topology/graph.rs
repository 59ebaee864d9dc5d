//! Graphs that every process knows completely.

use super::order::Link;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};

#[derive(Debug)]
pub struct Graph {
    /// Where the neighbours of each node end in `edges`.
    index: Vec<i32>,
    edges: Vec<i32>,
}

/// Checks the ends of the neighbour lists and returns their total length.
pub fn edge_count(index: &[i32]) -> Result<usize> {
    let mut end = 0;
    for (node, &next) in index.iter().enumerate() {
        if next < end {
            bail!(
                MPI_ERR_ARG,
                "index[{node}] is {next}; it counts the neighbours up to node {node}, so at least {end}"
            );
        }
        end = next;
    }
    Ok(end as usize)
}

impl Graph {
    /// `edges` is as long as the last entry of `index`.
    pub fn new(index: Vec<i32>, edges: Vec<i32>) -> Result<Graph> {
        for (edge, &node) in edges.iter().enumerate() {
            if node < 0 || node as usize >= index.len() {
                bail!(MPI_ERR_RANK, "edges[{edge}] is {node}, but the graph has {} nodes", index.len());
            }
        }
        Ok(Graph { index, edges })
    }

    pub fn index(&self) -> &[i32] {
        &self.index
    }

    pub fn edges(&self) -> &[i32] {
        &self.edges
    }

    /// All edges, with equal weights.
    pub fn links(&self) -> Vec<Link> {
        let starts = std::iter::once(&0).chain(&self.index);
        let nodes = starts.zip(&self.index).map(|(&start, &end)| &self.edges[start as usize..end as usize]);
        let links = |(node, peers): (u32, &[i32])| {
            let link = move |&peer: &i32| Link { ends: [node, peer as u32], weight: 1 };
            peers.iter().map(link).collect::<Vec<_>>()
        };
        (0u32..).zip(nodes).flat_map(links).collect()
    }

    pub fn neighbors(&self, node: i32) -> Result<&[i32]> {
        let Some(&end) = usize::try_from(node).ok().and_then(|node| self.index.get(node)) else {
            bail!(MPI_ERR_RANK, "the rank is {node}; the graph has {} nodes", self.index.len());
        };
        let start = if node == 0 { 0 } else { self.index[node as usize - 1] };
        Ok(&self.edges[start as usize..end as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_those_that_were_given() {
        let index = vec![3, 5, 5, 6];
        assert_eq!(edge_count(&index).unwrap(), 6);
        let graph = Graph::new(index, vec![1, 1, 3, 0, 1, 0]).unwrap();
        let lists: [&[i32]; 4] = [&[1, 1, 3], &[0, 1], &[], &[0]];
        for (node, list) in lists.into_iter().enumerate() {
            assert_eq!(graph.neighbors(node as i32).unwrap(), list);
        }
        let links: Vec<[u32; 2]> = graph.links().iter().map(|link| link.ends).collect();
        assert_eq!(links, [[0, 1], [0, 1], [0, 3], [1, 0], [1, 1], [3, 0]]);
        for node in [-1, 4, i32::MAX] {
            assert_eq!(graph.neighbors(node).unwrap_err().class(), MPI_ERR_RANK);
        }
    }

    #[test]
    fn wrong_descriptions_are_refused() {
        assert_eq!(edge_count(&[]).unwrap(), 0);
        for index in [&[-1][..], &[2, 1], &[0, 3, 2]] {
            assert_eq!(edge_count(index).unwrap_err().class(), MPI_ERR_ARG);
        }
        for edges in [vec![0, 2], vec![-1, 0]] {
            assert_eq!(Graph::new(vec![1, 2], edges).unwrap_err().class(), MPI_ERR_RANK);
        }
    }
}
