//! Distributed graphs: communicators whose processes each describe a part of who is whose neighbour.

use super::topology::{array, attach, fill, places};
use super::{check_place, store};
use crate::call::Call;
use crate::infos;
use oxmpi::comm::{self, hints};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Info as InfoHandle};
use oxmpi_abi::{Result, bail};
use oxmpi_core::comm::Comm as Made;
use oxmpi_core::guard::Guard;
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
///
/// # Safety
/// `ranks` is null or as long as `count` says.
unsafe fn peers<'a>(ranks: *const c_int, count: c_int, size: c_int, name: &str, length: &str) -> Result<&'a [c_int]> {
    // SAFETY: as the caller says.
    let list = unsafe { array(ranks, count, name, length, MPI_ERR_ARG)? };
    match list.iter().position(|rank| !(0..size).contains(rank)) {
        None => Ok(list),
        Some(at) => bail!(MPI_ERR_RANK, "{name}[{at}] is {}; the communicator has {size} processes", list[at]),
    }
}

/// The weights of edges; `None` for `MPI_UNWEIGHTED`.
///
/// # Safety
/// `weights` is null, a special value, or as long as `count` says.
unsafe fn weights<'a>(weights: *const c_int, count: usize, name: &str) -> Result<Option<&'a [c_int]>> {
    if weights.addr() == MPI_UNWEIGHTED {
        return Ok(None);
    }
    if weights.addr() == MPI_WEIGHTS_EMPTY && count > 0 {
        bail!(MPI_ERR_ARG, "{name} is MPI_WEIGHTS_EMPTY; there are {count} edges");
    }
    // SAFETY: as the caller says; a count is made from an int.
    let list = unsafe { array(weights, count as c_int, name, "the number of edges", MPI_ERR_ARG)? };
    match list.iter().position(|&weight| weight < 0) {
        None => Ok(Some(list)),
        Some(at) => bail!(MPI_ERR_ARG, "{name}[{at}] is {}; a weight must not be negative", list[at]),
    }
}

/// # Safety
/// The arrays are as long as the numbers before them say.
unsafe fn described(
    size: c_int,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weight_list: *const c_int,
) -> Result<Described> {
    // SAFETY: as the caller says.
    let (sources, degrees) =
        unsafe { (peers(sources, n, size, "sources", "n")?, array(degrees, n, "degrees", "n", MPI_ERR_ARG)?) };
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
    // SAFETY: as the caller says.
    let (destinations, weights) = unsafe {
        (
            peers(destinations, count, size, "destinations", "the sum of the degrees")?,
            weights(weight_list, count as usize, "weights")?,
        )
    };
    let by_edge = sources.iter().zip(degrees).flat_map(|(&source, &degree)| (0..degree).map(move |_| source));
    let edges = by_edge.zip(destinations).enumerate().map(|(at, (source, &dest))| Edge {
        source: source as u32,
        dest: dest as u32,
        weight: weights.map_or(0, |weights| weights[at] as u32),
    });
    Ok(Described { edges: edges.collect(), weighted: weights.is_some() })
}

pub unsafe fn dist_graph_create(
    cx: &Call,
    comm_old: Comm,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights: *const c_int,
    info: InfoHandle,
    reorder: c_int,
    comm_dist_graph: *mut Comm,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm_old)?;
    comm::check_intra(found)?;
    check_place(comm_dist_graph, "comm_dist_graph")?;
    let (size, mut given) = (found.size(), Info::new());
    // What is wrong here the others hear of: they have described edges and wait for ours.
    let described = infos::get(info).and_then(|info| {
        given = info;
        // SAFETY: passed on.
        unsafe { described(size, n, sources, degrees, destinations, weights) }
    });
    let (own, places) = (comm::own_peer(&guard), places(&guard, comm_old, reorder)?);
    let participants = guard.comm_mut(comm_old)?.participants(own);
    let made = comm::run_agreement(cx, &mut guard, |line| distributed::create(line, participants, described, places))?;
    let handle = add(&mut guard, comm_old, made, &given)?;
    // SAFETY: checked.
    unsafe { store(comm_dist_graph, handle, "comm_dist_graph") }
}

/// The processes have agreed: the communicator, with its topology and its hints.
fn add(guard: &mut Guard, parent: Comm, made: distributed::Made, given: &Info) -> Result<Comm> {
    let group = guard.comm(parent)?.group.ordered(made.order.as_deref());
    let handle = comm::add(guard, parent, made.context, group, None)?;
    attach(guard, handle, Topology::Distributed(made.adjacency))?;
    let library = guard.library();
    let made = guard.comm_mut(handle)?;
    hints::update(library, &mut made.hints, given, made.session)?;
    Ok(handle)
}

/// One direction of [`dist_graph_create_adjacent`]'s edges, and whether they have weights.
///
/// # Safety
/// The arrays are null, special values, or as long as `degree` says.
unsafe fn direction(
    size: c_int,
    degree: c_int,
    ranks: *const c_int,
    weight_list: *const c_int,
    names: [&str; 3],
) -> Result<(Edges, bool)> {
    // SAFETY: as the caller says.
    let (ranks, weights) = unsafe {
        (peers(ranks, degree, size, names[1], names[0])?, weights(weight_list, degree.max(0) as usize, names[2])?)
    };
    Ok((Edges { peers: ranks.to_vec(), weights: weights.unwrap_or_default().to_vec() }, weights.is_some()))
}

pub unsafe fn dist_graph_create_adjacent(
    cx: &Call,
    comm_old: Comm,
    indegree: c_int,
    sources: *const c_int,
    sourceweights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destweights: *const c_int,
    info: InfoHandle,
    reorder: c_int,
    comm_dist_graph: *mut Comm,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm_old)?;
    comm::check_intra(found)?;
    check_place(comm_dist_graph, "comm_dist_graph")?;
    let (size, mut given) = (found.size(), Info::new());
    let described = infos::get(info).and_then(|info| {
        given = info;
        // SAFETY: passed on.
        let ((incoming, weighted), (outgoing, weighted_out)) = unsafe {
            (
                direction(size, indegree, sources, sourceweights, ["indegree", "sources", "sourceweights"])?,
                direction(size, outdegree, destinations, destweights, ["outdegree", "destinations", "destweights"])?,
            )
        };
        if weighted != weighted_out {
            bail!(MPI_ERR_ARG, "one of sourceweights and destweights is MPI_UNWEIGHTED, and the other is not");
        }
        Ok(Adjacency { incoming, outgoing, weighted })
    });
    let (own, places) = (comm::own_peer(&guard), places(&guard, comm_old, reorder)?);
    let participants = guard.comm_mut(comm_old)?.participants(own);
    let made = comm::run_agreement(cx, &mut guard, |line| {
        distributed::create_adjacent(line, participants, described, places)
    })?;
    let handle = add(&mut guard, comm_old, made, &given)?;
    // SAFETY: checked.
    unsafe { store(comm_dist_graph, handle, "comm_dist_graph") }
}

pub unsafe fn dist_graph_neighbors_count(
    cx: &Call,
    comm: Comm,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let adjacency = adjacency_of(guard.comm(comm)?)?;
    // SAFETY: null or may be written.
    unsafe {
        store(indegree, adjacency.incoming.peers.len() as c_int, "indegree")?;
        store(outdegree, adjacency.outgoing.peers.len() as c_int, "outdegree")?;
        store(weighted, c_int::from(adjacency.weighted), "weighted")
    }
}

/// The first edges, as many as there is room for.
///
/// # Safety
/// The arrays are null, special values, or as long as `room` says.
unsafe fn first(edges: &Edges, room: c_int, ranks: *mut c_int, weights: *mut c_int, names: [&str; 3]) -> Result<()> {
    let Ok(room) = usize::try_from(room) else { bail!(MPI_ERR_ARG, "{} is {room}, which is negative", names[0]) };
    let count = room.min(edges.peers.len());
    // SAFETY: as the caller says.
    unsafe { fill(ranks, count as c_int, &edges.peers[..count], names[1])? };
    // Without weights there is nothing to store, whatever the place for them is.
    if count == 0 || edges.weights.is_empty() || weights.addr() == MPI_UNWEIGHTED {
        return Ok(());
    }
    if weights.addr() == MPI_WEIGHTS_EMPTY {
        bail!(MPI_ERR_ARG, "{} is MPI_WEIGHTS_EMPTY; {count} weights are to be stored", names[2]);
    }
    // SAFETY: as the caller says.
    unsafe { fill(weights, count as c_int, &edges.weights[..count], names[2]) }
}

pub unsafe fn dist_graph_neighbors(
    cx: &Call,
    comm: Comm,
    maxindegree: c_int,
    sources: *mut c_int,
    sourceweights: *mut c_int,
    maxoutdegree: c_int,
    destinations: *mut c_int,
    destweights: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let adjacency = adjacency_of(guard.comm(comm)?)?;
    let names = [["maxindegree", "sources", "sourceweights"], ["maxoutdegree", "destinations", "destweights"]];
    // SAFETY: passed on.
    unsafe {
        first(&adjacency.incoming, maxindegree, sources, sourceweights, names[0])?;
        first(&adjacency.outgoing, maxoutdegree, destinations, destweights, names[1])
    }
}
