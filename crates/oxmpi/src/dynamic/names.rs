//! Published names. A job of one machine publishes by itself; a job on several hosts through its `mpirun`, on the machine
//! where that runs.

use super::LOOK;
use oxmpi_abi::constants::MPI_ERR_OTHER;
use oxmpi_abi::{Error, Result};
use oxmpi_boot::desk::NameRequest;
use oxmpi_boot::names;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::process::Process;
use oxmpi_core::wait::waiting::Asking;
use std::time::{Duration, Instant};

/// Time for `mpirun` to answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn publish(call: &Call, guard: &mut Guard, service: &[u8], port: &[u8]) -> Result<()> {
    if is_on_hosts(guard) {
        let what = NameRequest::Publish { service: service.to_vec(), port: port.to_vec() };
        return ask(call, guard, what).map(drop);
    }
    guard.names.publish(service, port)
}

pub fn unpublish(call: &Call, guard: &mut Guard, service: &[u8], port: &[u8]) -> Result<()> {
    if is_on_hosts(guard) {
        let what = NameRequest::Unpublish { service: service.to_vec(), port: port.to_vec() };
        return ask(call, guard, what).map(drop);
    }
    guard.names.unpublish(service, port)
}

pub fn look_up(call: &Call, guard: &mut Guard, service: &[u8]) -> Result<Vec<u8>> {
    if is_on_hosts(guard) {
        return ask(call, guard, NameRequest::LookUp { service: service.to_vec() });
    }
    names::look_up(service)
}

/// Unpublishes all names of this process, which ends.
pub fn clear(guard: &mut Guard) {
    guard.names.clear();
    if is_on_hosts(guard) {
        // Nobody waits for the answer.
        let _ = guard.ask_names(NameRequest::Clear);
    }
}

fn is_on_hosts(guard: &Guard) -> bool {
    guard.engine.node().own_id().job.is_on_hosts()
}

fn ask(call: &Call, guard: &mut Guard, what: NameRequest) -> Result<Vec<u8>> {
    let ticket = guard.ask_names(what)?;
    let start = Instant::now();
    let late = Asking::new(LOOK, |_: &mut Process| {
        (start.elapsed() >= PATIENCE).then(|| Error::new(MPI_ERR_OTHER, "mpirun does not answer about published names"))
    });
    call.wait(guard, &late, |process| process.heard_names(ticket))?
}
