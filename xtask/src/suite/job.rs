//! One run of one program: starts it under mpirun, enforces its time limit, checks the result.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::header::{Exit, Header};
use super::{Options, Program, processes};

pub struct Job<'a> {
    /// The suite's mark.
    pub suite: &'a str,
    pub options: &'a Options,
    pub program: &'a Program,
    pub binary: &'a Path,
    pub header: &'a Header,
    pub ranks: usize,
    pub args: &'a [String],
    pub turn: usize,
}

pub enum Outcome {
    Passed,
    /// The failure, the command, and its output.
    Failed(String),
}

/// Time for mpirun to end a job after it was asked to.
/// An error or a leak makes the rank end with a status that no program expects.
const VALGRIND: [&str; 5] = ["valgrind", "-q", "--error-exitcode=97", "--leak-check=full", "--num-callers=25"];

const GRACE: Duration = Duration::from_secs(2);

/// Maximum output of a failed run that is shown.
const SHOWN_BYTES: usize = 16 * 1024;

impl Job<'_> {
    /// As many attempts as the header allows. The last failure counts; earlier ones are told too.
    pub fn run_until_passed(&self) -> Outcome {
        for attempt in 1..self.header.attempts {
            match self.run() {
                Outcome::Passed => return Outcome::Passed,
                Outcome::Failed(report) => {
                    let (name, ranks, all) = (&self.program.name, self.ranks, self.header.attempts);
                    println!("again {name} at {ranks} ranks, attempt {attempt} of {all} failed: {report}");
                }
            }
        }
        self.run()
    }

    fn run(&self) -> Outcome {
        let scratch = self.scratch();
        let outcome = self.run_in(&scratch).unwrap_or_else(|error| {
            Outcome::Failed(format!("the runner cannot work in {}: {error}", scratch.display()))
        });
        let _ = fs::remove_dir_all(&scratch);
        outcome
    }

    fn run_in(&self, scratch: &Path) -> io::Result<Outcome> {
        // The program's own files go to `work`. Libraries put theirs into `tmp`, which must be
        // empty at the end.
        let (work, tmp) = (scratch.join("work"), scratch.join("tmp"));
        let _ = fs::remove_dir_all(scratch);
        fs::create_dir_all(&work)?;
        fs::create_dir_all(&tmp)?;
        // Files, not pipes: a process left behind could hold a pipe open.
        let (stdout, stderr) = (scratch.join("stdout"), scratch.join("stderr"));
        let mut command = self.command();
        command.current_dir(&work).env("TMPDIR", &tmp).stdin(Stdio::null());
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);

        let mut complaints = Vec::new();
        match command.spawn() {
            Err(error) => complaints.push(format!("cannot start mpirun: {error}")),
            Ok(child) => self.watch(child, &mut complaints)?,
        }
        let (stdout, stderr) = (read(&stdout)?, read(&stderr)?);
        let expected = self.header.expect_stdout.iter().map(|part| ("stdout", &stdout, part));
        let expected = expected.chain(self.header.expect_stderr.iter().map(|part| ("stderr", &stderr, part)));
        let says = self.header.says.iter().filter(|(args, _)| args == self.args);
        let expected = expected.chain(says.map(|(_, part)| ("stderr", &stderr, part)));
        for (stream, text, part) in expected {
            if !text.contains(part.as_str()) {
                complaints.push(format!("{stream} does not say `{part}`"));
            }
        }
        // Right programs are never accused.
        if self.options.check && stderr.contains("mpirun: OX-") {
            complaints.push("mpirun --check has found something".into());
        }
        let expects_it = self.header.expect_stderr.iter().any(|part| part.contains("deadlock"));
        let expects_it =
            expects_it || self.header.says.iter().any(|(args, part)| args == self.args && part.contains("deadlock"));
        if stderr.contains("mpirun: deadlock:") && !expects_it {
            complaints.push("mpirun says that there is a deadlock".into());
        }
        for file in fs::read_dir(&tmp)?.flatten() {
            complaints.push(format!("it left {} in TMPDIR", file.file_name().to_string_lossy()));
        }
        if complaints.is_empty() {
            return Ok(Outcome::Passed);
        }
        let shown = [indent("stdout", &stdout), indent("stderr", &stderr)].concat();
        Ok(Outcome::Failed(format!("{}\n  $ {}\n{shown}", complaints.join("\n  and "), self.line())))
    }

    /// Waits for the end, enforces the time limit, and looks for leftovers.
    fn watch(&self, mut child: Child, complaints: &mut Vec<String>) -> io::Result<()> {
        match wait(&mut child, self.header.timeout)? {
            Some(status) => complaints.extend(self.judge(status)),
            None => {
                let running = processes::describe(&processes::marked(&self.mark()));
                let seconds = self.header.timeout.as_secs();
                complaints.push(format!("timed out after {seconds} s, killed with its whole job; it was:\n{running}"));
                processes::signal("TERM", [child.id()].into_iter());
                if wait(&mut child, GRACE)?.is_none() {
                    complaints.push(format!("mpirun did not end within {} s of SIGTERM", GRACE.as_secs()));
                    processes::kill(&processes::marked(&self.mark()));
                    child.wait()?;
                }
            }
        }
        let left = processes::wait_until_gone(&self.mark(), Duration::from_millis(500));
        if !left.is_empty() {
            complaints.push(format!("left processes behind, now killed:\n{}", processes::describe(&left)));
            processes::kill(&left);
        }
        Ok(())
    }

    fn judge(&self, status: ExitStatus) -> Option<String> {
        let good = match self.header.expect_exit {
            Exit::Is(expected) => status.code() == Some(expected),
            Exit::NotZero => status.code().is_some_and(|code| code != 0),
        };
        let expected = match self.header.expect_exit {
            Exit::Is(0) => String::new(),
            Exit::Is(expected) => format!(", not {expected}"),
            Exit::NotZero => ", not with a failure status".to_owned(),
        };
        (!good).then(|| format!("mpirun ended with {status}{expected}"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.options.prefix.join("bin/mpirun"));
        command.arg("-n").arg(self.ranks.to_string());
        if let Some(hosts) = &self.options.hosts {
            command.args(hosts.words(self.ranks));
        }
        if self.options.check {
            command.arg("--check");
        }
        if let Some(launcher) = &self.options.launcher {
            command.arg("--launcher-exec").arg(launcher);
        }
        command.args(&self.header.launch).args(self.program_words());
        // So that a header can start the program several times: `args: a : -n 2 {program} b`.
        for arg in self.args {
            match arg == "{program}" {
                true => command.args(self.program_words()),
                false => command.arg(arg),
            };
        }
        // Some programs read what is chosen: not by limits that the user of this machine has measured.
        command.env("OXMPI_TUNING", "");
        command.env(processes::MARK, self.mark()).envs(self.header.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The program, and the tool that runs it.
    fn program_words(&self) -> impl Iterator<Item = &OsStr> {
        let tool = if self.options.valgrind { &VALGRIND[..] } else { &[] };
        tool.iter().map(OsStr::new).chain([self.binary.as_os_str()])
    }

    /// The command in a form that can be typed again.
    fn line(&self) -> String {
        let command = self.command();
        let variables = self.header.env.iter().map(|(name, value)| format!("{name}='{value}'"));
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        variables.chain(words.map(|word| word.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
    }

    /// The dot at the end distinguishes job 1 from job 10.
    fn mark(&self) -> String {
        format!("{}:{}.", self.suite, self.label())
    }

    fn scratch(&self) -> PathBuf {
        self.options.build.join("scratch").join(self.label())
    }

    fn label(&self) -> String {
        let name: String = self.program.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        format!("{name}-{}-{}", self.ranks, self.turn)
    }
}

/// `None` if it has not ended. Polls often at first, for runs of a few milliseconds, and rarely
/// later, so that the runner does not disturb the measurement.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let elapsed = begin.elapsed();
        if elapsed >= limit {
            return Ok(None);
        }
        thread::sleep((elapsed / 10).clamp(Duration::from_micros(500), Duration::from_millis(20)));
    }
}

fn read(path: &Path) -> io::Result<String> {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn indent(stream: &str, text: &str) -> String {
    let mut from = text.len().saturating_sub(SHOWN_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let cut =
        if from > 0 { format!("  {stream}| … {from} bytes before this are not shown\n") } else { String::new() };
    let lines = text[from..].lines().map(|line| format!("  {stream}| {line}\n"));
    std::iter::once(cut).chain(lines).collect()
}
