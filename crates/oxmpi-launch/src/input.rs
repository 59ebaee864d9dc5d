//! Forwards the stdin of `mpirun` to the ranks that read it.
//!
//! If one rank reads a file or a pipe, it inherits the descriptor, so that `mpirun` does not read
//! more than the rank does (a shell loop may read the rest). `mpirun` must read itself in two
//! cases: from a terminal, because the ranks are in other process groups and the kernel would stop
//! them if they read it; and when several ranks get the same input.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use crate::options::Stdin;
use crate::sys;

const STDIN: RawFd = 0;
/// Interval between checks whether `mpirun` is in the foreground and may read the terminal.
const BACKGROUND: Duration = Duration::from_secs(1);

pub struct Input {
    terminal: bool,
    targets: Vec<Target>,
    buffer: Vec<u8>,
    ended: bool,
    /// While `mpirun` is in the background, it does not read the terminal before this time.
    not_before: Option<Instant>,
}

struct Target {
    to: OwnedFd,
    pending: Vec<u8>,
}

/// The stdin of an agent's ranks: pipes, filled with what `mpirun` sends.
#[derive(Default)]
pub struct FedInput {
    targets: Vec<Target>,
    /// Bytes that `mpirun` sent and that not all ranks have taken.
    unread: usize,
    ended: bool,
}

impl FedInput {
    /// A rank that reads: the end that it inherits.
    pub fn add(&mut self) -> io::Result<OwnedFd> {
        let (read, write) = sys::pipe()?;
        sys::set_nonblocking(&write)?;
        self.targets.push(Target { to: write, pending: Vec::new() });
        Ok(read)
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.unread += bytes.len();
        self.targets.iter_mut().for_each(|target| target.pending.extend_from_slice(bytes));
    }

    /// There will be no more.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Forwards what can be forwarded without blocking. Returns how many bytes all ranks have taken since the last call.
    pub fn work(&mut self) -> usize {
        self.targets.retain_mut(Target::push);
        if self.ended {
            self.targets.retain(|target| !target.pending.is_empty());
        }
        let left = self.targets.iter().map(|target| target.pending.len()).max().unwrap_or(0);
        let taken = self.unread.saturating_sub(left);
        self.unread = left;
        taken
    }

    /// No rank reads any more.
    pub fn is_unread(&self) -> bool {
        self.targets.is_empty()
    }

    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        for target in &self.targets {
            let events = if target.pending.is_empty() { 0 } else { sys::POLLOUT };
            fds.push(sys::pollfd(target.to.as_raw_fd(), events));
        }
    }
}

/// The stdin of `mpirun` that ranks of other hosts read.
pub struct SentInput {
    terminal: bool,
    ended: bool,
    /// While `mpirun` is in the background, it does not read the terminal before this time.
    not_before: Option<Instant>,
}

impl SentInput {
    pub fn new(is_read: bool) -> SentInput {
        SentInput { terminal: sys::is_terminal(STDIN), ended: !is_read, not_before: None }
    }

    pub fn close(&mut self) {
        self.ended = true;
    }

    /// `room`: how many bytes all readers can take.
    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>, room: usize, now: Instant) {
        if self.reads(room, now) {
            fds.push(sys::pollfd(STDIN, sys::POLLIN));
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.not_before.filter(|_| !self.ended)
    }

    /// Input that is there now; an empty text at its end.
    pub fn work(&mut self, room: usize, now: Instant) -> Option<Vec<u8>> {
        if !self.reads(room, now) || sys::ready(STDIN, sys::POLLIN) == 0 {
            return None;
        }
        if self.terminal && !sys::in_foreground(STDIN) {
            self.not_before = Some(now + BACKGROUND);
            return None;
        }
        self.not_before = None;
        let mut buffer = vec![0; room];
        match sys::read(STDIN, &mut buffer) {
            Ok(count) => {
                buffer.truncate(count);
                self.ended = count == 0;
                Some(buffer)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(_) if self.terminal => {
                self.not_before = Some(now + BACKGROUND);
                None
            }
            Err(_) => {
                self.ended = true;
                Some(Vec::new())
            }
        }
    }

    fn reads(&self, room: usize, now: Instant) -> bool {
        !self.ended && room > 0 && self.not_before.is_none_or(|at| at <= now)
    }
}

/// Where a rank's stdin comes from.
pub enum Source {
    Nothing,
    Inherited,
    Pipe(OwnedFd),
}

impl Input {
    /// Decides for each rank where its stdin comes from.
    pub fn plan(wanted: &Stdin, ranks: usize) -> io::Result<(Input, Vec<Source>)> {
        let terminal = sys::is_terminal(STDIN);
        let reads = |rank: usize| match wanted {
            Stdin::None => false,
            Stdin::All => true,
            Stdin::Ranks(list) => list.contains(&rank),
        };
        let readers = (0..ranks).filter(|&rank| reads(rank)).count();
        let mut input = Input { terminal, targets: Vec::new(), buffer: Vec::new(), ended: false, not_before: None };
        let mut sources = Vec::with_capacity(ranks);
        for rank in 0..ranks {
            sources.push(if !reads(rank) {
                Source::Nothing
            } else if readers == 1 && !terminal {
                Source::Inherited
            } else {
                let (read, write) = sys::pipe()?;
                sys::set_nonblocking(&write)?;
                input.targets.push(Target { to: write, pending: Vec::new() });
                Source::Pipe(read)
            });
        }
        Ok((input, sources))
    }

    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>, now: Instant) {
        for target in &self.targets {
            // Also poll a target without pending data: a hangup says that the rank has stopped
            // reading.
            let events = if target.pending.is_empty() { 0 } else { sys::POLLOUT };
            fds.push(sys::pollfd(target.to.as_raw_fd(), events));
        }
        if self.reads(now) {
            fds.push(sys::pollfd(STDIN, sys::POLLIN));
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.not_before.filter(|_| !self.targets.is_empty() && !self.ended)
    }

    /// Forwards the available input without blocking.
    pub fn work(&mut self, now: Instant) {
        if self.targets.is_empty() {
            return;
        }
        self.targets.retain_mut(Target::push);
        if self.reads(now) && sys::ready(STDIN, sys::POLLIN) != 0 {
            if self.terminal && !sys::in_foreground(STDIN) {
                self.not_before = Some(now + BACKGROUND);
                return;
            }
            self.not_before = None;
            self.buffer.resize(64 << 10, 0);
            match sys::read(STDIN, &mut self.buffer) {
                Ok(0) => self.ended = true,
                Ok(n) => self.targets.iter_mut().for_each(|target| target.pending.extend_from_slice(&self.buffer[..n])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) if self.terminal => self.not_before = Some(now + BACKGROUND),
                Err(_) => self.ended = true,
            }
            self.targets.retain_mut(Target::push);
        }
        if self.ended {
            // A rank sees the end of its input when the pipe is closed.
            self.targets.retain(|target| !target.pending.is_empty());
        }
    }

    /// Reads more only after all targets have taken the previous data.
    fn reads(&self, now: Instant) -> bool {
        !self.ended
            && !self.targets.is_empty()
            && self.not_before.is_none_or(|at| at <= now)
            && self.targets.iter().all(|target| target.pending.is_empty())
    }
}

impl Target {
    /// Writes pending data. Returns false when the rank has stopped reading.
    fn push(&mut self) -> bool {
        while !self.pending.is_empty() {
            match sys::write(self.to.as_raw_fd(), &self.pending) {
                Ok(n) => drop(self.pending.drain(..n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
        sys::ready(self.to.as_raw_fd(), 0) & sys::POLLERR == 0
    }
}
