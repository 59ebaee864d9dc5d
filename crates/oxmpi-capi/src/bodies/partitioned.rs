//! Partitioned point-to-point communication.

use super::persistent::make;
use super::topology::array;
use super::{check_place, store};
use crate::call::Call;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status, bail};
use oxmpi_core::engine::Engine;
use oxmpi_core::guard::Guard;
use oxmpi_core::partitioned::Sending;
use oxmpi_core::request::{Active, Body, Start};
use oxmpi_datatype::{Source, Target};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Elements of all partitions.
fn check_partitions(cx: &Call, partitions: c_int, count: i64, info: Info) -> Result<i64> {
    if partitions <= 0 {
        bail!(MPI_ERR_ARG, "the number of partitions is {partitions}; there must be at least one");
    }
    if info != MPI_INFO_NULL {
        cx.library().read_info(info, |_| Ok(()))?;
    }
    let Some(all) = count.checked_mul(i64::from(partitions)) else {
        bail!(MPI_ERR_COUNT, "{partitions} partitions of {count} elements are more than memory can hold");
    };
    Ok(all)
}

pub unsafe fn psend_init(
    cx: &Call,
    buf: *const c_void,
    partitions: c_int,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(request, "request")?;
    let route = guard.route(guard.comm(comm)?, dest, tag)?;
    let all = check_partitions(cx, partitions, count, info)?;
    let buf = guard.buffer(buf.cast(), all, datatype)?;
    // SAFETY: the program keeps the buffer of a partitioned operation while the request is active.
    let buf = unsafe { Source::new(buf) };
    let plan = guard.make_outgoing(comm, buf, partitions as usize, route)?;
    make(guard, comm, Start::Outgoing(Arc::new(plan)), request)
}

pub unsafe fn precv_init(
    cx: &Call,
    buf: *mut c_void,
    partitions: c_int,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
    info: Info,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(request, "request")?;
    let pattern = guard.pattern(guard.comm(comm)?, source, tag)?;
    if source == MPI_ANY_SOURCE {
        bail!(MPI_ERR_RANK, "the source is MPI_ANY_SOURCE; a partitioned receive is from one rank");
    }
    if tag == MPI_ANY_TAG {
        bail!(MPI_ERR_TAG, "the tag is MPI_ANY_TAG; a partitioned receive needs one tag");
    }
    let all = check_partitions(cx, partitions, count, info)?;
    let buf = guard.target(buf.cast(), all, datatype)?;
    // SAFETY: the program keeps the buffer of a partitioned operation while the request is active.
    let buf = unsafe { Target::new(buf) };
    let start = match pattern {
        Some(pattern) => Start::Incoming(Arc::new(guard.make_incoming(comm, buf, partitions as usize, pattern)?)),
        None => Start::Nothing(Status::proc_null()),
    };
    make(guard, comm, start, request)
}

/// The partitioned send that was started with a request.
fn sending<'g>(guard: &'g mut Guard, request: Request) -> Result<(&'g mut Sending, &'g mut Engine)> {
    guard.request(request)?;
    let oxmpi_core::process::Process { requests, engine, .. } = &mut **guard;
    match requests.get_mut(request.0).map(|found| &mut found.body) {
        Some(Body::Persistent(_, Some(Active::Sending(sending)))) => Ok((sending, engine)),
        Some(Body::Persistent(start, None)) if matches!(**start, Start::Outgoing(_)) => {
            bail!(MPI_ERR_REQUEST, "the partitioned send has not been started (MPI_Start)")
        }
        _ => bail!(MPI_ERR_REQUEST, "the request is not one of MPI_Psend_init"),
    }
}

fn mark(cx: &Call, request: Request, partitions: impl Iterator<Item = c_int> + Clone) -> Result<()> {
    let mut guard = cx.enter()?;
    let (sending, engine) = sending(&mut guard, request)?;
    sending.check(partitions.clone())?;
    partitions.for_each(|partition| sending.mark(engine, partition as usize));
    Ok(())
}

pub unsafe fn pready(cx: &Call, partition: c_int, request: Request) -> Result<()> {
    mark(cx, request, std::iter::once(partition))
}

pub unsafe fn pready_range(cx: &Call, low: c_int, high: c_int, request: Request) -> Result<()> {
    if low > high {
        bail!(MPI_ERR_ARG, "the range of partitions from {low} to {high} is empty");
    }
    mark(cx, request, low..=high)
}

pub unsafe fn pready_list(cx: &Call, length: c_int, partitions: *const c_int, request: Request) -> Result<()> {
    // SAFETY: as the standard asks of the caller.
    let partitions = unsafe { array(partitions, length, "array_of_partitions", "length", MPI_ERR_COUNT)? };
    let mut sorted = partitions.to_vec();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(MPI_ERR_ARG, "partition {} is in array_of_partitions twice", twice[0]);
    }
    mark(cx, request, partitions.iter().copied())
}

pub unsafe fn parrived(cx: &Call, request: Request, partition: c_int, flag: *mut c_int) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(flag, "flag")?;
    let mut arrived = true;
    if request != MPI_REQUEST_NULL {
        guard.request(request)?;
        cx.progress(&mut guard);
        let oxmpi_core::process::Process { requests, engine, .. } = &mut *guard;
        match requests.get(request.0).map(|found| &found.body) {
            Some(Body::Persistent(start, active)) => match (&**start, active) {
                (Start::Incoming(_), Some(Active::Receiving(receiving))) => {
                    arrived = oxmpi_core::partitioned::lock(receiving).has(engine, partition)?;
                }
                // Not started, or from nobody.
                (Start::Incoming(_) | Start::Nothing(_), _) => {}
                _ => bail!(MPI_ERR_REQUEST, "the request is not one of MPI_Precv_init"),
            },
            _ => bail!(MPI_ERR_REQUEST, "the request is not one of MPI_Precv_init"),
        }
        if !arrived {
            guard.yield_cpu_at_times();
        }
    }
    // SAFETY: checked.
    unsafe { store(flag, c_int::from(arrived), "flag") }
}
