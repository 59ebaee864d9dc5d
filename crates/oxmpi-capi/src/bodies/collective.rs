//! Blocking collective operations: over the communicator's board if that will do, else by a plan.

use crate::args::Ints;
use crate::call::Call;
use crate::collective::{self, Block, Blocks, Form, Mixed, Operands};
use crate::quick;
use oxmpi_abi::Result;
use oxmpi_abi::handle::{Comm, Datatype, Op};
use std::ffi::{c_int, c_void};

pub unsafe fn barrier(cx: &Call, comm: Comm) -> Result<()> {
    if quick::barrier(cx, comm)? {
        return Ok(());
    }
    // SAFETY: passed on.
    unsafe { collective::barrier(cx, Form::Now, comm) }
}

pub unsafe fn bcast(
    cx: &Call,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<()> {
    let buffer = Block::new(buffer, count, datatype);
    // SAFETY: passed on.
    unsafe {
        if quick::bcast(cx, buffer, root, comm)? {
            return Ok(());
        }
        collective::bcast(cx, Form::Now, buffer, root, comm)
    }
}

pub unsafe fn gather(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = (Block::new(sendbuf, sendcount, sendtype), Block::new(recvbuf, recvcount, recvtype));
    // SAFETY: passed on.
    unsafe {
        if quick::gather(cx, send, recv, root, comm)? {
            return Ok(());
        }
        collective::gather(cx, Form::Now, send, recv, root, comm)
    }
}

pub unsafe fn gatherv(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::gatherv(
            cx,
            Form::Now,
            Block::new(sendbuf, sendcount, sendtype),
            Blocks::new(recvbuf, recvcounts, displs, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn scatter(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = (Block::new(sendbuf, sendcount, sendtype), Block::new(recvbuf, recvcount, recvtype));
    // SAFETY: passed on.
    unsafe {
        if quick::scatter(cx, send, recv, root, comm)? {
            return Ok(());
        }
        collective::scatter(cx, Form::Now, send, recv, root, comm)
    }
}

pub unsafe fn scatterv(
    cx: &Call,
    sendbuf: *const c_void,
    sendcounts: Ints,
    displs: Ints,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::scatterv(
            cx,
            Form::Now,
            Blocks::new(sendbuf, sendcounts, displs, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn allgather(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = (Block::new(sendbuf, sendcount, sendtype), Block::new(recvbuf, recvcount, recvtype));
    // SAFETY: passed on.
    unsafe {
        if quick::allgather(cx, send, recv, comm)? {
            return Ok(());
        }
        collective::allgather(cx, Form::Now, send, recv, comm)
    }
}

pub unsafe fn allgatherv(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::allgatherv(
            cx,
            Form::Now,
            Block::new(sendbuf, sendcount, sendtype),
            Blocks::new(recvbuf, recvcounts, displs, recvtype),
            comm,
        )
    }
}

pub unsafe fn alltoall(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = (Block::new(sendbuf, sendcount, sendtype), Block::new(recvbuf, recvcount, recvtype));
    // SAFETY: passed on.
    unsafe {
        if quick::alltoall(cx, send, recv, comm)? {
            return Ok(());
        }
        collective::alltoall(cx, Form::Now, send, recv, comm)
    }
}

pub unsafe fn alltoallv(
    cx: &Call,
    sendbuf: *const c_void,
    sendcounts: Ints,
    sdispls: Ints,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    rdispls: Ints,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::alltoallv(
            cx,
            Form::Now,
            Blocks::new(sendbuf, sendcounts, sdispls, sendtype),
            Blocks::new(recvbuf, recvcounts, rdispls, recvtype),
            comm,
        )
    }
}

pub unsafe fn alltoallw(
    cx: &Call,
    sendbuf: *const c_void,
    sendcounts: Ints,
    sdispls: Ints,
    sendtypes: *const Datatype,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    rdispls: Ints,
    recvtypes: *const Datatype,
    comm: Comm,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::alltoallw(
            cx,
            Form::Now,
            Mixed::new(sendbuf, sendcounts, sdispls, sendtypes),
            Mixed::new(recvbuf, recvcounts, rdispls, recvtypes),
            comm,
        )
    }
}

pub unsafe fn reduce(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: c_int,
    comm: Comm,
) -> Result<()> {
    let operands = Operands::new(sendbuf, recvbuf, datatype, op);
    // SAFETY: passed on.
    unsafe {
        if quick::reduce(cx, &operands, count, root, comm)? {
            return Ok(());
        }
        collective::reduce(cx, Form::Now, operands, count, root, comm)
    }
}

pub unsafe fn allreduce(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    let operands = Operands::new(sendbuf, recvbuf, datatype, op);
    // SAFETY: passed on.
    unsafe {
        if quick::allreduce(cx, &operands, count, comm)? {
            return Ok(());
        }
        collective::allreduce(cx, Form::Now, operands, count, comm)
    }
}

pub unsafe fn reduce_scatter_block(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    let operands = Operands::new(sendbuf, recvbuf, datatype, op);
    // SAFETY: passed on.
    unsafe {
        if quick::reduce_scatter_block(cx, &operands, recvcount, comm)? {
            return Ok(());
        }
        collective::reduce_scatter_block(cx, Form::Now, operands, recvcount, comm)
    }
}

pub unsafe fn reduce_scatter(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::reduce_scatter(cx, Form::Now, Operands::new(sendbuf, recvbuf, datatype, op), recvcounts, comm)
    }
}

pub unsafe fn scan(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    let operands = Operands::new(sendbuf, recvbuf, datatype, op);
    // SAFETY: passed on.
    unsafe {
        if quick::scan(cx, &operands, count, false, comm)? {
            return Ok(());
        }
        collective::scan(cx, Form::Now, operands, count, comm)
    }
}

pub unsafe fn exscan(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    let operands = Operands::new(sendbuf, recvbuf, datatype, op);
    // SAFETY: passed on.
    unsafe {
        if quick::scan(cx, &operands, count, true, comm)? {
            return Ok(());
        }
        collective::exscan(cx, Form::Now, operands, count, comm)
    }
}
