//! Makes partitioned sends and receives, and advances receives that wait for their announcement.

use super::{Heard, Incoming, Note, Outgoing, lock};
use crate::engine::Route;
use crate::matching::{PARTS as SOURCE, Pattern};
use crate::process::Process;
use oxmpi_abi::Result;
use oxmpi_abi::handle::Comm;
use oxmpi_datatype::{OwnedBytes, Source, Target};
use std::sync::Mutex;

impl Process {
    /// Makes a partitioned send and announces it to the receiver.
    pub fn make_outgoing(
        &mut self,
        comm: Comm,
        (buf, classes): (Source<'static>, u64),
        partitions: usize,
        route: Option<Route>,
    ) -> Result<Outgoing> {
        let first = self.partitions;
        let comm = self.comm(comm)?;
        let (context, source) = (comm.inner_context(), comm.rank | SOURCE);
        let route = route.map(|route| Route { context, source, ..route });
        if let Some(route) = &route {
            self.partitions += partitions as u64;
            let note: Note = [partitions as u64, (buf.len() / partitions) as u64, first, classes];
            let bytes = OwnedBytes::from(&note.map(u64::to_ne_bytes).concat()[..]);
            if let Some(op) = self.engine.send_stored(route, bytes) {
                self.engine.detach(op);
            }
        }
        Ok(Outgoing { buf, partitions, route, first })
    }

    #[expect(unsafe_code, reason = "lends memory of the library's own to an operation")]
    /// Makes a partitioned receive, which waits for the announcement of the matching send.
    pub fn make_incoming(
        &mut self,
        comm: Comm,
        (buf, classes): (Target<'static>, u64),
        partitions: usize,
        pattern: Pattern,
    ) -> Result<Incoming> {
        let from = (pattern.source, pattern.tag);
        let pattern = Pattern { context: self.comm(comm)?.inner_context(), source: pattern.source | SOURCE, ..pattern };
        let words = OwnedBytes::zeroed(size_of::<Note>());
        // SAFETY: the words are kept beside the operation's number, and read after its end. If the
        // request is freed, `forget` cancels the receive first.
        let op = self.engine.recv(pattern, unsafe { words.lend_to_write() });
        Ok(Incoming { buf, partitions, pattern, from, classes, heard: Mutex::new(Heard::NotYet(op, words)) })
    }

    /// Advances receives that wait for their announcement.
    #[inline(never)]
    pub(crate) fn progress_partitioned(&mut self) -> bool {
        let before = self.receiving.len();
        let Process { receiving, engine, .. } = self;
        receiving.retain(|one| !lock(one).advance(engine));
        receiving.len() < before
    }
}
