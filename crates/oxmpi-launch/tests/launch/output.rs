//! Output: complete lines, in order, without loss.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Dir, Job, command, mpirun, run, script, until};

#[test]
fn lines_stay_whole_and_in_order() {
    // Long lines, in small pieces, from four ranks at once.
    let each =
        "i=0; while [ $i -lt 300 ]; do printf %s-%s- $OXMPI_RANK $i; printf '%01000d' 0; echo .; i=$((i+1)); done";
    let done = script("-n 4", each).clean();
    let mut next = [0; 4];
    for line in done.lines() {
        let mut parts = line.split('-');
        let rank: usize = parts.next().unwrap().parse().unwrap();
        assert_eq!(parts.next().unwrap().parse(), Ok(next[rank]), "{line}");
        assert_eq!(parts.next().unwrap(), format!("{}.", "0".repeat(1000)));
        assert_eq!(parts.next(), None);
        next[rank] += 1;
    }
    assert_eq!(next, [300; 4]);
}

#[test]
fn labels() {
    for option in ["-l", "--tag-output", "-prepend-rank", "--output tag"] {
        let done = script(&format!("-n 2 {option}"), "echo a; printf b; echo e >&2");
        assert_eq!(done.sorted(), ["[0] a", "[0] b", "[1] a", "[1] b"], "{option}");
        let mut errors: Vec<_> = done.stderr.lines().collect();
        errors.sort();
        assert_eq!(errors, ["[0] e", "[1] e"]);
    }
}

#[test]
fn a_last_line_without_an_end() {
    let done = script("-n 2", "printf x").clean();
    assert_eq!(done.stdout, "x\nx");
    assert_eq!(script("-n 1", "printf x").clean().stdout, "x");
}

#[test]
fn a_prompt_shows_before_its_line_ends() {
    let mut child =
        command().args(["-n", "2", "sh", "-c", "[ $OXMPI_RANK = 0 ] && printf 'name? '; sleep 100"]).spawn().unwrap();
    let mut prompt = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut prompt).unwrap();
    assert_eq!(&prompt, b"name? ");
    // SAFETY: a process of ours.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    child.wait().unwrap();
}

#[test]
fn large_output_is_whole_and_fast() {
    let begin = Instant::now();
    let mut child = command()
        .args(["-n", "2", "sh", "-c", "yes 0123456789012345678901234567890123456789 | head -c 41000000"])
        .spawn()
        .unwrap();
    let mut reader = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
    let (mut bytes, mut line) = (0, Vec::new());
    while reader.read_until(b'\n', &mut line).unwrap() > 0 {
        assert_eq!(line, b"0123456789012345678901234567890123456789\n");
        bytes += line.len();
        line.clear();
    }
    assert_eq!(bytes, 82_000_000);
    assert!(child.wait().unwrap().success());
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn binary_output_is_not_changed() {
    let done = run(command().args(["-n", "2", "sh", "-c", "[ $OXMPI_RANK = 1 ] || head -c 3000000 /dev/zero"]));
    assert_eq!(done.stdout.len(), 3_000_000);
    assert!(done.stdout.bytes().all(|byte| byte == 0));
}

#[test]
fn errors_and_output_are_apart() {
    let done = script("-n 2", "echo out; echo err >&2");
    assert_eq!((done.stdout.as_str(), done.stderr.as_str(), done.status), ("out\nout\n", "err\nerr\n", 0));
    let merged = script("-n 2 --merge-stderr-to-stdout", "echo out; echo err >&2").clean();
    assert_eq!(merged.sorted(), ["err", "err", "out", "out"]);
}

#[test]
fn a_reader_that_leaves_ends_the_job_quietly() {
    for ranks in ["1", "4"] {
        let begin = Instant::now();
        let mut child = command().args(["-n", ranks, "yes", "word"]).spawn().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, "word\n");
        drop(reader);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(128 + libc::SIGPIPE), ""));
        assert!(begin.elapsed() < Duration::from_secs(3));
    }
}

#[test]
fn a_slow_reader_loses_nothing_and_stops_nothing() {
    let mut child = command().args(["-n", "2", "sh", "-c", "yes | head -c 2000000; exit 0"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut bytes = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 4_000_000);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_blocked_reader_does_not_keep_a_failure_from_stopping_the_job() {
    // With no reader, the job must still be stopped, and the interrupt must still end mpirun.
    let mut child =
        command().args(["-n", "2", "sh", "-c", "[ $OXMPI_RANK = 1 ] && sleep 0.3 && exit 3; yes"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    // SAFETY: a process of ours.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(3));
}

#[test]
fn files_for_each_rank() {
    let dir = Dir::new();
    let options = format!("-n 2 -outfile-pattern {} -errfile-pattern {}", dir.path("out.%r"), dir.path("err.%r"));
    let done = script(&options, "echo o$OXMPI_RANK; echo e$OXMPI_RANK >&2").clean();
    assert_eq!(done.stdout, "");
    assert_eq!((dir.text("out.0"), dir.text("out.1")), ("o0\n".into(), "o1\n".into()));
    assert_eq!((dir.text("err.0"), dir.text("err.1")), ("e0\n".into(), "e1\n".into()));

    let done = script(&format!("-n 2 --output-filename {}", dir.path("d")), "echo o$OXMPI_RANK").clean();
    assert_eq!(done.sorted(), ["o0", "o1"]);
    assert_eq!(dir.text("d/rank.1/stdout"), "o1\n");
    let done = script(&format!("-n 2 --output-filename {}:nocopy", dir.path("n")), "echo o$OXMPI_RANK").clean();
    assert_eq!((done.stdout.as_str(), dir.text("n/rank.0/stdout").as_str()), ("", "o0\n"));
    assert_eq!(mpirun("-n 2 -outfile-pattern /proc/none/x echo x").status, 1);
}

#[test]
fn a_full_disk_is_told_and_counts() {
    let dir = Dir::new();
    let full = |folder: &str, rank: usize, name: &str| {
        let folder = dir.0.join(folder).join(format!("rank.{rank}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.join(name)).unwrap();
    };
    let each = "i=0; while [ $i -lt 100 ]; do echo line; i=$((i+1)); done; sleep 0.3; echo end; echo e >&2";
    let check = |done: crate::support::Done| {
        assert_eq!(done.status, 1, "{}", done.stderr);
        let said = done.messages();
        assert!(said[0].contains("output of rank 1") && said[0].contains("No space left"), "{said:?}");
        assert!(said[1].contains("504 bytes of rank 1 are missing in"), "{said:?}");
        assert_eq!(said.len(), 2);
    };
    full("copied", 1, "stdout");
    let done = script(&format!("-n 2 --output-filename {}", dir.path("copied")), each);
    assert_eq!(done.lines().len(), 202, "nothing is lost on the way to the user");
    check(done);
    full("only", 1, "stdout");
    check(script(&format!("-n 2 --output-filename {}:nocopy", dir.path("only")), each));
    assert_eq!(dir.text("only/rank.0/stdout").len(), 504);
    assert_eq!(dir.text("only/rank.1/stderr"), "e\n");
    // The status of a failed rank has priority.
    full("failed", 0, "stdout");
    assert_eq!(script(&format!("-n 1 --output-filename {}", dir.path("failed")), "echo x; exit 7").status, 7);
}

#[test]
fn a_file_for_all_ranks_has_the_lines_of_all() {
    let dir = Dir::new();
    let one = dir.path("one");
    std::fs::write(&one, "old\n").unwrap();
    let each = "echo o$OXMPI_RANK; echo e$OXMPI_RANK >&2";
    for _ in 0..5 {
        script(&format!("-n 3 -outfile-pattern {one} -errfile-pattern {one}"), each).clean();
        let text = dir.text("one");
        let mut lines: Vec<_> = text.lines().collect();
        for rank in 0..3 {
            let at = |word: &str| lines.iter().position(|line| *line == format!("{word}{rank}")).unwrap();
            assert!(at("o") < at("e"), "{lines:?}");
        }
        lines.sort();
        assert_eq!(lines, ["e0", "e1", "e2", "o0", "o1", "o2"]);
    }
}

#[test]
fn what_a_background_helper_still_writes_arrives() {
    let done = script("-n 2", "(sleep 0.2; echo late) & echo early").clean();
    assert_eq!(done.sorted(), ["early", "early", "late", "late"]);
}

#[test]
fn output_while_running_arrives_at_once() {
    let mut job = Job::start(command().args(["-n", "2", "sh", "-c", "echo now; sleep 100"]));
    std::thread::sleep(Duration::from_millis(300));
    assert!(job.runs());
    job.signal(libc::SIGTERM);
    assert_eq!(job.wait().stdout, "now\nnow\n");
}

/// The helper of a node has the streams of the rank that has started it: it leaves them, and they go on to block, so that a rank
/// that writes much loses nothing.
#[test]
fn a_helper_changes_no_stream() {
    let name = format!("oxmpi-test-{}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
    let (_reader, writer) = io::pipe().unwrap();
    // SAFETY: plain numbers; the helper shall inherit the socket.
    assert_eq!(unsafe { libc::fcntl(listener.as_raw_fd(), libc::F_SETFD, 0) }, 0);
    let mut helper = command();
    helper.args(["--node-helper", &listener.as_raw_fd().to_string()]);
    let mut helper = helper.stdout(Stdio::from(writer.try_clone().unwrap())).spawn().unwrap();
    let stdout = format!("/proc/{}/fd/1", helper.id());
    until("the helper leaves its stdout", || std::fs::read_link(&stdout).is_ok_and(|to| to.ends_with("null")));
    // Other steps of its start, if there were any that change it.
    std::thread::sleep(Duration::from_millis(100));
    // SAFETY: plain numbers.
    let flags = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETFL) };
    helper.kill().unwrap();
    helper.wait().unwrap();
    assert_eq!(flags & libc::O_NONBLOCK, 0);
}
