//! Requests: operations that were started, or can be started, behind their handles.

use crate::callback::Callback;
use crate::check::message::Expected;
use crate::collective::{BoardOperation, BoundPlan};
use crate::engine::{Engine, Mode, OpId, Outcome, Route};
use crate::file_tasks::FileAccess;
use crate::matching::Pattern;
use crate::partitioned::{Incoming, Outgoing, Receiving, Sending, lock};
use crate::record::Kept;
use oxmpi_abi::callbacks::{GrequestCancelFn, GrequestFreeFn, GrequestQueryFn};
use oxmpi_abi::handle::{self, Comm};
use oxmpi_abi::{Error, Status};
use oxmpi_base::message_queues::{OperationKind, RequestKind, RequestsPlace, inside_option};
use oxmpi_base::slots::SlotTable;
use oxmpi_datatype::{OwnedBytes, Source, Target};
use std::mem::{align_of, offset_of, size_of};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A request and the communicator whose error handler gets its errors.
pub struct Request {
    pub comm: Comm,
    pub body: Body,
}

impl Request {
    /// Where a debugger finds the requests of a table at `offset`.
    pub fn place(offset: usize) -> RequestsPlace {
        /// What `repr(u8)` promises for a variant.
        #[repr(C)]
        struct Persistent(u8, Box<Start>, Option<Active>);
        // Nothing but a value of the kind tells an operation from none.
        const { assert!(size_of::<Option<Active>>() == size_of::<Active>()) };
        let kind = offset_of!(Request, body);
        RequestsPlace {
            table: SlotTable::<Request>::place(offset),
            kind: kind as u32,
            once: (kind + align_of::<Active>()) as u32,
            persistent: (kind + offset_of!(Persistent, 2) + inside_option::<Active>()) as u32,
            operation: align_of::<OpId>() as u32,
        }
    }
}

#[repr(u8)]
pub enum Body {
    Once(Active) = RequestKind::Once as u8,
    /// A send that was complete when it was started. One permanent request stands for all of them.
    Sent = RequestKind::Sent as u8,
    /// Can be started repeatedly; `None` while inactive.
    Persistent(Box<Start>, Option<Active>) = RequestKind::Persistent as u8,
    Generalized(Box<Generalized>) = RequestKind::Generalized as u8,
}

/// An operation that was started.
#[repr(u8)]
pub enum Active {
    Send(OpId) = OperationKind::Send as u8,
    Recv(OpId) = OperationKind::Recv as u8,
    /// A send and a receive that complete together, as in `MPI_Isendrecv`; the status is the receive's.
    Exchange(Box<Exchange>) = OperationKind::Exchange as u8,
    /// Waits until the messages before a mark have left a buffer.
    Flush(PoolId, u64) = OperationKind::Flush as u8,
    /// Something that progress completes by itself: done when the cell has its outcome.
    Promise(Promise) = OperationKind::Promise as u8,
    /// A partitioned send or receive.
    Sending(Box<Sending>) = OperationKind::Sending as u8,
    Receiving(Arc<Mutex<Receiving>>) = OperationKind::Receiving as u8,
    /// An access to a file.
    File(Arc<FileAccess>) = OperationKind::File as u8,
    /// Complete from the start.
    Done(Outcome) = OperationKind::Done as u8,
}

/// The outcome of something that progress completes by itself: unknown until it has ended, then its error if there was one.
/// A clone tells of the same thing.
#[derive(Clone, Default)]
pub struct Promise(Arc<End>);

#[derive(Default)]
struct End {
    has_ended: AtomicBool,
    error: OnceLock<Error>,
}

impl Promise {
    /// Of something that has ended.
    pub fn ended(error: Option<Error>) -> Promise {
        let promise = Promise::default();
        promise.end(error);
        promise
    }

    /// Notes the end. Only whoever carries the thing out calls this, once.
    #[inline]
    pub fn end(&self, error: Option<Error>) {
        if let Some(error) = error {
            let _ = self.0.error.set(error);
        }
        // Release: who sees the end sees the error, and what the operation wrote.
        self.0.has_ended.store(true, Ordering::Release);
    }

    #[inline]
    pub fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Acquire)
    }

    /// The error, if it has ended with one.
    pub fn error(&self) -> Option<Error> {
        self.0.error.get().cloned()
    }

    /// Whether both are of the same thing.
    pub fn is(&self, other: &Promise) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

pub struct Exchange {
    pub send: Option<OpId>,
    pub recv: Option<OpId>,
    pub sent: Option<Outcome>,
    /// The bytes that `MPI_Isendrecv_replace` sends.
    pub kept: Option<OwnedBytes>,
}

/// A buffer for buffered sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolId {
    Process,
    Comm(Comm),
    Session(oxmpi_abi::handle::Session),
}

/// How to start a persistent operation.
#[derive(Clone)]
pub enum Start {
    Send {
        mode: Mode,
        route: Route,
        buf: Source<'static>,
    },
    /// Uses the buffer that is attached when it starts.
    Buffered {
        comm: Comm,
        route: Route,
        buf: Source<'static>,
    },
    Recv {
        pattern: Pattern,
        buf: Target<'static>,
        expected: Option<Expected>,
    },
    Collective(Arc<BoundPlan>, Kept),
    /// A collective operation over a board of its own.
    OnBoard(Arc<BoardOperation>, Kept),
    Outgoing(Arc<Outgoing>),
    Incoming(Arc<Incoming>),
    /// To or from `MPI_PROC_NULL`.
    Nothing(Status),
}

/// A generalized request: the program performs the operation and provides functions.
#[derive(Clone, Copy)]
pub struct Generalized {
    pub query: Callback<GrequestQueryFn>,
    pub free: Callback<GrequestFreeFn>,
    pub cancel: Callback<GrequestCancelFn>,
    pub extra_state: usize,
    pub complete: bool,
    /// The user freed the handle before the operation was complete.
    pub freed: bool,
}

impl Active {
    /// Whether it is done, after `progress` has done what it could.
    pub fn is_done(&mut self, engine: &mut Engine, flushed: impl FnOnce(&mut Engine, PoolId, u64) -> bool) -> bool {
        match self {
            Active::Send(op) | Active::Recv(op) => engine.is_done(*op),
            Active::Exchange(exchange) => {
                let Exchange { send, recv, sent, .. } = &mut **exchange;
                if let Some(op) = *send
                    && let Some(outcome) = engine.take_outcome(op)
                {
                    *sent = Some(outcome);
                    *send = None;
                }
                send.is_none() && recv.is_none_or(|op| engine.is_done(op))
            }
            Active::Flush(pool, mark) => flushed(engine, *pool, *mark),
            Active::Promise(promise) => promise.has_ended(),
            Active::Sending(sending) => sending.is_done(engine),
            Active::Receiving(receiving) => lock(receiving).is_done(engine),
            Active::File(access) => access.end.get().is_some(),
            Active::Done(_) => true,
        }
    }

    /// Its outcome; call this once, when it is done.
    pub fn finish(self, engine: &mut Engine) -> Outcome {
        let ended = |outcome: Option<Outcome>| outcome.unwrap_or_else(Outcome::sent);
        match self {
            Active::Send(op) | Active::Recv(op) => ended(engine.take_outcome(op)),
            Active::Exchange(exchange) => {
                let Exchange { recv, sent, .. } = *exchange;
                let received = match recv {
                    Some(op) => ended(engine.take_outcome(op)),
                    None => Outcome { status: Status::proc_null(), error: None },
                };
                let error = received.error.or(sent.and_then(|outcome| outcome.error));
                Outcome { status: received.status, error }
            }
            Active::Flush(..) => Outcome::sent(),
            Active::Promise(promise) => Outcome { status: Status::empty(), error: promise.error() },
            Active::Sending(sending) => sending.outcome(),
            Active::Receiving(receiving) => lock(&receiving).outcome(),
            Active::File(access) => ended(access.end.get().cloned()),
            Active::Done(outcome) => outcome,
        }
    }

    /// Its status, if it is done, without completing it.
    pub fn peek(&self, engine: &Engine) -> Status {
        match self {
            Active::Send(op) | Active::Recv(op) => engine.outcome(*op).map_or_else(Status::empty, |end| end.status),
            Active::Exchange(exchange) => match exchange.recv {
                Some(op) => engine.outcome(op).map_or_else(Status::empty, |end| end.status),
                None => Status::proc_null(),
            },
            Active::Flush(..) | Active::Promise(_) | Active::Sending(_) => Status::empty(),
            Active::Receiving(receiving) => lock(receiving).outcome().status,
            Active::File(access) => access.end.get().map_or_else(Status::empty, |end| end.status),
            Active::Done(outcome) => outcome.status,
        }
    }

    /// Tries to cancel it; `false` for operations that cannot be cancelled at all. A wait for it is local from now on: where
    /// a send is too far for being cancelled, it goes on from a copy. (A message that was offered to another host and not
    /// taken is the exception: its receiver decides. So is one that the receiver is reading over a fabric.)
    pub fn cancel(&mut self, engine: &mut Engine) -> bool {
        match self {
            Active::Send(op) => {
                let op = *op;
                engine.cancel_send(op);
                if engine.keep_copy(op) {
                    engine.detach(op);
                    *self = Active::Done(Outcome::sent());
                }
            }
            Active::Recv(op) => engine.cancel_recv(*op),
            // An access is never cancelled: it goes on to its end.
            Active::File(_) | Active::Done(_) => {}
            Active::Exchange(_)
            | Active::Flush(..)
            | Active::Promise(_)
            | Active::Sending(_)
            | Active::Receiving(_) => return false,
        }
        true
    }

    /// Frees the handle; the operation continues to its end.
    pub fn detach(self, engine: &mut Engine) {
        match self {
            Active::Send(op) | Active::Recv(op) => engine.detach(op),
            Active::Exchange(exchange) => {
                let Exchange { send, recv, kept, .. } = *exchange;
                if let Some(op) = recv {
                    engine.detach(op);
                }
                if let Some(op) = send {
                    engine.keep(op, kept);
                    engine.detach(op);
                }
            }
            Active::Sending(_) | Active::Receiving(_) => unreachable!("such a request is not given up before its end"),
            Active::Flush(..) | Active::Promise(_) | Active::File(_) | Active::Done(_) => {}
        }
    }
}

impl Body {
    /// The file whose access it is.
    pub fn file(&self) -> Option<handle::File> {
        match self {
            Body::Once(Active::File(access)) => Some(access.file),
            _ => None,
        }
    }
}

/// The result of `Process::finish_plain`.
pub enum Plain {
    Done,
    Failed(Error, Comm),
    Pending,
    /// Not a plain send or receive.
    Other,
}
