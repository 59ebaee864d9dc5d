//! Nothing is left behind: no process, whichever process dies, and no file.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use crate::support::{Job, given, having, marker, nobody_left, script, until};

const SOON: Duration = Duration::from_secs(1);

/// Each kind of rank that must die with `mpirun`; `M` stands for the marker.
const RANKS: [(&str, usize); 6] = [
    // A rank that sleeps.
    ("exec sleep M", 1),
    // A rank that computes without end.
    ("exec sh -c 'while :; do :; done' M", 1),
    // A grandchild of a shell that waits for it.
    ("sh -c 'while :; do :; done' M; true", 2),
    ("sleep M; true", 2),
    // A background process of a shell that has ended.
    ("sleep M & sh -c 'while :; do :; done' M & exec sleep M", 3),
    // A rank that ignores all signals that can be ignored.
    ("trap '' HUP INT QUIT TERM PIPE USR1 USR2; while :; do sleep M; done", 2),
];

#[test]
fn a_killed_mpirun_takes_its_ranks_along() {
    for (ranks, processes) in RANKS {
        let marker = marker();
        let job = Job::script("-n 3", &ranks.replace('M', &marker));
        until("all processes", || having(&marker).len() == 3 * processes);
        job.signal(libc::SIGKILL);
        nobody_left(&marker, SOON);
        assert_eq!(job.wait().status, 137);
    }
}

#[test]
fn a_killed_rank_takes_the_others_along() {
    for (ranks, processes) in RANKS {
        let marker = marker();
        let job = Job::script(
            "-n 3",
            &format!("[ $OXMPI_RANK = 1 ] && exec sleep 1{marker}; {}", ranks.replace('M', &marker)),
        );
        let victim = format!("1{marker}");
        until("all processes", || having(&marker).len() == 2 * processes + 1 && given(&victim).len() == 1);
        crate::support::kill(given(&victim)[0], libc::SIGKILL);
        let done = job.wait();
        assert_eq!((done.status, done.messages().len()), (137, 1), "{}", done.stderr);
        assert!(done.stderr.contains("rank 1 "), "{}", done.stderr);
        nobody_left(&marker, Duration::ZERO);
    }
}

#[test]
fn strays_are_found() {
    let marker = marker();
    // In its own session, with its parent gone: only its ancestry ties it to the job.
    let done = script("-n 2", &format!("setsid sleep {marker} >/dev/null 2>&1 & sleep 0.1"));
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    nobody_left(&marker, Duration::ZERO);
    let done = script(
        "-n 2",
        &format!("(setsid sh -c 'trap \"\" TERM; sleep {marker}; sleep 0{marker}' &) ; sleep 0.1; exit 3"),
    );
    assert_eq!(done.status, 3);
    nobody_left(&marker, Duration::ZERO);
}

#[test]
fn a_child_that_mpirun_inherited_is_let_live() {
    let marker = marker();
    let line = format!("sleep {marker} & exec {} -n 2 true", env!("CARGO_BIN_EXE_mpirun"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let status = shell.status().unwrap();
    let alive = having(&marker);
    alive.iter().for_each(|&pid| crate::support::kill(pid, libc::SIGKILL));
    assert!(status.success());
    assert_eq!(alive.len(), 1);
}

#[test]
fn no_segment_is_left() {
    let shared = || {
        std::fs::read_dir("/dev/shm").map_or(0, |entries| {
            entries.flatten().filter(|e| e.file_name().to_string_lossy().contains("oxmpi")).count()
        })
    };
    script("-n 2", "true").clean();
    assert_eq!(script("-n 2", "kill -KILL $$").status, 137);
    assert_eq!(shared(), 0);
}

#[test]
fn ranks_inherit_nothing_but_what_they_need() {
    // `mpirun` inherits the descriptors of this process. A rank may have those, its own three, and
    // the three that the environment names. The rank counts them without a shell, because shells open
    // descriptors of their own.
    let list = |command: &mut Command| -> BTreeSet<i32> {
        let done = command.output().unwrap();
        String::from_utf8(done.stdout).unwrap().lines().filter_map(|line| line.parse().ok()).collect()
    };
    let without = list(Command::new("ls").arg("/proc/self/fd"));
    let with = list(crate::support::command().args(["-n", "1", "-genv", "X", "y", "ls", "/proc/self/fd"]));
    assert_eq!(with.difference(&without).count(), 3, "{with:?} but without mpirun {without:?}");
    let of_two = list(crate::support::command().args(["-n", "1", "ls", "/proc/self/fd", ":", "-n", "1", "sleep", "0"]));
    // Nothing that belongs to the other rank; the numbers may differ.
    assert_eq!(of_two.len(), with.len(), "{of_two:?} of two ranks, {with:?} of one");
}
