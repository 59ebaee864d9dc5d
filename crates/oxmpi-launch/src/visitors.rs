//! Processes of other jobs that want to reach the ranks of this machine: the port where they are let in is opened when a
//! rank first asks for it. A process that was started without `mpirun` has a helper for that (`mpirun --helper FD`).

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::time::Instant;

use oxmpi_abi::constants::MPI_ERR_NAME;
use oxmpi_agent::door::{Door, Reach};
use oxmpi_agent::requests::{What, Wish};
use oxmpi_boot::helper::OPTION;
use oxmpi_boot::requests::{Answer, Stage};

use crate::hosts;
use crate::reach;
use crate::sys;
use crate::watch::Watch;

/// One turn for a job of this machine.
pub fn look_after(door: &mut Door, watch: &mut Watch, now: Instant) {
    for (slot, well) in watch.take_ended() {
        door.rank_ended(slot, well);
    }
    for wish in door.hear_ranks() {
        grant(door, wish);
    }
    door.work(now);
}

/// Carries out a request of a rank of a job of this machine.
fn grant(door: &mut Door, Wish { slot, what }: Wish) {
    let answer = match what {
        What::Listen { ticket } => Answer::Listening { ticket, at: listen(door, false, None, None) },
        What::Names { ticket, .. } => {
            Answer::Names { ticket, result: Err((MPI_ERR_NAME, "names of one machine need no mpirun".into())) }
        }
    };
    door.answer(slot, &answer);
}

/// Opens the port of this machine, unless it is open; where others find it.
pub fn listen(
    door: &mut Door,
    pretended: bool,
    range: Option<RangeInclusive<u16>>,
    interface: Option<&str>,
) -> Result<(u16, Vec<IpAddr>), String> {
    let addresses = reach::addresses(pretended, interface)?;
    if door.port().is_none() {
        let reach = if pretended { Reach::ThisMachine } else { Reach::Everyone };
        door.listen(&reach, range).map_err(|error| error.to_string())?;
    }
    Ok((door.port().unwrap_or(0), addresses))
}

/// Whether these are the arguments of a helper.
pub fn is_meant(arguments: &[std::ffi::OsString]) -> bool {
    arguments.first().is_some_and(|first| first == OPTION)
}

/// Serves one process until it has ended. Returns the exit status.
pub fn help(arguments: &[std::ffi::OsString]) -> i32 {
    let fd = arguments.get(1).and_then(|word| word.to_str()?.parse().ok());
    let Some(socket) = fd.and_then(sys::adopt_socket) else {
        eprintln!("mpirun: {OPTION} is for the MPI library alone");
        return 2;
    };
    match serve(socket) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("mpirun: a process cannot be helped: {error}");
            1
        }
    }
}

fn serve(socket: OwnedFd) -> std::io::Result<()> {
    let mut door = Door::new(&hosts::own_name());
    door.serve(0, vec![socket])?;
    let mut fds = Vec::new();
    loop {
        let now = Instant::now();
        for wish in door.hear_ranks() {
            grant(&mut door, wish);
        }
        if door.has_ended(0) {
            let well = door.stage(0) == Some(Stage::Finalized);
            door.rank_ended(0, well);
            return Ok(());
        }
        door.work(now);
        fds.clear();
        fds.extend(door.descriptors().map(|fd| sys::pollfd(fd, sys::POLLIN)));
        sys::poll(&mut fds, door.deadline(now).map(|at| at.saturating_duration_since(now)))?;
    }
}
