//! Nonblocking collective operations among neighbours.

use crate::args::Ints;
use crate::call::Call;
use crate::collective::{self, Block, Blocks, Form, Mixed};
use oxmpi_abi::Result;
use oxmpi_abi::handle::{Comm, Datatype, Request};
use oxmpi_abi::types::Aint;
use std::ffi::c_void;

pub unsafe fn ineighbor_allgather(
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
        collective::neighbor_allgather(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            comm,
        )
    }
}

pub unsafe fn ineighbor_allgatherv(
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
        collective::neighbor_allgatherv(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Blocks::new(recvbuf, recvcounts, displs, recvtype),
            comm,
        )
    }
}

pub unsafe fn ineighbor_alltoall(
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
        collective::neighbor_alltoall(
            cx,
            Form::Later(request),
            Block::new(sendbuf, sendcount, sendtype),
            Block::new(recvbuf, recvcount, recvtype),
            comm,
        )
    }
}

pub unsafe fn ineighbor_alltoallv(
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
        collective::neighbor_alltoallv(
            cx,
            Form::Later(request),
            Blocks::new(sendbuf, sendcounts, sdispls, sendtype),
            Blocks::new(recvbuf, recvcounts, rdispls, recvtype),
            comm,
        )
    }
}

pub unsafe fn ineighbor_alltoallw(
    cx: &Call,
    sendbuf: *const c_void,
    sendcounts: Ints,
    sdispls: *const Aint,
    sendtypes: *const Datatype,
    recvbuf: *mut c_void,
    recvcounts: Ints,
    rdispls: *const Aint,
    recvtypes: *const Datatype,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        collective::neighbor_alltoallw(
            cx,
            Form::Later(request),
            Mixed::new(sendbuf, sendcounts, Ints::wide(sdispls), sendtypes),
            Mixed::new(recvbuf, recvcounts, Ints::wide(rdispls), recvtypes),
            comm,
        )
    }
}
