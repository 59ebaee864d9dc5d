//! Starts `mpirun` and examines what it did.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of a test's job, also on a busy machine.
const HANGS: Duration = Duration::from_secs(30);

pub struct Done {
    pub stdout: String,
    pub stderr: String,
    /// As a shell has it: 128 + N for a signal.
    pub status: i32,
    pub time: Duration,
}

impl Done {
    /// Succeeded, with nothing on stderr.
    #[track_caller]
    pub fn clean(self) -> Done {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "stdout: {}", self.stdout);
        self
    }

    pub fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }

    pub fn sorted(&self) -> Vec<&str> {
        let mut lines = self.lines();
        lines.sort();
        lines
    }

    /// The lines that `mpirun` itself wrote.
    pub fn messages(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("mpirun: ")).collect()
    }
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpirun"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command line that has no spaces inside its words.
pub fn mpirun(line: &str) -> Done {
    run(command().args(line.split_whitespace()))
}

/// Runs `mpirun <options> sh -c <script>`.
pub fn script(options: &str, script: &str) -> Done {
    run(command().args(options.split_whitespace()).args(["sh", "-c", script]))
}

pub fn run(command: &mut Command) -> Done {
    Job::start(command).wait()
}

/// A running `mpirun`.
pub struct Job {
    child: Child,
    started: Instant,
    out: thread::JoinHandle<Vec<u8>>,
    err: thread::JoinHandle<Vec<u8>>,
}

impl Job {
    pub fn start(command: &mut Command) -> Job {
        let started = Instant::now();
        let mut child = command.spawn().expect("mpirun starts");
        let out = reader(child.stdout.take());
        let err = reader(child.stderr.take());
        Job { child, started, out, err }
    }

    pub fn script(options: &str, script: &str) -> Job {
        Job::start(command().args(options.split_whitespace()).args(["sh", "-c", script]))
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn signal(&self, signal: i32) {
        kill(self.pid(), signal);
    }

    pub fn write(&mut self, text: &str) {
        self.child.stdin.as_mut().expect("stdin is piped").write_all(text.as_bytes()).expect("mpirun reads");
    }

    pub fn close_stdin(&mut self) {
        self.child.stdin = None;
    }

    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("wait").is_none()
    }

    pub fn wait(mut self) -> Done {
        let until = Instant::now() + HANGS;
        let status = loop {
            match self.child.try_wait().expect("wait") {
                Some(status) => break status,
                None if Instant::now() > until => {
                    let _ = self.child.kill();
                    panic!("mpirun hangs");
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        let time = self.started.elapsed();
        let text = |bytes: thread::JoinHandle<Vec<u8>>| String::from_utf8_lossy(&bytes.join().unwrap()).into_owned();
        Done {
            stdout: text(self.out),
            stderr: text(self.err),
            status: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            time,
        }
    }
}

fn reader(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            from.read_to_end(&mut bytes).expect("read");
        }
        bytes
    })
}

pub fn kill(pid: i32, signal: i32) {
    // SAFETY: plain numbers; the tests name processes that they started.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "kill {pid} {signal}");
}

/// A word that no other process has on its command line.
pub fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // As a number of seconds for `sleep`, it is long enough.
    format!("{}{:03}", 7_000_000_000 + std::process::id() as u64, NEXT.fetch_add(1, Relaxed))
}

/// The processes, other than `mpirun`, that have the word on their command line.
pub fn having(marker: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(marker) && !line.split('\0').next().is_some_and(|program| program.ends_with("mpirun"))
    })
    .collect()
}

/// The processes that have exactly this word among their arguments.
pub fn given(word: &str) -> Vec<i32> {
    let argument = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|argument| argument == word.as_bytes())
    };
    having(word).into_iter().filter(argument).collect()
}

/// Waits until a condition holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + HANGS;
    while !holds() {
        assert!(Instant::now() < end, "never came: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// All processes with the word on their command line end within the time.
#[track_caller]
pub fn nobody_left(marker: &str, within: Duration) {
    let end = Instant::now() + within;
    loop {
        let left = having(marker);
        if left.is_empty() {
            return;
        }
        if Instant::now() > end {
            for &pid in &left {
                kill(pid, libc::SIGKILL);
            }
            panic!("left behind: {left:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A directory that is removed again.
pub struct Dir(pub std::path::PathBuf);

impl Dir {
    pub fn new() -> Dir {
        let path = std::env::temp_dir().join(format!("oxmpi-launch-{}", marker()));
        std::fs::create_dir_all(&path).expect("temporary directory");
        Dir(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("file")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
