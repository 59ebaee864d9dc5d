//! Nonblocking collective operations.

use crate::args::Ints;
use crate::call::Call;
use crate::collective::{self, Block, Blocks, Form, Mixed, Operands};
use oxmpi_abi::Result;
use oxmpi_abi::handle::{Comm, Datatype, Op, Request};
use std::ffi::{c_int, c_void};

pub unsafe fn ibarrier(cx: &Call, comm: Comm, request: *mut Request) -> Result<()> {
    // SAFETY: passed on.
    unsafe { collective::barrier(cx, Form::Later(request), comm) }
}

pub unsafe fn ibcast(
    cx: &Call,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { collective::bcast(cx, Form::Later(request), Block::new(buffer, count, datatype), root, comm) }
}

pub unsafe fn igather(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::gather(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn igatherv(
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
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::gatherv(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Blocks::new(recvbuf, recvcounts, displs, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn iscatter(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::scatter(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn iscatterv(
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
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::scatterv(
            cx,
            Form::Later(request),
            Blocks::new(sendbuf, sendcounts, displs, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn iallgather(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::allgather(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            comm,
        )
    }
}

pub unsafe fn iallgatherv(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::allgatherv(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Blocks::new(recvbuf, recvcounts, displs, recvtype),
            comm,
        )
    }
}

pub unsafe fn ialltoall(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::alltoall(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            comm,
        )
    }
}

pub unsafe fn ialltoallv(
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
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::alltoallv(
            cx,
            Form::Later(request),
            Blocks::new(sendbuf, sendcounts, sdispls, sendtype),
            Blocks::new(recvbuf, recvcounts, rdispls, recvtype),
            comm,
        )
    }
}

pub unsafe fn ialltoallw(
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
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::alltoallw(
            cx,
            Form::Later(request),
            Mixed::new(sendbuf, sendcounts, sdispls, sendtypes),
            Mixed::new(recvbuf, recvcounts, rdispls, recvtypes),
            comm,
        )
    }
}

pub unsafe fn ireduce(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::reduce(cx, Form::Later(request), Operands::new(sendbuf, recvbuf, datatype, op), count, root, comm)
    }
}

pub unsafe fn iallreduce(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::allreduce(cx, Form::Later(request), Operands::new(sendbuf, recvbuf, datatype, op), count, comm)
    }
}

pub unsafe fn ireduce_scatter_block(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::reduce_scatter_block(
            cx,
            Form::Later(request),
            Operands::new(sendbuf, recvbuf, datatype, op),
            recvcount,
            comm,
        )
    }
}

pub unsafe fn ireduce_scatter(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::reduce_scatter(
            cx,
            Form::Later(request),
            Operands::new(sendbuf, recvbuf, datatype, op),
            recvcounts,
            comm,
        )
    }
}

pub unsafe fn iscan(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { collective::scan(cx, Form::Later(request), Operands::new(sendbuf, recvbuf, datatype, op), count, comm) }
}

pub unsafe fn iexscan(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { collective::exscan(cx, Form::Later(request), Operands::new(sendbuf, recvbuf, datatype, op), count, comm) }
}
