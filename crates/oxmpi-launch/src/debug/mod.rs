//! `--debug`: ranks that run in gdb, each on a screen of its own.
//!
//! ```text
//! mod.rs      which ranks, and what they need: everything is checked before the job starts
//! rank.rs     the process of such a rank: gives it a terminal, then becomes gdb
//! screen.rs   opens a pane of tmux or a window for each rank, or uses the terminal of mpirun
//! view.rs     the process on the screen: copies between it and the rank's terminal
//! far.rs      the way from a screen to a rank on another host
//! ```
//!
//! The debugger is the process that `mpirun` starts for the rank, and stays its child: it gets the environment, the descriptors
//! and the end that every rank gets. Only its terminal goes to the screen. On several hosts the agent of
//! the rank's host starts it, and the screen reaches its terminal through the launcher.

pub mod far;
pub mod rank;
mod screen;
pub mod view;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Child;

use oxmpi_boot::gdb;
use oxmpi_boot::handshake;

use crate::deadlock_mode::Mode;
use crate::debug_options::{Debugger, Screen, Screens};
use crate::launcher;
use crate::options::{Block, Request, Stdin};
use crate::order;
use crate::program;
use crate::start::{self, Refusal};

pub use screen::Route;

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
    let size = match &request.settings.cluster {
        None => start::size(request)?,
        Some(cluster) if launcher::plan(cluster).map_err(refuse)?.step.is_some() => {
            return Err(refuse(
                "--debug does not work with agents that a batch system starts: attach with `oxmpi gdb`".into(),
            ));
        }
        Some(cluster) => order::size(request, cluster),
    };
    let ranks = wanted.ranks(size).map_err(refuse)?;
    // On other hosts their agents look for it.
    let gdb = request.settings.cluster.is_none().then(|| find_gdb(None)).transpose()?;
    let screen = screen::choose().map_err(refuse)?;
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
    let door: [u8; 8] = handshake::random().map_err(start::cannot("name the screens of ranks"))?;
    let door = format!("{:016x}", u64::from_ne_bytes(door));
    settings.debugger = gdb.map(|gdb| Debugger { ranks: ranks.clone(), gdb, door: door.clone() });
    settings.screens = Some(Screens { screen, ranks, door });
    Ok(Next::Run)
}

/// The path of gdb on this machine.
pub fn find_gdb(path: Option<OsString>) -> Result<PathBuf, Refusal> {
    let gdb = Block { program: gdb::PROGRAM.into(), path, ..Block::default() };
    program::find(&gdb)
        .map_err(|error| Refusal { text: format!("--debug needs gdb: {}", error.text), status: error.status })
}

/// Opens the screens. The ranks have been started, and wait for them. `route`: how a rank is reached.
pub fn open(screens: Option<&Screens>, route: impl Fn(usize) -> Route) -> Result<Vec<Child>, String> {
    screens.map_or(Ok(Vec::new()), |screens| screen::open(screens, &route))
}
