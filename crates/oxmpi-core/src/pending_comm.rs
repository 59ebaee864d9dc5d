//! Communicators that have a handle, but whose members have not agreed on a context yet.

use crate::agreement::Agreement;
use crate::ranks::Ranks;
use crate::request::Promise;
use oxmpi_abi::Result;
use oxmpi_abi::handle;

pub(crate) struct PendingComm {
    pub(crate) agreement: Agreement<Result<u32>>,
    pub(crate) comm: handle::Comm,
    pub(crate) group: Ranks,
    pub(crate) local: Option<Ranks>,
    pub(crate) promise: Promise,
}

impl PendingComm {
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Ranks> {
        std::iter::once(&self.group).chain(&self.local)
    }
}
