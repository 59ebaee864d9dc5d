//! Virtual topologies: communicators with neighbourhoods.
//!
//! Where ranks may be reordered, and `mpirun` has bound them to CPUs, neighbours come to share caches and memory as far as
//! possible; where that gains nothing, the order stays. Every process computes the order by itself, so `MPI_Cart_map` and
//! `MPI_Graph_map` answer without asking anybody, and with the ranks that the communicators have.

use crate::args::{Array, Open, OutArray};
use crate::call::{Call, Guard};
use oxmpi::{comm, hardware};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Comm;
use oxmpi_abi::{Result, bail};
use oxmpi_base::ids::Rank;
use oxmpi_core::check::{self, calls::Data};
use oxmpi_core::topology::cart::Cart;
use oxmpi_core::topology::graph::{self, Graph};
use oxmpi_core::topology::order::{self, Position, new_rank};
use oxmpi_core::topology::{Topology, dims};
use oxmpi_core::{comm::Comm as Made, ranks::Ranks};
use std::ffi::c_int;
use std::sync::Arc;

pub fn topo_test(cx: &Call, comm: Comm) -> Result<c_int> {
    let guard = cx.enter()?;
    let kind = match guard.comm(comm)?.topology.as_deref() {
        None => MPI_UNDEFINED,
        Some(Topology::Cart(_)) => MPI_CART,
        Some(Topology::Graph(_)) => MPI_GRAPH,
        Some(Topology::Distributed(_)) => MPI_DIST_GRAPH,
    };
    Ok(kind)
}

// ---- common parts ----

/// Where the processes of a communicator run; empty to keep the order, or if not all are bound.
pub(super) fn positions(guard: &Guard, comm: Comm, reorder: c_int) -> Result<Vec<Position>> {
    let found = guard.comm(comm)?;
    Ok(if reorder == 0 { Vec::new() } else { hardware::positions(guard.engine.node(), &found.group) })
}

/// Makes a communicator of the first processes of another. The rest get `MPI_COMM_NULL`.
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

pub fn dims_create(cx: &Call, nnodes: c_int, dims: OutArray<c_int>) -> Result<()> {
    cx.enter()?;
    if dims.room() < 0 {
        bail!(MPI_ERR_DIMS, "ndims is {}, which is negative", dims.room());
    }
    dims.change("dims", |dims| dims::fill(nnodes, dims))
}

/// The grid of the arguments, for a communicator.
fn cart_for(comm: &Made, dims: Array<c_int>, periods: Array<c_int>) -> Result<Cart> {
    comm::check_intra(comm)?;
    let dims = dims.elements("dims", "ndims", MPI_ERR_DIMS)?;
    let periods = periods.elements("periods", "ndims", MPI_ERR_DIMS)?;
    Cart::new(dims.to_vec(), periods.iter().map(|&period| period != 0).collect(), comm.size())
}

pub fn cart_create(
    cx: &Call,
    comm_old: Comm,
    dims: Array<c_int>,
    periods: Array<c_int>,
    reorder: c_int,
) -> Result<Comm> {
    cx.note_grid(comm_old, dims, periods);
    let mut guard = cx.enter()?;
    let found = guard.comm(comm_old)?;
    let cart = cart_for(found, dims, periods)?;
    let order = order::for_grid(&cart, &positions(&guard, comm_old, reorder)?);
    let count = cart.size() as usize;
    create_first(cx, &mut guard, comm_old, count, order.as_deref(), Topology::Cart(cart))
}

pub fn cart_map(cx: &Call, comm: Comm, dims: Array<c_int>, periods: Array<c_int>) -> Result<c_int> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let cart = cart_for(found, dims, periods)?;
    let order = order::for_grid(&cart, &positions(&guard, comm, 1)?);
    Ok(new_rank(found.rank, cart.size(), order.as_deref()))
}

pub fn cart_sub(cx: &Call, comm: Comm, remain_dims: Open<c_int>) -> Result<Comm> {
    cx.note(comm);
    let mut guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let cart = found.cart()?;
    // SAFETY: `remain_dims` has an element for each dimension of the grid.
    let keep = unsafe { remain_dims.of(cart.dims().len() as i64) };
    let keep = keep.elements("remain_dims", "ndims", MPI_ERR_DIMS)?;
    let keep: Vec<bool> = keep.iter().map(|&keep| keep != 0).collect();
    let (part, ranks) = cart.part(found.rank, &keep)?;
    let group = ranks.into_iter().map(|rank| found.group.peer(Rank::new(rank as usize))).collect();
    let handle = comm::create(cx, &mut guard, comm, Some(Ranks::from_list(group)))?;
    attach(&mut guard, handle, Topology::Cart(part))?;
    Ok(handle)
}

pub fn cartdim_get(cx: &Call, comm: Comm) -> Result<c_int> {
    let guard = cx.enter()?;
    let cart = guard.comm(comm)?.cart()?;
    Ok(cart.dims().len() as c_int)
}

pub fn cart_get(
    cx: &Call,
    comm: Comm,
    dims: OutArray<c_int>,
    periods: OutArray<c_int>,
    coords: OutArray<c_int>,
) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let cart = found.cart()?;
    let periodic: Vec<c_int> = cart.periods().iter().map(|&period| c_int::from(period)).collect();
    dims.fill(cart.dims(), "dims")?;
    periods.fill(&periodic, "periods")?;
    coords.fill(&cart.coords(found.rank)?, "coords")
}

pub fn cart_rank(cx: &Call, comm: Comm, coords: Open<c_int>) -> Result<c_int> {
    let guard = cx.enter()?;
    let cart = guard.comm(comm)?.cart()?;
    // SAFETY: `coords` has an element for each dimension of the grid.
    let coords = unsafe { coords.of(cart.dims().len() as i64) };
    cart.rank(coords.elements("coords", "ndims", MPI_ERR_DIMS)?)
}

pub fn cart_coords(cx: &Call, comm: Comm, rank: c_int, coords: OutArray<c_int>) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?.cart()?.coords(rank)?;
    coords.fill(&found, "coords")
}

pub fn cart_shift(cx: &Call, comm: Comm, direction: c_int, disp: c_int) -> Result<(c_int, c_int)> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let shift = found.cart()?.shift(found.rank, direction, disp)?;
    Ok((shift.source, shift.dest))
}

// ---- graphs ----

/// The graph of the arguments, for a communicator.
fn graph_for(comm: &Made, indx: Array<c_int>, edges: Open<c_int>) -> Result<Graph> {
    comm::check_intra(comm)?;
    let nnodes = indx.count();
    if nnodes > comm.size().into() {
        bail!(MPI_ERR_ARG, "the graph has {nnodes} nodes, and {} only {} processes", comm.describe(), comm.size());
    }
    let index = indx.elements("index", "nnodes", MPI_ERR_ARG)?;
    // SAFETY: `edges` has as many elements as the last index says.
    let edges = unsafe { edges.of(graph::edge_count(index)? as i64) };
    Graph::new(index.to_vec(), edges.elements("edges", "the number of edges", MPI_ERR_ARG)?.to_vec())
}

pub fn graph_create(
    cx: &Call,
    comm_old: Comm,
    nnodes: c_int,
    indx: Array<c_int>,
    edges: Open<c_int>,
    reorder: c_int,
) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm_old)?;
    let graph = graph_for(found, indx, edges)?;
    if check::is_on() {
        let numbers = graph.index().iter().chain(graph.edges()).map(|&number| i64::from(number));
        cx.note_in(&mut guard, comm_old, Data::arguments(&numbers.collect::<Vec<i64>>()));
    }
    let order = order::for_graph(nnodes as usize, &graph.links(), &positions(&guard, comm_old, reorder)?);
    create_first(cx, &mut guard, comm_old, nnodes as usize, order.as_deref(), Topology::Graph(graph))
}

pub fn graph_map(cx: &Call, comm: Comm, nnodes: c_int, indx: Array<c_int>, edges: Open<c_int>) -> Result<c_int> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let graph = graph_for(found, indx, edges)?;
    let order = order::for_graph(nnodes as usize, &graph.links(), &positions(&guard, comm, 1)?);
    Ok(new_rank(found.rank, nnodes, order.as_deref()))
}

pub fn graphdims_get(cx: &Call, comm: Comm) -> Result<(c_int, c_int)> {
    let guard = cx.enter()?;
    let graph = guard.comm(comm)?.graph()?;
    Ok((graph.index().len() as c_int, graph.edges().len() as c_int))
}

pub fn graph_get(cx: &Call, comm: Comm, indx: OutArray<c_int>, edges: OutArray<c_int>) -> Result<()> {
    let guard = cx.enter()?;
    let graph = guard.comm(comm)?.graph()?;
    indx.fill(graph.index(), "index")?;
    edges.fill(graph.edges(), "edges")
}

pub fn graph_neighbors_count(cx: &Call, comm: Comm, rank: c_int) -> Result<c_int> {
    let guard = cx.enter()?;
    let neighbors = guard.comm(comm)?.graph()?.neighbors(rank)?;
    Ok(neighbors.len() as c_int)
}

pub fn graph_neighbors(cx: &Call, comm: Comm, rank: c_int, neighbors: OutArray<c_int>) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?.graph()?.neighbors(rank)?;
    neighbors.fill(found, "neighbors")
}
