//! `oxmpi doctor`: tries what MPI programs need from the machine, and says what each finding means
//! for a user. It changes nothing.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use oxmpi_base::cpus::{self, CpuSet};
use oxmpi_base::lifeline::{self, Victim};
use oxmpi_base::limits::{self, size};
use oxmpi_base::segment::Segment;
use oxmpi_base::time_slice;
use oxmpi_base::wait::{self, WakeFence};
use oxmpi_boot::others::{self, Identity};

use crate::{fabrics, info, peers, trial};

enum Finding {
    Good(String),
    /// Programs run, but slower or with limits.
    Slower(String),
    /// Programs will fail.
    Broken(String),
}

use Finding::{Broken, Good, Slower};

/// The report, and the exit status: 1 if programs would fail.
pub fn examine() -> (String, i32) {
    type Check = fn() -> Finding;
    let checks: [(&str, Check); 13] = [
        ("CPUs", processors),
        ("CPU quota", quota),
        ("Shared memory", shared_memory),
        ("Single copy", single_copy),
        ("Waking", waking),
        ("Asynchronous progress", asynchronous_progress),
        ("Clean-up", clean_up),
        ("Open files", open_files),
        ("Memory limits", memory),
        ("Fast networks", fast_networks),
        ("Launcher", launcher),
        ("Installation", installation),
        ("Trial", trial),
    ];
    let mut out = String::new();
    let (mut slower, mut broken) = (0, 0);
    for (name, check) in checks {
        let (mark, text) = match check() {
            Good(text) => ("good  ", text),
            Slower(text) => {
                slower += 1;
                ("slower", text)
            }
            Broken(text) => {
                broken += 1;
                ("BROKEN", text)
            }
        };
        out += &format!("{mark}  {name}: {}\n", wrap(&text));
    }
    out += &match (broken, slower) {
        (0, 0) => "\nMPI programs run well here.\n".into(),
        (0, 1) => "\nMPI programs run here. One finding limits them or makes them slower.\n".into(),
        (0, n) => format!("\nMPI programs run here. {n} findings limit them or make them slower.\n"),
        (1, _) => "\nOne finding makes MPI programs fail.\n".into(),
        (n, _) => format!("\n{n} findings make MPI programs fail.\n"),
    };
    (out, i32::from(broken > 0))
}

/// What `mpirun --check-hosts` finds; the options are its own. `mpirun` writes its table itself.
pub fn examine_hosts(options: &[String]) -> (String, i32) {
    let Some(mpirun) = info::prefix().map(|prefix| prefix.join("bin/mpirun")) else {
        return ("the folder of the installation is unknown (is /proc mounted?)\n".into(), 1);
    };
    match Command::new(&mpirun).arg("--check-hosts").args(options).status() {
        Ok(status) => (String::new(), status.code().unwrap_or(1)),
        Err(error) => (format!("cannot start {}: {error}\n", mpirun.display()), 1),
    }
}

fn fast_networks() -> Finding {
    Good(fabrics::describe())
}

/// Who has started this process, and so would start a program at its place.
fn launcher() -> Finding {
    let var = |name: &str| std::env::var(name).ok();
    match others::identify(&var) {
        Identity::None => Good("no launcher of others has started this command; OxMPI's mpirun starts jobs.".into()),
        Identity::Own => Good("OxMPI's mpirun has started this command.".into()),
        Identity::Manager(name) => match others::obstacle(&var) {
            None => Good(format!("{name} has started this command, and programs join its job.")),
            Some(text) => Slower(format!("{name} has started this command, and programs cannot join its job: {text}.")),
        },
        Identity::Unknown(text) => Slower(format!("{text}.")),
    }
}

fn processors() -> Finding {
    let all = cpus::online();
    match CpuSet::affinity() {
        Ok(mine) => {
            let n = mine.len();
            let machine = match all {
                Some(all) if all.len() > n => {
                    format!(" of the machine's {}; the job or container is limited to them", all.len())
                }
                _ => String::new(),
            };
            Good(format!(
                "{n} may be used ({mine}){machine}. Up to {} ranks have a CPU of their own; more are allowed.",
                cpus::available()
            ))
        }
        Err(error) => {
            Slower(format!("the system does not report which may be used ({error}), so ranks are not bound."))
        }
    }
}

fn quota() -> Finding {
    match cpus::quota() {
        None => Good("none is set.".into()),
        Some(cpus) if cpus >= CpuSet::affinity().map_or(1, |set| set.len()) as f64 => {
            Good(format!("the cgroup allows {cpus:.1} CPUs, which does not limit a job."))
        }
        Some(cpus) => Slower(format!(
            "the cgroup allows the time of {cpus:.1} CPUs, fewer than may be used. With more ranks than that, the kernel \
             stops all of them from time to time."
        )),
    }
}

fn shared_memory() -> Finding {
    match Segment::create(64, 1) {
        Ok(_) => Good("the memory that ranks share can be created (memfd); /dev/shm is not used.".into()),
        Err(error) if error.raw_os_error() == Some(libc::EFBIG) => Broken(format!(
            "`ulimit -f` limits the size of files to {}, and also that of the memory that ranks share, which is larger \
             (few of its pages are ever used). `ulimit -f unlimited` removes the limit.",
            size(limits::of(libc::RLIMIT_FSIZE).0)
        )),
        Err(error) => Broken(format!(
            "the memory that ranks share cannot be created (memfd_create: {error}), so mpirun cannot start a job. The \
             sandbox or seccomp profile must allow memfd_create."
        )),
    }
}

fn single_copy() -> Finding {
    match peers::try_single_copy() {
        Ok(()) => Good("one rank can read another's memory; large messages are copied once.".into()),
        Err(error) => {
            let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
            let cure = match scope.trim() {
                "2" | "3" => format!("kernel.yama.ptrace_scope is {}; 0 or 1 would allow it", scope.trim()),
                _ => {
                    "in a container, the capability SYS_PTRACE or a seccomp profile that allows process_vm_readv helps"
                        .into()
                }
            };
            Slower(format!(
                "one rank cannot read another's memory (process_vm_readv: {error}); large messages are copied twice, \
                 through shared memory. {cure}."
            ))
        }
    }
}

fn waking() -> Finding {
    match wait::register() {
        WakeFence::Asymmetric => Good("a waiting rank can sleep without a cost to senders (membarrier).".into()),
        WakeFence::Symmetric => {
            Slower("membarrier is not available, so each small message takes some nanoseconds more to send.".into())
        }
    }
}

/// Whether the thread of asynchronous progress runs in time where all CPUs compute.
fn asynchronous_progress() -> Finding {
    let is_set = std::env::var("OXMPI_ASYNC_PROGRESS").is_ok_and(|value| !matches!(&*value, "" | "0" | "off"));
    let on = if is_set { "on (OXMPI_ASYNC_PROGRESS)" } else { "off, unless mpirun --async-progress asks for it" };
    // Of a thread of its own: this one keeps its slices.
    let is_short = std::thread::spawn(time_slice::shorten).join().unwrap_or(false);
    Good(match is_short {
        true => format!("{on}; its thread runs as soon as it is woken, also beside a computation."),
        false => format!(
            "{on}; where a rank computes on the only CPU, its thread may have to wait for the end of a time slice, since \
             this kernel has no shorter ones (Linux 6.12 has)."
        ),
    })
}

/// Tests the lifeline with a process that would sleep for an hour.
fn clean_up() -> Finding {
    let tried = || -> std::io::Result<bool> {
        let (near, far) = lifeline::create()?;
        let fd = near.as_fd().as_raw_fd();
        let mut command = Command::new("sleep");
        command.arg("3600").stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        // SAFETY: `arm` is made to run between fork and exec, and `near` outlives the call.
        unsafe {
            command.pre_exec(move || {
                let armed = lifeline::arm(BorrowedFd::borrow_raw(fd), Victim::ProcessGroup)?;
                libc::fcntl(armed.as_raw_fd(), libc::F_SETFD, 0);
                std::mem::forget(armed);
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        drop(far);
        for _ in 0..100 {
            if let Some(status) = child.try_wait()? {
                return Ok(status.signal() == Some(libc::SIGKILL));
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        child.kill()?;
        child.wait()?;
        Ok(false)
    };
    match tried() {
        Ok(true) => Good("ranks end with mpirun, also when it is killed (kill -9).".into()),
        Ok(false) => Slower("when mpirun is killed (kill -9), processes that ranks started may stay behind.".into()),
        Err(error) => Slower(format!(
            "when mpirun is killed (kill -9), processes that ranks started may stay behind: {error} (is /proc mounted?)"
        )),
    }
}

/// Descriptors that `mpirun` needs for itself, and for each rank.
const OWN_DESCRIPTORS: u64 = 22;
const DESCRIPTORS_A_RANK: u64 = 2;

fn open_files() -> Finding {
    let (soft, hard) = limits::of(libc::RLIMIT_NOFILE);
    let ranks = hard.saturating_sub(OWN_DESCRIPTORS) / DESCRIPTORS_A_RANK;
    let text = format!("{} may be open, {} at most; mpirun needs two for each rank", number(soft), number(hard));
    match ranks {
        0 => Broken(format!(
            "{text} and {OWN_DESCRIPTORS} for itself, so it cannot start a rank (`ulimit -n` sets the limit)."
        )),
        1..64 => Slower(format!("{text}, so about {ranks} ranks can be started (`ulimit -n` sets the limit).")),
        _ => Good(format!("{text}.")),
    }
}

fn memory() -> Finding {
    let mut tight = Vec::new();
    let (space, _) = limits::of(libc::RLIMIT_AS);
    if space < 64 << 30 {
        tight.push(format!(
            "the address space is limited to {} (`ulimit -v`), and the memory that ranks share reserves more addresses \
             than it uses",
            size(space)
        ));
    }
    let (processes, _) = limits::of(libc::RLIMIT_NPROC);
    if processes < 256 {
        tight.push(format!("only {} processes may run (`ulimit -u`)", number(processes)));
    }
    if tight.is_empty() {
        Good("no limit is too low.".into())
    } else {
        Slower(format!("{}. Large jobs may not start.", tight.join("; ")))
    }
}

fn installation() -> Finding {
    let Some(prefix) = info::prefix() else { return Broken("its folder is unknown (is /proc mounted?).".into()) };
    let parts = ["bin/mpirun", "bin/mpicc", "include/mpi.h", "lib/libmpi_abi.so.1"];
    let missing: Vec<&str> = parts.into_iter().filter(|part| !prefix.join(part).exists()).collect();
    if !missing.is_empty() {
        return Broken(format!("{} is not complete: {} is missing.", prefix.display(), missing.join(", ")));
    }
    let first = std::env::var_os("PATH")
        .and_then(|path| std::env::split_paths(&path).map(|dir| dir.join("mpirun")).find(|file| file.is_file()));
    let same = |a: &std::path::Path, b: &std::path::Path| a.canonicalize().ok() == b.canonicalize().ok();
    match first {
        Some(first) if same(&first, &prefix.join("bin/mpirun")) => Good(format!("{} is complete.", prefix.display())),
        Some(first) => Slower(format!(
            "{} is complete, but `mpirun` runs {}, which may belong to another MPI; put {}/bin first in PATH.",
            prefix.display(),
            first.display(),
            prefix.display()
        )),
        None => Good(format!(
            "{0} is complete; `export PATH={0}/bin:$PATH` puts its commands on the PATH.",
            prefix.display()
        )),
    }
}

/// Runs a program of two ranks: the other checks cannot prove that programs run.
fn trial() -> Finding {
    match trial::run() {
        Ok(true) => Good("mpirun started two ranks, and they completed a barrier.".into()),
        Ok(false) => Slower("no program was started, because the installation is not complete.".into()),
        Err(text) => Broken(format!("a program of two ranks failed: {text}")),
    }
}

fn number(n: u64) -> String {
    if n == u64::MAX { "any number".into() } else { n.to_string() }
}

/// Wraps a text for a terminal; lines after the first are indented.
fn wrap(text: &str) -> String {
    let mut out = String::new();
    let mut column = 24;
    for word in text.split_whitespace() {
        if column + 1 + word.chars().count() > 100 {
            out += "\n        ";
            column = 8;
        } else if !out.is_empty() {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += word.chars().count();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_findings_are_wrapped() {
        let wrapped = wrap(&"word ".repeat(60));
        assert!(wrapped.lines().count() > 2 && wrapped.lines().all(|line| line.len() <= 100));
        assert_eq!(wrapped.split_whitespace().count(), 60);
    }

    #[test]
    fn this_machine_can_share_memory_and_clean_up() {
        assert!(matches!(shared_memory(), Good(_)));
        assert!(matches!(clean_up(), Good(_)));
    }
}
