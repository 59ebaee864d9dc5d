//! The port of this machine, where processes of other jobs and hosts reach the ranks. For a job of one machine it is opened
//! when a rank first asks for it. A process that was started without `mpirun` has a helper for that (`mpirun --helper FD`).

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use oxmpi_abi::constants::MPI_ERR_NAME;
use oxmpi_agent::door::{Door, Reach};
use oxmpi_agent::one_sided::Workers;
use oxmpi_agent::requests::{RankRequest, RequestKind};
use oxmpi_base::address::JobId;
use oxmpi_base::limits;
use oxmpi_boot::helper::{OPTION, read_segment};
use oxmpi_boot::requests::{Answer, Stage};

use crate::hosts;
use crate::reach::{self, Listening};
use crate::sys;
use crate::watch::Watch;

/// One turn for a job of this machine.
pub fn serve_job(door: &mut Door, workers: &mut Workers, watch: &mut Watch, listening: &Listening, now: Instant) {
    for (slot, well) in watch.take_ended() {
        door.rank_ended(slot, well);
    }
    for request in door.hear_ranks() {
        carry_out(door, listening, request);
    }
    door.work(now);
    serve_windows(door, workers);
}

/// Gives connections for one-sided work to the threads that do it. A caller that is not served sees the end of its
/// connection.
fn serve_windows(door: &mut Door, workers: &mut Workers) {
    for caller in door.take_one_sided() {
        if let Err(error) = workers.serve(caller) {
            eprintln!("mpirun: one-sided requests cannot be served: {}", limits::explain(&error));
        }
    }
}

/// Carries out a request of a rank of a job of this machine.
fn carry_out(door: &mut Door, listening: &Listening, RankRequest { slot, kind }: RankRequest) {
    let answer = match kind {
        RequestKind::Listen { ticket } => Answer::Listening { ticket, at: listen_for_jobs(door, listening) },
        // A job of one machine has no other nodes.
        RequestKind::Vote { .. }
        | RequestKind::Revoke { .. }
        | RequestKind::Abort { .. }
        | RequestKind::LinkBroken { .. } => return,
        RequestKind::ConnectBack { number, .. } => return door.give_up(number, "there is no other node"),
        RequestKind::Names { ticket, .. } => {
            Answer::Names { ticket, result: Err((MPI_ERR_NAME, "names of one machine need no mpirun".into())) }
        }
    };
    door.answer(slot, &answer);
}

/// Opens the port of a machine whose job is there alone, unless it is open; where other jobs find it. The name of an MPI
/// port must be good on other hosts, too, so only an interface that the user names is a reason to listen on less than all.
fn listen_for_jobs(door: &mut Door, listening: &Listening) -> Result<(u16, Vec<IpAddr>), String> {
    let mut addresses = reach::addresses(false, listening.interface.as_deref())?;
    let reach = match &listening.interface {
        Some(_) => {
            addresses.truncate(1);
            Reach::Address(addresses[0])
        }
        None => Reach::Everyone,
    };
    open(door, &reach, listening)?;
    Ok((door.port().unwrap_or(0), addresses))
}

/// Opens the port of a node of a job on several hosts, unless it is open; where others find it.
pub fn listen(door: &mut Door, pretended: bool, listening: &Listening) -> Result<(u16, Vec<IpAddr>), String> {
    let addresses = reach::addresses(pretended, listening.interface.as_deref())?;
    let reach = if pretended { Reach::ThisMachine } else { Reach::Everyone };
    open(door, &reach, listening)?;
    Ok((door.port().unwrap_or(0), addresses))
}

fn open(door: &mut Door, reach: &Reach, listening: &Listening) -> Result<(), String> {
    if door.port().is_some() {
        return Ok(());
    }
    let range = listening.port_range.map(|(first, last)| first..=last);
    door.listen(reach, range).map_err(|error| error.to_string())
}

/// Whether these are the arguments of a helper.
pub fn is_meant(arguments: &[std::ffi::OsString]) -> bool {
    arguments.first().is_some_and(|first| first == OPTION)
}

/// Serves one process until it has ended. Returns the exit status.
pub fn help(arguments: &[std::ffi::OsString], listening: &Listening) -> i32 {
    let fd = arguments.get(1).and_then(|word| word.to_str()?.parse().ok());
    let job = arguments.get(2).and_then(|word| read_segment(word.to_str()?));
    let (Some(socket), Some(job)) = (fd.and_then(sys::adopt_socket), job) else {
        eprintln!("mpirun: {OPTION} is for the MPI library alone");
        return 2;
    };
    match serve(socket, job, listening) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("mpirun: a process cannot be helped: {error}");
            1
        }
    }
}

fn serve(socket: OwnedFd, job: JobId, listening: &Listening) -> std::io::Result<()> {
    let mut workers = Workers::of(Box::new(move || job.open().map(Arc::new)));
    let mut door = Door::new(&hosts::own_name());
    door.serve(0, vec![socket])?;
    let mut fds = Vec::new();
    loop {
        let now = Instant::now();
        for request in door.hear_ranks() {
            carry_out(&mut door, listening, request);
        }
        if door.has_ended(0) {
            let well = door.stage(0) == Some(Stage::Finalized);
            door.rank_ended(0, well);
            return Ok(());
        }
        door.work(now);
        serve_windows(&mut door, &mut workers);
        fds.clear();
        fds.extend(door.descriptors().map(|fd| sys::pollfd(fd, sys::POLLIN)));
        sys::poll(&mut fds, door.deadline(now).map(|at| at.saturating_duration_since(now)))?;
    }
}
