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
        // The first SIGQUIT only looks.
        if signal == libc::SIGQUIT {
            std::thread::sleep(Duration::from_millis(100));
            job.signal(signal);
        }
        let done = job.wait();
        let messages = 1 + usize::from(signal == libc::SIGQUIT);
        assert_eq!((done.status, done.messages().len()), (status, messages), "{}", done.stderr);
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
fn a_program_that_catches_the_stop_decides_itself() {
    let dir = Dir::new();
    let (ready, saved) = (dir.path("ready"), dir.path("saved"));
    let script = format!(
        "trap 'echo > {saved}.$OXMPI_RANK; kill -STOP $$' TSTP; echo > {ready}.$OXMPI_RANK; \
         while [ ! -e {ready}.end ]; do sleep 0.02; done; echo went on"
    );
    let job = Job::script("-n 2", &script);
    let both = |name: &str| (0..2).all(|rank| std::fs::exists(format!("{name}.{rank}")).unwrap());
    until("both traps", || both(&ready));
    job.signal(libc::SIGTSTP);
    until("both have saved", || both(&saved));
    job.signal(libc::SIGCONT);
    std::fs::write(format!("{ready}.end"), "").unwrap();
    assert_eq!(job.wait().clean().stdout, "went on\nwent on\n");
}

/// The session of each process with the word on its command line.
fn sessions(marker: &str) -> Vec<i32> {
    let session = |pid: i32| {
        // SAFETY: takes a plain number.
        unsafe { libc::getsid(pid) }
    };
    given(marker).into_iter().map(session).collect()
}

#[test]
fn each_rank_has_a_session_of_its_own() {
    for place in ["-n 3", "--pretend-hosts 2 -n 3"] {
        let marker = marker();
        let job = Job::script(place, &format!("exec sleep {marker}"));
        until("three sleepers", || given(&marker).len() == 3);
        let (ranks, found) = (given(&marker), sessions(&marker));
        // The leader of a session is the rank itself.
        assert_eq!(found, ranks, "{place}");
        job.signal(libc::SIGTERM);
        assert_eq!(job.wait().status, 143);
        nobody_left(&marker, Duration::ZERO);
    }
}

#[test]
fn a_rank_that_reads_the_terminal_stays_in_its_session() {
    // `script` gives mpirun a terminal.
    let marker = marker();
    let line = format!("{} -n 2 sh -c 'exec sleep {marker}'", env!("CARGO_BIN_EXE_mpirun"));
    let mut shell = std::process::Command::new("script");
    shell.args(["-qec", &line, "/dev/null"]).stdin(std::process::Stdio::piped());
    let mut child = shell.stdout(std::process::Stdio::null()).spawn().expect("script, a part of util-linux, starts");
    until("two sleepers", || given(&marker).iter().filter(|&&pid| is_sleep(pid)).count() == 2);
    let ranks: Vec<i32> = given(&marker).into_iter().filter(|&pid| is_sleep(pid)).collect();
    // SAFETY: takes plain numbers.
    let own = ranks.iter().filter(|&&pid| unsafe { libc::getsid(pid) } == pid).count();
    // The end of the terminal ends all.
    child.kill().unwrap();
    child.wait().unwrap();
    nobody_left(&marker, Duration::from_secs(6));
    assert_eq!(own, 1, "rank 0 reads what the user types, rank 1 does not");
}

fn is_sleep(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep")
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
