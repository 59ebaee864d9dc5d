//! `--debug`: ranks that run in gdb, each on a screen of its own.
//!
//! ```text
//! mod.rs      which ranks, and what they need: everything is checked before the job starts
//! rank.rs     the process of such a rank: gives it a terminal, then becomes gdb
//! screen.rs   opens a pane of tmux or a window for each rank, or uses the terminal of mpirun
//! view.rs     the process on the screen: copies between it and the rank's terminal
//! ```
//!
//! The debugger is the process that `mpirun` starts for the rank, and stays its child: it gets the environment, the descriptors
//! and the end that every rank gets. Only its terminal goes to the screen.

pub mod rank;
mod screen;
pub mod view;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Child;

use oxmpi_base::cpus::CpuSet;
use oxmpi_boot::compat;

use crate::deadlock_mode::Mode;
use crate::options::{Block, Request, Stdin};
use crate::program;
use crate::start::{self, Refusal};
use screen::Screen;

/// The ranks that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    All,
    Ranks(Vec<usize>),
}

impl Wanted {
    pub fn parse(text: Option<String>) -> Result<Wanted, String> {
        match text.as_deref() {
            None | Some("all") => Ok(Wanted::All),
            Some(list) => match CpuSet::parse(list).filter(|ranks| !ranks.is_empty()) {
                Some(ranks) => Ok(Wanted::Ranks(ranks.iter().collect())),
                None => Err(format!("--debug: `{list}` is neither a rank, a list such as 0,2-3, nor `all`")),
            },
        }
    }

    /// The ranks, in a job of this size.
    fn ranks(&self, size: usize) -> Result<Vec<usize>, String> {
        let Wanted::Ranks(ranks) = self else { return Ok((0..size).collect()) };
        match ranks.iter().find(|&&rank| rank >= size) {
            Some(rank) => Err(format!("--debug: there is no rank {rank}; the job has ranks 0 to {}", size - 1)),
            None => Ok(ranks.clone()),
        }
    }
}

/// All that is needed for it.
#[derive(Debug)]
pub struct Debugger {
    ranks: Vec<usize>,
    gdb: PathBuf,
    screen: Screen,
}

/// What comes after the checks.
pub enum Next {
    /// The job.
    Run,
    /// Nothing: it has run in a tmux of its own, and ended with this status.
    HasRun(i32),
}

/// Checks what `--debug` needs, and changes the settings of the job for it.
pub fn prepare(request: &mut Request) -> Result<Next, Refusal> {
    let Some(wanted) = &request.settings.debug else { return Ok(Next::Run) };
    let refuse = |text: String| Refusal { text, status: 2 };
    if request.settings.cluster.is_some() {
        return Err(refuse(
            "--debug works on this machine only; on other hosts attach with `oxmpi gdb`, or start `xterm -e gdb` as the program".into(),
        ));
    }
    let size = start::size(request)?;
    let ranks = wanted.ranks(size).map_err(refuse)?;
    let gdb = Block { program: "gdb".into(), ..Block::default() };
    let gdb = program::find(&gdb)
        .map_err(|error| Refusal { text: format!("--debug needs gdb: {}", error.text), status: error.status })?;
    let screen = Screen::choose().map_err(refuse)?;
    if screen == Screen::OwnTmux {
        return screen::run_in_tmux().map(Next::HasRun).map_err(refuse);
    }
    let settings = &mut request.settings;
    let reads = |rank: &usize| match &settings.stdin {
        _ if screen == Screen::Here => false,
        Stdin::None => false,
        Stdin::All => !ranks.contains(rank),
        Stdin::Ranks(list) => list.contains(rank) && !ranks.contains(rank),
    };
    settings.stdin = Stdin::Ranks((0..size).filter(reads).collect());
    // A person takes longer than any limit of a script, and looks at the ranks of a deadlock.
    if settings.timeout_of_variable {
        settings.timeout = None;
    }
    if settings.deadlock == Mode::End {
        settings.deadlock = Mode::Report;
    }
    settings.debugger = Some(Debugger { ranks, gdb, screen });
    Ok(Next::Run)
}

impl Debugger {
    pub fn has(&self, rank: usize) -> bool {
        self.ranks.contains(&rank)
    }

    /// The arguments of `mpirun` itself, by which the process of a rank becomes gdb; the program and its own come after them.
    pub fn arguments(&self, rank: usize) -> Vec<OsString> {
        let mut words = vec!["mpirun".into(), rank::OPTION.into(), screen::door(std::process::id(), rank).into()];
        words.push(self.gdb.clone().into());
        words.push("-q".into());
        let load = format!("add-auto-load-safe-path {}", compat::own_libraries().display());
        let prompt = format!("set prompt (gdb {rank}) ");
        words.extend(["-iex", &load, "-ex", &prompt, "--args"].map(OsString::from));
        words
    }

    /// Opens the screens. The ranks have been started, and wait for them.
    pub fn open(&self) -> Result<Vec<Child>, String> {
        self.screen.open(&self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_job() {
        let ranks =
            |text: Option<&str>, size| Wanted::parse(text.map(String::from)).and_then(|wanted| wanted.ranks(size));
        assert_eq!(ranks(None, 3), Ok(vec![0, 1, 2]));
        assert_eq!(ranks(Some("all"), 2), Ok(vec![0, 1]));
        assert_eq!(ranks(Some("0,2-3"), 4), Ok(vec![0, 2, 3]));
        assert_eq!(ranks(Some("9"), 4).unwrap_err(), "--debug: there is no rank 9; the job has ranks 0 to 3");
        assert!(ranks(Some("x"), 4).unwrap_err().contains("`x`"));
        assert!(ranks(Some(""), 4).is_err());
    }
}
