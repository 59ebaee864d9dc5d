//! Bytes that were read from a socket and not used yet, in memory of a fixed size.

use std::io::{self, Read};

pub(super) struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// `room`: at least the longest frame. Memory is used only as far as it is filled.
    pub fn new(room: usize) -> Buffer {
        Buffer { bytes: vec![0; room].into(), start: 0, end: 0 }
    }

    pub fn unused(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Whether nothing more can be read before something is consumed.
    pub fn is_full(&self) -> bool {
        self.end - self.start == self.bytes.len()
    }

    /// Reads what has come, as far as there is room: how many bytes, 0 if none have come. An error is the end.
    pub fn fill(&mut self, mut from: impl Read) -> io::Result<usize> {
        if self.start > 0 && self.bytes.len() - self.end < self.bytes.len() / 2 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.is_full() {
            return Ok(0);
        }
        loop {
            return match from.read(&mut self.bytes[self.end..]) {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.end += count;
                    Ok(count)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
                Err(error) => Err(error),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let given: Vec<u8> = (0..1000u32).map(|byte| byte as u8).collect();
        let (mut buffer, mut rest, mut found) = (Buffer::new(64), &given[..], Vec::new());
        while found.len() < given.len() {
            while !rest.is_empty() && buffer.fill(&mut rest).unwrap() > 0 {}
            let now = buffer.unused().len().clamp(1, 23);
            found.extend_from_slice(&buffer.unused()[..now]);
            buffer.consume(now);
        }
        assert_eq!(found, given);
        assert_eq!(buffer.fill(&mut rest).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
