//! One stream between an agent and the process above it: messages in, messages out. Nothing here waits.

use crate::frame::{BadFrame, Class, Decoder, Frame, Queue};
use crate::message;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

pub struct Channel {
    /// What is read and what is written; `None` until an agent that was started without a stream has connected.
    ends: Option<(File, File)>,
    decoder: Decoder,
    queue: Queue,
    buffer: Vec<u8>,
}

/// What a channel holds after it was read.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    Open,
    /// The other side has closed it, or a frame was bad: why.
    Closed(String),
}

impl Channel {
    /// Both descriptors do not block.
    pub fn new(read: OwnedFd, write: OwnedFd) -> Channel {
        Channel { ends: Some((read.into(), write.into())), ..Channel::unconnected() }
    }

    /// A channel whose other side has not connected yet: what is sent waits.
    pub fn unconnected() -> Channel {
        let (decoder, queue) = Default::default();
        Channel { ends: None, decoder, queue, buffer: vec![0; 64 << 10] }
    }

    /// The other side has connected. Both descriptors do not block.
    pub fn connect(&mut self, read: OwnedFd, write: OwnedFd) {
        self.ends = Some((read.into(), write.into()));
    }

    pub fn is_connected(&self) -> bool {
        self.ends.is_some()
    }

    /// Bytes of frames that were read before there was a channel.
    pub fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    /// Reads what has arrived, without making frames of it: `None` at the end of the stream.
    pub fn read_bytes(&mut self) -> io::Result<Option<&[u8]>> {
        let Some((read, _)) = &mut self.ends else { return Ok(Some(&[])) };
        loop {
            match read.read(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => return Ok(Some(&self.buffer[..count])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Some(&[])),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the frames that have arrived, up to a bounded number of bytes, so that nobody else has to wait long.
    pub fn receive(&mut self, frames: &mut Vec<Frame>) -> State {
        for _ in 0..16 {
            let Some((read, _)) = &mut self.ends else { return State::Open };
            let more = match read.read(&mut self.buffer) {
                Ok(0) => return self.ended(frames, "the stream has ended".into()),
                Ok(count) => {
                    self.decoder.push(&self.buffer[..count]);
                    true
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
                Err(error) => return self.ended(frames, error.to_string()),
            };
            if let Err(BadFrame(what)) = self.decode(frames) {
                return State::Closed(what);
            }
            if !more {
                break;
            }
        }
        State::Open
    }

    fn ended(&mut self, frames: &mut Vec<Frame>, why: String) -> State {
        match self.decode(frames) {
            Ok(()) => State::Closed(why),
            Err(BadFrame(what)) => State::Closed(what),
        }
    }

    fn decode(&mut self, frames: &mut Vec<Frame>) -> Result<(), BadFrame> {
        while let Some(frame) = self.decoder.next_frame()? {
            frames.push(frame);
        }
        Ok(())
    }

    pub fn send(&mut self, node: u32, message: &impl Serialize) -> Result<(), BadFrame> {
        self.queue.put(Class::Control, node, &message::encode(message)?)
    }

    pub fn put(&mut self, class: Class, node: u32, body: &[u8]) -> Result<(), BadFrame> {
        self.queue.put(class, node, body)
    }

    /// Writes what can be written without waiting.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.ends {
            Some((_, write)) => self.queue.write_to(write),
            None => Ok(()),
        }
    }

    pub fn has_unwritten(&self) -> bool {
        !self.queue.is_empty()
    }

    /// `None` while it is not connected.
    pub fn read_fd(&self) -> Option<RawFd> {
        self.ends.as_ref().map(|(read, _)| read.as_raw_fd())
    }

    /// The descriptor, if there is something to write.
    pub fn write_fd(&self) -> Option<RawFd> {
        self.ends.as_ref().filter(|_| self.has_unwritten()).map(|(_, write)| write.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Down, decode};
    use std::os::unix::net::UnixStream;

    fn pair() -> (Channel, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Channel::new(ours.try_clone().unwrap().into(), ours.into()), theirs)
    }

    #[test]
    fn what_is_sent_is_received() {
        let (mut a, theirs) = pair();
        theirs.set_nonblocking(true).unwrap();
        let mut b = Channel::new(theirs.try_clone().unwrap().into(), theirs.into());
        a.send(3, &Down::Signal(15)).unwrap();
        a.put(Class::Stdin, 4, b"text").unwrap();
        a.flush().unwrap();
        assert!(!a.has_unwritten());
        let mut frames = Vec::new();
        assert_eq!(b.receive(&mut frames), State::Open);
        assert_eq!((frames.len(), frames[0].node, frames[1].node), (2, 3, 4));
        assert_eq!(decode::<Down>(&frames[0].body), Ok(Down::Signal(15)));
        drop(a);
        assert!(matches!(b.receive(&mut frames), State::Closed(_)));
    }

    #[test]
    fn what_is_sent_before_the_other_side_connects_is_not_lost() {
        let mut a = Channel::unconnected();
        a.send(3, &Down::Heartbeat).unwrap();
        a.flush().unwrap();
        assert!(a.has_unwritten() && !a.is_connected() && a.read_fd().is_none() && a.write_fd().is_none());
        assert_eq!(a.receive(&mut Vec::new()), State::Open);
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        a.connect(ours.try_clone().unwrap().into(), ours.into());
        a.flush().unwrap();
        let mut b = Channel::new(theirs.try_clone().unwrap().into(), theirs.into());
        let mut frames = Vec::new();
        assert_eq!(b.receive(&mut frames), State::Open);
        assert_eq!((frames.len(), frames[0].node), (1, 3));
    }

    #[test]
    fn garbage_closes() {
        use std::io::Write;
        let (mut a, mut theirs) = pair();
        theirs.write_all(b"this is no frame, but text of a shell").unwrap();
        assert!(matches!(a.receive(&mut Vec::new()), State::Closed(what) if what.contains("a frame begins")));
    }
}
