//! Partitioned messages: a persistent send whose partitions the program marks ready one by one, in
//! any order and from any thread, and a persistent receive that can tell which of its partitions
//! have arrived.
//!
//! Every partition of the sender is a message. The two sides may partition their buffers
//! differently, so the sender announces its partitions once, when its request is made.
//! Announcements are matched by the program's tags in the order of the calls that make the
//! requests, as the standard requires. Announcements and partitions use the communicator's inner
//! context, with sources that nothing else uses there.

mod start;

use crate::check::{self, message::Expected};
use crate::collective::note;
use crate::engine::{Engine, Mode, OpId, Outcome, Route};
use crate::matching::Pattern;
use oxmpi_abi::constants::{MPI_ERR_ARG, MPI_ERR_TRUNCATE};
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_base::ids::Peer;
use oxmpi_check::Finding;
use oxmpi_check::catalogue::TYPE_MESSAGE;
use oxmpi_datatype::{OwnedBytes, Source, Target};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The announcement of a sender: the number of partitions, the bytes of each, the number of the
/// first, and for `--check` the classes of all elements, or 0.
type Note = [u64; 4];

/// The tag of a partition, by its number among all partitions of this process.
fn tag(number: u64) -> i32 {
    i32::MIN | (number & (i32::MAX as u64)) as i32
}

/// A partitioned send that can be started. Without a route it goes to `MPI_PROC_NULL`.
pub struct Outgoing {
    buf: Source<'static>,
    partitions: usize,
    route: Option<Route>,
    /// The number of the first partition.
    first: u64,
}

/// A send that was started.
pub struct Sending {
    plan: Arc<Outgoing>,
    ready: Box<[bool]>,
    left: usize,
    under_way: Vec<OpId>,
    error: Option<Error>,
}

impl Outgoing {
    pub fn context(&self) -> Option<u32> {
        self.route.as_ref().map(|route| route.context)
    }

    pub fn peer(&self) -> Option<Peer> {
        self.route.as_ref().map(|route| route.peer)
    }

    pub fn start(self: &Arc<Self>) -> Sending {
        let ready = vec![false; self.partitions].into_boxed_slice();
        Sending { plan: Arc::clone(self), ready, left: self.partitions, under_way: Vec::new(), error: None }
    }
}

impl Sending {
    /// Sends a partition that is ready.
    pub fn mark(&mut self, engine: &mut Engine, partition: usize) {
        self.ready[partition] = true;
        self.left -= 1;
        if let (Some(route), Some(part)) = (&self.plan.route, self.part(partition)) {
            let route = Route { tag: tag(self.plan.first + partition as u64), ..*route };
            self.under_way.extend(engine.send(Mode::Standard, &route, part));
        }
    }

    /// What is sent as a partition.
    pub fn part(&self, partition: usize) -> Option<Source<'static>> {
        let bytes = self.plan.buf.len() / self.ready.len();
        self.plan.route.as_ref().map(|_| self.plan.buf.part(partition * bytes, bytes))
    }

    /// Whether partitions may be marked: they exist, and have not been marked.
    pub fn check(&self, partitions: impl Iterator<Item = i32>) -> Result<()> {
        for partition in partitions {
            check_partition(partition, self.ready.len())?;
            if self.ready[partition as usize] {
                bail!(MPI_ERR_ARG, "partition {partition} has been marked ready already");
            }
        }
        Ok(())
    }

    pub(crate) fn is_done(&mut self, engine: &mut Engine) -> bool {
        let Sending { under_way, error, .. } = self;
        under_way.retain(|&op| match engine.take_outcome(op) {
            None => true,
            Some(outcome) => {
                note(error, outcome.error);
                false
            }
        });
        self.left == 0 && under_way.is_empty()
    }

    pub(crate) fn outcome(self) -> Outcome {
        Outcome { error: self.error, ..Outcome::sent() }
    }

    /// The process that receives it.
    pub(crate) fn receiver(&self) -> Option<Peer> {
        self.plan.peer()
    }

    /// How many partitions are not marked ready, and how many there are.
    pub(crate) fn unmarked(&self) -> (usize, usize) {
        (self.left, self.ready.len())
    }

    /// A part that has not left yet, when all are ready.
    pub(crate) fn last_part(&self) -> Option<OpId> {
        self.under_way.first().copied().filter(|_| self.left == 0)
    }
}

/// A receive that can be started.
pub struct Incoming {
    buf: Target<'static>,
    partitions: usize,
    pattern: Pattern,
    /// The source and the tag as the program passed them.
    from: (i32, i32),
    /// The classes of its elements, or 0.
    classes: u64,
    heard: Mutex<Heard>,
}

enum Heard {
    /// The receive of the announcement, and its memory.
    NotYet(OpId, OwnedBytes),
    Note(Note),
    /// The announcement will never come: the sender has ended, or the request was freed.
    Never,
}

/// A receive that was started.
pub struct Receiving {
    plan: Arc<Incoming>,
    /// The sender's partitions that have not arrived, once their number is known: the receive of
    /// each and its number.
    missing: Option<Vec<(OpId, u64)>>,
    /// For a recorder, which shall know the call that has started it.
    expected: Option<Expected>,
    status: Status,
    error: Option<Error>,
}

impl Incoming {
    pub fn context(&self) -> u32 {
        self.pattern.context
    }

    pub fn start(self: &Arc<Self>) -> Receiving {
        let status = Status::new(self.from.0, self.from.1, 0);
        let expected = check::records().then(Expected::recorded);
        Receiving { plan: Arc::clone(self), missing: None, expected, status, error: None }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, engine: &mut Engine) -> Option<Note> {
        let mut heard = self.heard();
        if let Heard::NotYet(op, words) = &mut *heard {
            engine.take_outcome(*op)?;
            let bytes = words.as_slice();
            *heard = Heard::Note(std::array::from_fn(|index| word(&bytes[8 * index..])));
        }
        match *heard {
            Heard::Note(note) => Some(note),
            Heard::NotYet(..) | Heard::Never => None,
        }
    }

    /// Frees the request.
    pub fn forget(&self, engine: &mut Engine) {
        let mut heard = self.heard();
        if let Heard::NotYet(op, _) = &*heard {
            engine.cancel_recv(*op);
            engine.detach(*op);
            *heard = Heard::Never;
        }
    }
}

impl Receiving {
    /// Receives partitions that have arrived, if the announcement has; whether it has.
    fn advance(&mut self, engine: &mut Engine) -> bool {
        let plan = Arc::clone(&self.plan);
        if self.missing.is_none() {
            let Some([count, bytes, first, classes]) = plan.note(engine) else { return false };
            let all = plan.buf.len() as u64;
            if classes != 0 && plan.classes != 0 && classes != plan.classes && count * bytes == all {
                let (source, tag) = plan.from;
                let text = format!(
                    "the partitioned message from rank {source} with tag {tag} ({all} bytes) has elements of other types in \
                     MPI_Psend_init than in MPI_Precv_init"
                );
                check::tell_finding(engine.node(), Finding::new(&TYPE_MESSAGE, text), None);
            }
            self.status = Status::new(plan.from.0, plan.from.1, all.min(count * bytes));
            if count * bytes != all {
                let text = format!("the send has {count} partitions of {bytes} bytes, this receive is for {all} bytes");
                self.error = Some(Error::new(MPI_ERR_TRUNCATE, text));
            }
            let receive = |part: u64| {
                let (from, pattern) = ((part * bytes) as usize, Pattern { tag: tag(first + part), ..plan.pattern });
                (engine.recv_as(pattern, plan.buf.part(from, bytes as usize), self.expected.clone()), part)
            };
            self.missing = Some((0..count).map(receive).collect());
        }
        let Receiving { missing: Some(missing), error, .. } = self else { return false };
        missing.retain(|(op, _)| match engine.take_outcome(*op) {
            None => true,
            Some(outcome) => {
                note(error, outcome.error);
                false
            }
        });
        true
    }

    pub(crate) fn is_done(&mut self, engine: &mut Engine) -> bool {
        self.advance(engine) && self.missing.as_ref().is_some_and(Vec::is_empty)
    }

    pub(crate) fn outcome(&self) -> Outcome {
        Outcome { status: self.status, error: self.error.clone() }
    }

    /// The context of the partitions, and the rank that they come from.
    pub(crate) fn sender(&self) -> (u32, usize) {
        (self.plan.context(), self.source())
    }

    /// The rank that the partitions come from.
    pub(crate) fn source(&self) -> usize {
        self.plan.from.0 as usize
    }

    /// Ends the receive with an error, unless everything has arrived.
    pub(crate) fn fail(&mut self, engine: &mut Engine, why: Error) {
        if self.is_done(engine) {
            return;
        }
        self.plan.forget(engine);
        let missing = self.missing.replace(Vec::new()).unwrap_or_default();
        for (op, _) in missing {
            engine.cancel_recv(op);
            engine.detach(op);
        }
        note(&mut self.error, Some(why));
    }

    /// Whether one of our own partitions has arrived.
    pub fn has(&mut self, engine: &mut Engine, partition: i32) -> Result<bool> {
        check_partition(partition, self.plan.partitions)?;
        self.advance(engine);
        let (Some(missing), Some([theirs, ..])) = (&self.missing, self.plan.note(engine)) else { return Ok(false) };
        // Computed from shares of the whole, since the whole may have no bytes.
        let (ours, partition) = (self.plan.partitions as u64, partition as u64);
        let is_apart = |part: u64| (part + 1) * ours <= partition * theirs || part * ours >= (partition + 1) * theirs;
        Ok(missing.iter().all(|&(_, part)| is_apart(part)))
    }
}

/// The first word of the bytes.
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}

/// Locks a receive, to read or advance it.
pub fn lock(receiving: &Mutex<Receiving>) -> MutexGuard<'_, Receiving> {
    receiving.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check_partition(partition: i32, partitions: usize) -> Result<()> {
    if partition < 0 || partition as usize >= partitions {
        bail!(MPI_ERR_ARG, "there is no partition {partition}; the partitions are 0 to {}", partitions - 1);
    }
    Ok(())
}
