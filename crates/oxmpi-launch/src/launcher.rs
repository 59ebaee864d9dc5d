//! Starts agents: directly on this machine, or through a command such as `ssh` on another host. The key of the job,
//! environments and programs never appear in arguments: they go through the agent's stdin.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oxmpi_agent::message::{LauncherOrder, StepOrder};

use crate::hosts;
use crate::options::{Cluster, Launcher, shell_words};
use crate::pbs;
use crate::sys::{self, Pid};

/// The option of an `mpirun` that is an agent. It is internal and not in `--help`.
pub const OPTION: &str = "--agent";
/// Replaces the command of the launcher, as `--launcher-exec` does.
pub const COMMAND: &str = "OXMPI_RSH";
/// ssh must fail instead of asking for a password, and give up soon when a host is not there.
const SSH_OPTIONS: [&str; 7] = [
    "-x",
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oControlPath=none",
    "-oServerAliveInterval=0",
    "-oEscapeChar=none",
];

/// A started agent, or the launcher's process that leads to it.
pub struct Process {
    pub pid: Pid,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// How the agents of a cluster are started; an error for a command that is none.
pub fn plan(cluster: &Cluster) -> Result<LauncherOrder, String> {
    let given = cluster.command.clone().or_else(|| std::env::var(COMMAND).ok().filter(|text| !text.trim().is_empty()));
    let command = match (cluster.launcher.unwrap_or_default(), given) {
        (Launcher::Local, _) => Vec::new(),
        (_, Some(text)) => match shell_words(&text) {
            Some(words) if !words.is_empty() => words,
            _ => return Err(format!("`{text}` is not a command that starts programs on other hosts")),
        },
        (Launcher::Ssh, None) => vec!["ssh".into()],
        (Launcher::Rsh, None) => vec!["rsh".into()],
        (Launcher::Slurm, None) => vec!["srun".into()],
        (Launcher::Pbs, None) => vec![pbs::COMMAND.into()],
    };
    let own = || std::env::current_exe().map_err(|error| format!("cannot find the path of mpirun: {error}"));
    let agent: PathBuf = match &cluster.prefix {
        Some(prefix) => absolute(prefix).join("bin/mpirun"),
        None => own()?,
    };
    let also_here = cluster.launcher.is_some();
    let step = matches!(cluster.launcher, Some(Launcher::Slurm | Launcher::Pbs)).then(|| StepOrder {
        one_by_one: cluster.launcher == Some(Launcher::Pbs),
        port_range: cluster.port_range,
        net_interface: cluster.net_interface.clone(),
    });
    Ok(LauncherOrder { command, also_here, agent: agent.into_os_string().into_vec(), step })
}

/// Starts an agent on a host.
pub fn start(order: &LauncherOrder, host: &str) -> io::Result<Process> {
    let there = elsewhere(order, host, &[OPTION]);
    spawn(there.unwrap_or_else(|| {
        let mut command = Command::new(OsString::from_vec(order.agent.clone()));
        command.arg(OPTION);
        command
    }))
}

/// The command that starts `mpirun` on a host with these arguments, which are words without blanks. None: the host is this
/// machine, which needs no command to be reached, unless the user wants it.
pub fn elsewhere(order: &LauncherOrder, host: &str, arguments: &[&str]) -> Option<Command> {
    let (program, words) = order.command.split_first()?;
    let is_needed = order.also_here || !hosts::is_here(host);
    is_needed.then(|| remote(program, words, host, remote_command(&order.agent, arguments).as_bytes()))
}

/// Starts a launcher, with pipes that do not block.
pub fn spawn(mut command: Command) -> io::Result<Process> {
    // A process group of its own: Ctrl-C in a terminal must not end launchers.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        let program = Path::new(command.get_program()).display();
        io::Error::new(error.kind(), format!("cannot start `{program}`: {error}"))
    })?;
    let missing = || io::Error::other("a pipe is missing");
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let process = Process {
        pid: child.id() as Pid,
        stdin: stdin.ok_or_else(missing)?.into(),
        stdout: stdout.ok_or_else(missing)?.into(),
        stderr: stderr.ok_or_else(missing)?.into(),
    };
    for fd in [&process.stdin, &process.stdout, &process.stderr] {
        sys::set_nonblocking(fd)?;
    }
    Ok(process)
}

/// The launcher's command with what the login shell of the other host executes.
pub fn remote(program: &str, words: &[String], host: &str, line: &[u8]) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    if is_ssh(program) {
        // ssh takes the first value of an option, so those of the user win.
        command.args(SSH_OPTIONS);
    }
    command.arg(host).arg(OsString::from_vec(line.to_vec()));
    // When this process is killed, the launcher must not wait for a host that does not answer.
    sys::end_with_parent(&mut command);
    command
}

/// What the login shell of the other host executes. Bourne shells, csh and fish read it in the same way.
fn remote_command(agent: &[u8], arguments: &[&str]) -> OsString {
    let mut text = b"exec ".to_vec();
    quote(&mut text, agent);
    for argument in arguments {
        text.push(b' ');
        text.extend(argument.as_bytes());
    }
    OsString::from_vec(text)
}

/// Adds a word as those shells quote it.
pub fn quote(text: &mut Vec<u8>, word: &[u8]) {
    text.push(b'\'');
    for &byte in word {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            _ => text.push(byte),
        }
    }
    text.push(b'\'');
}

fn is_ssh(program: &str) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == "ssh")
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_launchers() {
        let cluster = |launcher, command: Option<&str>| Cluster {
            launcher: Some(launcher),
            command: command.map(String::from),
            prefix: Some("/opt/ox mpi".into()),
            ..Cluster::default()
        };
        let words = |cluster: &Cluster| plan(cluster).map(|order| order.command.join("|"));
        assert_eq!(words(&cluster(Launcher::Ssh, Some("ssh -F 'a file'"))).unwrap(), "ssh|-F|a file");
        assert_eq!(words(&cluster(Launcher::Rsh, None)).unwrap(), "rsh");
        assert_eq!(words(&cluster(Launcher::Local, Some("ssh"))).unwrap(), "");
        assert!(words(&cluster(Launcher::Ssh, Some("ssh 'open"))).unwrap_err().contains("ssh 'open"));
        assert_eq!(plan(&cluster(Launcher::Ssh, None)).unwrap().agent, b"/opt/ox mpi/bin/mpirun");
    }

    #[test]
    fn paths_with_blanks_and_apostrophes() {
        assert_eq!(remote_command(b"/a b/it's/mpirun", &[OPTION]), "exec '/a b/it'\\''s/mpirun' --agent");
    }
}
