//! `cargo xtask soak`: kills a rank or the mpirun of jobs in all states of MPI, at a random moment.
//! The job must end in time and report what happened, and nothing may be left behind. The states
//! are in `tests/soak/states.c`. `survive.rs` has the jobs that go on when ranks die.
//!
//! It must never leave one of its own jobs running, whatever it found.

mod survive;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::suite::processes;

const HELP: &str = "\
cargo xtask soak [OPTIONS]
  --prefix P     the installation to test (default: build/prefix)
  --build B      where the program and scratch files go (default: build/soak)
  --ranks N      kill a rank N times (default: 200)
  --mpirun N     kill mpirun N times (default: 50)
  --survive N    N jobs lose up to six of eight ranks and go on (default: 20)
  --state S      only this state";

/// Time limit for the end of a job after one of its processes was killed.
const LIMIT: Duration = Duration::from_secs(2);
/// Time limit for a job to reach its state, on a busy machine.
const STARTS: Duration = Duration::from_secs(30);

/// A state of `states.c`, with a number of ranks, and the calls that a rank may be in or come from.
struct State {
    name: &'static str,
    ranks: usize,
    env: &'static [(&'static str, &'static str)],
    calls: &'static [&'static str],
    when: When,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// After all ranks have called `MPI_Init`.
    Ready,
    /// Some ranks are in MPI, some are not.
    Late,
    /// While the job starts, runs and ends.
    Life,
}

const fn state(name: &'static str, ranks: usize, calls: &'static [&'static str]) -> State {
    State { name, ranks, env: &[], calls, when: When::Ready }
}

const STATES: &[State] = &[
    state("eager", 2, &["MPI_Send", "MPI_Recv"]),
    State { when: When::Life, ..state("life", 4, &["MPI_Sendrecv_replace", "MPI_Finalize"]) },
    state("large", 2, &["MPI_Sendrecv"]),
    state("receive", 3, &["MPI_Recv"]),
    state("barrier", 8, &[]),
    State { when: When::Late, ..state("late", 4, &[]) },
    state("finalize", 3, &["MPI_Finalize"]),
    state("eager", 8, &["MPI_Send", "MPI_Recv"]),
    State { when: When::Life, ..state("life", 1, &["MPI_Sendrecv_replace", "MPI_Finalize"]) },
    State { env: &[("OXMPI_SINGLE_COPY", "0")], ..state("large", 2, &["MPI_Sendrecv"]) },
    state("large", 8, &["MPI_Sendrecv"]),
    state("flood", 4, &["MPI_Send"]),
    state("probe", 2, &["MPI_Probe"]),
    state("ssend", 3, &["MPI_Ssend"]),
    state("waitany", 4, &["MPI_Waitany"]),
    State { when: When::Life, ..state("life", 8, &["MPI_Sendrecv_replace", "MPI_Finalize"]) },
    state("compute", 2, &[]),
    state("threads", 2, &["MPI_Sendrecv"]),
    state("receive", 1, &["MPI_Recv"]),
];

/// The calls of every rank on its way into any state.
const ON_THE_WAY: &[&str] = &["MPI_Init_thread", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Barrier"];

pub fn run(args: &[String]) -> Result<(), String> {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    let soak = Soak::new(options)?;
    let mut failed = 0;
    for (victim, rounds) in [(Victim::Rank, soak.options.ranks), (Victim::Mpirun, soak.options.mpirun)] {
        failed += soak.rounds(victim, rounds)?;
    }
    failed += soak.survive(soak.options.survive)?;
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} rounds failed")),
    }
}

struct Options {
    prefix: PathBuf,
    build: PathBuf,
    ranks: usize,
    mpirun: usize,
    survive: usize,
    state: Option<String>,
}

impl Options {
    /// `None`: the user asked for help.
    fn parse(args: &[String]) -> Result<Option<Options>, String> {
        let root = crate::root();
        let mut options = Options {
            prefix: root.join("build/prefix"),
            build: root.join("build/soak"),
            ranks: 200,
            mpirun: 50,
            survive: 20,
            state: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| format!("{arg} needs a value"));
            let number = |text: String| text.parse().map_err(|_| format!("{arg} needs a number, not `{text}`"));
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--prefix" => options.prefix = value()?.into(),
                "--build" => options.build = value()?.into(),
                "--ranks" => options.ranks = number(value()?)?,
                "--mpirun" => options.mpirun = number(value()?)?,
                "--survive" => options.survive = number(value()?)?,
                "--state" => options.state = Some(value()?),
                other => return Err(format!("unknown option `{other}`\n{HELP}")),
            }
        }
        for path in [&mut options.prefix, &mut options.build] {
            *path = std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Some(options))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    Rank,
    Mpirun,
}

struct Soak {
    options: Options,
    program: PathBuf,
    states: Vec<&'static State>,
    random: Random,
}

/// The result of a successful round.
struct Told {
    /// Time from the kill to the end of the job.
    took: Duration,
    /// The place in the message, or how the job ended instead.
    place: String,
}

impl Soak {
    fn new(options: Options) -> Result<Soak, String> {
        let wanted = |state: &&State| options.state.as_ref().is_none_or(|name| name == state.name);
        let states: Vec<_> = STATES.iter().filter(wanted).collect();
        if states.is_empty() {
            return Err(format!("no state is called `{}`", options.state.unwrap_or_default()));
        }
        fs::create_dir_all(&options.build).map_err(|error| format!("{}: {error}", options.build.display()))?;
        let mut soak = Soak { options, program: PathBuf::new(), states, random: Random::new() };
        soak.program = soak.compile("states.c", "states")?;
        Ok(soak)
    }

    fn compile(&self, source: &str, program: &str) -> Result<PathBuf, String> {
        let program = self.options.build.join(program);
        let mut mpicc = Command::new(self.options.prefix.join("bin/mpicc"));
        mpicc.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        mpicc.arg(crate::root().join("tests/soak").join(source)).arg("-o").arg(&program);
        match mpicc.status() {
            Ok(status) if status.success() => Ok(program),
            Ok(status) => Err(format!("{mpicc:?}: {status}")),
            Err(error) => Err(format!("{mpicc:?}: {error}")),
        }
    }

    /// Returns the number of failures.
    fn rounds(&self, victim: Victim, rounds: usize) -> Result<usize, String> {
        let (mut failed, mut slowest) = (0, Duration::ZERO);
        let mut places = BTreeMap::<String, usize>::new();
        for round in 0..rounds {
            let state = self.states[round % self.states.len()];
            let job = Job { soak: self, state, victim, mark: format!("soak-{}-{round}.", std::process::id()) };
            match job.run().map_err(|error| format!("round {round}: {error}"))? {
                Ok(told) => {
                    slowest = slowest.max(told.took);
                    *places.entry(told.place).or_default() += 1;
                }
                Err(complaint) => {
                    failed += 1;
                    println!("FAIL round {round}, {}: {complaint}", job.line());
                }
            }
        }
        if rounds > 0 {
            let victim = if victim == Victim::Rank { "a rank" } else { "mpirun" };
            let places: Vec<_> = places.iter().map(|(place, count)| format!("{place}: {count}")).collect();
            println!("killed {victim} {rounds} times: {failed} failed, slowest end {:.2} s", slowest.as_secs_f64());
            println!("  {}", places.join(", "));
        }
        Ok(failed)
    }
}

struct Job<'a> {
    soak: &'a Soak,
    state: &'static State,
    victim: Victim,
    mark: String,
}

impl Job<'_> {
    fn line(&self) -> String {
        let State { name, ranks, env, .. } = self.state;
        let env: Vec<_> = env.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        format!("{}mpirun -n {ranks} states {name}", env.concat())
    }

    /// The outer error is one of this program, the inner one a fault of the job.
    fn run(&self) -> io::Result<Result<Told, String>> {
        let tmp = self.soak.options.build.join("tmp");
        let _ = fs::remove_dir_all(&tmp);
        fs::create_dir_all(&tmp)?;
        let stderr = self.soak.options.build.join("stderr");
        let mut command = Command::new(self.soak.options.prefix.join("bin/mpirun"));
        command.arg("-n").arg(self.state.ranks.to_string()).arg(&self.soak.program).arg(self.state.name);
        command.env("TMPDIR", &tmp).env(processes::MARK, &self.mark).envs(self.state.env.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&stderr)?);
        let mut mpirun = command.spawn()?;
        let outcome = self.kill_and_judge(&mut mpirun, &stderr);
        let left = processes::wait_until_gone(&self.mark, LIMIT);
        processes::kill(&left);
        let _ = mpirun.wait();
        let mut outcome = outcome?;
        if outcome.is_ok() && !left.is_empty() {
            outcome = Err(format!("left processes behind, now killed:\n{}", processes::describe(&left)));
        }
        for folder in [tmp.as_path(), Path::new("/dev/shm")] {
            for file in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                if outcome.is_ok() && (folder == tmp || name.contains("oxmpi")) {
                    outcome = Err(format!("left {name} in {}", folder.display()));
                }
            }
        }
        Ok(outcome)
    }

    fn kill_and_judge(&self, mpirun: &mut Child, stderr: &Path) -> io::Result<Result<Told, String>> {
        let lines = lines_of(mpirun.stdout.take());
        if self.state.when == When::Life {
            // Starting takes a few milliseconds, and the program about as long.
            let most = [2, 6, 12][self.soak.random.below(3)];
            thread::sleep(self.soak.random.up_to(Duration::from_millis(most)));
        } else {
            match lines.recv_timeout(STARTS) {
                Ok(line) if line == "ready" => {}
                other => return Ok(Err(format!("is not ready: {other:?}; it said: {}", fs::read_to_string(stderr)?))),
            }
            thread::sleep(self.soak.random.up_to(Duration::from_millis(60)));
        }
        let begin = Instant::now();
        let victim = match self.victim {
            Victim::Mpirun => Some(Process { pid: mpirun.id(), rank: None }),
            Victim::Rank => self.choose(mpirun)?,
        };
        if let Some(victim) = &victim {
            processes::signal("KILL", [victim.pid].into_iter());
        }
        let Some(status) = wait(mpirun, begin + LIMIT)? else {
            let running = processes::describe(&processes::marked(&self.mark));
            return Ok(Err(format!("did not end within {} s of the kill; it was:\n{running}", LIMIT.as_secs())));
        };
        if self.victim == Victim::Mpirun {
            // Only the ranks matter here; the caller checks them.
            let left =
                processes::wait_until_gone(&self.mark, (begin + LIMIT).saturating_duration_since(Instant::now()));
            let took = begin.elapsed();
            if !left.is_empty() {
                let left = processes::describe(&left);
                return Ok(Err(format!("ranks outlived their mpirun by {} s:\n{left}", LIMIT.as_secs())));
            }
            // It may have ended just before.
            let killed = status.signal() == Some(9) || (self.state.when == When::Life && status.success());
            let told = Told { took, place: format!("in state {}", self.state.name) };
            return Ok(if killed { Ok(told) } else { Err(format!("mpirun ended with {status}")) });
        }
        let took = begin.elapsed();
        let text = fs::read_to_string(stderr)?;
        let outcome = self.judge(victim.as_ref(), status, &text).map(|place| Told { took, place });
        Ok(outcome.map_err(|complaint| format!("{complaint}\n  {status}, stderr: {text}")))
    }

    /// A live rank; `None` if the job has ended by itself.
    fn choose(&self, mpirun: &mut Child) -> io::Result<Option<Process>> {
        loop {
            let ranks: Vec<_> = processes::marked(&self.mark).iter().map(processes::Process::pid).collect();
            let ranks: Vec<_> = ranks.into_iter().filter(|&pid| pid != mpirun.id()).collect();
            if !ranks.is_empty() {
                let pid = ranks[self.soak.random.below(ranks.len())];
                return Ok(Some(Process { pid, rank: rank_of(pid) }));
            }
            if mpirun.try_wait()?.is_some() {
                return Ok(None);
            }
        }
    }

    /// The place in MPI that the message names, if it is right.
    fn judge(&self, victim: Option<&Process>, status: ExitStatus, stderr: &str) -> Result<String, String> {
        // A short job may be over before the kill.
        if self.state.when == When::Life && status.success() && stderr.is_empty() {
            return Ok("over before the kill".to_owned());
        }
        if status.code() != Some(137) {
            return Err("the status is not 137".to_owned());
        }
        let victim = victim.ok_or("it failed although nobody was killed")?;
        let mut lines = stderr.lines();
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err("stderr is not one line".to_owned());
        };
        let pid = format!(", pid {} on ", victim.pid);
        let rank = victim.rank.as_ref().map_or("mpirun: rank ".to_owned(), |rank| format!("mpirun: rank {rank} ("));
        for part in [rank.as_str(), pid.as_str(), " was killed by signal 9 (Killed)"] {
            if !line.contains(part) {
                return Err(format!("the message does not say `{part}`"));
            }
        }
        let call = line
            .split_whitespace()
            .find_map(|word| word.strip_suffix(';').or(Some(word)).filter(|w| w.starts_with("MPI_")));
        match call {
            None if self.state.when != When::Ready => Ok("before MPI".to_owned()),
            None => Err("the message names no call".to_owned()),
            Some(call) if self.state.calls.contains(&call) || ON_THE_WAY.contains(&call) => {
                let place = if line.contains(&format!(" in {call}")) { "in" } else { "after" };
                Ok(format!("{place} {call}"))
            }
            Some(call) => Err(format!("the message names {call}")),
        }
    }
}

struct Process {
    pid: u32,
    /// The environment of the process, if it is a rank.
    rank: Option<String>,
}

fn rank_of(pid: u32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = environment.split(|&byte| byte == 0).find_map(|variable| variable.strip_prefix(b"OXMPI_RANK="))?;
    String::from_utf8(value.to_vec()).ok()
}

/// The lines of a stream as they arrive; a thread reads them, so that the caller can have a time
/// limit.
fn lines_of(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stream) = stream {
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
    }
    receiver
}

pub fn wait(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > until {
            return Ok(None);
        }
        thread::sleep(Duration::from_micros(500));
    }
}

/// Random enough to hit different moments (xorshift).
pub struct Random(std::cell::Cell<u64>);

impl Random {
    pub fn new() -> Random {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
        Random(std::cell::Cell::new(time | 1))
    }

    fn next(&self) -> u64 {
        let mut x = self.0.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(x);
        x
    }

    pub fn below(&self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }

    fn up_to(&self, limit: Duration) -> Duration {
        Duration::from_micros(self.below(limit.as_micros() as usize + 1) as u64)
    }
}
