//! The stacks of the ranks of a job, for `oxmpi where --stacks`, as `gdb` reads them. A rank stands still for a moment meanwhile.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Debuggers that run at a time.
const AT_A_TIME: usize = 8;
/// With more ranks the stacks of the others are not read.
const MOST_RANKS: usize = 256;
/// Functions of a stack that are shown.
const MOST_FRAMES: usize = 12;

/// The stack of the main thread of each process, innermost function first, or why it cannot be read.
pub fn of(pids: &[u32]) -> Vec<String> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(vec![String::new(); pids.len()]));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(pids.len()) {
            scope.spawn(|| {
                while let Some((at, pid)) = Some(next.fetch_add(1, Relaxed)).and_then(|at| Some((at, pids.get(at)?))) {
                    let stack = if at < MOST_RANKS { read(*pid) } else { format!("only {MOST_RANKS} stacks are read") };
                    if let Ok(mut all) = all.lock() {
                        all[at] = stack;
                    }
                }
            });
        }
    });
    all.into_inner().unwrap_or_default()
}

fn read(pid: u32) -> String {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-p", &pid.to_string(), "-ex", "bt"]).stdin(Stdio::null());
    match gdb.output() {
        Err(_) => "its stack cannot be read: gdb is not installed".into(),
        Ok(output) => match frames(&String::from_utf8_lossy(&output.stdout)) {
            Some(frames) => frames,
            None => "its stack cannot be read: gdb may not attach to it".into(),
        },
    }
}

/// The functions of the program in the output of `bt`, from the call of MPI to `main`.
fn frames(text: &str) -> Option<String> {
    let all: Vec<String> = text.lines().filter(|line| line.starts_with('#')).filter_map(frame).collect();
    // The library's own functions are written in Rust; the call is the last of them.
    let call = all.iter().rposition(|name| name.starts_with("MPI_") || name.starts_with("PMPI_")).unwrap_or(0);
    let mut shown: Vec<String> = all.iter().skip(call).take(MOST_FRAMES).cloned().collect();
    if all.len() > call + MOST_FRAMES {
        shown.push("…".into());
    }
    (!shown.is_empty()).then(|| shown.join(" < "))
}

/// `#3  0x0123 in solve (n=3) at main.c:41` is `solve at main.c:41`.
fn frame(line: &str) -> Option<String> {
    let rest = line.split_once(char::is_whitespace)?.1.trim_start();
    let rest = rest.split_once(" in ").filter(|(address, _)| address.starts_with("0x")).map_or(rest, |(_, rest)| rest);
    let name = rest.split([' ', '(']).next().filter(|name| !name.is_empty())?;
    let place = rest.rsplit_once(" at ").map(|(_, place)| place.rsplit('/').next().unwrap_or(place));
    Some(place.map_or_else(|| name.into(), |place| format!("{name} at {place}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_begin_at_the_call() {
        let text = "[New LWP 5]\n#0  syscall () at ../sysdeps/syscall.S:38\n#1  0x00007f in futex_wait () at crates/wait.rs:1\n\
                    #2  0x00007f12 in MPI_Recv () at crates/ch04.rs:3\n#3  0x0000563a in solve (n=3) at /home/me/main.c:41\n\
                    #4  0x0000563b in main (argc=1, argv=0x7ffe) at /home/me/main.c:60\n";
        assert_eq!(frames(text).as_deref(), Some("MPI_Recv at ch04.rs:3 < solve at main.c:41 < main at main.c:60"));
        assert_eq!(frames("#0  work () from libx.so\n").as_deref(), Some("work"));
        assert_eq!(frames("ptrace: Operation not permitted.\n"), None);
    }
}
