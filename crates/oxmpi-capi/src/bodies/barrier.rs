//! The barrier, by dissemination: in round k every rank tells the one 2^k further on, and hears from the one 2^k before.

use crate::call::Cx;
use oxmpi_abi::Result;
use oxmpi_abi::handle::Comm;
use oxmpi_core::engine::{Mode, Route};
use oxmpi_core::matching::Pattern;
use oxmpi_datatype::Buf;

pub unsafe fn barrier(cx: &Cx, comm: Comm) -> Result<()> {
    let mut guard = cx.process()?;
    let found = guard.comm(comm)?;
    let (size, rank, context, group) = (found.size(), found.rank, found.inner_context(), found.group.clone());
    let mut distance = 1;
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        let empty = || Buf::dense(std::ptr::null_mut(), 0);
        let tag = distance;
        let recv = guard.engine.recv(Pattern { context, source: from, tag }, empty());
        let route = Route { peer: group.get(to as usize), context, source: rank, tag };
        let send = guard.engine.send(Mode::Standard, &route, empty());
        cx.wait_op(&mut guard, recv);
        if let Some(send) = send {
            cx.wait_op(&mut guard, send);
        }
        distance *= 2;
    }
    Ok(())
}
