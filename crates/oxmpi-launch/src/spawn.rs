//! Starts one rank. The child shares `mpirun`'s memory until it executes the program (`CLONE_VM |
//! CLONE_VFORK`), so nothing is copied, and a failure is known at once. In exchange, the child must
//! only make system calls on data that was prepared before: no allocation, no lock, no panic.

use std::ffi::{CStr, CString, c_char, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

use oxmpi_base::cpus::CpuSet;
use oxmpi_base::lifeline::{self, Victim};
use oxmpi_base::pid;

use crate::sys::{Pid, SignalSet};

/// The data that is the same for all ranks.
pub struct Spawner {
    stack: Vec<u128>,
    pub segment: RawFd,
    pub lifeline: RawFd,
    /// The signal mask that `mpirun` was started with.
    pub mask: SignalSet,
    /// The original limit of open descriptors, if `mpirun` raised it for itself.
    pub descriptors: Option<libc::rlimit>,
}

/// A program with its arguments and environment, as NUL-terminated strings.
pub struct Image<'a> {
    pub path: &'a CStr,
    pub arguments: &'a [CString],
    pub environment: Vec<&'a CStr>,
    pub wdir: Option<&'a CStr>,
    pub stdio: [RawFd; 3],
    /// Further descriptors that it keeps under their numbers; -1: none.
    pub inherits: [RawFd; 2],
    pub cpus: Option<&'a CpuSet>,
    /// It reads what the user types, and stays in the session of the terminal.
    pub reads_terminal: bool,
}

/// The step that failed in the child.
pub struct Failure {
    pub step: &'static str,
    pub error: io::Error,
}

/// Far more than the child's few frames need. All ranks use the same pages.
const STACK: usize = 64 << 10;

impl Spawner {
    pub fn new(segment: RawFd, lifeline: RawFd, mask: SignalSet, descriptors: Option<libc::rlimit>) -> Spawner {
        Spawner { stack: vec![0; STACK / size_of::<u128>()], segment, lifeline, mask, descriptors }
    }

    /// Starts the program in a process group, and nearly always a session, of its own. Returns when the program runs.
    pub fn spawn(&mut self, image: &Image<'_>) -> Result<Pid, Failure> {
        fn pointers<'s>(words: impl Iterator<Item = &'s CStr>) -> Vec<*const c_char> {
            words.map(CStr::as_ptr).chain([ptr::null()]).collect()
        }
        let arguments = pointers(image.arguments.iter().map(CString::as_c_str));
        let environment = pointers(image.environment.iter().copied());
        // `sh script arguments…`, for a script without a `#!` line.
        let script: Vec<*const c_char> =
            [c"/bin/sh".as_ptr(), image.path.as_ptr()].into_iter().chain(arguments[1..].iter().copied()).collect();
        let mut child = Child {
            spawner: &raw const *self,
            image: ptr::from_ref(image).cast(),
            arguments: arguments.as_ptr(),
            environment: environment.as_ptr(),
            script: script.as_ptr(),
            parent: std::process::id() as Pid,
            step: "",
            errno: 0,
        };
        // SAFETY: the stack grows down from its end; `child_main` touches only `child` and what it
        // points to, all of which outlives the call, because CLONE_VFORK keeps us here until the
        // child has run the program or ended.
        let pid = unsafe {
            let top = self.stack.as_mut_ptr().add(self.stack.len());
            libc::clone(
                child_main,
                top.cast(),
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                (&raw mut child).cast(),
            )
        };
        if pid < 0 {
            return Err(Failure { step: "make a process", error: io::Error::last_os_error() });
        }
        // SAFETY: the child has ended or has memory of its own now; this is the only access.
        let errno = unsafe { ptr::read_volatile(&raw const child.errno) };
        if errno != 0 {
            // Reap the failed child here, so that the event loop never sees it.
            // SAFETY: our own child.
            unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
            return Err(Failure { step: child.step, error: io::Error::from_raw_os_error(errno) });
        }
        Ok(pid)
    }
}

struct Child {
    spawner: *const Spawner,
    image: *const Image<'static>,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    script: *const *const c_char,
    parent: Pid,
    step: &'static str,
    errno: i32,
}

extern "C" fn child_main(child: *mut c_void) -> i32 {
    // SAFETY: `spawn` passes its `Child`, which stays valid and untouched by others until this
    // process runs the program or ends.
    let child = unsafe { &mut *child.cast::<Child>() };
    // SAFETY: the pointers in `child` are those that `spawn` prepared, and this is the child of its
    // `clone`.
    unsafe { run(child) };
    // SAFETY: ends this process only; nothing of the shared memory is run down.
    unsafe { libc::_exit(127) }
}

/// Sets up the process and executes the program. Returns only on failure, with `step` and `errno`
/// set.
///
/// # Safety
/// The pointers in `child` are valid; the caller is the child of a `clone` that suspends its
/// parent.
unsafe fn run(child: &mut Child) {
    // SAFETY: the caller vouches for the pointers; everything below is a system call on prepared
    // arguments.
    unsafe {
        let (spawner, image) = (&*child.spawner, &*child.image);
        let mut check = |step, ok: bool| {
            if !ok {
                child.step = step;
                child.errno = *libc::__errno_location();
            }
            ok
        };
        let inherit = |fd| libc::fcntl(fd, libc::F_SETFD, 0);
        // A kernel that divides the CPUs among sessions then gives each rank a share of its own, instead of one share to
        // all ranks and whatever else the user runs in the session of `mpirun`.
        match image.reads_terminal {
            true => pid::lead_group(),
            false => pid::lead_session(),
        }
        // The direct child dies with `mpirun` by this signal, the other processes of its group by
        // the lifeline.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        if libc::getppid() != child.parent {
            libc::_exit(127);
        }
        // Without /proc, the signal above and the library's own lifeline must be enough.
        if let Ok(armed) = lifeline::arm(BorrowedFd::borrow_raw(spawner.lifeline), Victim::ProcessGroup) {
            libc::dup2(armed.as_raw_fd(), spawner.lifeline);
        } else {
            inherit(spawner.lifeline);
        }
        for fd in [spawner.segment, image.inherits[0], image.inherits[1]] {
            inherit(fd);
        }
        for (to, from) in image.stdio.into_iter().enumerate() {
            let done = from == to as RawFd || libc::dup2(from, to as RawFd) >= 0;
            if !check("connect its input and output", done) {
                return;
            }
        }
        // Not a reason to fail: the program runs, only on other CPUs.
        if let Some(cpus) = image.cpus {
            let _ = cpus.confine();
        }
        if let Some(limit) = &spawner.descriptors {
            libc::setrlimit(libc::RLIMIT_NOFILE, limit);
        }
        if let Some(wdir) = image.wdir
            && !check("enter its working directory", libc::chdir(wdir.as_ptr()) == 0)
        {
            return;
        }
        // `mpirun` ignores these signals; the program must not inherit that.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, &spawner.mask, ptr::null_mut());
        libc::execve(image.path.as_ptr(), child.arguments, child.environment);
        if *libc::__errno_location() == libc::ENOEXEC {
            libc::execve(c"/bin/sh".as_ptr(), child.script, child.environment);
        }
        check("run it", false);
    }
}
