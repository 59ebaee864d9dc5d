//! The command that starts agents inside a job of PBS, `pbs_tmrsh`: one on one host. It asks the daemon of PBS there to start a
//! program, which then belongs to the job and has its CPUs and its limits. Unlike ssh it carries no bytes: the program's stdin
//! is empty, and what it writes goes to the output files of the job. No shell sees the command, and the environment is that
//! of the daemon. So the agent gets the address of `mpirun` as arguments and connects (`step.rs`); both ends know the cookie
//! of the job, a secret that PBS gives to all its tasks, and make the key of it.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use oxmpi_agent::message::LauncherOrder;
use oxmpi_boot::handshake::Key;

use crate::hosts;
use crate::meeting::{self, Meeting};
use crate::report::VERSION;
use crate::sys;

/// The option of an agent that is told as arguments where its `mpirun` is. It is internal and not in `--help`.
pub const OPTION: &str = "--agent-of";
/// The command.
pub const COMMAND: &str = "pbs_tmrsh";
/// The variable with the secret of the job.
pub const COOKIE: &str = "PBS_JOBCOOKIE";
/// A shorter one is no secret.
const LEAST_COOKIE: usize = 16;

/// Whether a value is one that keys may be made of.
pub fn is_cookie(text: &str) -> bool {
    text.len() >= LEAST_COOKIE
}

/// What all tasks of the job know, and nobody else.
pub fn secret() -> Result<Vec<u8>, String> {
    let cookie = std::env::var(COOKIE).ok().filter(|text| is_cookie(text));
    cookie.map(String::into_bytes).ok_or_else(|| {
        format!(
            "--launcher pbs works inside a job of PBS, and there is none here ({COOKIE} is not set, or too short for a \
             secret): start mpirun in a script for `qsub`"
        )
    })
}

/// Starts an agent on a host.
pub fn command(order: &LauncherOrder, at: &Meeting, host: &str) -> Command {
    let (program, words) = order.command.split_first().map_or((COMMAND, &[][..]), |(first, rest)| (first, rest));
    let mut command = Command::new(program);
    command.args(words).arg(host).arg(OsString::from_vec(order.agent.clone())).args([OPTION, VERSION, host]);
    command.args(at.words());
    sys::end_with_parent(&mut command);
    command
}

/// Connects an agent to its `mpirun`, and greets it.
pub fn connect(greeting: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (host, at) = parse(&words).map_err(io::Error::other)?;
    let secret = secret().map_err(|_| {
        io::Error::other(format!(
            "{COOKIE} is not set for the agent: the command that has started it is not one of PBS"
        ))
    })?;
    let key = Key::of_job(&secret, &at.key_id);
    meeting::meet(at, &key, host, greeting)
}

/// The name that `mpirun` has for the host of this agent.
pub fn own_host() -> String {
    std::env::args_os().nth(3).map_or_else(hosts::own_name, |host| host.to_string_lossy().into_owned())
}

/// The host, and where to connect to, in the words of an agent's command.
fn parse<'a>(words: &[&'a str]) -> Result<(&'a str, Meeting), String> {
    let bad = || format!("{OPTION} is for mpirun itself: it takes a version, a host, a number, a port and addresses");
    let &[_, OPTION, version, host, id, port, addresses] = words else { return Err(bad()) };
    if version != VERSION {
        return Err(format!("OxMPI {VERSION} is installed here, and mpirun is of OxMPI {version}"));
    }
    Ok((host, Meeting::parse([id, port, addresses]).ok_or_else(bad)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_understands_its_command() {
        let (command_words, agent) = (vec!["pbs_tmrsh".into(), "-n".into()], b"/opt/ox mpi/bin/mpirun".to_vec());
        let order = LauncherOrder { command: command_words, also_here: true, agent, step: None };
        let addresses = vec!["198.18.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
        let at = Meeting { key_id: [7; 16], port: 20_000, addresses };
        let command = command(&order, &at, "n3");
        let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[..3], ["-n", "n3", "/opt/ox mpi/bin/mpirun"], "no shell sees it");
        let words: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        assert_eq!(parse(&words), Ok(("n3", at)));
        assert!(parse(&words[..6]).unwrap_err().contains(OPTION));
        for (at, wrong, part) in [(2, "0.0.9", "0.0.9"), (4, "xy", OPTION), (5, "-1", OPTION), (6, "1.2.3", OPTION)] {
            let mut words = words.clone();
            words[at] = wrong;
            assert!(parse(&words).unwrap_err().contains(part), "{words:?}");
        }
    }

    #[test]
    fn keys_are_those_of_one_job_and_one_start() {
        let key = |cookie: &str, id| *Key::of_job(cookie.as_bytes(), &[id; 16]).as_bytes();
        let one = key("0123456789ABCDEF0123456789ABCDEF", 1);
        assert_eq!(one, key("0123456789ABCDEF0123456789ABCDEF", 1));
        assert_ne!(one, key("0123456789ABCDEF0123456789ABCDEF", 2));
        assert_ne!(one, key("1123456789ABCDEF0123456789ABCDEF", 1));
        assert!(is_cookie("0123456789ABCDEF") && !is_cookie("") && !is_cookie("7"));
    }
}
