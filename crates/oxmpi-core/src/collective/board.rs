//! Background collective operations over a board: one queue for each board, in the order of the
//! calls.
//!
//! A board has one round at a time, so only the first run of a queue advances. While anything is
//! queued, the queue holds the board and the communicator has [`Board::Queued`]; a blocking call
//! sees that where it takes the board, and waits until the queue is empty. A communicator may be
//! freed in the meantime: its operations continue.
//!
//! Nothing here waits. `oxmpi-transport/src/node/background.rs` performs the runs on the board.

use super::{Background, Stage};
use crate::board::Board;
use crate::comm::CallName;
use crate::process::Process;
use crate::request::Promise;
use crate::wait::board::{copy_from, copy_to};
use oxmpi_abi::constants::MPI_ERR_OTHER;
use oxmpi_abi::handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::ids::Peer;
use oxmpi_coll::choose::BoardWay;
use oxmpi_transport::NodeMemory;
use oxmpi_transport::node::{Advance, BoardRun, Node, Wait, Work};
use std::collections::VecDeque;
use std::sync::Arc;

/// The operations that were started on a board and have not ended, and the board.
pub struct BoardQueue {
    comm: handle::Comm,
    node: Box<Node>,
    /// Never empty.
    runs: VecDeque<QueuedRun>,
}

struct QueuedRun {
    stage: Stage,
    run: BoardRun,
    promise: Promise,
}

impl BoardQueue {
    /// The collective context of the first operation. (Only a queue that is about to be removed has
    /// none.)
    pub(super) fn stage(&self) -> &Stage {
        &self.runs[0].stage
    }

    /// Whether the queue is empty. Then the board goes [back](Process::end_queue) to its
    /// communicator.
    pub(super) fn is_over(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn keeps(&self, promise: &Promise) -> bool {
        self.runs.iter().any(|queued| Arc::ptr_eq(&queued.promise, promise))
    }
}

impl Process {
    /// The board of a communicator, if the next background operation can use it. All ranks get the
    /// same answer, since it depends only on the calls before this one.
    pub fn background_board(&self, comm: handle::Comm) -> Option<&Node> {
        let found = self.comm(comm).ok()?;
        match &found.board {
            Board::Ready(node) => Some(node),
            Board::Queued => self.queue_of(found.context).map(|queue| &*queue.node),
            _ => None,
        }
    }

    fn queue_of(&self, context: u32) -> Option<&BoardQueue> {
        let queues = self.runs.iter().filter_map(|task| match task {
            Background::Board(queue) => Some(&**queue),
            Background::Plan(_) => None,
        });
        queues.into_iter().find(|queue| queue.stage().comm_context() == context)
    }

    /// Starts an operation on a communicator's [board](Process::background_board). The promise is
    /// completed at its end, possibly at once.
    pub fn start_on_board(
        &mut self,
        comm: handle::Comm,
        (call, root): (CallName, Option<usize>),
        work: Work,
        way: BoardWay,
    ) -> Result<Promise> {
        let found = self.comm_mut(comm)?;
        found.calls.count(call);
        let stage = Stage { root, ..Stage::new(found) };
        match std::mem::replace(&mut found.board, Board::Queued) {
            Board::Ready(mut node) => {
                let mut run = node.run(work, way, stage.calls.history);
                match self.advance_run(&mut node, &mut run, &stage) {
                    Ok(Advance::Ended) => {
                        self.put_back(comm, node);
                        Ok(Arc::clone(&self.kept))
                    }
                    Err(error) => {
                        self.put_back(comm, node);
                        Ok(Arc::new(Some(error).into()))
                    }
                    Ok(Advance::Waiting | Advance::Moved) => {
                        let promise = Promise::default();
                        let runs = VecDeque::from([QueuedRun { stage, run, promise: Arc::clone(&promise) }]);
                        self.runs.push(Background::Board(Box::new(BoardQueue { comm, node, runs })));
                        Ok(promise)
                    }
                }
            }
            Board::Queued => {
                let queues = self.runs.iter_mut().filter_map(|task| match task {
                    Background::Board(queue) => Some(queue),
                    Background::Plan(_) => None,
                });
                let found = queues.into_iter().find(|queue| queue.stage().comm_context() == stage.comm_context());
                let Some(queue) = found else { unreachable!("a board that is queued has a queue") };
                let promise = Promise::default();
                let run = queue.node.run(work, way, stage.calls.history);
                queue.runs.push_back(QueuedRun { stage, run, promise: Arc::clone(&promise) });
                self.progress_runs();
                Ok(promise)
            }
            other => {
                found.board = other;
                bail!(MPI_ERR_OTHER, "another thread is in a collective operation on {}", found.describe())
            }
        }
    }

    /// Advances a run.
    fn advance_run(&mut self, node: &mut Node, run: &mut BoardRun, stage: &Stage) -> Result<Advance> {
        let wait = &mut NoWait(self.engine.node());
        let advance = node.advance(run, wait);
        if advance.is_err() {
            node.abandon(run, wait);
        }
        advance.map_err(|error| self.true_cause(stage.comm_context(), [&stage.group, &stage.local], error))
    }

    /// Advances the operations of a board; whether one has moved.
    pub(super) fn advance_queue(&mut self, queue: &mut BoardQueue) -> bool {
        let BoardQueue { node, runs, .. } = queue;
        let mut moved = false;
        while let Some(first) = runs.front_mut() {
            let advance = self.advance_run(node, &mut first.run, &first.stage);
            moved |= !matches!(advance, Ok(Advance::Waiting));
            if matches!(advance, Ok(Advance::Waiting | Advance::Moved)) {
                break;
            }
            // Only this run sets it.
            let _ = first.promise.set(advance.err());
            runs.pop_front();
        }
        moved
    }

    /// Ends the incomplete operations on the board of a communicator on which no more calls will be
    /// made.
    pub(crate) fn end_queue_of(&mut self, context: u32) {
        let is_its_queue =
            |task: &Background| matches!(task, Background::Board(queue) if queue.stage().comm_context() == context);
        if let Some(index) = self.runs.iter().position(is_its_queue) {
            let text = "the operation had not completed when MPI_Finalize was called";
            self.end_run(index, Error::new(MPI_ERR_OTHER, text));
        }
    }

    /// Ends a queue; its remaining operations end with an error.
    pub(super) fn end_queue(&mut self, queue: BoardQueue, error: Option<Error>) {
        let BoardQueue { comm, mut node, mut runs } = queue;
        if let Some(first) = runs.front_mut() {
            node.abandon(&mut first.run, &mut NoWait(self.engine.node()));
        }
        for QueuedRun { promise, .. } in runs {
            // Only this function sets it.
            let _ = promise.set(error.clone());
        }
        self.put_back(comm, node);
    }

    /// Returns a board to its communicator.
    fn put_back(&mut self, comm: handle::Comm, node: Box<Node>) {
        match self.comm_mut(comm) {
            Ok(found) if matches!(found.board, Board::Queued) => found.board = Board::Ready(node),
            // The communicator was freed in the meantime.
            _ => self.leave_board(*node),
        }
    }
}

/// For operations that never wait.
struct NoWait<'a>(&'a NodeMemory);

impl Wait for NoWait<'_> {
    fn shortly(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        ready()
    }

    fn until(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        ready()
    }

    fn give_way(&mut self) {}

    fn wake(&mut self, process: Peer) {
        self.0.wake(process);
    }

    #[expect(unsafe_code, reason = "memory of another process")]
    unsafe fn read(&mut self, process: Peer, to: *mut u8, from: usize, bytes: usize) -> Result<()> {
        // SAFETY: `to` can be written, and `from` is memory that the process shows: this function's
        // condition.
        unsafe { copy_from(self.0, process, to, from, bytes) }
    }

    #[expect(unsafe_code, reason = "memory of another process")]
    unsafe fn write(&mut self, process: Peer, from: *const u8, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: `from` can be read, and `to` is memory that the process shows: this function's
        // condition.
        unsafe { copy_to(self.0, process, from, to, bytes) }
    }
}
