//! What a parallel debugger is told of a job on several hosts (`mpir.rs`): the processes of all ranks, once all agents have
//! started theirs.

use std::ffi::OsString;
use std::iter;
use std::process::Command;
use std::sync::Arc;

use oxmpi_agent::frame::{BadFrame, EVERY_NODE};
use oxmpi_agent::message::{Down, Stop};

use super::Root;
use super::ending::Verdict;
use crate::debug::{self, Route};
use crate::debug_options;
use crate::launcher;
use crate::mpir::{self, Process};

/// The ranks that run.
pub(super) struct Running {
    /// By rank: the process, its node and its program.
    rows: Vec<Option<Row>>,
    /// Nodes whose ranks do not run yet.
    awaited: usize,
    is_held: bool,
}

struct Row {
    pid: i32,
    node: usize,
    path: Arc<[u8]>,
}

impl Running {
    pub fn new(ranks: usize, nodes: usize, is_held: bool) -> Running {
        Running { rows: (0..ranks).map(|_| None).collect(), awaited: nodes, is_held }
    }
}

impl Root<'_> {
    /// The ranks of a node run.
    pub(super) fn on_running(&mut self, node: usize, pids: &[i32], paths: &[Vec<u8>]) -> Result<(), BadFrame> {
        let ranks = &self.orders[node].ranks;
        if pids.len() > ranks.len() {
            return Err(BadFrame(format!("{} processes for {} ranks", pids.len(), ranks.len())));
        }
        let paths: Vec<Arc<[u8]>> = paths.iter().map(|path| path.as_slice().into()).collect();
        for (&pid, order) in pids.iter().zip(ranks) {
            let path = paths.get(order.program as usize).cloned();
            let path = path.ok_or_else(|| BadFrame(format!("no path of program {}", order.program)))?;
            self.running.rows[order.rank as usize] = Some(Row { pid, node, path });
        }
        self.running.awaited = self.running.awaited.saturating_sub(1);
        if self.running.awaited > 0 || self.running.rows.iter().any(Option::is_none) {
            return Ok(());
        }
        let rows = self.running.rows.iter().flatten();
        mpir::publish(rows.map(|row| Process {
            host: &self.nodes[row.node].host,
            executable: &row.path,
            pid: row.pid,
        }));
        self.open_screens();
        if self.running.is_held { self.branches.send(EVERY_NODE, &Down::Release) } else { Ok(()) }
    }

    /// Opens the screens of `--debug`. Each gets the command by which it reaches the host of its rank.
    fn open_screens(&mut self) {
        let route = |rank: usize| {
            let node = self.running.rows[rank].as_ref().map_or(0, |row| row.node);
            let door = self.settings.screens.as_ref().map_or("", |screens| &screens.door);
            let arguments = [debug_options::RELAY, door, &rank.to_string()];
            let command = launcher::elsewhere(&self.launcher, &self.nodes[node].host, &arguments);
            let words = |command: Command| {
                iter::once(command.get_program()).chain(command.get_args()).map(OsString::from).collect()
            };
            Route(command.map(words).unwrap_or_default())
        };
        match debug::open(self.settings.screens.as_ref(), route) {
            Ok(screens) => self.screens = screens,
            Err(text) => self.fail(Verdict::Trouble(text, 1), Stop::Failure),
        }
    }
}
