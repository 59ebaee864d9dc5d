//! Published names. With a name server, names go there; else a job of one machine publishes by itself, and a job on
//! several hosts through its `mpirun`, on the machine where that runs.

use super::LOOK;
use super::sockets::{INPUT, pause};
use oxmpi_abi::constants::{MPI_ERR_NAME, MPI_ERR_OTHER, MPI_ERR_SERVICE};
use oxmpi_abi::{Error, Result};
use oxmpi_base::socket;
use oxmpi_boot::handshake::End;
use oxmpi_boot::names;
use oxmpi_boot::nameserver::{self, NameAnswer, NameServer};
use oxmpi_boot::requests::NameRequest;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::process::Process;
use oxmpi_core::wait::waiting::Asking;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Time for `mpirun` or the name server to answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn publish(call: &Call, guard: &mut Guard, service: &[u8], port: &[u8]) -> Result<()> {
    match Keeper::find(guard, MPI_ERR_SERVICE)? {
        Keeper::Machine => guard.names.publish(service, port),
        keeper => {
            let what = NameRequest::Publish { service: service.to_vec(), port: port.to_vec() };
            keeper.ask(call, guard, what, MPI_ERR_SERVICE).map(drop)
        }
    }
}

pub fn unpublish(call: &Call, guard: &mut Guard, service: &[u8], port: &[u8]) -> Result<()> {
    match Keeper::find(guard, MPI_ERR_SERVICE)? {
        Keeper::Machine => guard.names.unpublish(service, port),
        keeper => {
            let what = NameRequest::Unpublish { service: service.to_vec(), port: port.to_vec() };
            keeper.ask(call, guard, what, MPI_ERR_SERVICE).map(drop)
        }
    }
}

pub fn look_up(call: &Call, guard: &mut Guard, service: &[u8]) -> Result<Vec<u8>> {
    match Keeper::find(guard, MPI_ERR_NAME)? {
        Keeper::Machine => names::look_up(service),
        keeper => keeper.ask(call, guard, NameRequest::LookUp { service: service.to_vec() }, MPI_ERR_NAME),
    }
}

/// Unpublishes all names of this process, which ends.
pub fn clear(guard: &mut Guard) {
    guard.names.clear();
    // The server forgets them with the connection.
    guard.name_server = None;
    if guard.engine.node().own_id().job.is_on_hosts() {
        // Nobody waits for the answer.
        let _ = guard.ask_names(NameRequest::Clear);
    }
}

/// Who keeps the names.
enum Keeper {
    /// The sockets of this machine.
    Machine,
    Mpirun,
    Server(NameServer),
}

impl Keeper {
    /// `class`: of the error, if the environment names a server that cannot be.
    fn find(guard: &Guard, class: i32) -> Result<Keeper> {
        match NameServer::from_env() {
            Err(text) => Err(Error::new(class, text)),
            Ok(Some(server)) => Ok(Keeper::Server(server)),
            Ok(None) if guard.engine.node().own_id().job.is_on_hosts() => Ok(Keeper::Mpirun),
            Ok(None) => Ok(Keeper::Machine),
        }
    }

    fn ask(self, call: &Call, guard: &mut Guard, what: NameRequest, class: i32) -> Result<Vec<u8>> {
        match self {
            Keeper::Server(server) => ask_server(call, guard, &server, what, class),
            Keeper::Mpirun | Keeper::Machine => ask_mpirun(call, guard, what),
        }
    }
}

fn ask_mpirun(call: &Call, guard: &mut Guard, what: NameRequest) -> Result<Vec<u8>> {
    let ticket = guard.ask_names(what)?;
    let start = Instant::now();
    let late = Asking::new(LOOK, |_: &mut Process| {
        (start.elapsed() >= PATIENCE).then(|| Error::new(MPI_ERR_OTHER, "mpirun does not answer about published names"))
    });
    call.wait(guard, &late, |process| process.heard_names(ticket))?
}

/// Asks the name server. The connection stays open, since published names end with it.
fn ask_server(call: &Call, guard: &mut Guard, server: &NameServer, what: NameRequest, class: i32) -> Result<Vec<u8>> {
    let fail = |why: String| Error::new(class, format!("the name server at {}: {why}", server.at));
    let bytes = nameserver::write(&what).map_err(|error| fail(error.to_string()))?;
    if let Some(connection) = guard.name_server.take()
        && let Ok(answer) = exchange(call, guard, &connection, bytes.clone())
    {
        guard.name_server = Some(connection);
        return answer.map_err(|(class, text)| Error::new(class, text));
    }
    // It was not asked before, or was started again since.
    let connection = connect(call, guard, server, class)?;
    let answer = exchange(call, guard, &connection, bytes).map_err(fail)?;
    guard.name_server = Some(connection);
    answer.map_err(|(class, text)| Error::new(class, text))
}

fn connect(call: &Call, guard: &mut Guard, server: &NameServer, class: i32) -> Result<OwnedFd> {
    let id = guard.engine.node().own_id();
    let own = End { node: id.node.number(), slot: id.slot.index() as u32 };
    let mut attempt = server.connect(id.job, own).map_err(|text| Error::new(class, text))?;
    let ready = attempt.readiness().as_raw_fd();
    let connected = call.wait_outside(guard, || attempt.step().transpose(), || pause(ready, INPUT));
    connected.map_err(|why| {
        let text = format!("the name server at {} cannot be reached, or has another key: {why}", server.at);
        Error::new(class, text)
    })
}

/// Sends a request and waits for its answer.
fn exchange(
    call: &Call,
    guard: &mut Guard,
    connection: &OwnedFd,
    request: Vec<u8>,
) -> std::result::Result<NameAnswer, String> {
    let (mut unsent, mut heard) = (request, Vec::new());
    let start = Instant::now();
    call.wait_outside(
        guard,
        || match step(connection, &mut unsent, &mut heard) {
            Ok(None) if start.elapsed() >= PATIENCE => Some(Err("it does not answer".into())),
            step => step.transpose(),
        },
        || pause(connection.as_raw_fd(), INPUT),
    )
}

fn step(
    connection: &OwnedFd,
    unsent: &mut Vec<u8>,
    heard: &mut Vec<u8>,
) -> std::result::Result<Option<NameAnswer>, String> {
    let is_late = |error: &std::io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
    if !unsent.is_empty() {
        match socket::send(connection.as_fd(), unsent) {
            Ok(count) => drop(unsent.drain(..count)),
            Err(error) if is_late(&error) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let mut buffer = [0; 4096];
    match socket::receive(connection.as_fd(), &mut buffer) {
        Ok(0) => return Err("it has closed the connection".into()),
        Ok(count) => heard.extend_from_slice(&buffer[..count]),
        Err(error) if is_late(&error) => {}
        Err(error) => return Err(error.to_string()),
    }
    let Some((head, body)) = heard.split_first_chunk::<4>() else { return Ok(None) };
    let length = nameserver::length(*head).ok_or("its answer makes no sense")?;
    if body.len() < length {
        return Ok(None);
    }
    nameserver::read(body).map(Some).ok_or_else(|| "its answer makes no sense".into())
}
