//! The agents that this process has started, `mpirun` as well as an agent in the middle of the tree: their start,
//! frames, heartbeats, and their loss. What frames say is the business of the caller.
//!
//! ```text
//! started -> greeting: text of a shell, then the line OXMPI-AGENT -> open: frames -> lost, or closed by us
//! ```
//!
//! Nothing is sent before the line, so that no shell's start file can eat the key of the job.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use oxmpi_agent::channel::{Channel, State};
use oxmpi_agent::frame::{BadFrame, Class, EVERY_NODE, Frame};
use oxmpi_agent::message::{Below, Down, LauncherOrder, StepOrder};

use crate::diagnose::{self, Attempt};
use crate::launcher;
use crate::report::{self, VERSION, printable};
use crate::step::{self, Connected, Step};
use crate::sys::{self, Pid};

/// What an agent writes first, before its version and a random number.
pub const GREETING: &str = "OXMPI-AGENT";
/// The interval between heartbeats, where silence of so many seconds means a loss (0: never).
pub fn heartbeat(seconds: u32) -> Duration {
    if seconds == 0 { Duration::from_secs(1) } else { Duration::from_secs(seconds.into()) / 6 }
}

/// Time for a launcher to start its agent.
const START: Duration = Duration::from_secs(60);
/// The most text of a shell or a launcher that is kept for a message.
const MOST_TEXT: usize = 4096;

pub struct Branches {
    list: Vec<Branch>,
    /// After this time of silence an agent is lost.
    patience: Option<Duration>,
    beat: Duration,
    next_beat: Instant,
    frames: Vec<Frame>,
    /// The launcher of all agents, where it is one.
    step: Option<Step>,
}

struct Branch {
    below: Below,
    pid: Pid,
    /// `None` after it was lost or closed.
    channel: Option<Channel>,
    stderr: Option<OwnedFd>,
    greeted: bool,
    heard: Instant,
    started: Instant,
    /// Text on stdout before the greeting.
    greeting: Vec<u8>,
    /// Text on stderr.
    noise: Vec<u8>,
    /// Why the stream ended, until the launcher's process has ended too, or a short time has passed.
    ending: Option<(Instant, String)>,
    /// The exit status of the launcher, once it has ended by itself.
    status: Option<i32>,
    /// The program that is the agent.
    agent: PathBuf,
}

pub enum Event {
    Frame(Frame),
    /// These nodes cannot be reached any more, and why.
    Lost {
        nodes: Vec<u32>,
        host: String,
        text: String,
    },
    /// An agent could not be started, and why.
    Unstarted {
        below: Below,
        text: String,
    },
    /// A line that a launcher or an agent wrote to its stderr.
    Noise {
        host: String,
        line: String,
    },
}

impl Branches {
    /// Starts agents. `seconds`: a silent agent is lost after a third more than this; 0: never.
    pub fn start(list: &[Below], order: &LauncherOrder, seconds: u32) -> (Branches, Vec<Event>) {
        let now = Instant::now();
        let patience = (seconds > 0).then(|| Duration::from_secs_f64(f64::from(seconds) * 4.0 / 3.0));
        let beat = heartbeat(seconds);
        let mut branches =
            Branches { list: Vec::new(), patience, beat, next_beat: now + beat, frames: Vec::new(), step: None };
        // The agents of a step start nobody.
        if let Some(step) = order.step.as_ref().filter(|_| !list.is_empty()) {
            let events = branches.start_step(list, order, step, now);
            return (branches, events);
        }
        let events = list.iter().filter_map(|below| branches.add(below, order).err()).collect();
        (branches, events)
    }

    /// Starts agents that connect to this process.
    fn start_step(&mut self, list: &[Below], order: &LauncherOrder, step: &StepOrder, now: Instant) -> Vec<Event> {
        let agent = PathBuf::from(OsString::from_vec(order.agent.clone()));
        let expected = |below: &Below| Branch::expected(below.clone(), agent.clone(), now);
        let event = |below: &Below, text: &str| Event::Unstarted { below: below.clone(), text: text.into() };
        if step.one_by_one {
            let (mut step, at) = match Step::expect(order, step, list.len()) {
                Ok(expecting) => expecting,
                Err(text) => return list.iter().map(|below| event(below, &text)).collect(),
            };
            let mut events = Vec::new();
            for below in list {
                match step.start_one(order, &at, &below.host) {
                    Ok(pid) => self.list.push(Branch { pid, ..expected(below) }),
                    Err(error) => events.push(event(below, &format!("cannot start its agent: {error}"))),
                }
            }
            self.step = Some(step);
            return events;
        }
        let hosts: Vec<&str> = list.iter().map(|below| below.host.as_str()).collect();
        match Step::start(order, step, &hosts) {
            Ok(step) => {
                self.step = Some(step);
                self.list = list.iter().map(expected).collect();
                Vec::new()
            }
            Err(text) => list.iter().map(|below| event(below, &text)).collect(),
        }
    }

    /// Starts one more agent.
    pub fn add(&mut self, below: &Below, order: &LauncherOrder) -> Result<(), Event> {
        if order.step.is_some() {
            let text = "its agent was to be started with the others".into();
            return Err(Event::Unstarted { below: below.clone(), text });
        }
        let agent = PathBuf::from(OsString::from_vec(order.agent.clone()));
        match launcher::start(order, &below.host) {
            Ok(process) => self.list.push(Branch::new(below.clone(), process, agent, Instant::now())),
            Err(error) => {
                let text = format!("cannot start its agent: {error}");
                return Err(Event::Unstarted { below: below.clone(), text });
            }
        }
        Ok(())
    }

    /// The processes of the launchers.
    pub fn pids(&self) -> impl Iterator<Item = Pid> + '_ {
        self.list.iter().map(|branch| branch.pid).chain(self.step.iter().map(|step| step.pid))
    }

    /// Sends a message to a node, or to all.
    pub fn send(&mut self, node: u32, message: &Down) -> Result<(), BadFrame> {
        for channel in self.towards(node) {
            channel.send(node, message)?;
        }
        Ok(())
    }

    /// Passes on a frame, or sends data.
    pub fn put(&mut self, class: Class, node: u32, body: &[u8]) -> Result<(), BadFrame> {
        for channel in self.towards(node) {
            channel.put(class, node, body)?;
        }
        Ok(())
    }

    /// The streams that lead to a node, or to all.
    fn towards(&mut self, node: u32) -> impl Iterator<Item = &mut Channel> {
        let leads = move |branch: &&mut Branch| node == EVERY_NODE || branch.below.nodes.contains(&node);
        self.list.iter_mut().filter(leads).filter_map(|branch| branch.channel.as_mut())
    }

    /// This process was late by so much: nobody else has to suffer for it.
    pub fn forgive(&mut self, late: Duration) {
        for branch in &mut self.list {
            branch.heard += late;
            branch.started += late;
        }
    }

    /// Writes what was sent, before this process stops. An agent that does not read is not waited for.
    pub fn flush(&mut self) {
        for branch in self.list.iter_mut().filter(|branch| branch.greeted) {
            if let Some(channel) = &mut branch.channel {
                // A stream that has ended is noticed when it is read.
                let _ = channel.flush();
            }
        }
    }

    /// Reads and writes without waiting.
    pub fn work(&mut self, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        self.hear_step(now, &mut events);
        if self.next_beat <= now {
            self.next_beat = now + self.beat;
            for channel in
                self.list.iter_mut().filter(|branch| branch.greeted).filter_map(|branch| branch.channel.as_mut())
            {
                // A heartbeat always fits into a frame.
                let _ = channel.send(EVERY_NODE, &Down::Heartbeat);
            }
        }
        for branch in &mut self.list {
            branch.work(now, self.patience, &mut self.frames, &mut events);
        }
        events
    }

    /// Takes the agents that have connected, and what the launcher of all agents says.
    fn hear_step(&mut self, now: Instant, events: &mut Vec<Event>) {
        let Some(step) = &mut self.step else { return };
        for Connected { host, stream } in step.work(now) {
            let expected = |branch: &&mut Branch| {
                let is_free = branch.channel.as_ref().is_some_and(|channel| !channel.is_connected());
                is_free && branch.below.host == host
            };
            // One that is not expected sees the end of its connection.
            let Some(branch) = self.list.iter_mut().find(expected) else { continue };
            let copy = stream.try_clone().map(OwnedFd::from);
            match (copy, &mut branch.channel) {
                (Ok(copy), Some(channel)) => channel.connect(copy, stream.into()),
                (Err(error), _) => branch.ending = Some((now, error.to_string())),
                _ => {}
            }
        }
        for line in step.take_lines() {
            match step::read_failure(&line) {
                Some((host, why)) => {
                    let meant = |branch: &&mut Branch| branch.below.host == host && branch.channel.is_some();
                    if let Some(branch) = self.list.iter_mut().find(meant) {
                        branch.ending = Some((now, why));
                    }
                }
                None if self.list.iter().all(|branch| branch.greeted) => {
                    events.push(Event::Noise { host: step.name.clone(), line });
                }
                // Kept to say why there is no agent.
                None => {
                    for branch in self.list.iter_mut().filter(|branch| !branch.greeted) {
                        branch.noise.extend(line.bytes().chain([b'\n']));
                    }
                }
            }
        }
    }

    /// A launcher's process has ended. Returns whether it was one of these.
    pub fn ended(&mut self, pid: Pid, status: i32, now: Instant) -> bool {
        if let Some(step) = self.step.as_mut().filter(|step| step.pid == pid) {
            step.pid = 0;
            let how = match report::killed_by(status) {
                Some(signal) => format!("{} was killed by {}", step.name, sys::signal_text(signal)),
                None => format!("{} ended with status {}", step.name, report::status(status)),
            };
            for branch in self.list.iter_mut().filter(|branch| branch.channel.is_some()) {
                // The reason that an agent gave is better.
                branch.ending.get_or_insert((now + Duration::from_millis(50), how.clone()));
            }
            return true;
        }
        let Some(branch) = self.list.iter_mut().find(|branch| branch.pid == pid) else { return false };
        branch.pid = 0;
        branch.status = report::killed_by(status).is_none().then(|| report::status(status));
        let how = match report::killed_by(status) {
            Some(signal) => format!("its launcher was killed by {}", sys::signal_text(signal)),
            // A step's launcher of one agent carries no text.
            None if self.step.is_some() => format!(
                "its launcher ended with status {}; what its agent said is in the output files of the job",
                report::status(status)
            ),
            None => format!("its launcher ended with status {}", report::status(status)),
        };
        // What the agent wrote before is still read. The reason that an agent gave is better.
        if branch.channel.is_some() && (self.step.is_none() || branch.ending.is_none()) {
            branch.ending = Some((now + Duration::from_millis(50), how));
        }
        true
    }

    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        for branch in &self.list {
            if let Some(channel) = &branch.channel {
                fds.extend(channel.read_fd().map(|fd| sys::pollfd(fd, sys::POLLIN)));
                let write = channel.write_fd().filter(|_| branch.greeted);
                fds.extend(write.map(|fd| sys::pollfd(fd, sys::POLLOUT)));
            }
            fds.extend(branch.stderr.iter().map(|fd| sys::pollfd(fd.as_raw_fd(), sys::POLLIN)));
        }
        self.step.iter().for_each(|step| step.poll_for(fds));
    }

    pub fn deadline(&self) -> Option<Instant> {
        let open = self.list.iter().any(|branch| branch.channel.is_some());
        let endings = self.list.iter().filter_map(|branch| branch.ending.as_ref().map(|&(at, _)| at));
        open.then_some(self.next_beat).into_iter().chain(endings).min()
    }

    /// Closes the streams: the agents end.
    pub fn close(&mut self) {
        self.step.iter_mut().for_each(Step::close);
        self.list.iter_mut().for_each(|branch| (branch.channel, branch.ending) = (None, None));
    }

    /// Ends launchers that are left.
    pub fn kill(&self) {
        for branch in self.list.iter().filter(|branch| branch.pid > 0) {
            sys::kill(branch.pid, sys::SIGKILL);
        }
        for step in self.step.iter().filter(|step| step.pid > 0) {
            sys::kill(step.pid, sys::SIGKILL);
        }
    }

    /// All launchers have ended.
    pub fn have_ended(&self) -> bool {
        self.pids().all(|pid| pid == 0)
    }
}

impl Branch {
    /// An agent that will connect.
    fn expected(below: Below, agent: PathBuf, now: Instant) -> Branch {
        Branch {
            below,
            pid: 0,
            channel: Some(Channel::unconnected()),
            stderr: None,
            greeted: false,
            heard: now,
            started: now,
            greeting: Vec::new(),
            noise: Vec::new(),
            ending: None,
            status: None,
            agent,
        }
    }

    fn new(below: Below, process: launcher::Process, agent: PathBuf, now: Instant) -> Branch {
        Branch {
            channel: Some(Channel::new(process.stdout, process.stdin)),
            stderr: Some(process.stderr),
            pid: process.pid,
            ..Branch::expected(below, agent, now)
        }
    }

    fn work(&mut self, now: Instant, patience: Option<Duration>, frames: &mut Vec<Frame>, events: &mut Vec<Event>) {
        self.hear_noise(events);
        let mut lost = None;
        if !self.greeted {
            lost = self.greet(now).err();
        }
        if let Some(channel) = self.channel.as_mut().filter(|_| self.greeted) {
            frames.clear();
            let state = channel.receive(frames);
            if !frames.is_empty() {
                self.heard = now;
            }
            events.extend(frames.drain(..).map(Event::Frame));
            match (state, channel.flush()) {
                (State::Closed(why), _) => lost = lost.or(Some(why)),
                // A launcher that has ended says why on its stdout or stderr, which are read first.
                (State::Open, Err(error)) if self.ending.is_none() => {
                    self.ending = Some((now + Duration::from_millis(200), error.to_string()));
                }
                (State::Open, _) => {}
            }
        }
        if self.channel.is_none() {
            return;
        }
        if let Some(why) = lost {
            // The launcher's exit status says more, and comes soon.
            self.ending.get_or_insert((now + Duration::from_millis(200), why));
        }
        if let Some((_, why)) = self.ending.take_if(|(at, _)| *at <= now) {
            return self.lose(why, events);
        }
        if patience.is_some_and(|patience| self.greeted && now > self.heard + patience) {
            let silence = (now - self.heard).as_secs();
            self.lose(format!("the host is silent: nothing was heard of it for {silence} s"), events);
        } else if !self.greeted && self.ending.is_none() && now > self.started + START {
            self.lose(format!("its agent was not there after {} s", START.as_secs()), events);
        }
    }

    fn lose(&mut self, why: String, events: &mut Vec<Event>) {
        self.hear_noise(events);
        self.channel = None;
        if self.pid > 0 {
            sys::kill(self.pid, sys::SIGKILL);
        }
        let what = if self.greeted { "the agent was lost" } else { "its agent could not be started" };
        let mut text = format!("{what}: {why}");
        if !self.greeted {
            text.push_str(&self.explain());
        }
        events.push(match self.greeted {
            true => Event::Lost { nodes: self.below.nodes.clone(), host: self.below.host.clone(), text },
            false => Event::Unstarted { below: self.below.clone(), text },
        });
    }

    /// What was said by those that should have started the agent, and what can be done about it.
    fn explain(&self) -> String {
        let (mut text, mut all) = (String::new(), String::new());
        for said in [&self.greeting, &self.noise] {
            let said = printable(String::from_utf8_lossy(said).trim());
            if !said.is_empty() {
                text.push_str(&format!("; it said: {said}"));
                all.push_str(&said);
            }
        }
        let attempt = Attempt { host: &self.below.host, status: self.status, said: &all, agent: &self.agent };
        if let Some(advice) = diagnose::advice(&attempt) {
            text.push_str(&format!("\n  ({advice})"));
        }
        text
    }

    /// Waits for the line of the agent.
    fn greet(&mut self, now: Instant) -> Result<(), String> {
        let Some(channel) = &mut self.channel else { return Ok(()) };
        let bytes = channel.read_bytes().map_err(|error| error.to_string())?;
        let bytes = bytes.ok_or("its output has ended")?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.greeting.extend_from_slice(bytes);
        let Some((start, end)) = find_greeting(&self.greeting) else {
            let excess = self.greeting.len().saturating_sub(MOST_TEXT);
            self.greeting.drain(..excess);
            return Ok(());
        };
        let line = String::from_utf8_lossy(&self.greeting[start..end]).into_owned();
        let version = check_greeting(&line)?;
        if version != VERSION {
            return Err(format!(
                "OxMPI {version} is installed there, and {VERSION} here: install the same OxMPI on all hosts"
            ));
        }
        let rest = self.greeting.split_off((end + 1).min(self.greeting.len()));
        self.greeting.truncate(start);
        channel.push(&rest);
        (self.greeted, self.heard) = (true, now);
        Ok(())
    }

    /// Reads what the launcher says on its stderr.
    fn hear_noise(&mut self, events: &mut Vec<Event>) {
        let Some(stderr) = &self.stderr else { return };
        let mut buffer = [0; 4096];
        loop {
            match sys::read(stderr.as_raw_fd(), &mut buffer) {
                Ok(0) => {
                    self.stderr = None;
                    break;
                }
                Ok(count) => self.noise.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.stderr = None;
                    break;
                }
            }
        }
        // Before the greeting, it is kept to say why there is no agent.
        while self.greeted
            && let Some(end) = self.noise.iter().position(|&byte| byte == b'\n')
        {
            let line: Vec<u8> = self.noise.drain(..=end).collect();
            let line = printable(String::from_utf8_lossy(&line[..end]).trim_end());
            events.push(Event::Noise { host: self.below.host.clone(), line });
        }
        let excess = self.noise.len().saturating_sub(MOST_TEXT);
        self.noise.drain(..excess);
    }
}

/// Where the line of an agent begins and ends, at the beginning of a line.
fn find_greeting(text: &[u8]) -> Option<(usize, usize)> {
    let mut start = 0;
    while let Some(length) = text[start..].iter().position(|&byte| byte == b'\n') {
        if text[start..].starts_with(GREETING.as_bytes()) {
            return Some((start, start + length));
        }
        start += length + 1;
    }
    None
}

/// The version in the line of an agent.
fn check_greeting(line: &str) -> Result<String, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [GREETING, version, nonce] if nonce.len() == 32 && nonce.bytes().all(|c| c.is_ascii_hexdigit()) => {
            Ok(version.into())
        }
        _ => Err(format!("its first line is `{}`", printable(line))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_behind_the_text_of_a_shell() {
        let nonce = "0123456789abcdef0123456789abcdef";
        let text = format!("Welcome!\nno OXMPI-AGENT here\nOXMPI-AGENT 1.2.3 {nonce}\n\x01\x02");
        let (start, end) = find_greeting(text.as_bytes()).unwrap();
        assert_eq!(check_greeting(&text[start..end]), Ok("1.2.3".into()));
        assert_eq!(find_greeting(b"OXMPI-AGENT 1.2.3 0123"), None, "not whole yet");
        assert!(check_greeting("OXMPI-AGENT 1.2.3").is_err());
        assert!(check_greeting(&format!("OXMPI-AGENT\x1b[0m 1 {nonce}")).is_err());
    }
}
