//! Reads the output of the ranks from their pipes and forwards it without mixing lines.
//!
//! A line is forwarded when its newline has arrived. An incomplete line, perhaps a prompt, is
//! forwarded after a short time; if a line of another rank follows, it starts on a new line.
//! Nothing here blocks. While the reader of `mpirun`'s output is slow, `mpirun` does not read the
//! pipes, so the ranks slow down too.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::record::{Loss, Record};
use crate::sink::Sink;
use crate::sys::{self, Epoll};

/// Time after which an incomplete line is forwarded.
const PATIENCE: Duration = Duration::from_millis(100);
/// A longer line is forwarded in pieces.
const LONG_LINE: usize = 1 << 20;
const READ: usize = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Stdout,
    Stderr,
}

/// What stands before each line of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Label {
    #[default]
    None,
    Rank,
    RankAndHost,
}

impl Label {
    /// The option that asks for it.
    pub fn option(self) -> Option<&'static str> {
        match self {
            Label::None => None,
            Label::Rank => Some("-l"),
            Label::RankAndHost => Some("--label-host"),
        }
    }
}

pub struct Outputs {
    epoll: Epoll,
    streams: Vec<Option<Stream>>,
    /// Number of streams that hold an incomplete line.
    unfinished: usize,
    sinks: Vec<Sink>,
    stderr: usize,
    label: Label,
    buffer: Vec<u8>,
    numbers: Vec<u64>,
    losses: Vec<Loss>,
}

/// The output of one rank on one channel.
struct Stream {
    /// `None`: agents send it.
    from: Option<OwnedFd>,
    rank: usize,
    /// What stands before its lines.
    label: String,
    channel: Channel,
    /// An incomplete line.
    held: Vec<u8>,
    since: Instant,
    /// A file that gets all output.
    record: Option<Record>,
    /// Whether the output is also forwarded to `mpirun`'s own stdout or stderr.
    shown: bool,
}

/// Where the output of a channel goes.
pub struct Destination {
    pub record: Option<Record>,
    pub shown: bool,
    /// The host of the rank.
    pub host: String,
}

impl Outputs {
    pub fn new(label: Label, merge: bool) -> io::Result<Outputs> {
        let mut sinks = vec![Sink::new(1)];
        // If both are the same terminal or file, one sink must keep the lines of both apart.
        let stderr = if merge || sinks[0].same_place_as(2) { 0 } else { 1 };
        if stderr == 1 {
            sinks.push(Sink::new(2));
        }
        Ok(Outputs {
            epoll: Epoll::new()?,
            streams: Vec::new(),
            unfinished: 0,
            sinks,
            stderr,
            label,
            buffer: Vec::new(),
            numbers: Vec::new(),
            losses: Vec::new(),
        })
    }

    pub fn add(&mut self, rank: usize, channel: Channel, from: OwnedFd, to: Destination) -> io::Result<()> {
        self.epoll.add(from.as_raw_fd(), self.streams.len() as u64)?;
        self.push(Some(from), rank, channel, to);
        Ok(())
    }

    /// Output that comes from another host through [`Outputs::feed`]. Returns its number.
    pub fn add_fed(&mut self, rank: usize, channel: Channel, to: Destination) -> usize {
        self.push(None, rank, channel, to);
        self.streams.len() - 1
    }

    fn push(&mut self, from: Option<OwnedFd>, rank: usize, channel: Channel, to: Destination) {
        let Destination { record, shown, host } = to;
        let label = match self.label {
            Label::None => String::new(),
            Label::Rank => format!("[{rank}] "),
            Label::RankAndHost => format!("[{rank} {host}] "),
        };
        let (held, since) = (Vec::new(), Instant::now());
        self.streams.push(Some(Stream { from, rank, label, channel, held, since, record, shown }));
    }

    /// Output of a stream that an agent has sent; no bytes: it has ended.
    pub fn feed(&mut self, number: usize, bytes: &[u8], now: Instant) {
        let Some(stream) = self.streams.get_mut(number).and_then(Option::as_mut) else { return };
        let held = stream.held.len();
        self.buffer.clear();
        self.buffer.append(&mut stream.held);
        self.buffer.extend_from_slice(bytes);
        self.forward(number, held, bytes.len(), now);
    }

    /// So much waits for the reader of `mpirun`'s output that agents must wait too.
    pub fn is_full(&self) -> bool {
        self.sinks.iter().any(|sink| sink.waiting() >= READ)
    }

    /// Adds the descriptors to poll: the sinks with pending data, and the ranks' pipes unless a
    /// sink is full.
    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        let mut full = false;
        for sink in self.sinks.iter().filter(|sink| sink.waiting() > 0) {
            fds.push(sys::pollfd(sink.as_raw_fd(), sys::POLLOUT));
            full |= sink.waiting() >= READ;
        }
        if !full {
            fds.push(sys::pollfd(self.epoll.as_raw_fd(), sys::POLLIN));
        }
    }

    /// When the oldest incomplete line must be forwarded.
    pub fn deadline(&self) -> Option<Instant> {
        if self.unfinished == 0 {
            return None;
        }
        self.streams
            .iter()
            .flatten()
            .filter(|stream| !stream.held.is_empty())
            .map(|stream| stream.since + PATIENCE)
            .min()
    }

    /// Writes and reads as much as possible without blocking. Returns whether something was read.
    pub fn work(&mut self, now: Instant) -> bool {
        self.sinks.iter_mut().for_each(Sink::push);
        let mut any = false;
        if self.sinks.iter().all(|sink| sink.waiting() < READ) {
            let mut numbers = std::mem::take(&mut self.numbers);
            if self.epoll.ready(&mut numbers).is_ok() {
                for &number in &numbers {
                    self.take(number as usize, now);
                    any = true;
                }
            }
            self.numbers = numbers;
        }
        if self.is_full() {
            // Agents wait for credit, so the rest of a line may be late because of us.
            let fed = self.streams.iter_mut().flatten().filter(|stream| stream.from.is_none());
            fed.for_each(|stream| stream.since = now);
        }
        if self.deadline().is_some_and(|at| at <= now) {
            self.release(|stream| now >= stream.since + PATIENCE);
        }
        any
    }

    /// Reads the remaining output after all writers have ended and forwards every line, complete or
    /// not. Returns false if that takes longer than `patience`.
    pub fn finish(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            let now = Instant::now();
            if !self.work(now) && self.sinks.iter().all(|sink| sink.waiting() < READ) {
                self.release(|_| true);
                if self.sinks.iter().all(|sink| sink.waiting() == 0) {
                    return true;
                }
            }
            if now >= until {
                return false;
            }
            let mut fds: Vec<_> = self.sinks.iter().filter(|sink| sink.waiting() > 0).map(Sink::poll_out).collect();
            if !fds.is_empty() && sys::poll(&mut fds, Some(until - now)).is_err() {
                return true;
            }
        }
    }

    /// The reader of `mpirun`'s stdout has closed it.
    pub fn stdout_is_gone(&self) -> bool {
        self.sinks[0].gone()
    }

    /// The first write error, except a closed pipe.
    pub fn failure(&mut self) -> Option<io::Error> {
        self.sinks.iter_mut().find_map(|sink| sink.failure.take())
    }

    /// The output that was not written to files; called after all output has been read.
    pub fn losses(&mut self) -> Vec<Loss> {
        for number in 0..self.streams.len() {
            self.close(number);
        }
        std::mem::take(&mut self.losses)
    }

    /// Prints a line of `mpirun` itself on stderr.
    pub fn say(&mut self, text: &str) {
        self.sinks[self.stderr].put(None, "", format!("mpirun: {text}\n").as_bytes());
    }

    fn take(&mut self, number: usize, now: Instant) {
        let Some(stream) = self.streams.get_mut(number).and_then(Option::as_mut) else { return };
        let sink = match stream.channel {
            Channel::Stdout => 0,
            Channel::Stderr => self.stderr,
        };
        if stream.shown && self.sinks[sink].gone() {
            // Close the pipe: the next write of the rank fails or raises SIGPIPE, as if it wrote to
            // the closed stdout itself.
            self.close(number);
            return;
        }
        // Put held bytes before the new ones, so that a complete line is written in one piece.
        let held = stream.held.len();
        if self.buffer.len() < held + READ {
            self.buffer.resize(held + READ, 0);
        }
        self.buffer[..held].copy_from_slice(&stream.held);
        stream.held.clear();
        let from = stream.from.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let got = sys::read(from, &mut self.buffer[held..held + READ]).unwrap_or(0);
        self.forward(number, held, got, now);
    }

    /// Forwards the lines of a stream that are complete with `got` new bytes in the buffer, behind `held` older ones.
    fn forward(&mut self, number: usize, held: usize, got: usize, now: Instant) {
        let Some(stream) = self.streams.get_mut(number).and_then(Option::as_mut) else { return };
        let sink = match stream.channel {
            Channel::Stdout => 0,
            Channel::Stderr => self.stderr,
        };
        let buffer = &self.buffer[..held + got];
        // A full disk does not stop the job, but it is reported and changes the exit status.
        if let Some(said) = stream.record.as_mut().and_then(|record| record.write(&buffer[held..])) {
            self.sinks[self.stderr].put(None, "", format!("mpirun: {said}\n").as_bytes());
        }
        if got == 0 {
            self.sinks[sink].put(Some(stream.rank), &stream.label, buffer);
            self.unfinished -= usize::from(held > 0);
            stream.held.clear();
            self.close(number);
            return;
        }
        if !stream.shown {
            return;
        }
        let whole = match buffer[held..].iter().rposition(|&byte| byte == b'\n') {
            Some(at) => held + at + 1,
            None if buffer.len() >= LONG_LINE => buffer.len(),
            None => 0,
        };
        self.sinks[sink].put(Some(stream.rank), &stream.label, &buffer[..whole]);
        stream.held.extend_from_slice(&buffer[whole..]);
        if whole > 0 || held == 0 {
            stream.since = now;
        }
        self.unfinished = self.unfinished + usize::from(!stream.held.is_empty()) - usize::from(held > 0);
    }

    fn release(&mut self, ripe: impl Fn(&Stream) -> bool) {
        for stream in self.streams.iter_mut().flatten().filter(|stream| !stream.held.is_empty()) {
            if !ripe(stream) {
                continue;
            }
            let sink = match stream.channel {
                Channel::Stdout => 0,
                Channel::Stderr => self.stderr,
            };
            self.sinks[sink].put(Some(stream.rank), &stream.label, &stream.held);
            stream.held.clear();
            self.unfinished -= 1;
        }
    }

    fn close(&mut self, number: usize) {
        if let Some(stream) = self.streams[number].take() {
            self.unfinished -= usize::from(!stream.held.is_empty());
            if let Some(record) = stream.record {
                let (said, loss) = record.close();
                said.iter().for_each(|said| self.say(said));
                self.losses.extend(loss);
            }
        }
    }
}
