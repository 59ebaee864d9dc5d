//! Makes the plan of a collective operation from its checked arguments.
//!
//! Operations whose ranks know only their own counts ([`Counted`]) may begin with a question.

use super::args::Spans;
use super::neighbors::Neighbors;
use super::reductions::Vector;
use super::shape::{CollShape, Role};
use oxmpi_coll::choose::{Algorithm, Shape};
use oxmpi_coll::inter::{self, Root};
use oxmpi_coll::neighbor::{Edges, exchange};
use oxmpi_coll::nodes::{self, UnitBytes};
use oxmpi_coll::operation::{Operation, plan};
use oxmpi_coll::plan::{Blocks, Piece, Plan, Region, Step};
use oxmpi_coll::reduce_scatter::Counts;
use oxmpi_core::call::Call;
use oxmpi_core::collective::Planned;
use oxmpi_core::{check, record};
use std::sync::Arc;

/// The plan of an operation of one group. `unit`: bytes of a unit.
fn within(call: &Call, shape: &CollShape, operation: &Operation, unit: usize) -> Arc<Plan> {
    let unit = unit as u64;
    if check::records() {
        record::algorithm(call.fun, asked(shape, operation, unit).choose().take.describe());
    }
    // With OXMPI_EXPLAIN every call is explained, so no plan is kept.
    if shape.speaker.is_some() {
        return Arc::new(make(call, shape, operation, unit));
    }
    shape.plans.plan(operation, unit, || make(call, shape, operation, unit))
}

/// What the table of algorithms is asked.
fn asked(shape: &CollShape, operation: &Operation, unit: u64) -> Shape {
    match shape.nodes {
        Some(nodes) => operation.shape_over_nodes(nodes, unit),
        None => operation.shape(shape.size as u32, unit),
    }
}

fn make(call: &Call, shape: &CollShape, operation: &Operation, unit: u64) -> Plan {
    let (rank, size) = (shape.rank as u32, shape.size as u32);
    let asked = asked(shape, operation, unit);
    let rule = asked.choose();
    if let Some(speaker) = &shape.speaker {
        speaker.say(call.fun.name(), rule.why, || asked.describe(rule));
    }
    let plan = match (rule.take, shape.nodes) {
        (Algorithm::OverNodes(way), Some(map)) => nodes::plan(operation, way, rank, map, unit),
        (algorithm, _) => plan(operation, algorithm, rank, size, unit),
    };
    match plan {
        Some(plan) => plan,
        None => unreachable!("the table has only what there is"),
    }
}

/// An operation with the program's arrays of counts, of which each rank knows its own.
enum Counted {
    Gatherv {
        root: u32,
        in_place: bool,
        send: u64,
        recv: Spans,
    },
    Scatterv {
        root: u32,
        in_place: bool,
        send: Spans,
        recv: u64,
    },
    Alltoallv {
        send: Option<Spans>,
        recv: Spans,
    },
    /// The bytes of each block.
    Alltoallw {
        send: Option<Vec<u64>>,
        recv: Vec<u64>,
    },
}

impl Counted {
    fn operation(&self) -> Operation<'_> {
        match self {
            &Counted::Gatherv { root, in_place, send, ref recv } => {
                Operation::Gatherv { root, in_place, send, recv: recv.blocks() }
            }
            &Counted::Scatterv { root, in_place, ref send, recv } => {
                Operation::Scatterv { root, in_place, send: send.blocks(), recv }
            }
            Counted::Alltoallv { send, recv } => all_to_all(send.as_ref().map(Spans::blocks), recv.blocks()),
            Counted::Alltoallw { send, recv } => {
                all_to_all(send.as_deref().map(|bytes| Blocks::Each { bytes }), Blocks::Each { bytes: recv })
            }
        }
    }
}

fn all_to_all<'a>(send: Option<Blocks<'a>>, recv: Blocks<'a>) -> Operation<'a> {
    Operation::Alltoallv { in_place: send.is_none(), send: send.unwrap_or(recv), recv }
}

/// As [`within`]. `units`: the bytes of an element of each buffer.
fn counted(call: &Call, shape: &CollShape, counted: Counted, units: UnitBytes) -> Planned {
    let Some(map) = shape.nodes else {
        return within(call, shape, &counted.operation(), 1).into();
    };
    let asked = asked(shape, &counted.operation(), 1);
    let rule = asked.choose();
    if !matches!(rule.take, Algorithm::OverNodes(_)) {
        return within(call, shape, &counted.operation(), 1).into();
    }
    if check::records() {
        record::algorithm(call.fun, rule.take.describe());
    }
    if let Some(speaker) = &shape.speaker {
        speaker.say(call.fun.name(), rule.why, || asked.describe(rule));
    }
    let (rank, map) = (shape.rank as u32, Arc::clone(map));
    let Some(question) = nodes::question(&counted.operation(), units, rank, &map) else {
        unreachable!("the table has only what there is")
    };
    let answer = move |told: &[u8]| nodes::answer(&counted.operation(), units, rank, &map, told);
    Planned::Asks(question, Arc::new(answer))
}

fn across(role: Role) -> Root {
    match role {
        Role::Root => Root::Me,
        Role::Facing(root) => Root::Remote(root as u32),
        Role::Idle | Role::Among(_) => Root::Sibling,
    }
}

fn ranks(shape: &CollShape) -> (u32, u32, u32) {
    (shape.rank as u32, shape.local as u32, shape.size as u32)
}

fn block(region: Region) -> Piece {
    region.at(0, 1)
}

pub(super) fn barrier(call: &Call, shape: &CollShape) -> Arc<Plan> {
    let (rank, local, _) = ranks(shape);
    if shape.inter { Arc::new(inter::barrier(rank, local)) } else { within(call, shape, &Operation::Barrier, 0) }
}

pub(super) fn bcast(call: &Call, shape: &CollShape, role: Role, bytes: usize) -> Arc<Plan> {
    let (rank, local, _) = ranks(shape);
    match role {
        Role::Among(root) => within(call, shape, &Operation::Bcast { root: root as u32, units: bytes as u64 }, 1),
        role => Arc::new(inter::bcast(across(role), rank, local, bytes as u64, 1)),
    }
}

/// The same plan in one unit, if it never splits what it moves.
pub(super) fn in_one_piece(plan: &Plan, bytes: u64) -> Option<Arc<Plan>> {
    let one = |piece: Piece| (piece.offset == 0 && piece.count == bytes).then(|| piece.region.at(0, 1));
    let step = |step: &Step| {
        Some(match *step {
            Step::Send { to, piece } => Step::Send { to, piece: one(piece)? },
            Step::Recv { from, piece } => Step::Recv { from, piece: one(piece)? },
            Step::SendLocal { to, piece } => Step::SendLocal { to, piece: one(piece)? },
            Step::RecvLocal { from, piece } => Step::RecvLocal { from, piece: one(piece)? },
            Step::Received => Step::Received,
            Step::Fence => Step::Fence,
            Step::Copy { .. } | Step::Reduce { .. } => return None,
        })
    };
    let steps = plan.steps.iter().map(step).collect::<Option<Vec<_>>>()?;
    Some(Arc::new(Plan { steps, temp: 0 }))
}

pub(super) fn gather(call: &Call, shape: &CollShape, role: Role, in_place: bool, bytes: usize) -> Arc<Plan> {
    match role {
        Role::Among(root) => within(call, shape, &Operation::Gather { root: root as u32, in_place }, bytes),
        role => Arc::new(inter::gather(across(role), shape.size as u32, block(Region::Send), Blocks::Units)),
    }
}

pub(super) fn gatherv(
    call: &Call,
    shape: &CollShape,
    role: Role,
    in_place: bool,
    send: u64,
    recv: Spans,
    units: UnitBytes,
) -> Planned {
    match role {
        Role::Among(root) => counted(call, shape, Counted::Gatherv { root: root as u32, in_place, send, recv }, units),
        role => {
            let own = Region::Send.at(0, send);
            Planned::Whole(Arc::new(inter::gather(across(role), shape.size as u32, own, recv.blocks())))
        }
    }
}

pub(super) fn scatter(call: &Call, shape: &CollShape, role: Role, in_place: bool, bytes: usize) -> Arc<Plan> {
    match role {
        Role::Among(root) => within(call, shape, &Operation::Scatter { root: root as u32, in_place }, bytes),
        role => Arc::new(inter::scatter(across(role), shape.size as u32, Blocks::Units, block(Region::Recv))),
    }
}

pub(super) fn scatterv(
    call: &Call,
    shape: &CollShape,
    role: Role,
    in_place: bool,
    send: Spans,
    recv: u64,
    units: UnitBytes,
) -> Planned {
    match role {
        Role::Among(root) => counted(call, shape, Counted::Scatterv { root: root as u32, in_place, send, recv }, units),
        role => {
            let own = Region::Recv.at(0, recv);
            Planned::Whole(Arc::new(inter::scatter(across(role), shape.size as u32, send.blocks(), own)))
        }
    }
}

pub(super) fn allgather(call: &Call, shape: &CollShape, in_place: bool, bytes: usize) -> Arc<Plan> {
    let (rank, local, remote) = ranks(shape);
    if shape.inter {
        return Arc::new(inter::allgather(rank, local, remote, block(Region::Send), Blocks::Units));
    }
    within(call, shape, &Operation::Allgather { in_place }, bytes)
}

pub(super) fn allgatherv(
    call: &Call,
    shape: &CollShape,
    in_place: bool,
    send: u64,
    recv: &Spans,
    unit: usize,
) -> Arc<Plan> {
    let (rank, local, remote) = ranks(shape);
    let recv = recv.blocks();
    if shape.inter {
        return Arc::new(inter::allgather(rank, local, remote, Region::Send.at(0, send), recv));
    }
    within(call, shape, &Operation::Allgatherv { in_place, send, recv }, unit)
}

pub(super) fn alltoall(call: &Call, shape: &CollShape, in_place: bool, bytes: usize) -> Arc<Plan> {
    let (rank, _, remote) = ranks(shape);
    if shape.inter {
        return Arc::new(inter::alltoall(rank, remote, Blocks::Units, Blocks::Units));
    }
    within(call, shape, &Operation::Alltoall { in_place }, bytes)
}

/// Without send blocks: in place.
pub(super) fn alltoallv(call: &Call, shape: &CollShape, send: Option<Spans>, recv: Spans, units: UnitBytes) -> Planned {
    exchange_all(call, shape, Counted::Alltoallv { send, recv }, units)
}

/// As [`alltoallv`], with a type for every block.
pub(super) fn alltoallw(call: &Call, shape: &CollShape, send: Option<Vec<u64>>, recv: Vec<u64>) -> Planned {
    exchange_all(call, shape, Counted::Alltoallw { send, recv }, UnitBytes { send: 1, recv: 1 })
}

fn exchange_all(call: &Call, shape: &CollShape, exchange: Counted, units: UnitBytes) -> Planned {
    let (rank, _, remote) = ranks(shape);
    match exchange.operation() {
        Operation::Alltoallv { send, recv, .. } if shape.inter => {
            Planned::Whole(Arc::new(inter::alltoall(rank, remote, send, recv)))
        }
        _ => counted(call, shape, exchange, units),
    }
}

/// The bytes of each block.
pub(super) fn lengths(blocks: &[oxmpi_datatype::Region]) -> Vec<u64> {
    blocks.iter().map(|block| block.len() as u64).collect()
}

// ---- reductions ----

fn whole(vector: &Vector) -> inter::Vector {
    inter::Vector { units: vector.count, unit_bytes: vector.size as u64, commutes: vector.commutes }
}

pub(super) fn reduce(call: &Call, shape: &CollShape, role: Role, in_place: bool, vector: &Vector) -> Arc<Plan> {
    let (rank, local, _) = ranks(shape);
    let Vector { count: units, size, commutes } = *vector;
    match role {
        Role::Among(root) => {
            within(call, shape, &Operation::Reduce { root: root as u32, units, commutes, in_place }, size)
        }
        role => Arc::new(inter::reduce(across(role), rank, local, whole(vector))),
    }
}

pub(super) fn allreduce(call: &Call, shape: &CollShape, in_place: bool, vector: &Vector) -> Arc<Plan> {
    let (rank, local, _) = ranks(shape);
    let Vector { count: units, size, commutes } = *vector;
    if shape.inter {
        return Arc::new(inter::allreduce(rank, local, whole(vector)));
    }
    within(call, shape, &Operation::Allreduce { units, commutes, in_place }, size)
}

pub(super) fn reduce_scatter(
    call: &Call,
    shape: &CollShape,
    in_place: bool,
    counts: Counts,
    vector: &Vector,
) -> Arc<Plan> {
    let (rank, local, _) = ranks(shape);
    if shape.inter {
        return Arc::new(inter::reduce_scatter(rank, local, counts, whole(vector)));
    }
    within(call, shape, &Operation::ReduceScatter { counts, commutes: vector.commutes, in_place }, vector.size)
}

pub(super) fn scan(call: &Call, shape: &CollShape, in_place: bool, inclusive: bool, vector: &Vector) -> Arc<Plan> {
    let units = vector.count;
    let operation = if inclusive { Operation::Scan { units, in_place } } else { Operation::Exscan { units, in_place } };
    within(call, shape, &operation, vector.size)
}

// ---- neighbours ----

pub(super) fn neighbors(neighbors: &Neighbors, send: Blocks, recv: Blocks) -> Arc<Plan> {
    let edges = if neighbors.grid { Edges::Opposite } else { Edges::Listed };
    Arc::new(exchange(&neighbors.incoming, &neighbors.outgoing, edges, send, recv))
}

pub(super) fn neighbors_each(neighbors_: &Neighbors, send: &[u64], recv: &[u64]) -> Arc<Plan> {
    neighbors(neighbors_, Blocks::Each { bytes: send }, Blocks::Each { bytes: recv })
}
