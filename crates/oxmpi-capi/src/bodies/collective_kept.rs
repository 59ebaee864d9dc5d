//! Persistent collective operations.

use crate::args::Ints;
use crate::call::Call;
use crate::collective::{self, Block, Blocks, Form, Mixed, Operands};
use oxmpi_abi::Result;
use oxmpi_abi::handle::{Comm, Datatype, Info, Op, Request};
use std::ffi::{c_int, c_void};

pub unsafe fn barrier_init(cx: &Call, comm: Comm, info: Info, request: *mut Request) -> Result<()> {
    // SAFETY: passed on.
    unsafe { collective::barrier(cx, Form::Kept(info, request), comm) }
}

pub unsafe fn bcast_init(
    cx: &Call,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { collective::bcast(cx, Form::Kept(info, request), Block::new(buffer, count, datatype), root, comm) }
}

pub unsafe fn gather_init(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::gather(
            cx,
            Form::Kept(info, request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn gatherv_init(
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
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::gatherv(
            cx,
            Form::Kept(info, request),
            Block::new(sendbuf, sendcount, sendtype),
            Blocks::new(recvbuf, recvcounts, displs, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn scatter_init(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::scatter(
            cx,
            Form::Kept(info, request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn scatterv_init(
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
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::scatterv(
            cx,
            Form::Kept(info, request),
            Blocks::new(sendbuf, sendcounts, displs, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            root,
            comm,
        )
    }
}

pub unsafe fn allgather_init(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::allgather(
            cx,
            Form::Kept(info, request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            comm,
        )
    }
}

pub unsafe fn allgatherv_init(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::allgatherv(
            cx,
            Form::Kept(info, request),
            Block::new(sendbuf, sendcount, sendtype),
            Blocks::new(recvbuf, recvcounts, displs, recvtype),
            comm,
        )
    }
}

pub unsafe fn alltoall_init(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::alltoall(
            cx,
            Form::Kept(info, request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            comm,
        )
    }
}

pub unsafe fn alltoallv_init(
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
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::alltoallv(
            cx,
            Form::Kept(info, request),
            Blocks::new(sendbuf, sendcounts, sdispls, sendtype),
            Blocks::new(recvbuf, recvcounts, rdispls, recvtype),
            comm,
        )
    }
}

pub unsafe fn alltoallw_init(
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
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::alltoallw(
            cx,
            Form::Kept(info, request),
            Mixed::new(sendbuf, sendcounts, sdispls, sendtypes),
            Mixed::new(recvbuf, recvcounts, rdispls, recvtypes),
            comm,
        )
    }
}

pub unsafe fn reduce_init(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: c_int,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::reduce(
            cx,
            Form::Kept(info, request),
            Operands::new(sendbuf, recvbuf, datatype, op),
            count,
            root,
            comm,
        )
    }
}

pub unsafe fn allreduce_init(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::allreduce(cx, Form::Kept(info, request), Operands::new(sendbuf, recvbuf, datatype, op), count, comm)
    }
}

pub unsafe fn reduce_scatter_block_init(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::reduce_scatter_block(
            cx,
            Form::Kept(info, request),
            Operands::new(sendbuf, recvbuf, datatype, op),
            recvcount,
            comm,
        )
    }
}

pub unsafe fn reduce_scatter_init(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::reduce_scatter(
            cx,
            Form::Kept(info, request),
            Operands::new(sendbuf, recvbuf, datatype, op),
            recvcounts,
            comm,
        )
    }
}

pub unsafe fn scan_init(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::scan(cx, Form::Kept(info, request), Operands::new(sendbuf, recvbuf, datatype, op), count, comm)
    }
}

pub unsafe fn exscan_init(
    cx: &Call,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::exscan(cx, Form::Kept(info, request), Operands::new(sendbuf, recvbuf, datatype, op), count, comm)
    }
}
