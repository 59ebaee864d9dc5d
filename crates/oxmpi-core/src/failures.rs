//! Going on after deaths and revocations: what this process knows of them, and what it ends because of them.
//!
//! The log in the segment decides who has failed (`oxmpi_base::death_log`); whoever reads an entry also sees what the process
//! has sent. News are handled in the progress of the process (`process/failing.rs`): messages with the dead end, and so do receives that only they could
//! match and collective operations of which they are members. A communicator with a failed member, or that was revoked, keeps
//! the reason in [`Comm::trouble`]; from then on its messages take the general ways, which look at it.
//!
//! [`Comm::trouble`]: crate::comm::Comm::trouble

use crate::comm::Comm;
use oxmpi_abi::constants::MPIX_ERR_REVOKED;
use oxmpi_abi::{Error, Result};
use oxmpi_base::ids::Peer;
use std::collections::BTreeSet;

/// What this process knows.
#[derive(Default)]
pub struct Failures {
    /// The processes that have failed, in the order in which this one has heard of them.
    pub(crate) failed: Vec<Peer>,
    /// Whether anything has failed or was revoked.
    any: bool,
    /// The contexts that were revoked.
    pub(crate) revoked: BTreeSet<u32>,
    /// Collective operations in the background have not been looked at since the last news.
    pub(crate) unswept: bool,
}

impl Failures {
    /// Whether anything has failed or was revoked.
    #[inline]
    pub fn any(&self) -> bool {
        self.any
    }

    pub(crate) fn add_failed(&mut self, peer: Peer) {
        self.failed.push(peer);
        (self.any, self.unswept) = (true, true);
    }

    /// `false`: it was revoked before.
    pub(crate) fn add_revoked(&mut self, context: u32) -> bool {
        (self.any, self.unswept) = (true, true);
        self.revoked.insert(context)
    }

    pub fn is_revoked(&self, context: u32) -> bool {
        self.revoked.contains(&(context & !1))
    }
}

#[cold]
pub(crate) fn revoked_error(what: &str) -> Error {
    Error::new(MPIX_ERR_REVOKED, format!("{what} was revoked"))
}

impl Comm {
    /// Why no collective call can succeed on it, if a member has failed or it was revoked.
    pub fn check_whole(&self) -> Result<()> {
        match &self.trouble {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Why no call can succeed on it that is not local, if it was revoked.
    pub fn check_not_revoked(&self) -> Result<()> {
        match &self.trouble {
            Some(error) if error.class() == MPIX_ERR_REVOKED => Err(error.clone()),
            _ => Ok(()),
        }
    }

    pub fn is_revoked(&self) -> bool {
        self.check_not_revoked().is_err()
    }

    /// Whether a process is a member of one of its groups.
    pub fn has_member(&self, peer: Peer) -> bool {
        self.group.position(peer).is_some() || self.local.as_ref().is_some_and(|local| local.position(peer).is_some())
    }

    pub(crate) fn is_in_trouble(&mut self, error: Error) {
        // What was revoked stays so.
        if !self.is_revoked() {
            self.trouble = Some(error);
        }
        self.reach = 0;
    }
}
