//! The `mpirun` of a spawned job: the library starts it in `MPI_Comm_spawn`, with `--spawned` as
//! its first argument. The option is internal and not in `--help`. `oxmpi_boot::spawned` defines
//! the protocol and its terms (root, line, taken).
//!
//! Until the root has taken the job, every failure is reported to the root, which turns it into an
//! MPI error; nothing is printed, and the exit status is 0. After that the job is like any other,
//! except that it ends when its parents end while connected to it, and that its failure ends its
//! parents.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::{Duration, Instant};

use oxmpi_base::cpus::CpuSet;
use oxmpi_base::lifeline;
use oxmpi_boot::spawned::{self, Kind, Message, OPTION, Outer, Report, TAKEN};

use crate::options::Request;
use crate::sys::{self, Pid};

/// Time for the ranks to end by themselves after the root has ended: the root may have left them in
/// `MPI_Finalize`.
const GRACE: Duration = Duration::from_secs(1);
/// Interval between checks whether the root is alive, where the kernel cannot notify us.
const TICK: Duration = Duration::from_millis(400);

pub struct Spawned {
    /// Connection to the root, until the root has taken or dropped the job.
    line: Option<OwnedFd>,
    /// Where the job's ranks find their parents.
    pub port: String,
    root: Root,
    kind: Kind,
    outer: Option<Outer>,
    taken: bool,
    /// Who has been told that the job failed.
    told: Told,
    life: Life,
    next_look: Instant,
}

/// Whom this `mpirun` has told of the failure of its job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nobody,
    /// The root alone, by a signal.
    Root,
    /// The `mpirun` of the parents, which prints the reason.
    Outer,
}

/// How a job ends that the root has not taken.
pub enum Untaken {
    /// The root did not want it any more.
    Unwanted,
    /// All ranks have come to their parents, and the job ended well.
    Came,
    /// This program ended well, and did not come.
    NeverCame(String),
    /// Otherwise.
    Failed,
}

/// State of the root process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Lives,
    /// It has ended. At this time the job must have ended too, if it is connected.
    Ended(Instant),
    /// It has ended, and the job has been told.
    Forgotten,
}

/// News from the root for the event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Nothing,
    /// The root no longer waits for the job.
    Unwanted,
    /// The root ended a while ago. A job that is disconnected from it continues.
    Bereft,
}

/// The process that called `MPI_Comm_spawn`.
struct Root {
    pid: Pid,
    /// Readable when it has ended (a pidfd); `None` on old kernels.
    ended: Option<OwnedFd>,
}

impl Spawned {
    /// Whether these are the arguments of the `mpirun` of a spawned job.
    pub fn is_meant(arguments: &[OsString]) -> bool {
        arguments.first().is_some_and(|first| first == OPTION)
    }

    /// Reads its own arguments, and adds the options that the outer `mpirun` passes on.
    pub fn begin(arguments: Vec<OsString>) -> io::Result<(Spawned, Vec<OsString>)> {
        let mut words = arguments.into_iter().skip(1);
        let mut word = || words.next().and_then(|word| word.into_string().ok()).unwrap_or_default();
        let (line, port, kind) = (word(), word(), word());
        let wrong = || io::Error::other(format!("{OPTION} is for the MPI library alone"));
        let line = line.parse().ok().and_then(sys::adopt_socket).ok_or_else(wrong)?;
        let kind = Kind::parse(&kind).ok_or_else(wrong)?;
        let pid = sys::peer(&line)?;
        let root = Root { pid, ended: sys::watch_process(pid).ok() };
        let mut outer = Outer::from_env();
        let mut given: Vec<OsString> = ["--stdin", "none"].map(OsString::from).into();
        if let Some(outer) = &mut outer {
            // Hold the lifeline first: a process that hears of us relies on our end when the
            // lifeline breaks.
            lifeline::hold(outer.lifeline.as_fd())?;
            outer.tell(&Message::Here(std::process::id()));
            // The rank that started us may be bound to one CPU, which its children must not share.
            let _ = CpuSet::affinity_of(outer.mpirun).and_then(|cpus| cpus.confine());
            given.extend(outer.options.iter().map(OsString::from));
        }
        given.extend(words);
        let spawned = Spawned {
            line: Some(line),
            port,
            root,
            kind,
            outer,
            taken: false,
            told: Told::Nobody,
            life: Life::Lives,
            next_look: Instant::now() + TICK,
        };
        Ok((spawned, given))
    }

    /// Restores the program and its arguments from their quoted form.
    pub fn unquote(request: &mut Request) {
        let plain = |word: &mut OsString| *word = OsString::from_vec(spawned::unquote(word.as_bytes()).to_vec());
        for block in &mut request.blocks {
            plain(&mut block.program);
            block.arguments.iter_mut().for_each(plain);
        }
    }

    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        fds.extend(self.line.iter().map(|line| sys::pollfd(line.as_raw_fd(), sys::POLLIN)));
        let ended = self.root.ended.iter().filter(|_| self.life == Life::Lives);
        fds.extend(ended.map(|ended| sys::pollfd(ended.as_raw_fd(), sys::POLLIN)));
    }

    pub fn deadline(&self) -> Option<Instant> {
        match self.life {
            Life::Lives => self.root.ended.is_none().then_some(self.next_look),
            Life::Ended(at) => Some(at),
            Life::Forgotten => None,
        }
    }

    /// Checks the connection and the root.
    pub fn look(&mut self, now: Instant) -> News {
        if self.line.is_some() && self.hear(Duration::ZERO) {
            self.line = None;
            if !self.taken {
                return News::Unwanted;
            }
        }
        if self.life == Life::Lives && self.root_has_ended(now) {
            self.life = Life::Ended(now + GRACE);
        }
        match self.life {
            Life::Ended(at) if at <= now => {
                self.life = Life::Forgotten;
                News::Bereft
            }
            _ => News::Nothing,
        }
    }

    fn root_has_ended(&mut self, now: Instant) -> bool {
        match &self.root.ended {
            Some(ended) => sys::ready(ended.as_raw_fd(), sys::POLLIN) != 0,
            None if self.next_look <= now => {
                self.next_look = now + TICK;
                !lifeline::process_lives(self.root.pid as u32)
            }
            None => false,
        }
    }

    /// Reads the root's message. Returns true when there will be no other.
    fn hear(&mut self, patience: Duration) -> bool {
        let Some(line) = &self.line else { return true };
        let mut fds = [sys::pollfd(line.as_raw_fd(), sys::POLLIN)];
        if sys::poll(&mut fds, Some(patience)).is_err() || fds[0].revents == 0 {
            return false;
        }
        self.taken |= last_word(line) == TAKEN;
        true
    }

    /// Tells the root why there will be no job, and waits for its answer. Returns true if the root
    /// took the job meanwhile.
    pub fn report(&mut self, started: usize, text: &str) -> bool {
        if let Some(line) = &self.line {
            let report = Report { started, text: text.into() };
            let _ = sys::send(line.as_raw_fd(), &report.write());
        }
        self.await_root()
    }

    /// Reports that nothing was started. Returns the exit status of `mpirun`.
    pub fn refuse(&mut self, text: &str) -> i32 {
        self.report(0, text);
        0
    }

    /// Waits until the root has taken or dropped the job. Returns whether it has taken it.
    fn await_root(&mut self) -> bool {
        while self.line.is_some() && !self.hear(TICK) && lifeline::process_lives(self.root.pid as u32) {}
        self.line = None;
        self.taken
    }

    /// Reports the failure of a connected job to the outer `mpirun`. Returns false if there is none
    /// that would print it.
    fn tell(&mut self, status: i32, text: &str) -> bool {
        match (&mut self.outer, self.kind) {
            (Some(outer), Kind::Rank) => {
                outer.tell(&Message::Failed { mpirun: std::process::id(), status, text: text.into() });
                true
            }
            _ => false,
        }
    }

    /// Tells the processes that spawned the job, once, that it has failed, if they are connected to it and have taken it.
    pub fn fail(&mut self, is_connected: bool, status: i32, text: &str) {
        if !self.taken || !is_connected || self.told != Told::Nobody {
            return;
        }
        self.told = if self.tell(status, text) { Told::Outer } else { Told::Root };
        self.signal_root(sys::SIGTERM);
    }

    /// Tells the outer `mpirun` that a process of the job has ended well.
    pub fn tell_of_survivors(&mut self) {
        if let (Some(outer), Kind::Rank) = (&mut self.outer, self.kind) {
            outer.tell(&Message::Well(std::process::id()));
        }
    }

    /// The root has taken the job.
    pub fn is_taken(&self) -> bool {
        self.taken
    }

    /// Passes a signal for the ranks on to the root, if the job takes the root along.
    pub fn pass_on(&self, signal: i32) {
        if self.told != Told::Nobody {
            self.signal_root(signal);
        }
    }

    /// The final message and the status of the job, of which so many ranks were started. Until the root has taken the
    /// job, everything is reported to the root. `goes_on`: the end of the job is no reason for the parents to end.
    pub fn conclude(
        mut self,
        text: Option<String>,
        status: i32,
        started: usize,
        untaken: Untaken,
        goes_on: bool,
    ) -> (Option<String>, i32) {
        if self.taken {
            return (text.filter(|_| self.told != Told::Outer), status);
        }
        let text = match untaken {
            Untaken::Unwanted => return (None, 0),
            Untaken::Came => {
                self.await_root();
                return (None, status);
            }
            Untaken::NeverCame(text) => text,
            Untaken::Failed => text.unwrap_or_else(|| format!("the job was stopped with status {status}")),
        };
        if !self.report(started, &text) {
            return (None, 0);
        }
        // The root has taken it meanwhile.
        if goes_on {
            return (Some(text), status);
        }
        if !self.tell(status, &text) {
            self.signal_root(sys::SIGTERM);
            return (Some(text), status);
        }
        (None, 0)
    }

    /// Whether an `mpirun` watches the parents.
    pub fn is_looked_after(&self) -> bool {
        self.outer.is_some() && self.kind == Kind::Rank
    }

    /// Signals the root, unless its own `mpirun` does that.
    fn signal_root(&self, signal: i32) {
        if self.is_looked_after() {
            return;
        }
        match &self.root.ended {
            Some(ended) => sys::signal_process(ended, signal),
            None => drop(sys::kill(self.root.pid, signal)),
        }
    }

    pub fn root(&self) -> Pid {
        self.root.pid
    }
}

/// The message that the other side sent before it closed. If it closed without reading ours, the
/// kernel reports a reset first.
fn last_word(line: &OwnedFd) -> Vec<u8> {
    let mut packet = vec![0; TAKEN.len() + 1];
    let got = match sys::read(line.as_raw_fd(), &mut packet) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => sys::read(line.as_raw_fd(), &mut packet),
        got => got,
    };
    packet.truncate(got.unwrap_or(0));
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    #[test]
    fn a_root_is_heard_that_takes_a_job_and_does_not_hear_that_it_has_failed() {
        let mut ends = [0; 2];
        // SAFETY: there is room for the two descriptors, which this test alone owns.
        let (near, far) = unsafe {
            assert_eq!(libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, ends.as_mut_ptr()), 0);
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        sys::send(near.as_raw_fd(), b"0 failed").unwrap();
        sys::send(far.as_raw_fd(), TAKEN).unwrap();
        drop(far);
        assert_eq!(last_word(&near), TAKEN);
        assert_eq!(last_word(&near), b"");
    }
}
