//! The input and output of the ranks of all hosts, with credit for each agent.

use std::time::Instant;

use oxmpi_agent::frame::{BadFrame, Class};
use oxmpi_agent::message::{self, Down, Stop};

use super::ending::Verdict;
use super::{Phase, Root};
use crate::options::Settings;
use crate::order::Plan;
use crate::output::{Channel, Destination, Outputs};
use crate::record::Record;
use crate::start::Refusal;
use crate::wires::{self, Files};

impl Root<'_> {
    pub(super) fn say(&mut self, text: &str) {
        self.outputs.say(text);
    }

    pub(super) fn on_output(&mut self, number: usize, body: &[u8], now: Instant) -> Result<(), BadFrame> {
        let (rank, channel, bytes) = message::read_output(body)?;
        let node = &mut self.nodes[number];
        if node.ranks.binary_search(&rank).is_err() {
            return Err(BadFrame(format!("rank {rank} is not on this host")));
        }
        node.shown += bytes.len();
        self.outputs.feed(self.streams[rank as usize][usize::from(channel) - 1], bytes, now);
        Ok(())
    }

    /// Gives credit for output that was shown, unless the reader of `mpirun`'s output is slow.
    pub(super) fn acknowledge(&mut self) {
        if self.outputs.is_full() {
            return;
        }
        for (number, node) in self.nodes.iter_mut().enumerate().filter(|(_, node)| node.shown > 0) {
            let bytes = std::mem::take(&mut node.shown) as u32;
            let _ = self.branches.send(number as u32, &Down::Taken(bytes));
        }
    }

    pub(super) fn on_output_trouble(&mut self) {
        if let Some(error) = self.outputs.failure() {
            let text = format!("cannot forward the output of the ranks: {error}");
            self.fail(Verdict::Trouble(text, 1), Stop::Failure);
        } else if self.outputs.stdout_is_gone() && self.stopped_at.is_none() {
            self.fail(Verdict::OutputGone, Stop::Failure);
        }
    }

    /// How many bytes of stdin all readers can take.
    pub(super) fn room(&self) -> usize {
        // Before they run, nobody reads.
        if self.nodes.iter().any(|node| matches!(node.phase, Phase::Starting | Phase::Ready)) {
            return 0;
        }
        self.nodes.iter().filter_map(|node| node.stdin.as_ref()).map(|credit| credit.room(0)).min().unwrap_or(0)
    }

    pub(super) fn send_input(&mut self, now: Instant) {
        let Some(bytes) = self.input.work(self.room(), now) else { return };
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let Some(credit) = &mut node.stdin else { continue };
            // No bytes stand for the end. They are not more than a frame can have.
            credit.sent(bytes.len());
            let _ = self.branches.put(Class::Stdin, number as u32, &bytes);
        }
    }
}

/// The streams of all ranks, with the files that get their output.
pub(super) fn connect(plan: &Plan, settings: &Settings, outputs: &mut Outputs) -> Result<Vec<[usize; 2]>, Refusal> {
    let mut streams = vec![[0; 2]; plan.apps.len()];
    let mut files = Files::default();
    for (host, ranks) in plan.hosts.iter().zip(&plan.ranks) {
        for &rank in ranks {
            let place = wires::Place { index: 0, rank: rank as usize, app: plan.apps[rank as usize] };
            for (stream, channel) in streams[rank as usize].iter_mut().zip([Channel::Stdout, Channel::Stderr]) {
                let mut to = Destination { record: None, shown: true, host: host.clone() };
                if let Some((path, shown)) = wires::file_of(channel, settings, &place, host) {
                    let file = files.open(&path)?;
                    if wires::may_block(&file) {
                        let text = format!("{} is no plain file, as output of other hosts needs it", path.display());
                        return Err(Refusal { text, status: 1 });
                    }
                    to =
                        Destination { record: Some(Record::new(file, path, rank as usize)), shown, host: host.clone() };
                }
                *stream = outputs.add_fed(rank as usize, channel, to);
            }
        }
    }
    Ok(streams)
}
