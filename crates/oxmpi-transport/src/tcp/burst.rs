//! Short messages that follow each other closely. Each would be a segment of its own, which costs both kernels more than
//! the call; so the kernel may put them together (Nagle's algorithm): it keeps them until the segments before are
//! acknowledged, or there is a whole segment of them.
//!
//! Nothing is kept for long. The sender lets everything go as soon as it looks for messages itself. If it computes
//! instead, the acknowledgement does: a receiver acknowledges such frames ([`super::frame::HELD`]) before it waits for
//! more. A single message, and one that answers another, never waits.

use oxmpi_base::load::now;

/// What is known of the last short messages to a peer.
#[derive(Default)]
pub(crate) struct Burst {
    /// Those that followed each other closely.
    count: u32,
    /// When the last one was sent.
    last: u64,
    /// The kernel may keep what is sent.
    pub is_held: bool,
}

/// So many messages make a burst.
const LEAST: u32 = 4;
/// Longer pauses end it, in nanoseconds.
const PAUSE: u64 = 20_000;

/// What the kernel is to be told before a message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    None,
    /// It may keep short segments from now on.
    Hold,
    /// It may not any more.
    Release,
}

impl Burst {
    /// A short message is about to be sent.
    pub fn next(&mut self) -> Change {
        self.next_at(now())
    }

    fn next_at(&mut self, now: u64) -> Change {
        let is_close = now.saturating_sub(self.last) < PAUSE;
        self.last = now;
        self.count = if is_close { self.count.saturating_add(1) } else { 1 };
        match (self.is_held, self.count >= LEAST) {
            (false, true) => Change::Hold,
            (true, false) => Change::Release,
            _ => Change::None,
        }
    }

    /// Whether a message was sent since the end of the last burst.
    pub fn has_begun(&self) -> bool {
        self.count > 0 || self.is_held
    }

    /// The sender looks for messages, or has sent something that is not to be kept.
    pub fn end(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_many_messages_without_a_pause_are_a_burst() {
        let mut burst = Burst::default();
        let mut now = 1_000_000;
        let mut send = |burst: &mut Burst, later: u64| {
            now += later;
            let change = burst.next_at(now);
            match change {
                Change::None => {}
                Change::Hold => burst.is_held = true,
                Change::Release => burst.is_held = false,
            }
            change
        };
        for _ in 0..20 {
            assert_eq!(send(&mut burst, PAUSE), Change::None, "with pauses");
        }
        for _ in 2..LEAST {
            assert_eq!(send(&mut burst, 1), Change::None);
        }
        assert_eq!(send(&mut burst, 1), Change::Hold);
        assert_eq!(send(&mut burst, 1), Change::None);
        assert_eq!(send(&mut burst, PAUSE), Change::Release);
        for _ in 0..20 {
            assert_eq!(send(&mut burst, 1), Change::None, "the sender looks for messages in between");
            burst.end();
        }
    }
}
