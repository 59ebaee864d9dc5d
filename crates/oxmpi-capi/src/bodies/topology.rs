//! Virtual topologies: communicators that know who is whose neighbour. What goes along the edges is elsewhere.
//!
//! `reorder` is taken and changes nothing: all processes of a job are on one node, and an order of ranks that keeps
//! every rank where it is is a valid choice. For the same reason `MPI_Cart_map` and `MPI_Graph_map` answer with the
//! rank that a process has.

use super::{check_place, null_pointer, slice_mut, store};
use crate::call::Cx;
use crate::library::Guard;
use crate::{comms, infos};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Info as InfoHandle};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::comm::{Comm as Made, Ranks};
use oxmpi_core::topology::cart::Cart;
use oxmpi_core::topology::distributed::{self, Adjacency, Described, Edge, Edges};
use oxmpi_core::topology::graph::{self, Graph};
use oxmpi_core::topology::{Topology, dims};
use std::ffi::c_int;
use std::sync::Arc;

pub unsafe fn topo_test(cx: &Cx, comm: Comm, status: *mut c_int) -> Result<()> {
    let guard = cx.process()?;
    let kind = match guard.comm(comm)?.topology.as_deref() {
        None => MPI_UNDEFINED,
        Some(Topology::Cart(_)) => MPI_CART,
        Some(Topology::Graph(_)) => MPI_GRAPH,
        Some(Topology::Distributed(_)) => MPI_DIST_GRAPH,
    };
    // SAFETY: null or may be written.
    unsafe { store(status, kind, "status") }
}

// ---- what is common ----

/// An input array, which may be null only when it is empty. `length` is the name of the argument that says how long it is.
///
/// # Safety
/// A pointer that is not null points to `count` integers, which nobody changes while the slice lives.
unsafe fn array<'a>(array: *const c_int, count: c_int, name: &str, length: &str, class: i32) -> Result<&'a [c_int]> {
    match usize::try_from(count) {
        Err(_) => bail!(class, "{length} is {count}, which is negative"),
        Ok(0) => Ok(&[]),
        Ok(_) if array.is_null() => Err(null_pointer(name)),
        // SAFETY: as the caller says.
        Ok(count) => Ok(unsafe { std::slice::from_raw_parts(array, count) }),
    }
}

/// Fills an output array, which has room for `room` integers and may be null when there is nothing to store.
///
/// # Safety
/// A pointer that is not null points to as many integers.
unsafe fn fill(to: *mut c_int, room: c_int, values: &[c_int], name: &str) -> Result<()> {
    if room < 0 || (room as usize) < values.len() {
        bail!(MPI_ERR_ARG, "the array {name} has room for {room} integers; {} are to be stored", values.len());
    }
    // SAFETY: as the caller says.
    unsafe { slice_mut(to, values.len() as c_int, name)? }.copy_from_slice(values);
    Ok(())
}

#[cold]
fn other_topology(comm: &Made, wanted: &str) -> Error {
    let has = comm.topology.as_ref().map_or("no topology", |topology| topology.describe());
    Error::new(MPI_ERR_TOPOLOGY, format!("{} has {has}; this function needs {wanted}", comm.describe()))
}

fn cart_of(comm: &Made) -> Result<&Cart> {
    match comm.topology.as_deref() {
        Some(Topology::Cart(cart)) => Ok(cart),
        _ => Err(other_topology(comm, "a Cartesian topology")),
    }
}

fn graph_of(comm: &Made) -> Result<&Graph> {
    match comm.topology.as_deref() {
        Some(Topology::Graph(graph)) => Ok(graph),
        _ => Err(other_topology(comm, "a graph topology")),
    }
}

fn adjacency_of(comm: &Made) -> Result<&Adjacency> {
    match comm.topology.as_deref() {
        Some(Topology::Distributed(adjacency)) => Ok(adjacency),
        _ => Err(other_topology(comm, "a distributed graph topology")),
    }
}

/// Makes a communicator of the first processes of another. The rest get `MPI_COMM_NULL`.
fn create_first(cx: &Cx, guard: &mut Guard, parent: Comm, count: usize, topology: Topology) -> Result<Comm> {
    let found = guard.comm(parent)?;
    let group = ((found.rank as usize) < count).then(|| match &found.group {
        Ranks::All(_) => Ranks::All(count),
        all => Ranks::from_list(all.iter().take(count).collect()),
    });
    let handle = comms::create(cx, guard, parent, group)?;
    attach(guard, handle, topology)?;
    Ok(handle)
}

fn attach(guard: &mut Guard, comm: Comm, topology: Topology) -> Result<()> {
    if comm != MPI_COMM_NULL {
        guard.comm_mut(comm)?.topology = Some(Arc::new(topology));
    }
    Ok(())
}

// ---- grids ----

pub unsafe fn dims_create(cx: &Cx, nnodes: c_int, ndims: c_int, dims: *mut c_int) -> Result<()> {
    cx.process()?;
    if ndims < 0 {
        bail!(MPI_ERR_DIMS, "ndims is {ndims}, which is negative");
    }
    // SAFETY: null, or as many as the caller says.
    dims::fill(nnodes, unsafe { slice_mut(dims, ndims, "dims")? })
}

/// A grid as the arguments describe it, for a communicator that may get it.
///
/// # Safety
/// The arrays are null or as long as `ndims` says.
unsafe fn cart_for(comm: &Made, ndims: c_int, dims: *const c_int, periods: *const c_int) -> Result<Cart> {
    comms::check_intra(comm)?;
    // SAFETY: as the caller says.
    let (dims, periods) = unsafe {
        (array(dims, ndims, "dims", "ndims", MPI_ERR_DIMS)?, array(periods, ndims, "periods", "ndims", MPI_ERR_DIMS)?)
    };
    Cart::new(dims.to_vec(), periods.iter().map(|&period| period != 0).collect(), comm.size())
}

pub unsafe fn cart_create(
    cx: &Cx,
    comm_old: Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    _reorder: c_int,
    comm_cart: *mut Comm,
) -> Result<()> {
    let mut guard = cx.process()?;
    let found = guard.comm(comm_old)?;
    check_place(comm_cart, "comm_cart")?;
    // SAFETY: passed on.
    let cart = unsafe { cart_for(found, ndims, dims, periods)? };
    let handle = create_first(cx, &mut guard, comm_old, cart.size() as usize, Topology::Cart(cart))?;
    // SAFETY: checked.
    unsafe { store(comm_cart, handle, "comm_cart") }
}

pub unsafe fn cart_map(
    cx: &Cx,
    comm: Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    newrank: *mut c_int,
) -> Result<()> {
    let guard = cx.process()?;
    let found = guard.comm(comm)?;
    // SAFETY: passed on.
    let cart = unsafe { cart_for(found, ndims, dims, periods)? };
    let rank = if found.rank < cart.size() { found.rank } else { MPI_UNDEFINED };
    // SAFETY: null or may be written.
    unsafe { store(newrank, rank, "newrank") }
}

pub unsafe fn cart_sub(cx: &Cx, comm: Comm, remain_dims: *const c_int, newcomm: *mut Comm) -> Result<()> {
    let mut guard = cx.process()?;
    let found = guard.comm(comm)?;
    let cart = cart_of(found)?;
    check_place(newcomm, "newcomm")?;
    // SAFETY: as long as the grid has dimensions.
    let keep = unsafe { array(remain_dims, cart.dims().len() as c_int, "remain_dims", "ndims", MPI_ERR_DIMS)? };
    let keep: Vec<bool> = keep.iter().map(|&keep| keep != 0).collect();
    let (part, ranks) = cart.part(found.rank, &keep)?;
    let group = ranks.into_iter().map(|rank| found.group.get(rank as usize) as u32).collect();
    let handle = comms::create(cx, &mut guard, comm, Some(Ranks::from_list(group)))?;
    attach(&mut guard, handle, Topology::Cart(part))?;
    // SAFETY: checked.
    unsafe { store(newcomm, handle, "newcomm") }
}

pub unsafe fn cartdim_get(cx: &Cx, comm: Comm, ndims: *mut c_int) -> Result<()> {
    let guard = cx.process()?;
    let cart = cart_of(guard.comm(comm)?)?;
    // SAFETY: null or may be written.
    unsafe { store(ndims, cart.dims().len() as c_int, "ndims") }
}

pub unsafe fn cart_get(
    cx: &Cx,
    comm: Comm,
    maxdims: c_int,
    dims: *mut c_int,
    periods: *mut c_int,
    coords: *mut c_int,
) -> Result<()> {
    let guard = cx.process()?;
    let found = guard.comm(comm)?;
    let cart = cart_of(found)?;
    let periodic: Vec<c_int> = cart.periods().iter().map(|&period| c_int::from(period)).collect();
    // SAFETY: null, or as long as `maxdims` says.
    unsafe {
        fill(dims, maxdims, cart.dims(), "dims")?;
        fill(periods, maxdims, &periodic, "periods")?;
        fill(coords, maxdims, &cart.coords(found.rank)?, "coords")
    }
}

pub unsafe fn cart_rank(cx: &Cx, comm: Comm, coords: *const c_int, rank: *mut c_int) -> Result<()> {
    let guard = cx.process()?;
    let cart = cart_of(guard.comm(comm)?)?;
    // SAFETY: as long as the grid has dimensions.
    let coords = unsafe { array(coords, cart.dims().len() as c_int, "coords", "ndims", MPI_ERR_DIMS)? };
    // SAFETY: null or may be written.
    unsafe { store(rank, cart.rank(coords)?, "rank") }
}

pub unsafe fn cart_coords(cx: &Cx, comm: Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) -> Result<()> {
    let guard = cx.process()?;
    let found = cart_of(guard.comm(comm)?)?.coords(rank)?;
    // SAFETY: null, or as long as `maxdims` says.
    unsafe { fill(coords, maxdims, &found, "coords") }
}

pub unsafe fn cart_shift(
    cx: &Cx,
    comm: Comm,
    direction: c_int,
    disp: c_int,
    rank_source: *mut c_int,
    rank_dest: *mut c_int,
) -> Result<()> {
    let guard = cx.process()?;
    let found = guard.comm(comm)?;
    let shift = cart_of(found)?.shift(found.rank, direction, disp)?;
    // SAFETY: null or may be written.
    unsafe {
        store(rank_source, shift.source, "rank_source")?;
        store(rank_dest, shift.dest, "rank_dest")
    }
}

// ---- graphs ----

/// A graph as the arguments describe it, for a communicator that may get it.
///
/// # Safety
/// The arrays are null or as long as `nnodes` and the last index say.
unsafe fn graph_for(comm: &Made, nnodes: c_int, indx: *const c_int, edges: *const c_int) -> Result<Graph> {
    comms::check_intra(comm)?;
    if nnodes > comm.size() {
        bail!(MPI_ERR_ARG, "the graph has {nnodes} nodes, and {} only {} processes", comm.describe(), comm.size());
    }
    // SAFETY: as the caller says.
    let index = unsafe { array(indx, nnodes, "index", "nnodes", MPI_ERR_ARG)? };
    let count = graph::edge_count(index)? as c_int;
    // SAFETY: as the caller says.
    let edges = unsafe { array(edges, count, "edges", "the number of edges", MPI_ERR_ARG)? };
    Graph::new(index.to_vec(), edges.to_vec())
}

pub unsafe fn graph_create(
    cx: &Cx,
    comm_old: Comm,
    nnodes: c_int,
    indx: *const c_int,
    edges: *const c_int,
    _reorder: c_int,
    comm_graph: *mut Comm,
) -> Result<()> {
    let mut guard = cx.process()?;
    let found = guard.comm(comm_old)?;
    check_place(comm_graph, "comm_graph")?;
    // SAFETY: passed on.
    let graph = unsafe { graph_for(found, nnodes, indx, edges)? };
    let handle = create_first(cx, &mut guard, comm_old, nnodes as usize, Topology::Graph(graph))?;
    // SAFETY: checked.
    unsafe { store(comm_graph, handle, "comm_graph") }
}

pub unsafe fn graph_map(
    cx: &Cx,
    comm: Comm,
    nnodes: c_int,
    indx: *const c_int,
    edges: *const c_int,
    newrank: *mut c_int,
) -> Result<()> {
    let guard = cx.process()?;
    let found = guard.comm(comm)?;
    // SAFETY: passed on.
    unsafe { graph_for(found, nnodes, indx, edges)? };
    let rank = if found.rank < nnodes { found.rank } else { MPI_UNDEFINED };
    // SAFETY: null or may be written.
    unsafe { store(newrank, rank, "newrank") }
}

pub unsafe fn graphdims_get(cx: &Cx, comm: Comm, nnodes: *mut c_int, nedges: *mut c_int) -> Result<()> {
    let guard = cx.process()?;
    let graph = graph_of(guard.comm(comm)?)?;
    // SAFETY: null or may be written.
    unsafe {
        store(nnodes, graph.index().len() as c_int, "nnodes")?;
        store(nedges, graph.edges().len() as c_int, "nedges")
    }
}

pub unsafe fn graph_get(
    cx: &Cx,
    comm: Comm,
    maxindex: c_int,
    maxedges: c_int,
    indx: *mut c_int,
    edges: *mut c_int,
) -> Result<()> {
    let guard = cx.process()?;
    let graph = graph_of(guard.comm(comm)?)?;
    // SAFETY: null, or as long as `maxindex` and `maxedges` say.
    unsafe {
        fill(indx, maxindex, graph.index(), "index")?;
        fill(edges, maxedges, graph.edges(), "edges")
    }
}

pub unsafe fn graph_neighbors_count(cx: &Cx, comm: Comm, rank: c_int, nneighbors: *mut c_int) -> Result<()> {
    let guard = cx.process()?;
    let neighbors = graph_of(guard.comm(comm)?)?.neighbors(rank)?;
    // SAFETY: null or may be written.
    unsafe { store(nneighbors, neighbors.len() as c_int, "nneighbors") }
}

pub unsafe fn graph_neighbors(
    cx: &Cx,
    comm: Comm,
    rank: c_int,
    maxneighbors: c_int,
    neighbors: *mut c_int,
) -> Result<()> {
    let guard = cx.process()?;
    let found = graph_of(guard.comm(comm)?)?.neighbors(rank)?;
    // SAFETY: null, or as long as `maxneighbors` says.
    unsafe { fill(neighbors, maxneighbors, found, "neighbors") }
}

// ---- distributed graphs ----

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
    info: InfoHandle,
) -> Result<Described> {
    infos::get(info)?;
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
    cx: &Cx,
    comm_old: Comm,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights: *const c_int,
    info: InfoHandle,
    _reorder: c_int,
    comm_dist_graph: *mut Comm,
) -> Result<()> {
    let mut guard = cx.process()?;
    let found = guard.comm(comm_old)?;
    comms::check_intra(found)?;
    check_place(comm_dist_graph, "comm_dist_graph")?;
    // What is wrong here the others hear of: they have described edges and wait for ours.
    // SAFETY: passed on.
    let described = unsafe { described(found.size(), n, sources, degrees, destinations, weights, info) };
    let (own, group) = (comms::process_number(&guard), found.group.clone());
    let party = guard.comm_mut(comm_old)?.party(own);
    let (context, adjacency) = comms::talk(cx, &mut guard, |line| distributed::create(line, party, described))?;
    let handle = comms::add(&mut guard, comm_old, context, group, None)?;
    attach(&mut guard, handle, Topology::Distributed(adjacency))?;
    // SAFETY: checked.
    unsafe { store(comm_dist_graph, handle, "comm_dist_graph") }
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
    cx: &Cx,
    comm_old: Comm,
    indegree: c_int,
    sources: *const c_int,
    sourceweights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destweights: *const c_int,
    info: InfoHandle,
    _reorder: c_int,
    comm_dist_graph: *mut Comm,
) -> Result<()> {
    let mut guard = cx.process()?;
    let found = guard.comm(comm_old)?;
    comms::check_intra(found)?;
    check_place(comm_dist_graph, "comm_dist_graph")?;
    let size = found.size();
    let described = infos::get(info).and_then(|_| {
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
    let (own, group) = (comms::process_number(&guard), found.group.clone());
    let party = guard.comm_mut(comm_old)?.party(own);
    let (context, adjacency) =
        comms::talk(cx, &mut guard, |line| distributed::create_adjacent(line, party, described))?;
    let handle = comms::add(&mut guard, comm_old, context, group, None)?;
    attach(&mut guard, handle, Topology::Distributed(adjacency))?;
    // SAFETY: checked.
    unsafe { store(comm_dist_graph, handle, "comm_dist_graph") }
}

pub unsafe fn dist_graph_neighbors_count(
    cx: &Cx,
    comm: Comm,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> Result<()> {
    let guard = cx.process()?;
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
    cx: &Cx,
    comm: Comm,
    maxindegree: c_int,
    sources: *mut c_int,
    sourceweights: *mut c_int,
    maxoutdegree: c_int,
    destinations: *mut c_int,
    destweights: *mut c_int,
) -> Result<()> {
    let guard = cx.process()?;
    let adjacency = adjacency_of(guard.comm(comm)?)?;
    let names = [["maxindegree", "sources", "sourceweights"], ["maxoutdegree", "destinations", "destweights"]];
    // SAFETY: passed on.
    unsafe {
        first(&adjacency.incoming, maxindegree, sources, sourceweights, names[0])?;
        first(&adjacency.outgoing, maxoutdegree, destinations, destweights, names[1])
    }
}
