//! For `--check`: what processes must give alike when they make communicators.

use super::{own_peer, run_agreement};
use oxmpi_abi::Result;
use oxmpi_abi::handle::Comm;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::topology::Topology;

/// The processes of a group must give the same `high` to `MPI_Intercomm_merge`. `said` has the values of all; those of the own
/// group begin at `start`.
pub fn high(guard: &Guard, said: &[u64], start: usize, high: bool) {
    if check::is_on() && said.get(start).is_some_and(|first| *first != u64::from(high)) {
        let text = String::from("called MPI_Intercomm_merge with another value of high than rank 0 of its group");
        check::tell_other_argument(guard.engine.node(), text);
    }
}

/// The edges of more processes are not compared: each would get a word from each for each.
const MOST_COMPARED: usize = 256;

/// Each edge of a distributed graph must be given by both of its ends, as often by one as by the other. Collective over the
/// communicator from which the one with the graph was `made`.
pub fn edges(call: &Call, guard: &mut Guard, parent: Comm, made: Comm) -> Result<Comm> {
    if check::is_on() {
        compare_edges(call, guard, parent, made)?;
    }
    Ok(made)
}

#[cold]
fn compare_edges(call: &Call, guard: &mut Guard, parent: Comm, made: Comm) -> Result<()> {
    let found = guard.comm(made)?;
    let Some(Topology::Distributed(own)) = found.topology.as_deref() else { return Ok(()) };
    let (size, rank) = (found.size() as usize, found.rank as usize);
    if size > MOST_COMPARED {
        return Ok(());
    }
    let count = |peers: &[i32]| {
        let mut edges = vec![0u64; size];
        for &peer in peers {
            if let Some(edges) = edges.get_mut(peer as usize) {
                *edges += 1;
            }
        }
        edges
    };
    let (from, to) = (count(&own.incoming.peers), count(&own.outgoing.peers));
    let (own, name) = (own_peer(guard), guard.comm(parent)?.describe());
    let participants = guard.comm_mut(made)?.participants(own)?;
    let all = run_agreement(call, guard, |io| async move { io.gather(&participants, &to).await })?;
    for (source, to) in all.chunks_exact(size).enumerate() {
        if to[rank] != from[source] {
            let text = format!(
                "MPI_Dist_graph_create_adjacent on {name}: rank {source} gives {} edges to rank {rank}, which gives {} from \
                 rank {source}",
                to[rank], from[source]
            );
            check::tell_other_edges(guard.engine.node(), text);
        }
    }
    Ok(())
}
