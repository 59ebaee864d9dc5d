//! Shows the terminals of ranks on the terminal of this process, one at a time. Ends when their debuggers have ended; when it
//! ends before, they are hung up.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use oxmpi_base::socket;
use oxmpi_base::terminal::{self, RawMode};

use super::far::Far;
use crate::debug_options;
use crate::sys;

/// Ctrl-]: show the next rank.
const NEXT: u8 = 0x1d;
/// Output of a rank that is not shown, which it keeps for later.
const KEPT: usize = 64 << 10;
/// How often the size of the terminal is looked at, and a rank that has no door yet.
const PAUSE: Duration = Duration::from_millis(200);

/// Shows ranks. The arguments: see `screen.rs`.
pub fn run(arguments: &[OsString]) -> i32 {
    let Some((mpirun, job, routes)) = read(arguments) else { return 2 };
    let mut shown = Vec::new();
    for (rank, route) in routes {
        let terminal = match route.is_empty() {
            true => connect(mpirun, &job, rank).map(Terminal::Here),
            false => Far::begin(route).map(Terminal::Far),
        };
        // None when the job has ended.
        let Some(terminal) = terminal else { return 1 };
        shown.push(Shown { rank, terminal: Some(terminal), kept: VecDeque::new() });
    }
    if shown.is_empty() {
        return 2;
    }
    let _raw = RawMode::begin(0);
    View { mpirun, shown, at: 0 }.run();
    0
}

/// A rank, and the words of its route.
type Routed<'a> = (usize, &'a [OsString]);

/// The process of `mpirun`, the name of the door, and the ranks.
fn read(arguments: &[OsString]) -> Option<(u32, String, Vec<Routed<'_>>)> {
    let [_, mpirun, job, rest @ ..] = arguments else { return None };
    let number = |word: &OsString| word.to_str().and_then(|word| word.parse::<usize>().ok());
    let (mut ranks, mut rest) = (Vec::new(), rest);
    while let [rank, count, words @ ..] = rest {
        let (route, others) = words.split_at_checked(number(count)?)?;
        ranks.push((number(rank)?, route));
        rest = others;
    }
    Some((number(mpirun)? as u32, job.to_str()?.into(), ranks))
}

/// A rank.
struct Shown {
    rank: usize,
    /// None: its debugger has ended.
    terminal: Option<Terminal>,
    kept: VecDeque<u8>,
}

/// Our end of the terminal of a rank.
enum Terminal {
    Here(OwnedFd),
    Far(Far),
}

impl Terminal {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Terminal::Here(fd) => fd.as_raw_fd(),
            Terminal::Far(far) => far.as_raw_fd(),
        }
    }

    fn follow_size(&mut self, of: RawFd) {
        match self {
            Terminal::Here(fd) => terminal::copy_size(of, fd.as_raw_fd()),
            Terminal::Far(far) => far.follow_size(of),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Terminal::Here(fd) => write_all(fd.as_raw_fd(), bytes),
            Terminal::Far(far) => far.write(bytes),
        }
    }
}

pub(super) fn write_all(to: RawFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sys::write(to, bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

/// Takes the terminal of a rank on this machine; none when the job ends before.
fn connect(mpirun: u32, job: &str, rank: usize) -> Option<OwnedFd> {
    while is_there(mpirun) {
        if let Some(terminal) = take(job, rank) {
            return Some(terminal);
        }
        thread::sleep(PAUSE);
    }
    None
}

fn is_there(mpirun: u32) -> bool {
    Path::new(&format!("/proc/{mpirun}")).exists()
}

/// The terminal of a rank that waits for its screen.
pub(super) fn take(job: &str, rank: usize) -> Option<OwnedFd> {
    let door = SocketAddr::from_abstract_name(debug_options::door(job, rank)).ok()?;
    take_at(&door).ok()
}

fn take_at(door: &SocketAddr) -> io::Result<OwnedFd> {
    let stream = UnixStream::connect_addr(door)?;
    if socket::peer_process(stream.as_fd())?.user != sys::own_user() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    sys::poll(&mut [sys::pollfd(stream.as_raw_fd(), sys::POLLIN)], None)?;
    let (_, fds) = socket::receive_with_fds(stream.as_fd(), &mut [0])?;
    fds.into_iter().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

struct View {
    mpirun: u32,
    shown: Vec<Shown>,
    at: usize,
}

impl View {
    fn run(&mut self) {
        let mut buffer = vec![0; KEPT];
        self.announce();
        while self.shown[self.at].terminal.is_some() {
            for terminal in self.shown.iter_mut().filter_map(|shown| shown.terminal.as_mut()) {
                terminal.follow_size(0);
            }
            let mut fds = vec![sys::pollfd(0, sys::POLLIN)];
            fds.extend(self.shown.iter().map(|shown| match &shown.terminal {
                Some(terminal) => sys::pollfd(terminal.as_raw_fd(), sys::POLLIN),
                None => sys::pollfd(-1, 0),
            }));
            if sys::poll(&mut fds, Some(PAUSE)).is_err() {
                continue;
            }
            // A rank on another host whose job has ended before it waited for its screen never will.
            let is_idle = fds.iter().all(|fd| fd.revents == 0);
            if is_idle && matches!(self.shown[self.at].terminal, Some(Terminal::Far(_))) && !is_there(self.mpirun) {
                return;
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

    fn pass_on(&mut self, typed: &[u8]) {
        if let Some(terminal) = &mut self.shown[self.at].terminal {
            // The end of its debugger is seen where its output is read.
            let _ = terminal.write(typed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_their_routes() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let arguments = words("--debugger-view 7 d00r 0 0 2 3 ssh b x 5 0");
        let (mpirun, job, ranks) = read(&arguments).unwrap();
        assert_eq!((mpirun, &job[..]), (7, "d00r"));
        let route = words("ssh b x");
        assert_eq!(ranks, [(0, &[][..]), (2, &route[..]), (5, &[][..])]);
        assert!(read(&words("--debugger-view 7 d00r 0 2 ssh")).is_none());
        assert!(read(&words("--debugger-view 7")).is_none());
    }
}
