//! Communicators in the making: how one gets its place in the table, at once or after a conversation that goes on while the
//! program does other things, and how it goes away.

use crate::agreement::{Agreement, Participants};
use crate::comm::{Comm, Ranks};
use crate::contexts::{NOT_YET, agree};
use crate::node::Board;
use crate::process::Process;
use crate::request::Promise;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, bail};
use std::sync::Arc;

/// A communicator whose handle the program has, and whose context its members have not agreed on yet.
pub(crate) struct Making {
    agreement: Agreement<Result<u32>>,
    comm: handle::Comm,
    group: Ranks,
    local: Option<Ranks>,
    promise: Promise,
}

impl Making {
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Ranks> {
        std::iter::once(&self.group).chain(&self.local)
    }
}

impl Process {
    /// Gives a communicator its place and its handle.
    pub fn add_comm(&mut self, mut comm: Comm) -> Result<handle::Comm> {
        self.contexts.release(comm.context);
        comm.is_first = self.comes_first(&comm.group, comm.local.as_ref());
        let Ok(raw) = self.comms.try_insert(comm) else {
            bail!(MPI_ERR_NO_SPACE, "no handles are left for communicators");
        };
        let handle = handle::Comm(raw);
        if let Some(comm) = self.comms.get_mut(raw) {
            comm.handle = handle;
        }
        Ok(handle)
    }

    /// Whether the local group of an intercommunicator comes before the other one, in an order that all processes agree on.
    fn comes_first(&self, group: &Ranks, local: Option<&Ranks>) -> bool {
        let address = |group: &Ranks| (!group.is_empty()).then(|| self.engine.node().address_of(group.peer(0)));
        local.is_none_or(|local| address(local) < address(group))
    }

    /// As [`Process::add_comm`], for a communicator whose context the set of participants has yet to agree on. Until then it has no
    /// members, so that nothing can be sent on it.
    pub fn add_comm_later(&mut self, mut comm: Comm, participants: Participants) -> Result<(handle::Comm, Promise)> {
        let group = std::mem::replace(&mut comm.group, Ranks::All(0));
        let local = comm.local.take();
        comm.context = NOT_YET;
        let comm = self.add_comm(comm)?;
        let promise = Promise::default();
        let agreement = Agreement::new(|line| agree(line, participants, 0));
        self.making.push(Making { agreement, comm, group, local, promise: Arc::clone(&promise) });
        self.progress_making();
        Ok((comm, promise))
    }

    /// Takes a communicator out of the table. What was started on it goes on.
    pub fn remove_comm(&mut self, handle: handle::Comm) -> Result<Comm> {
        if handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF {
            bail!(MPI_ERR_COMM, "{} cannot be freed", self.comm(handle)?.describe());
        }
        let Some(mut comm) = self.comms.remove(handle.0) else { return Err(self.bad_comm(handle)) };
        if let Some(pool) = comm.buffer.take() {
            pool.abandon(&mut self.engine);
        }
        if let Board::Ready(node) = std::mem::replace(&mut comm.board, Board::Refused) {
            self.leave_board(*node);
        }
        Ok(comm)
    }

    /// Moves everything that can move: messages, and what waits for them. `true` when something may have completed.
    #[inline]
    pub fn progress(&mut self) -> bool {
        let mut moved = self.engine.progress();
        if !self.serving_windows.is_empty() {
            moved |= self.serve_windows();
        }
        if self.making.is_empty() && self.runs.is_empty() && self.receiving.is_empty() {
            return moved;
        }
        self.progress_making() | self.progress_runs() | self.progress_partitioned() | moved
    }

    #[inline(never)]
    fn progress_making(&mut self) -> bool {
        let mut all = std::mem::take(&mut self.making);
        let before = all.len();
        all.retain_mut(|making| {
            let Some(context) = self.drive(&mut making.agreement) else { return true };
            if let Ok(context) = context {
                self.contexts.release(context);
            }
            let is_first = self.comes_first(&making.group, making.local.as_ref());
            let error = match (context, self.comms.get_mut(making.comm.0)) {
                (Ok(context), Some(comm)) => {
                    comm.context = context;
                    comm.group = making.group.clone();
                    comm.local = making.local.take();
                    comm.is_first = is_first;
                    None
                }
                (Ok(_), None) => None,
                (Err(error), _) => Some(error),
            };
            // Nobody else sets it.
            let _ = making.promise.set(error);
            false
        });
        let ended = all.len() < before;
        self.making = all;
        ended
    }
}
