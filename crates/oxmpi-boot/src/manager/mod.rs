//! Process managers of others that started this process as one of several: what they say about the job, the few values
//! that the ranks exchange through them, and how they hear of an abort. `pmi.rs` speaks with Hydra, Flux and
//! `srun --mpi=pmi2`.
//!
//! A manager is needed while a job begins and when it ends; no message of MPI goes through it. What it says is checked
//! like the words of any other process. `record.rs` is what the nodes of a job tell each other through it.

pub mod pmi;
pub mod record;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a manager says about this process and its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The launcher, for people: `Slurm's srun (PMI-1)`.
    pub launcher: String,
    pub rank: usize,
    pub size: usize,
    pub appnum: i32,
    /// `MPI_UNIVERSE_SIZE`; `None` where the manager does not say it.
    pub universe_size: Option<usize>,
    /// No other job of the user on a machine has this name at the same time.
    pub job: String,
}

/// A connection to a manager. The calls wait for its answers; an error says what is wrong, to follow the name of the
/// launcher.
pub trait Manager: Send {
    fn told(&self) -> &Told;

    /// The longest value that it takes.
    fn most_bytes(&self) -> usize;

    /// Gives a value to the manager. Others see it after a [fence](Manager::fence).
    fn put(&mut self, key: &str, value: &str) -> Result<(), String>;

    /// Waits until all ranks of the job are here.
    fn fence(&mut self) -> Result<(), String>;

    /// The value that a rank has put.
    fn get(&mut self, owner: usize, key: &str) -> Result<String, String>;

    /// Tells the manager to end the job. It may do that before this returns.
    fn abort(&mut self, code: i32, text: &str);

    /// This process needs the manager no more, and will end well.
    fn finish(&mut self);
}

/// The manager of this process, from the moment when it was reached until this process has finalized MPI. It is one for
/// the process, as its connection is, and an abort must find it whatever else is wrong.
static CURRENT: Mutex<Option<Box<dyn Manager>>> = Mutex::new(None);

fn current() -> MutexGuard<'static, Option<Box<dyn Manager>>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Uses a manager that was reached, and keeps it.
pub(crate) fn keep<R>(manager: Box<dyn Manager>, with: impl FnOnce(&mut dyn Manager) -> R) -> R {
    with(current().insert(manager).as_mut())
}

/// The manager, if there is one, is told to end the job with this status.
pub fn abort(code: i32, text: &str) {
    if let Some(manager) = current().as_mut() {
        manager.abort(code, text);
    }
}

/// The manager, if there is one, is told that this process will end well.
pub fn finish() {
    if let Some(mut manager) = current().take() {
        manager.finish();
    }
}
