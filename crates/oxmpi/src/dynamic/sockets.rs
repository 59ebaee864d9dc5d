//! Exchanges a few bytes with the process at the other end of a socket of the program.

use super::LOOK;
use oxmpi_abi::constants::{MPI_ERR_ARG, MPI_ERR_OTHER};
use oxmpi_abi::{Result, bail};
use oxmpi_core::call::{Call, Guard};
use std::cell::Cell;
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Something to read.
pub const INPUT: i16 = libc::POLLIN;

/// A connected socket of the program.
pub struct Socket(c_int);

impl Socket {
    /// A socket of the library's own, which outlives this value.
    pub fn of(socket: &OwnedFd) -> Socket {
        Socket(socket.as_raw_fd())
    }

    /// An error when the descriptor is not a connected socket.
    pub fn new(fd: c_int) -> Result<Socket> {
        let (mut kind, mut length): (c_int, _) = (0, size_of::<c_int>() as libc::socklen_t);
        // SAFETY: a system call that checks the descriptor; both outputs may be written.
        let asked =
            unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &raw mut length) };
        if asked != 0 {
            bail!(MPI_ERR_ARG, "fd is {fd}, which is not a socket: {}", io::Error::last_os_error());
        }
        if kind != libc::SOCK_STREAM {
            bail!(MPI_ERR_ARG, "fd is {fd}, which is not a stream socket");
        }
        Ok(Socket(fd))
    }

    /// Sends words to the other process and receives as many. Messages move while it waits.
    pub fn exchange<const N: usize>(&self, call: &Call, guard: &mut Guard, words: [u64; N]) -> Result<[u64; N]> {
        self.exchange_while(call, guard, words, &mut || Ok(()))
    }

    /// The same, unless a check that is made now and then fails.
    pub fn exchange_while<const N: usize>(
        &self,
        call: &Call,
        guard: &mut Guard,
        words: [u64; N],
        check: &mut dyn FnMut() -> Result<()>,
    ) -> Result<[u64; N]> {
        let mut failed = None;
        let mut out: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (mut into, mut came) = (vec![0u8; N * 8], 0);
        let all_sent = Cell::new(false);
        let exchanged = call.wait_outside(
            guard,
            || match self.step(&mut out, &mut into[came..]) {
                Err(error) => Some(Err(error)),
                Ok(more) => {
                    came += more;
                    all_sent.set(out.is_empty());
                    let is_over = came == into.len() && out.is_empty();
                    failed = if is_over { None } else { check().err() };
                    (is_over || failed.is_some()).then_some(Ok(()))
                }
            },
            || self.poll(if all_sent.get() { INPUT } else { INPUT | libc::POLLOUT }),
        );
        if let Err(error) = exchanged {
            bail!(MPI_ERR_OTHER, "the process at the other end of the socket {} does not answer: {error}", self.0);
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| into[at * 8 + byte]));
        Ok(std::array::from_fn(word))
    }

    /// Sends and receives what is possible; returns the number of bytes.
    fn step(&self, out: &mut Vec<u8>, into: &mut [u8]) -> io::Result<usize> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        if !out.is_empty() {
            // SAFETY: the bytes can be read.
            let sent = unsafe { libc::send(self.0, out.as_ptr().cast(), out.len(), flags) };
            out.drain(..checked(sent)?.unwrap_or(0));
        }
        if into.is_empty() {
            return Ok(0);
        }
        // SAFETY: the bytes can be written.
        let came = unsafe { libc::recv(self.0, into.as_mut_ptr().cast(), into.len(), flags) };
        match checked(came)? {
            Some(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has closed the connection")),
            came => Ok(came.unwrap_or(0)),
        }
    }

    fn poll(&self, events: i16) {
        pause(self.0, events);
    }
}

/// Waits a short time for a descriptor.
pub fn pause(fd: c_int, events: i16) {
    let mut poll = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&raw mut poll, 1, LOOK.as_millis() as c_int) };
}

/// `None` if the call would block.
fn checked(answer: isize) -> io::Result<Option<usize>> {
    match usize::try_from(answer) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(_) => match io::Error::last_os_error() {
            error if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            error => Err(error),
        },
    }
}
