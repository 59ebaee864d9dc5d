//! Stdin: rank 0 reads it, or the ranks that the user named.

use std::process::Stdio;

use crate::support::{Job, command, run};

fn with_input(options: &str, script: &str, input: &str) -> Vec<String> {
    let mut command = command();
    command.stdin(Stdio::piped()).args(options.split_whitespace()).args(["sh", "-c", script]);
    let mut job = Job::start(&mut command);
    job.write(input);
    job.close_stdin();
    let done = job.wait().clean();
    done.sorted().into_iter().map(String::from).collect()
}

const COUNT: &str = "echo $OXMPI_RANK $(cat | wc -c)";

#[test]
fn rank_0_reads_and_the_others_see_its_end() {
    assert_eq!(with_input("-n 3", COUNT, "hello\n"), ["0 6", "1 0", "2 0"]);
    assert_eq!(with_input("-n 1", COUNT, ""), ["0 0"]);
}

#[test]
fn others_can_be_named() {
    assert_eq!(with_input("-n 3 -s 1", COUNT, "hello\n"), ["0 0", "1 6", "2 0"]);
    assert_eq!(with_input("-n 3 --stdin all", COUNT, "hello\n"), ["0 6", "1 6", "2 6"]);
    assert_eq!(with_input("-n 3 --stdin 0,2", COUNT, "hello\n"), ["0 6", "1 0", "2 6"]);
    assert_eq!(with_input("-n 2 --stdin none", COUNT, ""), ["0 0", "1 0"]);
}

#[test]
fn much_input_arrives_everywhere() {
    let much = "0123456789abcde\n".repeat(100_000);
    assert_eq!(with_input("-n 2 --stdin all", COUNT, &much), ["0 1600000", "1 1600000"]);
    assert_eq!(with_input("-n 2", COUNT, &much), ["0 1600000", "1 0"]);
}

#[test]
fn a_rank_that_reads_nothing_does_no_harm() {
    assert_eq!(with_input("-n 3 --stdin all", "[ $OXMPI_RANK = 1 ] && exit; cat", "x\n"), ["x", "x"]);
}

#[test]
fn input_that_the_rank_leaves_is_there_for_the_next() {
    // A shell loop reads a list and starts a job for each line: the job must not read the list.
    let script = format!("while read word; do {} -n 2 echo $word; done", env!("CARGO_BIN_EXE_mpirun"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut job = Job::start(&mut shell);
    job.write("a\nb\nc\n");
    job.close_stdin();
    assert_eq!(job.wait().clean().stdout, "a\na\nb\nb\nc\nc\n");
}

#[test]
fn a_dialogue() {
    let mut command = command();
    command.stdin(Stdio::piped()).args(["-n", "2", "-s", "all", "sh", "-c", "read a; read b; echo $b$a"]);
    let mut job = Job::start(&mut command);
    job.write("1\n");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(job.runs());
    job.write("2\n");
    assert_eq!(job.wait().clean().stdout, "21\n21\n");
}

#[test]
fn a_closed_stdin_is_an_empty_one() {
    let line = format!("{} -n 2 cat <&-", env!("CARGO_BIN_EXE_mpirun"));
    let done = run(std::process::Command::new("sh").args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped()));
    assert_eq!((done.status, done.stdout.as_str()), (0, ""));
}
