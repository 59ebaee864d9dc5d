//! How a job ended, and the one message about it.

use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

use oxmpi_abi::functions::Fun;
use oxmpi_base::segment::{RankBlock, STATE_ABORTED, STATE_RUNNING};
pub use oxmpi_verdict::whereabouts::{Place, Where, places};

use crate::record::Loss;
use crate::sys;
use crate::sys::Pid;

/// How a rank's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Well,
    Exit(i32),
    Signal(i32),
    /// `MPI_Abort`, or an error that is fatal by its handler.
    Abort(i32),
    /// It was an MPI process still, and went away without a word.
    NoFinalize,
    /// It never became one, and others wait for it.
    NoInit,
}

impl Ending {
    /// From what the kernel says and what the rank wrote about itself.
    pub fn of(status: i32, block: &RankBlock) -> Ending {
        let state = block.state.load(Acquire);
        if state == STATE_ABORTED {
            return Ending::Abort(block.abort_code.load(Relaxed));
        }
        if let Some(signal) = killed_by(status) {
            return Ending::Signal(signal);
        }
        match libc::WEXITSTATUS(status) {
            0 if state == STATE_RUNNING => Ending::NoFinalize,
            0 => Ending::Well,
            code => Ending::Exit(code),
        }
    }

    /// When several ranks failed at about the same time, the one with the highest weight is the likeliest cause.
    pub fn weight(self) -> u32 {
        match self {
            Ending::Well => 0,
            Ending::NoFinalize | Ending::NoInit => 1,
            Ending::Exit(_) => 2,
            Ending::Signal(_) => 3,
            Ending::Abort(_) => 4,
        }
    }

    /// The exit status of the job that ends so.
    pub fn status(self) -> i32 {
        match self {
            Ending::Well => 0,
            Ending::NoFinalize | Ending::NoInit => 1,
            Ending::Exit(code) => code,
            Ending::Signal(signal) => 128 + signal,
            // As a shell sees it: the low eight bits. A failure must not look like success.
            Ending::Abort(code) => match code & 0xff {
                0 => 1,
                low => low,
            },
        }
    }
}

/// A rank that failed, as the message names it.
#[derive(Clone, Debug)]
pub struct Failure {
    pub rank: usize,
    pub program: String,
    pub pid: sys::Pid,
    pub host: String,
    pub ending: Ending,
    pub core_dumped: bool,
    pub at: Where,
    /// Ranks that were still running.
    pub others: usize,
}

impl Failure {
    /// It ended outside MPI with a status: the others do not wait for it.
    pub fn is_quiet(&self) -> bool {
        matches!(self.ending, Ending::Exit(_)) && self.at.is_outside()
    }

    pub fn text(&self) -> String {
        let Failure { rank, program, pid, host, ending, at, .. } = self;
        let place = at.phrase();
        let what = match ending {
            Ending::Well => "ended".into(),
            Ending::Exit(code) => {
                let hint = if *code == 127 && at.never_came() {
                    missing_library(&oxmpi_boot::compat::own_libraries())
                } else {
                    String::new()
                };
                format!("exited with status {code}{place}{hint}")
            }
            Ending::Signal(signal) => {
                let core = if self.core_dumped { ", core dumped" } else { "" };
                let hint = if *signal == sys::SIGKILL {
                    " (if no user killed it, the machine may have run out of memory)"
                } else {
                    ""
                };
                format!("was killed by {}{core}{place}{hint}", sys::signal_text(*signal))
            }
            Ending::Abort(code) if matches!(at.call, Some((Fun::Abort, _)) | None) => {
                format!("called MPI_Abort with code {code}")
            }
            Ending::Abort(code) => format!("stopped the job with error code {code}{place}"),
            Ending::NoInit => "ended without calling MPI_Init, which other ranks have called".into(),
            Ending::NoFinalize => match at.call {
                Some((fun, _)) => format!("ended without calling MPI_Finalize (its last MPI call was {})", fun.name()),
                None => "ended without calling MPI_Finalize".into(),
            },
        };
        format!("rank {rank} ({program}, pid {pid} on {host}) {what}{}", stopped(self.others))
    }
}

/// With 127 the dynamic linker ends a program that lacks a library. One that was not linked by our wrappers may lack ours.
fn missing_library(folder: &Path) -> String {
    match folder.join("libmpi_abi.so.1").exists() {
        true => format!(" (if it lacked libmpi_abi.so.1: LD_LIBRARY_PATH={} helps)", folder.display()),
        false => String::new(),
    }
}

/// What became of the others, to follow the message about a failure.
pub fn stopped(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => "; the other rank was stopped".into(),
        n => format!("; the other {n} ranks were stopped"),
    }
}

/// What becomes of the others of a job that goes on, to follow the message about a failure: so many are ended with the
/// rank that failed.
pub fn go_on(ended: usize, others: usize, is_last: bool) -> String {
    let ended = match ended {
        0 => String::new(),
        1 => "; another rank of its communicator is ended".into(),
        n => format!("; {n} other ranks of its communicator are ended"),
    };
    let others = match others {
        0 if is_last => "; no rank is left".into(),
        0 => String::new(),
        1 => "; 1 rank goes on".into(),
        n => format!("; {n} ranks go on"),
    };
    ended + &others
}

/// Which time limit was reached. Harnesses look for the name of the variable.
pub fn time_limit(limit: Option<Duration>, is_of_variable: bool) -> String {
    let seconds = limit.unwrap_or_default().as_secs_f64();
    let which = match is_of_variable {
        true => "MPIEXEC_TIMEOUT in the environment",
        false => "--timeout, which takes the place of MPIEXEC_TIMEOUT",
    };
    format!("the time limit of {seconds} s was reached ({which}) and the job was stopped")
}

/// The message about a failure is not kept longer than this for the end of the job, if commands are left to end by
/// themselves.
pub const SPARED: Duration = Duration::from_secs(2);

/// The commands that are left to end by themselves: rank, name and process of each.
pub fn commands<'a>(mut commands: impl Iterator<Item = (usize, &'a str, Pid)>) -> Option<String> {
    let (rank, name, pid) = commands.next()?;
    let more = match commands.count() {
        0 => "still runs".into(),
        1 => "and that of another rank still run".into(),
        more => format!("and those of {more} more ranks still run"),
    };
    Some(format!("the command of rank {rank} ({name}, pid {pid}) {more}"))
}

/// So many ranks and what became of them, to be continued with a participle.
pub fn ranks(count: usize) -> String {
    match count {
        0 => "the spawned jobs were".into(),
        1 => "the rank was".into(),
        n => format!("the {n} ranks were"),
    }
}

/// Of a spawned job that has ended well, but not as its parents expect.
pub fn never_came(program: &str, ranks: usize) -> String {
    format!("the {ranks} processes of the program `{program}` ended without calling MPI_Init")
}

/// Of a spawned job whose parents have ended.
pub fn orphaned(root: Pid, live: usize) -> String {
    let ranks = ranks(live);
    format!("process {root}, which had spawned the job and was connected to it, has ended; {ranks} stopped")
}

/// The end of a job of which so many ranks were stopped because a job that they had spawned failed.
pub fn child_failed(text: &str, others: usize) -> String {
    let too = if others == 0 { String::new() } else { format!("; {} stopped too", ranks(others)) };
    format!("in a spawned job, {text}{too}")
}

/// Output that could not be written to files.
pub fn losses(losses: &[Loss]) -> String {
    const NAMED: usize = 4;
    let told = losses.iter().take(NAMED).map(|Loss { path, rank, bytes }| {
        let bytes = if *bytes == 1 { "1 byte".into() } else { format!("{bytes} bytes") };
        format!("{bytes} of rank {rank} are missing in {}", path.display())
    });
    let more = losses.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more files are incomplete"));
    format!("output was lost: {}", told.chain(more).collect::<Vec<_>>().join("; "))
}

/// A process's exit status as a shell has it.
pub fn status(status: i32) -> i32 {
    killed_by(status).map_or_else(|| libc::WEXITSTATUS(status), |signal| 128 + signal)
}

/// The signal that ended a process, if one did.
pub fn killed_by(status: i32) -> Option<i32> {
    libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
}

/// Begins the answer to SIGQUIT.
pub const LOOK: &str = "the ranks are here (SIGQUIT again within 2 s ends the job)";

/// The version of OxMPI, which `mpirun` and its agents must share.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Text of another process, safe for a terminal.
pub fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_base::segment::{IN_CALL, STATE_ABSENT, STATE_FINALIZED, Segment};

    fn failure(ending: Ending, at: Where) -> Failure {
        Failure {
            rank: 3,
            program: "./a.out".into(),
            pid: 4711,
            host: "here".into(),
            ending,
            core_dumped: false,
            at,
            others: 7,
        }
    }

    fn block(state: u32, call: u32) -> Segment {
        let (_, segment) = Segment::create(1, 1).unwrap();
        segment.rank(0).state.store(state, Relaxed);
        segment.rank(0).call.store(call, Relaxed);
        segment
    }

    #[test]
    fn the_message_names_everything() {
        let segment = block(STATE_RUNNING, Fun::Recv as u32 | IN_CALL);
        let at = Where::of(segment.rank(0));
        assert_eq!(
            failure(Ending::Signal(11), at).text(),
            "rank 3 (./a.out, pid 4711 on here) was killed by signal 11 (Segmentation fault) in MPI_Recv; \
             the other 7 ranks were stopped"
        );
        assert!(failure(Ending::NoFinalize, at).text().contains("its last MPI call was MPI_Recv"));
        assert!(failure(Ending::Abort(15), at).text().contains("stopped the job with error code 15 in MPI_Recv"));
        let segment = block(STATE_RUNNING, Fun::Abort as u32 | IN_CALL);
        assert!(
            failure(Ending::Abort(15), Where::of(segment.rank(0))).text().contains("called MPI_Abort with code 15")
        );
        let segment = block(STATE_ABSENT, 0);
        let alone = Failure { others: 0, ..failure(Ending::Exit(3), Where::of(segment.rank(0))) };
        assert_eq!(alone.text(), "rank 3 (./a.out, pid 4711 on here) exited with status 3");
    }

    #[test]
    fn endings_and_statuses() {
        let exit = |code: i32| code << 8;
        let running = block(STATE_RUNNING, 0);
        assert_eq!(Ending::of(exit(0), running.rank(0)), Ending::NoFinalize);
        assert_eq!(Ending::of(exit(2), running.rank(0)).status(), 2);
        assert_eq!(Ending::of(9, running.rank(0)).status(), 137);
        assert_eq!(Ending::of(exit(0), block(STATE_FINALIZED, 0).rank(0)), Ending::Well);
        assert_eq!(Ending::of(exit(0), block(STATE_ABSENT, 0).rank(0)), Ending::Well);
        let aborted = block(STATE_ABORTED, 0);
        for (code, status) in [(5, 5), (0, 1), (256, 1), (300, 44), (-1, 255)] {
            aborted.rank(0).abort_code.store(code, Relaxed);
            assert_eq!(Ending::of(9, aborted.rank(0)).status(), status, "{code}");
        }
    }
}
