//! Jobs that go on when ranks die.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::thread::sleep;
use std::time::{Duration, Instant};

use oxmpi_base::death_log::{Death, End, Who};
use oxmpi_base::lifeline::process_lives;
use oxmpi_base::segment::{DOOMED_JOB, DOOMED_PART, STATE_ABORTED, STATE_FINALIZED, STATE_RUNNING, Segment};
use oxmpi_boot::Member;
use oxmpi_boot::requests::{self, Request};
use std::os::fd::AsFd;

use crate::mpi::ranks;
use crate::support::{Done, mpirun, run, script};

/// Waits for so many deaths, as a rank does that then says it has seen them.
fn see(segment: &Segment, own: usize, deaths: usize) {
    let until = Instant::now() + Duration::from_secs(10);
    while segment.deaths() < deaths {
        assert!(Instant::now() < until, "{} of {deaths} deaths", segment.deaths());
        sleep(Duration::from_millis(1));
    }
    segment.has_seen(own, deaths);
    // mpirun tells of it before this rank ends.
    sleep(Duration::from_millis(300));
}

/// What the ranks do; the roles of `mpi.rs` that begin with `ft-`.
pub fn play(role: &str, place: Member) {
    let segment = &place.mapped;
    let me = segment.rank(place.local_rank);
    let forever = || -> ! {
        loop {
            sleep(Duration::from_secs(1));
        }
    };
    let abort = |code: i32| -> ! {
        me.abort_code.store(code, Relaxed);
        me.state.store(STATE_ABORTED, Release);
        std::process::exit(code)
    };
    me.state.store(STATE_RUNNING, Release);
    if role == "hosts" {
        return on_hosts(&place);
    }
    if let Some(role) = role.strip_prefix("hosts-") {
        return asks_its_agent(role, &place);
    }
    while (0..place.size).any(|rank| segment.rank(rank).state.load(Relaxed) == 0) {
        sleep(Duration::from_millis(1));
    }
    match (role, place.rank) {
        ("kill", 0) | ("kill-all", _) => {
            sleep(Duration::from_millis(100 * place.rank as u64));
            // SAFETY: ends this process.
            unsafe { libc::raise(libc::SIGKILL) };
        }
        ("kill", _) => {
            let pid = segment.rank(0).pid.load(Relaxed);
            see(segment, place.local_rank, 1);
            assert_eq!(segment.death(0), Some(Death { who: Who::Here(0), end: End::Failed, status: libc::SIGKILL }));
            assert!(segment.goes_on() && !process_lives(pid));
        }
        ("leave", 0) => std::process::exit(0),
        ("leave", _) => {
            see(segment, place.local_rank, 1);
            assert_eq!(segment.death(0).unwrap().end, End::Failed, "it had not called MPI_Finalize");
        }
        ("finalize", 0) => {}
        ("finalize", _) => {
            see(segment, place.local_rank, 1);
            assert_eq!(segment.death(0).unwrap().end, End::Left);
        }
        ("unseen", 0) => std::process::exit(3),
        // It dies of nothing, and does not look.
        ("unseen", _) => sleep(Duration::from_millis(300)),
        ("late", 0) => {
            me.state.store(STATE_FINALIZED, Release);
            std::process::exit(5);
        }
        ("abort-part", 1) => {
            [1, 2].iter().for_each(|&rank| segment.rank(rank).doomed.store(DOOMED_PART, Relaxed));
            abort(7);
        }
        ("abort-part", 2) => forever(),
        ("abort-part", _) => see(segment, place.local_rank, 2),
        ("abort-job", 1) => {
            me.doomed.store(DOOMED_JOB, Relaxed);
            abort(8);
        }
        ("fatal", 1) => abort(9),
        ("abort-job" | "fatal", _) => forever(),
        _ => {}
    }
    println!("rank {} of {} is done", place.rank, place.size);
    me.state.store(STATE_FINALIZED, Release);
}

/// On several hosts rank 1 dies, and rank 2 ends well; all others see both, in one order.
fn on_hosts(place: &Member) {
    let segment = &place.mapped;
    let me = segment.rank(place.local_rank);
    match place.rank {
        // SAFETY: ends this process.
        1 => drop(unsafe { libc::raise(libc::SIGKILL) }),
        2 => {}
        _ => {
            see(segment, place.local_rank, 2);
            let is_near = |rank: usize| place.nodes.on_this_node().find(|(other, _)| other.index() == rank);
            let who = |rank| is_near(rank).map_or(Who::Elsewhere(rank), |(_, slot)| Who::Here(slot.index()));
            assert_eq!(segment.end_of(who(1)).map(|(_, end)| end), Some(End::Failed));
            assert_eq!(segment.end_of(who(2)).map(|(_, end)| end), Some(End::Left));
            println!("rank 1 stands at {}", segment.end_of(who(1)).map_or(9, |(index, _)| index));
        }
    }
    println!("rank {} of {} is done", place.rank, place.size);
    me.state.store(STATE_FINALIZED, Release);
}

/// On several hosts rank 0 asks its agent to end others, and dies of it. Rank 1 lives on.
fn asks_its_agent(role: &str, place: &Member) {
    let segment = &place.mapped;
    let me = segment.rank(place.local_rank);
    let ask = |request: Request| {
        let reached = place.network.as_ref().expect("there are several hosts");
        requests::send(reached.agent.as_fd(), &request).unwrap();
    };
    match (role, place.rank) {
        ("claim", 0) => {
            // What makes no sense changes nothing.
            ask(Request::LinkBroken { rank: 99, why: String::new() });
            ask(Request::LinkBroken { rank: 0, why: String::new() });
            ask(Request::Abort { members: vec![(1, 2)] });
            ask(Request::LinkBroken { rank: 2, why: "it says so".into() });
            sleep(Duration::from_secs(60));
        }
        ("claim", _) => see(segment, place.local_rank, 1),
        (_, 0) => {
            me.doomed.store(DOOMED_PART, Relaxed);
            ask(Request::Abort { members: vec![(0, 1), (2, 1)] });
            me.abort_code.store(7, Relaxed);
            me.state.store(STATE_ABORTED, Release);
            std::process::exit(7);
        }
        (_, 1) => see(segment, place.local_rank, 2),
        (_, _) => sleep(Duration::from_secs(60)),
    }
    println!("rank {} of {} is done", place.rank, place.size);
    me.state.store(STATE_FINALIZED, Release);
}

fn job(options: &str, role: &str) -> Done {
    run(&mut ranks(&format!("--with-ft ulfm {options}"), &format!("ft-{role}"), None))
}

/// The job has this status and says this, in so many lines; so many ranks come to their end.
#[track_caller]
fn ends(done: &Done, status: i32, lines: &[&str], well: usize) {
    assert_eq!((done.status, done.messages().len()), (status, lines.len()), "{}", done.stderr);
    for (line, words) in done.messages().iter().zip(lines) {
        assert!(words.split('…').all(|words| line.contains(words)), "no `{words}` in {line}");
    }
    assert_eq!(done.stdout.matches("is done").count(), well, "{}", done.stdout);
    assert!(done.time < Duration::from_secs(5), "{:?}", done.time);
}

#[test]
fn the_others_hear_of_a_death_and_go_on() {
    ends(&job("-n 3", "kill"), 0, &["rank 0 (…was killed by signal 9 (Killed)…; 2 ranks go on"], 2);
    ends(&job("-n 2", "leave"), 0, &["rank 0 (…ended without calling MPI_Finalize…; 1 rank goes on"], 1);
    ends(&job("-n 2", "finalize"), 0, &[], 2);
    ends(&job("-n 2", "unseen"), 0, &["rank 0 (…exited with status 3…; 1 rank goes on"], 1);
    for option in ["--enable-recovery", "-disable-auto-cleanup", "--with-ft mpi", "--with-ft=ulfm"] {
        let done = run(&mut ranks(&format!("-n 3 {option}"), "ft-kill", None));
        ends(&done, 0, &["rank 0 (…; 2 ranks go on"], 2);
    }
}

#[test]
fn on_several_hosts_all_hear_of_deaths_in_one_order() {
    for hosts in ["--pretend-hosts 2", "--pretend-hosts 3", "--pretend-hosts 5 --fan-out 1"] {
        let done = job(&format!("{hosts} -n 5"), "hosts");
        ends(&done, 0, &["rank 1 (…was killed by signal 9 (Killed)…go on"], 4);
        let order: std::collections::BTreeSet<&str> =
            done.stdout.lines().filter(|line| line.contains("stands at")).collect();
        assert_eq!(order.len(), 1, "{}", done.stdout);
    }
}

#[test]
fn a_rank_cannot_have_another_one_ended_by_claiming_a_broken_link() {
    let done = job("--pretend-hosts 3 -n 3", "hosts-claim");
    let why = "rank 0 is ended, because it alone says that it has no connection to rank 2 any more: it says so";
    let lines = done.messages();
    assert_eq!((done.status, lines.len()), (0, 2), "{}", done.stderr);
    assert!(lines[0].contains(why) && lines[1].contains("rank 0 ("), "{}", done.stderr);
    assert_eq!(done.stdout.matches("is done").count(), 2, "{}", done.stdout);
}

#[test]
fn an_abort_ends_ranks_of_its_communicator_on_other_hosts() {
    let lines = ["rank 0 (…MPI_Abort with code 7; another rank of its communicator is ended; 1 rank goes on"];
    ends(&job("--pretend-hosts 3 -n 3", "hosts-abort"), 0, &lines, 1);
    ends(&job("--pretend-hosts 2 -n 3", "hosts-abort"), 0, &lines, 1);
}

#[test]
fn nobody_is_left() {
    let lines = ["rank 0 (…; 2 ranks go on", "rank 1 (…; 1 rank goes on", "rank 2 (…; no rank is left"];
    ends(&job("-n 3", "kill-all"), 137, &lines, 0);
}

#[test]
fn a_status_after_finalize_counts() {
    ends(&job("-n 2", "late"), 5, &["rank 0 (…exited with status 5 after MPI_Finalize"], 1);
}

#[test]
fn a_program_without_mpi_that_fails_gives_its_status() {
    let done = script("-n 2 --with-ft ulfm", "[ $OXMPI_RANK = 0 ] && exit 6; sleep 0.3; echo rank 1 is done");
    ends(&done, 6, &["rank 0 (sh, …exited with status 6"], 1);
}

#[test]
fn an_abort_ends_a_part_or_all() {
    let line = "rank 1 (…MPI_Abort with code 7; another rank of its communicator is ended; 2 ranks go on";
    ends(&job("-n 4", "abort-part"), 0, &[line], 2);
    ends(&job("-n 4", "abort-job"), 8, &["MPI_Abort with code 8; the other 3 ranks were stopped"], 0);
    ends(&job("-n 4", "fatal"), 9, &["; the other 3 ranks were stopped"], 0);
}

#[test]
fn behind_a_shell() {
    let around = |role: &str, script: &str| run(&mut ranks("-n 2 --with-ft ulfm", &format!("ft-{role}"), Some(script)));
    let done = around("leave", "PROGRAM; sleep 0.2");
    ends(&done, 0, &["rank 0 (…ended without calling MPI_Finalize…; 1 rank goes on"], 1);
    ends(&around("finalize", "PROGRAM; true"), 0, &[], 2);
}

#[test]
fn what_cannot_be_is_refused() {
    let done = mpirun("--with-ft moon echo x");
    assert_eq!((done.status, done.stdout.as_str(), done.stderr.lines().count()), (2, "", 1), "{}", done.stderr);
    ["`--with-ft`", "moon", "ulfm"].iter().for_each(|word| assert!(done.stderr.contains(word), "{}", done.stderr));
}
