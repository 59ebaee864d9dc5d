//! The process of a rank that is debugged, before it becomes gdb: it waits for its screen, which gets the other end of its
//! terminal.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::Command;

use oxmpi_base::{socket, terminal};

use crate::sys;

/// Becomes the command. The arguments: the option, the name under which the screen finds this process, and the command.
/// Returns only if that fails.
pub fn run(arguments: &[OsString]) -> i32 {
    let [_, name, command, arguments @ ..] = arguments else { return 2 };
    let error = match take_terminal(name.as_encoded_bytes()) {
        Ok(()) => Command::new(command).args(arguments).exec(),
        Err(error) => error,
    };
    eprintln!("mpirun: cannot start {}: {error}", command.display());
    127
}

fn take_terminal(name: &[u8]) -> io::Result<()> {
    let (ours, theirs) = terminal::pair()?;
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    loop {
        let (screen, _) = listener.accept()?;
        // Everybody on this machine can connect.
        if socket::peer_process(screen.as_fd())?.user == sys::own_user() {
            socket::send_with_fd(screen.as_fd(), &[0], ours.as_fd())?;
            return terminal::become_own(&theirs);
        }
    }
}
