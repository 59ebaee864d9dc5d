//! Signals of threads that the library starts: they belong to the threads of the program.

/// Runs a function with all signals of this thread blocked. A thread that it starts inherits that.
pub fn blocked<R>(run: impl FnOnce() -> R) -> R {
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the set is the one that was in force before.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        }
    }
    // SAFETY: a set of signals is plain data; `sigfillset` and `pthread_sigmask` fill in both sets,
    // which are alive.
    let before = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    };
    let _restore = Restore(before);
    run()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked() -> bool {
        // SAFETY: asks for the set of this thread, into memory that is alive.
        unsafe {
            let mut now = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut now);
            libc::sigismember(&raw const now, libc::SIGTERM) == 1
        }
    }

    #[test]
    fn a_thread_that_is_started_meanwhile_gets_no_signals() {
        let thread = blocked(|| std::thread::spawn(is_blocked));
        assert!(thread.join().unwrap());
        assert!(!is_blocked());
    }
}
