//! The time slice of a thread that runs seldom and shortly, beside threads that compute.

/// The slice that is asked for, in nanoseconds: the shortest that Linux gives.
const SHORT: u64 = 100_000;

const SCHED_OTHER: u32 = 0;

/// The attributes that every kernel with this call knows.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Asks for short time slices for the calling thread. It gets no more CPU time than others, but after a sleep it runs as soon as
/// it is woken, instead of after the slice of the thread that computes on its CPU (Linux 6.12; no effect before). Whether
/// the kernel has taken it.
pub fn shorten() -> bool {
    let size = size_of::<Attributes>() as u32;
    let mut own = Attributes::default();
    // SAFETY: the kernel writes at most `size` bytes.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut own, size, 0) };
    // Any other policy was chosen by somebody.
    if known != 0 || own.policy != SCHED_OTHER {
        return false;
    }
    (own.size, own.runtime) = (size, SHORT);
    // SAFETY: the kernel reads `size` bytes.
    if unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const own, 0) } != 0 {
        return false;
    }
    own.runtime = 0;
    // SAFETY: the kernel writes at most `size` bytes. Older kernels say nothing about the slice.
    unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut own, size, 0) == 0 && own.runtime == SHORT }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_stays_what_it_is() {
        std::thread::spawn(|| {
            let nice = || {
                // SAFETY: returns a number.
                unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
            };
            let before = nice();
            super::shorten();
            // SAFETY: returns a number.
            let policy = unsafe { libc::sched_getscheduler(0) };
            assert_eq!((nice(), policy), (before, libc::SCHED_OTHER));
        })
        .join()
        .unwrap();
    }
}
