//! Frames: how messages and the ranks' input and output share one stream between an agent and the one above it.
//!
//! A frame is a head of eight bytes and a body. There are three classes. Control frames are never held back. Frames of
//! stdin and output carry bytes of programs and need credit: a reader that stops, such as a terminal that a user has
//! paused, stops the programs' bytes on its own stream and nothing else, least of all heartbeats.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    Control = 1,
    Stdin = 2,
    Output = 3,
}

/// Bytes of a frame before its body: its length, its class, three zeros.
const HEAD: usize = 8;
/// The longest bodies. A control message may carry an environment.
const MOST_CONTROL: usize = 64 << 20;
pub const MOST_DATA: usize = 64 << 10;
/// Bytes of stdin or output that may be on their way on one stream.
pub const CREDIT: usize = 256 << 10;

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
    pub fn next_frame(&mut self) -> Result<Option<(Class, &[u8])>, BadFrame> {
        let Some((head, rest)) = self.bytes[self.done..].split_first_chunk::<HEAD>() else {
            self.forget();
            return Ok(None);
        };
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let class = Class::of(head[4]).filter(|_| head[5..] == [0; 3]);
        let class = class.ok_or_else(|| BadFrame(format!("a frame begins with {head:02x?}")))?;
        if length > class.most() {
            return Err(BadFrame(format!("a frame of class {class:?} has {length} bytes, more than {}", class.most())));
        }
        if rest.len() < length {
            self.forget();
            return Ok(None);
        }
        let start = self.done + HEAD;
        self.done = start + length;
        Ok(Some((class, &self.bytes[start..start + length])))
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
    /// Bytes of data that the reader has not taken yet.
    unread: usize,
}

impl Queue {
    /// A control frame; `None` and nothing queued when it is too long to be one.
    #[must_use]
    pub fn control(&mut self, body: &[u8]) -> Option<()> {
        self.control.push_back(frame(Class::Control, body)?);
        Some(())
    }

    /// How many bytes of data may be queued now.
    pub fn room(&self) -> usize {
        CREDIT.saturating_sub(self.unread)
    }

    /// Queues the beginning of some bytes of a class, as many as there is credit for; how many.
    pub fn data(&mut self, class: Class, head: &[u8], bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room()).min(MOST_DATA.saturating_sub(head.len()));
        if count == 0 {
            return 0;
        }
        let body = [head, &bytes[..count]].concat();
        match frame(class, &body) {
            Some(frame) => self.data.push_back(frame),
            None => return 0,
        }
        self.unread += count;
        count
    }

    /// The reader has taken so many bytes of data; an error when there were not as many.
    pub fn taken(&mut self, bytes: usize) -> Result<(), BadFrame> {
        self.unread = self.unread.checked_sub(bytes).ok_or_else(|| {
            BadFrame(format!("the reader has taken {bytes} bytes of {} that were on their way", self.unread))
        })?;
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
            match stream.write_vectored(&[IoSlice::new(&frame[*done..])]) {
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

fn frame(class: Class, body: &[u8]) -> Option<Vec<u8>> {
    if body.len() > class.most() {
        return None;
    }
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend([class as u8, 0, 0, 0]);
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

    fn decode(bytes: &[u8], step: usize) -> Result<Vec<(Class, Vec<u8>)>, BadFrame> {
        let mut decoder = Decoder::default();
        let mut frames = Vec::new();
        for piece in bytes.chunks(step) {
            decoder.push(piece);
            while let Some((class, body)) = decoder.next_frame()? {
                frames.push((class, body.to_vec()));
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
                if *is_control {
                    queue.control(body).unwrap();
                    control.push(body.clone());
                } else {
                    prop_assert_eq!(queue.data(Class::Output, &[], body), body.len());
                    data.push(body.clone());
                }
                queue.write_to(&mut stream).unwrap();
            }
            while !queue.is_empty() {
                queue.write_to(&mut stream).unwrap();
            }
            let frames = decode(&stream.taken, step).unwrap();
            let of = |wanted: Class| {
                frames.iter().filter(|(class, _)| *class == wanted).map(|(_, body)| body.clone()).collect::<Vec<_>>()
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
        assert_eq!(queue.data(Class::Stdin, &[], &[1; 1000]), 1000);
        assert_eq!(queue.data(Class::Stdin, &[], &[2; 1000]), 1000);
        let mut stream = Slow { taken: Vec::new(), step: 500, left: 1 };
        queue.write_to(&mut stream).unwrap();
        queue.control(b"beat").unwrap();
        while !queue.is_empty() {
            queue.write_to(&mut stream).unwrap();
        }
        let frames = decode(&stream.taken, 64).unwrap();
        let order: Vec<(Class, u8)> = frames.iter().map(|(class, body)| (*class, body[0])).collect();
        assert_eq!(order, [(Class::Stdin, 1), (Class::Control, b'b'), (Class::Stdin, 2)]);
    }

    #[test]
    fn data_needs_credit_and_control_does_not() {
        let mut queue = Queue::default();
        let bytes = vec![7; 2 * CREDIT];
        let mut sent = 0;
        loop {
            let count = queue.data(Class::Output, b"0123", &bytes[sent..]);
            if count == 0 {
                break;
            }
            sent += count;
        }
        assert_eq!(sent, CREDIT);
        assert!(queue.control(b"x").is_some());
        queue.taken(10).unwrap();
        assert_eq!(queue.data(Class::Output, b"0123", &bytes[sent..]), 10);
        assert!(queue.taken(CREDIT + 1).is_err());
    }

    #[test]
    fn bad_heads_are_told() {
        for head in [[0, 0, 0, 0, 9, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 2, 0, 0, 0], [255; 8]] {
            assert!(decode(&head, 3).is_err(), "{head:?}");
        }
    }

    #[test]
    fn the_buffer_does_not_grow_with_the_stream() {
        let mut decoder = Decoder::default();
        let one = frame(Class::Output, &[5; 1000]).unwrap();
        let stream = one.repeat(1000);
        for piece in stream.chunks(333) {
            decoder.push(piece);
            while decoder.next_frame().unwrap().is_some() {}
        }
        assert!(decoder.bytes.capacity() < 8 * 1024, "{}", decoder.bytes.capacity());
    }
}
