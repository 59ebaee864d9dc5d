//! Long and synchronous messages: the sender offers one and keeps its bytes until a receiver claims
//! it. The link decides how the bytes move then; this module hides that from the engine.
//!
//! ```text
//! sending.rs     the sender's side: offer, withdraw, and what its part in moving the bytes is
//! receiving.rs   the receiver's side: claim, and how the bytes get into its buffer
//! own_offers.rs   the offer cells of this process
//! pieces.rs      which bytes of the other side belong to which of ours, where there are gaps
//! ```
//!
//! Between processes that share memory an offer has an offer cell (`oxmpi_base::offer_cell`):
//! exactly one of claim and withdraw wins on it, and both sides copy directly between the two
//! processes. Without shared memory the receiver owns the offer: a sender that withdraws must ask,
//! and the bytes come as packets. An operation of the engine owns the state of its transfer and
//! passes it to every call, together with the memory to move; nothing here stores it.

pub(crate) mod own_offers;
mod pieces;
mod receiving;
mod sending;

pub use pieces::RemoteRegion;
pub use receiving::{Begun, RecvTransfer, RemoteOffer};
pub use sending::{Answer, SendTransfer, Withdrawal};

use crate::end::Full;
use crate::outgoing::Outgoing;
use crate::packet::{CONTROL_WORDS, Head, Packet};
use oxmpi_base::ids::Peer;

pub use crate::packet::{CLAIMED, CUT, DATA, STREAM, WITHDRAW, WITHDRAWN};

/// The word of [`CLAIMED`], [`STREAM`], [`WITHDRAW`] and [`WITHDRAWN`] that names the sender's operation, and of [`CUT`] that
/// names the receiver's.
pub const OPERATION_WORD: usize = 1;

/// The proof that no peer writes to the memory of an operation any more, now or later: its owner may do with it what it
/// likes. An operation ends early with such a proof only. (What was to be sent may still be read by a peer, through the
/// kernel, which finds the memory or not.)
#[must_use = "without this proof the memory must stay as it is"]
#[derive(Debug)]
pub struct Quiet(());

impl Quiet {
    /// For memory whose place no peer was told, or that is only read.
    pub fn unshared() -> Quiet {
        Quiet(())
    }
}

/// A packet about a transfer or a call that the peer must get. The caller sends it, now or as soon as the link has room.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    head: Head,
    body: [u64; CONTROL_WORDS],
}

impl Control {
    /// Asks for an offer back.
    pub fn withdraw(op: u64) -> Control {
        Control::new(WITHDRAW, [0, op, 0, 0])
    }

    /// The answer to a [`STREAM`] packet for a message that was given up.
    pub fn cut(stream: &Packet<'_>, class: i32) -> Control {
        Control::new(CUT, [0, stream.word(2), class as u64, 0])
    }

    pub fn new(kind: u8, body: [u64; CONTROL_WORDS]) -> Control {
        Control { head: Head { kind, flags: 0, context: 0, tag: 0, source: 0, aux: 0 }, body }
    }
}

/// What a step of a transfer did.
#[derive(Debug)]
pub enum Step {
    /// Nothing can be done now.
    Idle,
    /// Some bytes were moved.
    Moved,
    /// All bytes were moved. The transfer is over, and the buffer is no longer used.
    Done,
    /// The peer must be told; the rest then comes as packets, without further steps.
    Tell(Control),
}

impl Outgoing {
    /// Sends a packet about a transfer; [`Full`] while there is no room.
    pub fn tell(&mut self, peer: Peer, control: &Control) -> Result<(), Full> {
        self.send_control(peer, &control.head, &control.body)
    }
}
