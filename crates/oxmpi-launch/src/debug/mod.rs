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

use std::process::Child;

use crate::deadlock_mode::Mode;
use crate::debug_options::{Debugger, Screen};
use crate::options::{Block, Request, Stdin};
use crate::program;
use crate::start::{self, Refusal};

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
    settings.debugger = Some(Debugger { ranks, gdb, screen });
    Ok(Next::Run)
}

/// Opens the screens. The ranks have been started, and wait for them.
pub fn open(debugger: Option<&Debugger>) -> Result<Vec<Child>, String> {
    debugger.map_or(Ok(Vec::new()), |debugger| screen::open(debugger.screen, &debugger.ranks))
}
