//! Tests whether one process can read the memory of another. The two processes are siblings, as
//! ranks are: some systems allow a process to read only its children.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use oxmpi_base::cma;
use oxmpi_base::pid::Pid;

pub const HOST: &str = "__host";
pub const VISITOR: &str = "__visitor";

const WORD: [u8; 16] = *b"OxMPI was here\r\n";

/// Whether one rank can read the memory of another; if not, the error of the kernel.
pub fn try_single_copy() -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let started = |command: &mut Command| command.spawn().map_err(|error| format!("cannot start a process: {error}"));
    let mut host = started(Command::new(&own).arg(HOST).stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    let mut address = [0u8; 16];
    let told = host.stdout.as_mut().map_or(Ok(()), |out| out.read_exact(&mut address));
    let address = String::from_utf8_lossy(&address).into_owned();
    let visit = started(
        Command::new(&own)
            .args([VISITOR, &host.id().to_string(), &address])
            .stdout(Stdio::piped())
            .stdin(Stdio::null()),
    )
    .and_then(|visitor| visitor.wait_with_output().map_err(|error| error.to_string()));
    // The host ends at the end of its input.
    drop(host.stdin.take());
    let _ = host.wait();
    told.map_err(|error| error.to_string())?;
    let visit = visit?;
    if visit.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&visit.stdout).trim().to_string()) }
}

/// Prints the address of its word, and waits.
pub fn host() -> (String, i32) {
    cma::permit_peers();
    let word = Box::leak(Box::new(WORD));
    let told = write!(io::stdout(), "{:016x}", word.as_ptr() as usize).and_then(|()| io::stdout().flush());
    let _ = io::stdin().read(&mut [0]);
    (String::new(), i32::from(told.is_err()))
}

/// Reads the host's word.
pub fn visitor(pid: &str, address: &str) -> (String, i32) {
    let (Some(pid), Ok(address)) = (pid.parse().ok().and_then(Pid::new), usize::from_str_radix(address, 16)) else {
        return ("the other process sent no address".into(), 1);
    };
    let mut word = [0u8; WORD.len()];
    // SAFETY: `word` is ours, writable, and not looked at during the call.
    let moved = unsafe { cma::read(pid, &[(word.as_mut_ptr() as usize, word.len())], &[(address, word.len())]) };
    match moved {
        Ok(n) if n == WORD.len() && word == WORD => (String::new(), 0),
        Ok(n) => (format!("{n} bytes were read, but with a wrong value"), 1),
        Err(error) => (error.to_string(), 1),
    }
}
