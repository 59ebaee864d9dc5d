//! Distributed graphs: every process describes some edges, and learns those that begin or end at
//! itself.
//!
//! Edges travel to their two ends in rounds: in round k every process passes on, to the process 2^k
//! further, the edges whose remaining distance has that bit. So a process sends two messages per
//! round whatever the edges are, and log n rounds are enough.
//!
//! Where ranks may be reordered and run at different positions, every process learns all edges, and
//! takes those of its new node.
//!
//! The description of one process may be wrong while those of the others are fine. That process
//! takes part nevertheless and reports the error, and no process gets a communicator.

use super::order::{self, Link, Position};
use crate::agreement::{AgreementIo, Participants};
use crate::contexts::agree;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};

/// The edges of one process, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    pub incoming: Edges,
    pub outgoing: Edges,
    pub weighted: bool,
}

/// The other ends of edges. There are as many weights, or none in an unweighted graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    pub peers: Vec<i32>,
    pub weights: Vec<i32>,
}

/// One edge between two participants, by rank.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub source: u32,
    pub dest: u32,
    /// Unused in an unweighted graph.
    pub weight: u32,
}

/// What one process knows about the graph.
#[derive(Debug)]
pub struct Described {
    pub edges: Vec<Edge>,
    pub weighted: bool,
}

/// The result that all agreed on.
#[derive(Debug)]
pub struct Made {
    pub context: u32,
    /// The edges of this process's node.
    pub adjacency: Adjacency,
    /// For each node, the member that it is, if that is not the one with the same number.
    pub order: Option<Vec<u32>>,
}

/// Each member describes some edges, or reports wrong arguments; each gets a context and its own
/// edges, ordered by the other end. `positions` are those of all members, or empty when the order
/// must not change.
pub async fn create(
    io: AgreementIo,
    participants: Participants,
    described: Result<Described>,
    positions: Vec<Position>,
) -> Result<Made> {
    let Described { edges, weighted } = compare(&io, &participants, described, |described| described.weighted).await?;
    let mut parcels = Vec::with_capacity(2 * edges.len());
    for Edge { source, dest, weight } in edges {
        parcels.push(Parcel { to: source, incoming: false, peer: dest, weight });
        parcels.push(Parcel { to: dest, incoming: true, peer: source, weight });
    }
    let mut here = route(&io, &participants, parcels).await?;
    // By the other end, then by weight: both ends see several edges between them in the same order.
    here.sort_unstable_by_key(|parcel| (parcel.peer, parcel.weight));
    let edges = |incoming| {
        let chosen = || here.iter().filter(move |parcel| parcel.incoming == incoming);
        Edges {
            peers: chosen().map(|parcel| parcel.peer as i32).collect(),
            weights: chosen().filter(|_| weighted).map(|parcel| parcel.weight as i32).collect(),
        }
    };
    let adjacency = Adjacency { incoming: edges(true), outgoing: edges(false), weighted };
    finish(io, participants, adjacency, positions).await
}

/// Each member knows its own edges already, or reports wrong arguments; each gets a context.
///
/// An edge that only one of its ends names is not detected, though it is a mistake: some programs
/// and test suites describe such graphs and never use them, and other libraries accept them. A
/// program that does use one waits for a message that is never sent.
pub async fn create_adjacent(
    io: AgreementIo,
    participants: Participants,
    described: Result<Adjacency>,
    positions: Vec<Position>,
) -> Result<Made> {
    let adjacency = compare(&io, &participants, described, |adjacency| adjacency.weighted).await?;
    finish(io, participants, adjacency, positions).await
}

/// The order, if it may change, and the context.
async fn finish(
    io: AgreementIo,
    participants: Participants,
    mut adjacency: Adjacency,
    positions: Vec<Position>,
) -> Result<Made> {
    let mut order = None;
    if order::matters(&positions) {
        let lists = io.gather_lists(&participants, &adjacency.to_words()).await?;
        let links: Vec<Link> = (0u32..)
            .zip(&lists)
            .flat_map(|(node, words)| Adjacency::from_words(words, adjacency.weighted).links(node))
            .collect();
        order = order::for_graph(participants.len(), &links, &positions);
        if let Some(order) = &order {
            let Some(node) = order.iter().position(|&member| member as usize == participants.rank) else {
                unreachable!("an order has all members")
            };
            adjacency = Adjacency::from_words(&lists[node], adjacency.weighted);
        }
    }
    Ok(Made { context: agree(io, participants, 0).await?, adjacency, order })
}

/// Continues only if all members can, and if all or none of them have weights.
async fn compare<T>(
    io: &AgreementIo,
    participants: &Participants,
    own: Result<T>,
    weighted: impl Fn(&T) -> bool,
) -> Result<T> {
    const REFUSED: u64 = 2;
    let said = io.gather(participants, &[own.as_ref().map_or(REFUSED, |own| u64::from(weighted(own)))]).await?;
    let own = own?;
    if let Some(rank) = said.iter().position(|&word| word == REFUSED) {
        bail!(MPI_ERR_OTHER, "rank {rank} cannot take part, because its arguments are wrong");
    }
    if let Some(rank) = said.iter().position(|&word| word != said[0]) {
        let what = |word: u64| if word == 0 { "MPI_UNWEIGHTED" } else { "weights" };
        let (first, other) = (what(said[0]), what(said[rank]));
        bail!(MPI_ERR_ARG, "rank 0 passes {first} and rank {rank} passes {other}; all must pass the same");
    }
    Ok(own)
}

impl Adjacency {
    fn to_words(&self) -> Vec<u64> {
        let edge = |(peer, weight): (i32, i32)| (peer as u64) << 32 | weight as u64;
        let edges = self.outgoing.iter().chain(self.incoming.iter()).map(edge);
        std::iter::once(self.outgoing.peers.len() as u64).chain(edges).collect()
    }

    fn from_words(words: &[u64], weighted: bool) -> Adjacency {
        let (outgoing, incoming) = words[1..].split_at(words[0] as usize);
        let edges = |words: &[u64]| Edges {
            peers: words.iter().map(|word| (word >> 32) as i32).collect(),
            weights: words.iter().filter(|_| weighted).map(|&word| word as i32).collect(),
        };
        Adjacency { incoming: edges(incoming), outgoing: edges(outgoing), weighted }
    }

    /// The edges that begin at this node. Without weights all count the same.
    fn links(&self, node: u32) -> Vec<Link> {
        let weight = |weight: i32| if self.weighted { weight as u64 } else { 1 };
        let outgoing = self.outgoing.iter();
        outgoing.map(|(peer, w)| Link { ends: [node, peer as u32], weight: weight(w) }).collect()
    }
}

impl Edges {
    /// The other ends with their weights, which are zero in an unweighted graph.
    fn iter(&self) -> impl Iterator<Item = (i32, i32)> {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(0));
        self.peers.iter().copied().zip(weights)
    }
}

/// An edge on its way to one of its ends.
#[derive(Clone, Copy)]
struct Parcel {
    to: u32,
    incoming: bool,
    peer: u32,
    weight: u32,
}

impl Parcel {
    /// Ranks and weights have 31 bits.
    fn to_words(self) -> [u64; 2] {
        [u64::from(self.to) << 32 | u64::from(self.peer), u64::from(self.incoming) << 32 | u64::from(self.weight)]
    }

    fn from_words(words: &[u64]) -> Parcel {
        let (to, peer) = ((words[0] >> 32) as u32, words[0] as u32);
        Parcel { to, incoming: words[1] >> 32 != 0, peer, weight: words[1] as u32 }
    }
}

/// Routes parcels to their destinations; returns those for this process.
async fn route(io: &AgreementIo, participants: &Participants, mut parcels: Vec<Parcel>) -> Result<Vec<Parcel>> {
    let (rank, size) = (participants.rank, participants.len());
    let mut bit = 1;
    while bit < size {
        let (next, previous) = ((rank + bit) % size, (rank + size - bit) % size);
        // The lower bits of the distance are done already, so they are zero for all parcels here.
        let goes = |parcel: &Parcel| ((parcel.to as usize + size - rank) % size) & bit != 0;
        let words: Vec<u64> =
            parcels.iter().filter(|parcel| goes(parcel)).flat_map(|parcel| parcel.to_words()).collect();
        parcels.retain(|parcel| !goes(parcel));
        io.send(participants, next, &[words.len() as u64]);
        if !words.is_empty() {
            io.send(participants, next, &words);
        }
        let count = io.receive(participants, previous, 1).await?[0] as usize;
        if count > 0 {
            parcels.extend(io.receive(participants, previous, count).await?.chunks_exact(2).map(Parcel::from_words));
        }
        bit *= 2;
    }
    Ok(parcels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::simulated::World;
    use crate::agreement::{Agreement, sends_of_gather};
    use crate::ranks::Ranks;
    use oxmpi_abi::Error;

    fn run(size: usize, described: impl Fn(usize) -> Result<Described>) -> (Vec<Result<Made>>, World) {
        let mut world = World::new(size);
        let agreements = (0..size).map(|rank| {
            let participants = Participants { members: Ranks::one_node(size), rank, context: 1, tag: 9 };
            let described = described(rank);
            (rank, Agreement::new(|io| create(io, participants, described, Vec::new())))
        });
        let made = world.run(agreements.collect());
        (made, world)
    }

    /// Edges that process `rank` describes: of any process, some more than once, some from a
    /// process to itself.
    fn some_edges(rank: usize, size: usize) -> Vec<Edge> {
        let mut seed = rank as u64 * 77 + size as u64;
        let mut draw = |bound: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) as usize % bound) as u32
        };
        let count = if rank % 4 == 2 { 0 } else { draw(12) };
        (0..count).map(|_| Edge { source: draw(size), dest: draw(size), weight: draw(3) }).collect()
    }

    #[test]
    fn every_edge_arrives_at_both_ends() {
        for size in [1, 2, 3, 4, 5, 7, 8, 33, 1000] {
            for weighted in [false, true] {
                let (made, world) = run(size, |rank| Ok(Described { edges: some_edges(rank, size), weighted }));
                let all: Vec<Edge> = (0..size).flat_map(|rank| some_edges(rank, size)).collect();
                let context = made[0].as_ref().unwrap().context;
                for (rank, made) in made.into_iter().enumerate() {
                    let Made { context: agreed, adjacency, order } = made.unwrap();
                    assert_eq!(order, None);
                    assert_eq!(agreed, context);
                    let edges = |mut list: Vec<(u32, u32)>| {
                        list.sort_unstable();
                        Edges {
                            peers: list.iter().map(|&(peer, _)| peer as i32).collect(),
                            weights: list.iter().filter(|_| weighted).map(|&(_, weight)| weight as i32).collect(),
                        }
                    };
                    let at = |end: u32| end as usize == rank;
                    let incoming = all.iter().filter(|edge| at(edge.dest)).map(|edge| (edge.source, edge.weight));
                    let outgoing = all.iter().filter(|edge| at(edge.source)).map(|edge| (edge.dest, edge.weight));
                    let (incoming, outgoing) = (edges(incoming.collect()), edges(outgoing.collect()));
                    assert_eq!(adjacency, Adjacency { incoming, outgoing, weighted });
                }
                assert!(world.messages <= 3 * size * sends_of_gather(size) + size, "three gathers at most");
            }
        }
    }

    #[test]
    fn wrong_arguments_of_one_member_stop_all() {
        let (made, _) = run(5, |rank| match rank {
            3 => Err(Error::new(MPI_ERR_RANK, "no such rank")),
            _ => Ok(Described { edges: some_edges(rank, 5), weighted: true }),
        });
        let classes: Vec<i32> = made.into_iter().map(|made| made.unwrap_err().class()).collect();
        assert_eq!(classes, [MPI_ERR_OTHER, MPI_ERR_OTHER, MPI_ERR_OTHER, MPI_ERR_RANK, MPI_ERR_OTHER]);
    }

    #[test]
    fn weights_everywhere_or_nowhere() {
        let (made, _) = run(4, |rank| Ok(Described { edges: Vec::new(), weighted: rank != 2 }));
        for made in made {
            let error = made.unwrap_err();
            assert_eq!(error.class(), MPI_ERR_ARG);
            assert!(error.text().contains("rank 2 passes MPI_UNWEIGHTED"), "{}", error.text());
        }
    }

    /// Sources and destinations with weights, as one process passes them.
    type Lists<'a> = (&'a [(i32, i32)], &'a [(i32, i32)]);

    fn adjacent(lists: &[Lists], positions: &[Position]) -> Vec<Result<Made>> {
        let mut world = World::new(lists.len());
        let edges = |list: &[(i32, i32)]| Edges {
            peers: list.iter().map(|&(peer, _)| peer).collect(),
            weights: list.iter().map(|&(_, weight)| weight).collect(),
        };
        let agreements = lists.iter().enumerate().map(|(rank, (sources, destinations))| {
            let participants = Participants { members: Ranks::one_node(lists.len()), rank, context: 1, tag: 9 };
            let own = Adjacency { incoming: edges(sources), outgoing: edges(destinations), weighted: true };
            let positions = positions.to_vec();
            (rank, Agreement::new(|io| create_adjacent(io, participants, Ok(own), positions)))
        });
        world.run(agreements.collect())
    }

    #[test]
    fn a_node_moves_with_its_edges() {
        // Two pairs with much traffic, distributed over two positions; the lists are not sorted and
        // stay so.
        let lists: [Lists; 4] =
            [(&[(2, 9), (1, 1)], &[(2, 8)]), (&[], &[(3, 9), (0, 1)]), (&[(0, 8)], &[(0, 9)]), (&[(1, 9)], &[])];
        let positions = [[0; 6], [0; 6], [1; 6], [1; 6]];
        let made: Vec<Made> = adjacent(&lists, &positions).into_iter().map(Result::unwrap).collect();
        let order = made[0].order.clone().unwrap();
        assert!(made.iter().all(|other| other.order.as_ref() == Some(&order) && other.context == made[0].context));
        let position = |node: usize| positions[order[node] as usize];
        assert!(position(0) == position(2) && position(1) == position(3) && position(0) != position(1));
        for (node, (incoming, outgoing)) in lists.iter().enumerate() {
            let adjacency = &made[order[node] as usize].adjacency;
            assert!(adjacency.incoming.iter().eq(incoming.iter().copied()));
            assert!(adjacency.outgoing.iter().eq(outgoing.iter().copied()));
        }
        // If all are at one position, or if the order is already good, no rank moves.
        assert!(adjacent(&lists, &[[7; 6]; 4]).iter().all(|made| made.as_ref().unwrap().order.is_none()));
        let good = [[0; 6], [1; 6], [0; 6], [1; 6]];
        assert!(adjacent(&lists, &good).iter().all(|made| made.as_ref().unwrap().order.is_none()));
    }
}
