//! Jobs that lose ranks at random moments and go on (`tests/soak/survive.c`), on one host and on pretended ones: the survivors
//! must finish in time with status 0, and nothing may be left behind.

use std::fs::{self, File};
use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Soak, wait};
use crate::suite::processes;

const RANKS: usize = 8;
/// The ranks that may die do so within this time.
const DYING: usize = 150;
/// Time limit of a job, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

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
        let (mut failed, mut slowest, mut deaths) = (0, Duration::ZERO, 0);
        for round in 0..rounds {
            let seed = first + round;
            let begin = Instant::now();
            match self.lose_ranks(&program, seed).map_err(|error| format!("round {round}: {error}"))? {
                Ok(died) => {
                    deaths += died;
                    slowest = slowest.max(begin.elapsed());
                }
                Err(complaint) => {
                    failed += 1;
                    let hosts = hosts_of(seed).join(" ");
                    println!("FAIL mpirun --with-ft ulfm {hosts} -n {RANKS} survive {seed} {DYING}: {complaint}");
                }
            }
        }
        println!(
            "{rounds} jobs lost {deaths} ranks and went on: {failed} failed, slowest {:.2} s",
            slowest.as_secs_f64()
        );
        Ok(failed)
    }

    /// The number of ranks that died, or what was wrong with the job.
    fn lose_ranks(&self, program: &std::path::Path, seed: usize) -> io::Result<Result<usize, String>> {
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
        let died = err.lines().filter(|line| line.contains("was killed by signal 9")).count();
        let complaint = match status {
            None => format!("did not end within {} s; it was:\n{running}", LIMIT.as_secs()),
            Some(_) if !left.is_empty() => format!("left processes behind:\n{}", processes::describe(&left)),
            Some(status) if !status.success() => format!("{status}"),
            Some(_) if !out.contains(&format!("survived: {} of {RANKS} ranks", RANKS - died)) => {
                format!("{died} ranks have died, and it said: {out}")
            }
            Some(_) => return Ok(Ok(died)),
        };
        Ok(Err(format!("{complaint}\n  stderr: {err}")))
    }
}
