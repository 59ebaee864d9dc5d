//! Frames: how messages and the ranks' input and output share one stream between an agent and the process above it.
//!
//! A frame is a head of twelve bytes and a body. The head names the node that the frame is for, or comes from, so that
//! an agent passes on the frames of the agents below it without reading them. There are three classes. Control frames
//! are never held back. Frames of stdin and output carry bytes of programs and need [`Credit`]: a reader that stops,
//! such as a terminal that a user has paused, stops the programs' bytes and nothing else, least of all heartbeats.

use std::collections::VecDeque;
use std::io::{self, Write};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    Control = 1,
    Stdin = 2,
    Output = 3,
}

/// Bytes of a frame before its body: its length, its class, three zeros, its node.
const HEAD: usize = 12;
/// The longest bodies. A control message may carry an environment.
const MOST_CONTROL: usize = 64 << 20;
pub const MOST_DATA: usize = 64 << 10;
/// Bytes of stdin or of output of one node that may be on their way.
pub const CREDIT: usize = 256 << 10;
/// The node of a frame that is for all nodes, or for the process at the other end of the stream.
pub const EVERY_NODE: u32 = u32::MAX;

impl Class {
    fn of(number: u8) -> Option<Class> {
        [Class::Control, Class::Stdin, Class::Output].into_iter().find(|&class| class as u8 == number)
    }

    fn most(self) -> usize {
        match self {
            Class::Control => MOST_CONTROL,
            Class::Stdin | Class::Output => MOST_DATA,
        }
    }
}

/// Why the bytes of a stream are not frames.
#[derive(Debug, PartialEq, Eq)]
pub struct BadFrame(pub String);

/// A frame that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub class: Class,
    pub node: u32,
    pub body: Vec<u8>,
}

/// Makes frames of the bytes of a stream, however they are cut.
#[derive(Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Bytes at the beginning that have been handed out.
    done: usize,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) {
        if self.done == self.bytes.len() {
            self.bytes.clear();
            self.done = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame. After an error the stream means nothing any more.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, BadFrame> {
        let Some((head, rest)) = self.bytes[self.done..].split_first_chunk::<HEAD>() else {
            self.forget();
            return Ok(None);
        };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, node) = (word(0) as usize, word(8));
        let class = Class::of(head[4]).filter(|_| head[5..8] == [0; 3]);
        let class = class.ok_or_else(|| BadFrame(format!("a frame begins with {head:02x?}")))?;
        if length > class.most() {
            return Err(BadFrame(format!("a frame of class {class:?} has {length} bytes, more than {}", class.most())));
        }
        if rest.len() < length {
            self.forget();
            return Ok(None);
        }
        let body = rest[..length].to_vec();
        self.done += HEAD + length;
        Ok(Some(Frame { class, node, body }))
    }

    /// Moves the unfinished frame to the front, so that the buffer does not grow with the stream.
    fn forget(&mut self) {
        self.bytes.drain(..self.done);
        self.done = 0;
    }
}

/// Frames that wait to be written. Control frames go first, but never into the middle of another frame.
#[derive(Default)]
pub struct Queue {
    control: VecDeque<Vec<u8>>,
    data: VecDeque<Vec<u8>>,
    /// The frame that is being written, and how much of it has been.
    current: Option<(Vec<u8>, usize)>,
}

impl Queue {
    /// Queues a frame; an error, and nothing queued, when it is too long.
    pub fn put(&mut self, class: Class, node: u32, body: &[u8]) -> Result<(), BadFrame> {
        let frame = frame(class, node, body)
            .ok_or_else(|| BadFrame(format!("{} bytes are too many for a frame of class {class:?}", body.len())))?;
        match class {
            Class::Control => self.control.push_back(frame),
            Class::Stdin | Class::Output => self.data.push_back(frame),
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.current.is_none() && self.control.is_empty() && self.data.is_empty()
    }

    /// Writes what can be written without waiting.
    pub fn write_to(&mut self, stream: &mut impl Write) -> io::Result<()> {
        loop {
            if self.current.is_none() {
                self.current = self.control.pop_front().or_else(|| self.data.pop_front()).map(|frame| (frame, 0));
            }
            let Some((frame, done)) = &mut self.current else { return Ok(()) };
            match stream.write(&frame[*done..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => *done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            if *done == frame.len() {
                self.current = None;
            }
        }
    }
}

/// Bytes of data that a sender may have on their way to its reader, from end to end: agents in between keep them in
/// their queues.
#[derive(Default)]
pub struct Credit {
    unread: usize,
}

impl Credit {
    /// How many bytes may be sent now in one frame, beside `head` bytes that say whose they are.
    pub fn room(&self, head: usize) -> usize {
        CREDIT.saturating_sub(self.unread).min(MOST_DATA - head)
    }

    pub fn sent(&mut self, bytes: usize) {
        self.unread += bytes;
    }

    /// The reader has taken so many bytes; an error when there were not as many.
    pub fn taken(&mut self, bytes: usize) -> Result<(), BadFrame> {
        self.unread = self.unread.checked_sub(bytes).ok_or_else(|| {
            BadFrame(format!("the reader has taken {bytes} bytes of {} that were on their way", self.unread))
        })?;
        Ok(())
    }

    /// Nothing is on its way.
    pub fn is_whole(&self) -> bool {
        self.unread == 0
    }
}

fn frame(class: Class, node: u32, body: &[u8]) -> Option<Vec<u8>> {
    if body.len() > class.most() {
        return None;
    }
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend([class as u8, 0, 0, 0]);
    bytes.extend(node.to_le_bytes());
    bytes.extend(body);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A stream that takes some bytes at a time, and now and then none.
    struct Slow {
        taken: Vec<u8>,
        step: usize,
        left: usize,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.left == 0 {
                self.left = 2;
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.left -= 1;
            let count = bytes.len().min(self.step);
            self.taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn decode(bytes: &[u8], step: usize) -> Result<Vec<Frame>, BadFrame> {
        let mut decoder = Decoder::default();
        let mut frames = Vec::new();
        for piece in bytes.chunks(step) {
            decoder.push(piece);
            while let Some(frame) = decoder.next_frame()? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    proptest! {
        #[test]
        fn frames_come_as_they_went(
            bodies in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..2000)), 0..30),
            step in 1usize..700,
        ) {
            let mut queue = Queue::default();
            let mut stream = Slow { taken: Vec::new(), step, left: 1 };
            let (mut control, mut data) = (Vec::new(), Vec::new());
            for (is_control, body) in &bodies {
                let node = body[0].into();
                if *is_control {
                    queue.put(Class::Control, node, body).unwrap();
                    control.push((node, body.clone()));
                } else {
                    queue.put(Class::Output, node, body).unwrap();
                    data.push((node, body.clone()));
                }
                queue.write_to(&mut stream).unwrap();
            }
            while !queue.is_empty() {
                queue.write_to(&mut stream).unwrap();
            }
            let frames = decode(&stream.taken, step).unwrap();
            let of = |wanted: Class| {
                let found = frames.iter().filter(|frame| frame.class == wanted);
                found.map(|frame| (frame.node, frame.body.clone())).collect::<Vec<(u32, Vec<u8>)>>()
            };
            prop_assert_eq!(of(Class::Control), control);
            prop_assert_eq!(of(Class::Output), data);
        }

        #[test]
        fn no_bytes_break_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..400), step in 1usize..50) {
            let _ = decode(&bytes, step);
        }
    }

    #[test]
    fn control_passes_data_that_waits() {
        let mut queue = Queue::default();
        queue.put(Class::Stdin, 0, &[1; 1000]).unwrap();
        queue.put(Class::Stdin, 0, &[2; 1000]).unwrap();
        let mut stream = Slow { taken: Vec::new(), step: 500, left: 1 };
        queue.write_to(&mut stream).unwrap();
        queue.put(Class::Control, 0, b"beat").unwrap();
        while !queue.is_empty() {
            queue.write_to(&mut stream).unwrap();
        }
        let frames = decode(&stream.taken, 64).unwrap();
        let order: Vec<(Class, u8)> = frames.iter().map(|frame| (frame.class, frame.body[0])).collect();
        assert_eq!(order, [(Class::Stdin, 1), (Class::Control, b'b'), (Class::Stdin, 2)]);
    }

    #[test]
    fn data_needs_credit() {
        let mut credit = Credit::default();
        let mut sent = 0;
        while credit.room(4) > 0 {
            let count = credit.room(4);
            assert!(count <= MOST_DATA - 4);
            credit.sent(count);
            sent += count;
        }
        assert_eq!(sent, CREDIT);
        credit.taken(10).unwrap();
        assert_eq!(credit.room(4), 10);
        assert!(credit.taken(CREDIT).is_err());
        assert!(Queue::default().put(Class::Output, 0, &[0; MOST_DATA + 1]).is_err());
    }

    #[test]
    fn bad_heads_are_told() {
        for head in [[0, 0, 0, 0, 9, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 2, 0, 0, 0], [255; 8]] {
            let head = [head, [0; 8]].concat();
            assert!(decode(&head, 3).is_err(), "{head:?}");
        }
    }

    #[test]
    fn the_buffer_does_not_grow_with_the_stream() {
        let mut decoder = Decoder::default();
        let one = frame(Class::Output, 0, &[5; 1000]).unwrap();
        let stream = one.repeat(1000);
        for piece in stream.chunks(333) {
            decoder.push(piece);
            while decoder.next_frame().unwrap().is_some() {}
        }
        assert!(decoder.bytes.capacity() < 8 * 1024, "{}", decoder.bytes.capacity());
    }
}
