//! Adding communicators to the table, at once or after their members have agreed, and removing
//! them.

use super::Process;
use crate::agreement::{Agreement, Participants};
use crate::board::Board;
use crate::check;
use crate::comm::Comm;
use crate::contexts::{NOT_YET, agree};
use crate::pending_comm::PendingComm;
use crate::ranks::Ranks;
use crate::request::Promise;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, bail};
use oxmpi_base::ids::Rank;

/// What a communicator gets when its participants have agreed; not its local group.
pub(crate) struct Members {
    pub(crate) comm: handle::Comm,
    pub(crate) context: u32,
    pub(crate) group: Ranks,
    pub(crate) is_first: bool,
}

impl Process {
    /// Adds a communicator and gives it its handle.
    pub fn add_comm(&mut self, mut comm: Comm) -> Result<handle::Comm> {
        self.contexts.release(comm.context);
        self.forget_calls(comm.context);
        if check::is_on() {
            self.renew_collectives(comm.context);
        }
        comm.is_first = self.comes_first(&comm.group, comm.local.as_ref());
        comm.reach = comm.group.len() as u32;
        if let Some(error) = self.trouble_of(&comm) {
            comm.is_in_trouble(error);
        }
        let Ok(raw) = self.comms.made.try_insert(comm) else {
            bail!(MPI_ERR_NO_SPACE, "no handles are left for communicators");
        };
        let handle = handle::Comm(raw);
        if let Some(comm) = self.comms.made.get_mut(raw) {
            comm.handle = handle;
        }
        Ok(handle)
    }

    /// Whether the local group of an intercommunicator comes first, in an order that all processes
    /// agree on.
    pub(crate) fn comes_first(&self, group: &Ranks, local: Option<&Ranks>) -> bool {
        let id = |group: &Ranks| (!group.is_empty()).then(|| self.engine.node().id_of(group.peer(Rank::new(0))));
        local.is_none_or(|local| id(local) < id(group))
    }

    /// As [`Process::add_comm`], for a communicator whose participants have yet to agree on a
    /// context. Until then it has no members, so that nothing can be sent on it.
    pub fn add_comm_later(&mut self, mut comm: Comm, participants: Participants) -> Result<(handle::Comm, Promise)> {
        let group = std::mem::replace(&mut comm.group, Ranks::one_node(0));
        let local = comm.local.take();
        comm.context = NOT_YET;
        let comm = self.add_comm(comm)?;
        let promise = Promise::default();
        let agreement = Agreement::new(|io| agree(io, participants, 0));
        self.pending_comms.push(PendingComm { agreement, comm, group, local, promise: promise.clone() });
        self.progress_pending_comms();
        Ok((comm, promise))
    }

    /// Removes a communicator from the table. Operations on it continue.
    pub fn remove_comm(&mut self, handle: handle::Comm) -> Result<Comm> {
        if handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF {
            bail!(MPI_ERR_COMM, "{} cannot be freed", self.comm(handle)?.describe());
        }
        let Some(mut comm) = self.comms.made.remove(handle.0) else { return Err(self.bad_comm(handle)) };
        if let Some(pool) = comm.buffer.take() {
            pool.abandon(&mut self.engine);
        }
        self.leave_votes(&comm);
        if let Board::Ready(node) = std::mem::replace(&mut comm.board, Board::Refused) {
            self.leave_board(*node);
        }
        if check::is_on() {
            self.forget_collectives(comm.context);
        }
        Ok(comm)
    }

    /// With `--check` a communicator can be used only when its request was completed, as the standard says.
    #[cold]
    pub(crate) fn give_held_members(&mut self) {
        for (members, local) in std::mem::take(&mut self.held_members) {
            if check::is_on() {
                self.renew_collectives(members.context);
            }
            self.give_members(members, local);
        }
    }

    /// A communicator that was made without members gets them; nothing if it was freed.
    pub(crate) fn give_members(&mut self, members: Members, local: Option<Ranks>) {
        let Members { comm: handle, context, group, is_first } = members;
        let Some(comm) = self.comms.made.get_mut(handle.0) else { return };
        comm.context = context;
        comm.reach = group.len() as u32;
        (comm.group, comm.local, comm.is_first) = (group, local, is_first);
        let trouble = self.comms.made.get(handle.0).and_then(|comm| self.trouble_of(comm));
        if let (Some(error), Some(comm)) = (trouble, self.comms.made.get_mut(handle.0)) {
            comm.is_in_trouble(error);
        }
    }

    #[inline(never)]
    pub(crate) fn progress_pending_comms(&mut self) -> bool {
        let mut all = std::mem::take(&mut self.pending_comms);
        let before = all.len();
        all.retain_mut(|pending| {
            let Some(context) = self.drive(&mut pending.agreement) else { return true };
            if let Ok(context) = context {
                self.contexts.release(context);
            }
            let is_first = self.comes_first(&pending.group, pending.local.as_ref());
            let error = match context {
                Ok(context) => {
                    let members = Members { comm: pending.comm, context, group: pending.group.clone(), is_first };
                    let local = pending.local.take();
                    if check::is_on() {
                        self.held_members.push((members, local));
                    } else {
                        self.give_members(members, local);
                    }
                    None
                }
                Err(error) => Some(error),
            };
            pending.promise.end(error);
            false
        });
        let ended = all.len() < before;
        self.pending_comms = all;
        ended
    }
}
