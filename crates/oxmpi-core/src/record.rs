//! What a recorder hears: a library that `mpirun --profile` and `--trace` load into the ranks. Without one, nothing here is
//! called; the short ways of messages test the same byte as for `--check`. With one, puts and gets take the general way.

use crate::check;
use crate::explain;
use crate::matching::Envelope;
use oxmpi_abi::Status;
use oxmpi_abi::functions::Fun;
use oxmpi_base::ids::Peer;
use oxmpi_profile::hooks::{ELSEWHERE, Message, Recorder};
use oxmpi_transport::NodeMemory;
use std::cell::Cell;
use std::sync::OnceLock;

static RECORDER: OnceLock<&'static Recorder> = OnceLock::new();

/// From now on this recorder hears of everything; a second one is ignored.
pub fn begin(recorder: &'static Recorder) {
    if RECORDER.set(recorder).is_ok() {
        check::record();
        explain::record();
    }
}

/// The recorder, if there is one.
#[inline]
fn recorder() -> Option<&'static Recorder> {
    if check::records() { RECORDER.get().copied() } else { None }
}

/// Whether a recorder is all that keeps messages from the short ways.
#[inline]
pub fn is_alone() -> bool {
    check::records() && !check::is_on()
}

/// A message as it is told: a partition is the program's, and has a tag that no other message of it has.
fn told(message: Message) -> Message {
    let Message { context, source, tag, .. } = message;
    match (Envelope { context, source, tag }).sender_of_part() {
        Some(source) => Message { context: context & !1, source, ..message },
        None => message,
    }
}

/// A message was posted.
#[cold]
pub fn sent(node: &NodeMemory, to: Peer, message: Message) {
    if let Some(recorder) = recorder() {
        (recorder.sent)(node.nodes().rank_of(to).map_or(ELSEWHERE, |rank| rank.index() as u32), told(message));
    }
}

/// A receive is posted; its number for [`matched`].
#[cold]
pub(crate) fn posted() -> Option<u32> {
    recorder().map(|recorder| (recorder.posted)())
}

/// A message was received at once.
#[cold]
pub fn received(context: u32, status: &Status) {
    let envelope = Envelope { context, source: status.source, tag: status.tag };
    if let Some(posted) = posted() {
        matched(posted, &envelope, status.bytes());
    }
}

/// A message has matched a receive.
#[cold]
pub(crate) fn matched(posted: u32, envelope: &Envelope, bytes: u64) {
    if let Some(recorder) = recorder() {
        let Envelope { context, source, tag } = *envelope;
        (recorder.matched)(posted, told(Message { bytes, context, source, tag }));
    }
}

/// What a recorder was told of a wait.
pub(crate) struct Told {
    is_heard: bool,
    waits: bool,
}

impl Told {
    #[inline]
    pub fn new() -> Told {
        Told { is_heard: check::records(), waits: false }
    }

    /// The call has looked in vain.
    #[inline]
    pub fn begin(&mut self) {
        if self.is_heard && !self.waits {
            self.tell(true);
        }
    }

    /// Something has come.
    #[inline]
    pub fn stop(&mut self) {
        if self.waits {
            self.tell(false);
        }
    }

    #[cold]
    fn tell(&mut self, waits: bool) {
        self.waits = waits;
        if let Some(recorder) = recorder() {
            (recorder.waits)(waits.into());
        }
    }
}

/// What a persistent collective operation tells each time that it is started.
#[derive(Clone, Copy, Default)]
pub struct Kept {
    bytes: u64,
    algorithm: Option<&'static str>,
}

thread_local! {
    /// What the call of this thread has told that makes a persistent operation.
    static KEPT: Cell<Kept> = const { Cell::new(Kept { bytes: 0, algorithm: None }) };
}

/// Whether the function makes a persistent operation, of which nothing happens yet.
fn only_makes(fun: Fun) -> bool {
    fun.name().trim_end_matches("_c").ends_with("_init")
}

/// The call is a collective operation of so many bytes of this rank.
#[cold]
pub fn collective(fun: Fun, bytes: u64) {
    if let Some(recorder) = recorder() {
        if only_makes(fun) {
            KEPT.set(Kept { bytes, algorithm: None });
        } else {
            (recorder.collective)(bytes);
        }
    }
}

/// The algorithm of the collective operation.
#[cold]
pub fn algorithm(fun: Fun, name: &'static str) {
    if let Some(recorder) = recorder() {
        if only_makes(fun) {
            KEPT.set(Kept { algorithm: Some(name), ..KEPT.get() });
        } else {
            (recorder.algorithm)(name.as_ptr(), name.len());
        }
    }
}

/// What the persistent operation will tell that this thread makes.
pub fn kept() -> Kept {
    KEPT.take()
}

/// A persistent operation is started.
#[cold]
pub(crate) fn started(kept: Kept) {
    if let Some(recorder) = recorder() {
        (recorder.collective)(kept.bytes);
        if let Some(name) = kept.algorithm {
            (recorder.algorithm)(name.as_ptr(), name.len());
        }
    }
}

/// The call accesses so many bytes of a window.
#[cold]
pub fn accessed(bytes: u64) {
    if let Some(recorder) = recorder() {
        (recorder.accessed)(bytes);
    }
}
