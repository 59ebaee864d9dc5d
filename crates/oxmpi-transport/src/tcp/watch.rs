//! News of the processes of other jobs, which their agents send: a process that has died, or is about to leave, need not
//! have a link to this one. If the connection ends, so have all processes of that node that have not left properly.

use super::connect::Pending;
use oxmpi_base::address::JobId;
use oxmpi_base::ids::NodeId;
use oxmpi_base::socket::{self, Interest};
use oxmpi_base::wake_pipe::Sleeper;
use oxmpi_boot::requests::Stage;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The news of one node of another job.
pub(crate) struct JobWatch {
    pub job: JobId,
    pub node: NodeId,
    state: State,
    /// Bytes of a record that is not whole.
    rest: Vec<u8>,
}

/// What is heard.
pub(crate) enum News {
    /// The process in a slot has come to a stage of its end.
    Stage(u32, Stage),
    /// The agent has ended, and with it all processes of the node.
    Over,
}

enum State {
    Connecting(Box<dyn Pending>),
    Open(OwnedFd),
    Over,
}

/// The number of all of them in the set of descriptors.
pub(crate) const WATCHES: u64 = 1 << 41;

/// A slot and a stage.
const RECORD: usize = 8;

impl JobWatch {
    /// Begins to wait for news: `begun` is a connection to the agent there, if there is a way to it.
    pub fn new(job: JobId, node: NodeId, begun: Option<Box<dyn Pending>>, sleeper: &Sleeper) -> JobWatch {
        if let Some(pending) = &begun {
            // What cannot be watched is looked at with everything else.
            let _ = sleeper.set().add(pending.readiness(), WATCHES, Interest::Read);
        }
        JobWatch { job, node, state: begun.map_or(State::Over, State::Connecting), rest: Vec::new() }
    }

    /// The kernel forgets it.
    pub fn close(&self, sleeper: &Sleeper) {
        match &self.state {
            State::Connecting(pending) => sleeper.set().remove(pending.readiness()),
            State::Open(connection) => sleeper.set().remove(connection.as_fd()),
            State::Over => {}
        }
    }

    /// Takes the news that have come; never waits.
    pub fn hear(&mut self, sleeper: &Sleeper, mut tell: impl FnMut(News)) {
        if let State::Connecting(pending) = &mut self.state {
            let step = pending.step();
            if let Ok(None) = step {
                return;
            }
            sleeper.set().remove(pending.readiness());
            self.state = match step {
                Ok(Some(fd)) if sleeper.set().add(fd.as_fd(), WATCHES, Interest::Read).is_ok() => State::Open(fd),
                _ => State::Over,
            };
            if let State::Over = self.state {
                tell(News::Over);
            }
        }
        let State::Open(connection) = &self.state else { return };
        let mut buffer = [0; 512 * RECORD];
        loop {
            let count = match socket::receive(connection.as_fd(), &mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => break,
            };
            self.rest.extend_from_slice(&buffer[..count]);
            let whole = self.rest.len() / RECORD * RECORD;
            for record in self.rest[..whole].chunks_exact(RECORD) {
                let number = |at: usize| record[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                // A stage that does not exist says nothing.
                if let Some(stage) = Stage::from_number(number(4)) {
                    tell(News::Stage(number(0), stage));
                }
            }
            self.rest.drain(..whole);
        }
        sleeper.set().remove(connection.as_fd());
        self.state = State::Over;
        tell(News::Over);
    }
}
