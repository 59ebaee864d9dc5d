//! A rank that fails: one message, the right status, and all other ranks stopped soon.

use std::time::Duration;

use crate::support::{command, marker, nobody_left, run, script};

/// Rank 2 runs the script; the others would sleep without end.
#[track_caller]
fn rank_2(does: &str, status: i32, words: &[&str]) {
    let marker = marker();
    let done = script("-n 4", &format!("if [ $OXMPI_RANK = 2 ]; then sleep 0.1; {does}; fi; exec sleep {marker}"));
    assert_eq!(done.status, status, "{}", done.stderr);
    assert_eq!(done.messages().len(), 1, "{}", done.stderr);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for word in ["rank 2 (sh, pid ", host.trim(), "the other 3 ranks were stopped"].iter().chain(words) {
        assert!(done.stderr.contains(word), "no `{word}` in: {}", done.stderr);
    }
    assert!(done.time < Duration::from_millis(2500), "{:?}", done.time);
    nobody_left(&marker, Duration::ZERO);
}

#[test]
fn by_a_signal() {
    rank_2("kill -SEGV $$", 139, &["was killed by signal 11 (Segmentation fault)"]);
    rank_2("kill -KILL $$", 137, &["signal 9 (Killed)", "out of memory"]);
    rank_2("kill -ABRT $$", 134, &["signal 6 (Aborted)"]);
}

#[test]
fn by_its_status() {
    rank_2("exit 3", 3, &["exited with status 3"]);
    rank_2("exit 255", 255, &["exited with status 255"]);
}

#[test]
fn one_that_ignores_being_asked() {
    let done = script("-n 3", "[ $OXMPI_RANK = 0 ] && kill -KILL $$; trap '' TERM INT; while :; do :; done");
    assert_eq!(done.status, 137);
    assert!(done.time < Duration::from_secs(3), "{:?}", done.time);
}

#[test]
fn one_that_is_stopped() {
    let done = script("-n 2", "[ $OXMPI_RANK = 0 ] && { sleep 0.2; exit 4; }; kill -STOP $$; sleep 100");
    assert_eq!(done.status, 4);
    assert!(done.time < Duration::from_secs(2), "{:?}", done.time);
}

#[test]
fn all_of_them_at_once() {
    let done = script("-n 8", "echo last words >&2; exit 5");
    assert_eq!((done.status, done.messages().len()), (5, 1));
    assert_eq!(done.stderr.matches("last words").count(), 8, "{}", done.stderr);
}

#[test]
fn some_end_well_before() {
    let done = script("-n 3", "[ $OXMPI_RANK = 2 ] && { sleep 0.2; exit 7; }; exit 0");
    assert_eq!((done.status, done.messages().len()), (7, 1));
    assert!(!done.stderr.contains("stopped"), "{}", done.stderr);
}

#[test]
fn the_others_go_on_when_asked_to() {
    for option in ["-disable-auto-cleanup", "--enable-recovery"] {
        let done = script(&format!("-n 2 {option}"), "[ $OXMPI_RANK = 0 ] && exit 6; sleep 0.8; echo survived");
        assert_eq!((done.status, done.stdout.as_str()), (6, "survived\n"));
        assert_eq!(done.messages().len(), 1);
    }
}

#[test]
fn the_time_limit() {
    let marker = marker();
    let done = script("-n 2 --timeout 0.4", &format!("exec sleep {marker}"));
    assert_eq!((done.status, done.messages().len()), (124, 1));
    let text = "time limit of 0.4 s was reached (--timeout, which takes the place of MPIEXEC_TIMEOUT)";
    assert!(done.stderr.contains(text), "{}", done.stderr);
    assert!(done.time < Duration::from_secs(2), "{:?}", done.time);
    nobody_left(&marker, Duration::ZERO);
    script("-n 2 --timeout 20", "true").clean();
    // The variable of other launchers; the option overrides it.
    let limited = |options: &[&str]| run(command().env("MPIEXEC_TIMEOUT", "0.4").args(options).args(["sleep", "1"]));
    for place in [&["-n", "2"][..], &["--pretend-hosts", "2", "-n", "2"]] {
        let done = limited(place);
        assert_eq!(done.status, 124);
        let text = "time limit of 0.4 s was reached (MPIEXEC_TIMEOUT in the environment)";
        assert!(done.stderr.contains(text), "{place:?}: {}", done.stderr);
    }
    limited(&["-n", "2", "--timeout", "20"]).clean();
}
