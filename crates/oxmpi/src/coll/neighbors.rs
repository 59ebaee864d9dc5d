//! Collective operations among neighbours in a topology.

use super::args::{Block, Blocks, Mixed, sources, targets};
use super::mode::Mode;
use super::plans;
use super::shape::{refuse_in_place, stage};
use crate::comm::check_intra;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Request};
use oxmpi_abi::{Result, bail};
use oxmpi_coll::plan::Blocks as Lie;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::collective::BoundPlan;
use oxmpi_core::topology::Topology;
use smallvec::SmallVec;

type List = SmallVec<[Option<u32>; 6]>;

/// Whom this process receives from and sends to, in the standard's order; `None` stands for `MPI_PROC_NULL`.
pub(super) struct Neighbors {
    pub incoming: List,
    pub outgoing: List,
    /// In a grid a message that leaves in one direction arrives from the other, also where both neighbours of a
    /// dimension are one process.
    pub grid: bool,
}

impl Neighbors {
    pub fn new(guard: &Guard, comm: Comm) -> Result<Neighbors> {
        let comm = guard.comm(comm)?;
        check_intra(comm)?;
        let rank = comm.rank;
        let list = |ranks: &[i32]| ranks.iter().map(|&rank| u32::try_from(rank).ok()).collect::<List>();
        match comm.topology.as_deref() {
            None => bail!(MPI_ERR_TOPOLOGY, "{} has no topology; neighbours are those of a topology", comm.describe()),
            Some(Topology::Cart(cart)) => {
                let mut all: SmallVec<[i32; 6]> = SmallVec::new();
                for dimension in 0..cart.dims().len() {
                    let shift = cart.shift(rank, dimension as i32, 1)?;
                    all.extend([shift.source, shift.dest]);
                }
                Ok(Neighbors { incoming: list(&all), outgoing: list(&all), grid: true })
            }
            Some(Topology::Graph(graph)) => {
                // Those beyond the graph have no neighbours.
                let all = list(graph.neighbors(rank).unwrap_or(&[]));
                Ok(Neighbors { incoming: all.clone(), outgoing: all, grid: false })
            }
            Some(Topology::Distributed(edges)) => Ok(Neighbors {
                incoming: list(&edges.incoming.peers),
                outgoing: list(&edges.outgoing.peers),
                grid: false,
            }),
        }
    }
}

fn refuse_both(send: *const std::ffi::c_void, recv: *const std::ffi::c_void) -> Result<()> {
    refuse_in_place(send, "the send buffer of a neighbourhood operation")?;
    refuse_in_place(recv, "the receive buffer of a neighbourhood operation")
}

pub(super) unsafe fn neighbor_allgather(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let neighbors = Neighbors::new(&guard, comm)?;
    refuse_both(send.address, recv.address)?;
    let from = send.source(&guard, 1)?;
    let to = recv.target(&guard, neighbors.incoming.len())?;
    let plan = plans::neighbors(&neighbors, Lie::Whole(1), Lie::Units);
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, None);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn neighbor_allgatherv(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Blocks,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let neighbors = Neighbors::new(&guard, comm)?;
    refuse_both(send.address, recv.address)?;
    let (from, count) = send.elements(&guard, false)?;
    // SAFETY: the arrays have an entry for every neighbour.
    let spans = unsafe { recv.spans(&guard, neighbors.incoming.len(), true)? };
    let plan = plans::neighbors(&neighbors, Lie::Whole(count), spans.blocks());
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, recv.place(&guard)?, None);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn neighbor_alltoall(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let neighbors = Neighbors::new(&guard, comm)?;
    refuse_both(send.address, recv.address)?;
    let from = send.source(&guard, neighbors.outgoing.len())?;
    let to = recv.target(&guard, neighbors.incoming.len())?;
    let plan = plans::neighbors(&neighbors, Lie::Units, Lie::Units);
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, None);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn neighbor_alltoallv(
    call: &Call,
    mode: Mode,
    send: Blocks,
    recv: Blocks,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let neighbors = Neighbors::new(&guard, comm)?;
    refuse_both(send.address, recv.address)?;
    // SAFETY: the arrays have an entry for every neighbour.
    let (from, to) = unsafe {
        let from = send.spans(&guard, neighbors.outgoing.len(), false)?;
        (from, recv.spans(&guard, neighbors.incoming.len(), true)?)
    };
    let plan = plans::neighbors(&neighbors, from.blocks(), to.blocks());
    let (from, to) = (send.place(&guard)?, recv.place(&guard)?);
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, None);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn neighbor_alltoallw(
    call: &Call,
    mode: Mode,
    send: Mixed,
    recv: Mixed,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let neighbors = Neighbors::new(&guard, comm)?;
    refuse_both(send.address, recv.address)?;
    // SAFETY: the arrays have an entry for every neighbour.
    let (from, to) = unsafe {
        let from = send.blocks(&guard, neighbors.outgoing.len(), false)?;
        (from, recv.blocks(&guard, neighbors.incoming.len(), true)?)
    };
    let plan = plans::neighbors_each(&neighbors, &plans::lengths(&from), &plans::lengths(&to));
    // SAFETY: the program keeps all blocks until the operation is complete.
    let (from, to) = unsafe { (sources(from), targets(to)) };
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, None);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}
