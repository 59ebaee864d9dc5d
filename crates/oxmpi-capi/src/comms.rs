//! What the C boundary knows of communicators beside what the engine needs: the attributes that the program hung on
//! them. Few have any, so they are kept by handle beside the table of communicators.

use crate::keyvals::{Callbacks, Holder};
use oxmpi_abi::Result;
use oxmpi_abi::handle::Comm;
use oxmpi_core::attributes::{Attributes, Owner};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

static ATTRIBUTES: Mutex<BTreeMap<Comm, Attributes<Callbacks>>> = Mutex::new(BTreeMap::new());

/// A communicator as a holder of attributes; the handle has been checked.
pub struct Attributed(pub Comm);

impl Holder for Attributed {
    const OWNER: Owner = Owner::Comm;

    fn handle(&self) -> usize {
        self.0.0
    }

    fn attributes<R>(&self, with: impl FnOnce(&mut Attributes<Callbacks>) -> R) -> Result<R> {
        let mut all = ATTRIBUTES.lock().unwrap_or_else(PoisonError::into_inner);
        let attributes = all.entry(self.0).or_default();
        let result = with(attributes);
        if attributes.is_empty() {
            all.remove(&self.0);
        }
        Ok(result)
    }
}
