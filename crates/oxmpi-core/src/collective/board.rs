//! Background collective operations over a board: one queue for each board, in the order of the
//! calls.
//!
//! A board has one round at a time, so only the first run of a queue advances. While anything is
//! queued, the queue holds the board and the communicator has [`Board::Queued`]; a blocking call
//! sees that where it takes the board, and waits until the queue is empty. A communicator may be
//! freed in the meantime: its operations continue.
//!
//! The ranks may start persistent operations in any order. Therefore each has a board of its own
//! ([`BoardOperation`]), whose queue has one run at most.
//!
//! Nothing here waits. `oxmpi-transport/src/board/background.rs` performs the runs on the board.

use super::{Background, BoundPlan, Run, Stage, unequal};
use crate::board::Board;
use crate::call_history::CallName;
use crate::process::Process;
use crate::request::Promise;
use crate::wait::board::{copy_from, copy_to};
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_REQUEST};
use oxmpi_abi::handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::ids::Peer;
use oxmpi_coll::choose::BoardWay;
use oxmpi_transport::NodeMemory;
use oxmpi_transport::board::{Advance, BoardRun, SharedBoard, Wait, Work};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The operations that were started on a board and have not ended, and the board.
pub struct BoardQueue {
    owner: Owner,
    board: Box<SharedBoard>,
    /// Never empty.
    runs: VecDeque<QueuedRun>,
}

struct QueuedRun {
    stage: Stage,
    run: BoardRun,
    promise: Promise,
}

/// Where the board of a queue returns to.
enum Owner {
    Comm(handle::Comm),
    Operation(Arc<BoardOperation>),
}

/// A persistent operation with a board of its own.
pub struct BoardOperation {
    stage: Stage,
    work: Work,
    way: BoardWay,
    /// `None` while the operation is under way.
    board: Mutex<Option<Box<SharedBoard>>>,
}

impl BoardOperation {
    pub fn context(&self) -> u32 {
        self.stage.context
    }

    /// All processes that take part.
    pub fn members(&self) -> impl Iterator<Item = Peer> + '_ {
        self.stage.group.iter()
    }

    /// Whoever waits at its board shall wait no longer.
    pub(crate) fn break_up(&self, wake: impl FnMut(Peer)) {
        if let Some(board) = &*self.board() {
            board.break_up(wake);
        }
    }

    fn board(&self) -> MutexGuard<'_, Option<Box<SharedBoard>>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

    /// Whether its board is that of the communicator with this context.
    fn is_of_comm(&self, context: u32) -> bool {
        matches!(self.owner, Owner::Comm(_)) && self.stage().comm_context() == context
    }

    pub(super) fn keeps(&self, promise: &Promise) -> bool {
        self.runs.iter().any(|queued| queued.promise.is(promise))
    }
}

impl Process {
    /// The board of a communicator, if the next background operation can use it. All ranks get the
    /// same answer, since it depends only on the calls before this one.
    pub fn background_board(&self, comm: handle::Comm) -> Option<&SharedBoard> {
        let found = self.comm(comm).ok()?;
        match &found.board {
            Board::Ready(board) => Some(board),
            Board::Queued => self.queue_of(found.context).map(|queue| &*queue.board),
            _ => None,
        }
    }

    fn queue_of(&self, context: u32) -> Option<&BoardQueue> {
        let queues = self.runs.iter().filter_map(|task| match task {
            Background::Board(queue) => Some(&**queue),
            Background::Plan(_) => None,
        });
        queues.into_iter().find(|queue| queue.is_of_comm(context))
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
            Board::Ready(board) => Ok(self.begin_queue(Owner::Comm(comm), board, stage, work, way)),
            Board::Queued => {
                let queues = self.runs.iter_mut().filter_map(|task| match task {
                    Background::Board(queue) => Some(queue),
                    Background::Plan(_) => None,
                });
                let found = queues.into_iter().find(|queue| queue.is_of_comm(stage.comm_context()));
                let Some(queue) = found else { unreachable!("a board that is queued has a queue") };
                let promise = Promise::default();
                let run = queue.board.run(work, way, stage.calls.history);
                queue.runs.push_back(QueuedRun { stage, run, promise: promise.clone() });
                self.progress_runs();
                Ok(promise)
            }
            other => {
                found.board = other;
                bail!(MPI_ERR_OTHER, "another thread is in a collective operation on {}", found.describe())
            }
        }
    }

    /// Keeps a persistent operation with its board, after the call that initializes it was counted.
    pub fn keep_on_board(
        &mut self,
        comm: handle::Comm,
        root: Option<usize>,
        work: Work,
        way: BoardWay,
        board: Box<SharedBoard>,
    ) -> Result<Arc<BoardOperation>> {
        let stage = Stage { root, ..Stage::new(self.comm_mut(comm)?) };
        let operation = Arc::new(BoardOperation { stage, work, way, board: Mutex::new(Some(board)) });
        self.board_operations.push(Arc::clone(&operation));
        Ok(operation)
    }

    /// Starts a persistent operation, which is not under way.
    pub(crate) fn start_kept(&mut self, operation: &Arc<BoardOperation>) -> Result<Promise> {
        let Some(board) = operation.board().take() else {
            bail!(MPI_ERR_REQUEST, "the persistent operation has been started already");
        };
        let (stage, work, owner) = (operation.stage.clone(), operation.work.clone(), Arc::clone(operation));
        Ok(self.begin_queue(Owner::Operation(owner), board, stage, work, operation.way))
    }

    /// Leaves the boards of persistent operations whose requests were freed.
    pub fn leave_kept_boards(&mut self) {
        let mut left = Vec::new();
        self.board_operations.retain(|operation| {
            // Only this list has it, and it is not under way.
            let board = if Arc::strong_count(operation) == 1 { operation.board().take() } else { None };
            let is_kept = board.is_none();
            left.extend(board);
            is_kept
        });
        left.into_iter().for_each(|board| self.leave_board(*board));
    }

    /// Starts an operation on a board that is free. Makes a queue unless it ends at once.
    fn begin_queue(
        &mut self,
        owner: Owner,
        mut board: Box<SharedBoard>,
        stage: Stage,
        work: Work,
        way: BoardWay,
    ) -> Promise {
        let mut run = board.run(work, way, stage.calls.history);
        let ended = match self.advance_run(&mut board, &mut run, &stage) {
            Ok(Advance::Ended) if run.is_complete() => self.kept.clone(),
            Ok(Advance::Ended) => {
                let promise = Promise::default();
                self.put_back(owner, board);
                self.end_on_board(stage, run, promise.clone());
                self.progress_runs();
                return promise;
            }
            Err(error) => Promise::ended(Some(error)),
            Ok(Advance::Waiting | Advance::Moved) => {
                let promise = Promise::default();
                let runs = VecDeque::from([QueuedRun { stage, run, promise: promise.clone() }]);
                self.runs.push(Background::Board(Box::new(BoardQueue { owner, board, runs })));
                return promise;
            }
        };
        self.put_back(owner, board);
        ended
    }

    /// Advances a run.
    fn advance_run(&mut self, board: &mut SharedBoard, run: &mut BoardRun, stage: &Stage) -> Result<Advance> {
        let wait = &mut NoWait(self.engine.node());
        let advance = board.advance(run, wait);
        if advance.is_err() {
            board.abandon(run, wait);
        }
        advance.map_err(|error| self.true_cause(stage.comm_context(), [&stage.group, &stage.local], error))
    }

    /// Advances the operations of a board; whether one has moved.
    pub(super) fn advance_queue(&mut self, queue: &mut BoardQueue) -> bool {
        let BoardQueue { board, runs, .. } = queue;
        let mut moved = false;
        while let Some(first) = runs.front_mut() {
            let advance = self.advance_run(board, &mut first.run, &first.stage);
            moved |= !matches!(advance, Ok(Advance::Waiting));
            if matches!(advance, Ok(Advance::Waiting | Advance::Moved)) {
                break;
            }
            let Some(QueuedRun { stage, run, promise }) = runs.pop_front() else { break };
            match advance {
                Ok(_) => self.end_on_board(stage, run, promise),
                Err(error) => promise.end(Some(error)),
            }
        }
        moved
    }

    /// The board has done its part of an operation. What it has left goes on as messages.
    fn end_on_board(&mut self, stage: Stage, run: BoardRun, promise: Promise) {
        let Some((exchange, left)) = run.end_of_exchange() else { return promise.end(None) };
        let error = left.differs.map(|differs| unequal(differs.rank as i32, differs.got, differs.expected));
        if !left.is_some() {
            return promise.end(error);
        }
        let mut run = Run::new(Arc::new(BoundPlan::rest_of(&exchange, &left, stage)));
        (run.error, run.promise) = (error, Some(promise));
        self.runs.push(Background::Plan(run));
    }

    /// Ends the incomplete operations on boards of a communicator on which no more calls will be
    /// made.
    pub(crate) fn end_queue_of(&mut self, context: u32) {
        let is_its_queue =
            |task: &Background| matches!(task, Background::Board(queue) if queue.stage().comm_context() == context);
        while let Some(index) = self.runs.iter().position(is_its_queue) {
            let text = "the operation had not completed when MPI_Finalize was called";
            self.end_run(index, Error::new(MPI_ERR_OTHER, text));
        }
    }

    /// Ends a queue; its remaining operations end with an error.
    pub(super) fn end_queue(&mut self, queue: BoardQueue, error: Option<Error>) {
        let BoardQueue { owner, mut board, mut runs } = queue;
        if let Some(first) = runs.front_mut() {
            board.abandon(&mut first.run, &mut NoWait(self.engine.node()));
        }
        for QueuedRun { promise, .. } in runs {
            promise.end(error.clone());
        }
        self.put_back(owner, board);
    }

    /// Returns a board to its communicator or persistent operation.
    fn put_back(&mut self, owner: Owner, board: Box<SharedBoard>) {
        match owner {
            Owner::Comm(comm) => match self.comm_mut(comm) {
                Ok(found) if matches!(found.board, Board::Queued) => found.board = Board::Ready(board),
                // The communicator was freed in the meantime.
                _ => self.leave_board(*board),
            },
            Owner::Operation(operation) => {
                *operation.board() = Some(board);
                // Without the request, only the list and this function have it.
                if Arc::strong_count(&operation) <= 2 {
                    drop(operation);
                    self.leave_kept_boards();
                }
            }
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

    fn has_ended(&self, process: Peer) -> bool {
        self.0.end_in_log(process).is_some()
    }
}
