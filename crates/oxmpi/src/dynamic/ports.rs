//! Ports: processes that share no communicator connect here, and their two groups become an
//! intercommunicator.
//!
//! The connecting process sends a message to the owner of the port in a context for that purpose,
//! with the port's number as its tag. It is a synchronous message, so that it can be cancelled
//! until it is accepted. Accepting means receiving it. Then the two roots have a bridge, and the
//! rest is as in `MPI_Intercomm_create`. Between hosts the request is a connection (`contact.rs`).

use super::LOOK;
use super::contact::{self, Met};
use super::sockets::Socket;
use crate::comm;
use crate::ft;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Comm;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::Peer;
use oxmpi_core::agreement::Participants;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::comm::Comm as Made;
use oxmpi_core::connections::Port;
use oxmpi_core::contexts::{Joined, PORTS};
use oxmpi_core::engine::{BY_PROCESS, Mode, Outcome, Route};
use oxmpi_core::matching::Pattern;
use oxmpi_core::process::Process;
use oxmpi_core::ranks::Ranks;
use oxmpi_core::wait::waiting::Asking;
use oxmpi_datatype::{OwnedBytes, Signature};
use oxmpi_transport::tcp::Contact;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A check that a waiting root makes now and then: an error ends the wait.
pub type StillThere<'a> = &'a mut dyn FnMut() -> Result<()>;

/// The same with a look at this process's own group.
type MayWait<'a> = &'a mut dyn FnMut(&Process) -> Result<()>;

/// Distinguishes the connections that this process requests.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// Opens a port of this process and returns its name. `for_other_hosts`: as far as this process can be
/// reached from there; a job on several hosts always is.
pub fn open_port(call: &Call, guard: &mut Guard, for_other_hosts: bool) -> Result<String> {
    let owner = guard.engine.node().own_id();
    let Some(number) = guard.engine.node().open_port() else {
        bail!(MPI_ERR_NO_SPACE, "the processes of this job have opened all possible ports");
    };
    let mut far = None;
    if owner.job.is_on_hosts() || for_other_hosts {
        let opened = contact::be_reachable(call, guard).and_then(|at| Ok((guard.admit_to_port(number)?, at)));
        far = match opened {
            Ok(far) => Some(far),
            // It is still good for the processes of this machine.
            Err(_) if !owner.job.is_on_hosts() => None,
            Err(error) => {
                guard.engine.node().close_port(number);
                return Err(error);
            }
        };
    }
    Ok(Port { owner, number, far }.to_string())
}

/// Closes a port that this process opened.
pub fn close_port(guard: &mut Guard, name: &str) -> Result<()> {
    let Port { owner, number, .. } = parse(name)?;
    if owner != guard.engine.node().own_id() || !guard.engine.node().close_port(number) {
        bail!(MPI_ERR_PORT, "this process has no port \"{name}\" open");
    }
    guard.dismiss_port(number);
    Ok(())
}

/// Parses the name of a port.
pub fn parse(name: &str) -> Result<Port> {
    match name.parse() {
        Ok(port) => Ok(port),
        Err(_) => bail!(MPI_ERR_PORT, "\"{name}\" is not the name of a port (MPI_Open_port gives one)"),
    }
}

/// Waits for a group that [connects](connect). Collective over the intracommunicator `comm`;
/// `port`, which the root must own, and `still_there` are significant only at the root. An error at
/// the root is an error on all processes.
pub fn accept(
    call: &Call,
    guard: &mut Guard,
    port: &str,
    comm: Comm,
    root: usize,
    still_there: StillThere<'_>,
) -> Result<Comm> {
    let may_wait: MayWait<'_> = &mut |process| live(process, comm).and_then(|()| still_there());
    let bridge = is_root(guard, comm, root)?.then(|| await_request(call, guard, port, may_wait)).transpose();
    finish(call, guard, comm, root, bridge)
}

/// Joins the group that [accepts](accept) at a port; waits at most `patience`, if given. Otherwise
/// as [`accept`].
pub fn connect(
    call: &Call,
    guard: &mut Guard,
    port: &str,
    comm: Comm,
    root: usize,
    patience: Option<Duration>,
) -> Result<Comm> {
    let may_wait: MayWait<'_> = &mut |process| live(process, comm);
    let bridge = is_root(guard, comm, root)?.then(|| request(call, guard, port, patience, may_wait)).transpose();
    finish(call, guard, comm, root, bridge)
}

/// An error if a member of the own group has died, in a job that goes on: the others do not wait for the root then.
fn live(process: &Process, comm: Comm) -> Result<()> {
    let found = process.comm(comm)?;
    match process.dead_member(found).filter(|_| process.engine.node().goes_on()) {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// At a root that cannot take part in [`accept`] or [`connect`]: tells the others, and all get an
/// error.
pub fn refuse(call: &Call, guard: &mut Guard, comm: Comm, root: usize, error: Error) -> Result<Comm> {
    finish(call, guard, comm, root, Err(error))
}

fn is_root(guard: &Guard, comm: Comm, root: usize) -> Result<bool> {
    let found = guard.comm(comm)?;
    comm::check_intra(found)?;
    Ok(found.rank as usize == root)
}

/// Completes the connection: the roots are connected, or one of them failed.
fn finish(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    root: usize,
    bridge: Result<Option<Participants>>,
) -> Result<Comm> {
    let made = join_as_one(call, guard, comm, root, bridge);
    ft::all_or_none(call, guard, comm, made, |guard, made| {
        guard.remove_comm(made)?;
        guard.leave_foreign();
        Ok(())
    })
}

fn join_as_one(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    root: usize,
    bridge: Result<Option<Participants>>,
) -> Result<Comm> {
    let own = comm::own_peer(guard);
    let found = guard.comm_mut(comm)?;
    let group = found.group.clone();
    let near = found.participants(own)?.led_by(root);
    let Joined { context, far } = comm::join(call, guard, near, group.clone(), bridge)?;
    comm::add(guard, comm, context, far.into(), Some(group))
}

/// The connection between two processes. `number` is unique for this connection in the process
/// `asks`.
pub fn bridge(guard: &Guard, other: Peer, asks: ProcessId, number: u32) -> Participants {
    let node = guard.engine.node();
    let (own, others) = (node.own_id(), node.id_of(other));
    // Both may ask each other at the same time.
    let lower = asks == own.min(others);
    let tag = (number << 1) & i32::MAX as u32 | u32::from(lower);
    Participants::between(node.own(), other, PORTS + 1, tag as i32)
}

/// A number for [`bridge`].
pub fn next_number() -> u32 {
    ASKED.fetch_add(1, Ordering::Relaxed)
}

/// The first word that two processes exchange over a socket to join.
const HELLO: u64 = u64::from_le_bytes(*b"OxMPI-j2");
/// Words that have room for the name of a port.
const NAME_WORDS: usize = MPI_MAX_PORT_NAME as usize / 8;

/// Joins the process at the other end of a socket; `MPI_COMM_NULL` when one of the two cannot reach
/// the other. Afterwards the socket has no bytes in flight, as before.
pub fn join(call: &Call, guard: &mut Guard, socket: &Socket) -> Result<Comm> {
    let own = guard.engine.node().own_id();
    let number = next_number();
    let [inode, held, host, place] = own.words();
    let [hello, inode, held, host, place, theirs] =
        socket.exchange(call, guard, [HELLO, inode, held, host, place, u64::from(number)])?;
    let Some(other) = ProcessId::from_words(&[inode, held, host, place]).filter(|_| hello == HELLO) else {
        bail!(MPI_ERR_OTHER, "the data from the socket does not come from an MPI_Comm_join of OxMPI");
    };
    if other == own {
        bail!(MPI_ERR_OTHER, "the process at the other end of the socket is this process itself");
    }
    guard.joining += 1;
    let joined = meet_at(call, guard, socket, other, number, theirs as u32).and_then(|bridge| match bridge {
        Some(bridge) => {
            let local: Ranks = vec![comm::own_peer(guard)].into();
            let near = Participants { members: local.clone(), rank: 0, context: PORTS + 1, tag: 0 };
            comm::join(call, guard, near, local, Ok(Some(bridge))).map(Some)
        }
        None => Ok(None),
    });
    guard.joining -= 1;
    let Some(Joined { context, far }) = joined? else {
        guard.leave_foreign();
        return Ok(MPI_COMM_NULL);
    };
    // The handler and the session are those of MPI_COMM_SELF, if it exists.
    let errhandler =
        if guard.comms.has_world { guard.comms.own.errhandler } else { call.library().initial_errhandler() };
    call.library().errhandlers().share(errhandler);
    let local = vec![comm::own_peer(guard)].into();
    guard.add_comm(Made::new(context, 0, far.into(), Some(local), errhandler))
}

/// Connects this process with the one at the other end of a socket; `None` if one cannot reach the
/// other. `number`, `theirs`: numbers for the connection, of this process and of the other.
fn meet_at(
    call: &Call,
    guard: &mut Guard,
    socket: &Socket,
    other: ProcessId,
    number: u32,
    theirs: u32,
) -> Result<Option<Participants>> {
    let own = guard.engine.node().own_id();
    if own.job != other.job && !guard.engine.node().shares_machine(&other.job) {
        return meet_afar(call, guard, socket, own < other);
    }
    let found = guard.engine.peer_at(other);
    let reached = socket.exchange(call, guard, [u64::from(found.is_ok())])?;
    match (found, reached) {
        // Both use the number of the process with the lower id.
        (Ok(peer), [1]) => {
            let number = if own < other { number } else { theirs };
            Ok(Some(bridge(guard, peer, own.min(other), number)))
        }
        _ => Ok(None),
    }
}

/// The same between hosts: the lower process opens a port, tells its name through the socket, and
/// accepts.
fn meet_afar(call: &Call, guard: &mut Guard, socket: &Socket, accepts: bool) -> Result<Option<Participants>> {
    let opened = if accepts { open_port(call, guard, true).ok() } else { None };
    let mut bytes = opened.clone().unwrap_or_default().into_bytes();
    bytes.resize(8 * NAME_WORDS, 0);
    let words: [u64; NAME_WORDS] =
        std::array::from_fn(|at| bytes[8 * at..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)));
    let heard = socket.exchange(call, guard, words);
    let name = match &opened {
        Some(name) => name.clone(),
        None => {
            let bytes: Vec<u8> = heard.clone()?.iter().flat_map(|word| word.to_ne_bytes()).collect();
            String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
        }
    };
    let met = match heard {
        Err(error) => Err(error),
        Ok(_) if name.is_empty() => Ok(None),
        Ok(_) if accepts => await_request(call, guard, &name, &mut |_| Ok(())).map(Some),
        Ok(_) => request(call, guard, &name, Some(JOIN_PATIENCE), &mut |_| Ok(())).map(Some),
    };
    if let Some(name) = opened {
        close_port(guard, &name)?;
    }
    met
}

/// Time for the other process of `MPI_Comm_join` to accept; it is in the same call.
const JOIN_PATIENCE: Duration = Duration::from_secs(60);

/// At the accepting root: waits for a connection request.
fn await_request(call: &Call, guard: &mut Guard, name: &str, may_wait: MayWait<'_>) -> Result<Participants> {
    let port = parse(name)?;
    let is_open = |process: &Process| process.engine.node().is_port_open(process.engine.node().own(), port.number);
    if port.owner != guard.engine.node().own_id() || !is_open(guard) {
        bail!(MPI_ERR_PORT, "this process has no port \"{name}\" open");
    }
    guard.leave_foreign();
    // The connecting process is known before any object names it.
    guard.joining += 1;
    let asked = await_any(call, guard, name, port.number, may_wait);
    guard.joining -= 1;
    asked
}

/// A request: by a message, or by a first contact from another host.
enum Request {
    Message(Outcome),
    Contact(Contact),
}

/// Takes the next request at an open port, unless its process has died in the meantime.
fn await_any(call: &Call, guard: &mut Guard, name: &str, number: u32, may_wait: MayWait<'_>) -> Result<Participants> {
    let is_open = |process: &Process| process.engine.node().is_port_open(process.engine.node().own(), number);
    let pattern = Pattern { context: PORTS, source: MPI_ANY_SOURCE, tag: number as i32 };
    loop {
        let mut word = OwnedBytes::zeroed(8);
        // SAFETY: the word lives until the end of this iteration, when the receive has ended or was
        // cancelled.
        let op = guard.engine.recv(pattern, unsafe { word.lend_to_write() });
        let what = Asking::new(LOOK, |process: &mut Process| match may_wait(process) {
            Ok(()) if is_open(process) => None,
            Ok(()) => Some(Error::new(MPI_ERR_PORT, format!("the port \"{name}\" was closed while this call waited"))),
            Err(error) => Some(error),
        });
        let came = call.wait(guard, &what, |process| match process.engine.take_outcome(op) {
            Some(outcome) => Some(Request::Message(outcome)),
            None => process.engine.take_contact(number).map(Request::Contact),
        });
        let outcome = match came {
            Ok(Request::Message(outcome)) => outcome,
            other => {
                guard.engine.cancel_recv(op);
                match (guard.engine.take_outcome(op), other) {
                    // A message has come at the last moment.
                    (Some(outcome), other) if !outcome.status.is_cancelled() => {
                        if let Ok(Request::Contact(contact)) = other {
                            guard.engine.return_contact(contact);
                        }
                        outcome
                    }
                    (_, Err(error)) => return Err(error),
                    (_, Ok(Request::Contact(contact))) => match contact::accept(call, guard, contact) {
                        Some(Met { peer, attempt }) => {
                            let asks = guard.engine.node().id_of(peer);
                            return Ok(bridge(guard, peer, asks, attempt));
                        }
                        None => continue,
                    },
                    (_, Ok(Request::Message(outcome))) => outcome,
                }
            }
        };
        let Some(from) = Peer::from_source(outcome.status.source) else { continue };
        guard.look_for_dead();
        if guard.engine.node().has_ended(from) {
            continue;
        }
        let asks = guard.engine.node().id_of(from);
        let sent = word.as_slice().first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)) as u32;
        return Ok(bridge(guard, from, asks, sent));
    }
}

/// At the connecting root: asks the owner of a port until it accepts.
fn request(
    call: &Call,
    guard: &mut Guard,
    name: &str,
    patience: Option<Duration>,
    may_wait: MayWait<'_>,
) -> Result<Participants> {
    let port = parse(name)?;
    let (asks, owner) = (guard.engine.node().own_id(), port.owner);
    if owner == asks {
        bail!(MPI_ERR_PORT, "the port \"{name}\" is this process's own; it cannot connect with itself");
    }
    guard.leave_foreign();
    let is_near = match owner.job == asks.job {
        true => owner.node == asks.node,
        false => guard.engine.node().shares_machine(&owner.job),
    };
    if !is_near {
        guard.joining += 1;
        let met = contact::call_at(call, guard, name, &port, patience);
        guard.joining -= 1;
        return met.map(|Met { peer, attempt }| bridge(guard, peer, asks, attempt));
    }
    let peer = match guard.engine.peer_at(owner) {
        Ok(peer) => peer,
        Err(error) => bail!(MPI_ERR_PORT, "the process that opened the port \"{name}\" cannot be reached: {error}"),
    };
    // Until an object names the owner.
    guard.joining += 1;
    let asked = ask(call, guard, name, (peer, port.number), patience, may_wait);
    guard.joining -= 1;
    if asked.is_err() {
        guard.leave_foreign();
    }
    asked.map(|attempt| bridge(guard, peer, asks, attempt))
}

/// The error for a port that is closed, or whose host or owner cannot be reached.
pub(super) fn not_open(name: &str, why: &str) -> Error {
    let text = format!("the port \"{name}\" is not open: it was closed, never existed, or cannot be reached ({why})");
    Error::new(MPI_ERR_PORT, text)
}

/// The error after a time in which the owner of a port did not accept.
pub(super) fn nobody_accepted(name: &str, late: Duration) -> Error {
    let text = format!(
        "no process accepted at the port \"{name}\" within {} seconds (the info key timeout sets how long to wait)",
        late.as_secs_f64()
    );
    Error::new(MPI_ERR_PORT, text)
}

/// The number of the attempt, once it is accepted.
fn ask(
    call: &Call,
    guard: &mut Guard,
    name: &str,
    (peer, port): (Peer, u32),
    patience: Option<Duration>,
    may_wait: MayWait<'_>,
) -> Result<u32> {
    let is_open = |process: &mut Process| {
        process.look_for_dead();
        let node = process.engine.node();
        node.is_port_open(peer, port) && !node.has_left(peer)
    };
    let closed =
        || Error::new(MPI_ERR_PORT, format!("the port \"{name}\" is not open: it was closed, or never existed"));
    if !is_open(guard) {
        return Err(closed());
    }
    let attempt = next_number();
    let word = OwnedBytes::from(&u64::from(attempt).to_ne_bytes()[..]);
    let route = Route { peer, context: PORTS, source: BY_PROCESS, tag: port as i32, signature: Signature::NONE };
    let start = Instant::now();
    // SAFETY: the word lives until the end of this function, when the send has ended or was
    // cancelled.
    let buf = unsafe { word.lend() };
    let Some(op) = guard.engine.send(Mode::Synchronous, &route, buf) else { return Ok(attempt) };
    let what = Asking::new(patience.unwrap_or(LOOK).min(LOOK), |process: &mut Process| {
        if let Err(error) = may_wait(process) {
            return Some(error);
        }
        if !is_open(process) {
            return Some(closed());
        }
        let late = patience.filter(|&patience| start.elapsed() >= patience)?;
        Some(nobody_accepted(name, late))
    });
    let ended = call.wait(guard, &what, |process| process.engine.take_outcome(op));
    let Err(error) = ended else { return Ok(attempt) };
    guard.engine.cancel_send(op);
    match guard.engine.take_outcome(op) {
        Some(outcome) if outcome.status.is_cancelled() => Err(error),
        Some(_) => Ok(attempt),
        // Accepted at the last moment: the word must stay until the other side has received it.
        None => {
            call.wait_op(guard, op);
            Ok(attempt)
        }
    }
}
