//! Resource limits that prevent MPI from starting, and texts that name the limit and how to see or
//! change it.

use std::io;

/// The soft and the hard limit; `u64::MAX` means unlimited.
pub fn of(which: libc::__rlimit_resource_t) -> (u64, u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid during the call; where that fails, no limit is known.
    match unsafe { libc::getrlimit(which, &mut limit) } {
        0 => (limit.rlim_cur, limit.rlim_max),
        _ => (u64::MAX, u64::MAX),
    }
}

/// How many descriptors this process may have open.
pub fn open_files() -> u64 {
    of(libc::RLIMIT_NOFILE).0
}

/// How many descriptors a process may have open, if it raises its soft limit.
pub fn most_open_files() -> u64 {
    of(libc::RLIMIT_NOFILE).1
}

/// The bytes of memory and swap space that the machine has: more would only be found missing when
/// it is used, by a signal.
pub fn physical_memory() -> u64 {
    // SAFETY: `sysinfo` is plain old data, for which zero is a value, and valid during the call
    // that fills it in.
    unsafe {
        let mut info = std::mem::zeroed::<libc::sysinfo>();
        if libc::sysinfo(&mut info) != 0 {
            return u64::MAX;
        }
        (info.totalram + info.totalswap).saturating_mul(u64::from(info.mem_unit.max(1)))
    }
}

/// The text of an error at start-up, with the limit that caused it.
pub fn explain(error: &io::Error) -> String {
    let cause = match error.raw_os_error() {
        Some(libc::EMFILE) => format!("`ulimit -n` allows {} open files", of(libc::RLIMIT_NOFILE).0),
        Some(libc::ENFILE) => "the whole machine has no open files left: sysctl fs.file-max".into(),
        Some(libc::EAGAIN) => "`ulimit -u` or the cgroup limits the number of processes".into(),
        Some(libc::EFBIG) => {
            format!("`ulimit -f` limits files, and shared memory with them, to {}", size(of(libc::RLIMIT_FSIZE).0))
        }
        Some(libc::ENOMEM) => match of(libc::RLIMIT_AS).0 {
            u64::MAX => "the machine, the cgroup or vm.max_map_count allows no more memory".into(),
            space => format!("`ulimit -v` limits the address space to {}", size(space)),
        },
        Some(libc::ENOSPC) => "the disk is full".into(),
        Some(libc::ENOSYS | libc::EPERM) => "a container or sandbox may forbid the system call".into(),
        _ => return error.to_string(),
    };
    format!("{error}: {cause}; `oxmpi doctor` checks the limits of this machine")
}

/// A number of bytes as a readable text.
pub fn size(bytes: u64) -> String {
    match bytes {
        u64::MAX => "any size".into(),
        n if n >= 1 << 30 => format!("{:.1} GiB", n as f64 / (1u64 << 30) as f64),
        n if n >= 1 << 20 => format!("{:.1} MiB", n as f64 / (1u64 << 20) as f64),
        n => format!("{:.1} KiB", n as f64 / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named() {
        let text = |code| explain(&io::Error::from_raw_os_error(code));
        assert!(text(libc::EMFILE).contains("ulimit -n") && text(libc::EMFILE).contains("oxmpi doctor"));
        assert!(text(libc::EFBIG).contains("ulimit -f"));
        assert!(text(libc::EAGAIN).contains("ulimit -u"));
        assert!(!text(libc::ENOENT).contains("oxmpi doctor"));
        assert_eq!(size(3 << 29), "1.5 GiB");
    }
}
