//! Ranks that `mpirun` takes for MPI processes: this test binary, started again, registers in the
//! segment as the library would.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use oxmpi_abi::functions::Fun;
use oxmpi_base::lifeline;
use oxmpi_base::segment::{IN_CALL, STATE_ABORTED, STATE_FINALIZED, STATE_RUNNING};
use oxmpi_boot::{Member, Start, start_from_env};

use crate::support::{Dir, Done, Job, command, given, having, marker, nobody_left, run, until};

pub const ROLE: &str = "OXMPI_TEST_ROLE";

/// Not a test but the program that the tests below start.
#[test]
fn as_rank() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let place = match start_from_env() {
        Ok(Start::Member(member)) => *member,
        Ok(Start::Alone) => {
            println!("alone");
            return;
        }
        Err(error) => {
            println!("{error}");
            std::process::exit(99);
        }
    };
    play(&role, place);
}

fn play(role: &str, place: Member) {
    if role == "network" {
        return crate::hosts::play_network(place);
    }
    if let Some(role) = role.strip_prefix("ft-") {
        return crate::deaths::play(role, place);
    }
    let me = place.mapped.rank(place.local_rank);
    let first = place.rank == 0;
    let enter = |fun: Fun| me.call.store(fun as u32 | IN_CALL, Relaxed);
    let forever = || -> ! {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    };
    if let Some(line) = &place.lifeline {
        lifeline::hold(line.as_fd()).unwrap();
    }
    me.state.store(STATE_RUNNING, Release);
    enter(Fun::Recv);
    match role {
        "finalize" => {}
        "spawn" if first => crate::spawned::play_root(),
        "spawn" => forever(),
        "child" => crate::spawned::play_child(me),
        "crash" if first => std::process::abort(),
        "leave" if first => std::process::exit(0),
        "fail" if first => std::process::exit(9),
        "abort" if first => {
            enter(Fun::Abort);
            me.abort_code.store(42, Relaxed);
            me.state.store(STATE_ABORTED, Release);
            std::process::exit(42);
        }
        "error" if first => {
            me.abort_code.store(0, Relaxed);
            me.state.store(STATE_ABORTED, Release);
            std::process::exit(0);
        }
        "fail-after" => {
            me.state.store(STATE_FINALIZED, Release);
            if first {
                std::process::exit(5);
            }
            // Longer than a job lives whose rank has failed.
            std::thread::sleep(Duration::from_millis(1500));
        }
        "crash-after" if first => {
            me.state.store(STATE_FINALIZED, Release);
            std::process::abort();
        }
        "crash-after" => std::thread::sleep(Duration::from_millis(1500)),
        "fork" => {
            // A program that a rank starts is a job of one rank.
            let own = std::env::current_exe().unwrap();
            let done = std::process::Command::new(own).args(AS_RANK).output().unwrap();
            assert!(String::from_utf8_lossy(&done.stdout).contains("alone"));
        }
        _ => forever(),
    }
    println!("rank {} of {} is done", place.rank, place.size);
    me.state.store(STATE_FINALIZED, Release);
}

/// The arguments with which this binary is a rank.
pub const AS_RANK: [&str; 3] = ["--exact", "mpi::as_rank", "--nocapture"];

/// This binary as a rank, or a shell script in which it stands for `PROGRAM`.
pub fn ranks(options: &str, role: &str, around: Option<&str>) -> std::process::Command {
    let own = std::env::current_exe().unwrap();
    let mut command = command();
    command.args(options.split_whitespace()).env(ROLE, role);
    let line = AS_RANK;
    match around {
        None => command.arg(own).args(line),
        Some(script) => {
            command.args(["sh", "-c", &script.replace("PROGRAM", &format!("{} {}", own.display(), line.join(" ")))])
        }
    };
    command
}

#[track_caller]
pub fn fails(done: Done, status: i32, words: &[&str]) {
    assert_eq!((done.status, done.messages().len()), (status, 1), "{}", done.stderr);
    for word in words {
        assert!(done.messages()[0].contains(word), "no `{word}` in: {}", done.stderr);
    }
    assert!(done.time < Duration::from_secs(3), "{:?}", done.time);
}

#[test]
fn a_good_end() {
    let done = run(&mut ranks("-n 3", "finalize", None)).clean();
    assert_eq!(done.lines().iter().filter(|line| line.contains("is done")).count(), 3);
}

#[test]
fn the_last_call_is_named() {
    fails(
        run(&mut ranks("-n 3", "crash", None)),
        134,
        &["rank 0 ", "signal 6 (Aborted)", "in MPI_Recv", "other 2 ranks"],
    );
    fails(run(&mut ranks("-n 3", "fail", None)), 9, &["exited with status 9 in MPI_Recv"]);
}

#[test]
fn leaving_without_finalize() {
    fails(run(&mut ranks("-n 3", "leave", None)), 1, &["without calling MPI_Finalize", "MPI_Recv"]);
}

#[test]
fn one_that_never_came_is_missed() {
    let script = "[ $OXMPI_RANK = 1 ] && exit 0; PROGRAM";
    // On one host, and where it was alone on its host.
    for place in ["-n 3", "--pretend-hosts 3 -n 3"] {
        let words = ["rank 1 ", "without calling MPI_Init", "other 2 ranks"];
        fails(run(&mut ranks(place, "wait", Some(script))), 1, &words);
        // No rank waits for it, so nothing is printed.
        run(&mut ranks(place, "finalize", Some(script))).clean();
    }
}

#[test]
fn an_interrupt_tells_where_the_ranks_are() {
    let job = Job::start(&mut ranks("-n 3", "wait", None));
    std::thread::sleep(Duration::from_millis(800));
    job.signal(libc::SIGINT);
    let done = job.wait();
    assert_eq!(done.status, 128 + libc::SIGINT);
    assert!(done.messages()[0].contains("the 3 ranks were stopped: ranks 0-2 in MPI_Recv"), "{}", done.stderr);
}

#[test]
fn abort() {
    fails(run(&mut ranks("-n 3", "abort", None)), 42, &["called MPI_Abort with code 42", "other 2 ranks"]);
    fails(run(&mut ranks("-n 3", "error", None)), 1, &["stopped the job with error code 0 in MPI_Recv"]);
}

#[test]
fn a_bad_status_after_finalize_lets_the_others_go_on() {
    for place in ["-n 3", "--pretend-hosts 3 -n 3"] {
        let done = run(&mut ranks(place, "fail-after", None));
        assert_eq!(done.stdout.matches("is done").count(), 2, "{place}: {}", done.stdout);
        assert!(!done.stderr.contains("stopped"), "{place}: {}", done.stderr);
        fails(done, 5, &["rank 0 ", "exited with status 5 after MPI_Finalize"]);
        let done = run(&mut ranks(place, "crash-after", None));
        assert_eq!(done.stdout.matches("is done").count(), 2, "{place}: {}", done.stdout);
        fails(done, 134, &["rank 0 ", "was killed by signal 6 (Aborted) after MPI_Finalize"]);
    }
}

#[test]
fn behind_a_shell() {
    run(&mut ranks("-n 2", "finalize", Some("PROGRAM; true"))).clean();
    fails(run(&mut ranks("-n 2", "crash", Some("PROGRAM 2>/dev/null"))), 134, &["rank 0 "]);
}

#[test]
fn a_command_around_a_failed_program_ends_by_itself() {
    // The shells go on after the death of their programs, of which one crashes and the other one is stopped.
    let afterwards = "echo $OXMPI_RANK got $? > FILE.$OXMPI_RANK; sleep 0.8; echo $OXMPI_RANK has ended";
    for place in ["-n 2", "--pretend-hosts 2 -n 2"] {
        let dir = Dir::new();
        // Rank 1 is in MPI before rank 0 fails.
        let script = format!(
            "[ $OXMPI_RANK = 1 ] || sleep 0.7; PROGRAM 2>/dev/null; {}",
            afterwards.replace("FILE", &dir.path("status"))
        );
        let done = run(&mut ranks(place, "crash", Some(&script)));
        let ended = |rank: usize| done.stdout.matches(&format!("{rank} has ended")).count();
        assert_eq!((ended(0), ended(1)), (1, 1), "{place}: {}", done.stdout);
        assert_eq!((dir.text("status.0"), dir.text("status.1")), ("0 got 134\n".into(), "1 got 143\n".into()));
        fails(done, 1, &["rank 0 ", "without calling MPI_Finalize", "the other rank was stopped"]);
        let done = run(&mut ranks(place, "abort", Some(&script)));
        assert_eq!(dir.text("status.1"), "1 got 143\n", "{place}");
        fails(done, 42, &["MPI_Abort", "the other rank was stopped"]);
    }
    // A rank without a command ends at once, and one that does not listen is killed.
    let script = "[ $OXMPI_RANK = 1 ] || { sleep 0.7; exec PROGRAM; }; trap '' TERM; PROGRAM; echo got $?";
    let done = run(&mut ranks("-n 2", "crash", Some(script)));
    assert!(done.stdout.contains("got 137"), "{}", done.stdout);
    fails(done, 134, &["rank 0 ", "was killed by signal 6"]);
}

#[test]
fn a_failure_is_reported_while_commands_run() {
    let marker = marker();
    let mut command = ranks("-n 2 --timeout 5", "crash", Some(&format!("PROGRAM 2>/dev/null; sleep {marker}")));
    let done = run(&mut command);
    assert!(done.time > Duration::from_millis(4900), "{:?}", done.time);
    let messages = done.messages();
    assert_eq!((done.status, messages.len()), (1, 1), "{}", done.stderr);
    let words =
        ["rank 0 ", "other rank was stopped; the command of rank 0 (sh, pid ", "and that of another rank still run"];
    words.iter().for_each(|word| assert!(messages[0].contains(word), "no `{word}` in: {}", done.stderr));
    // An interrupt ends them too, at once.
    let job = Job::start(&mut ranks("-n 2", "crash", Some(&format!("PROGRAM 2>/dev/null; sleep {marker}"))));
    until("both sleep", || given(&marker).len() == 2);
    job.signal(libc::SIGINT);
    let done = job.wait();
    assert_eq!(done.status, 1, "{}", done.stderr);
    nobody_left(&marker, Duration::ZERO);
}

#[test]
fn behind_a_shell_that_has_gone() {
    run(&mut ranks("-n 2", "finalize", Some("PROGRAM & exit 0"))).clean();
    fails(run(&mut ranks("-n 2", "crash", Some("PROGRAM 2>/dev/null & exit 0"))), 134, &["rank 0 ", "in MPI_Recv"]);
}

#[test]
fn behind_one_that_closes_descriptors() {
    // As Python's subprocess does it.
    let close = "for n in 3 4 5 6 7 8 9 $OXMPI_SEGMENT $OXMPI_LIFELINE; do eval \"exec $n>&-\"; done; PROGRAM";
    let script = format!("exec bash -c '{}'", close.replace('\'', ""));
    run(&mut ranks("-n 2", "finalize", Some(&script))).clean();
    let reuse = "exec bash -c 'eval \"exec $OXMPI_SEGMENT</dev/null\"; PROGRAM'";
    run(&mut ranks("-n 2", "finalize", Some(reuse))).clean();
}

#[test]
fn a_program_that_a_rank_starts_is_alone() {
    run(&mut ranks("-n 2", "fork", None)).clean();
}

#[test]
fn a_second_program_in_the_place_of_the_first_is_refused() {
    let done = run(&mut ranks("-n 2", "finalize", Some("PROGRAM && PROGRAM")));
    assert_eq!(done.status, 99);
    assert!(done.stdout.contains("an mpirun for each"), "{}", done.stdout);
}

#[test]
fn the_only_rank_may_run_again_and_its_command_is_judged() {
    let done = run(&mut ranks("-n 1", "finalize", Some("PROGRAM && PROGRAM"))).clean();
    assert!(done.stdout.contains("rank 0 of 1 is done") && done.stdout.contains("alone"), "{}", done.stdout);
    run(&mut ranks("-n 1", "crash", Some("PROGRAM 2>/dev/null; sleep 0.5; PROGRAM"))).clean();
    fails(run(&mut ranks("-n 1", "crash", Some("PROGRAM 2>/dev/null; exit 7"))), 7, &["rank 0 (sh, "]);
}

#[test]
fn the_time_limit_tells_where_everybody_is() {
    let done = run(&mut ranks("-n 3 --timeout 1", "wait", None));
    fails(done, 124, &["time limit of 1 s", "ranks 0-2 in MPI_Recv"]);
}

#[test]
fn a_killed_mpirun_takes_even_those_along_who_left_their_group() {
    let marker = marker();
    let job = Job::start(&mut ranks("-n 2", "wait", Some(&format!("exec setsid --wait PROGRAM {marker}"))));
    until("both ranks", || having(&marker).len() == 4);
    std::thread::sleep(Duration::from_millis(300));
    job.signal(libc::SIGKILL);
    nobody_left(&marker, Duration::from_secs(1));
    job.wait();
}
