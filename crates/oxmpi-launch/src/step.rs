//! Agents that one command starts on all hosts at once (`srun`), so that they belong to one step of the batch system. Such a
//! command copies its stdin to every agent and mixes their output, so it carries no frames:
//!
//! ```text
//! mpirun  ->  srun's stdin    one line: a key, and the port and addresses of mpirun
//! agent   ->  mpirun's port   handshake (`oxmpi_boot::handshake`), a line with the node's name, the line OXMPI-AGENT, frames
//! agent   ->  srun's stderr   a line that says why it cannot connect
//! ```
//!
//! The end of the connection ends the agent, as the end of stdin does for other launchers. Nothing in [`Step`] waits.

use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use oxmpi_agent::door::{Door, Reach};
use oxmpi_agent::message::{LauncherOrder, StepOrder};
use oxmpi_boot::handshake::{End, Key, KeyId};
use oxmpi_boot::network::{Network, NodePort};

use crate::hosts;
use crate::launcher::{self, Process};
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

/// The command that has started the agents, as `mpirun` sees it.
pub struct Step {
    /// 0 after its end.
    pub pid: Pid,
    /// The name of the command.
    pub name: String,
    stdin: Option<OwnedFd>,
    /// Its stdout and stderr, with the beginnings of lines.
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
    /// Starts the agents of these hosts.
    pub fn start(order: &LauncherOrder, step: &StepOrder, hosts: &[&str]) -> Result<Step, String> {
        let cannot = |error: io::Error| format!("cannot listen for its agent: {error}");
        let addresses = reach::addresses(false, step.net_interface.as_deref())?;
        let mut door = Door::new(&hosts::own_name());
        door.listen(&Reach::Everyone, step.port_range.map(|(first, last)| first..=last)).map_err(cannot)?;
        let (key_id, key): (KeyId, Key) = match (Key::random(), Key::random()) {
            (Ok(id), Ok(key)) => (*id.as_bytes().first_chunk().unwrap_or(&[0; 16]), key),
            (Err(error), _) | (_, Err(error)) => return Err(cannot(error)),
        };
        let line = Address { key_id, key: *key.as_bytes(), port: door.port().unwrap_or(0), addresses }.line();
        door.admit_agents(key_id, key, hosts.len());
        let (name, command) = srun::command(order, hosts);
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
        Ok(Step { pid, name, stdin: Some(stdin), outputs, lines: Vec::new(), door, unnamed: Vec::new() })
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
        self.stdin = None;
        self.unnamed.clear();
        self.door = Door::new("");
    }
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

/// Where agents find `mpirun`, and what they prove.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    key_id: KeyId,
    key: [u8; 32],
    port: u16,
    addresses: Vec<IpAddr>,
}

impl Address {
    fn line(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let addresses: Vec<String> = self.addresses.iter().map(IpAddr::to_string).collect();
        let (id, key, port) = (hex(&self.key_id), hex(&self.key), self.port);
        format!("{ADDRESS} {VERSION} {id} {key} {port} {}\n", addresses.join(","))
    }

    fn parse(line: &str) -> Result<Address, String> {
        let bad = || format!("stdin does not begin with the line of mpirun, {ADDRESS}, but is not shown here");
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[ADDRESS, version, id, key, port, addresses] = words.as_slice() else { return Err(bad()) };
        if version != VERSION {
            return Err(format!("OxMPI {VERSION} is installed here, and mpirun is of OxMPI {version}"));
        }
        Ok(Address {
            key_id: from_hex(id).ok_or_else(bad)?,
            key: from_hex(key).ok_or_else(bad)?,
            port: port.parse().map_err(|_| bad())?,
            addresses: addresses.split(',').map(|text| text.parse().map_err(|_| bad())).collect::<Result<_, _>>()?,
        })
    }
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Connects an agent to its `mpirun`, and greets it; the two ends of the connection.
pub fn connect(greeting: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut line = String::new();
    io::stdin().lock().take(MOST_LINE as u64).read_line(&mut line)?;
    // Ranks inherit neither the launcher's stdin nor its stdout.
    sys::take_stdio()?;
    let Address { key_id, key, port, addresses } = Address::parse(&line).map_err(io::Error::other)?;
    let at = NodePort { port, addresses, host: "mpirun".into() };
    let own = End { node: 0, slot: End::AGENT };
    let mut attempt = Network::connect_control((key_id, &Key::from_bytes(key)), &at, own).map_err(io::Error::other)?;
    let stream = loop {
        if let Some(socket) = attempt.step().map_err(io::Error::other)? {
            break TcpStream::from(socket);
        }
        let mut fds = [sys::pollfd(attempt.readiness().as_raw_fd(), sys::POLLIN)];
        sys::poll(&mut fds, Some(Duration::from_millis(100)))?;
    };
    // A new connection has room for two lines.
    (&stream).write_all(format!("{}\n{greeting}", own_node()).as_bytes())?;
    Ok((stream.try_clone()?.into(), stream.into()))
}

/// The name of this node in the batch system.
fn own_node() -> String {
    std::env::var(slurm::NODE_NAME).unwrap_or_else(|_| hosts::own_name())
}

/// Tells `mpirun` that this agent cannot connect to it, as a line that the launcher passes on.
pub fn report_failure(why: &str) {
    eprintln!("{FAILURE} {} {}", own_node(), why.replace('\n', " "));
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
        let address = Address { key_id: [1; 16], key: [0xfe; 32], port: 20_000, addresses };
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
