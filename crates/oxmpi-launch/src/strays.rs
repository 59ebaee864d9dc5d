//! Finds processes that ranks left behind. As a subreaper, `mpirun` becomes the parent of every
//! orphan among its descendants, so each child that is not a rank is such a process.

use std::fs;

use crate::sys::Pid;

/// The children of `mpirun`, including ended ones that are not reaped.
pub fn children() -> Vec<Pid> {
    let own = std::process::id();
    // Fast path, if the kernel provides it: a list for each thread.
    let lists: Option<Vec<String>> = fs::read_dir("/proc/self/task")
        .ok()
        .map(|tasks| tasks.flatten().map(|task| fs::read_to_string(task.path().join("children")).ok()))
        .and_then(Iterator::collect);
    if let Some(lists) = lists {
        return lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect();
    }
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok());
    pids.filter(|&pid| parent(pid) == Some(own)).collect()
}

/// Whether a process belongs to this job: a descendant of `mpirun`, or a process that a server
/// (such as a terminal multiplexer) started with a rank's environment.
pub fn belongs_here(pid: Pid) -> bool {
    let job = format!("{}={}:", oxmpi_boot::env::JOB, std::process::id());
    let environment = || fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    is_descendant(pid) || environment().split(|&byte| byte == 0).any(|entry| entry.starts_with(job.as_bytes()))
}

/// Whether a process is a child of `mpirun`, or of such a child, and so on. Orphans among them are
/// children.
pub fn is_descendant(pid: Pid) -> bool {
    descends(pid, std::process::id(), parent)
}

/// Walks from a process to its ancestors. An ancestor may end meanwhile, as the parent of every
/// spawned job's `mpirun` does; then the walk starts again, because the kernel has given its
/// children another parent.
fn descends(pid: Pid, ancestor: u32, mut parent: impl FnMut(Pid) -> Option<u32>) -> bool {
    let mut at = pid;
    // Process ids are reused, so the parents that are read need not form a tree.
    for _ in 0..1000 {
        match parent(at) {
            Some(parent) if parent == ancestor => return true,
            Some(parent @ 2..) => at = parent as Pid,
            None if at != pid => at = pid,
            _ => return false,
        }
    }
    false
}

fn parent(pid: Pid) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The command's name, in parentheses, may contain anything; state and parent follow the last
    // parenthesis.
    let tail = &stat[stat.iter().rposition(|&byte| byte == b')')? + 1..];
    std::str::from_utf8(tail).ok()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_ancestor_may_end_during_the_walk() {
        let mut looks = 0;
        // 30 is started by 20, which ends after the first look at 30; then 10 is its parent.
        let parent = |pid| {
            looks += 1;
            match (pid, looks) {
                (30, 1) => Some(20),
                (30, _) => Some(10),
                (10, _) => Some(1),
                _ => None,
            }
        };
        assert!(descends(30, 10, parent));
        assert!(!descends(30, 11, |pid| if pid == 30 { Some(10) } else { Some(1) }));
        assert!(!descends(30, 10, |_| None), "it has ended itself");
    }

    #[test]
    fn a_child_is_found() {
        let mut child = Command::new("sleep").arg("10").spawn().unwrap();
        assert!(children().contains(&(child.id() as Pid)));
        assert!(is_descendant(child.id() as Pid));
        assert!(!is_descendant(1) && !is_descendant(std::process::id() as Pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children().contains(&(child.id() as Pid)));
    }
}
