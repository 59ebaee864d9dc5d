//! Who takes part in a collective operation, and as what.

use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Comm;
use oxmpi_abi::{Result, bail};
use oxmpi_core::collective::Stage;
use oxmpi_core::explain::Speaker;
use oxmpi_core::guard::Guard;

/// The communicator of a collective operation, as plans see it.
#[derive(Debug)]
pub(super) struct CollShape {
    /// This process's rank in its own group.
    pub rank: usize,
    /// The ranks that can be addressed: all, or the remote group.
    pub size: usize,
    /// The group that this process is in.
    pub local: usize,
    pub inter: bool,
    /// Tells which algorithms are chosen, where that is wanted.
    pub speaker: Option<Speaker>,
}

/// What this process is in an operation with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Of an intracommunicator: everybody takes part, this rank is the root.
    Among(usize),
    /// Of an intercommunicator: the root itself, alone in its group.
    Root,
    /// Beside the root in its group: nothing to do.
    Idle,
    /// In the other group: the root's rank.
    Facing(usize),
}

impl CollShape {
    pub fn new(guard: &Guard, comm: Comm) -> Result<CollShape> {
        let comm = guard.comm(comm)?;
        Ok(CollShape {
            rank: comm.rank as usize,
            size: comm.size() as usize,
            local: comm.local_group().len(),
            inter: comm.is_inter(),
            speaker: Speaker::of(comm),
        })
    }

    /// Checks the argument `root`.
    pub fn role(&self, root: i32) -> Result<Role> {
        let size = self.size;
        match (self.inter, root) {
            (false, root) if (root as u32 as usize) < size && root >= 0 => Ok(Role::Among(root as usize)),
            (true, MPI_ROOT) => Ok(Role::Root),
            (true, MPI_PROC_NULL) => Ok(Role::Idle),
            (true, root) if root >= 0 && (root as usize) < size => Ok(Role::Facing(root as usize)),
            (false, MPI_ROOT) => {
                bail!(MPI_ERR_ROOT, "MPI_ROOT is for intercommunicators; the root must be a rank here")
            }
            (false, _) => bail!(MPI_ERR_ROOT, "the root is {root}; it must lie between 0 and {}", size - 1),
            (true, _) => bail!(
                MPI_ERR_ROOT,
                "the root is {root}; in an intercommunicator it must be a rank of the other group (0 to {}), MPI_ROOT or \
                 MPI_PROC_NULL",
                size - 1
            ),
        }
    }
}

/// The stage for the next collective operation; to be taken when all arguments have been checked.
pub(super) fn stage(guard: &mut Guard, comm: Comm) -> Result<Stage> {
    guard.comm_mut(comm).map(Stage::new)
}

/// The same for one with a root.
pub(super) fn rooted_stage(guard: &mut Guard, comm: Comm, role: Role) -> Result<Stage> {
    let root = match role {
        Role::Among(root) => Some(root),
        // Of an intercommunicator ranks name different ones.
        _ => None,
    };
    Ok(Stage { root, ..stage(guard, comm)? })
}

/// An error where `MPI_IN_PLACE` has no meaning.
pub(super) fn refuse_in_place(address: *const std::ffi::c_void, what: &str) -> Result<()> {
    if address as usize == MPI_IN_PLACE {
        bail!(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed as {what} here");
    }
    Ok(())
}

/// An error where the same memory is sent from and received into.
pub(super) fn refuse_alias(send: *const std::ffi::c_void, recv: *const std::ffi::c_void, bytes: usize) -> Result<()> {
    if send == recv && bytes > 0 && !send.is_null() {
        bail!(MPI_ERR_BUFFER, "the send buffer and the receive buffer are the same memory; MPI_IN_PLACE is for that");
    }
    Ok(())
}
