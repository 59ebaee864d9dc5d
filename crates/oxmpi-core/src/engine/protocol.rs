//! How a message begins, decided once: by its mode and length, by what the link to its receiver can do, and by what the
//! receiver can still store.
//!
//! Nothing here sends. `send.rs` asks; `OXMPI_EXPLAIN` tells the answers with their reasons, each once for a pair.

use crate::explain;
use oxmpi_transport::{Bulk, Caps, INLINE_BYTES, NodeMemory, Peer, Why};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Standard, ready and (from a buffer that the caller provides) buffered mode.
    Standard,
    /// Completes only after the receiver has started to receive.
    Synchronous,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    /// All bytes go in one cache line, whatever the receiver does.
    Inline,
    /// The bytes go at once, whatever the receiver does.
    Eager,
    /// The message is announced, and its bytes stay with the sender until it is received.
    Offer,
    /// It is announced, and its few bytes travel with the announcement.
    OfferWithBytes,
}

/// Whether the bytes fit beside the head of a packet.
#[inline(always)]
pub(super) fn is_inline(bytes: usize) -> bool {
    bytes <= INLINE_BYTES
}

/// `pressed`: whether the receiver stores so many bytes of ours that it wants to be asked; only looked at where it counts.
#[inline]
pub(super) fn protocol(caps: &Caps, mode: Mode, bytes: usize, pressed: impl FnOnce() -> bool) -> (Protocol, Why) {
    match mode {
        Mode::Synchronous => (offered(caps, bytes, false), "synchronous mode waits for the receive"),
        Mode::Standard if bytes > caps.eager => {
            (offered(caps, bytes, false), "it is longer than the eager limit of the link")
        }
        Mode::Standard if pressed() => {
            (offered(caps, bytes, true), "its receiver stores as many of our messages as it wants to")
        }
        Mode::Standard if is_inline(bytes) => (Protocol::Inline, "it fits into one cache line"),
        Mode::Standard => (Protocol::Eager, "it is short, so its receiver need not be asked"),
    }
}

/// How a message is announced.
#[inline]
pub(super) fn offered(caps: &Caps, bytes: usize, pressed: bool) -> Protocol {
    let with_bytes = if pressed { caps.with_bytes_pressed } else { caps.with_bytes };
    if bytes <= with_bytes { Protocol::OfferWithBytes } else { Protocol::Offer }
}

impl Protocol {
    fn describe(self) -> &'static str {
        match self {
            Protocol::Inline => "at once, in one cache line",
            Protocol::Eager => "eager",
            Protocol::Offer => "offered (rendezvous)",
            Protocol::OfferWithBytes => "offered with its bytes",
        }
    }
}

/// Tells how messages to a peer begin, each way once.
#[cold]
pub(super) fn explain_message(node: &NodeMemory, peer: Peer, bytes: usize, (protocol, why): (Protocol, Why)) {
    let what = format!("messages to {}", name(node, peer));
    explain::of_process(node.nodes().own().index(), &what, why, || format!("{bytes} bytes, {}", protocol.describe()));
}

/// Tells how the bytes of offers come from a peer, each way once.
#[cold]
pub(super) fn explain_bulk(node: &NodeMemory, peer: Peer, bytes: u64, (bulk, why): (Bulk, Why)) {
    let what = format!("long messages from {}", name(node, peer));
    let how = match bulk {
        Bulk::Copy => "copied directly by both sides",
        Bulk::Stream => "as packets",
    };
    explain::of_process(node.nodes().own().index(), &what, why, || format!("{bytes} bytes, {how}"));
}

/// Tells which link a pair uses and what its limits are, when the first packet is about to go.
#[cold]
pub(super) fn explain_link(node: &NodeMemory, peer: Peer, caps: &Caps) {
    if explain::is_on() {
        let what = format!("messages to {} go through {}", name(node, peer), caps.link);
        explain::of_process(
            node.nodes().own().index(),
            &what,
            "that is how the two processes reach each other",
            || format!("eager up to {} bytes, in one cache line up to {INLINE_BYTES}", caps.eager),
        );
    }
}

fn name(node: &NodeMemory, peer: Peer) -> String {
    match node.nodes().rank_of(peer) {
        Some(rank) => format!("process {rank}"),
        None => peer.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_transport::{Cut, Direct};

    const CAPS: Caps = Caps {
        link: "a test",
        part: 16384,
        eager: 8192,
        with_bytes: 4096,
        with_bytes_pressed: 64,
        cut: Cut { whole: 6144, first: 4096, next: 4096 },
        bulk: None,
        direct: Direct::Allowed,
    };

    #[test]
    fn short_messages_are_eager_unless_the_receiver_must_be_asked() {
        let of = |mode, bytes, pressed| protocol(&CAPS, mode, bytes, || pressed).0;
        assert_eq!(of(Mode::Standard, 0, false), Protocol::Inline);
        assert_eq!(of(Mode::Standard, INLINE_BYTES, false), Protocol::Inline);
        assert_eq!(of(Mode::Standard, INLINE_BYTES + 1, false), Protocol::Eager);
        assert_eq!(of(Mode::Standard, 8192, false), Protocol::Eager);
        assert_eq!(of(Mode::Standard, 8193, false), Protocol::Offer);
        assert_eq!(of(Mode::Standard, 8192, true), Protocol::Offer);
        assert_eq!(of(Mode::Standard, 64, true), Protocol::OfferWithBytes);
        assert_eq!(of(Mode::Standard, 65, true), Protocol::Offer);
        assert_eq!(of(Mode::Synchronous, 8, false), Protocol::OfferWithBytes);
        assert_eq!(of(Mode::Synchronous, 4096, true), Protocol::OfferWithBytes);
        assert_eq!(of(Mode::Synchronous, 4097, false), Protocol::Offer);
    }

    #[test]
    fn pressure_is_looked_at_only_where_it_counts() {
        let never = || unreachable!("it changes nothing");
        protocol(&CAPS, Mode::Synchronous, 8, never);
        protocol(&CAPS, Mode::Standard, 8193, never);
    }
}
