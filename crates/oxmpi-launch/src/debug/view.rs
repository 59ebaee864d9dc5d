//! Shows the terminals of ranks on the terminal of this process, one at a time. Ends when their debuggers have ended; when it
//! ends before, they are hung up.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use oxmpi_base::socket;
use oxmpi_base::terminal::{self, RawMode};

use crate::debug_options;
use crate::sys;

/// Ctrl-]: show the next rank.
const NEXT: u8 = 0x1d;
/// Output of a rank that is not shown, which it keeps for later.
const KEPT: usize = 64 << 10;
/// How often the size of the terminal is looked at, and a rank that has no door yet.
const PAUSE: Duration = Duration::from_millis(200);

/// Shows ranks. The arguments: the option, the process of `mpirun`, and the ranks.
pub fn run(arguments: &[OsString]) -> i32 {
    let numbers: Vec<usize> =
        arguments.iter().skip(1).filter_map(|word| word.to_str().and_then(|word| word.parse().ok())).collect();
    let Some((&mpirun, ranks)) = numbers.split_first() else { return 2 };
    let connected: Option<Vec<Shown>> = ranks.iter().map(|&rank| Shown::connect(mpirun as u32, rank)).collect();
    let Some(shown) = connected.filter(|shown| !shown.is_empty()) else { return 1 };
    let _raw = RawMode::begin(0);
    View { shown, at: 0 }.run();
    0
}

/// A rank.
struct Shown {
    rank: usize,
    /// None: its debugger has ended.
    terminal: Option<OwnedFd>,
    kept: VecDeque<u8>,
}

impl Shown {
    /// Takes the terminal of a rank; none when the job ends before.
    fn connect(mpirun: u32, rank: usize) -> Option<Shown> {
        let door = SocketAddr::from_abstract_name(debug_options::door(mpirun, rank)).ok()?;
        while Path::new(&format!("/proc/{mpirun}")).exists() {
            if let Ok(terminal) = take(&door) {
                return Some(Shown { rank, terminal: Some(terminal), kept: VecDeque::new() });
            }
            thread::sleep(PAUSE);
        }
        None
    }
}

fn take(door: &SocketAddr) -> io::Result<OwnedFd> {
    let stream = UnixStream::connect_addr(door)?;
    if socket::peer_process(stream.as_fd())?.user != sys::own_user() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    sys::poll(&mut [sys::pollfd(stream.as_raw_fd(), sys::POLLIN)], None)?;
    let (_, fds) = socket::receive_with_fds(stream.as_fd(), &mut [0])?;
    fds.into_iter().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

struct View {
    shown: Vec<Shown>,
    at: usize,
}

impl View {
    fn run(&mut self) {
        let mut buffer = vec![0; KEPT];
        self.announce();
        while self.shown[self.at].terminal.is_some() {
            for terminal in self.shown.iter().filter_map(|shown| shown.terminal.as_ref()) {
                terminal::copy_size(0, terminal.as_raw_fd());
            }
            let mut fds = vec![sys::pollfd(0, sys::POLLIN)];
            fds.extend(self.shown.iter().map(|shown| match &shown.terminal {
                Some(terminal) => sys::pollfd(terminal.as_raw_fd(), sys::POLLIN),
                None => sys::pollfd(-1, 0),
            }));
            if sys::poll(&mut fds, Some(PAUSE)).is_err() {
                continue;
            }
            for (index, fd) in fds[1..].iter().enumerate() {
                if fd.revents != 0 {
                    self.output(index, &mut buffer);
                }
            }
            if fds[0].revents != 0 {
                match sys::read(0, &mut buffer) {
                    Ok(count) if count > 0 => self.input(&buffer[..count]),
                    _ => return,
                }
            }
        }
    }

    /// A rank has written something, or its debugger has ended.
    fn output(&mut self, index: usize, buffer: &mut [u8]) {
        let shown = &mut self.shown[index];
        let Some(terminal) = &shown.terminal else { return };
        match sys::read(terminal.as_raw_fd(), buffer) {
            Ok(count) if count > 0 && index == self.at => print(&buffer[..count]),
            Ok(count) if count > 0 => {
                shown.kept.extend(&buffer[..count]);
                let excess = shown.kept.len().saturating_sub(KEPT);
                shown.kept.drain(..excess);
            }
            _ => {
                shown.terminal = None;
                if index == self.at {
                    self.show_next();
                }
            }
        }
    }

    fn input(&mut self, mut typed: &[u8]) {
        if self.shown.len() > 1 {
            while let Some(at) = typed.iter().position(|&byte| byte == NEXT) {
                self.pass_on(&typed[..at]);
                self.show_next();
                typed = &typed[at + 1..];
            }
        }
        self.pass_on(typed);
    }

    fn pass_on(&self, mut typed: &[u8]) {
        let Some(terminal) = &self.shown[self.at].terminal else { return };
        while !typed.is_empty() {
            match sys::write(terminal.as_raw_fd(), typed) {
                Ok(count) if count > 0 => typed = &typed[count..],
                _ => return,
            }
        }
    }

    /// Shows the next rank whose debugger has not ended.
    fn show_next(&mut self) {
        let count = self.shown.len();
        let next = (1..=count).map(|step| (self.at + step) % count).find(|&at| self.shown[at].terminal.is_some());
        if let Some(next) = next {
            self.at = next;
            self.announce();
            let kept: Vec<u8> = self.shown[next].kept.drain(..).collect();
            print(&kept);
        }
    }

    fn announce(&self) {
        if self.shown.len() > 1 {
            print(format!("\r\n[rank {}; Ctrl-] shows the next one]\r\n", self.shown[self.at].rank).as_bytes());
        }
    }
}

/// Whoever has closed the screen sees nothing.
fn print(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}
