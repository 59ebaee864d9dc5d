//! Where the user sees the debuggers.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::debug_options::{self, Screen};
use crate::options::Block;
use crate::program;
use crate::sys;

/// What decides about it.
struct Surroundings {
    in_tmux: bool,
    has_tmux: bool,
    has_xterm: bool,
    has_terminal: bool,
}

pub fn choose() -> Result<Screen, String> {
    let has = |name: &str| program::find(&Block { program: name.into(), ..Block::default() }).is_ok();
    let given = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_tmux = has("tmux");
    best(&Surroundings {
        in_tmux: has_tmux && given("TMUX") && given("TMUX_PANE"),
        has_tmux,
        has_xterm: given("DISPLAY") && has("xterm"),
        has_terminal: sys::is_terminal(0) && sys::is_terminal(1),
    })
}

fn best(around: &Surroundings) -> Result<Screen, String> {
    match around {
        Surroundings { in_tmux: true, .. } => Ok(Screen::Panes),
        Surroundings { has_tmux: true, has_terminal: true, .. } => Ok(Screen::OwnTmux),
        Surroundings { has_xterm: true, .. } => Ok(Screen::Xterm),
        Surroundings { has_terminal: true, .. } => Ok(Screen::Here),
        _ => Err("--debug needs a terminal, or xterm with DISPLAY, to show gdb".into()),
    }
}

/// Opens the screens of the ranks; the children that show them.
pub fn open(screen: Screen, ranks: &[usize]) -> Result<Vec<Child>, String> {
    match screen {
        Screen::Panes | Screen::OwnTmux => ranks.iter().try_for_each(|&rank| pane(rank)).map(|()| Vec::new()),
        Screen::Xterm => ranks.iter().map(|&rank| window(rank)).collect(),
        Screen::Here => Ok(vec![start(Command::new(own_path()).args(viewer(ranks)))?]),
    }
}

/// The arguments with which `mpirun` shows ranks.
fn viewer(ranks: &[usize]) -> Vec<OsString> {
    let own = std::process::id();
    let numbers = std::iter::once(own.to_string()).chain(ranks.iter().map(usize::to_string));
    std::iter::once(debug_options::VIEW.into()).chain(numbers.map(OsString::from)).collect()
}

fn own_path() -> PathBuf {
    env::current_exe().unwrap_or_else(|_| "mpirun".into())
}

fn start(command: &mut Command) -> Result<Child, String> {
    command.spawn().map_err(|error| format!("--debug: cannot start {}: {error}", command.get_program().display()))
}

fn window(rank: usize) -> Result<Child, String> {
    start(Command::new("xterm").args(["-T", &format!("rank {rank}"), "-e"]).arg(own_path()).args(viewer(&[rank])))
}

/// Divides the pane of `mpirun`; with all panes of equal size there is room for more.
fn pane(rank: usize) -> Result<(), String> {
    let own = env::var("TMUX_PANE").unwrap_or_default();
    let mut split = Command::new("tmux");
    split.args(["split-window", "-d", "-t", &own, "--"]).arg(own_path()).args(viewer(&[rank]));
    tmux(&mut split)?;
    tmux(Command::new("tmux").args(["select-layout", "-t", &own, "tiled"]))
}

fn tmux(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("--debug: cannot run tmux: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("--debug: tmux: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Runs this command line again in a tmux of its own, and returns how it ended. Its last texts stay until the user has seen them.
pub fn run_in_tmux() -> Result<i32, String> {
    const SCRIPT: &str = "file=$1; shift; \"$0\" \"$@\"; status=$?; echo $status >\"$file\"; \
                          printf '\\nmpirun has ended with status %s; press Enter\\n' $status; read -r _";
    let name = format!("oxmpi-{}", std::process::id());
    let file = env::temp_dir().join(format!("{name}-status"));
    // A new file of our own, which no other user can have prepared.
    let made = std::fs::File::create_new(&file);
    made.map_err(|error| format!("--debug: cannot make {}: {error}", file.display()))?;
    let mut command = Command::new("tmux");
    command.args(["-L", &name, "new-session", "--", "sh", "-c", SCRIPT]).arg(own_path()).arg(&file);
    let ended = command.args(env::args_os().skip(1)).status();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let _ = std::fs::remove_file(&file);
    ended.map_err(|error| format!("--debug: cannot run tmux: {error}"))?;
    text.trim().parse().map_err(|_| "--debug: tmux was ended before the job".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_screen_is_chosen() {
        let of = |in_tmux, has_tmux, has_xterm, has_terminal| {
            best(&Surroundings { in_tmux, has_tmux, has_xterm, has_terminal })
        };
        assert_eq!(of(true, true, true, true), Ok(Screen::Panes));
        assert_eq!(of(true, true, false, false), Ok(Screen::Panes));
        assert_eq!(of(false, true, true, true), Ok(Screen::OwnTmux));
        assert_eq!(of(false, true, true, false), Ok(Screen::Xterm));
        assert_eq!(of(false, false, false, true), Ok(Screen::Here));
        assert!(of(false, true, false, false).unwrap_err().contains("needs a terminal"));
    }
}
