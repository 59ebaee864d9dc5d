//! `--debug`: which ranks run in gdb, and how the processes of such a rank find each other. `debug/` does the rest.

use std::ffi::OsString;
use std::path::PathBuf;

use oxmpi_base::cpus::CpuSet;
use oxmpi_boot::gdb;

/// First arguments of `mpirun`: it becomes the debugger of a rank, or shows ranks on its terminal.
pub const RANK: &str = "--debugged-rank";
pub const VIEW: &str = "--debugger-view";
/// Or it is the other end of such a screen, on the host of the rank.
pub const RELAY: &str = "--debugger-relay";

/// The name of the socket at which the process of a rank waits for its screen. It is in no folder, so nothing is left behind.
pub fn door(job: &str, rank: usize) -> String {
    format!("oxmpi-debug-{job}-{rank}")
}

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
    pub fn ranks(&self, size: usize) -> Result<Vec<usize>, String> {
        let Wanted::Ranks(ranks) = self else { return Ok((0..size).collect()) };
        match ranks.iter().find(|&&rank| rank >= size) {
            Some(rank) => Err(format!("--debug: there is no rank {rank}; the job has ranks 0 to {}", size - 1)),
            None => Ok(ranks.clone()),
        }
    }
}

/// Where the user sees the debuggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Panes beside that of `mpirun`, which runs in tmux.
    Panes,
    /// The same in a tmux that is started for it.
    OwnTmux,
    /// A window for each rank.
    Xterm,
    /// The terminal of `mpirun` shows one rank at a time.
    Here,
}

/// The screens of a job.
#[derive(Clone, Debug)]
pub struct Screens {
    pub screen: Screen,
    pub ranks: Vec<usize>,
    /// In the names of the sockets at which the ranks wait for them.
    pub door: String,
}

/// What the processes of ranks on this machine need to become gdb.
#[derive(Debug)]
pub struct Debugger {
    pub ranks: Vec<usize>,
    pub gdb: PathBuf,
    pub door: String,
}

impl Debugger {
    pub fn has(&self, rank: usize) -> bool {
        self.ranks.contains(&rank)
    }

    /// The arguments of `mpirun` itself, by which the process of a rank becomes gdb; the program and its own come after them.
    pub fn arguments(&self, rank: usize) -> Vec<OsString> {
        let mut words = vec!["mpirun".into(), RANK.into(), door(&self.door, rank).into()];
        words.push(self.gdb.clone().into());
        words.extend(gdb::options(rank));
        words.push("--args".into());
        words
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
