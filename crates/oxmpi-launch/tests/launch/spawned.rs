//! Jobs that a process spawns. The tests play the library's part: a socket pair, an `mpirun
//! --spawned` that becomes an orphan, and the message that the job is connected.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Release;
use std::time::Duration;

use oxmpi_base::segment::{PARENTS_CONNECTED, PARENTS_LEFT, RankBlock};
use oxmpi_boot::spawned::{OPTION, Report, TAKEN};

use crate::mpi::{AS_RANK, ROLE, fails, ranks};
use crate::support::{Dir, Done, Job, command, having, marker, nobody_left, run, script, until};

const SOON: Duration = Duration::from_secs(1);

/// What the root spawns and what it does then; see [`play_root`].
const SPAWN: &str = "OXMPI_TEST_SPAWN";
const AFTERWARDS: &str = "OXMPI_TEST_AFTERWARDS";
/// What a child does; see [`play_child`].
const CHILD: &str = "OXMPI_TEST_CHILD";
/// The file that a child makes when it has connected.
const STARTED: &str = "OXMPI_TEST_STARTED";

/// The connection to a new job; `mpirun` inherits the other end.
fn line() -> (UnixStream, OwnedFd) {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: there is room for the two descriptors, which are owned at once.
    unsafe {
        assert_eq!(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()), 0);
        use std::os::fd::FromRawFd;
        (UnixStream::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}

fn inherit(command: &mut Command, fd: RawFd) -> &mut Command {
    // SAFETY: one system call on a descriptor that is open.
    unsafe {
        command.pre_exec(move || {
            (libc::fcntl(fd, libc::F_SETFD, 0) == 0).then_some(()).ok_or_else(std::io::Error::last_os_error)
        })
    }
}

/// Starts `mpirun --spawned` from this process, which is not a rank.
fn spawn_alone(words: &[&str]) -> (UnixStream, Job) {
    let (line, far) = line();
    let number = far.as_raw_fd().to_string();
    let mut command = command();
    command.args([OPTION, &number, "port", "alone"]).args(words);
    (line, Job::start(inherit(&mut command, far.as_raw_fd())))
}

/// Reports about a job that does not start go to the root only.
fn reported(words: &[&str]) -> Report {
    let (mut line, job) = spawn_alone(words);
    let mut packet = [0; 4096];
    let got = line.read(&mut packet).unwrap();
    drop(line);
    job.wait().clean();
    Report::read(&packet[..got]).unwrap()
}

#[test]
fn why_a_job_did_not_come_to_be() {
    let missing = reported(&["-n", "2", "./no-such-program"]);
    assert!(missing.started == 0 && missing.text.contains("`./no-such-program`"), "{missing:?}");
    let host = reported(&["-n", "2", "-host", "192.0.2.7", "true"]);
    assert!(host.started == 0 && host.text.contains("192.0.2.7"), "{host:?}");
    let place = reported(&["-n", "2", "-wdir", "/nonexistent", "true"]);
    assert!(place.text.contains("/nonexistent"), "{place:?}");
    let fails = reported(&["-n", "2", "sh", "-c", "exit 3"]);
    assert!(fails.started == 2 && fails.text.contains("exited with status 3"), "{fails:?}");
    let silent = reported(&["-n", "2", "true"]);
    assert!(silent.text.contains("`true`") && silent.text.contains("without calling MPI_Init"), "{silent:?}");
}

#[test]
fn a_job_that_nobody_wants_any_more() {
    let marker = marker();
    let (line, job) = spawn_alone(&["-n", "2", "sleep", &marker]);
    until("both ranks", || having(&marker).len() == 2);
    drop(line);
    job.wait().clean();
    nobody_left(&marker, Duration::ZERO);
}

#[test]
fn one_that_was_taken_is_a_job_like_others() {
    let (mut line, job) = spawn_alone(&["-n", "2", "sh", "-c", "read x && echo $x; sleep 0.2; exit $OXMPI_RANK"]);
    line.write_all(TAKEN).unwrap();
    let done = job.wait();
    assert_eq!((done.status, done.stdout.as_str()), (1, ""));
    assert!(done.messages()[0].contains("rank 1 ") && done.messages()[0].contains("status 1"), "{}", done.stderr);
}

#[test]
fn arguments_arrive_as_they_are() {
    let words = [
        "-n",
        "1",
        "printf",
        "%s|",
        "\\:",
        "\\\\:",
        "a:",
        "",
        ":",
        "-n",
        "1",
        "--appnum",
        "7",
        "sh",
        "-c",
        "echo $OXMPI_APPNUM $OXMPI_PARENT",
    ];
    let (mut line, job) = spawn_alone(&words);
    line.write_all(TAKEN).unwrap();
    assert_eq!(job.wait().clean().sorted(), ["7 port", ":|\\:|a:||"]);
}

#[test]
fn nobody_else_may_use_the_option() {
    for words in ["--spawned", "--spawned 1 port rank true", "--spawned 77 port alone true"] {
        let done = run(command().args(words.split(' ')));
        assert!(done.status == 2 && done.stderr.contains("for the MPI library alone"), "{words}: {}", done.stderr);
    }
}

// ---- in a job ----

/// Rank 0 spawns a job, takes it, and continues as the environment says.
pub fn play_root() {
    let (mut line, far) = line();
    let dir = Dir::new();
    let started = dir.path("started");
    let number = far.as_raw_fd().to_string();
    let own = std::env::current_exe().unwrap();
    let what = std::env::var(SPAWN).unwrap().replace("PROGRAM", &format!("{} {}", own.display(), AS_RANK.join(" ")));
    let mut shell = Command::new("sh");
    // The shell ends at once, so that the `mpirun` that it started is an orphan in its own group.
    shell.args(["-c", "setsid \"$@\" &", "sh", env!("CARGO_BIN_EXE_mpirun"), OPTION, &number, "port", "rank"]);
    shell.args(what.split(' ')).env(ROLE, "child").env(STARTED, &started).stdin(Stdio::null());
    assert!(inherit(&mut shell, far.as_raw_fd()).status().unwrap().success());
    drop(far);
    // As `MPI_Comm_spawn` does, it waits for the children before it goes on: before, its `mpirun` does not know of them.
    until("the children", || Path::new(&started).exists());
    drop(dir);
    line.write_all(TAKEN).unwrap();
    let afterwards = std::env::var(AFTERWARDS).unwrap();
    let mut words = afterwards.split(' ');
    match words.next() {
        Some("end") => {}
        Some("wait") => std::thread::sleep(Duration::from_secs(100)),
        Some("fail") => {
            std::thread::sleep(Duration::from_millis(500));
            std::process::exit(9);
        }
        other => panic!("{other:?}"),
    }
}

/// A spawned rank: it connects to its parents, and then does what the environment says.
pub fn play_child(me: &RankBlock) {
    let told = std::env::var(CHILD).unwrap();
    let mut words = told.split(' ');
    let tie = words.next().unwrap();
    me.parents.store(if tie == "connected" { PARENTS_CONNECTED } else { PARENTS_LEFT }, Release);
    // The folder is gone when another child was first.
    let _ = std::fs::write(std::env::var(STARTED).unwrap(), "");
    match words.next() {
        Some("fail") => {
            std::thread::sleep(Duration::from_millis(300));
            std::process::exit(7);
        }
        Some("wait") => std::thread::sleep(Duration::from_secs(100)),
        Some("sleep") => std::thread::sleep(Duration::from_millis(1500)),
        other => panic!("{other:?}"),
    }
}

fn spawning(options: &str, spawn: &str, child: &str, afterwards: &str) -> Command {
    let mut command = ranks(options, "spawn", None);
    command.env(SPAWN, spawn).env(CHILD, child).env(AFTERWARDS, afterwards);
    command
}

fn spawn(options: &str, spawn: &str, child: &str, afterwards: &str) -> Done {
    run(&mut spawning(options, spawn, child, afterwards))
}

#[test]
fn mpirun_waits_for_jobs_that_its_rank_spawned() {
    let done = spawn("-n 1", "-n 2 PROGRAM", "left sleep", "end").clean();
    assert!(done.time > Duration::from_millis(1400), "{:?}", done.time);
    assert_eq!(done.lines().iter().filter(|line| line.ends_with("of 2 is done")).count(), 2, "{}", done.stdout);
}

#[test]
fn tags_tell_who_spawned_whom() {
    let done = spawn("-n 1 -l", "-n 2 PROGRAM", "left sleep", "end").clean();
    // Text that the test's own program printed before, without a newline, may stand in front.
    for (tag, end) in
        [("[0] [0]", "rank 0 of 2 is done"), ("[0] [1]", "rank 1 of 2 is done"), ("[0]", "rank 0 of 1 is done")]
    {
        let is_it = |line: &&str| line.starts_with(tag) && line.ends_with(end);
        assert!(done.lines().iter().any(is_it), "{tag} … {end} is not in {}", done.stdout);
    }
}

#[test]
fn a_connected_job_that_fails_ends_its_parents() {
    let done = spawn("-n 3", "-n 2 PROGRAM", "connected fail", "wait");
    fails(done, 7, &["in a spawned job", "exited with status 7", "the 3 ranks were stopped too"]);
}

#[test]
fn one_that_has_disconnected_does_not() {
    let done = spawn("-n 1", "-n 2 PROGRAM", "left fail", "end");
    // The failure is still reported, and the status shows it.
    fails(done, 7, &["exited with status 7"]);
}

#[test]
fn parents_that_fail_end_connected_jobs_and_no_others() {
    let marker = marker();
    let program = format!("-n 2 PROGRAM {marker}");
    let done = spawn("-n 2", &program, "connected wait", "fail");
    fails(done, 9, &["rank 0 ", "exited with status 9"]);
    nobody_left(&marker, Duration::ZERO);
    let done = spawn("-n 2", &program, "left sleep", "fail");
    assert_eq!(done.lines().iter().filter(|line| line.ends_with("of 2 is done")).count(), 2, "{}", done.stdout);
    assert_eq!((done.status, done.messages().len()), (9, 1), "{}", done.stderr);
}

#[test]
fn signals_and_the_time_limit_reach_spawned_jobs() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let marker = marker();
        let job = Job::start(&mut spawning("-n 2", &format!("-n 2 PROGRAM {marker}"), "left wait", "wait"));
        until("all ranks", || having(&marker).len() == 2);
        job.signal(signal);
        let done = job.wait();
        fails(done, 128 + signal, &["received signal"]);
        nobody_left(&marker, Duration::ZERO);
    }
    let marker = marker();
    let done = spawn("-n 2 --timeout 1.5", &format!("-n 2 PROGRAM {marker}"), "left wait", "end");
    fails(done, 124, &["time limit", "a spawned job"]);
    nobody_left(&marker, Duration::ZERO);
}

#[test]
fn a_killed_mpirun_takes_spawned_jobs_along() {
    let marker = marker();
    let job = Job::start(&mut spawning("-n 2", &format!("-n 2 PROGRAM {marker}"), "left wait", "wait"));
    until("all ranks", || having(&marker).len() == 2);
    job.signal(libc::SIGKILL);
    nobody_left(&marker, SOON);
    job.wait();
}

#[test]
fn spawned_ranks_may_run_where_mpirun_may() {
    let dir = Dir::new();
    let file = dir.path("look");
    let look = format!("grep Cpus_allowed_list /proc/self/status; : > \"${{{STARTED}:-/dev/null}}\"; sleep 1");
    std::fs::write(&file, look).unwrap();
    let own = script("-n 1", &format!("sh {file}")).clean().stdout;
    let done = spawn("-n 1 --bind-to core", &format!("-n 1 sh {file}"), "", "end").clean();
    assert!(done.lines().iter().any(|line| line.ends_with(own.trim())), "{} is not in {}", own.trim(), done.stdout);
}
