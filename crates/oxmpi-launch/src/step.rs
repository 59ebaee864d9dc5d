//! Agents whose launcher carries no frames, so that they connect to `mpirun`. `srun` starts them on all hosts at once, as one
//! step; it copies its stdin to all of them and mixes their output. `pbs.rs` has another such launcher.
//!
//! ```text
//! mpirun  ->  srun's stdin    one line: a key, and the port and addresses of mpirun (a file in memory, in a
//!                             heterogeneous job)
//! agent   ->  mpirun's port   handshake (`oxmpi_boot::handshake`), a line with the node's name, the line OXMPI-AGENT, frames
//! agent   ->  srun's stderr   a line that says why it cannot connect
//! ```
//!
//! The end of the connection ends the agent, as the end of stdin does for other launchers. Nothing in [`Step`] waits.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use oxmpi_agent::door::{Door, Reach};
use oxmpi_agent::message::{LauncherOrder, StepOrder};
use oxmpi_base::dial;
use oxmpi_boot::handshake::{Key, KeyId, random};

use crate::hosts;
use crate::launcher::{self, Process};
use crate::meeting::{self, Meeting, from_hex, to_hex};
use crate::pbs;
use crate::reach;
use crate::report::{VERSION, printable};
use crate::slurm;
use crate::srun;
use crate::sys::{self, Pid};

/// Begins the line that every agent reads.
const ADDRESS: &str = "OXMPI-STEP";
/// Begins the line of an agent that cannot connect.
const FAILURE: &str = "OXMPI-AGENT-FAILED";
/// The longest line that is read.
const MOST_LINE: usize = 4096;
/// Time for an agent to say which one it is, once it has proven the key.
const PATIENCE: Duration = Duration::from_secs(5);

/// What has started the agents, as `mpirun` sees it.
pub struct Step {
    /// The command that has started all of them; 0 after its end, and if there is none.
    pub pid: Pid,
    /// The name of the command.
    pub name: String,
    stdin: Option<OwnedFd>,
    /// The same line, for components of a heterogeneous job.
    line: Option<File>,
    /// What the command, or those of all agents, write to stdout and stderr, with the beginnings of lines.
    outputs: Vec<(OwnedFd, Vec<u8>)>,
    lines: Vec<String>,
    door: Door,
    /// Agents that have proven the key and not said yet which one they are.
    unnamed: Vec<(TcpStream, Vec<u8>, Instant)>,
}

/// An agent that has connected.
pub struct Connected {
    pub host: String,
    pub stream: TcpStream,
}

impl Step {
    /// Starts the agents of these hosts by one command.
    pub fn start(order: &LauncherOrder, step: &StepOrder, hosts: &[&str]) -> Result<Step, String> {
        let key = Key::random().map_err(cannot_listen)?;
        let (listening, at) = Step::listen(order, step, hosts.len(), |_| Ok(key.clone()))?;
        let line = Address { key: *key.as_bytes(), at }.line();
        // A file that only this user can open, under the number that it has in this process.
        let mut file = File::from(dial::memory_file(c"oxmpi-step").map_err(cannot_listen)?);
        file.write_all(line.as_bytes()).map_err(cannot_listen)?;
        let input = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        let groups = slurm::Allocation::from_env().map(|allocation| allocation.by_component(hosts));
        let (name, command) = srun::command(order, &groups.unwrap_or_else(|_| vec![(None, hosts.to_vec())]), &input);
        let Process { pid, stdin, stdout, stderr } = launcher::spawn(command).map_err(|error| {
            let advice = match error.kind() {
                io::ErrorKind::NotFound => "; is Slurm installed here? --launcher ssh needs no batch system",
                _ => "",
            };
            format!("cannot start its agent: {error}{advice}")
        })?;
        // An empty pipe has room for one line. A command that has ended already says why.
        let _ = sys::write(stdin.as_raw_fd(), line.as_bytes());
        let outputs = vec![(stdout, Vec::new()), (stderr, Vec::new())];
        Ok(Step { pid, name, stdin: Some(stdin), line: Some(file), outputs, ..listening })
    }

    /// Expects agents that are started one by one, with [`start_one`](Step::start_one); what each of them must be told.
    pub fn expect(order: &LauncherOrder, step: &StepOrder, count: usize) -> Result<(Step, Meeting), String> {
        let secret = pbs::secret()?;
        Step::listen(order, step, count, |key_id| Ok(Key::of_job(&secret, key_id)))
    }

    /// Starts one agent, and returns the process of its launcher.
    pub fn start_one(&mut self, order: &LauncherOrder, at: &Meeting, host: &str) -> io::Result<Pid> {
        let Process { pid, stdout, stderr, .. } = launcher::spawn(pbs::command(order, at, host))?;
        self.outputs.extend([stdout, stderr].map(|fd| (fd, Vec::new())));
        Ok(pid)
    }

    /// Listens for so many agents. `key`: what those prove who know the number that they are told.
    fn listen(
        order: &LauncherOrder,
        step: &StepOrder,
        count: usize,
        key: impl FnOnce(&KeyId) -> Result<Key, String>,
    ) -> Result<(Step, Meeting), String> {
        let addresses = reach::addresses(false, step.net_interface.as_deref())?;
        let mut door = Door::new(&hosts::own_name());
        door.listen(&Reach::Everyone, step.port_range.map(|(first, last)| first..=last)).map_err(cannot_listen)?;
        let key_id: KeyId = random().map_err(cannot_listen)?;
        door.admit_agents(key_id, key(&key_id)?, count);
        let meeting = Meeting { key_id, port: door.port().unwrap_or(0), addresses };
        let (name, unnamed) = (order.command.first().cloned().unwrap_or_default(), Vec::new());
        let (outputs, lines) = (Vec::new(), Vec::new());
        Ok((Step { pid: 0, name, stdin: None, line: None, outputs, lines, door, unnamed }, meeting))
    }

    /// The agents that have connected since the last call.
    pub fn work(&mut self, now: Instant) -> Vec<Connected> {
        self.hear();
        self.door.work(now);
        self.unnamed.extend(self.door.take_agents().into_iter().map(|stream| (stream, Vec::new(), now)));
        let mut connected = Vec::new();
        for (stream, mut line, since) in std::mem::take(&mut self.unnamed) {
            match read_line(&stream, &mut line) {
                Ok(true) => {
                    let host = String::from_utf8_lossy(&line).trim_end().into();
                    connected.push(Connected { host, stream });
                }
                Ok(false) if now < since + PATIENCE => self.unnamed.push((stream, line, since)),
                Ok(false) | Err(_) => {}
            }
        }
        connected
    }

    /// Reads what the command and its agents say.
    fn hear(&mut self) {
        let mut buffer = [0; 4096];
        self.outputs.retain_mut(|(fd, text)| {
            let open = loop {
                match sys::read(fd.as_raw_fd(), &mut buffer) {
                    Ok(0) => break false,
                    Ok(count) => text.extend_from_slice(&buffer[..count]),
                    Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
                }
            };
            while let Some(end) = text.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                self.lines.push(printable(String::from_utf8_lossy(&line).trim_end()));
            }
            let excess = text.len().saturating_sub(MOST_LINE);
            text.drain(..excess);
            if !open && !text.is_empty() {
                self.lines.push(printable(&String::from_utf8_lossy(text)));
            }
            open
        });
    }

    /// The lines that were written since the last call.
    pub fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        fds.extend(self.outputs.iter().map(|(fd, _)| sys::pollfd(fd.as_raw_fd(), sys::POLLIN)));
        fds.extend(self.door.descriptors().map(|fd| sys::pollfd(fd, sys::POLLIN)));
        fds.extend(self.unnamed.iter().map(|(stream, ..)| sys::pollfd(stream.as_raw_fd(), sys::POLLIN)));
    }

    /// No agent is wanted any more.
    pub fn close(&mut self) {
        (self.stdin, self.line) = (None, None);
        self.unnamed.clear();
        self.door = Door::new("");
    }
}

fn cannot_listen(error: io::Error) -> String {
    format!("cannot listen for its agent: {error}")
}

/// Reads up to the end of a line and not further: whether it is whole.
fn read_line(mut from: &TcpStream, line: &mut Vec<u8>) -> io::Result<bool> {
    let mut byte = [0];
    while line.last() != Some(&b'\n') {
        match from.read(&mut byte) {
            Ok(1) if line.len() < MOST_LINE => line.push(byte[0]),
            Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The same with the key, for a stream that others cannot read.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    key: [u8; 32],
    at: Meeting,
}

impl Address {
    fn line(&self) -> String {
        let [id, port, addresses] = self.at.words();
        format!("{ADDRESS} {VERSION} {id} {} {port} {addresses}\n", to_hex(&self.key))
    }

    fn parse(line: &str) -> Result<Address, String> {
        let bad = || format!("stdin does not begin with the line of mpirun, {ADDRESS}, but is not shown here");
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[ADDRESS, version, id, key, port, addresses] = words.as_slice() else { return Err(bad()) };
        if version != VERSION {
            return Err(format!("OxMPI {VERSION} is installed here, and mpirun is of OxMPI {version}"));
        }
        Ok(Address { key: from_hex(key).ok_or_else(bad)?, at: Meeting::parse([id, port, addresses]).ok_or_else(bad)? })
    }
}

/// Connects the agent of a step to its `mpirun`, and greets it; the two ends of the connection.
pub fn connect(greeting: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut line = String::new();
    io::stdin().lock().take(MOST_LINE as u64).read_line(&mut line)?;
    let Address { key, at } = Address::parse(&line).map_err(io::Error::other)?;
    meeting::meet(at, &Key::from_bytes(key), &own_node(), greeting)
}

/// The name of this node in the batch system.
pub fn own_node() -> String {
    std::env::var(slurm::NODE_NAME).unwrap_or_else(|_| hosts::own_name())
}

/// Tells `mpirun` that this agent cannot connect to it, as a line that the launcher passes on.
pub fn report_failure(host: &str, why: &str) {
    eprintln!("{FAILURE} {host} {}", why.replace('\n', " "));
}

/// The node and the text of such a line.
pub fn read_failure(line: &str) -> Option<(String, String)> {
    let (node, why) = line.strip_prefix(FAILURE)?.strip_prefix(' ')?.split_once(' ')?;
    Some((node.into(), why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_read_the_line_that_mpirun_writes() {
        let addresses = vec!["198.18.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
        let address = Address { key: [0xfe; 32], at: Meeting { key_id: [1; 16], port: 20_000, addresses } };
        let line = address.line();
        assert!(line.len() < MOST_LINE && line.ends_with('\n'));
        assert_eq!(Address::parse(&line), Ok(address));
        for wrong in
            ["", "hello", &line.replace("fe", "xy"), &line.replace("20000", "x"), &line.replace("fd00::1", "y")]
        {
            assert!(Address::parse(wrong).unwrap_err().contains(ADDRESS), "{wrong}");
        }
        let other = line.replace(VERSION, "0.0.9");
        assert!(Address::parse(&other).unwrap_err().contains("0.0.9"));
    }

    #[test]
    fn a_line_of_an_agent_that_cannot_connect() {
        let line = format!("{FAILURE} n3 no answer from 1.2.3.4");
        assert_eq!(read_failure(&line), Some(("n3".into(), "no answer from 1.2.3.4".into())));
        assert_eq!(read_failure("srun: error: something"), None);
    }
}
