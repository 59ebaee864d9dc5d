//! What a parallel debugger is told of a job on several hosts (`mpir.rs`): the processes of all ranks, once all agents have
//! started theirs.

use std::sync::Arc;

use oxmpi_agent::frame::{BadFrame, EVERY_NODE};
use oxmpi_agent::message::Down;

use super::Root;
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
        if self.running.is_held { self.branches.send(EVERY_NODE, &Down::Release) } else { Ok(()) }
    }
}
