//! The id of one process. System calls give zero and negative numbers other meanings: a process
//! group, or all processes. A number that another process wrote is converted to a [`Pid`] before it
//! reaches the kernel.

use std::num::NonZero;

/// The status of a child that has ended, as `wait` returns it, without reaping it.
pub fn status_of_ended_child(child: i32) -> Option<i32> {
    // SAFETY: a zeroed siginfo is valid memory for the kernel to write to; where the child has not ended it stays zeroed, and
    // the fields of an ended child are those that are read.
    let (code, status) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let found = libc::waitid(libc::P_PID, child as libc::id_t, &mut info, flags) == 0;
        Some((info.si_code, info.si_status())).filter(|_| found && info.si_pid() == child)?
    };
    const CORE: i32 = 0x80;
    match code {
        libc::CLD_EXITED => Some((status & 0xff) << 8),
        libc::CLD_DUMPED => Some(status | CORE),
        _ => Some(status),
    }
}

/// A positive process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pid(NonZero<i32>);

impl Pid {
    /// This process.
    pub fn own() -> Pid {
        match Pid::new(std::process::id()) {
            Some(pid) => pid,
            None => unreachable!("the kernel gives positive numbers to processes"),
        }
    }

    /// `None` for a number that no process can have.
    #[inline]
    pub fn new(number: u32) -> Option<Pid> {
        let number = i32::try_from(number).ok()?;
        NonZero::new(number).map(Pid)
    }

    /// The number, for system calls.
    #[inline]
    pub fn get(self) -> i32 {
        self.0.get()
    }
}

/// Makes the caller the leader of a process group. Only a system call: it may run between `clone` and `exec`.
pub fn lead_group() {
    // SAFETY: takes plain numbers; it cannot fail for a process that has just been made.
    unsafe { libc::setpgid(0, 0) };
}

/// The same, and the leader of a session without a terminal.
pub fn lead_session() {
    // SAFETY: has no arguments; it cannot fail for a process that has just been made.
    unsafe { libc::setsid() };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_mean_groups_are_refused() {
        assert_eq!(Pid::new(0), None);
        assert_eq!(Pid::new(u32::MAX), None, "-1 is every process");
        assert_eq!(Pid::new(1 << 31), None);
        assert_eq!(Pid::new(17).map(Pid::get), Some(17));
        assert_eq!(Pid::own().get(), std::process::id() as i32);
    }
}
