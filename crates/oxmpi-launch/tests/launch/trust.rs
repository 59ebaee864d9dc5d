//! Ranks that damage the memory they share with `mpirun`: it survives, and reports how the job
//! ended.

use std::time::Duration;

use crate::support::{Job, marker, nobody_left, script};

/// Overwrites the shared segment, from its header on.
const SCRIBBLE: &str = "dd of=/proc/self/fd/$OXMPI_SEGMENT bs=4096 count=64 conv=notrunc 2>/dev/null";

#[test]
fn the_segment_cannot_be_cut() {
    let done = script("-n 2", "truncate -s 0 /proc/self/fd/$OXMPI_SEGMENT 2>/dev/null || exit 7; sleep 1");
    assert_eq!(done.status, 7, "{}", done.stderr);
    assert!(done.messages()[0].contains("exited with status 7"), "{}", done.stderr);
}

#[test]
fn mpirun_survives_scribbling() {
    for bytes in ["/dev/urandom", "/dev/zero", "ones"] {
        let source = match bytes {
            "ones" => "head -c 262144 /dev/zero | tr '\\0' '\\377'".to_string(),
            file => format!("head -c 262144 {file}"),
        };
        let marker = marker();
        let each = format!("if [ $OXMPI_RANK = 1 ]; then {source} | {SCRIBBLE}; exit 3; fi; exec sleep {marker}");
        let done = script("-n 3", &each);
        // The state that a rank wrote may claim that it called MPI_Abort.
        assert!(done.status != 0 && done.status < 128, "{bytes}: {} {}", done.status, done.stderr);
        assert_eq!(done.messages().len(), 1, "{bytes}: {}", done.stderr);
        nobody_left(&marker, Duration::ZERO);
        // `mpirun` must not wait for a process only because a block names it.
        let done = script("-n 2", &format!("{source} | {SCRIBBLE}; exit 0"));
        assert!(done.time < Duration::from_secs(10) && done.status < 128, "{bytes}: {} {}", done.status, done.stderr);
    }
}

/// The block of a rank names a process that does not belong to the job.
#[test]
fn signals_go_to_nobody_else() {
    let mut other = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    // The process ids of two ranks are in their blocks, at the beginning of the second cache line.
    let write = |rank: usize, pid: u32| {
        let bytes: String = pid.to_le_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
        let at = 4096 + rank * 256 + 64;
        format!("printf '{bytes}' | dd of=/proc/self/fd/$OXMPI_SEGMENT bs=1 seek={at} conv=notrunc 2>/dev/null")
    };
    let (first, second) = (write(0, other.id()), write(1, u32::MAX));
    let job = Job::script(
        "-n 2",
        &format!(
            "trap 'echo told; exit 0' USR1; [ $OXMPI_RANK = 1 ] || {{ {first}; {second}; }}; echo ready; \
             while :; do sleep 0.05; done"
        ),
    );
    std::thread::sleep(Duration::from_millis(700));
    job.signal(libc::SIGUSR1);
    let done = job.wait();
    assert!(other.try_wait().unwrap().is_none(), "a process of somebody else got the signal");
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(done.sorted(), ["ready", "ready", "told", "told"], "{}", done.stderr);
}

#[test]
fn the_mailbox_takes_any_line() {
    // `mpirun` has the descriptor; the first word of the variable names it.
    let mailbox = "fd=${OXMPI_SPAWN%%:*}; box=/proc/${OXMPI_JOB%%:*}/fd/$fd";
    for line in ["here 4294967295", "here 1", "here 0", "here -1", "nonsense", "failed 1 x y"] {
        let job = Job::script(
            "-n 2",
            &format!("{mailbox}; echo '{line}' >$box; trap 'exit 0' USR1; while :; do sleep 0.05; done"),
        );
        std::thread::sleep(Duration::from_millis(300));
        job.signal(libc::SIGUSR1);
        let done = job.wait();
        assert_eq!((done.status, done.messages().len()), (0, 0), "{line}: {}", done.stderr);
        assert!(done.time < Duration::from_secs(10), "{line}");
    }
}
