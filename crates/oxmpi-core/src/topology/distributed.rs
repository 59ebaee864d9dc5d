//! Distributed graphs: every process describes some edges, and gets to know those that begin or end at itself.
//!
//! Edges travel to their two ends in rounds: in round k everybody passes on, to the process 2^k further, what has a
//! distance with that bit left to go. So a process sends two messages a round however the edges lie, and log n rounds
//! are enough.
//!
//! The description of one process may be wrong while those of the others are fine. It takes part all the same and says
//! so, and nobody gets a communicator.

use crate::contexts::agree;
use crate::talk::{Line, Party};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};

/// The edges of one process, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    pub incoming: Edges,
    pub outgoing: Edges,
    pub weighted: bool,
}

/// The other ends of edges. The weights are as many, or none in a graph without weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    pub peers: Vec<i32>,
    pub weights: Vec<i32>,
}

/// One edge, between ranks of the party.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub source: u32,
    pub dest: u32,
    /// Of no meaning in a graph without weights.
    pub weight: u32,
}

/// What one process knows of the graph.
#[derive(Debug)]
pub struct Described {
    pub edges: Vec<Edge>,
    pub weighted: bool,
}

/// Everybody describes some edges, or says what is wrong with its arguments; each gets a context and the edges at itself,
/// ordered by the other end.
pub async fn create(line: Line, party: Party, described: Result<Described>) -> Result<(u32, Adjacency)> {
    let Described { edges, weighted } = compare(&line, &party, described, |described| described.weighted).await?;
    let mut parcels = Vec::with_capacity(2 * edges.len());
    for Edge { source, dest, weight } in edges {
        parcels.push(Parcel { to: source, incoming: false, peer: dest, weight });
        parcels.push(Parcel { to: dest, incoming: true, peer: source, weight });
    }
    let mut here = route(&line, &party, parcels).await?;
    // By the other end, then by weight: of several edges between two processes both see the same order.
    here.sort_unstable_by_key(|parcel| (parcel.peer, parcel.weight));
    let edges = |incoming| {
        let chosen = || here.iter().filter(move |parcel| parcel.incoming == incoming);
        Edges {
            peers: chosen().map(|parcel| parcel.peer as i32).collect(),
            weights: chosen().filter(|_| weighted).map(|parcel| parcel.weight as i32).collect(),
        }
    };
    let adjacency = Adjacency { incoming: edges(true), outgoing: edges(false), weighted };
    Ok((agree(line, party, 0).await?, adjacency))
}

/// Everybody knows its own edges already, or says what is wrong with its arguments; each gets a context.
pub async fn create_adjacent(line: Line, party: Party, described: Result<Adjacency>) -> Result<(u32, Adjacency)> {
    let adjacency = compare(&line, &party, described, |adjacency| adjacency.weighted).await?;
    Ok((agree(line, party, 0).await?, adjacency))
}

/// Goes on only when everybody can, and when the graph has weights everywhere or nowhere.
async fn compare<T>(line: &Line, party: &Party, own: Result<T>, weighted: impl Fn(&T) -> bool) -> Result<T> {
    const REFUSED: u64 = 2;
    let said = line.gather(party, &[own.as_ref().map_or(REFUSED, |own| u64::from(weighted(own)))]).await?;
    let own = own?;
    if let Some(rank) = said.iter().position(|&word| word == REFUSED) {
        bail!(MPI_ERR_OTHER, "rank {rank} cannot take part, because its arguments are wrong");
    }
    if let Some(rank) = said.iter().position(|&word| word != said[0]) {
        let what = |word: u64| if word == 0 { "MPI_UNWEIGHTED" } else { "weights" };
        let (first, other) = (what(said[0]), what(said[rank]));
        bail!(MPI_ERR_ARG, "rank 0 gives {first} and rank {rank} gives {other}; all must give the same");
    }
    Ok(own)
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

/// Brings parcels where they go; those for this process.
async fn route(line: &Line, party: &Party, mut parcels: Vec<Parcel>) -> Result<Vec<Parcel>> {
    let (rank, size) = (party.rank, party.len());
    let mut bit = 1;
    while bit < size {
        let (next, previous) = ((rank + bit) % size, (rank + size - bit) % size);
        // The lower bits of the distance have been walked already, so of what is here they are zero.
        let goes = |parcel: &Parcel| ((parcel.to as usize + size - rank) % size) & bit != 0;
        let words: Vec<u64> =
            parcels.iter().filter(|parcel| goes(parcel)).flat_map(|parcel| parcel.to_words()).collect();
        parcels.retain(|parcel| !goes(parcel));
        line.send(party, next, &[words.len() as u64]);
        if !words.is_empty() {
            line.send(party, next, &words);
        }
        let count = line.receive(party, previous, 1).await?[0] as usize;
        if count > 0 {
            parcels.extend(line.receive(party, previous, count).await?.chunks_exact(2).map(Parcel::from_words));
        }
        bit *= 2;
    }
    Ok(parcels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Ranks;
    use crate::talk::Talk;
    use crate::talk::simulated::World;
    use oxmpi_abi::Error;

    type Made = Result<(u32, Adjacency)>;

    fn run(size: usize, described: impl Fn(usize) -> Result<Described>) -> (Vec<Made>, World) {
        let mut world = World::new(size);
        let talks = (0..size).map(|rank| {
            let party = Party { members: Ranks::All(size), rank, context: 1, tag: 9 };
            let described = described(rank);
            (rank, Talk::new(|line| create(line, party, described)))
        });
        let made = world.run(talks.collect());
        (made, world)
    }

    /// Edges that process `rank` describes: anybody's, some more than once, some from a process to itself.
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
                let context = made[0].as_ref().unwrap().0;
                for (rank, made) in made.into_iter().enumerate() {
                    let (agreed, adjacency) = made.unwrap();
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
                let rounds = size.next_power_of_two().trailing_zeros() as usize;
                assert!(world.messages <= 3 * size * rounds + size, "log n rounds");
            }
        }
    }

    #[test]
    fn who_is_wrong_stops_everybody() {
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
            assert!(error.text().contains("rank 2 gives MPI_UNWEIGHTED"), "{}", error.text());
        }
    }
}
