//! Making, joining and releasing boards. The process of rank 0 owns the memory of a board; it is
//! freed when all ranks have left, which the owner checks whenever it makes or leaves a board.

use super::Process;
use crate::board::{Board, BoardUse};
use oxmpi_abi::handle;
use oxmpi_abi::{Error, Result};
use oxmpi_base::arena::Area;
use oxmpi_base::ids::Rank;
use oxmpi_coll::tuning::Tuning;
use oxmpi_transport::board::SharedBoard;

/// The most boards per process: each is a mapping, and the kernel limits their number.
const MOST_BOARDS: usize = 1024;

/// Bytes of staging buffer per rank: the first communicators may use more memory than hundreds of
/// later ones.
const STAGING: usize = 2 << 20;
const SMALL_STAGING: usize = 64 << 10;
const FIRST_BOARDS: usize = 8;

impl Process {
    /// Why the ranks of a communicator cannot have a board, if so; all get the same answer.
    pub fn refuses_board(&self, comm: handle::Comm) -> Result<Option<&'static str>> {
        let comm = self.comm(comm)?;
        Ok(if !comm.may_have_board() {
            Some("no board, because it is for 2 to 64 ranks of one group")
        } else if !self.is_on_this_node(&comm.group) {
            Some("no board, because its ranks are on several nodes")
        } else {
            None
        })
    }

    /// Memory for a new board of so many ranks, and the bytes of each staging buffer; `None` if
    /// this process has too many boards, or no memory.
    pub fn allocate_board(&mut self, ranks: usize, board_use: BoardUse) -> Option<(Area, usize)> {
        self.reap_boards();
        let (most, large) = match board_use {
            BoardUse::Communicator => (MOST_BOARDS, FIRST_BOARDS),
            BoardUse::Operation => (MOST_BOARDS / 2, 0),
        };
        if self.boards >= most {
            return None;
        }
        let staging = if self.boards < large { STAGING } else { SMALL_STAGING };
        let area = self.engine.node_mut().allocate(SharedBoard::memory_for(ranks, staging)).ok()?;
        Some((area, staging))
    }

    /// Whether the ranks of a board, or those of its owner's job, outnumber the CPUs.
    pub fn is_oversubscribed(&self, ranks: usize) -> bool {
        let node = self.engine.node();
        !node.job().has_cpu_for_all() || ranks > node.job().cpus.load(std::sync::atomic::Ordering::Relaxed) as usize
    }

    /// The number of boards that this process has joined.
    pub fn boards(&self) -> usize {
        self.boards
    }

    /// Joins a board; `None` if this process has too many, or cannot. `oversubscribed` and `tuning` come from
    /// the owner.
    pub fn join_board(
        &mut self,
        comm: handle::Comm,
        area: Area,
        staging: usize,
        oversubscribed: bool,
        tuning: Tuning,
    ) -> Result<Option<Box<SharedBoard>>> {
        if self.boards >= MOST_BOARDS {
            return Ok(None);
        }
        let node = self.engine.node();
        let comm = self.comm(comm)?;
        let (members, rank, owner) = (comm.group.iter().collect(), comm.rank as usize, comm.group.peer(Rank::new(0)));
        let barrier = node.barrier();
        let board = node
            .map(owner, area)
            .ok()
            .and_then(|mapping| SharedBoard::new(mapping, members, rank, staging, barrier, oversubscribed, tuning));
        self.boards += usize::from(board.is_some());
        Ok(board.map(Box::new))
    }

    /// Releases a board that some rank could not join. It was never used.
    pub fn give_up_board(&mut self, joined: bool, allocated: Option<Area>) {
        self.boards -= usize::from(joined);
        if let Some(area) = allocated {
            self.engine.node_mut().release(area);
        }
    }

    /// The mismatch between ranks that share a board and make no more calls on this communicator;
    /// see [`SharedBoard::compare_before_leaving`].
    pub fn compare_on_board(&mut self, comm: handle::Comm) -> Option<Error> {
        let comm = self.comm_mut(comm).ok()?;
        match &mut comm.board {
            Board::Ready(board) => board.compare_before_leaving(comm.calls.history),
            _ => None,
        }
    }

    /// Leaves the board of the world at `MPI_Finalize`; ranks that still wait for this rank there
    /// are told.
    pub fn end_world(&mut self) {
        self.end_queue_of(self.comms.world.context);
        self.comms.has_world = false;
        self.engine.node().end_world();
        if let Board::Ready(board) = std::mem::replace(&mut self.comms.world.board, Board::Refused) {
            self.leave_board(*board);
        }
    }

    /// Leaves a board for good.
    pub fn leave_board(&mut self, board: SharedBoard) {
        self.boards -= 1;
        board.leave();
        if board.is_owner() {
            self.left_boards.push(board);
        }
        self.reap_boards();
    }

    fn reap_boards(&mut self) {
        let memory = self.engine.node_mut();
        self.left_boards.retain(|board| {
            let deserted = board.is_deserted(|member| memory.has_died(member));
            if deserted {
                memory.release(board.area());
            }
            !deserted
        });
    }
}
