//! The barrier, by dissemination: in round k every process tells the one 2^k further on, and hears from the one 2^k before.
//! On an intercommunicator both groups take part as one.

use crate::call::Cx;
use crate::comms;
use oxmpi_abi::Result;
use oxmpi_abi::handle::Comm;
use oxmpi_core::engine::{Mode, Route};
use oxmpi_core::matching::Pattern;
use oxmpi_core::talk::Party;
use oxmpi_datatype::Buf;

pub unsafe fn barrier(cx: &Cx, comm: Comm) -> Result<()> {
    let mut guard = cx.process()?;
    let own = comms::process_number(&guard);
    let Party { members, rank, context, tag } = guard.comm_mut(comm)?.party(own);
    let size = members.len();
    let mut distance = 1;
    while distance < size {
        let (to, from) = (members.get((rank + distance) % size), members.get((rank + size - distance) % size));
        let empty = || Buf::dense(std::ptr::null_mut(), 0);
        let recv = guard.engine.recv(Pattern { context, source: from as i32, tag }, empty());
        let route = Route { peer: to, context, source: own as i32, tag };
        let send = guard.engine.send(Mode::Standard, &route, empty());
        cx.wait_op(&mut guard, recv);
        if let Some(send) = send {
            cx.wait_op(&mut guard, send);
        }
        distance *= 2;
    }
    Ok(())
}
