//! `cargo xtask crash-points`: kills a rank before and after each place in the sources that changes memory which ranks share, one
//! place a job, and the survivors must go on (`tests/soak/crash_points.c`).
//!
//! The library of these jobs is built with `--cfg crash_points` (`crates/oxmpi-base/src/sync/crash_points.rs`), in a target folder
//! of its own. First some jobs record which rank comes by which place, then each place has its jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::soak::{Random, wait};
use crate::suite::processes;
use crate::{Outcome, install, read, root, shared_atomics, tidy};

const HELP: &str = "\
cargo xtask crash-points [OPTIONS]
  --build B      where the library, the program and scratch files go (default: build/crash-points)
  --prefix P     an installation for the files that are not built with crash points (default: build/prefix)
  --sample N     only N of the places, chosen at random, one moment each
  --only TEXT    only places whose FILE:LINE:COLUMN contains this
  --jobs N       so many jobs at a time (default: 2)
  --no-build     take the library that was built there before
  --unreached    list the places that no job comes by";

const RANKS: usize = 4;
/// Time limit of a job, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The longest time that an operation and its repair may take, without time in which a rank had no CPU.
const PAUSE: Duration = Duration::from_secs(2);
/// A place is tried so often with another count before it counts as not reached.
const TRIES: usize = 3;

/// A way to run the program.
struct Variant {
    options: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    /// How a rank dies before, if it does, or what the program does besides.
    way: &'static str,
}

const fn in_way(way: &'static str) -> Variant {
    Variant { options: &[], env: &[], way }
}

const VARIANTS: &[Variant] = &[
    in_way(""),
    Variant { env: &[("OXMPI_SINGLE_COPY", "0")], ..in_way("") },
    Variant { options: &["--pretend-hosts", "2"], ..in_way("") },
    in_way("exclusive"),
    in_way("shared"),
    in_way("messages"),
    in_way("late"),
    in_way("flood"),
    in_way("spawn"),
];

struct Options {
    build: PathBuf,
    prefix: PathBuf,
    sample: Option<usize>,
    only: String,
    jobs: usize,
    builds: bool,
    unreached: bool,
}

impl Options {
    /// `None`: the user asked for help.
    fn parse(args: &[String]) -> Result<Option<Options>, String> {
        let mut options = Options {
            build: root().join("build/crash-points"),
            prefix: root().join("build/prefix"),
            sample: None,
            only: String::new(),
            jobs: 2,
            builds: true,
            unreached: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| format!("{arg} needs a value"));
            let number = |text: String| text.parse().map_err(|_| format!("{arg} needs a number, not `{text}`"));
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--build" => options.build = value()?.into(),
                "--prefix" => options.prefix = value()?.into(),
                "--sample" => options.sample = Some(number(value()?)?),
                "--only" => options.only = value()?,
                "--jobs" => options.jobs = number(value()?)?.max(1),
                "--no-build" => options.builds = false,
                "--unreached" => options.unreached = true,
                other => return Err(format!("unknown option `{other}`\n{HELP}")),
            }
        }
        for path in [&mut options.build, &mut options.prefix] {
            *path = std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Some(options))
    }
}

pub fn run(args: &[String]) -> Outcome {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    let bench = Bench::new(options)?;
    let places = bench.places()?;
    bench.tell_unreached(&places)?;
    bench.try_all(&bench.chosen(&places))
}

/// A rank comes by a place so often, in a variant.
struct Passing {
    variant: usize,
    /// `child-0` in a spawned job.
    rank: String,
    attempts: u64,
    changes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

impl Moment {
    fn name(self) -> &'static str {
        if self == Moment::Before { "before" } else { "after" }
    }
}

type Places = BTreeMap<String, Vec<Passing>>;

struct Bench {
    options: Options,
    /// The installation with crash points.
    prefix: PathBuf,
    program: PathBuf,
    random: Mutex<Random>,
    jobs: AtomicUsize,
}

/// How a job ended.
struct Ended {
    died: usize,
    /// A rank of a spawned job has died.
    has_lost_child: bool,
    pause: Duration,
    what: String,
}

impl Bench {
    fn new(options: Options) -> Result<Bench, String> {
        let (prefix, program) = (options.build.join("prefix"), options.build.join("crash_points"));
        if options.builds {
            build(&options.prefix, &prefix)?;
        }
        let mut mpicc = Command::new(prefix.join("bin/mpicc"));
        mpicc.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror"]).arg(root().join("tests/soak/crash_points.c"));
        must(mpicc.arg("-o").arg(&program))?;
        Ok(Bench { options, prefix, program, random: Mutex::new(Random::new()), jobs: AtomicUsize::new(0) })
    }

    /// Runs the jobs that record places.
    fn places(&self) -> Result<Places, String> {
        let mut places = Places::new();
        for variant in 0..VARIANTS.len() {
            for last in [RANKS - 1, 0] {
                let folder = self.options.build.join(format!("record-{variant}-{last}"));
                let _ = fs::remove_dir_all(&folder);
                fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
                let value = folder.display().to_string();
                let ended = self.job(variant, last, ("OXMPI_CRASH_RECORD", &value))?;
                ended.map_err(|what| format!("a job that records places: {what}"))?;
                for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                    record(&read(&entry.path())?, &entry.path(), variant, &mut places)?;
                }
            }
        }
        Ok(places)
    }

    fn tell_unreached(&self, places: &Places) -> Outcome {
        let all = in_sources()?;
        let missing: BTreeSet<_> = all.iter().filter(|place| !places.contains_key(*place)).collect();
        println!("{} places are reached, {} are not", places.len(), missing.len());
        if self.options.unreached {
            missing.iter().for_each(|place| println!("not reached: {place}"));
        }
        Ok(())
    }

    /// What is tried: a place and a moment.
    fn chosen<'a>(&self, places: &'a Places) -> Vec<(&'a str, &'a [Passing], Moment)> {
        let wanted = places.iter().filter(|(place, _)| place.contains(&self.options.only));
        let mut all: Vec<_> = wanted
            .flat_map(|(place, passings)| {
                [Moment::Before, Moment::After].map(|moment| (place.as_str(), passings.as_slice(), moment))
            })
            .filter(|(_, passings, moment)| {
                *moment == Moment::Before || passings.iter().any(|passing| passing.changes > 0)
            })
            .collect();
        if let Some(sample) = self.options.sample {
            for index in 0..all.len() {
                all.swap(index, self.below(index + 1));
            }
            all.truncate(sample);
        }
        all
    }

    fn below(&self, end: usize) -> usize {
        self.random.lock().expect("no thread panics with it").below(end)
    }

    fn try_all(&self, chosen: &[(&str, &[Passing], Moment)]) -> Outcome {
        let (next, begin) = (AtomicUsize::new(0), Instant::now());
        let (failed, missed, pauses) = (Mutex::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..self.options.jobs {
                scope.spawn(|| {
                    while let Some((place, passings, moment)) = chosen.get(next.fetch_add(1, Relaxed)) {
                        match self.try_place(place, passings, *moment) {
                            Ok(Some(ended)) => {
                                let name = format!("{} {place}: {}", moment.name(), ended.what);
                                pauses.lock().expect("no thread panics with it").push((ended.pause, name));
                            }
                            Ok(None) => {
                                missed.fetch_add(1, Relaxed);
                                println!("not reached this time: {} {place}", moment.name());
                            }
                            Err(complaint) => {
                                *failed.lock().expect("no thread panics with it") += 1;
                                println!("FAIL {complaint}");
                            }
                        }
                    }
                });
            }
        });
        let mut pauses = pauses.into_inner().expect("no thread panics with it");
        pauses.sort_by(|left, right| right.cmp(left));
        for (pause, name) in pauses.iter().take(5) {
            println!("{:.2} s: {name}", pause.as_secs_f64());
        }
        let (failed, missed) = (failed.into_inner().expect("no thread panics with it"), missed.into_inner());
        println!(
            "{} crash points in {} jobs and {} s: {failed} failed, {missed} not reached",
            chosen.len(),
            self.jobs.load(Relaxed),
            begin.elapsed().as_secs()
        );
        if failed == 0 { Ok(()) } else { Err(format!("{failed} crash points failed")) }
    }

    /// Nothing if no rank came by the place.
    fn try_place(&self, place: &str, passings: &[Passing], moment: Moment) -> Result<Option<Ended>, String> {
        let times = |passing: &Passing| if moment == Moment::Before { passing.attempts } else { passing.changes };
        let able: Vec<_> = passings.iter().filter(|passing| times(passing) > 0).collect();
        for attempt in 0..TRIES {
            let passing = able[self.below(able.len())];
            let (variant, rank) = (passing.variant, &passing.rank);
            // The first time, or any: a job that is disturbed comes by less often.
            let count = match (self.below(2), attempt) {
                (1, 0) => 1 + self.below(times(passing) as usize),
                _ => 1,
            };
            let order = format!("{rank} {} {count} {place}", moment.name());
            let last = (rank.parse::<usize>().unwrap_or(0) + 1 + self.below(RANKS - 1)) % RANKS;
            let mut ended = self.job(variant, last, ("OXMPI_CRASH_AT", &order))?;
            if ended.as_ref().is_ok_and(|ended| ended.pause > PAUSE) {
                // Once more: the machine may have been busy.
                ended = self.job(variant, last, ("OXMPI_CRASH_AT", &order))?;
            }
            let Variant { options, env, way } = &VARIANTS[variant];
            let command = format!("{env:?} OXMPI_CRASH_AT='{order}' mpirun {} {last} FILE {way}", options.join(" "));
            match ended {
                Err(complaint) => return Err(format!("{command}: {complaint}")),
                Ok(ended) if ended.pause > PAUSE => {
                    return Err(format!(
                        "{command}: an operation took {:.2} s: {}",
                        ended.pause.as_secs_f64(),
                        ended.what
                    ));
                }
                Ok(ended) if ended.died > 1 || ended.has_lost_child => return Ok(Some(ended)),
                // The rank that kills itself is the only one that has died, or the place was reached before the program had to.
                Ok(ended) if ended.died == 1 && ended.what.contains(&format!("victim {rank}")) => {
                    return Ok(Some(ended));
                }
                Ok(_) => {}
            }
        }
        Ok(None)
    }

    /// Runs a job; an error is what was wrong with it.
    fn job(&self, variant: usize, last: usize, (name, value): (&str, &str)) -> Result<Result<Ended, String>, String> {
        let number = self.jobs.fetch_add(1, Relaxed);
        let mark = format!("crash-points-{}-{number}.", std::process::id());
        let at = |kind: &str| self.options.build.join(format!("job-{number}.{kind}"));
        let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let Variant { options, env, way } = &VARIANTS[variant];
        let mut mpirun = Command::new(self.prefix.join("bin/mpirun"));
        mpirun.args(["--with-ft", "ulfm", "-n", &RANKS.to_string()]).args(*options).arg(&self.program);
        mpirun
            .arg(last.to_string())
            .arg(at("file"))
            .args((!way.is_empty()).then_some(way))
            .env(name, value)
            .env(processes::MARK, &mark)
            .envs(env.iter().copied());
        mpirun.stdin(Stdio::null()).stdout(create(&at("out"))?).stderr(create(&at("err"))?);
        let mut mpirun = mpirun.spawn().map_err(|error| format!("{mpirun:?}: {error}"))?;
        let status = wait(&mut mpirun, Instant::now() + LIMIT).map_err(|error| error.to_string())?;
        let running = if status.is_none() { self.stacks(&mark) } else { String::new() };
        let left = processes::wait_until_gone(&mark, Duration::from_secs(2 * u64::from(status.is_some())));
        processes::kill(&left);
        let _ = mpirun.wait();
        let (out, err) = (read(&at("out"))?, read(&at("err"))?);
        for kind in ["out", "err", "file"] {
            let _ = fs::remove_file(at(kind));
        }
        // A spawned job has one rank.
        let is_death = |line: &&str| line.contains("was killed by signal 9") && !line.contains("no rank is left");
        let died = err.lines().filter(is_death).count();
        let has_lost_child = err.contains("no rank is left");
        let survived = out.lines().filter(|line| line.contains(" survived: ")).count();
        let complaint = match status {
            None => format!("did not end within {} s; it was:\n{running}", LIMIT.as_secs()),
            Some(_) if !left.is_empty() => format!("left processes behind:\n{}", processes::describe(&left)),
            // Who dies after the last operation has told its end, or dies between it and its words.
            Some(status) if !(status.success() || status.code() == Some(137) && survived == RANKS - 1) => {
                format!("{status}")
            }
            Some(_) if !(RANKS - died..=RANKS - died + 1).contains(&survived) => {
                format!("{died} ranks have died, {survived} have survived")
            }
            Some(_) => {
                let pause = out.lines().filter_map(longest_pause).max().unwrap_or_default();
                let victims = err.lines().filter_map(|line| line.strip_prefix("mpirun: rank ")?.split(' ').next());
                let victims: String = victims.map(|rank| format!("victim {rank}, ")).collect();
                let what = out.lines().next().unwrap_or_default();
                return Ok(Ok(Ended { died, has_lost_child, pause, what: format!("{victims}{what}") }));
            }
        };
        Ok(Err(format!("{complaint}\n  stdout: {out}\n  stderr: {err}")))
    }

    /// Where the processes of a job that does not end are.
    fn stacks(&self, mark: &str) -> String {
        let mut text = String::new();
        for process in processes::marked(mark) {
            let gdb = Command::new("gdb")
                .args(["-p", &process.pid().to_string(), "-batch", "-ex", "thread apply all bt 25"])
                .output();
            let stack = gdb.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
            let frames = stack.lines().filter(|line| line.starts_with('#') || line.starts_with("Thread"));
            let frames: Vec<_> = frames.map(|line| line.chars().take(200).collect::<String>()).collect();
            text += &format!("{}:\n    {}\n", process.pid(), frames.join("\n    "));
        }
        text
    }
}

/// Adds what a rank has written to the places.
fn record(text: &str, path: &Path, variant: usize, places: &mut Places) -> Outcome {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let rank = name.split('.').next().unwrap_or_default().to_owned();
    for line in text.lines() {
        let [place, attempts, changes] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("{}: `{line}` is no place", path.display()));
        };
        let number = |text: &str| text.parse().map_err(|_| format!("{}: `{line}`", path.display()));
        let passing = Passing { variant, rank: rank.clone(), attempts: number(attempts)?, changes: number(changes)? };
        places.entry(place.to_owned()).or_default().push(passing);
    }
    Ok(())
}

/// The time of the longest operation that a rank tells, without that in which a rank had no CPU.
fn longest_pause(line: &str) -> Option<Duration> {
    let (before, _) = line.split_once(" s with a CPU")?;
    Duration::try_from_secs_f64(before.rsplit(' ').next()?.parse().ok()?).ok()
}

const CHANGES: &[&str] = &[".store(", ".swap(", ".fetch_", ".compare_exchange"];

/// The places in the sources that change an atomic, outside tests. Text, not syntax: atomics of one process alone are among them
/// where a file has both kinds.
fn in_sources() -> Result<BTreeSet<String>, String> {
    let mut places = BTreeSet::new();
    for path in tidy::tracked_files()? {
        let Some(name) = shared_atomics::source(&path) else { continue };
        let text = read(&root().join(&path))?;
        for (index, line) in shared_atomics::without_tests(&text).lines().enumerate() {
            let found = CHANGES.iter().filter_map(|change| line.find(change));
            places.extend(found.map(|column| format!("crates/{name}:{}:{}", index + 1, column + 2)));
        }
    }
    Ok(places)
}

/// Builds the library, `mpirun` and the wrapper with crash points, and lays them out beside files of an installation.
fn build(from: &Path, prefix: &Path) -> Outcome {
    let target = install::target_directory(&root())?.join("crash-points");
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root()).args(["build", "--release", "--quiet", "--target-dir"]).arg(&target);
    for package in ["oxmpi-capi", "oxmpi-launch", "oxmpi-wrap"] {
        cargo.args(["--package", package]);
    }
    cargo.env("RUSTFLAGS", "--cfg crash_points").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    must(cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true"))?;
    let built = target.join("release");
    let files = [
        (built.join("libmpi_abi.so"), "lib/libmpi_abi.so.1"),
        (built.join("mpirun"), "bin/mpirun"),
        (built.join("mpicc"), "bin/mpicc"),
        (from.join("include/mpi.h"), "include/mpi.h"),
    ];
    for (file, place) in files {
        install::put(&file, &prefix.join(place), 0o755)?;
    }
    install::put_link(&prefix.join("lib/libmpi_abi.so"), "libmpi_abi.so.1")
}

fn must(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
