//! Describes what a call waits for: with peer, tag and communicator, and the messages that have
//! arrived without a receive. For people; nothing depends on these texts.

use super::Waiting;
use crate::comm::Comm;
use crate::engine::{OpId, Pending, Route};
use crate::matching::Pattern;
use crate::partitioned;
use crate::process::Process;
use crate::request::{Active, Body};
use oxmpi_abi::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG};
use oxmpi_abi::handle::Request;
use oxmpi_base::ids::{Peer, Rank};
use std::collections::BTreeSet;

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

/// A communicator; one without a name with its context, which is the same on all ranks.
pub(super) fn comm(comm: &Comm) -> String {
    let text = comm.describe();
    if comm.name.is_empty() { format!("{text} (context {})", comm.context) } else { text }
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
            named.push(format!("from rank {source}, tag {tag}, on {}, {bytes} {unit}", self::comm(comm)));
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
        return format!("on {}", self::comm(comm));
    }
    let source = match pattern.source {
        MPI_ANY_SOURCE => String::from("any rank"),
        rank => format!("rank {rank}"),
    };
    let tag = match pattern.tag {
        MPI_ANY_TAG => String::from("any tag"),
        tag => format!("tag {tag}"),
    };
    format!("from {source}, {tag}, on {}", self::comm(comm))
}

fn route(state: &Process, route: &Route) -> String {
    let Some(comm) = state.comm_of(route.context) else { return String::new() };
    match comm.group.position(route.peer) {
        Some(rank) if comm.context == route.context => {
            format!("to rank {rank}, tag {}, on {}", route.tag, self::comm(comm))
        }
        _ => format!("on {}", self::comm(comm)),
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
            comm.map_or_else(String::new, |comm| format!("a collective operation on {}", self::comm(comm)))
        }
        Active::File(access) => {
            state.file(access.file).map_or_else(|_| String::new(), |file| format!("an access to {}", file.describe()))
        }
        Active::Sending(sending) => {
            let (unmarked, all) = sending.unmarked();
            format!("a partitioned send, of which {unmarked} of {all} partitions are not marked ready")
        }
        Active::Receiving(receiving) => {
            let (context, rank) = partitioned::lock(receiving).sender();
            let comm = state.comm_of(context).map_or_else(String::new, |comm| format!(" on {}", self::comm(comm)));
            format!("a partitioned receive from rank {rank}{comm}")
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
        Some(rank) => format!("for rank {rank}, on {}", self::comm(comm)),
        None => format!("on {}", self::comm(comm)),
    }
}

/// Messages of this rank that have not been received.
pub(super) fn receivers(state: &Process) -> String {
    let peers: BTreeSet<Peer> = state.engine.awaited_receivers().collect();
    let ranks = peers.iter().filter_map(|&peer| state.engine.node().nodes().rank_of(peer));
    let ranks: Vec<String> = ranks.take(NAMED).map(|rank| rank.to_string()).collect();
    match ranks.len() {
        0 => String::new(),
        1 => format!("until rank {} of MPI_COMM_WORLD receives a message", ranks[0]),
        _ => format!("until ranks {} of MPI_COMM_WORLD receive messages", ranks.join(", ")),
    }
}

// ---- messages that are nearly what a receive waits for ----

pub(super) fn near_miss_of(state: &Process, op: OpId) -> String {
    match state.engine.pending(op) {
        Some(Pending::Recv(pattern)) => near_miss(state, &pattern),
        _ => String::new(),
    }
}

pub(super) fn near_miss_of_active(state: &Process, active: &Active) -> String {
    match active {
        Active::Recv(op) => near_miss_of(state, *op),
        Active::Exchange(exchange) => exchange.recv.map_or_else(String::new, |op| near_miss_of(state, op)),
        _ => String::new(),
    }
}

/// The first of some requests that has one.
pub(super) fn near_miss_of_requests(state: &Process, requests: &[Request]) -> String {
    let hints = requests.iter().take(MOST_COMPARED).filter_map(|request| match &state.requests.get(request.0)?.body {
        Body::Once(found) | Body::Persistent(_, Some(found)) => Some(near_miss_of_active(state, found)),
        _ => None,
    });
    hints.into_iter().find(|hint| !hint.is_empty()).unwrap_or_default()
}

/// Requests that are compared with messages.
const MOST_COMPARED: usize = 64;

/// A message that has arrived and differs from what a receive waits for only in its tag, its source or its communicator. It
/// follows the name of the rank.
pub(super) fn near_miss(state: &Process, pattern: &Pattern) -> String {
    let of = |context: u32| state.comm_of(context).filter(|comm| comm.context == context);
    let Some(comm) = of(pattern.context) else { return String::new() };
    let sender = usize::try_from(pattern.source).ok().filter(|&rank| rank < comm.group.len());
    let sender = sender.map(|rank| comm.group.peer(Rank::new(rank)));
    let mut best: Option<(u8, String)> = None;
    for (envelope, bytes) in state.engine.unmatched().take(MOST_MESSAGES) {
        let Some(theirs) = of(envelope.context) else { continue };
        let is_here = envelope.context == pattern.context;
        let is_tag = pattern.tag == MPI_ANY_TAG || pattern.tag == envelope.tag;
        let from = usize::try_from(envelope.source).ok().filter(|&rank| rank < theirs.group.len());
        let from = from.map(|rank| theirs.group.peer(Rank::new(rank)));
        let is_source = sender.is_none() || sender == from;
        let other = format!("rank {} sent", envelope.source);
        let length = format!("{bytes} bytes, not received");
        let (weight, but) = match (is_here, is_source, is_tag) {
            (true, true, false) => (3, format!("{other} tag {} ({length})", envelope.tag)),
            (false, true, true) => (2, format!("{other} it on {} ({length})", self::comm(theirs))),
            (true, false, true) => (1, format!("{other} that tag ({length})")),
            _ => continue,
        };
        if best.as_ref().is_none_or(|(known, _)| weight > *known) {
            best = Some((weight, but));
        }
    }
    let Some((_, but)) = best else { return String::new() };
    let tag = if pattern.tag == MPI_ANY_TAG { "any tag".into() } else { format!("tag {}", pattern.tag) };
    let source = if sender.is_none() { "any rank".into() } else { format!("rank {}", pattern.source) };
    format!("waits for {tag} from {source} on {}, but {but}", self::comm(comm))
}

/// Messages that are compared: a flood of them says nothing.
const MOST_MESSAGES: usize = 10_000;
