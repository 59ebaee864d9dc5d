//! Different collective calls on a communicator over several nodes, found in messages that match no receive: their tags say
//! which call they are of (`call_tag.rs`).
//!
//! A rank that waits in vain looks among the messages of the ranks that it waits for. A rank that frees the communicator, or
//! finalizes, looks for what others sent in the place of its last call: in that call nobody may have waited.

use super::mismatch::{Here, describe_call};
use crate::board::Board;
use crate::call_history::{CallName, Calls};
use crate::call_tag::CallTag;
use crate::engine::Position;
use crate::process::Process;
use oxmpi_abi::Error;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_ROOT};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle;
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_transport::board::{different_calls, unknown_calls};

/// Another rank made another call than this one.
pub(crate) struct Difference {
    pub error: Error,
    /// The position of the other rank, if the message tells it.
    pub theirs: Option<Position>,
}

impl Process {
    /// The mismatch between ranks that make no more calls on this communicator: on their board, or in messages that have come
    /// between nodes. One that was reported before is not reported again.
    pub fn compare_before_leaving(&mut self, comm: handle::Comm) -> Option<Error> {
        let found = self.comm(comm).ok()?;
        if found.calls.tag.is_none() && !matches!(found.board, Board::Ready(_)) {
            // No collective call has left anything to compare.
            return None;
        }
        self.look_for_news();
        if self.comm(comm).is_ok_and(|comm| comm.trouble.is_some()) {
            // Not all have got to the calls that a failure has ended.
            return None;
        }
        let on_board = self.compare_on_board(comm);
        let calls = self.comm(comm).ok()?.calls;
        if on_board.is_some() || calls.tag.is_none() || calls.differed {
            return on_board;
        }
        self.engine.drain_all();
        let here = Here::of_comm(self.comm(comm).ok()?, calls);
        self.unmatched_call(&here, None).map(|found| found.error)
    }

    /// Searches among the messages that match no receive for one of another call in the place of the last one here. Only
    /// messages of `awaited` processes count, if they are given: a process sends in the order of its calls, so one that we
    /// wait for has not gone round all numbers of operations.
    #[cold]
    pub(crate) fn unmatched_call(&self, here: &Here, awaited: Option<&[Peer]>) -> Option<Difference> {
        let ours = here.calls.tag.filter(|_| here.other.is_none())?;
        let counts = |source: i32| match usize::try_from(source) {
            Ok(rank) if rank < here.local.len() => {
                awaited.is_none_or(|awaited| awaited.contains(&here.local.peer(Rank::new(rank))))
            }
            _ => false,
        };
        let (source, theirs, bytes) = self.engine.unmatched().find_map(|(envelope, bytes)| {
            let theirs = CallTag::from_tag(envelope.tag).filter(|theirs| theirs.contradicts(ours))?;
            let is_inner = envelope.context == here.context + 1;
            (is_inner && counts(envelope.source)).then_some((envelope.source, theirs, bytes))
        })?;
        let me = here.rank as usize;
        let Some(call) = recover(&here.calls, theirs, here.local.len()) else {
            let error = Error::new(MPI_ERR_OTHER, unknown_calls(source as usize, me));
            return Some(Difference { error, theirs: None });
        };
        let (they, we) = (call.word(), here.calls.last.word());
        let class = if they as u16 == we as u16 { MPI_ERR_ROOT } else { MPI_ERR_OTHER };
        let whole = Some(bytes).filter(|&bytes| carries_all(call, bytes));
        let text = different_calls(
            (source as usize, "the communicator"),
            me,
            &describe_call(they, whole),
            &describe_call(we, None),
        );
        let calls = Calls { last: call, ..here.calls };
        Some(Difference { error: Error::new(class, text), theirs: Some(Position::new(here.context, source, &calls)) })
    }
}

/// The call that a rank made in the place of ours, if all its earlier calls were like ours and only one call has this
/// signature: the same function with another root, or else another function.
fn recover(ours: &Calls, theirs: CallTag, ranks: usize) -> Option<CallName> {
    let CallName { function, root } = ours.last;
    let only = |candidates: &mut dyn Iterator<Item = CallName>| {
        let mut found = candidates.filter(|&call| ours.may_be(theirs, call));
        found.next().filter(|_| found.next().is_none())
    };
    let roots = (0..ranks as u32).map(|other| other + 1);
    let other_root = only(&mut roots.filter(|_| root != 0).map(|root| CallName { function, root }));
    other_root.or_else(|| {
        let roots = if root == 0 { [0, 1] } else { [0, root] };
        only(&mut collective_functions().flat_map(|fun| roots.map(|root| CallName { function: fun as u16, root })))
    })
}

/// Whether a message of this call with so few bytes carries all that the call transfers: no plan splits so little.
fn carries_all(call: CallName, bytes: u64) -> bool {
    let is_bcast = matches!(Fun::from_u16(call.word() as u16), Some(Fun::Bcast | Fun::Ibcast | Fun::BcastInit));
    is_bcast && bytes <= 4096
}

/// The functions whose plans have such tags.
fn collective_functions() -> impl Iterator<Item = Fun> {
    const NAMES: &[&str] = &[
        "allgather",
        "allgatherv",
        "allreduce",
        "alltoall",
        "alltoallv",
        "alltoallw",
        "barrier",
        "bcast",
        "exscan",
        "gather",
        "gatherv",
        "neighbor_allgather",
        "neighbor_allgatherv",
        "neighbor_alltoall",
        "neighbor_alltoallv",
        "neighbor_alltoallw",
        "reduce",
        "reduce_scatter",
        "reduce_scatter_block",
        "scan",
        "scatter",
        "scatterv",
    ];
    let is_collective = |fun: &Fun| {
        let name = fun.name().trim_start_matches("MPI_").to_ascii_lowercase();
        let name = name.strip_suffix("_init").unwrap_or(&name);
        NAMES.contains(&name) || name.strip_prefix('i').is_some_and(|name| NAMES.contains(&name))
    };
    (0..).map_while(Fun::from_u16).filter(is_collective)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(calls: &[(Fun, Option<usize>)]) -> Calls {
        let mut made = Calls::default();
        for (number, &(fun, root)) in calls.iter().enumerate() {
            let call = CallName::new(fun as u16, root);
            made.count(call);
            made.by_messages(call.word());
            made.sign(i32::MIN | number as i32);
        }
        made
    }

    fn recovered(ours: &[(Fun, Option<usize>)], theirs: &[(Fun, Option<usize>)]) -> Option<(Fun, u32)> {
        let call = recover(&after(ours), after(theirs).tag.unwrap(), 5)?;
        Some((Fun::from_u16(call.function).unwrap(), call.root))
    }

    #[test]
    fn a_tag_tells_the_call_of_another_rank() {
        let barrier = (Fun::Barrier, None);
        let bcast = |root| (Fun::Bcast, Some(root));
        assert_eq!(recovered(&[barrier, bcast(1)], &[barrier, bcast(3)]), Some((Fun::Bcast, 4)));
        assert_eq!(recovered(&[barrier, barrier], &[barrier, (Fun::Iallreduce, None)]), Some((Fun::Iallreduce, 0)));
        assert_eq!(recovered(&[barrier, barrier], &[bcast(1), barrier]), None, "an earlier call differs");
    }

    #[test]
    fn all_forms_of_collective_functions_are_known() {
        let known: Vec<Fun> = collective_functions().collect();
        for fun in [Fun::Ibarrier, Fun::BcastInit, Fun::Scan, Fun::IneighborAlltoallw, Fun::ReduceScatterBlockInit] {
            assert!(known.contains(&fun), "{}", fun.name());
        }
        assert!(!known.contains(&Fun::Send) && !known.contains(&Fun::CommDup));
        assert_eq!(known.len(), 22 * 3);
    }
}
