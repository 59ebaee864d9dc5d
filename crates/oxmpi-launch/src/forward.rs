//! The output of an agent's ranks: read from their pipes and sent to `mpirun` as it comes, as far as there is credit.
//! Lines are put together there, once, for all hosts.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use oxmpi_agent::channel::Channel;
use oxmpi_agent::frame::{BadFrame, Class, Credit};
use oxmpi_agent::message::{OUTPUT_HEAD, output_head};
use oxmpi_base::limits;
use oxmpi_base::terminal;

use crate::input::FedInput;
use crate::start::{Refusal, cannot};
use crate::sys::{self, Epoll};
use crate::wires::{Place, Wires, no_pipe};

pub struct Forward {
    epoll: Epoll,
    streams: Vec<Option<Stream>>,
    credit: Credit,
    buffer: Vec<u8>,
    ready: Vec<u64>,
}

struct Stream {
    from: OwnedFd,
    rank: u32,
    channel: u8,
}

impl Forward {
    pub fn new() -> io::Result<Forward> {
        let (streams, buffer, ready) = Default::default();
        Ok(Forward { epoll: Epoll::new()?, streams, credit: Credit::default(), buffer, ready })
    }

    fn add(&mut self, rank: u32, channel: u8, from: OwnedFd) -> io::Result<()> {
        sys::set_nonblocking(&from)?;
        self.epoll.add(from.as_raw_fd(), self.streams.len() as u64)?;
        self.streams.push(Some(Stream { from, rank, channel }));
        Ok(())
    }

    /// `mpirun` has taken so many bytes.
    pub fn taken(&mut self, bytes: usize) -> Result<(), BadFrame> {
        self.credit.taken(bytes)
    }

    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        if self.credit.room(OUTPUT_HEAD) > 0 && self.streams.iter().any(Option::is_some) {
            fds.push(sys::pollfd(self.epoll.as_raw_fd(), sys::POLLIN));
        }
    }

    /// Sends what there is. Returns whether there was something.
    pub fn work(&mut self, node: u32, up: &mut Channel) -> bool {
        let mut ready = std::mem::take(&mut self.ready);
        let mut moved = false;
        if self.credit.room(OUTPUT_HEAD) > 0 && self.epoll.ready(&mut ready).is_ok() {
            for &number in &ready {
                moved |= self.send(number as usize, node, up);
            }
        }
        self.ready = ready;
        moved
    }

    fn send(&mut self, number: usize, node: u32, up: &mut Channel) -> bool {
        let room = self.credit.room(OUTPUT_HEAD);
        let Some(stream) = self.streams.get_mut(number).and_then(Option::as_mut).filter(|_| room > 0) else {
            return false;
        };
        self.buffer.resize(OUTPUT_HEAD + room, 0);
        self.buffer[..OUTPUT_HEAD].copy_from_slice(&output_head(stream.rank, stream.channel));
        let got = match sys::read(stream.from.as_raw_fd(), &mut self.buffer[OUTPUT_HEAD..]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            got => got.unwrap_or(0),
        };
        if got == 0 {
            self.streams[number] = None;
        }
        self.credit.sent(got);
        // It is no longer than a frame, since `room` is not.
        up.put(Class::Output, node, &self.buffer[..OUTPUT_HEAD + got]).is_ok()
    }

    /// After all writers have ended: nothing is left to read, and `mpirun` has all of it. A process that cannot be ended
    /// may still hold a pipe.
    pub fn is_drained(&mut self) -> bool {
        if !self.credit.is_whole() {
            return false;
        }
        let mut ready = std::mem::take(&mut self.ready);
        let drained = self.epoll.ready(&mut ready).is_ok() && ready.is_empty();
        self.ready = ready;
        drained
    }

    pub fn close(&mut self) {
        self.streams.clear();
    }
}

/// The wires of an agent's ranks.
pub struct AgentWires<'a> {
    forward: &'a mut Forward,
    input: &'a mut FedInput,
    /// Which ranks read stdin.
    reads: Vec<bool>,
    merge: bool,
    terminal: bool,
    nothing: File,
    stdin: Option<OwnedFd>,
    /// Our ends and the ranks' ends of stdout and stderr.
    current: Vec<(OwnedFd, OwnedFd)>,
}

impl<'a> AgentWires<'a> {
    pub fn new(
        forward: &'a mut Forward,
        input: &'a mut FedInput,
        reads: Vec<bool>,
        merge: bool,
        terminal: bool,
    ) -> Result<AgentWires<'a>, Refusal> {
        let nothing = File::open("/dev/null").map_err(cannot("open /dev/null"))?;
        Ok(AgentWires { forward, input, reads, merge, terminal, nothing, stdin: None, current: Vec::new() })
    }
}

impl Wires for AgentWires<'_> {
    fn open(&mut self, place: &Place) -> Result<[RawFd; 3], Refusal> {
        self.current.clear();
        self.stdin = match self.reads.get(place.index) {
            Some(true) => Some(self.input.add().map_err(no_pipe)?),
            _ => None,
        };
        let stdin = self.stdin.as_ref().map_or(self.nothing.as_raw_fd(), AsRawFd::as_raw_fd);
        let terminal = if self.terminal { terminal::raw_pair(-1).ok() } else { None };
        let (read, write) = terminal.map_or_else(sys::pipe, Ok).map_err(no_pipe)?;
        let out = write.as_raw_fd();
        self.current.push((read, write));
        if self.merge {
            return Ok([stdin, out, out]);
        }
        let (read, write) = sys::pipe().map_err(no_pipe)?;
        let err = write.as_raw_fd();
        self.current.push((read, write));
        Ok([stdin, out, err])
    }

    fn connected(&mut self, place: &Place) -> Result<(), Refusal> {
        self.stdin = None;
        for ((read, _), channel) in self.current.drain(..).zip(1..) {
            self.forward.add(place.rank as u32, channel, read).map_err(|error| {
                let text = format!("cannot connect the output of rank {}: {}", place.rank, limits::explain(&error));
                Refusal { text, status: 1 }
            })?;
        }
        Ok(())
    }
}
