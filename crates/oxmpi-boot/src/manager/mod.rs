//! Process managers of others that started this process as one of several: what they say about the job, the few values
//! that the ranks exchange through them, and how they hear of an abort. `pmi.rs` speaks with Hydra, Flux and
//! `srun --mpi=pmi2`, `pmix.rs` with `srun --mpi=pmix`, PRRTE and Open MPI.
//!
//! A manager is needed while a job begins and when it ends; no message of MPI goes through it. What it says is checked
//! like the words of any other process. `record.rs` is what the nodes of a job tell each other through it.

pub mod pmi;
pub mod pmix;
pub mod record;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oxmpi_base::socket;

/// Time for a launcher to read what this process has written, before it is told to end the job.
const READING: Duration = Duration::from_secs(1);
/// Between two looks whether it has.
const LOOK: Duration = Duration::from_millis(2);

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
        // Hydra ends the processes before it looks at their output again: the reason of the abort would be lost.
        await_reader(io::stderr().as_fd(), READING);
        await_reader(io::stdout().as_fd(), READING);
        manager.abort(code, text);
    }
}

/// Waits until the reader of a stream has taken all that was written to it, or for this time. A file has no reader.
fn await_reader(output: BorrowedFd<'_>, most: Duration) {
    let until = Instant::now() + most;
    while socket::unread(output) > 0 && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
}

/// The manager, if there is one, is told that this process will end well.
pub fn finish() {
    if let Some(mut manager) = current().take() {
        manager.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    /// The reader of either kind of stream begins late, and is waited for.
    #[test]
    fn output_is_read_before_an_abort() {
        let (pipe_reader, pipe_writer) = io::pipe().unwrap();
        let (socket_reader, socket_writer) = UnixStream::pair().unwrap();
        let late = Duration::from_millis(100);
        let check = |mut reader: Box<dyn Read + Send>, mut writer: Box<dyn Write>, fd: BorrowedFd<'_>| {
            writer.write_all(b"why").unwrap();
            let begun = Instant::now();
            let reading = std::thread::spawn(move || {
                std::thread::sleep(late);
                reader.read_exact(&mut [0; 3]).unwrap();
                reader
            });
            await_reader(fd, Duration::from_secs(60));
            assert!((late..Duration::from_secs(30)).contains(&begun.elapsed()));
            drop(reading.join());
        };
        let copy = pipe_writer.try_clone().unwrap();
        check(Box::new(pipe_reader), Box::new(copy), pipe_writer.as_fd());
        let copy = socket_writer.try_clone().unwrap();
        check(Box::new(socket_reader), Box::new(copy), socket_writer.as_fd());
    }

    /// One that never reads, and a file, which has none.
    #[test]
    fn a_reader_is_not_waited_for_without_end() {
        let (_reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"why").unwrap();
        let begun = Instant::now();
        await_reader(writer.as_fd(), Duration::from_millis(50));
        assert!((Duration::from_millis(50)..Duration::from_secs(5)).contains(&begun.elapsed()));
        await_reader(std::fs::File::open("/dev/null").unwrap().as_fd(), Duration::from_secs(60));
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let begun = Instant::now();
        await_reader(file.as_fd(), Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
