//! Describes what a call waits for: with peer, tag and communicator, and the messages that have
//! arrived without a receive. For people; nothing depends on these texts.

use super::Waiting;
use crate::engine::{OpId, Pending, Route};
use crate::matching::Pattern;
use crate::process::Process;
use crate::request::{Active, Body};
use oxmpi_abi::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG};
use oxmpi_abi::handle::Request;
use oxmpi_base::ids::Peer;

/// How many requests and messages a text names.
const NAMED: usize = 3;

/// What a call waits for, and the messages that have arrived without a receive.
pub(super) fn whole(state: &Process, what: &dyn Waiting) -> String {
    let mut text = what.describe(state);
    if text.is_empty()
        && let Some(check) = what.collective()
    {
        text = check.place(state);
    }
    let unmatched = unmatched(state);
    if !unmatched.is_empty() {
        let space = if text.is_empty() { "" } else { " " };
        text = format!("{text}{space}(arrived, but not received: {unmatched})");
    }
    text
}

/// Messages of the program that have arrived without a receive.
fn unmatched(state: &Process) -> String {
    let mut named = Vec::new();
    let mut more = 0;
    for (envelope, bytes) in state.engine.unmatched() {
        // The library's own messages use contexts of no communicator.
        let Some(comm) = state.comm_of(envelope.context).filter(|comm| comm.context == envelope.context) else {
            continue;
        };
        if named.len() < NAMED {
            let unit = if bytes == 1 { "byte" } else { "bytes" };
            let (source, tag) = (envelope.source, envelope.tag);
            named.push(format!("from rank {source}, tag {tag}, on {}, {bytes} {unit}", comm.describe()));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named.join("; ")
}

pub(super) fn pattern(state: &Process, pattern: &Pattern) -> String {
    let Some(comm) = state.comm_of(pattern.context) else { return String::new() };
    if comm.context != pattern.context {
        return format!("on {}", comm.describe());
    }
    let source = match pattern.source {
        MPI_ANY_SOURCE => String::from("any rank"),
        rank => format!("rank {rank}"),
    };
    let tag = match pattern.tag {
        MPI_ANY_TAG => String::from("any tag"),
        tag => format!("tag {tag}"),
    };
    format!("from {source}, {tag}, on {}", comm.describe())
}

fn route(state: &Process, route: &Route) -> String {
    let Some(comm) = state.comm_of(route.context) else { return String::new() };
    match comm.group.position(route.peer) {
        Some(rank) if comm.context == route.context => {
            format!("to rank {rank}, tag {}, on {}", route.tag, comm.describe())
        }
        _ => format!("on {}", comm.describe()),
    }
}

pub(super) fn operation(state: &Process, op: OpId) -> String {
    match state.engine.pending(op) {
        Some(Pending::Send(found)) => route(state, &found),
        Some(Pending::Recv(found)) => pattern(state, &found),
        None => String::new(),
    }
}

pub(super) fn active(state: &Process, active: &Active) -> String {
    match active {
        Active::Send(op) => with_name("a send ", operation(state, *op)),
        Active::Recv(op) => with_name("a receive ", operation(state, *op)),
        Active::Exchange(exchange) => {
            let both = [exchange.recv, exchange.send].into_iter().flatten().map(|op| operation(state, op));
            both.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" and ")
        }
        Active::Promise(promise) => {
            let run = state.runs().iter().find(|run| run.keeps(promise));
            let comm = run.and_then(|run| state.comm_of(run.stage().comm_context()));
            comm.map_or_else(String::new, |comm| format!("a collective operation on {}", comm.describe()))
        }
        Active::File(access) => {
            state.file(access.file).map_or_else(|_| String::new(), |file| format!("an access to {}", file.describe()))
        }
        _ => String::new(),
    }
}

fn with_name(name: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("{name}{text}") }
}

/// The first requests that are not complete.
pub(super) fn requests(state: &Process, requests: &[Request]) -> String {
    let texts = requests.iter().filter_map(|request| match &state.requests.get(request.0)?.body {
        Body::Once(found) | Body::Persistent(_, Some(found)) => Some(active(state, found)),
        _ => None,
    });
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        return String::new();
    }
    let more = match texts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("for {}{more}", texts[..texts.len().min(NAMED)].join(", "))
}

/// A process in an operation on the communicator of a context.
pub(super) fn member(state: &Process, peer: Peer, context: u32) -> String {
    let Some(comm) = state.comm_of(context) else { return String::new() };
    match comm.group.position(peer) {
        Some(rank) => format!("for rank {rank}, on {}", comm.describe()),
        None => format!("on {}", comm.describe()),
    }
}
