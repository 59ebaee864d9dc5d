//! The processes of a job, found by a mark in their environment: it survives `fork`, `exec`, new sessions and
//! the death of parents, where process groups and parent links do not.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The environment variable that carries the mark.
pub const MARK: &str = "TEST_PROGRAMS_JOB";

pub struct Process {
    pid: u32,
    name: String,
    state: String,
}

impl Process {
    pub fn pid(&self) -> u32 {
        self.pid
    }
}

/// All live processes whose mark begins so. Zombies have no environment any more and are not counted.
pub fn marked(mark: &str) -> Vec<Process> {
    let wanted = format!("{MARK}={mark}").into_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|variable| variable.starts_with(&wanted)) {
            let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
            let state =
                read("status").lines().find_map(|line| line.strip_prefix("State:").map(str::trim).map(str::to_owned));
            found.push(Process { pid, name: read("comm").trim().to_owned(), state: state.unwrap_or_default() });
        }
    }
    found
}

/// Those that are still there when the time is over: a killed process may need a moment to go.
pub fn wait_until_gone(mark: &str, limit: Duration) -> Vec<Process> {
    let begin = Instant::now();
    loop {
        let left = marked(mark);
        if left.is_empty() || begin.elapsed() > limit {
            return left;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn kill(processes: &[Process]) {
    signal("KILL", processes.iter().map(|process| process.pid));
}

/// By the shell's own `kill`, which is there even where no such program is installed. A process that is
/// already gone is no error.
pub fn signal(name: &str, pids: impl Iterator<Item = u32>) {
    let mut command = Command::new("sh");
    command.args(["-c", "signal=$1; shift; for pid; do kill -s $signal $pid; done", "sh", name]);
    let status = command.args(pids.map(|pid| pid.to_string())).stderr(Stdio::null()).status();
    if let Err(error) = status {
        eprintln!("cannot run sh to send SIG{name}: {error}");
    }
}

pub fn describe(processes: &[Process]) -> String {
    let lines = processes.iter().map(|Process { pid, name, state }| format!("    pid {pid}  {name}  {state}"));
    lines.collect::<Vec<_>>().join("\n")
}
