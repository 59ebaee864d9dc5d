//! Virtual topologies: communicators that know who is whose neighbour. What goes along the edges is elsewhere.
//!
//! Where ranks may be reordered, and `mpirun` has bound them to CPUs, neighbours come to share caches and memory as far as
//! possible; where that gains nothing, the order stays. Every process computes the order by itself, so `MPI_Cart_map` and
//! `MPI_Graph_map` answer without asking anybody, and with the ranks that the communicators have.

use super::{check_place, null_pointer, slice_mut, store};
use crate::call::Call;
use oxmpi::{comm, hardware};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Comm;
use oxmpi_abi::{Result, bail};
use oxmpi_base::ids::Rank;
use oxmpi_core::comm::{Comm as Made, Ranks};
use oxmpi_core::guard::Guard;
use oxmpi_core::topology::cart::Cart;
use oxmpi_core::topology::graph::{self, Graph};
use oxmpi_core::topology::order::{self, Place, new_rank};
use oxmpi_core::topology::{Topology, dims};
use std::ffi::c_int;
use std::sync::Arc;

pub unsafe fn topo_test(cx: &Call, comm: Comm, status: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
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
pub(super) unsafe fn array<'a>(
    array: *const c_int,
    count: c_int,
    name: &str,
    length: &str,
    class: i32,
) -> Result<&'a [c_int]> {
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
pub(super) unsafe fn fill(to: *mut c_int, room: c_int, values: &[c_int], name: &str) -> Result<()> {
    if room < 0 || (room as usize) < values.len() {
        bail!(MPI_ERR_ARG, "the array {name} has room for {room} integers; {} are to be stored", values.len());
    }
    // SAFETY: as the caller says.
    unsafe { slice_mut(to, values.len() as c_int, name)? }.copy_from_slice(values);
    Ok(())
}

/// Where the processes of a communicator run; nothing when the order is to be kept, or when not all are bound.
pub(super) fn places(guard: &Guard, comm: Comm, reorder: c_int) -> Result<Vec<Place>> {
    let found = guard.comm(comm)?;
    Ok(if reorder == 0 { Vec::new() } else { hardware::places(guard.engine.node(), &found.group) })
}

/// Makes a communicator of the first processes of another, in an order or in their own. The rest get `MPI_COMM_NULL`.
fn create_first(
    cx: &Call,
    guard: &mut Guard,
    parent: Comm,
    count: usize,
    order: Option<&[u32]>,
    topology: Topology,
) -> Result<Comm> {
    let found = guard.comm(parent)?;
    let group = ((found.rank as usize) < count).then(|| match (&found.group, order) {
        (all, Some(_)) => all.ordered(order),
        (Ranks::OneNode { .. }, None) => Ranks::one_node(count),
        (all, None) => Ranks::from_list(all.iter().take(count).collect()),
    });
    let handle = comm::create(cx, guard, parent, group)?;
    attach(guard, handle, topology)?;
    Ok(handle)
}

pub(super) fn attach(guard: &mut Guard, comm: Comm, topology: Topology) -> Result<()> {
    if comm != MPI_COMM_NULL {
        guard.comm_mut(comm)?.topology = Some(Arc::new(topology));
    }
    Ok(())
}

// ---- grids ----

pub unsafe fn dims_create(cx: &Call, nnodes: c_int, ndims: c_int, dims: *mut c_int) -> Result<()> {
    cx.enter()?;
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
    comm::check_intra(comm)?;
    // SAFETY: as the caller says.
    let (dims, periods) = unsafe {
        (array(dims, ndims, "dims", "ndims", MPI_ERR_DIMS)?, array(periods, ndims, "periods", "ndims", MPI_ERR_DIMS)?)
    };
    Cart::new(dims.to_vec(), periods.iter().map(|&period| period != 0).collect(), comm.size())
}

pub unsafe fn cart_create(
    cx: &Call,
    comm_old: Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    reorder: c_int,
    comm_cart: *mut Comm,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm_old)?;
    check_place(comm_cart, "comm_cart")?;
    // SAFETY: passed on.
    let cart = unsafe { cart_for(found, ndims, dims, periods)? };
    let order = order::for_grid(&cart, &places(&guard, comm_old, reorder)?);
    let count = cart.size() as usize;
    let handle = create_first(cx, &mut guard, comm_old, count, order.as_deref(), Topology::Cart(cart))?;
    // SAFETY: checked.
    unsafe { store(comm_cart, handle, "comm_cart") }
}

pub unsafe fn cart_map(
    cx: &Call,
    comm: Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    newrank: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    // SAFETY: passed on.
    let cart = unsafe { cart_for(found, ndims, dims, periods)? };
    let order = order::for_grid(&cart, &places(&guard, comm, 1)?);
    let rank = new_rank(found.rank, cart.size(), order.as_deref());
    // SAFETY: null or may be written.
    unsafe { store(newrank, rank, "newrank") }
}

pub unsafe fn cart_sub(cx: &Call, comm: Comm, remain_dims: *const c_int, newcomm: *mut Comm) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let cart = found.cart()?;
    check_place(newcomm, "newcomm")?;
    // SAFETY: as long as the grid has dimensions.
    let keep = unsafe { array(remain_dims, cart.dims().len() as c_int, "remain_dims", "ndims", MPI_ERR_DIMS)? };
    let keep: Vec<bool> = keep.iter().map(|&keep| keep != 0).collect();
    let (part, ranks) = cart.part(found.rank, &keep)?;
    let group = ranks.into_iter().map(|rank| found.group.peer(Rank::new(rank as usize))).collect();
    let handle = comm::create(cx, &mut guard, comm, Some(Ranks::from_list(group)))?;
    attach(&mut guard, handle, Topology::Cart(part))?;
    // SAFETY: checked.
    unsafe { store(newcomm, handle, "newcomm") }
}

pub unsafe fn cartdim_get(cx: &Call, comm: Comm, ndims: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let cart = guard.comm(comm)?.cart()?;
    // SAFETY: null or may be written.
    unsafe { store(ndims, cart.dims().len() as c_int, "ndims") }
}

pub unsafe fn cart_get(
    cx: &Call,
    comm: Comm,
    maxdims: c_int,
    dims: *mut c_int,
    periods: *mut c_int,
    coords: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let cart = found.cart()?;
    let periodic: Vec<c_int> = cart.periods().iter().map(|&period| c_int::from(period)).collect();
    // SAFETY: null, or as long as `maxdims` says.
    unsafe {
        fill(dims, maxdims, cart.dims(), "dims")?;
        fill(periods, maxdims, &periodic, "periods")?;
        fill(coords, maxdims, &cart.coords(found.rank)?, "coords")
    }
}

pub unsafe fn cart_rank(cx: &Call, comm: Comm, coords: *const c_int, rank: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let cart = guard.comm(comm)?.cart()?;
    // SAFETY: as long as the grid has dimensions.
    let coords = unsafe { array(coords, cart.dims().len() as c_int, "coords", "ndims", MPI_ERR_DIMS)? };
    // SAFETY: null or may be written.
    unsafe { store(rank, cart.rank(coords)?, "rank") }
}

pub unsafe fn cart_coords(cx: &Call, comm: Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?.cart()?.coords(rank)?;
    // SAFETY: null, or as long as `maxdims` says.
    unsafe { fill(coords, maxdims, &found, "coords") }
}

pub unsafe fn cart_shift(
    cx: &Call,
    comm: Comm,
    direction: c_int,
    disp: c_int,
    rank_source: *mut c_int,
    rank_dest: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let shift = found.cart()?.shift(found.rank, direction, disp)?;
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
    comm::check_intra(comm)?;
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
    cx: &Call,
    comm_old: Comm,
    nnodes: c_int,
    indx: *const c_int,
    edges: *const c_int,
    reorder: c_int,
    comm_graph: *mut Comm,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm_old)?;
    check_place(comm_graph, "comm_graph")?;
    // SAFETY: passed on.
    let graph = unsafe { graph_for(found, nnodes, indx, edges)? };
    let order = order::for_graph(nnodes as usize, &graph.links(), &places(&guard, comm_old, reorder)?);
    let handle = create_first(cx, &mut guard, comm_old, nnodes as usize, order.as_deref(), Topology::Graph(graph))?;
    // SAFETY: checked.
    unsafe { store(comm_graph, handle, "comm_graph") }
}

pub unsafe fn graph_map(
    cx: &Call,
    comm: Comm,
    nnodes: c_int,
    indx: *const c_int,
    edges: *const c_int,
    newrank: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    // SAFETY: passed on.
    let graph = unsafe { graph_for(found, nnodes, indx, edges)? };
    let order = order::for_graph(nnodes as usize, &graph.links(), &places(&guard, comm, 1)?);
    let rank = new_rank(found.rank, nnodes, order.as_deref());
    // SAFETY: null or may be written.
    unsafe { store(newrank, rank, "newrank") }
}

pub unsafe fn graphdims_get(cx: &Call, comm: Comm, nnodes: *mut c_int, nedges: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let graph = guard.comm(comm)?.graph()?;
    // SAFETY: null or may be written.
    unsafe {
        store(nnodes, graph.index().len() as c_int, "nnodes")?;
        store(nedges, graph.edges().len() as c_int, "nedges")
    }
}

pub unsafe fn graph_get(
    cx: &Call,
    comm: Comm,
    maxindex: c_int,
    maxedges: c_int,
    indx: *mut c_int,
    edges: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let graph = guard.comm(comm)?.graph()?;
    // SAFETY: null, or as long as `maxindex` and `maxedges` say.
    unsafe {
        fill(indx, maxindex, graph.index(), "index")?;
        fill(edges, maxedges, graph.edges(), "edges")
    }
}

pub unsafe fn graph_neighbors_count(cx: &Call, comm: Comm, rank: c_int, nneighbors: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let neighbors = guard.comm(comm)?.graph()?.neighbors(rank)?;
    // SAFETY: null or may be written.
    unsafe { store(nneighbors, neighbors.len() as c_int, "nneighbors") }
}

pub unsafe fn graph_neighbors(
    cx: &Call,
    comm: Comm,
    rank: c_int,
    maxneighbors: c_int,
    neighbors: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?.graph()?.neighbors(rank)?;
    // SAFETY: null, or as long as `maxneighbors` says.
    unsafe { fill(neighbors, maxneighbors, found, "neighbors") }
}
