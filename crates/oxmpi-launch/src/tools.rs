//! Recognises debuggers, tracers and valgrind among the processes of a job: when a rank fails, they are given the time to
//! show where the others were.

use std::fs;

use crate::sys::Pid;

/// A child of the process that this process traces: the program of a debugger, also before it has called `MPI_Init`.
pub fn traced_child(pid: Pid) -> Option<Pid> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let tasks: Vec<String> = tasks.filter_map(|task| task.file_name().into_string().ok()).collect();
    let children = |task: &String| fs::read_to_string(format!("/proc/{pid}/task/{task}/children")).ok();
    // A tracer is a thread.
    let is_traced = |child: &Pid| field(*child, "TracerPid:").is_some_and(|tracer| tasks.contains(&tracer));
    let lists: Vec<String> = tasks.iter().filter_map(children).collect();
    let mut all = lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|child| child.parse().ok());
    all.find(is_traced)
}

/// Whether the process catches or ignores a signal.
pub fn handles(pid: Pid, signal: i32) -> bool {
    let masks =
        ["SigCgt:", "SigIgn:"].map(|name| field(pid, name).and_then(|mask| u64::from_str_radix(&mask, 16).ok()));
    masks.into_iter().flatten().any(|mask| mask & 1 << (signal - 1) != 0)
}

/// Whether a tracer has stopped the process.
pub fn is_held(pid: Pid) -> bool {
    field(pid, "State:").is_some_and(|state| state.starts_with('t'))
}

/// Whether the process is valgrind, which has the program in itself.
pub fn is_valgrind(pid: Pid) -> bool {
    let Ok(file) = fs::read_link(format!("/proc/{pid}/exe")) else { return false };
    let mut names = file.iter().rev().skip(1);
    // One of its tools, such as `…/libexec/valgrind/memcheck-amd64-linux`.
    names.next().is_some_and(|folder| folder == "valgrind") || file.ends_with("valgrind")
}

/// The first word of a line of `/proc/PID/status`.
fn field(pid: Pid, name: &str) -> Option<String> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_child_that_nobody_traces_is_not_taken_for_one() {
        let mut child = Command::new("sleep").arg("10").spawn().unwrap();
        let pid = child.id() as Pid;
        // The other test has a traced one at the same time.
        assert_ne!(traced_child(std::process::id() as Pid), Some(pid));
        assert!(!is_held(pid) && !is_valgrind(pid));
        assert!(!handles(pid, sys::SIGTSTP));
        assert!(handles(std::process::id() as Pid, sys::SIGPIPE), "programs in Rust ignore it");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_traced_child_is_found_and_held() {
        let mut command = Command::new("sleep");
        // SAFETY: one system call, between fork and exec. The kernel stops the child when it has executed `sleep`.
        unsafe {
            command.arg("10").pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let mut child = command.spawn().unwrap();
        let pid = child.id() as Pid;
        let until = Instant::now() + Duration::from_secs(10);
        while !is_held(pid) && Instant::now() < until {
            std::thread::yield_now();
        }
        let found = (traced_child(std::process::id() as Pid), is_held(pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, (Some(pid), true));
    }
}
