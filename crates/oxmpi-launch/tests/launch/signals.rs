//! Signals to `mpirun` reach the ranks, and the end of `mpirun` ends them.

use std::time::{Duration, Instant};

use crate::support::{Dir, Job, given, having, marker, nobody_left, until};

#[test]
fn an_interrupt_ends_the_job_within_a_second() {
    // Under nohup, or in the background of a script, this process ignores some signals, and so do
    // its children.
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: the default action, no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    for (signal, status) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129), (libc::SIGQUIT, 131)] {
        let marker = marker();
        let job = Job::script("-n 3", &format!("exec sleep {marker}"));
        // Wait for the programs, not for the shells that will become them.
        until("three sleepers", || given(&marker).len() == 3);
        let sent = Instant::now();
        job.signal(signal);
        let done = job.wait();
        assert_eq!((done.status, done.messages().len()), (status, 1), "{}", done.stderr);
        assert!(sent.elapsed() < Duration::from_secs(1), "{:?}", sent.elapsed());
        nobody_left(&marker, Duration::ZERO);
    }
}

#[test]
fn an_interrupt_ends_those_who_do_not_listen() {
    let marker = marker();
    let job = Job::script("-n 2", &format!("trap '' INT TERM; sh -c 'while :; do :; done' {marker}"));
    until("two loops in two shells", || having(&marker).len() == 4);
    let sent = Instant::now();
    job.signal(libc::SIGINT);
    assert_eq!(job.wait().status, 130);
    assert!(sent.elapsed() < Duration::from_millis(1900), "{:?}", sent.elapsed());
    nobody_left(&marker, Duration::ZERO);
}

#[test]
fn a_second_interrupt_ends_it_at_once() {
    let marker = marker();
    let job = Job::script("-n 2", &format!("trap '' INT TERM; sh -c 'while :; do :; done' {marker}"));
    until("two loops in two shells", || having(&marker).len() == 4);
    job.signal(libc::SIGTERM);
    std::thread::sleep(Duration::from_millis(50));
    let sent = Instant::now();
    job.signal(libc::SIGINT);
    job.wait();
    assert!(sent.elapsed() < Duration::from_millis(800), "{:?}", sent.elapsed());
    nobody_left(&marker, Duration::ZERO);
}

#[test]
fn a_rank_may_end_well_when_asked() {
    let dir = Dir::new();
    let ready = dir.path("ready");
    let job = Job::script(
        "-n 2",
        &format!("trap 'echo saved; exit 0' TERM; echo > {ready}.$OXMPI_RANK; while :; do sleep 0.05; done"),
    );
    until("both traps", || (0..2).all(|rank| std::fs::exists(format!("{ready}.{rank}")).unwrap()));
    job.signal(libc::SIGTERM);
    let done = job.wait();
    // The shell itself reports that `sleep` ended.
    assert_eq!((done.status, done.stdout.as_str(), done.messages().len()), (0, "saved\nsaved\n", 0));
}

#[test]
fn user_signals_are_passed_on() {
    let dir = Dir::new();
    let ready = dir.path("ready");
    let job = Job::script(
        "-n 2",
        &format!(
            "trap 'n=1$n' USR1; trap 'echo got $n; exit' USR2; echo > {ready}.$OXMPI_RANK; while :; do sleep 0.02; done"
        ),
    );
    until("both traps", || (0..2).all(|rank| std::fs::exists(format!("{ready}.{rank}")).unwrap()));
    job.signal(libc::SIGUSR1);
    std::thread::sleep(Duration::from_millis(300));
    job.signal(libc::SIGUSR2);
    assert_eq!(job.wait().stdout, "got 1\ngot 1\n");
}

#[test]
fn stopping_and_continuing() {
    let marker = marker();
    let mut job = Job::script("-n 2", &format!("sleep {marker}; true"));
    until("both shells and what they run", || having(&marker).len() == 4);
    let state = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().unwrap_or_default().trim().chars().next()
    };
    job.signal(libc::SIGTSTP);
    until("all are stopped", || {
        state(job.pid()) == Some('T') && having(&marker).iter().all(|&pid| state(pid) == Some('T'))
    });
    assert!(job.runs());
    job.signal(libc::SIGCONT);
    until("all go on", || having(&marker).iter().all(|&pid| state(pid) == Some('S')));
    assert_eq!(having(&marker).len(), 4);
    job.signal(libc::SIGTERM);
    assert_eq!(job.wait().status, 143);
}

#[test]
fn signals_that_were_ignored_before_stay_ignored() {
    // As nohup does it.
    let marker = marker();
    let line = format!("trap '' HUP; exec {} -n 2 sh -c 'sleep 1; echo {marker}'", env!("CARGO_BIN_EXE_mpirun"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let job = Job::start(&mut shell);
    until("two shells", || having(&marker).len() == 2);
    job.signal(libc::SIGHUP);
    assert_eq!(job.wait().clean().lines().len(), 2);
}
