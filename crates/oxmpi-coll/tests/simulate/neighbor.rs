//! Neighbourhoods: grids of small dimensions, graphs with edges that are there several times.

use crate::check;
use crate::machine::{NOTHING, Process, Store, Units, Value};
use oxmpi_coll::neighbor::{Edges, exchange};
use oxmpi_coll::plan::{Blocks, Plan};

/// The neighbours of a rank of a grid: for each dimension the one below and the one above.
fn neighbours(rank: u32, dims: &[u32], periodic: &[bool]) -> Vec<Option<u32>> {
    let mut list = Vec::new();
    for (d, dim) in dims.iter().enumerate() {
        let stride: u32 = dims[d + 1..].iter().product();
        let at = rank / stride % dim;
        let to = |coordinate: u32| rank - at * stride + coordinate * stride;
        let below = if at > 0 { Some(at - 1) } else { periodic[d].then_some(dim - 1) };
        let above = if at + 1 < *dim { Some(at + 1) } else { periodic[d].then_some(0) };
        list.extend([below.map(to), above.map(to)]);
    }
    list
}

fn process(plan: Plan, send: Vec<Value>, recv: usize) -> Process {
    Process { plan, send: Store::new(1, send), recv: Store::empty(1, recv as u64), temp: Units::Even(1) }
}

#[test]
fn grids() {
    let shapes: &[(&[u32], &[bool])] = &[
        (&[1], &[true]),
        (&[1], &[false]),
        (&[2], &[true]),
        (&[2], &[false]),
        (&[3], &[true]),
        (&[7], &[false]),
        (&[1, 1], &[true, true]),
        (&[2, 2], &[true, true]),
        (&[2, 3], &[true, false]),
        (&[3, 1, 2], &[true, true, true]),
        (&[4, 4, 4], &[true, false, true]),
    ];
    for (dims, periodic) in shapes {
        let size: u32 = dims.iter().product();
        let of = |rank: u32| neighbours(rank, dims, periodic);
        let case = format!("neighbours of {dims:?}, periodic: {periodic:?}");
        let edges = 2 * dims.len();
        let give = |rank: u32| (0..edges as u64).map(|i| Value::data(rank, i)).collect::<Vec<_>>();
        // What is sent downwards arrives at the one below as from above: block 2d of a rank becomes
        // block 2d + 1 there.
        let alltoall = |rank: u32| {
            let plan = exchange(&of(rank), &of(rank), Edges::Opposite, Blocks::Units, Blocks::Units);
            process(plan, give(rank), edges)
        };
        let expected = |rank: u32, i: usize| of(rank)[i].map_or(NOTHING, |from| Value::data(from, i as u64 ^ 1));
        check(&case, size, size, alltoall, expected);
        let allgather = |rank: u32| {
            let plan = exchange(&of(rank), &of(rank), Edges::Opposite, Blocks::Whole(1), Blocks::Units);
            process(plan, vec![Value::data(rank, 0)], edges)
        };
        check(&case, size, size, allgather, |rank, i| of(rank)[i].map_or(NOTHING, |from| Value::data(from, 0)));
    }
}

#[test]
fn graphs() {
    // Edges (from, to, atoms), some several times, some from a rank to itself; a rank lists those
    // it has in this order.
    let edges: &[(u32, u32, u64)] =
        &[(0, 1, 3), (1, 0, 2), (0, 1, 1), (2, 2, 4), (2, 2, 1), (0, 2, 0), (3, 0, 2), (0, 1, 3), (3, 1, 1), (1, 3, 5)];
    let size = 5;
    let outgoing = |rank: u32| edges.iter().enumerate().filter(move |(_, e)| e.0 == rank);
    let incoming = |rank: u32| edges.iter().enumerate().filter(move |(_, e)| e.1 == rank);
    let place = |list: &[u64]| {
        let mut at = 0;
        let displs: Vec<i64> = list.iter().map(|count| (at, at += *count as i64).0).collect();
        (displs, at as u64)
    };
    let make = |rank: u32| {
        let send_counts: Vec<u64> = outgoing(rank).map(|(_, e)| e.2).collect();
        let recv_counts: Vec<u64> = incoming(rank).map(|(_, e)| e.2).collect();
        let ((sdispls, _), (rdispls, length)) = (place(&send_counts), place(&recv_counts));
        let from: Vec<Option<u32>> = incoming(rank).map(|(_, e)| Some(e.0)).collect();
        let to: Vec<Option<u32>> = outgoing(rank).map(|(_, e)| Some(e.1)).collect();
        let send = Blocks::Spread { counts: &send_counts, displs: &sdispls };
        let recv = Blocks::Spread { counts: &recv_counts, displs: &rdispls };
        let plan = exchange(&from, &to, Edges::Listed, send, recv);
        let data = outgoing(rank).flat_map(|(i, e)| (0..e.2).map(move |k| Value::data(i as u32, k))).collect();
        process(plan, data, length as usize)
    };
    let full: Vec<Vec<Value>> = (0..size)
        .map(|rank| incoming(rank).flat_map(|(i, e)| (0..e.2).map(move |k| Value::data(i as u32, k))).collect())
        .collect();
    check("graph", size, size, make, |rank, i| full[rank as usize][i]);
}
