//! What in this process may act beside a thread that sleeps in the library: timers that the program has set, and its other
//! threads. Asked only by a call that has waited in vain for a while.

use std::fs;
use std::io::ErrorKind;

/// Whether a timer of the program may end a wait, or the program: one of `alarm` or `setitimer`, or one of
/// `timer_create`. Where the kernel does not tell, there may be one.
pub fn has_timer() -> bool {
    let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut timer = libc::itimerval { it_interval: none, it_value: none };
    // SAFETY: the place may be written.
    let answer = unsafe { libc::syscall(libc::SYS_getitimer, libc::ITIMER_REAL, &mut timer) };
    if answer != 0 || timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0 {
        return true;
    }
    fs::read("/proc/self/timers").map_or(true, |timers| !timers.is_empty())
}

/// A number that changes when one of the other threads of this process runs; `None` when one may run without being woken by
/// a thread of this process.
pub fn other_threads() -> Option<u64> {
    // SAFETY: returns a number.
    let own = unsafe { libc::syscall(libc::SYS_gettid) }.to_string();
    let mut switches = 0;
    let mut is_alone = true;
    for entry in fs::read_dir("/proc/self/task").ok()? {
        let name = entry.ok()?.file_name().into_string().ok()?;
        if name == own {
            continue;
        }
        is_alone = false;
        let read = |what: &str| fs::read_to_string(format!("/proc/self/task/{name}/{what}"));
        match read("syscall") {
            Ok(call) if sleeps_for_siblings(&call) => {}
            // It has ended in the meantime.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            _ => return None,
        }
        switches += context_switches(&read("status").ok()?)?;
    }
    if is_alone {
        return Some(0);
    }
    // The handler of a signal may wake a thread.
    let status = fs::read_to_string("/proc/self/status").ok()?;
    (!catches_signals(&status)?).then_some(switches)
}

const FUTEX_PRIVATE: u64 = 128;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAIT_BITSET: u64 = 9;
/// Beside it, the command may use another clock, which matters only with a time limit.
const FUTEX_CLOCK_REALTIME: u64 = 256;

/// Whether a line of `/proc/PID/task/TID/syscall` says that the thread sleeps, without a time limit, on a word that only
/// threads of its process use.
fn sleeps_for_siblings(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [number, _address, command, _value, limit, ..] = words[..] else { return false };
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let is_wait = |command: u64| {
        let kind = command & !(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME);
        command & FUTEX_PRIVATE != 0 && (kind == FUTEX_WAIT || kind == FUTEX_WAIT_BITSET)
    };
    number == libc::SYS_futex.to_string() && hex(command).is_some_and(is_wait) && hex(limit) == Some(0)
}

/// How often a thread was scheduled, from its `status`.
fn context_switches(status: &str) -> Option<u64> {
    let count = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}

/// Whether a process has a handler for a signal that does not come from its own instructions.
fn catches_signals(status: &str) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    // 32 and 33 are those of the C library.
    let own = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, 32, 33];
    let own = own.iter().fold(0, |mask, signal| mask | 1 << (signal - 1));
    Some(mask & !own != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_only_its_siblings_wake() {
        let sleeps = |command: &str, limit: &str| {
            sleeps_for_siblings(&format!("202 0x7f0012345678 {command} 0x2 {limit} 0x0 0xffffffff 0x7ffc 0x7f01\n"))
        };
        assert!(sleeps("0x80", "0x0") && sleeps("0x189", "0x0"));
        assert!(!sleeps("0x80", "0x7ffd01234567"), "it has a time limit");
        assert!(!sleeps("0x0", "0x0") && !sleeps("0x81", "0x0"), "shared memory; a waker");
        assert!(!sleeps_for_siblings("running\n") && !sleeps_for_siblings("7 0x1 0x80 0x2 0x0 0x0 0x0 0x0 0x0"));
    }

    #[test]
    fn words_of_status() {
        let status =
            "Name:\ta\nSigCgt:\t0000000180000400\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(context_switches(status), Some(7));
        assert_eq!(catches_signals(status), Some(false));
        assert_eq!(catches_signals("SigCgt:\t0000000000000200\n"), Some(true));
        assert_eq!(context_switches("Name:\ta\n"), None);
    }

    #[test]
    fn other_threads_are_seen() {
        // The test harness has threads of its own, so only the reading is tested here: it must not fail.
        let _ = other_threads();
        let _ = has_timer();
    }
}
