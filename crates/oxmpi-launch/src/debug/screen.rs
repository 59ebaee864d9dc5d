//! Where the user sees the debuggers.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::debug_options::{self, Screen, Screens};
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

/// The command by which a screen reaches a rank on another host; empty for one on this machine.
#[derive(Default)]
pub struct Route(pub Vec<OsString>);

/// Opens the screens of the ranks; the children that show them.
pub fn open(screens: &Screens, route: &dyn Fn(usize) -> Route) -> Result<Vec<Child>, String> {
    let one = |rank: usize| viewer(screens, &[rank], route);
    let mut ranks = screens.ranks.iter();
    match screens.screen {
        Screen::Panes | Screen::OwnTmux => ranks.try_for_each(|&rank| pane(one(rank))).map(|()| Vec::new()),
        Screen::Xterm => ranks.map(|&rank| window(rank, one(rank))).collect(),
        Screen::Here => Ok(vec![start(Command::new(own_path()).args(viewer(screens, &screens.ranks, route)))?]),
    }
}

/// The arguments with which `mpirun` shows ranks: its process, the name of the door, and for each rank its number, the number of
/// words of its route, and these.
fn viewer(screens: &Screens, ranks: &[usize], route: &dyn Fn(usize) -> Route) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        vec![debug_options::VIEW.into(), std::process::id().to_string().into(), screens.door.clone().into()];
    for &rank in ranks {
        let Route(route) = route(rank);
        words.extend([rank, route.len()].map(|number| number.to_string().into()));
        words.extend(route);
    }
    words
}

fn own_path() -> PathBuf {
    env::current_exe().unwrap_or_else(|_| "mpirun".into())
}

fn start(command: &mut Command) -> Result<Child, String> {
    command.spawn().map_err(|error| format!("--debug: cannot start {}: {error}", command.get_program().display()))
}

fn window(rank: usize, viewer: Vec<OsString>) -> Result<Child, String> {
    start(Command::new("xterm").args(["-T", &format!("rank {rank}"), "-e"]).arg(own_path()).args(viewer))
}

/// Divides the pane of `mpirun`; with all panes of equal size there is room for more.
fn pane(viewer: Vec<OsString>) -> Result<(), String> {
    let own = env::var("TMUX_PANE").unwrap_or_default();
    let mut split = Command::new("tmux");
    split.args(["split-window", "-d", "-t", &own, "--"]).arg(own_path()).args(viewer);
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
