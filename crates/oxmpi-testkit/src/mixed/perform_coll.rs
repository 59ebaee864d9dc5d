//! The collective calls of a program.

use super::collective::{Case, Spans};
use super::perform::{Pending, Runner};
use super::program::{Collective, Form, Kind, Op};
use super::resolve::View;
use super::strip::{Layout, Strip};
use crate::mixed::collective::combine;
use oxmpi::args::Ints;
use oxmpi::coll::{self, Block, Blocking, Blocks, Mixed, Nonblocking, Operands, Persistent};
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{self, Comm, Request};
use oxmpi_core::call::Guard;
use oxmpi_core::operation::{Reduce, UserFunction};
use oxmpi_core::request::Body;
use oxmpi_datatype::Datatype;
use std::ffi::c_void;
use std::sync::Arc;

/// Makes a user-defined operation.
pub fn operation(guard: &mut Guard, op: Op) -> handle::Op {
    let function = UserFunction { function: Box::new(Pairs(op)), commutes: op == Op::UserSum };
    handle::Op(guard.operations.insert(Arc::new(function)))
}

/// An operation on pairs.
struct Pairs(Op);

impl Reduce for Pairs {
    unsafe fn reduce(&self, operands: &oxmpi_ops::Operands, datatype: &Datatype, _: handle::Datatype) {
        // The numbers of a pair lie as far apart as those of `Layout::Pair` or `Layout::Gapped`.
        let (extent, apart) = if datatype.extent() == 8 { (2, 1) } else { (4, 2) };
        for index in 0..operands.count as usize {
            let (left, inout) = (operands.left.cast::<i32>(), operands.inout.cast::<i32>());
            // SAFETY: both operands have `count` elements of the type, each of two numbers at these places: the
            // condition of this function.
            unsafe {
                let at = |base: *const i32| {
                    [base.add(index * extent).read_unaligned(), base.add(index * extent + apart).read_unaligned()]
                };
                let result = combine(self.0, at(left), at(inout));
                inout.add(index * extent).write_unaligned(result[0]);
                inout.add(index * extent + apart).write_unaligned(result[1]);
            }
        }
    }
}

/// A form as a value.
enum Chosen {
    Blocking,
    Nonblocking,
    Persistent,
}

impl Runner<'_> {
    pub(super) fn collective(&mut self, step: usize, comm: Comm, what: &Collective, view: &View) -> Result<()> {
        let case = Case::new(step, what, view);
        let layout = match (is_reduction(case.kind), case.op()) {
            (false, _) => Layout::of(case.layouts(), view.me),
            (true, Op::Sum | Op::Max | Op::Bxor) => Layout::Ints,
            (true, Op::UserSum | Op::Compose) if case.layouts() & 1 != 0 => Layout::Gapped,
            (true, _) => Layout::Pair,
        };
        let mut send = Strip::new(layout, &case.given());
        let mut recv = Strip::new(layout, &case.before());
        let compared = case.after().map(|after| after.len());
        let start = |chosen, send: &mut Strip, recv: &mut Strip| {
            // SAFETY: the two strips hold what the case says, and live until the operation is complete: here, or in
            // `pending`, which is never freed before.
            unsafe { self.start(&case, chosen, comm, send, recv) }
        };
        match case.form() {
            Form::Blocking => {
                start(Chosen::Blocking, &mut send, &mut recv)?;
            }
            Form::Nonblocking { later } => {
                let request = start(Chosen::Nonblocking, &mut send, &mut recv)?;
                let strips = vec![send, recv];
                self.pending.push(Pending { step, due: step + 1 + later, request, strips, compared });
                return Ok(());
            }
            Form::Persistent => {
                let request = start(Chosen::Persistent, &mut send, &mut recv)?;
                for _ in 0..2 {
                    recv.refill(&case.before());
                    let ended = self.begin(request).and_then(|()| self.wait(request));
                    if let Err(error) = ended {
                        // Other ranks may still write to it.
                        std::mem::forget((send, recv));
                        return Err(error);
                    }
                }
                self.rank.call(Fun::RequestFree).enter()?.requests.remove(request.0);
            }
        }
        match compared {
            Some(compared) => self.note_strip(step, &recv, compared),
            None => Ok(()),
        }
    }

    /// Starts a persistent request as `MPI_Start` does.
    fn begin(&self, request: Request) -> Result<()> {
        let call = self.rank.call(Fun::Start);
        let mut guard = call.enter()?;
        let Body::Persistent(start, None) = &guard.request(request)?.body else { return Ok(()) };
        let start = (**start).clone();
        let active = guard.begin(&start)?;
        if let Some(Body::Persistent(_, place)) = guard.requests.get_mut(request.0).map(|request| &mut request.body) {
            *place = Some(active);
        }
        Ok(())
    }

    /// Makes the call; the null request for a blocking one.
    ///
    /// # Safety
    /// The strips are those of the case, and live until the operation is complete.
    unsafe fn start(
        &self,
        case: &Case,
        chosen: Chosen,
        comm: Comm,
        send: &mut Strip,
        recv: &mut Strip,
    ) -> Result<Request> {
        let layout = send.layout;
        let datatype = match case.op() {
            Op::MinLoc if layout == Layout::Pair && is_reduction(case.kind) => MPI_2INT,
            _ => self.datatype(layout),
        };
        let in_place: *mut c_void = std::ptr::without_provenance_mut(MPI_IN_PLACE);
        let (sent, received): (*mut c_void, *mut c_void) = (send.address().cast(), recv.address().cast());
        let (sent, received) = match (case.is_in_place(), case.kind) {
            (true, Kind::Scatter | Kind::Scatterv) => (sent, in_place),
            (true, _) => (in_place, received),
            (false, _) => (sent, received),
        };
        let (sends, receives) = (case.send_spans(), case.recv_spans());
        let elements = |units: usize| (units * layout.elements()) as i64;
        let first = |spans: &Spans| elements(spans.counts.first().copied().unwrap_or(0));
        let (sender, receiver) = (Arrays::new(&sends, layout), Arrays::new(&receives, layout));
        let (one_sent, one_received) =
            (Block::new(sent, first(&sends), datatype), Block::new(received, first(&receives), datatype));
        let (many_sent, many_received) = (sender.blocks(sent, datatype), receiver.blocks(received, datatype));
        let types = vec![datatype; sends.counts.len().max(receives.counts.len())];
        let (mixed_sent, mixed_received) = (sender.mixed(sent, &types), receiver.mixed(received, &types));
        let op = match case.op() {
            Op::Sum => MPI_SUM,
            Op::Max => MPI_MAX,
            Op::Bxor => MPI_BXOR,
            Op::MinLoc => MPI_MINLOC,
            Op::UserSum => self.user_sum,
            Op::Compose => self.compose,
        };
        let operands = || Operands::new(sent, received, datatype, op);
        let result_counts: Vec<i64> = case.result_counts().into_iter().map(elements).collect();
        let counts = Ints::wide(result_counts.as_ptr());
        let (root, count) = (case.root_argument(), elements(case.count()));
        macro_rules! make {
            ($name:ident, $blocking:ident, $nonblocking:ident, $persistent:ident, $($argument:expr),*) => {
                // SAFETY: the memory that the arguments name lives until the operation is complete, and nobody else
                // changes it: the condition of this function.
                unsafe {
                    match chosen {
                        Chosen::Blocking => {
                            let call = self.rank.call_on(Fun::$blocking, comm);
                            coll::$name(&call, Blocking, $($argument,)* comm).map(|()| MPI_REQUEST_NULL)
                        }
                        Chosen::Nonblocking => {
                            coll::$name(&self.rank.call_on(Fun::$nonblocking, comm), Nonblocking, $($argument,)* comm)
                        }
                        Chosen::Persistent => {
                            let call = self.rank.call_on(Fun::$persistent, comm);
                            coll::$name(&call, Persistent(MPI_INFO_NULL), $($argument,)* comm)
                        }
                    }
                }
            };
        }
        match case.kind {
            Kind::Barrier => make!(barrier, Barrier, Ibarrier, BarrierInit,),
            Kind::Bcast => make!(bcast, Bcast, Ibcast, BcastInit, one_received, root),
            Kind::Gather => make!(gather, Gather, Igather, GatherInit, one_sent, one_received, root),
            Kind::Gatherv => make!(gatherv, Gatherv, Igatherv, GathervInit, one_sent, many_received, root),
            Kind::Scatter => make!(scatter, Scatter, Iscatter, ScatterInit, one_sent, one_received, root),
            Kind::Scatterv => make!(scatterv, Scatterv, Iscatterv, ScattervInit, many_sent, one_received, root),
            Kind::Allgather => make!(allgather, Allgather, Iallgather, AllgatherInit, one_sent, one_received),
            Kind::Allgatherv => make!(allgatherv, Allgatherv, Iallgatherv, AllgathervInit, one_sent, many_received),
            Kind::Alltoall => make!(alltoall, Alltoall, Ialltoall, AlltoallInit, one_sent, one_received),
            Kind::Alltoallv => make!(alltoallv, Alltoallv, Ialltoallv, AlltoallvInit, many_sent, many_received),
            Kind::Alltoallw => make!(alltoallw, Alltoallw, Ialltoallw, AlltoallwInit, mixed_sent, mixed_received),
            Kind::Reduce => make!(reduce, Reduce, Ireduce, ReduceInit, operands(), count, root),
            Kind::Allreduce => make!(allreduce, Allreduce, Iallreduce, AllreduceInit, operands(), count),
            Kind::ReduceScatterBlock => make!(
                reduce_scatter_block,
                ReduceScatterBlock,
                IreduceScatterBlock,
                ReduceScatterBlockInit,
                operands(),
                count
            ),
            Kind::ReduceScatter => {
                make!(reduce_scatter, ReduceScatter, IreduceScatter, ReduceScatterInit, operands(), counts)
            }
            Kind::Scan => make!(scan, Scan, Iscan, ScanInit, operands(), count),
            Kind::Exscan => make!(exscan, Exscan, Iexscan, ExscanInit, operands(), count),
        }
    }
}

fn is_reduction(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, Reduce | Allreduce | ReduceScatterBlock | ReduceScatter | Scan | Exscan)
}

/// Counts and displacements as the program passes them.
struct Arrays {
    counts: Vec<i64>,
    displs: Vec<i64>,
    bytes: Vec<i64>,
}

impl Arrays {
    fn new(spans: &Spans, layout: Layout) -> Arrays {
        let counts = spans.counts.iter().map(|&units| (units * layout.elements()) as i64).collect();
        let displs = spans.displs.iter().map(|&units| (units * layout.elements()) as i64).collect();
        let bytes = spans.displs.iter().map(|&units| (units * layout.stride() * 4) as i64).collect();
        Arrays { counts, displs, bytes }
    }

    fn blocks(&self, address: *mut c_void, datatype: handle::Datatype) -> Blocks {
        Blocks::new(address, Ints::wide(self.counts.as_ptr()), Ints::wide(self.displs.as_ptr()), datatype)
    }

    fn mixed(&self, address: *mut c_void, types: &[handle::Datatype]) -> Mixed {
        Mixed::new(address, Ints::wide(self.counts.as_ptr()), Ints::wide(self.bytes.as_ptr()), types.as_ptr())
    }
}
