//! Performs the plans of collective operations step by step, for a waiting call or in the
//! background.

use super::{Background, BoundPlan, Called, Packing, Run, Scratch, Turn, note};
use crate::engine::{Mode, Pending};
use crate::operation::{Reducer, UserCall};
use crate::process::Process;
use crate::request::Promise;
use crate::wait::mismatch::Here;
use oxmpi_abi::Error;
use oxmpi_abi::constants::MPI_ERR_TRUNCATE;
use oxmpi_coll::plan::{Piece, Region, Side, Step};
use oxmpi_datatype::{Source, Target};
use oxmpi_transport::local;
use std::sync::Arc;

/// Bytes that are copied within a process between two looks for messages.
const COPY_PART: usize = 64 << 10;

/// Bytes that are copied or reduced in a turn that goes by parts (some ten microseconds).
const PART: usize = 256 << 10;

impl Process {
    /// Advances a run as far as possible.
    pub fn advance(&mut self, run: &mut Run) -> Turn {
        // The result may lie in memory of `called`.
        if let Some(called) = run.called.take()
            && let Some((from, to)) = &called.result
        {
            local::copy(from, to);
        }
        let bound_plan = Arc::clone(&run.bound_plan);
        while let Some(step) = bound_plan.plan.steps.get(run.next) {
            match step {
                Step::Send { to, piece } => self.start_send(run, *to, piece, false),
                Step::SendLocal { to, piece } => self.start_send(run, *to, piece, true),
                Step::Recv { from, piece } => self.start_recv(run, *from, piece, false),
                Step::RecvLocal { from, piece } => self.start_recv(run, *from, piece, true),
                Step::Copy { from, to } => {
                    let (from, to) = (bound_plan.source(from), bound_plan.target(to));
                    if !self.copy_here(run, &from, &to) {
                        return Turn::Part;
                    }
                    if from.len() != to.len() {
                        note(&mut run.error, Some(other_length(from.len(), to.len())));
                    }
                }
                Step::Reduce { with, into, side } => {
                    if !self.reduce_part(run, with, into) {
                        return Turn::Part;
                    }
                    if let Some(call) = reduce(run, with, into, *side) {
                        (run.next, run.part) = (run.next + 1, 0);
                        return Turn::Call(call);
                    }
                }
                Step::Received => {
                    if !self.are_received(run) {
                        return Turn::Waiting;
                    }
                }
                Step::Fence => {
                    if !(self.are_received(run) & self.are_sent(run)) {
                        return Turn::Waiting;
                    }
                }
            }
            (run.next, run.part) = (run.next + 1, 0);
        }
        if !(self.are_received(run) & self.are_sent(run)) {
            return Turn::Waiting;
        }
        if !run.is_abandoned
            && let Some(next) = bound_plan.next()
        {
            (run.bound_plan, run.next) = (Arc::new(next), 0);
            return self.advance(run);
        }
        if let (Some(Packing::Last { user, packed }), None) = (&bound_plan.packing, &run.error) {
            #[expect(unsafe_code, reason = "the packed bytes are the bound_plan's own")]
            // SAFETY: the bound plan outlives this function, and everything to be received has
            // arrived.
            local::copy(&unsafe { packed.lend() }, user);
        }
        match run.error.take() {
            None => Turn::Done(Ok(())),
            Some(error) => {
                let stage = run.stage();
                let error = self.true_cause(stage.comm_context(), [&stage.group, &stage.local], error);
                if error.is_of_others() {
                    return Turn::Done(Err(error));
                }
                // The message may belong to another call, in which a rank may still wait.
                let here = Here::of_stage(stage);
                self.publish_differed(&here);
                Turn::Done(Err(error))
            }
        }
    }

    /// Abandons a run that can never end: it ends with the error as soon as no message accesses its
    /// memory any more. Unmatched operations are cancelled; those that a living process has begun
    /// complete.
    #[cold]
    pub fn abandon(&mut self, run: &mut Run, error: Error) {
        note(&mut run.error, Some(error));
        run.next = run.bound_plan.plan.steps.len();
        run.is_abandoned = true;
        for &(op, _) in &run.recvs {
            self.engine.cancel_recv(op);
        }
        run.sends.retain(|&mut op| {
            // A finalized process does not answer, and reads nothing.
            let is_gone =
                matches!(self.engine.pending(op), Some(Pending::Send(route)) if self.gone.contains(route.peer));
            self.engine.cancel_send(op);
            if is_gone {
                self.engine.detach(op);
            }
            !is_gone
        });
    }

    /// Copies within this process, from where the last part ended. If this rank receives, messages move between the parts of a
    /// long copy: a peer whose long message is accepted moves its bytes while this rank goes on copying. `false`: a part
    /// was copied, and there is more.
    fn copy_here(&mut self, run: &mut Run, from: &Source<'_>, to: &Target<'_>) -> bool {
        let bytes = from.len().min(to.len());
        let begun = run.part as usize;
        if self.engine.is_by_parts() && bytes - begun > PART {
            local::copy_part(from, begun, to, begun, PART);
            run.part += PART as u64;
            return false;
        }
        if begun == 0 && (bytes <= COPY_PART || run.recvs.is_empty()) {
            local::copy(from, to);
            return true;
        }
        for at in (begun..bytes).step_by(COPY_PART) {
            self.engine.progress();
            local::copy_part(from, at, to, at, COPY_PART.min(bytes - at));
        }
        true
    }

    /// Reduces a part, where the reduction is longer than a part and goes by parts; `false` then.
    #[expect(unsafe_code, reason = "elements of a reduction are raw memory")]
    fn reduce_part(&mut self, run: &mut Run, with: &Piece, into: &Piece) -> bool {
        let bound_plan = &run.bound_plan;
        let Some(reducer @ Reducer::Predefined(_)) = &bound_plan.reducer else { return true };
        let most = (PART / bound_plan.units(with.region).bytes().max(1)).max(1) as u64;
        if !self.engine.is_by_parts() || with.count - run.part <= most {
            return true;
        }
        let (operand, target) = (bound_plan.address(&rest(with, run.part)), bound_plan.address(&rest(into, run.part)));
        // SAFETY: the plan names both pieces, which have as many elements, and writes to `into`; `most` elements are left.
        let call = unsafe { reducer.apply(operand, target, most) };
        debug_assert!(call.is_none(), "no function of the program computes a predefined operation");
        run.part += most;
        false
    }

    fn start_send(&mut self, run: &mut Run, to: u32, piece: &Piece, local: bool) {
        let route = run.bound_plan.stage.route(to, local);
        // After an error here, the ranks that depend on us get an empty message, which tells them.
        let buf = if run.error.is_some() { Source::empty() } else { run.bound_plan.source(piece) };
        run.sends.extend(self.engine.send(Mode::Standard, &route, buf));
    }

    fn start_recv(&mut self, run: &mut Run, from: u32, piece: &Piece, local: bool) {
        let pattern = run.bound_plan.stage.pattern(from, local);
        let buf = run.bound_plan.target(piece);
        let bytes = buf.len();
        run.recvs.push((self.engine.recv(pattern, buf), bytes));
    }

    fn are_sent(&mut self, run: &mut Run) -> bool {
        let Run { sends, error, .. } = run;
        sends.retain(|&mut op| match self.engine.take_outcome(op) {
            None => true,
            Some(outcome) => {
                note(error, outcome.error);
                false
            }
        });
        sends.is_empty()
    }

    fn are_received(&mut self, run: &mut Run) -> bool {
        let Run { recvs, error, .. } = run;
        recvs.retain(|&mut (op, expected)| match self.engine.take_outcome(op) {
            None => true,
            Some(outcome) => {
                let got = outcome.status.bytes() as usize;
                let wrong = outcome.error.is_some() || got != expected;
                note(error, wrong.then(|| differs(outcome.status.source, got, expected, outcome.error)));
                false
            }
        });
        recvs.is_empty()
    }

    /// Performs a bound plan in the background; the promise is completed at its end.
    pub fn perform_later(&mut self, bound_plan: Arc<BoundPlan>) -> Promise {
        let promise = Promise::default();
        let mut run = Run::new(bound_plan);
        run.promise = Some(promise.clone());
        self.runs.push(Background::Plan(run));
        self.sweep_runs();
        self.progress_runs();
        promise
    }

    #[inline(never)]
    pub(crate) fn progress_runs(&mut self) -> bool {
        let mut runs = std::mem::take(&mut self.runs);
        let before = runs.len();
        let (mut index, mut moved) = (0, false);
        while index < runs.len() {
            match &mut runs[index] {
                Background::Plan(run) => match self.advance(run) {
                    Turn::Waiting => index += 1,
                    Turn::Part => (index, moved) = (index + 1, true),
                    Turn::Call(call) => {
                        if let Background::Plan(run) = runs.remove(index) {
                            self.calls.push((run, call));
                        }
                    }
                    Turn::Done(result) => {
                        if let Background::Plan(run) = runs.remove(index) {
                            run.end(result.err());
                        }
                    }
                },
                Background::Board(queue) => {
                    moved |= self.advance_queue(queue);
                    let is_over = queue.is_over();
                    // Messages that follow what was done on the board.
                    runs.append(&mut self.runs);
                    if !is_over {
                        index += 1;
                    } else if let Background::Board(queue) = runs.remove(index) {
                        self.end_queue(*queue, None);
                    }
                }
            }
        }
        self.runs = runs;
        self.sweep_again();
        moved || self.runs.len() < before
    }

    /// The collective operations in the background.
    pub fn runs(&self) -> &[Background] {
        &self.runs
    }

    /// Ends a background operation that would never end by itself with an error.
    #[cold]
    pub fn end_run(&mut self, index: usize, error: Error) {
        match self.runs.remove(index) {
            Background::Plan(mut run) => {
                self.abandon(&mut run, error);
                self.runs.insert(index, Background::Plan(run));
            }
            Background::Board(queue) => self.end_queue(*queue, Some(error)),
        }
    }

    /// Whether a collective operation runs in the background.
    #[inline]
    pub fn has_runs(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Whether a collective operation waits for a call of the user's function.
    #[inline]
    pub fn wants_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The call of a user function that a collective operation waits for. Make it without a lock,
    /// then call [`Process::called`].
    pub fn next_call(&mut self) -> Option<(Run, UserCall)> {
        self.calls.pop()
    }

    /// Continues a run after the user's function was called.
    pub fn called(&mut self, run: Run) {
        self.runs.push(Background::Plan(run));
        self.progress_runs();
    }

    /// Whether a collective operation that is under way uses the context or its twin.
    pub fn performs_on(&self, context: u32) -> bool {
        let waiting = self.calls.iter().map(|(run, _)| run.stage());
        self.runs.iter().map(Background::stage).chain(waiting).any(|stage| stage.comm_context() == context)
    }
}

/// Performs a reduction, or returns the call of the user's function that does.
#[expect(unsafe_code, reason = "elements of a reduction are raw memory")]
fn reduce(run: &mut Run, with: &Piece, into: &Piece, side: Side) -> Option<UserCall> {
    let bound_plan = &run.bound_plan;
    let Some(reducer) = &bound_plan.reducer else { unreachable!("a plan with reductions has an operation") };
    if with.count == run.part {
        return None;
    }
    let (with, into) = (&rest(with, run.part), &rest(into, run.part));
    let (operand, target) = (bound_plan.address(with), bound_plan.address(into));
    if reducer.commutes() || side == Side::Left {
        // SAFETY: the plan names both pieces, which have as many elements, and writes to `into`.
        return unsafe { reducer.apply(operand, target, with.count) };
    }
    // The function leaves its result in its second operand, which here is the right one.
    let (right, copy) = if with.region == Region::Temp {
        (operand, None)
    } else {
        let copy = Scratch::new(bound_plan.units(with.region), with.count);
        let first = Piece { offset: 0, ..*with };
        local::copy(&bound_plan.source(with), &copy.units().target(&first));
        (copy.units().base, Some(copy))
    };
    let from = match &copy {
        Some(copy) => copy.units().source(&Piece { offset: 0, ..*with }),
        None => bound_plan.source(with),
    };
    let result = (from, bound_plan.target(into));
    // SAFETY: the plan names `into`; `right` is temporary memory of as many elements, kept until the call was made.
    match unsafe { reducer.apply(target, right, with.count) } {
        None => {
            local::copy(&result.0, &result.1);
            None
        }
        Some(call) => {
            run.called = Some(Box::new(Called { result: Some(result), _copy: copy }));
            Some(call)
        }
    }
}

/// What is left of a piece of which so many units are done.
fn rest(piece: &Piece, done: u64) -> Piece {
    Piece { offset: piece.offset + done as i64, count: piece.count - done, ..*piece }
}

#[cold]
fn differs(source: i32, got: usize, expected: usize, error: Option<Error>) -> Error {
    let text = match error {
        // A message that did not come says nothing about arguments.
        Some(error) if error.class() != MPI_ERR_TRUNCATE => return error,
        Some(error) => format!("from rank {source}: {}", error.text()),
        None => return unequal(source, got, expected),
    };
    Error::new(MPI_ERR_TRUNCATE, format!("{text}: {NO_MATCH}"))
}

/// The error when a rank gave another number of bytes than this one expected.
#[cold]
pub fn unequal(source: i32, got: usize, expected: usize) -> Error {
    let text = format!("rank {source} gave {got} bytes where {expected} were expected: {NO_MATCH}");
    Error::new(MPI_ERR_TRUNCATE, text)
}

/// The same for a block that has come with those of other ranks.
#[cold]
fn other_length(got: usize, expected: usize) -> Error {
    let text = format!("a block of {got} bytes came where {expected} bytes were expected: {NO_MATCH}");
    Error::new(MPI_ERR_TRUNCATE, text)
}

const NO_MATCH: &str = "the ranks' arguments do not match each other";
