//! The first contact of two roots on different hosts. The one that connects calls at the port's host and proves the
//! secret in the port's name; the agent there hands the connection to the owner, where it waits until the owner accepts.
//! Then both say who they are and whether they know each other. If not, the connection becomes their link.
//!
//! Until both have confirmed, either can give up by closing the connection, and the other notices.

use super::LOOK;
use super::ports;
use super::sockets::{INPUT, Socket, pause};
use super::spawn::orphan::start_helper;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::Peer;
use oxmpi_boot::Reached;
use oxmpi_boot::handshake::End;
use oxmpi_boot::network::{Network, NodePort};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::connections::Port;
use oxmpi_core::process::Process;
use oxmpi_core::wait::waiting::Asking;
use oxmpi_transport::tcp::Contact;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The first word that both say.
const HELLO: u64 = u64::from_le_bytes(*b"OxMPI-p1");
/// The second exchange: both go on.
const GO: u64 = u64::from_le_bytes(*b"OxMPI-go");
/// Time for the agent of this node to say where it listens, and for a caller to say who it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// What both say of themselves: hello, process, number of the attempt, whether the other is known.
const WORDS: usize = ProcessId::WORDS + 3;

/// The other process of a contact, and the number of the attempt of the one that called.
pub struct Met {
    pub peer: Peer,
    pub attempt: u32,
}

/// From now on other hosts can reach this process; says where they find its node.
pub fn be_reachable(call: &Call, guard: &mut Guard) -> Result<NodePort> {
    if !guard.agent_socket.exists() && guard.appnum.is_none() {
        let job = guard.engine.node().own_id().job;
        let agent = start_helper(job)?;
        let cannot = |error: std::io::Error| Error::new(MPI_ERR_OTHER, format!("the helper cannot be used: {error}"));
        let mut network = Network::of_one_machine(job, End { node: 0, slot: 0 });
        network.ask_through(agent.try_clone().map_err(cannot)?);
        guard.use_agent(Reached { network, agent })?;
    }
    if let Some(ticket) = guard.ask_to_listen()? {
        let start = Instant::now();
        let what = Asking::new(LOOK, |_: &mut Process| {
            let text = "the agent of this node does not say where other hosts find it";
            (start.elapsed() >= PATIENCE).then(|| Error::new(MPI_ERR_OTHER, text))
        });
        call.wait(guard, &what, |process| process.heard_listening(ticket))??;
    }
    guard.here().ok_or_else(|| Error::new(MPI_ERR_OTHER, "where other hosts find this process is not known"))
}

/// Calls at a port and waits until its owner accepts.
pub fn call_at(call: &Call, guard: &mut Guard, name: &str, port: &Port, patience: Option<Duration>) -> Result<Met> {
    be_reachable(call, guard)?;
    let start = Instant::now();
    let mut check = || {
        let late = patience.filter(|&patience| start.elapsed() >= patience);
        late.map_or(Ok(()), |late| Err(ports::nobody_accepted(name, late)))
    };
    let connection = reach_owner(call, guard, name, port, &mut check)?;
    let attempt = ports::next_number();
    let closed = |error: Error| match error.class() {
        MPI_ERR_OTHER => ports::not_open(name, error.text()),
        _ => error,
    };
    let said = introduce(call, guard, &connection, port.owner, attempt, &mut check).map_err(closed)?;
    if said.id != port.owner {
        bail!(MPI_ERR_PORT, "the process that answers at the port \"{name}\" is not its owner");
    }
    let peer = go_on(call, guard, connection, &said, &mut check).map_err(closed)?;
    Ok(Met { peer, attempt })
}

/// Accepts a call; `None` when the caller has given up, or makes no sense.
pub fn accept(call: &Call, guard: &mut Guard, contact: Contact) -> Option<Met> {
    let Contact { from, connection, .. } = contact;
    let start = Instant::now();
    let mut check = || match start.elapsed() < PATIENCE {
        true => Ok(()),
        false => Err(Error::new(MPI_ERR_OTHER, "the caller says nothing")),
    };
    if from == guard.engine.node().own_id() {
        return None;
    }
    let said = introduce(call, guard, &connection, from, 0, &mut check).ok().filter(|said| said.id == from)?;
    let peer = go_on(call, guard, connection, &said, &mut check).ok()?;
    Some(Met { peer, attempt: said.attempt })
}

/// A proven connection to the owner of a port.
fn reach_owner(
    call: &Call,
    guard: &mut Guard,
    name: &str,
    port: &Port,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<OwnedFd> {
    let Some((secret, at)) = &port.far else {
        bail!(
            MPI_ERR_PORT,
            "the owner of the port \"{name}\" cannot be reached: its name is for the owner's machine, and this is another"
        );
    };
    let ProcessId { node, slot, .. } = port.owner;
    let owner = End { node: node.number(), slot: slot.index() as u32 };
    let begun = guard.agent_socket.network().map(|network| network.lock().contact(secret, at, owner));
    let cannot = |why: String| ports::not_open(name, &why);
    let mut attempt = begun.unwrap_or_else(|| Err("this process has no network".into())).map_err(cannot)?;
    let ready = attempt.readiness().as_raw_fd();
    let reached = call.wait_outside(
        guard,
        || match attempt.step() {
            Ok(Some(connection)) => Some(Ok(connection)),
            Ok(None) => check().err().map(Err),
            Err(why) => Some(Err(cannot(why))),
        },
        || pause(ready, INPUT),
    )?;
    Ok(reached)
}

/// What the other process says of itself.
struct Said {
    id: ProcessId,
    attempt: u32,
    /// Both have known each other before.
    is_known: bool,
}

fn introduce(
    call: &Call,
    guard: &mut Guard,
    connection: &OwnedFd,
    other: ProcessId,
    attempt: u32,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<Said> {
    let knows = guard.engine.node().is_known(other);
    let mut words = [HELLO; WORDS];
    words[1..=ProcessId::WORDS].copy_from_slice(&guard.engine.node().own_id().words());
    words[WORDS - 2..].copy_from_slice(&[u64::from(attempt), u64::from(knows)]);
    let heard = Socket::of(connection).exchange_while(call, guard, words, check)?;
    let id = ProcessId::from_words(&heard[1..=ProcessId::WORDS]);
    match (heard[0], id, u32::try_from(heard[WORDS - 2]), heard[WORDS - 1]) {
        (HELLO, Some(id), Ok(attempt), knows_us @ 0..=1) => Ok(Said { id, attempt, is_known: knows && knows_us == 1 }),
        _ => bail!(MPI_ERR_OTHER, "what it says of itself makes no sense"),
    }
}

/// Both have accepted each other. If both do not know each other, the connection becomes their link.
fn go_on(
    call: &Call,
    guard: &mut Guard,
    connection: OwnedFd,
    said: &Said,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<Peer> {
    let [go] = Socket::of(&connection).exchange_while(call, guard, [GO], check)?;
    if go != GO {
        bail!(MPI_ERR_OTHER, "it does not go on");
    }
    let cannot = |error: std::io::Error| Error::new(MPI_ERR_OTHER, error.to_string());
    if said.is_known {
        return guard.engine.peer_at(said.id).map_err(cannot);
    }
    let peer = guard.engine.meet(said.id, false);
    guard.engine.adopt(peer, connection).map_err(cannot)?;
    Ok(peer)
}
