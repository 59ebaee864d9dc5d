//! The types of a message and of the receive that gets it. The sender tells the signature in a packet in front of the
//! message; the receiver compares it with as much of its own type as the message fills.

use crate::check;
use crate::matching::Envelope;
use crate::record;
use oxmpi_abi::functions::Fun;
use oxmpi_check::catalogue::{BUF_RECV, TYPE_MESSAGE};
use oxmpi_datatype::{Datatype, Signature, Source};
use oxmpi_transport::NodeMemory;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// What a receive expects, and who hears of its match.
#[derive(Clone)]
pub struct Expected(Arc<Parts>);

/// In one allocation, so that a receive without it keeps a null pointer and nothing more.
struct Parts {
    /// While programs are checked.
    checked: Option<Inner>,
    /// Its number for the recorder.
    posted: Option<AtomicU32>,
}

struct Inner {
    datatype: Arc<Datatype>,
    /// The call that began the receive.
    fun: Option<Fun>,
    comm: String,
    /// What has become of the receive: one of the constants below.
    state: AtomicU8,
    /// The hash of the buffer.
    hash: AtomicU64,
}

/// No message has matched it, and its request was not made yet.
const NEW: u8 = 0;
/// No message has matched it when its request was made; the hash is that of then.
const POSTED: u8 = 1;
/// A message has matched it.
const MATCHED: u8 = 2;
/// It was complete when its request was made; the hash is that of then.
const HERE: u8 = 3;
/// A message has matched it, and its buffer had been changed by the program, which was told.
const TOLD: u8 = 4;

impl Expected {
    /// A receive of elements of this type, which a call begins.
    pub(crate) fn new(datatype: Arc<Datatype>, fun: Fun, comm: String) -> Expected {
        let (state, hash) = (AtomicU8::new(NEW), AtomicU64::new(0));
        let inner = Inner { datatype, fun: Some(fun), comm, state, hash };
        Expected(Arc::new(Parts { checked: Some(inner), posted: record::posted().map(AtomicU32::new) }))
    }

    /// A receive that is only recorded.
    pub(crate) fn recorded() -> Expected {
        Expected(Arc::new(Parts { checked: None, posted: record::posted().map(AtomicU32::new) }))
    }

    /// A persistent receive is started by the call of this thread.
    pub(crate) fn started(&self) {
        if let (Some(posted), Some(number)) = (&self.0.posted, record::posted()) {
            posted.store(number, Relaxed);
        }
    }

    /// The receive has got a request; with `is_over`, its message is here.
    pub(crate) fn posted(&self, is_over: bool, buffer: &Source<'_>) {
        let Some(Inner { state, hash, .. }) = &self.0.checked else { return };
        let next = match state.load(Relaxed) {
            MATCHED if is_over => HERE,
            MATCHED => return,
            _ => POSTED,
        };
        hash.store(buffer.checksum(), Relaxed);
        state.store(next, Relaxed);
    }

    /// Whether the program has changed the buffer after the message had come.
    pub(crate) fn has_changed(&self, buffer: &Source<'_>) -> bool {
        let Some(Inner { state, hash, .. }) = &self.0.checked else { return false };
        state.load(Relaxed) == HERE && buffer.checksum() != hash.load(Relaxed)
    }

    /// The operation is complete; whether it was told that the program has changed the buffer.
    pub(crate) fn was_told(&self) -> bool {
        self.0.checked.as_ref().is_some_and(|inner| inner.state.load(Relaxed) == TOLD)
    }

    /// The request may be started again.
    pub(crate) fn renew(&self) {
        if let Some(inner) = &self.0.checked {
            inner.state.store(NEW, Relaxed);
        }
    }

    /// A message has matched the receive.
    #[cold]
    pub(crate) fn matched(&self, node: &NodeMemory, buffer: &Source<'_>) {
        let Some(Inner { state, hash, fun, .. }) = &self.0.checked else { return };
        if state.swap(MATCHED, Relaxed) == POSTED && buffer.checksum() != hash.load(Relaxed) {
            let fun = fun.map_or("a receive", Fun::name);
            let text = format!("the buffer of {fun} was changed by the program before its request was complete");
            check::tell(node, &BUF_RECV, text);
            state.store(TOLD, Relaxed);
        }
    }

    /// Compares the types of a message and of the receive that it has matched, and tells the recorder.
    #[cold]
    pub(crate) fn compare(&self, node: &NodeMemory, envelope: &Envelope, bytes: u64, sent: Signature) {
        if let Some(posted) = &self.0.posted {
            record::matched(posted.load(Relaxed), envelope, bytes);
        }
        let Some(Inner { datatype, fun, comm, .. }) = &self.0.checked else { return };
        if !sent.is_comparable() {
            return;
        }
        let fun = fun.map_or("a receive", Fun::name);
        let from = format!("from rank {} with tag {} on {comm}", envelope.source, envelope.tag);
        let what = match datatype.classes_of(bytes).map(Signature::new) {
            Some(own) if own.matches(sent) => return,
            Some(own) => format!("was sent as {} and is received as {}", sent.describe(), own.describe()),
            None => format!("was sent as {} and ends inside an element of {datatype:?}", sent.describe()),
        };
        let text = format!("the message of {fun} {from} ({bytes} bytes) {what}");
        check::tell(node, &TYPE_MESSAGE, text);
    }
}
