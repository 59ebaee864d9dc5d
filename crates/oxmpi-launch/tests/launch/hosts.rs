//! Jobs on several hosts: agents that `mpirun` starts directly, for pretended hosts, or through a launcher, here a
//! script that stands for `ssh`. Programs that use MPI are not among them: `tests/programs` has those.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::{NodeId, Slot};
use oxmpi_base::segment::{STATE_FINALIZED, STATE_RUNNING};
use oxmpi_boot::Member;
use oxmpi_transport::tcp::connect::{Arrivals, Record};
use std::sync::atomic::Ordering::Release;

use libc::{SIGCONT, SIGINT, SIGKILL, SIGSEGV, SIGSTOP, SIGTERM, SIGTSTP, SIGUSR1};

use crate::support::{Dir, Job, command, given, having, kill, marker, mpirun, nobody_left, run, script, until};

use crate::mpi::ROLE;

const SOON: Duration = Duration::from_secs(2);

/// The processes that a process has started.
fn children(pid: i32) -> Vec<i32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn lives(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn ranks_know_their_place() {
    let tell = "echo $OXMPI_RANK $OXMPI_SIZE $OXMPI_LOCAL_RANK $OXMPI_LOCAL_SIZE";
    let done = script("--pretend-hosts 3 -n 7", tell).clean();
    assert_eq!(done.sorted(), ["0 7 0 3", "1 7 1 3", "2 7 2 3", "3 7 0 2", "4 7 1 2", "5 7 0 2", "6 7 1 2"]);
    let done = script("--pretend-hosts 2 --map-by node -n 3", tell).clean();
    assert_eq!(done.sorted(), ["0 3 0 2", "1 3 0 1", "2 3 1 2"]);
    let done = script("--pretend-hosts 2", tell).clean();
    assert_eq!(done.sorted(), ["0 2 0 1", "1 2 0 1"], "one rank on each host");
}

#[test]
fn several_programs_and_their_environment() {
    let dir = Dir::new();
    let line = format!("--pretend-hosts 2 -n 1 -env A 1 -wdir {} sh -c", dir.0.display());
    let mut command = command();
    command.env("INHERITED", "yes").args(line.split_whitespace()).arg("echo $A $INHERITED $OXMPI_APPNUM; pwd");
    command.args([":", "-n", "2", "-x", "A=2", "sh", "-c", "echo $A $INHERITED $OXMPI_APPNUM"]);
    let done = run(&mut command).clean();
    let mut expected = vec!["1 yes 0", "2 yes 1", "2 yes 1", dir.0.to_str().unwrap()];
    expected.sort();
    assert_eq!(done.sorted(), expected);
}

#[test]
fn output_is_whole_and_in_lines() {
    for options in ["--pretend-hosts 3", "--pretend-hosts 4 --fan-out 1", "--pretend-hosts 7 --fan-out 2"] {
        let done = script(&format!("{options} -n 7 -l"), "seq -f \"$OXMPI_RANK %06g\" 1 20000").clean();
        let mut next = [1; 7];
        for line in done.stdout.lines() {
            let (label, rest) = line.split_once("] ").unwrap();
            let (rank, number) = rest.split_once(' ').unwrap();
            assert_eq!(label[1..], *rank, "{line}");
            let rank: usize = rank.parse().unwrap();
            assert_eq!(number.parse(), Ok(next[rank]), "{line}");
            next[rank] += 1;
        }
        assert_eq!(next, [20001; 7], "{options}");
    }
    let done = script("--pretend-hosts 2 -n 2", "head -c 900000 /dev/zero | tr '\\0' x; echo; echo e >&2");
    assert_eq!(done.lines().iter().map(|line| line.len()).collect::<Vec<_>>(), [900_000; 2]);
    assert_eq!(done.stderr, "e\ne\n");
}

#[test]
fn output_goes_to_files() {
    let dir = Dir::new();
    let options = format!("--pretend-hosts 2 -n 2 -outfile-pattern {}", dir.path("%r-%h"));
    script(&options, "echo $OXMPI_RANK").clean();
    let mut files: Vec<_> = std::fs::read_dir(&dir.0).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    assert_eq!(texts, ["0\n", "1\n"]);
    assert!(files[1].to_str().unwrap().ends_with("-node1"), "{files:?}");
}

#[test]
fn input_reaches_the_ranks_that_read() {
    let much = "0123456789abcde\n".repeat(200_000);
    for (options, expected) in [
        ("-n 3", "0 3200000\n1 0\n2 0"),
        ("-n 3 --stdin all --fan-out 1", "0 3200000\n1 3200000\n2 3200000"),
        ("-n 3 --stdin 2", "0 0\n1 0\n2 3200000"),
    ] {
        let mut command = command();
        command.args(["--pretend-hosts", "3"]).args(options.split_whitespace()).stdin(Stdio::piped());
        let mut job = Job::start(command.args(["sh", "-c", "echo $OXMPI_RANK $(wc -c)"]));
        job.write(&much);
        job.close_stdin();
        assert_eq!(job.wait().clean().sorted().join("\n"), expected, "{options}");
    }
    // A rank that reads nothing must not keep the job from ending.
    let mut command = command();
    command.args("--pretend-hosts 2 -n 2 sleep 0.3".split_whitespace()).stdin(Stdio::piped());
    let job = Job::start(&mut command);
    job.wait().clean();
}

#[test]
fn a_rank_that_fails_is_named_with_its_host() {
    let marker = marker();
    let job =
        Job::script("--pretend-hosts 3 -n 5", &format!("[ $OXMPI_RANK = 4 ] && exec sleep 1{marker}; sleep {marker}"));
    let victim = format!("1{marker}");
    until("all processes", || having(&marker).len() == 9 && given(&victim).len() == 1);
    kill(given(&victim)[0], SIGSEGV);
    let killed = Instant::now();
    let done = job.wait();
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
    assert_eq!((done.status, done.messages().len()), (139, 1), "{}", done.stderr);
    for part in ["rank 4 (sh", "-node2) was killed by signal 11", "the other 4 ranks were stopped"] {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
    nobody_left(&marker, Duration::ZERO);
    assert_eq!(script("--pretend-hosts 2 -n 2", "exit $OXMPI_RANK").status, 1);
    let done = script("--pretend-hosts 2 -n 2 --enable-recovery", "[ $OXMPI_RANK = 0 ] && exit 5; sleep 0.3; echo on");
    assert_eq!((done.status, done.stdout.as_str()), (5, "on\n"), "{}", done.stderr);
}

#[test]
fn nothing_is_left_when_mpirun_is_killed() {
    for options in ["--pretend-hosts 3", "--pretend-hosts 3 --fan-out 1"] {
        let marker = marker();
        let job =
            Job::script(&format!("{options} -n 3"), &format!("setsid sleep {marker} & trap '' TERM; sleep {marker}"));
        until("all processes", || given(&marker).len() == 6);
        let mut agents = children(job.pid());
        (0..3).for_each(|_| agents = agents.iter().flat_map(|&pid| [vec![pid], children(pid)].concat()).collect());
        job.signal(SIGKILL);
        nobody_left(&marker, SOON);
        until("the end of the agents", || !agents.iter().any(|&pid| lives(pid)));
        job.wait();
    }
}

#[test]
fn an_agent_that_is_killed_is_named_and_its_ranks_end() {
    for options in ["--pretend-hosts 3", "--pretend-hosts 3 --fan-out 1"] {
        let marker = marker();
        let job = Job::script(&format!("{options} -n 6"), &format!("sleep {marker}"));
        until("all processes", || given(&marker).len() == 6);
        // The agent of the first host has the lowest process id.
        let agents = children(job.pid());
        kill(*agents.iter().min().unwrap(), SIGKILL);
        let killed = Instant::now();
        let done = job.wait();
        assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
        assert_eq!((done.status, done.messages().len()), (1, 1), "{}", done.stderr);
        for part in ["-node0 (ranks 0-1)", "lost", "signal 9"] {
            assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
        }
        nobody_left(&marker, SOON);
    }
}

#[test]
fn a_silent_host_is_given_up() {
    let marker = marker();
    let job = Job::script("--pretend-hosts 2 -n 2 --host-timeout 1", &format!("exec sleep {marker}"));
    until("all processes", || given(&marker).len() == 2);
    kill(*children(job.pid()).iter().max().unwrap(), SIGSTOP);
    let stopped = Instant::now();
    let done = job.wait();
    assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
    assert!(done.status == 1 && done.stderr.contains("nothing was heard"), "{}", done.stderr);
    assert!(done.stderr.contains("-node1 (rank 1)"), "{}", done.stderr);
    nobody_left(&marker, SOON);
}

#[test]
fn ranks_end_when_mpirun_falls_silent() {
    let marker = marker();
    let job = Job::script("--pretend-hosts 2 -n 2 --host-timeout 1", &format!("exec sleep {marker}"));
    until("all processes", || given(&marker).len() == 2);
    job.signal(SIGSTOP);
    nobody_left(&marker, Duration::from_secs(5));
    job.signal(SIGCONT);
    assert_eq!(job.wait().status, 1);
}

#[test]
fn a_reader_that_stops_costs_no_host() {
    let mut command = command();
    command.args("--pretend-hosts 2 -n 2 --host-timeout 1 sh -c".split_whitespace());
    let mut child = command.arg("seq 1 200000; echo done >&2").spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "its output was not read");
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), done.stdout.len()), (Some(0), 2 * 1_288_895));
    assert_eq!(done.stderr, b"done\ndone\n");
}

#[test]
fn signals_reach_all_ranks() {
    for (signal, status) in [(SIGINT, 130), (SIGTERM, 143)] {
        let marker = marker();
        let job = Job::script("--pretend-hosts 3 -n 4 --fan-out 2", &format!("exec sleep {marker}"));
        until("all processes", || given(&marker).len() == 4);
        job.signal(signal);
        let done = job.wait();
        assert_eq!(done.status, status);
        assert!(done.stderr.contains("the 4 ranks were stopped: ranks 0-3 before MPI_Init"), "{}", done.stderr);
        nobody_left(&marker, Duration::ZERO);
    }
    let dir = Dir::new();
    let ready = dir.path("ready");
    let job = Job::script(
        "--pretend-hosts 2 -n 2",
        &format!("trap 'echo got; exit 0' USR1; touch {ready}$OXMPI_RANK; while :; do sleep 0.05; done"),
    );
    until("two traps", || (0..2).all(|rank| std::path::Path::new(&format!("{ready}{rank}")).exists()));
    job.signal(SIGUSR1);
    let done = job.wait();
    assert_eq!((done.status, done.stdout.as_str()), (0, "got\ngot\n"), "{}", done.stderr);
}

#[test]
fn a_stopped_job_goes_on() {
    let marker = marker();
    let job =
        Job::script("--pretend-hosts 2 -n 2 --host-timeout 1", &format!("sleep 0.1; : {marker}; sleep 2; echo on"));
    until("all processes", || having(&marker).len() == 2);
    job.signal(SIGTSTP);
    std::thread::sleep(Duration::from_secs(3));
    let state = std::fs::read_to_string(format!("/proc/{}/stat", having(&marker)[0])).unwrap();
    assert!(state.contains(") T "), "{state}");
    job.signal(SIGCONT);
    assert_eq!(job.wait().clean().stdout, "on\non\n");
}

#[test]
fn the_time_limit_holds_everywhere() {
    let done = script("--pretend-hosts 2 -n 2 --timeout 0.5", "sleep 100");
    assert_eq!(done.status, 124);
    assert!(done.stderr.contains("ranks 0-1 before MPI_Init"), "{}", done.stderr);
    assert!(done.time < Duration::from_secs(3), "{:?}", done.time);
}

/// A launcher: a shell script, whose arguments are the host and the command for it.
fn launcher(dir: &Dir, name: &str, text: &str) -> String {
    let path = dir.path(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_launcher_starts_agents_on_hosts() {
    let dir = Dir::new();
    // The login shell there prints a text, and its start file would read stdin if something were there.
    let text = "opt=$1; host=$2; shift 2\necho \"Welcome to $host\"; echo careful >&2\n\
                timeout 0.1 cat >/dev/null\nNODE=$host\nexport NODE\nexec sh -c \"$*\"";
    let far = launcher(&dir, "far", text);
    let mut command = command();
    command.args(["--launcher-exec", &format!("{far} -x"), "--host", "h1.invalid:2,h2.invalid", "-l", "sh", "-c"]);
    let done = run(command.arg("echo $OXMPI_RANK of $OXMPI_SIZE"));
    assert_eq!((done.status, done.sorted()), (0, vec!["[0] 0 of 3", "[1] 1 of 3", "[2] 2 of 3"]), "{}", done.stderr);
    // The same through the environment.
    let mut command = crate::support::command();
    command.env("OXMPI_RSH", format!("{far} -x")).args(["--host", "h1.invalid,h2.invalid", "echo", "x"]);
    assert_eq!(run(&mut command).stdout, "x\nx\n");
}

#[test]
fn what_is_wrong_with_a_host_is_said() {
    let dir = Dir::new();
    let nonce = "0123456789abcdef0123456789abcdef";
    let cases = [
        ("refuse", "echo 'Permission denied (publickey).' >&2; exit 255", "Permission denied (publickey)"),
        ("missing", "exec sh -c 'exec /nonexistent/bin/mpirun --agent'", "/nonexistent/bin/mpirun"),
        ("other", &format!("echo OXMPI-AGENT 9.9.9 {nonce}; sleep 10"), "OxMPI 9.9.9 is installed there"),
        (
            "garbage",
            &format!("echo OXMPI-AGENT {} {nonce}; echo this is no frame at all; sleep 10", env!("CARGO_PKG_VERSION")),
            "a frame begins",
        ),
        ("silence", "exit 0", "ended with status 0"),
    ];
    for (name, text, part) in cases {
        let far = launcher(&dir, name, text);
        let mut command = command();
        command.args(["--launcher-exec", &far, "--host", "h1.invalid", "echo", "x"]);
        let done = run(&mut command);
        assert_eq!((done.status, done.messages().len()), (1, 1), "{name}: {}", done.stderr);
        assert!(done.stderr.contains(part) && done.stderr.contains("h1.invalid"), "{name}: {}", done.stderr);
        assert!(done.time < Duration::from_secs(5), "{name}");
    }
    let done = mpirun("--launcher-exec /nonexistent/ssh --host h1.invalid echo x");
    assert!(done.status == 1 && done.stderr.contains("cannot start `/nonexistent/ssh`"), "{}", done.stderr);
    let done = mpirun("--pretend-hosts 2 -n 2 ./no-such-program");
    assert!(done.status == 127 && done.stderr.contains("on host"), "{}", done.stderr);
    assert_eq!(done.messages().len(), 1, "{}", done.stderr);
    let done = mpirun("--pretend-hosts 2 -n 2 -wdir /nonexistent true");
    assert!(done.status == 1 && done.stderr.contains("/nonexistent"), "{}", done.stderr);
}

#[test]
fn the_key_is_not_on_a_command_line() {
    let marker = marker();
    let job = Job::script("--pretend-hosts 2 -n 2", &format!("exec sleep {marker}"));
    until("all processes", || given(&marker).len() == 2);
    for agent in children(job.pid()) {
        let line = std::fs::read(format!("/proc/{agent}/cmdline")).unwrap();
        let words: Vec<_> = line.split(|&byte| byte == 0).filter(|word| !word.is_empty()).collect();
        assert_eq!(words[1..], [b"--agent"]);
    }
    job.signal(SIGINT);
    job.wait();
}

/// A rank that connects to the first rank of every other node, through its agent, and says who it is.
pub fn play_network(place: Member) {
    let me = place.mapped.rank(place.local_rank);
    me.state.store(STATE_RUNNING, Release);
    let reached = place.network.expect("a network");
    let own = place.nodes.own_node().number();
    let others = (0..place.nodes.nodes() as u32).filter(|&node| node != own);
    let at = |node| ProcessId { job: place.job, node: NodeId::new(node), slot: Slot::FIRST };
    let mut calls: Vec<_> =
        others.map(|node| (reached.network.connect(at(node)).unwrap(), None::<TcpStream>)).collect();
    let mut arrivals = Arrivals::new(reached.agent);
    let (mut heard, mut silent) = (Vec::new(), Vec::new());
    let expected = if place.local_rank == 0 { place.size - place.local_size } else { 0 };
    until("all connections", || {
        for (attempt, stream) in calls.iter_mut().filter(|(_, stream)| stream.is_none()) {
            if let Some(fd) = attempt.step().unwrap() {
                let mut connected = TcpStream::from(fd);
                connected.write_all(&[place.rank as u8]).unwrap();
                *stream = Some(connected);
            }
        }
        while let Some(Record::Connection(arrival, fd)) = arrivals.take().unwrap() {
            let stream = TcpStream::from(fd);
            stream.set_nonblocking(true).unwrap();
            assert_ne!(arrival.node.number(), own);
            silent.push(stream);
        }
        // No rank blocks in a read: the one that it would wait for may wait for it.
        silent.retain_mut(|stream| {
            let mut byte = [0];
            let read = stream.read_exact(&mut byte);
            match &read {
                Ok(()) => heard.push(byte[0]),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
            }
            read.is_err()
        });
        heard.len() == expected && calls.iter().all(|(_, stream)| stream.is_some())
    });
    heard.sort();
    println!("RANK {} heard {heard:?}", place.rank);
    me.state.store(STATE_FINALIZED, Release);
}

#[test]
fn ranks_of_different_hosts_get_connected() {
    for options in ["--pretend-hosts 3 -n 5", "--pretend-hosts 3 -n 5 --fan-out 1"] {
        let mut command = command();
        command.args(options.split_whitespace()).env(ROLE, "network").arg(std::env::current_exe().unwrap());
        let done = run(command.args(["--exact", "--nocapture", "mpi::as_rank"]));
        assert_eq!((done.status, done.stderr.as_str()), (0, ""), "{}", done.stdout);
        // The test harness prints the name of the test on the same line.
        let mut lines: Vec<&str> =
            done.lines().into_iter().filter_map(|line| Some(&line[line.find("RANK ")?..])).collect();
        lines.sort();
        let expected = [
            "RANK 0 heard [2, 3, 4]",
            "RANK 1 heard []",
            "RANK 2 heard [0, 1, 4]",
            "RANK 3 heard []",
            "RANK 4 heard [0, 1, 2, 3]",
        ];
        assert_eq!(lines, expected, "{options}");
    }
}

#[test]
fn a_port_range_that_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let done = mpirun(&format!("--pretend-hosts 2 --port-range {port}-{port} -n 2 true"));
    assert_eq!((done.status, done.messages().len()), (1, 1), "{}", done.stderr);
    assert!(done.stderr.contains(&format!("none of the ports {port} to {port} is free on host")), "{}", done.stderr);
}
