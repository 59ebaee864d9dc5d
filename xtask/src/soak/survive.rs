//! Jobs that lose ranks at random moments and go on (`tests/soak/survive.c`), on one host and on pretended ones: the survivors
//! must finish with status 0, no operation with its repair may take longer than [`PAUSE`], and nothing may be left behind.
//!
//! Time in which the machine could not run the job does not count. The job says how long its longest operation took without the
//! time for which a rank was ready to run and had no CPU (of the ranks that are left, the one that had none for longest). In time
//! in which the machine stands still, or all programs of this one's control group are frozen, this program does not run either:
//! a thread that sleeps and looks at the clock measures that.

use std::fs::{self, File};
use std::io;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::{Soak, wait};
use crate::suite::processes;

const RANKS: usize = 8;
/// The ranks that may die do so within this time.
const DYING: usize = 150;
/// Time limit of a job, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The longest time that an operation and its repair may take.
const PAUSE: Duration = Duration::from_secs(5);
/// The thread that measures frozen time sleeps so long, and a sleep that is longer by this much was no ordinary one.
const NAP: Duration = Duration::from_millis(20);
const FROZEN: Duration = Duration::from_millis(200);

/// Every other job is on several hosts.
fn hosts_of(seed: usize) -> &'static [&'static str] {
    match seed % 4 {
        1 => &["--pretend-hosts", "2"],
        3 => &["--pretend-hosts", "3"],
        _ => &[],
    }
}

impl Soak {
    /// Returns the number of failures.
    pub(super) fn survive(&self, rounds: usize) -> Result<usize, String> {
        if rounds == 0 {
            return Ok(0);
        }
        let program = self.compile("survive.c", "survive")?;
        let first = self.random.below(1 << 20);
        let (mut failed, mut slowest, mut deaths, mut longest) = (0, Duration::ZERO, 0, Duration::ZERO);
        for round in 0..rounds {
            let seed = first + round;
            let begin = Instant::now();
            match self.lose_ranks(&program, seed).map_err(|error| format!("round {round}: {error}"))? {
                Ok(Survived { died, pause, frozen }) => {
                    deaths += died;
                    longest = longest.max(pause);
                    slowest = slowest.max(begin.elapsed().saturating_sub(frozen));
                }
                Err(complaint) => {
                    failed += 1;
                    let hosts = hosts_of(seed).join(" ");
                    println!("FAIL mpirun --with-ft ulfm {hosts} -n {RANKS} survive {seed} {DYING}: {complaint}");
                }
            }
        }
        println!(
            "{rounds} jobs lost {deaths} ranks and went on: {failed} failed, longest operation {:.2} s, slowest job {:.2} s",
            longest.as_secs_f64(),
            slowest.as_secs_f64()
        );
        Ok(failed)
    }

    /// What was wrong with the job, if anything was.
    fn lose_ranks(&self, program: &std::path::Path, seed: usize) -> io::Result<Result<Survived, String>> {
        let frozen = frozen();
        let mark = format!("soak-{}-survive-{seed}.", std::process::id());
        let [out, err] = ["survive.out", "survive.err"].map(|name| self.options.build.join(name));
        let mut mpirun = Command::new(self.options.prefix.join("bin/mpirun"))
            .args(["--with-ft", "ulfm", "-n", &RANKS.to_string()])
            .args(hosts_of(seed))
            .arg(program)
            .args([seed.to_string(), DYING.to_string()])
            .env(processes::MARK, &mark)
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .spawn()?;
        let status = wait(&mut mpirun, Instant::now() + LIMIT)?;
        let running = if status.is_none() { processes::describe(&processes::marked(&mark)) } else { String::new() };
        let left = processes::wait_until_gone(&mark, Duration::from_secs(u64::from(status.is_some())));
        processes::kill(&left);
        let _ = mpirun.wait();
        let (out, err) = (fs::read_to_string(out)?, fs::read_to_string(err)?);
        let frozen = self::frozen().saturating_sub(frozen);
        let pause = longest_pause(&out).map(|pause| pause.saturating_sub(frozen));
        let died = err.lines().filter(|line| line.contains("was killed by signal 9")).count();
        let complaint = match status {
            None => format!("did not end within {} s; it was:\n{running}", LIMIT.as_secs()),
            Some(_) if !left.is_empty() => format!("left processes behind:\n{}", processes::describe(&left)),
            Some(status) if !status.success() => format!("{status}"),
            Some(_) if !out.contains(&format!("survived: {} of {RANKS} ranks", RANKS - died)) => {
                format!("{died} ranks have died, and it said: {out}")
            }
            Some(_) => match pause {
                None => format!("it does not say how long its operations took: {out}"),
                Some(pause) if pause > PAUSE => {
                    format!(
                        "an operation took {:.2} s, besides {:.2} s frozen: {out}",
                        pause.as_secs_f64(),
                        frozen.as_secs_f64()
                    )
                }
                Some(pause) => return Ok(Ok(Survived { died, pause, frozen })),
            },
        };
        Ok(Err(format!("{complaint}\n  stderr: {err}")))
    }
}

/// A job that has gone on as it should.
struct Survived {
    /// The ranks that died.
    died: usize,
    /// How long its longest operation took, without time in which the machine could not run it.
    pause: Duration,
    /// For so long the machine stood still.
    frozen: Duration,
}

/// The time of the longest operation that a job tells, without that in which a rank had no CPU.
fn longest_pause(out: &str) -> Option<Duration> {
    let (before, _) = out.split_once(" s with a CPU")?;
    Duration::try_from_secs_f64(before.rsplit(' ').next()?.parse().ok()?).ok()
}

/// How long the machine has stood still since the first call.
fn frozen() -> Duration {
    static SUM: OnceLock<&AtomicU64> = OnceLock::new();
    let sum = SUM.get_or_init(|| {
        let sum: &AtomicU64 = Box::leak(Box::default());
        thread::spawn(move || {
            loop {
                let begin = Instant::now();
                thread::sleep(NAP);
                sum.fetch_add(lateness(begin.elapsed()).as_millis() as u64, Relaxed);
            }
        });
        sum
    });
    Duration::from_millis(sum.load(Relaxed))
}

/// How much of a nap the machine stood still.
fn lateness(nap: Duration) -> Duration {
    if nap > NAP + FROZEN { nap - NAP } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_tells_its_longest_operation() {
        let out = "survived: 3 of 8 ranks, 93 operations, 4 repairs, longest 61.20 s, 5.75 s with a CPU\n";
        assert_eq!(longest_pause(out), Some(Duration::from_millis(5750)));
        assert_eq!(longest_pause("survived: 3 of 8 ranks"), None);
        assert_eq!(longest_pause("-1 s with a CPU"), None);
    }

    #[test]
    fn only_long_delays_of_a_nap_are_frozen_time() {
        assert_eq!(lateness(NAP + FROZEN), Duration::ZERO);
        assert_eq!(lateness(NAP + Duration::from_secs(60)), Duration::from_secs(60));
    }
}
