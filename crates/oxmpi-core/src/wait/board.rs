//! Waiting for the other ranks of a board: first some polls of the board alone, since the other
//! ranks usually arrive soon; then like every call.

use super::mismatch::MismatchCheck;
use crate::call::{Call, Guard};
use crate::record::Told;
use oxmpi_abi::constants::MPI_ERR_BUFFER;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::ids::Peer;
use oxmpi_base::wait;
use oxmpi_transport::NodeMemory;
use oxmpi_transport::board::Wait;
use std::thread;
use std::time::{Duration, Instant};

/// How an operation over a board waits.
pub struct BoardWait<'a, 'l> {
    call: &'a Call<'a>,
    guard: &'a mut Guard<'l>,
    check: &'a MismatchCheck,
    /// Why the wait can never succeed.
    error: Option<Error>,
}

impl<'a, 'l> BoardWait<'a, 'l> {
    #[inline]
    pub fn new(call: &'a Call<'a>, guard: &'a mut Guard<'l>, check: &'a MismatchCheck) -> BoardWait<'a, 'l> {
        BoardWait { call, guard, check, error: None }
    }

    /// The cause of a failed operation: what ended a wait, or a process that has died, for which
    /// another rank may have abandoned the board.
    #[cold]
    pub fn cause(&mut self, error: Error) -> Error {
        match self.error.take() {
            Some(error) => error,
            None => self.check.cause(self.guard, error),
        }
    }
}

impl BoardWait<'_, '_> {
    /// A copy has failed. If the other process is ending, the log says so soon: then that is the cause.
    #[cold]
    fn await_verdict(&self, process: Peer) {
        let began = Instant::now();
        let node = self.guard.engine.node();
        while node.goes_on() && node.end_in_log(process).is_none() && began.elapsed() < VERDICT {
            thread::sleep(LOOK);
        }
    }
}

/// So long the log may take to tell the end of a process whose memory is gone, and how often it is looked at.
const VERDICT: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_micros(200);

/// Polls while every awake rank has a CPU (some ten microseconds).
const POLLS: usize = 250;
/// Yields, when ranks outnumber CPUs, before messages are polled.
const CPU_YIELDS: usize = 8;

impl Wait for BoardWait<'_, '_> {
    #[inline]
    fn shortly(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        // With pauses: polling as often as possible delays the awaited write, and the other thread
        // of the core.
        let mut poll = |_| {
            let is_ready = ready();
            if !is_ready {
                std::hint::spin_loop();
            }
            is_ready
        };
        (0..wait::looks_before_yield(self.guard.shared().job(), POLLS)).any(&mut poll)
    }

    #[inline]
    fn until(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        if self.shortly(&mut ready) {
            return true;
        }
        let mut told = Told::new();
        told.begin();
        if !self.guard.is_shared() {
            for _ in 0..CPU_YIELDS {
                if !wait::is_oversubscribed(self.guard.shared().job()) {
                    break;
                }
                wait::yield_cpu();
                if ready() {
                    told.stop();
                    return true;
                }
            }
        }
        let came = self.call.wait(self.guard, self.check, |_| ready().then_some(()));
        told.stop();
        self.error = came.err();
        self.error.is_none()
    }

    fn give_way(&mut self) {
        self.guard.yield_cpu();
    }

    #[inline]
    fn wake(&mut self, process: Peer) {
        self.guard.engine.node().wake(process);
    }

    #[expect(unsafe_code, reason = "memory of another process")]
    unsafe fn read(&mut self, process: Peer, to: *mut u8, from: usize, bytes: usize) -> Result<()> {
        // SAFETY: the caller says that `to` can be written, and `from` is memory that the process shows.
        let copied = unsafe { copy_from(self.guard.engine.node(), process, to, from, bytes) };
        copied.inspect_err(|_| self.await_verdict(process))
    }

    #[expect(unsafe_code, reason = "memory of another process")]
    unsafe fn write(&mut self, process: Peer, from: *const u8, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: the caller says that `from` can be read, and `to` is memory that the process shows.
        let copied = unsafe { copy_to(self.guard.engine.node(), process, from, to, bytes) };
        copied.inspect_err(|_| self.await_verdict(process))
    }

    fn has_ended(&self, process: Peer) -> bool {
        self.guard.engine.node().end_in_log(process).is_some()
    }
}

/// Copies from another process's memory, all of it.
///
/// # Safety
/// As for [`Wait::read`].
#[expect(unsafe_code, reason = "memory of another process")]
pub(crate) unsafe fn copy_from(node: &NodeMemory, process: Peer, to: *mut u8, from: usize, bytes: usize) -> Result<()> {
    in_full(bytes, |done| {
        node.copy_from(process, &[(to as usize + done, bytes - done)], &[(from + done, bytes - done)])
    })
}

/// Copies to another process's memory, all of it.
///
/// # Safety
/// As for [`Wait::write`].
#[expect(unsafe_code, reason = "memory of another process")]
pub(crate) unsafe fn copy_to(node: &NodeMemory, process: Peer, from: *const u8, to: usize, bytes: usize) -> Result<()> {
    in_full(bytes, |done| node.copy_to(process, &[(from as usize + done, bytes - done)], &[(to + done, bytes - done)]))
}

/// Copies everything; each call may copy less than it should.
fn in_full(bytes: usize, mut copy: impl FnMut(usize) -> std::io::Result<usize>) -> Result<()> {
    let mut done = 0;
    while done < bytes {
        match copy(done) {
            Ok(0) => bail!(MPI_ERR_BUFFER, "a buffer of another rank ends before its {bytes} bytes do"),
            Ok(more) => done += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                bail!(MPI_ERR_BUFFER, "cannot copy {bytes} bytes between this rank's memory and another's: {error}")
            }
        }
    }
    Ok(())
}
