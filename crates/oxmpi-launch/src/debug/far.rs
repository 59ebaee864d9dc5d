//! The way from a screen to a rank on another host: the screen starts a relay there with the launcher, which brings the rank's
//! terminal with its stdin and stdout. What the rank writes comes back as it is. What is typed, and each new size of the screen,
//! go as frames: a kind, a length of two bytes, and so many bytes. When either end is gone, so is the other one.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use oxmpi_base::terminal::{self, Size};

use super::view;
use crate::sys;

const TYPED: u8 = 0;
const SIZE: u8 = 1;
const HEAD: usize = 3;
/// How often a relay looks for a rank that does not wait for its screen yet.
const PAUSE: Duration = Duration::from_millis(200);

/// The screen's end.
pub struct Far {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
    size: Option<Size>,
}

impl Far {
    /// None if the command cannot be run, which it says.
    pub fn begin(route: &[OsString]) -> Option<Far> {
        let (program, words) = route.split_first()?;
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        sys::end_with_parent(&mut command);
        let started = command.spawn();
        let mut child =
            started.inspect_err(|error| eprintln!("mpirun: cannot start {}: {error}", program.display())).ok()?;
        let (to, from) = (child.stdin.take()?, child.stdout.take()?);
        Some(Far { child, to, from, size: None })
    }

    pub fn as_raw_fd(&self) -> RawFd {
        self.from.as_raw_fd()
    }

    pub fn follow_size(&mut self, of: RawFd) {
        let size = terminal::size(of);
        if let Some(Size { rows, columns }) = size.filter(|_| size != self.size) {
            let [rows, columns] = [rows, columns].map(u16::to_le_bytes);
            let sent = frame(self.to.as_raw_fd(), SIZE, &[rows, columns].concat());
            self.size = size.filter(|_| sent.is_ok());
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(u16::MAX.into()).try_for_each(|part| frame(self.to.as_raw_fd(), TYPED, part))
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn frame(to: RawFd, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let [low, high] = (bytes.len() as u16).to_le_bytes();
    view::write_all(to, &[&[kind, low, high], bytes].concat())
}

/// The relay. The arguments: the option, the name of the door, and the rank.
pub fn relay(arguments: &[OsString]) -> i32 {
    let [_, job, rank] = arguments else { return 2 };
    let (Some(job), Some(rank)) = (job.to_str(), rank.to_str().and_then(|rank| rank.parse().ok())) else { return 2 };
    let (mut frames, mut buffer) = (Frames::default(), vec![0; 1 << 16]);
    let mut terminal = None;
    loop {
        if terminal.is_none() {
            terminal = view::take(job, rank);
        }
        let of_rank = terminal.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let mut fds = [sys::pollfd(0, sys::POLLIN), sys::pollfd(of_rank, sys::POLLIN)];
        // What is typed before the rank waits for its screen stays in the pipe.
        if of_rank < 0 {
            fds[0].events = 0;
        }
        if sys::poll(&mut fds, Some(PAUSE)).is_err() {
            continue;
        }
        if fds[1].revents != 0 {
            match sys::read(of_rank, &mut buffer) {
                Ok(count) if count > 0 && view::write_all(1, &buffer[..count]).is_ok() => {}
                _ => return 0,
            }
        }
        if fds[0].revents != 0 {
            match sys::read(0, &mut buffer) {
                Ok(count) if count > 0 => frames.add(&buffer[..count]),
                _ => return 0,
            }
        }
        while let Some((kind, bytes)) = frames.next() {
            match (kind, &bytes[..]) {
                (SIZE, &[a, b, c, d]) => {
                    let (rows, columns) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
                    terminal::set_size(of_rank, Size { rows, columns });
                }
                (TYPED, bytes) if view::write_all(of_rank, bytes).is_ok() => {}
                _ => return 0,
            }
        }
    }
}

/// Bytes of frames that have come.
#[derive(Default)]
struct Frames(Vec<u8>);

impl Frames {
    fn add(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// The next whole frame.
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let &[kind, low, high, ..] = &self.0[..] else { return None };
        let end = HEAD + usize::from(u16::from_le_bytes([low, high]));
        let bytes = self.0.get(HEAD..end)?.to_vec();
        self.0.drain(..end);
        Some((kind, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_in_pieces() {
        let mut frames = Frames::default();
        let bytes = [TYPED, 2, 0, b'a', b'b', SIZE, 4, 0, 1, 2, 3, 4];
        frames.add(&bytes[..4]);
        assert_eq!(frames.next(), None);
        frames.add(&bytes[4..]);
        assert_eq!(frames.next(), Some((TYPED, b"ab".to_vec())));
        assert_eq!(frames.next(), Some((SIZE, vec![1, 2, 3, 4])));
        assert_eq!(frames.next(), None);
    }
}
