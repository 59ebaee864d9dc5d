//! Starts a program that is not a child of this process: this process must not be notified of its end, and need not live
//! as long. A first child forks a second, which executes the program, and ends at once; then an `mpirun` above this
//! process, if there is one, is the nearest subreaper. `mpirun` for a spawned job is started like this, and the helpers of
//! processes that no `mpirun` of ours has started.
//!
//! Both children share this process's memory until the program runs (`CLONE_VM | CLONE_VFORK`), so nothing is
//! copied, however large the program is. In exchange they may make only system calls on prepared
//! data: no allocation, no lock, no panic.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

/// The `mpirun` of the loaded library, as the two must have the same version: beside the library, or the one that runs
/// as the process `near`. If there is none, the text says where it was looked for.
pub fn find_mpirun(near: Option<u32>) -> Result<PathBuf, String> {
    let own = own_file();
    let dir = own.as_deref().and_then(Path::parent);
    let beside = dir.into_iter().flat_map(|dir| [dir.with_file_name("bin").join("mpirun"), dir.join("mpirun")]);
    let around = near.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok());
    let places: Vec<PathBuf> = beside.chain(around).collect();
    match places.iter().find(|place| place.is_file()) {
        Some(found) => Ok(found.clone()),
        None => {
            let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
            Err(format!(
                "OxMPI's mpirun, which starts the processes, is missing; it was looked for as {}",
                places.join(" and ")
            ))
        }
    }
}

/// The file that this code was loaded from.
pub fn own_file() -> Option<PathBuf> {
    // SAFETY: the zero pattern is a valid value; the name is the dynamic linker's and stays as long as the library.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(own_file as *const c_void, &mut found) != 0 && !found.dli_fname.is_null();
        let name = known.then(|| OsStr::from_bytes(CStr::from_ptr(found.dli_fname).to_bytes()))?;
        std::fs::canonicalize(name).ok()
    }
}

/// Far more than the few frames of each child need.
const STACK: usize = 64 << 10;

/// What the two children need, and their error.
struct Task {
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    stdin: RawFd,
    line: RawFd,
    /// The end of the second child's stack.
    stack: *mut c_void,
    errno: c_int,
}

/// Starts a program with this process's environment. It gets `stdin`, the descriptor `line` under its number, this
/// process's stdout and stderr, and no other descriptor. It leads a group of its own and starts with all signals blocked,
/// so that none is lost.
pub fn run(path: &CStr, arguments: &[CString], stdin: RawFd, line: RawFd) -> io::Result<()> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let arguments: Vec<*const c_char> = arguments.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect();
    let mut stacks = vec![0u128; 2 * STACK / size_of::<u128>()];
    // SAFETY: the stacks grow down from the middle and from the end. What the children access
    // outlives the call, since CLONE_VFORK keeps this thread here until the first has ended, and
    // that one until the second runs `mpirun` or has ended. No signal handler of the program runs
    // in them: all signals are blocked, in `mpirun` too, which reads them as data.
    unsafe {
        let mut task = Task {
            path: path.as_ptr(),
            arguments: arguments.as_ptr(),
            environment: environ,
            stdin,
            line,
            stack: stacks.as_mut_ptr().add(stacks.len()).cast(),
            errno: 0,
        };
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        // Without a signal at its end, so that the program is not notified of a child that it did
        // not start.
        let top = stacks.as_mut_ptr().add(stacks.len() / 2).cast();
        let pid = libc::clone(first, top, libc::CLONE_VM | libc::CLONE_VFORK, (&raw mut task).cast());
        let error = io::Error::last_os_error();
        if pid > 0 {
            while libc::waitpid(pid, ptr::null_mut(), libc::__WALL) < 0 && errno() == libc::EINTR {}
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        match ptr::read_volatile(&raw const task.errno) {
            _ if pid < 0 => Err(error),
            0 => Ok(()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

extern "C" fn first(task: *mut c_void) -> c_int {
    // SAFETY: `run` passes its task, which nothing else accesses until this process has ended.
    unsafe {
        let task = &mut *task.cast::<Task>();
        if libc::clone(second, task.stack, libc::CLONE_VM | libc::CLONE_VFORK, (&raw mut *task).cast()) < 0 {
            task.errno = errno();
        }
        libc::_exit(0)
    }
}

extern "C" fn second(task: *mut c_void) -> c_int {
    // SAFETY: `first` passes its task on and does not access it until this process runs `mpirun` or
    // has ended. Everything below is a system call on prepared arguments.
    unsafe {
        let task = &mut *task.cast::<Task>();
        // Signals to the process group of the spawning process must not reach the new job.
        libc::setpgid(0, 0);
        libc::dup2(task.stdin, 0);
        // Descriptors of the program are not inherited, where the kernel supports that (5.11).
        const CLOSE_RANGE_CLOEXEC: c_int = 4;
        libc::syscall(libc::SYS_close_range, 3, c_int::MAX, CLOSE_RANGE_CLOEXEC);
        libc::fcntl(task.line, libc::F_SETFD, 0);
        libc::execve(task.path, task.arguments, task.environment);
        task.errno = errno();
        libc::_exit(127)
    }
}

fn errno() -> c_int {
    // SAFETY: the location belongs to the calling thread.
    unsafe { *libc::__errno_location() }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::socket::seqpacket_pair;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    fn words(line: &[&str]) -> Vec<CString> {
        line.iter().map(|word| CString::new(*word).unwrap()).collect()
    }

    #[test]
    fn a_program_runs_as_an_orphan() {
        let (near, far) = seqpacket_pair().unwrap();
        let nothing = File::open("/dev/null").unwrap();
        let bound_plan = format!("cat; echo $PPID $(cut -d\" \" -f5 /proc/$$/stat) $$ >&{}", far.as_raw_fd());
        run(c"/bin/sh", &words(&["sh", "-c", &bound_plan]), nothing.as_raw_fd(), far.as_raw_fd()).unwrap();
        drop(far);
        let mut said = String::new();
        UnixStream::from(near).read_to_string(&mut said).unwrap();
        let numbers: Vec<u32> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
        assert_ne!(numbers[0], std::process::id());
        assert_eq!(numbers[1], numbers[2], "it leads a group of its own");
    }

    #[test]
    fn programs_that_cannot_run_are_errors() {
        let (_near, far) = seqpacket_pair().unwrap();
        let nothing = File::open("/dev/null").unwrap();
        let error = run(c"/nonexistent", &words(&["x"]), nothing.as_raw_fd(), far.as_raw_fd()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
