//! Streams over an endpoint of libfabric. The connection of a link to another node begins as a socket, over which the two
//! sides tell each other their endpoints ([`Fabric::open`], [`FabricEnd::accept`]); then each side goes on with the stream
//! here as it does with a second socket, and the sockets are closed. A side whose endpoint cannot be opened says nothing, and
//! the link stays with its socket.
//!
//! A stream is cut into packets. A sender has a credit for each packet that the receiver has a buffer for, so that nothing
//! arrives without one, whatever the provider does then; buffers that were read are credits again, which travel with the
//! packets of the other direction, or alone. Each packet names its stream by a random number that only its peer knows: what
//! others send to the endpoint is dropped.
//!
//! A provider that keeps the order of messages need not complete receives in that order, so the packets of a stream are
//! numbered, and bytes are taken in the order of the numbers. A packet without bytes only brings credits and counts as none.
//!
//! ```text
//! token u64 | sequence u32 | credits u16 | kind and length u16 | bytes
//! ```
//!
//! Long bytes do not travel in packets where the provider can read the memory of a peer: a packet tells where they lie, and
//! the receiver reads them straight to their place and answers ([`memory`]).
//!
//! - `state.rs`: the endpoint with all its streams
//! - `stream.rs`: packets of one stream
//! - `memory.rs`: long bytes
//! - `walk.rs`: bytes in several pieces

mod memory;
mod state;
mod stream;
mod walk;

use memory::Lends;
use oxmpi_base::cma::Piece;
use oxmpi_base::socket::{Interest, ReadySet};
use oxmpi_boot::handshake::random;
use oxmpi_fabric::{Endpoint, Seat};
use state::State;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stream::{Arrived, CREDITS, DATA, Far, Kind, Stream};
use walk::Walk;

/// Buffers for one stream.
const BUFFERS: usize = CREDITS as usize + 4;
/// Looks at an endpoint until it must have taken the buffers of a new stream.
const PATIENCE: usize = 10_000;
/// So many times in a row it is believed that something has come, though nothing is there.
const MOST_UNSLEEPY: u32 = 100;
/// The longest sleep of a process whose provider has nothing to wait for.
const NAP: Duration = Duration::from_micros(500);

/// The endpoint of a process, and its streams.
pub(crate) struct Fabric {
    state: Mutex<State>,
}

/// One side of a stream.
pub(crate) struct FabricEnd {
    fabric: Arc<Fabric>,
    index: usize,
}

impl Fabric {
    /// Opens an endpoint of a provider, or of a real fabric, on the nearest card.
    pub fn new(provider: Option<&str>, seat: &Seat) -> Result<Fabric, String> {
        let endpoint = Endpoint::open(provider, seat)?;
        Ok(Fabric {
            state: Mutex::new(State {
                endpoint,
                streams: Vec::new(),
                provided: 0,
                owing: Vec::new(),
                is_refused: false,
                ready: Vec::new(),
                failure: None,
                senders: Vec::new(),
                events: Vec::new(),
                unsleepy: 0,
            }),
        })
    }

    /// The provider, for people.
    pub fn describe(&self) -> String {
        self.state().endpoint.describe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches the endpoint: a sleep ends when something has come, where the provider can do that.
    pub fn watch(&self, set: &ReadySet, number: u64) -> io::Result<()> {
        self.state().endpoint.wait_descriptor().map_or(Ok(()), |descriptor| set.add(descriptor, number, Interest::Read))
    }

    /// How long a thread may sleep that waits for the endpoint, too.
    pub fn longest_sleep(&self) -> Duration {
        let mut state = self.state();
        match state.endpoint.wait_descriptor() {
            _ if !state.ready.is_empty() => Duration::ZERO,
            None => NAP,
            // Nothing tells when the provider takes more.
            Some(_) if state.is_refused || !state.owing.is_empty() || state.endpoint.has_unposted() => NAP,
            Some(_) if state.endpoint.may_wait() => {
                state.unsleepy = 0;
                Duration::MAX
            }
            // Something has come.
            Some(_) if state.unsleepy < MOST_UNSLEEPY => {
                state.unsleepy += 1;
                Duration::ZERO
            }
            // The provider says so all the time.
            Some(_) => NAP,
        }
    }

    /// A new stream for a link, and what the peer needs to know of it.
    pub fn open(self: &Arc<Fabric>, link: u64) -> Result<(FabricEnd, Vec<u8>), String> {
        let mut state = self.state();
        let index = state.streams.iter().position(Option::is_none).unwrap_or(state.streams.len());
        let number = u32::try_from(index).map_err(|_| "too many streams")?;
        let [a, b, c, d] = random().map_err(|error| error.to_string())?;
        // Never 0.
        let token = u64::from(number) | u64::from(u32::from_le_bytes([a, b, c, d]) | 1) << 32;
        let open = 1 + state.streams.iter().flatten().count();
        if open > state.provided {
            state.endpoint.receive_more(BUFFERS)?;
            // The peer counts on these buffers.
            for _ in 0..PATIENCE {
                if state.endpoint.has_unposted() {
                    state.progress();
                }
            }
            if state.endpoint.has_unposted() {
                return Err("the provider takes no more receive buffers".into());
            }
            state.endpoint.send_more(BUFFERS)?;
            state.provided += 1;
        }
        match index < state.streams.len() {
            true => state.streams[index] = Some(Stream::new(token, link)),
            false => state.streams.push(Some(Stream::new(token, link))),
        }
        let protocol = state.endpoint.protocol();
        let head = [u8::from(state.endpoint.can_read()), u8::try_from(protocol.len()).map_err(|_| "a long name")?];
        let offer = [&token.to_le_bytes()[..], &head, protocol.as_bytes(), state.endpoint.name()].concat();
        Ok((FabricEnd { fabric: Arc::clone(self), index }, offer))
    }

    /// Goes on with everything; the numbers of links that have something to read.
    pub fn progress(&self) -> Vec<u64> {
        let mut state = self.state();
        state.is_refused = false;
        state.progress();
        std::mem::take(&mut state.ready)
    }
}

impl FabricEnd {
    /// What the peer has told: from now on something can be sent.
    pub fn accept(&self, offer: &[u8]) -> Result<(), String> {
        let mut state = self.fabric.state();
        let wrong = || "the peer has not told where its endpoint is";
        let (token, rest) = offer.split_first_chunk().ok_or_else(wrong)?;
        let (&[reads, length], rest) = rest.split_first_chunk().ok_or_else(wrong)?;
        let (protocol, name) = rest.split_at_checked(length.into()).ok_or_else(wrong)?;
        let own = state.endpoint.protocol();
        if protocol != own.as_bytes() {
            return Err(format!("it uses {}, this process {own}", String::from_utf8_lossy(protocol)));
        }
        let address = state.endpoint.insert(name)?;
        let reads = reads == 1 && state.endpoint.can_read();
        if let Some(stream) = &mut state.streams[self.index] {
            stream.peer = Some(Far { address, token: u64::from_le_bytes(*token), reads });
        }
        // Packets may have been read before, and the peer may have no credit left.
        state.tell(self.index);
        Ok(())
    }

    /// Sends what there is room for; how many bytes. `stays`: the caller comes again with the same pieces until the last one
    /// was sent as a whole, and lets it be until then.
    ///
    /// # Safety
    /// The pieces may be read.
    pub unsafe fn send_pieces(&self, pieces: &[Piece], stays: bool) -> io::Result<usize> {
        let mut state = self.fabric.state();
        // What can be sent at once does not wait for a look at the network.
        if !(state.endpoint.has_slot() && state.streams[self.index].as_ref().is_some_and(Stream::may_send)) {
            state.progress();
        }
        if let Err(error) = state.check(self.index) {
            state.stop_lending(self.index);
            return Err(error);
        }
        let mut total: usize = pieces.iter().map(|piece| piece.1).sum();
        if stays {
            // SAFETY: the pieces may be read, and stay, as the caller says.
            match unsafe { state.lend(self.index, pieces) } {
                Lends::Nothing => {}
                Lends::Later(before) => total = before,
                Lends::Wait => return Err(ErrorKind::WouldBlock.into()),
                Lends::Done(bytes) => return Ok(bytes),
            }
        }
        let (mut pieces, mut sent) = (Walk { pieces, at: 0 }, 0);
        while sent < total && state.streams[self.index].as_ref().is_some_and(Stream::may_send) {
            let bytes = DATA.min(total - sent);
            // SAFETY: the caller says that the pieces may be read; they have `total` bytes.
            if !state.send_packet(self.index, Kind::Bytes, bytes, |packet| unsafe { pieces.clone().read(packet) }) {
                break;
            }
            pieces.skip(bytes);
            sent += bytes;
        }
        if sent == 0 && total > 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(sent) }
    }

    /// Takes what has come and there is room for; how many bytes. `stays`: the caller comes again with the same pieces when
    /// nothing has come, and lets them be until then.
    ///
    /// # Safety
    /// The pieces may be written.
    pub unsafe fn receive_pieces(&self, pieces: &[Piece], stays: bool) -> io::Result<usize> {
        let mut state = self.fabric.state();
        let total: usize = pieces.iter().map(|piece| piece.1).sum();
        let (mut walk, mut got) = (Walk { pieces, at: 0 }, 0);
        while got < total {
            let state = &mut *state;
            let Some(stream) = &mut state.streams[self.index] else { break };
            let (buffer, start, end) = match stream.arrived.front_mut() {
                Some(Some(Arrived::Bytes { buffer, start, end })) => (buffer, start, end),
                Some(Some(Arrived::Memory { .. })) if got == 0 => {
                    // SAFETY: the pieces may be written, and stay, as the caller says.
                    got = unsafe { state.fetch(self.index, pieces, stays) };
                    break;
                }
                _ => break,
            };
            let bytes = (*end - *start).min(total - got);
            let packet = &state.endpoint.packet(buffer)[*start..*start + bytes];
            // SAFETY: the caller says that the pieces may be written; they have room for `total` bytes.
            unsafe { walk.write(packet) };
            *start += bytes;
            got += bytes;
            if start == end {
                state.take_next(self.index);
            }
        }
        state.note_rest(self.index);
        if got > 0 {
            return Ok(got);
        }
        // What is being read to the caller's memory ends first.
        if !state.is_fetching(self.index) {
            state.check(self.index)?;
        }
        Err(ErrorKind::WouldBlock.into())
    }

    /// Whether the peer has been told where bytes lie, and has not been seen to have read them.
    pub fn is_lending(&self) -> bool {
        self.fabric.state().streams[self.index].as_ref().is_some_and(|stream| stream.lending.is_some())
    }

    /// Whether the provider has not sent everything yet.
    pub fn is_sending(&self) -> bool {
        let mut state = self.fabric.state();
        state.progress();
        let token = state.streams[self.index].as_ref().map_or(0, |stream| stream.token);
        state.check(self.index).is_ok() && state.senders.contains(&token)
    }
}

impl Drop for FabricEnd {
    fn drop(&mut self) {
        let mut state = self.fabric.state();
        state.stop_lending(self.index);
        state.stop_fetching(self.index);
        let stream = state.streams[self.index].take();
        for arrived in stream.into_iter().flat_map(|stream| stream.arrived).flatten() {
            state.give_back(arrived.buffer());
        }
    }
}
