//! `cargo xtask test-programs`: compiles the programs under `tests/programs` with the wrappers of
//! an installation and runs them under its mpirun, each with the numbers of ranks that its header
//! names.
//!
//! It must never hang, whatever a program does, and never accept a run that left a process or a
//! file behind. [`header`] describes what a header can contain, [`job`] is one run.

mod compile;
mod header;
mod job;
pub mod processes;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use header::Header;
use job::{Job, Outcome};

/// After this many failures with one number of ranks, a program is not run again with that number.
const ENOUGH_FAILURES: usize = 3;

/// So many programs that sleep most of the time run at a time.
const SLEEPING_JOBS: usize = 4;

const HELP: &str = "\
cargo xtask test-programs [FILTER…] [OPTIONS]
  FILTER         only programs whose path under tests/programs contains one of these; none that contains what follows a `!`
  --prefix P     the installation to test (default: build/prefix)
  --build B      where the binaries go (default: build/tests); runs at the same time need one each
  --programs D   where the programs are (default: tests/programs)
  --no-build     compile nothing: the binaries are in B already, made here or on another machine
  --repeat N     run each program N times at each size
  --hosts H      on several hosts: all programs that can run there, at all sizes above 1. H is a number of pretended hosts,
                 or the names of real ones: a,b,c
  --launcher C   with the names of hosts: the command that starts agents there, for mpirun's --launcher-exec
  --sample       with --hosts or --check: one size of each program
  --valgrind     under valgrind's memcheck: all programs that end well, at one small size each; an error or a leak is a failure
  --check        with mpirun --check: all programs that end well; a finding is a failure
  -j N           run N programs at a time (default: 1; a run at many ranks loads the machine already)
  --list         print the programs and their sizes, and run nothing";

pub fn run(args: &[String]) -> Result<(), String> {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(());
    };
    if options.valgrind && std::process::Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped, because valgrind is not installed");
        return Ok(());
    }
    let begin = Instant::now();
    let suite = Suite::new(options)?;
    if suite.options.list {
        for program in &suite.programs {
            println!("{}  {}", program.name, program.header.as_ref().map_or("bad header".into(), Header::sizes));
        }
        return Ok(());
    }
    let total = suite.run();
    println!("{:.1} s", begin.elapsed().as_secs_f64());
    let skipped = if total.skipped > 0 { format!(", {} skipped", total.skipped) } else { String::new() };
    println!("{} passed, {} failed{skipped}", total.passed, total.failed);
    match total.failed {
        0 if total.passed == 0 => Err("no test program ran".to_owned()),
        0 => Ok(()),
        // This is the last line of the output: people and scripts look for it at the end.
        _ => std::process::exit(1),
    }
}

struct Options {
    filters: Vec<String>,
    prefix: PathBuf,
    programs: PathBuf,
    build: PathBuf,
    no_build: bool,
    repeat: usize,
    jobs: usize,
    hosts: Option<Hosts>,
    launcher: Option<String>,
    sample: bool,
    valgrind: bool,
    check: bool,
    list: bool,
}

impl Options {
    /// `None`: the user asked for help.
    fn parse(args: &[String]) -> Result<Option<Options>, String> {
        let root = crate::root();
        let mut options = Options {
            filters: Vec::new(),
            prefix: root.join("build/prefix"),
            programs: root.join("tests/programs"),
            build: root.join("build/tests"),
            no_build: false,
            repeat: 1,
            jobs: 1,
            hosts: None,
            launcher: None,
            sample: false,
            valgrind: false,
            check: false,
            list: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| format!("{arg} needs a value"));
            let number = |text: String| match text.parse() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(format!("{arg} needs a number above 0, not `{text}`")),
            };
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--prefix" => options.prefix = PathBuf::from(value()?),
                "--build" => options.build = PathBuf::from(value()?),
                "--programs" => options.programs = PathBuf::from(value()?),
                "--no-build" => options.no_build = true,
                "--repeat" => options.repeat = number(value()?)?,
                "-j" => options.jobs = number(value()?)?,
                "--hosts" => options.hosts = Some(Hosts::parse(&value()?)?),
                "--launcher" => options.launcher = Some(value()?),
                "--sample" => options.sample = true,
                "--valgrind" => options.valgrind = true,
                "--check" => options.check = true,
                "--list" => options.list = true,
                option if option.starts_with('-') => {
                    return Err(format!("unknown option `{option}`\n{HELP}"));
                }
                filter => options.filters.push(filter.to_owned()),
            }
        }
        for path in [&mut options.prefix, &mut options.programs, &mut options.build] {
            *path = std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Some(options))
    }
}

/// Where ranks run.
#[derive(Clone, Debug, PartialEq)]
enum Hosts {
    Pretended(usize),
    Real(Vec<String>),
}

impl Hosts {
    fn parse(text: &str) -> Result<Hosts, String> {
        if let Ok(number) = text.parse() {
            return if number > 0 {
                Ok(Hosts::Pretended(number))
            } else {
                Err("--hosts needs a number above 0".into())
            };
        }
        let names: Vec<String> = text.split(',').map(str::to_owned).collect();
        match names.iter().any(String::is_empty) {
            true => Err(format!("--hosts needs a number or names of hosts with commas between them, not `{text}`")),
            false => Ok(Hosts::Real(names)),
        }
    }

    /// Options of mpirun for so many ranks, as evenly as possible on the hosts, neighbours together.
    fn words(&self, ranks: usize) -> Vec<String> {
        match self {
            Hosts::Pretended(number) => vec!["--pretend-hosts".to_owned(), number.to_string()],
            Hosts::Real(names) => {
                let slots = |index: usize| (ranks * (index + 1) / names.len()) - (ranks * index / names.len());
                let places = names.iter().enumerate().filter(|(index, _)| slots(*index) > 0);
                let places: Vec<String> = places.map(|(index, name)| format!("{name}:{}", slots(index))).collect();
                vec!["--host".to_owned(), places.join(",")]
            }
        }
    }
}

/// A source file and what its header says.
struct Program {
    /// Its path under the folder of programs.
    name: String,
    source: PathBuf,
    header: Result<Header, String>,
}

#[derive(Default)]
struct Total {
    passed: usize,
    failed: usize,
    skipped: usize,
}

struct Suite {
    options: Options,
    programs: Vec<Program>,
    /// In the environment of every process that the suite starts, so that all can be found again.
    mark: String,
}

impl Suite {
    fn new(options: Options) -> Result<Suite, String> {
        for tool in ["bin/mpirun", "bin/mpicc"] {
            if !options.list && !options.prefix.join(tool).exists() {
                let prefix = options.prefix.display();
                return Err(format!(
                    "there is no {tool} in {prefix}; install there first: cargo xtask install --prefix {prefix}"
                ));
            }
        }
        let mut programs = Vec::new();
        find_programs(&options.programs, &options.programs, &mut programs)?;
        let (without, with): (Vec<&str>, Vec<&str>) =
            options.filters.iter().map(String::as_str).partition(|filter| filter.starts_with('!'));
        programs.retain(|program| {
            let wanted = with.is_empty() || with.iter().any(|part| program.name.contains(part));
            wanted && !without.iter().any(|part| program.name.contains(&part[1..]))
        });
        if options.hosts.is_some() {
            programs
                .retain_mut(|program| program.header.as_mut().map_or(true, |header| header.on_hosts(options.sample)));
        }
        if options.check {
            programs
                .retain_mut(|program| program.header.as_mut().map_or(true, |header| header.in_check(options.sample)));
        }
        if options.valgrind {
            programs.retain_mut(|program| program.header.as_mut().map_or(true, Header::in_valgrind));
        }
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        if programs.is_empty() {
            return Err(format!("no program in {} matches {:?}", options.programs.display(), options.filters));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let mark = format!("{}-{now}", std::process::id());
        Ok(Suite { options, programs, mark })
    }

    fn run(&self) -> Total {
        let files_before = shared_memory_files();
        let begin = Instant::now();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let compiled = in_parallel(cores, &self.programs, |program| match &program.header {
            Ok(header) => compile::compile(&self.options, program, header),
            Err(error) => Err(error.clone()),
        });
        if !self.options.no_build {
            println!("{} programs compiled in {:.1} s", self.programs.len(), begin.elapsed().as_secs_f64());
        }
        let sleeps = |program: &Program| program.header.as_ref().is_ok_and(|header| header.sleeps.is_some());
        let pairs = self.programs.iter().zip(compiled);
        let (sleeping, busy): (Vec<_>, Vec<_>) = pairs.partition(|(program, _)| sleeps(program));
        let jobs = self.options.jobs;
        let mut totals = Vec::new();
        for (pairs, jobs) in [(&busy, jobs), (&sleeping, jobs.max(SLEEPING_JOBS))] {
            let done = in_parallel(jobs, pairs, |(program, compiled)| self.run_program(program, compiled, cores));
            totals.extend(pairs.iter().map(|(program, _)| *program).zip(done));
        }
        let failed = totals.iter().filter(|(_, total)| total.failed > 0);
        let failed: Vec<_> = failed.map(|(program, _)| program.name.as_str()).collect();
        if failed.len() > 1 {
            println!("failed: {}", failed.join(" "));
        }
        let totals = totals.into_iter().map(|(_, total)| total);
        let mut total = totals.fold(Total::default(), |sum, one| Total {
            passed: sum.passed + one.passed,
            failed: sum.failed + one.failed,
            skipped: sum.skipped + one.skipped,
        });
        total.failed += self.check_nothing_left(&files_before);
        total
    }

    fn run_program(&self, program: &Program, compiled: &Result<PathBuf, String>, cores: usize) -> Total {
        let mut total = Total::default();
        let (header, binary) = match (&program.header, compiled) {
            (Ok(header), Ok(binary)) => (header, binary),
            (Err(error), _) | (_, Err(error)) => {
                println!("FAIL {}: {error}", program.name);
                return Total { failed: 1, ..total };
            }
        };
        if header.min_cpus > cores {
            println!("skip {}: it needs {} CPUs, here are {cores}", program.name, header.min_cpus);
            return Total { skipped: 1, ..total };
        }
        if header.needs_watchpoints && !may_watch() {
            println!("skip {}: the kernel lends no watchpoints here", program.name);
            return Total { skipped: 1, ..total };
        }
        let begin = Instant::now();
        for (ranks, args) in header.runs() {
            let mut failures = Vec::new();
            for turn in 0..self.options.repeat {
                let job = Job { suite: &self.mark, options: &self.options, program, binary, header, ranks, args, turn };
                match job.run_until_passed() {
                    Outcome::Passed => total.passed += 1,
                    Outcome::Failed(report) => failures.push((turn, report)),
                }
                // In a soak run the hundredth failure tells nothing new, and each may be a timeout.
                if failures.len() == ENOUGH_FAILURES {
                    break;
                }
            }
            total.failed += failures.len();
            if let Some((turn, report)) = failures.first() {
                let which = match self.options.repeat {
                    1 => String::new(),
                    _ => format!(" (turn {}, the first of {} failures)", turn + 1, failures.len()),
                };
                println!("FAIL {} at {ranks} ranks{which}: {report}", program.name);
            }
        }
        if total.failed == 0 {
            let times = if self.options.repeat > 1 { format!(" x {}", self.options.repeat) } else { String::new() };
            let seconds = begin.elapsed().as_secs_f64();
            println!("ok   {}  ({}{times})  {seconds:.2} s", program.name, header.sizes());
        }
        total
    }

    /// The final check: no process of the suite may be alive now.
    fn check_nothing_left(&self, files_before: &BTreeSet<PathBuf>) -> usize {
        let mut failures = 0;
        let left = processes::wait_until_gone(&self.mark, Duration::from_millis(500));
        if !left.is_empty() {
            println!("FAIL processes left behind by the suite, now killed:\n{}", processes::describe(&left));
            processes::kill(&left);
            failures += 1;
        }
        for file in shared_memory_files().difference(files_before) {
            println!("FAIL a file left behind by the suite: {}", file.display());
            failures += 1;
        }
        failures
    }
}

/// Whether the kernel lends watchpoints to programs: unprivileged users may be refused, and filters of system calls may be in
/// the way.
fn may_watch() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or("");
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let is_root = field("Uid:").starts_with('0');
    field("Seccomp:") == "0" && (is_root || paranoid.trim().parse().is_ok_and(|level: i32| level <= 2))
}

/// Runs `work` on each item, on several threads; the results are in the order of the items.
fn in_parallel<T: Sync, R: Send>(threads: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                while let Some((item, place)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).zip(results.get(index))
                } {
                    let result = work(item);
                    *place.lock().expect("no thread panics with the lock") = Some(result);
                }
            });
        }
    });
    let results = results.into_iter();
    results.map(|place| place.into_inner().expect("no thread panicked").expect("each item was worked on")).collect()
}

fn find_programs(top: &Path, folder: &Path, programs: &mut Vec<Program>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            find_programs(top, &path, programs)?;
        } else if compile::language(&path).is_some() {
            let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            programs.push(Program { name, header: Header::parse(&text), source: path });
        }
    }
    Ok(())
}

/// The folders where an MPI library might leave a segment. Other programs create files there too.
fn shared_memory_files() -> BTreeSet<PathBuf> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains("oxmpi")).collect()
}

#[cfg(test)]
mod tests;
