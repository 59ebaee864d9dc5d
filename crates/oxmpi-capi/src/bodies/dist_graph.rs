//! Distributed graphs: communicators whose processes each describe a part of the neighbourhoods.

use super::topology::{attach, positions};
use crate::args::{Array, Open, OutArray};
use crate::call::{Call, Guard};
use crate::library::LIBRARY;
use oxmpi::comm::{self, hints};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Info as InfoHandle};
use oxmpi_abi::{Result, bail};
use oxmpi_core::comm::Comm as Made;
use oxmpi_core::info::Info;
use oxmpi_core::topology::Topology;
use oxmpi_core::topology::distributed::{self, Adjacency, Described, Edge, Edges};
use std::ffi::c_int;

fn adjacency_of(comm: &Made) -> Result<&Adjacency> {
    match comm.topology.as_deref() {
        Some(Topology::Distributed(adjacency)) => Ok(adjacency),
        _ => Err(comm.other_topology("a distributed graph topology")),
    }
}

/// A list of ranks, checked.
fn peers<'m>(ranks: Array<'m, c_int>, size: c_int, name: &str, length: &str) -> Result<&'m [c_int]> {
    let list = ranks.elements(name, length, MPI_ERR_ARG)?;
    match list.iter().position(|rank| !(0..size).contains(rank)) {
        None => Ok(list),
        Some(at) => bail!(MPI_ERR_RANK, "{name}[{at}] is {}; the communicator has {size} processes", list[at]),
    }
}

/// The weights of edges; `None` for `MPI_UNWEIGHTED`.
///
/// # Safety
/// Unless it is a special value, the array has a weight for each of the `count` edges.
unsafe fn weights<'m>(weights: Open<'m, c_int>, count: i64, name: &str) -> Result<Option<&'m [c_int]>> {
    if weights.addr() == MPI_UNWEIGHTED {
        return Ok(None);
    }
    if weights.addr() == MPI_WEIGHTS_EMPTY && count > 0 {
        bail!(MPI_ERR_ARG, "{name} is MPI_WEIGHTS_EMPTY; there are {count} edges");
    }
    // SAFETY: not a special value, so `count` weights.
    let list = unsafe { weights.of(count) }.elements(name, "the number of edges", MPI_ERR_ARG)?;
    match list.iter().position(|&weight| weight < 0) {
        None => Ok(Some(list)),
        Some(at) => bail!(MPI_ERR_ARG, "{name}[{at}] is {}; a weight must not be negative", list[at]),
    }
}

fn described(
    size: c_int,
    sources: Array<c_int>,
    degrees: Array<c_int>,
    destinations: Open<c_int>,
    weight_list: Open<c_int>,
) -> Result<Described> {
    let sources = peers(sources, size, "sources", "n")?;
    let degrees = degrees.elements("degrees", "n", MPI_ERR_ARG)?;
    let mut count: c_int = 0;
    for (at, &degree) in degrees.iter().enumerate() {
        if degree < 0 {
            bail!(MPI_ERR_ARG, "degrees[{at}] is {degree}, which is negative");
        }
        count = match count.checked_add(degree) {
            Some(count) => count,
            None => bail!(MPI_ERR_ARG, "the degrees up to degrees[{at}] add up to more than an int can hold"),
        };
    }
    // SAFETY: there are as many destinations (and weights, if any) as the degrees add up to.
    let (destinations, weights) = unsafe {
        let destinations = destinations.of(count.into());
        let destinations = peers(destinations, size, "destinations", "the sum of the degrees")?;
        (destinations, weights(weight_list, count.into(), "weights")?)
    };
    let by_edge = sources.iter().zip(degrees).flat_map(|(&source, &degree)| (0..degree).map(move |_| source));
    let edges = by_edge.zip(destinations).enumerate().map(|(at, (source, &dest))| Edge {
        source: source as u32,
        dest: dest as u32,
        weight: weights.map_or(0, |weights| weights[at] as u32),
    });
    Ok(Described { edges: edges.collect(), weighted: weights.is_some() })
}

pub fn dist_graph_create(
    cx: &Call,
    comm_old: Comm,
    sources: Array<c_int>,
    degrees: Array<c_int>,
    destinations: Open<c_int>,
    weights: Open<c_int>,
    info: InfoHandle,
    reorder: c_int,
) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm_old)?;
    comm::check_intra(found)?;
    let (size, mut given) = (found.size(), Info::new());
    // The others are told of wrong arguments here: they have described edges and wait for ours.
    let described = LIBRARY.info(info).and_then(|info| {
        given = info;
        described(size, sources, degrees, destinations, weights)
    });
    let (own, positions) = (comm::own_peer(&guard), positions(&guard, comm_old, reorder)?);
    let participants = guard.comm_mut(comm_old)?.participants(own)?;
    let made = comm::run_agreement(cx, &mut guard, |io| distributed::create(io, participants, described, positions))?;
    let handle = add(&mut guard, comm_old, made, &given)?;
    Ok(handle)
}

/// After the agreement: the communicator with its topology and hints.
fn add(guard: &mut Guard, parent: Comm, made: distributed::Made, given: &Info) -> Result<Comm> {
    let group = guard.comm(parent)?.group.ordered(made.order.as_deref());
    let handle = comm::add(guard, parent, made.context, group, None)?;
    attach(guard, handle, Topology::Distributed(made.adjacency))?;
    let library = guard.library();
    let made = guard.comm_mut(handle)?;
    hints::update(library, &mut made.hints, given, made.session)?;
    Ok(handle)
}

/// The edges of one direction of [`dist_graph_create_adjacent`], and whether they have weights.
fn direction(size: c_int, ranks: Array<c_int>, weight_list: Open<c_int>, names: [&str; 3]) -> Result<(Edges, bool)> {
    let degree = ranks.count().max(0);
    let ranks = peers(ranks, size, names[1], names[0])?;
    // SAFETY: there is a weight for each rank.
    let weights = unsafe { weights(weight_list, degree, names[2])? };
    Ok((Edges { peers: ranks.to_vec(), weights: weights.unwrap_or_default().to_vec() }, weights.is_some()))
}

pub fn dist_graph_create_adjacent(
    cx: &Call,
    comm_old: Comm,
    sources: Array<c_int>,
    sourceweights: Open<c_int>,
    destinations: Array<c_int>,
    destweights: Open<c_int>,
    info: InfoHandle,
    reorder: c_int,
) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm_old)?;
    comm::check_intra(found)?;
    let (size, mut given) = (found.size(), Info::new());
    let described = LIBRARY.info(info).and_then(|info| {
        given = info;
        let (incoming, weighted) = direction(size, sources, sourceweights, ["indegree", "sources", "sourceweights"])?;
        let (outgoing, weighted_out) =
            direction(size, destinations, destweights, ["outdegree", "destinations", "destweights"])?;
        if weighted != weighted_out {
            bail!(MPI_ERR_ARG, "one of sourceweights and destweights is MPI_UNWEIGHTED, and the other is not");
        }
        Ok(Adjacency { incoming, outgoing, weighted })
    });
    let (own, positions) = (comm::own_peer(&guard), positions(&guard, comm_old, reorder)?);
    let participants = guard.comm_mut(comm_old)?.participants(own)?;
    let made =
        comm::run_agreement(cx, &mut guard, |io| distributed::create_adjacent(io, participants, described, positions))?;
    let handle = add(&mut guard, comm_old, made, &given)?;
    comm::checked::edges(cx, &mut guard, comm_old, handle)
}

pub fn dist_graph_neighbors_count(cx: &Call, comm: Comm) -> Result<(c_int, c_int, bool)> {
    let guard = cx.enter()?;
    let adjacency = adjacency_of(guard.comm(comm)?)?;
    Ok((adjacency.incoming.peers.len() as c_int, adjacency.outgoing.peers.len() as c_int, adjacency.weighted))
}

/// The first edges, as many as there is room for.
fn first(edges: &Edges, ranks: OutArray<c_int>, weights: OutArray<c_int>, names: [&str; 3]) -> Result<()> {
    let room = ranks.room();
    let Ok(room) = usize::try_from(room) else { bail!(MPI_ERR_ARG, "{} is {room}, which is negative", names[0]) };
    let count = room.min(edges.peers.len());
    ranks.fill(&edges.peers[..count], names[1])?;
    // Without weights nothing is stored.
    if count == 0 || edges.weights.is_empty() || weights.addr() == MPI_UNWEIGHTED {
        return Ok(());
    }
    if weights.addr() == MPI_WEIGHTS_EMPTY {
        bail!(MPI_ERR_ARG, "{} is MPI_WEIGHTS_EMPTY; {count} weights are to be stored", names[2]);
    }
    weights.fill(&edges.weights[..count], names[2])
}

pub fn dist_graph_neighbors(
    cx: &Call,
    comm: Comm,
    sources: OutArray<c_int>,
    sourceweights: OutArray<c_int>,
    destinations: OutArray<c_int>,
    destweights: OutArray<c_int>,
) -> Result<()> {
    let guard = cx.enter()?;
    let adjacency = adjacency_of(guard.comm(comm)?)?;
    let names = [["maxindegree", "sources", "sourceweights"], ["maxoutdegree", "destinations", "destweights"]];
    first(&adjacency.incoming, sources, sourceweights, names[0])?;
    first(&adjacency.outgoing, destinations, destweights, names[1])
}
