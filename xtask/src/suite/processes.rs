//! Finds the processes of a job by a mark in their environment. The mark survives `fork`, `exec`,
//! new sessions and the death of parents; process groups and parent links do not.

use std::fs;
use std::io::Read;
use std::path::Path;
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

/// All live processes whose mark begins with this text. Zombies have no environment and are not
/// counted.
pub fn marked(mark: &str) -> Vec<Process> {
    let wanted = format!("{MARK}={mark}").into_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let environment = environment(&entry.path());
        if environment.split(|&byte| byte == 0).any(|variable| variable.starts_with(&wanted)) {
            let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
            let state =
                read("status").lines().find_map(|line| line.strip_prefix("State:").map(str::trim).map(str::to_owned));
            found.push(Process { pid, name: read("comm").trim().to_owned(), state: state.unwrap_or_default() });
        }
    }
    found
}

/// The content of `/proc/PID/environ`. It is empty for a moment while a process executes another
/// program, until the arguments are in its new memory. So a process counts as one without an
/// environment only if it has a program and arguments each time. If the change happens between two
/// reads, the rest is missing, so one read takes everything.
fn environment(process: &Path) -> Vec<u8> {
    let read = |file| {
        let mut content = Vec::with_capacity(256 * 1024);
        // A process that has ended has an empty one.
        let _ = fs::File::open(process.join(file)).and_then(|mut file| file.read_to_end(&mut content));
        content
    };
    let begin = Instant::now();
    let mut looks_with_arguments = 0;
    loop {
        let environment = read("environ");
        let has_program = || fs::read_link(process.join("exe")).is_ok();
        if !environment.is_empty() || !has_program() || begin.elapsed() > Duration::from_secs(1) {
            return environment;
        }
        if !read("cmdline").is_empty() {
            looks_with_arguments += 1;
            if looks_with_arguments == 5 {
                return environment;
            }
        }
        thread::yield_now();
    }
}

/// The processes that are still alive after the time: a killed process may need a moment to end.
pub fn wait_until_gone(mark: &str, limit: Duration) -> Vec<Process> {
    let begin = Instant::now();
    loop {
        let left = marked(mark);
        // Twice, for a process that is seen incompletely while it executes another program.
        let all_gone = left.is_empty() && marked(mark).is_empty();
        if all_gone || (!left.is_empty() && begin.elapsed() > limit) {
            return left;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn kill(processes: &[Process]) {
    signal("KILL", processes.iter().map(|process| process.pid));
}

/// Uses the `kill` of the shell, which exists even where no such program is installed. It is not an
/// error if a process has already ended.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_changes_its_program_is_seen() {
        let mark = format!("changes-{}.", std::process::id());
        let mut child = Command::new("sh")
            .args(["-c", r#"exec sh -c "$0" "$0""#, r#"exec sh -c "$0" "$0""#])
            .env(MARK, &mark)
            .spawn()
            .expect("start a shell");
        let missed = (0..1000).filter(|_| wait_until_gone(&mark, Duration::ZERO).is_empty()).count();
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(missed, 0);
    }
}
