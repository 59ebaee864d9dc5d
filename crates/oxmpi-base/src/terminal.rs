//! Pseudo-terminals, and the modes of terminals.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes a pseudo-terminal: our end, the program's end.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    // SAFETY: each descriptor is owned as soon as it exists; the kernel reads one integer.
    unsafe {
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        let ours = OwnedFd::from_raw_fd(check(libc::posix_openpt(flags))?);
        let unlocked: libc::c_int = 0;
        check(libc::ioctl(ours.as_raw_fd(), libc::TIOCSPTLCK, &unlocked))?;
        let theirs = OwnedFd::from_raw_fd(check(libc::ioctl(ours.as_raw_fd(), libc::TIOCGPTPEER, flags))?);
        Ok((ours, theirs))
    }
}

/// A pseudo-terminal that changes no byte. It gets the size of the terminal `like`.
pub fn raw_pair(like: RawFd) -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = pair()?;
    // SAFETY: the descriptors are open; the structure is valid during the calls.
    unsafe {
        let mut modes: libc::termios = std::mem::zeroed();
        check(libc::tcgetattr(theirs.as_raw_fd(), &mut modes))?;
        libc::cfmakeraw(&mut modes);
        check(libc::tcsetattr(theirs.as_raw_fd(), libc::TCSANOW, &modes))?;
    }
    copy_size(like, ours.as_raw_fd());
    Ok((ours, theirs))
}

/// The rows and columns of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub rows: u16,
    pub columns: u16,
}

/// None if it is no terminal.
pub fn size(terminal: RawFd) -> Option<Size> {
    // SAFETY: the structure consists of integers, and is valid during the call.
    unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let known = libc::ioctl(terminal, libc::TIOCGWINSZ, &mut size) == 0;
        known.then_some(Size { rows: size.ws_row, columns: size.ws_col })
    }
}

/// The kernel tells the processes of the terminal only of a change.
pub fn set_size(terminal: RawFd, Size { rows, columns }: Size) {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the structure is valid during the call.
    unsafe { libc::ioctl(terminal, libc::TIOCSWINSZ, &size) };
}

/// Gives a terminal the size of another one, if that is a terminal.
pub fn copy_size(from: RawFd, to: RawFd) {
    if let Some(size) = size(from) {
        set_size(to, size);
    }
}

/// Makes a terminal the controlling one of this process, and its stdin, stdout and stderr. The process must have called `setsid`.
pub fn become_own(terminal: &OwnedFd) -> io::Result<()> {
    // SAFETY: plain numbers; the three descriptors are those of every program.
    unsafe {
        check(libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0))?;
        (0..3).try_for_each(|fd| check(libc::dup2(terminal.as_raw_fd(), fd)).map(drop))
    }
}

/// A terminal that passes on each byte as it is typed, until the end of this value.
pub struct RawMode {
    terminal: RawFd,
    before: libc::termios,
}

impl RawMode {
    /// None if it is no terminal.
    pub fn begin(terminal: RawFd) -> Option<RawMode> {
        // SAFETY: the structure consists of integers, and is valid during the calls.
        unsafe {
            let mut before: libc::termios = std::mem::zeroed();
            check(libc::tcgetattr(terminal, &mut before)).ok()?;
            let mut modes = before;
            libc::cfmakeraw(&mut modes);
            check(libc::tcsetattr(terminal, libc::TCSANOW, &modes)).ok()?;
            Some(RawMode { terminal, before })
        }
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // SAFETY: the modes are those that the terminal had.
        unsafe { libc::tcsetattr(self.terminal, libc::TCSADRAIN, &self.before) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};

    #[test]
    fn raw_mode_lasts_as_long_as_its_value() {
        let (ours, theirs) = pair().unwrap();
        let (mut ours, mut theirs) = (File::from(ours), File::from(theirs));
        let mut seen = [0; 2];
        {
            let _raw = RawMode::begin(theirs.as_raw_fd()).unwrap();
            // A line's end stays one byte.
            theirs.write_all(b"a\n").unwrap();
            ours.read_exact(&mut seen).unwrap();
            assert_eq!(&seen, b"a\n");
        }
        theirs.write_all(b"\n").unwrap();
        ours.read_exact(&mut seen).unwrap();
        assert_eq!(&seen, b"\r\n");
        assert!(RawMode::begin(File::open("/dev/null").unwrap().as_raw_fd()).is_none());
    }
}
