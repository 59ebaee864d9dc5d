//! Partitioned point-to-point communication.

use super::persistent::{keep, make};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status, bail};
use oxmpi_core::args::{Array, SourceArg, TargetArg};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check::{self, buffers::Use};
use oxmpi_core::engine::Engine;
use oxmpi_core::partitioned::Sending;
use oxmpi_core::request::{Active, Body, Start};
use std::ffi::c_int;
use std::sync::Arc;

/// The elements of all partitions.
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

pub fn psend_init(
    cx: &Call,
    buf: SourceArg<'static>,
    partitions: c_int,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    info: Info,
) -> Result<Request> {
    let mut guard = cx.enter()?;
    let route = guard.route(guard.comm(comm)?, dest, tag)?;
    let all = check_partitions(cx, partitions, buf.count, info)?;
    let classes = guard.classes_of(all, buf.datatype);
    // SAFETY: the buffer of a partitioned operation has `count` elements for each partition.
    let buf = guard.source_of(unsafe { buf.with_count(all) })?;
    let plan = guard.make_outgoing(comm, (buf, classes), partitions as usize, route)?;
    Ok(make(guard, comm, Start::Outgoing(Arc::new(plan))))
}

pub fn precv_init(
    cx: &Call,
    buf: TargetArg<'static>,
    partitions: c_int,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    info: Info,
) -> Result<Request> {
    let mut guard = cx.enter()?;
    let pattern = guard.pattern(guard.comm(comm)?, dest, tag)?;
    if dest == MPI_ANY_SOURCE {
        bail!(MPI_ERR_RANK, "the dest is MPI_ANY_SOURCE; a partitioned receive is from one rank");
    }
    if tag == MPI_ANY_TAG {
        bail!(MPI_ERR_TAG, "the tag is MPI_ANY_TAG; a partitioned receive needs one tag");
    }
    let all = check_partitions(cx, partitions, buf.count, info)?;
    let classes = guard.classes_of(all, buf.datatype);
    // SAFETY: the buffer of a partitioned operation has `count` elements for each partition.
    let buf = guard.target_of(unsafe { buf.with_count(all) })?;
    let start = match pattern {
        Some(pattern) => {
            keep(&mut guard, || Use::writes(cx.fun, (*buf).clone()));
            Start::Incoming(Arc::new(guard.make_incoming(comm, (buf, classes), partitions as usize, pattern)?))
        }
        None => Start::Nothing(Status::proc_null()),
    };
    Ok(make(guard, comm, start))
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
    let (found, _) = sending(&mut guard, request)?;
    found.check(partitions.clone())?;
    if check::is_on() {
        let parts: Vec<_> = partitions.clone().filter_map(|partition| found.part(partition as usize)).collect();
        parts.into_iter().for_each(|part| guard.bind_part(request.0, Use::reads(cx.fun, part)));
    }
    let (sending, engine) = sending(&mut guard, request)?;
    partitions.for_each(|partition| sending.mark(engine, partition as usize));
    Ok(())
}

pub fn pready(cx: &Call, partition: c_int, request: Request) -> Result<()> {
    mark(cx, request, std::iter::once(partition))
}

pub fn pready_range(cx: &Call, partition_low: c_int, partition_high: c_int, request: Request) -> Result<()> {
    if partition_low > partition_high {
        bail!(MPI_ERR_ARG, "the range of partitions from {partition_low} to {partition_high} is empty");
    }
    mark(cx, request, partition_low..=partition_high)
}

pub fn pready_list(cx: &Call, array_of_partitions: Array<c_int>, request: Request) -> Result<()> {
    let partitions = array_of_partitions.elements("array_of_partitions", "length", MPI_ERR_COUNT)?;
    let mut sorted = partitions.to_vec();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(MPI_ERR_ARG, "partition {} is in array_of_partitions twice", twice[0]);
    }
    mark(cx, request, partitions.iter().copied())
}

pub fn parrived(cx: &Call, request: Request, partition: c_int) -> Result<bool> {
    let mut guard = cx.enter()?;
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
                // Not started, or from `MPI_PROC_NULL`.
                (Start::Incoming(_) | Start::Nothing(_), _) => {}
                _ => bail!(MPI_ERR_REQUEST, "the request is not one of MPI_Precv_init"),
            },
            _ => bail!(MPI_ERR_REQUEST, "the request is not one of MPI_Precv_init"),
        }
        if !arrived {
            guard.yield_cpu_at_times();
        } else if check::is_on() {
            // The program may use what has arrived.
            guard.release_buffers(request.0);
        }
    }
    Ok(arrived)
}
