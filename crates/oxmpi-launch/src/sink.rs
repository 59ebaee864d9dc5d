//! A destination of output: `mpirun`'s own stdout or stderr. It keeps the lines of different ranks
//! apart and never blocks on a slow reader.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

use crate::sys;

pub struct Sink {
    fd: RawFd,
    /// The same file, opened again without blocking. The flag must not be set on `fd`, which is
    /// shared with the shell and its other commands.
    own: Option<File>,
    socket: bool,
    /// Upper limit of one write: a pipe that reports room has room for at least this much.
    most: usize,
    /// Bytes that could not be written yet, from `done` on.
    pending: Vec<u8>,
    done: usize,
    /// The owner of an incomplete line: a rank, or (`Some(None)`) `mpirun` itself.
    open: Option<Option<usize>>,
    gone: bool,
    pub failure: Option<io::Error>,
}

impl Sink {
    pub fn new(fd: RawFd) -> Sink {
        let kind = metadata(fd).map(|meta| meta.file_type());
        let regular = kind.as_ref().is_some_and(|kind| kind.is_file());
        let socket = kind.as_ref().is_some_and(|kind| kind.is_socket());
        let reopen = kind.is_some_and(|kind| kind.is_fifo() || kind.is_char_device());
        let own = if reopen {
            let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
            OpenOptions::new().write(true).custom_flags(flags).open(format!("/proc/self/fd/{fd}")).ok()
        } else {
            None
        };
        let most = if own.is_some() || regular || socket { usize::MAX } else { libc::PIPE_BUF };
        Sink { fd, own, socket, most, pending: Vec::new(), done: 0, open: None, gone: false, failure: None }
    }

    /// Whether another descriptor leads to the same file, pipe or terminal.
    pub fn same_place_as(&self, other: RawFd) -> bool {
        match (metadata(self.fd), metadata(other)) {
            (Some(a), Some(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
            _ => false,
        }
    }

    /// Takes text of one rank or of `mpirun` itself: complete lines, and perhaps the start of one. `label` stands before
    /// each line.
    pub fn put(&mut self, rank: Option<usize>, label: &str, text: &[u8]) {
        if text.is_empty() || self.gone {
            return;
        }
        let mut labelled = Vec::new();
        let mut at_start = self.open.is_none();
        if self.open.is_some_and(|owner| owner != rank) {
            labelled.push(b'\n');
            at_start = true;
        }
        let text = match rank {
            Some(_) if !label.is_empty() => {
                for line in text.split_inclusive(|&byte| byte == b'\n') {
                    if at_start {
                        labelled.extend_from_slice(label.as_bytes());
                    }
                    labelled.extend_from_slice(line);
                    at_start = true;
                }
                &labelled[..]
            }
            _ if labelled.is_empty() => text,
            _ => {
                labelled.extend_from_slice(text);
                &labelled[..]
            }
        };
        self.open = (text.last() != Some(&b'\n')).then_some(rank);
        let written = if self.pending.is_empty() { self.write(text) } else { 0 };
        if !self.gone {
            self.pending.extend_from_slice(&text[written..]);
        }
    }

    /// Writes as much pending data as possible without blocking.
    pub fn push(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        self.done += self.write(&pending[self.done..]);
        if self.gone || self.done == pending.len() {
            self.done = 0;
            return;
        }
        // Drop the written bytes, so that the buffer does not grow without limit for a slow reader.
        if self.done > 1 << 20 {
            pending.drain(..self.done);
            self.done = 0;
        }
        self.pending = pending;
    }

    /// Number of pending bytes.
    pub fn waiting(&self) -> usize {
        self.pending.len() - self.done
    }

    /// No more can be written: the reader closed it, or a write failed.
    pub fn gone(&self) -> bool {
        self.gone
    }

    pub fn poll_out(&self) -> sys::PollFd {
        sys::pollfd(self.as_raw_fd(), sys::POLLOUT)
    }

    pub fn as_raw_fd(&self) -> RawFd {
        self.own.as_ref().map_or(self.fd, |own| own.as_raw_fd())
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        let fd = self.as_raw_fd();
        let mut written = 0;
        while written < bytes.len() {
            if self.most != usize::MAX && sys::ready(fd, sys::POLLOUT) == 0 {
                break;
            }
            let end = bytes.len().min(written.saturating_add(self.most));
            let put = if self.socket { sys::send } else { sys::write };
            match put(fd, &bytes[written..end]) {
                Ok(n) => written += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.gone = true;
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        self.failure = Some(error);
                    }
                    break;
                }
            }
        }
        written
    }
}

fn metadata(fd: RawFd) -> Option<std::fs::Metadata> {
    // SAFETY: the standard descriptors stay open as long as the process lives.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    File::from(fd.try_clone_to_owned().ok()?).metadata().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

    fn sink() -> (OwnedFd, OwnedFd, Sink) {
        let (read, write) = sys::pipe().unwrap();
        let sink = Sink::new(write.as_raw_fd());
        (read, write, sink)
    }

    fn text(read: &OwnedFd) -> String {
        let mut buffer = vec![0; 1 << 16];
        let n = sys::read(read.as_raw_fd(), &mut buffer).unwrap();
        String::from_utf8(buffer[..n].to_vec()).unwrap()
    }

    #[test]
    fn lines_of_two_ranks_do_not_meet() {
        let (read, _write, mut sink) = sink();
        sink.put(Some(0), "", b"one\ntwo: ");
        sink.put(Some(0), "", b"more\nprompt? ");
        sink.put(Some(1), "", b"other\n");
        sink.put(Some(0), "", b"answer\n");
        assert_eq!(text(&read), "one\ntwo: more\nprompt? \nother\nanswer\n");
    }

    #[test]
    fn labels_stand_before_lines_and_nowhere_else() {
        let (read, _write, mut sink) = sink();
        sink.put(Some(7), "[7] ", b"one\n\ntwo: ");
        sink.put(Some(7), "[7] ", b"more\nopen");
        sink.put(None, "", b"mpirun speaks\n");
        sink.put(Some(7), "[7] ", b"end\n");
        assert_eq!(text(&read), "[7] one\n[7] \n[7] two: more\n[7] open\nmpirun speaks\n[7] end\n");
    }

    #[test]
    fn a_slow_reader_makes_nobody_wait() {
        let (read, _write, sink) = sink();
        slow_reader(read, sink);
        let (read, write) = std::os::unix::net::UnixStream::pair().unwrap();
        let sink = Sink::new(write.as_raw_fd());
        slow_reader(read.into(), sink);
    }

    fn slow_reader(read: OwnedFd, mut sink: Sink) {
        let big = vec![b'x'; 1 << 20];
        sink.put(Some(0), "", &big);
        assert!(sink.waiting() > 0);
        let mut got = 0;
        while got < big.len() {
            got += text(&read).len();
            sink.push();
        }
        assert_eq!((got, sink.waiting()), (big.len(), 0));
        drop(read);
        sink.put(Some(0), "", b"x");
        assert!(sink.gone() && sink.failure.is_none());
    }
}
