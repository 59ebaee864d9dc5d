//! `oxmpi ps` and `oxmpi where`: the jobs of this user on this machine, and where their ranks are. Both read the segment of a
//! job, which every process of it has open; the job does not notice.

use crate::stacks;
use oxmpi_base::load;
use oxmpi_base::segment::{STATE_RUNNING, Segment};
use oxmpi_base::wait_record::Waits;
use oxmpi_lines::{self as lines, Caller, Lines, Site};
use oxmpi_verdict::whereabouts::{Where, grouped};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// A process that has a segment open.
struct Job {
    pid: u32,
    segment: Segment,
    /// The file of the segment: processes that have the same one belong together.
    inode: u64,
}

/// A rank that has called `MPI_Init`.
struct Rank {
    slot: usize,
    number: usize,
    pid: u32,
}

/// The jobs of this user.
pub fn list() -> (String, i32) {
    let mut jobs: Vec<Job> = processes().filter(|&pid| is_launcher(pid)).filter_map(|pid| open(pid).ok()).collect();
    jobs.sort_by_key(|job| job.pid);
    if jobs.is_empty() {
        return ("no jobs of mpirun on this machine, or they belong to another user\n".into(), 0);
    }
    let mut text = String::from("    PID   RANKS  IN MPI  PROGRAM\n");
    for job in &jobs {
        let ranks = job.ranks();
        let inside = ranks.iter().filter(|rank| job.place(rank).is_in_call()).count();
        let program = ranks.first().map_or_else(|| "(no rank has called MPI_Init)".into(), |rank| command(rank.pid));
        text.push_str(&format!("{:>7}  {:>6}  {inside:>6}  {program}\n", job.pid, job.segment.ranks()));
    }
    (text, 0)
}

/// Where the ranks of a job are; `of` is the process of its `mpirun`, or of a rank. `with_stacks`: also their stacks.
pub fn whereabouts(of: &str, with_stacks: bool) -> (String, i32) {
    let Ok(pid) = of.parse::<u32>() else {
        return (format!("oxmpi: `{of}` is no process id; `oxmpi ps` lists the jobs\n"), 2);
    };
    match segments_of(pid) {
        Ok(jobs) => (describe(pid, &jobs, with_stacks), 0),
        Err(text) => (text, 1),
    }
}

/// The segments on this machine of the job of a process. The mpirun of a job on several hosts has none itself, but those of its
/// agents that are here have.
fn segments_of(pid: u32) -> Result<Vec<Job>, String> {
    match open(pid) {
        Ok(job) => Ok(vec![job]),
        Err(error) => match below(pid) {
            jobs if jobs.is_empty() => Err(format!("oxmpi: {}\n", refusal(pid, &error))),
            jobs => Ok(jobs),
        },
    }
}

/// The segments of the agents that a process has started on this machine.
fn below(pid: u32) -> Vec<Job> {
    let parents: Vec<(u32, u32)> = processes().filter_map(|child| Some((child, parent_of(child)?))).collect();
    let mut family = vec![pid];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        let children = parents.iter().filter(|(child, of)| *of == parent && !family.contains(child));
        let children: Vec<u32> = children.map(|(child, _)| *child).collect();
        family.extend(children);
        at += 1;
    }
    let agents = family.into_iter().skip(1).filter(|&pid| is_launcher(pid));
    let mut jobs: Vec<Job> = Vec::new();
    for job in agents.filter_map(|pid| open(pid).ok()) {
        if jobs.iter().all(|other| other.inode != job.inode) {
            jobs.push(job);
        }
    }
    jobs
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The process of a rank of a job, or why there is none.
pub fn process_of(job: &str, rank: &str) -> Result<u32, (String, i32)> {
    let number = |text: &str, what: &str| {
        text.parse::<u32>().map_err(|_| (format!("oxmpi: `{text}` is no {what}; `oxmpi ps` lists the jobs\n"), 2))
    };
    let (pid, wanted) = (number(job, "process id")?, number(rank, "rank")? as usize);
    let ranks: Vec<Rank> = segments_of(pid).map_err(|text| (text, 1))?.iter().flat_map(Job::ranks).collect();
    match ranks.iter().find(|rank| rank.number == wanted) {
        Some(rank) => Ok(rank.pid),
        None => {
            let there: Vec<String> = ranks.iter().map(|rank| rank.number.to_string()).collect();
            let there = if there.is_empty() { "none".into() } else { there.join(", ") };
            let text = format!(
                "oxmpi: the job of process {pid} has no rank {wanted} on this machine that has called MPI_Init (these have: {there})\n"
            );
            Err((text, 1))
        }
    }
}

fn refusal(pid: u32, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("process {pid} belongs to another user"),
        io::ErrorKind::NotFound if !Path::new(&format!("/proc/{pid}")).exists() => format!("there is no process {pid}"),
        io::ErrorKind::NotFound => {
            format!(
                "process {pid} belongs to no job of OxMPI on this machine; for a job on several hosts, send SIGQUIT to its mpirun"
            )
        }
        _ => format!("the memory of the job of process {pid} cannot be read: {error}"),
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process is an `mpirun`, also an agent.
fn is_launcher(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    program.file_name().is_some_and(|name| name == "mpirun" || name == "mpiexec")
}

/// The segment that a process has open; other memory of OxMPI is not one.
fn open(pid: u32) -> io::Result<Job> {
    let mut refused = io::ErrorKind::NotFound.into();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
        let is_segment =
            fs::read_link(entry.path()).is_ok_and(|link| link.to_string_lossy().starts_with("/memfd:oxmpi"));
        if !is_segment {
            continue;
        }
        let opened = File::options().read(true).write(true).open(entry.path()).and_then(|file| {
            let inode = file.metadata()?.ino();
            Ok(Job { pid, segment: Segment::attach(file.as_fd())?, inode })
        });
        match opened {
            Ok(job) => return Ok(job),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

impl Job {
    /// The ranks that have called `MPI_Init`.
    fn ranks(&self) -> Vec<Rank> {
        let rank = |slot: usize| {
            let pid = self.segment.rank(slot).pid.load(Relaxed);
            let number = environment(pid, "OXMPI_RANK").and_then(|text| text.parse().ok()).unwrap_or(slot);
            (pid != 0).then_some(Rank { slot, number, pid })
        };
        (0..self.segment.ranks()).filter_map(rank).collect()
    }

    fn place(&self, rank: &Rank) -> Where {
        Where::of(self.segment.rank(rank.slot))
    }

    /// Where a rank is, and what it says of it.
    fn words<'w>(&self, rank: &Rank, waits: &'w Waits, site: Option<&Site>) -> (String, &'w str) {
        let (block, at) = (self.segment.rank(rank.slot), self.place(rank));
        let place = at.place();
        if !Path::new(&format!("/proc/{}", rank.pid)).exists() {
            return (format!("has ended, {place}"), "");
        }
        if !at.is_in_call() {
            let state = if block.state.load(Acquire) == STATE_RUNNING { process_state(rank.pid) } else { "" };
            return (format!("{place}{state}"), "");
        }
        let line = site.map_or_else(String::new, |site| format!(" at {site}"));
        let since = self.segment.rest_record(rank.slot).read().map(|rest| load::now().saturating_sub(rest.since));
        // Ranks that came at about the same time are named together.
        let since = since.map(|time| Duration::from_nanos(time).as_secs()).filter(|&time| time > 0);
        let comma = if waits.text.is_empty() { "" } else { "," };
        let since =
            since.map_or_else(String::new, |time| format!(" for {} s or more{comma}", time - time % 10_u64.min(time)));
        (format!("{place}{line}{since}"), &waits.text)
    }
}

/// The ranks of a job in the segments that it has on this machine, in groups.
fn describe(pid: u32, jobs: &[Job], with_stacks: bool) -> String {
    let mut ranks: Vec<(&Job, Rank)> =
        jobs.iter().flat_map(|job| job.ranks().into_iter().map(move |rank| (job, rank))).collect();
    ranks.sort_by_key(|(_, rank)| rank.number);
    let waits: Vec<Waits> =
        ranks.iter().map(|(job, rank)| job.segment.wait_record(rank.slot).read().unwrap_or_default()).collect();
    let callers: Vec<Caller> =
        ranks.iter().zip(&waits).map(|((_, rank), waits)| Caller { pid: rank.pid, callers: waits.callers }).collect();
    let sites = Lines::new().sites(&callers, lines::LIMIT);
    let places: Vec<(usize, String, &str)> = ranks
        .iter()
        .zip(&waits)
        .zip(&sites)
        .map(|(((job, rank), waits), site)| {
            let (at, rest) = job.words(rank, waits, site.as_ref());
            (rank.number, at, rest)
        })
        .collect();
    let all: usize = jobs.iter().map(|job| job.segment.ranks()).sum();
    let program = ranks.first().map_or_else(String::new, |(_, rank)| format!(", {}", command(rank.pid)));
    let mut text = format!("job of process {pid} ({all} ranks on this machine{program}):\n");
    grouped(&places).iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    if with_stacks {
        let pids: Vec<u32> = ranks.iter().map(|(_, rank)| rank.pid).collect();
        let stacks: Vec<(usize, String, &str)> =
            ranks.iter().zip(stacks::of(&pids)).map(|((_, rank), stack)| (rank.number, stack, "")).collect();
        text.push_str("stacks:\n");
        grouped(&stacks).iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    let absent = all - ranks.len();
    if absent > 0 {
        text.push_str(&format!("  {absent} ranks before MPI_Init\n"));
    }
    text
}

/// What the kernel says of a process.
fn process_state(pid: u32) -> &'static str {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    match stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('R') => " (running)",
        Some('S' | 'D' | 'I') => " (asleep)",
        Some('T') => " (stopped)",
        Some('t') => " (stopped by a debugger)",
        _ => "",
    }
}

fn command(pid: u32) -> String {
    const MOST: usize = 60;
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> =
        line.split(|&byte| byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy).collect();
    let text: String = words.join(" ").replace(|c: char| c.is_control(), "?");
    if text.chars().count() > MOST { text.chars().take(MOST).chain(['…']).collect() } else { text }
}

fn environment(pid: u32, name: &str) -> Option<String> {
    let all = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let found = all.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    Some(String::from_utf8_lossy(found?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_processes_are_told() {
        assert!(whereabouts("now", false).0.contains("`now` is no process id"));
        assert_eq!(whereabouts("4294967295", false).1, 1);
        let own = std::process::id().to_string();
        assert!(whereabouts(&own, false).0.contains("belongs to no job"), "{}", whereabouts(&own, false).0);
        // Now it belongs to one.
        let (_fd, segment) = Segment::create(2, 1).unwrap();
        segment.rank(1).pid.store(std::process::id(), Relaxed);
        let found = open(std::process::id()).unwrap();
        assert_eq!(found.ranks().iter().map(|rank| rank.slot).collect::<Vec<_>>(), [1]);
        assert_eq!(process_of(&own, "1").ok(), Some(std::process::id()));
        assert!(process_of(&own, "9").unwrap_err().0.contains("has no rank 9 "));
        assert_eq!(process_of(&own, "x").unwrap_err().1, 2);
        let text = describe(found.pid, &[found], false);
        assert!(text.contains("(2 ranks on this machine") && text.contains("1 ranks before MPI_Init"), "{text}");
    }
}
