//! Between the two groups of an intercommunicator. Plain sends and receives go to the other group;
//! within one group the planners for one group are used, made local, as the table chooses them.
//! `unit_bytes` is the size of a unit, equal on all ranks.

use crate::operation::{Operation, plan};
use crate::plan::{Blocks, Piece, Plan, Region};
use crate::reduce_scatter::Counts;
use crate::tree::{after, before, children, parent, subtree};

/// What a rank passed as the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// It is the root itself (`MPI_ROOT`).
    Me,
    /// Another rank of its own group is the root (`MPI_PROC_NULL`): it has nothing to do.
    Sibling,
    /// This rank of the other group.
    Remote(u32),
}

/// Each group reports to its rank 0; the two signal each other and then their groups.
pub fn barrier(rank: u32, local: u32) -> Plan {
    let mut up = Plan::default();
    for child in children(rank, local) {
        up.await_signal(child);
    }
    up.received();
    let mut down = Plan::default();
    if rank > 0 {
        up.signal(parent(rank));
        down.await_signal(parent(rank));
        down.received();
    }
    for child in children(rank, local).rev() {
        down.signal(child);
    }
    let mut across = Plan::default();
    if rank == 0 {
        across.signal(0);
        across.await_signal(0);
    }
    up.local().then(across).then(down.local())
}

/// To rank 0 of the other group, and broadcast there.
pub fn bcast(root: Root, rank: u32, local: u32, units: u64, unit_bytes: u64) -> Plan {
    let mut plan = Plan::default();
    match root {
        Root::Me => plan.send(0, Region::Send.at(0, units)),
        Root::Sibling => {}
        Root::Remote(from) => {
            if rank == 0 {
                plan.recv(from, Region::Recv.at(0, units));
            }
            plan = plan.then(spread(rank, local, units, unit_bytes));
        }
    }
    plan
}

/// Each rank of the other group to the root. `send` is used there, `recv` at the root.
pub fn gather(root: Root, remote: u32, send: Piece, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    match root {
        Root::Me => (0..remote).for_each(|from| plan.recv(from, recv.at(Region::Recv, from))),
        Root::Sibling => {}
        Root::Remote(to) => plan.send(to, send),
    }
    plan
}

/// From the root to each rank of the other group. `send` is used at the root, `recv` there.
pub fn scatter(root: Root, remote: u32, send: Blocks, recv: Piece) -> Plan {
    let mut plan = Plan::default();
    match root {
        Root::Me => (0..remote).for_each(|to| plan.send(to, send.at(Region::Send, to))),
        Root::Sibling => {}
        Root::Remote(from) => plan.recv(from, recv),
    }
    plan
}

/// Each block goes to one rank of the other group, and from there around a ring of that group: a
/// rank sends its own block once, and each block of the other group at most once.
pub fn allgather(rank: u32, local: u32, remote: u32, send: Piece, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    // The first of the other group's blocks that comes to a rank of this one, so that each gets
    // nearly as many.
    let first = |host: u32| (u64::from(host) * u64::from(remote)).div_ceil(u64::from(local)) as u32;
    plan.send((u64::from(rank) * u64::from(remote) / u64::from(local)) as u32, send);
    let hosted = |by: u32| first(by)..first(by + 1);
    for from in hosted(rank) {
        plan.recv(from, recv.at(Region::Recv, from));
    }
    let mut around = Plan::default();
    // Blocks that are units are contiguous and travel together. Others may have different positions
    // on each rank.
    let pieces = |by: u32| -> Vec<Piece> {
        let blocks = hosted(by);
        match recv {
            Blocks::Units => vec![Region::Recv.at(u64::from(blocks.start), u64::from(blocks.end - blocks.start))],
            _ => blocks.map(|i| recv.at(Region::Recv, i)).collect(),
        }
    };
    for step in 0..local - 1 {
        pieces(before(rank, step, local)).iter().for_each(|piece| around.send(after(rank, 1, local), *piece));
        pieces(before(rank, step + 1, local)).iter().for_each(|piece| around.recv(before(rank, 1, local), *piece));
        around.received();
    }
    plan.then(around.local())
}

/// Each rank to each of the other group, all at once.
pub fn alltoall(rank: u32, remote: u32, send: Blocks, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    let partners = || (0..remote).map(|step| after(rank % remote, step, remote));
    partners().for_each(|from| plan.recv(from, recv.at(Region::Recv, from)));
    partners().for_each(|to| plan.send(to, send.at(Region::Send, to)));
    plan
}

/// The operands of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vector {
    pub units: u64,
    pub unit_bytes: u64,
    pub commutes: bool,
}

/// The other group combines its operands at its rank 0, which sends the result to the root.
pub fn reduce(root: Root, rank: u32, local: u32, vector: Vector) -> Plan {
    match root {
        Root::Sibling => Plan::default(),
        Root::Me => {
            let mut plan = Plan::default();
            plan.recv(0, Region::Recv.at(0, vector.units));
            plan
        }
        Root::Remote(to) => {
            let (plan, result) = combined(rank, local, vector);
            let mut across = Plan::default();
            if rank == 0 {
                across.send(to, result);
            }
            plan.then(across)
        }
    }
}

/// Each group combines its operands at its rank 0; the two swap, and give what they got to their
/// groups.
pub fn allreduce(rank: u32, local: u32, vector: Vector) -> Plan {
    let (plan, result) = combined(rank, local, vector);
    let mut across = Plan::default();
    if rank == 0 {
        across.send(0, result);
        across.recv(0, Region::Recv.at(0, vector.units));
    }
    plan.then(across).then(spread(rank, local, vector.units, vector.unit_bytes))
}

/// As [`allreduce`], but the data from the other group is scattered down a binomial tree.
pub fn reduce_scatter(rank: u32, local: u32, counts: Counts, vector: Vector) -> Plan {
    let starts = counts.starts(local);
    let (plan, result) = combined(rank, local, vector);
    let mut across = Plan::default();
    if rank == 0 {
        across.send(0, result);
        across.recv(0, Region::Temp.at(0, vector.units));
    }
    let mut down = Plan::default();
    // The blocks of some ranks of this rank's subtree, which begin in `Temp`.
    let hold = |first: u32, ranks: u32| {
        let start = starts[first as usize];
        Region::Temp.at(start - starts[rank as usize], starts[(first + ranks) as usize] - start)
    };
    let own = Region::Recv.at(0, counts.of(rank));
    if rank > 0 && subtree(rank, local) == 1 {
        down.recv(parent(rank), own);
    } else {
        if rank > 0 {
            down.recv(parent(rank), hold(rank, subtree(rank, local)));
            down.received();
        }
        for child in children(rank, local).rev() {
            down.send(child, hold(child, subtree(child, local)));
        }
        down.copy(hold(rank, 1), own);
    }
    plan.then(across).then(down.local())
}

/// The operands of this group, combined at its rank 0, and their position there: after the first
/// `units` of `Temp`.
fn combined(rank: u32, local: u32, vector: Vector) -> (Plan, Piece) {
    let Vector { units, unit_bytes, commutes } = vector;
    if local == 1 {
        return (Plan::default(), Region::Send.at(0, units));
    }
    let plan = within(&Operation::Reduce { root: 0, units, commutes, in_place: false }, rank, local, unit_bytes);
    // At rank 0 the planner's own scratch stays where it is.
    let result = Region::Temp.at(plan.temp.max(units), units);
    (if rank == 0 { plan.moved(Region::Recv, result) } else { plan }, result)
}

/// From `Recv` of rank 0 to `Recv` of all of this group.
fn spread(rank: u32, local: u32, units: u64, unit_bytes: u64) -> Plan {
    within(&Operation::Bcast { root: 0, units }, rank, local, unit_bytes).moved(Region::Send, Region::Recv.at(0, 0))
}

fn within(operation: &Operation, rank: u32, local: u32, unit_bytes: u64) -> Plan {
    let algorithm = operation.shape(local, unit_bytes).choose().take;
    match plan(operation, algorithm, rank, local, unit_bytes) {
        Some(plan) => plan.local(),
        None => unreachable!("the table has only what there is"),
    }
}
