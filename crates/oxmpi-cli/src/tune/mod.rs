//! `oxmpi tune`: measures up to which lengths two copies through shared memory are faster on this machine than one copy by
//! the kernel, and stores the limits for `mpirun`.
//!
//! It starts jobs of `oxmpi __tune` (`ranks.rs`) with the lowest and with the highest limits in turns, and chooses for each
//! operation the limit with which all lengths together take the least time (`fit.rs`).

mod fit;
mod ranks;

pub use ranks::{RANK, rank};

use crate::info;
use fit::Times;
use oxmpi_base::cpus;
use oxmpi_boot::tuning_file;
use oxmpi_coll::tuning::{Limit, Tuning, VARIABLE};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How often each length is measured with each of the two sets of limits; the shortest time counts.
const ROUNDS: usize = 7;
/// More ranks tell no more about lengths, and take longer.
const MOST_RANKS: usize = 16;
/// A job takes a second or two where nothing else runs, in seconds.
const LONGEST: &str = "60";
/// The status of mpirun when a job has taken too long.
const TIME_LIMIT: i32 = 124;

/// `oxmpi tune` and `oxmpi tune --site`.
pub fn measure(for_site: bool) -> (String, i32) {
    let file = if for_site { Some(tuning_file::of_site()) } else { tuning_file::of_user() };
    let file = file.ok_or_else(|| "HOME is not set, so there is no folder for the limits".to_string());
    let done = file.and_then(|file| {
        let cannot = |error: io::Error| format!("{} cannot be written: {error}", file.display());
        // Before the measurement, which would be in vain.
        let fresh = Fresh::create(&file).map_err(cannot)?;
        let (tuning, table) = fit::choose(&run_jobs()?);
        fresh.fill(tuning).map_err(cannot)?;
        let file = file.display();
        Ok(format!(
            "{table}\nStored in {file}. mpirun uses it from now on; remove the file to return to the defaults.\n"
        ))
    });
    match done {
        Ok(text) => (text, 0),
        Err(text) => {
            eprintln!("oxmpi tune: {text}");
            (String::new(), 1)
        }
    }
}

/// `oxmpi tune --show`.
pub fn show() -> (String, i32) {
    let Some(file) = tuning_file::find() else {
        return (
            format!("This machine ({}) was not measured: mpirun uses the default limits.\n", tuning_file::machine()),
            0,
        );
    };
    let read = std::fs::read_to_string(&file).map_err(|error| error.to_string());
    match read.and_then(|text| Tuning::from_text(&text)) {
        Ok(tuning) => {
            let lines = Limit::ALL.map(|limit| {
                let (bytes, default) = (tuning.bytes(limit), limit.default_bytes());
                format!("{:12} {bytes:>8} bytes (default {default})\n", limit.name())
            });
            (format!("{}\n{}", file.display(), lines.concat()), 0)
        }
        Err(error) => {
            eprintln!("oxmpi tune: {}: {error}; mpirun does not use it", file.display());
            (String::new(), 1)
        }
    }
}

/// The times of all operations at all lengths, below and above their limits.
fn run_jobs() -> Result<Times, String> {
    let all = |bytes: fn(&Limit) -> u64| {
        Limit::ALL.iter().fold(Tuning::NONE, |tuning, limit| tuning.with(*limit, bytes(limit)).unwrap_or(tuning))
    };
    let (low, high) = (all(|_| Limit::LEAST), all(|limit| limit.most()));
    let cpus = (cpus::available() as usize).min(MOST_RANKS);
    let mut times = Times::default();
    let sizes = [2].into_iter().chain((cpus > 2).then_some(cpus));
    for _ in 0..ROUNDS {
        for ranks in sizes.clone() {
            times.add_low(&run_job(ranks, low)?)?;
            times.add_high(&run_job(ranks, high)?)?;
        }
    }
    Ok(times)
}

/// What rank 0 of such a job prints.
fn run_job(ranks: usize, tuning: Tuning) -> Result<String, String> {
    let prefix = info::prefix().ok_or("the folder of the installation is unknown")?;
    let (mpirun, own) = (prefix.join("bin/mpirun"), prefix.join("bin/oxmpi"));
    let mut command = Command::new(&mpirun);
    command.args(["-n", &ranks.to_string(), "--launcher", "local", "--timeout", LONGEST]).arg(own).arg(RANK);
    command.env(VARIABLE, tuning.to_text()).env_remove("MPIEXEC_TIMEOUT").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{} cannot be run: {error}", mpirun.display()))?;
    if output.status.code() == Some(TIME_LIMIT) {
        return Err(format!(
            "this machine is too busy to be measured: a job took {LONGEST} s; try again when nothing else runs"
        ));
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "a job of {ranks} ranks failed, so nothing was stored ({}): {}",
            output.status,
            said.trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The file while it is written: a job that starts meanwhile reads the old one or the new one.
struct Fresh<'f> {
    file: &'f Path,
    path: PathBuf,
}

impl Fresh<'_> {
    fn create(file: &Path) -> io::Result<Fresh<'_>> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let path = PathBuf::from(format!("{}.{}", file.display(), std::process::id()));
        std::fs::write(&path, "")?;
        Ok(Fresh { file, path })
    }

    fn fill(&self, tuning: Tuning) -> io::Result<()> {
        let mut text =
            format!("# The limits of {}, in bytes, as `oxmpi tune` has measured them.\n", tuning_file::machine());
        for limit in Limit::ALL {
            text.push_str(&format!("{}={}\n", limit.name(), tuning.bytes(limit)));
        }
        std::fs::write(&self.path, text)?;
        std::fs::rename(&self.path, self.file)
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        // It is gone if it was filled.
        let _ = std::fs::remove_file(&self.path);
    }
}
