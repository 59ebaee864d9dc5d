//! The peer whose socket is read in every turn, because it has brought something lately.
//!
//! Where one peer brings everything, its connection becomes quiet: the kernel need not tell that it is ready, and
//! acknowledges a long segment as soon as it comes, in the time of the sender. Otherwise it may acknowledge when the
//! segment is read, in the time of a receiver that has an answer to send. A thread that sleeps hears nothing of a quiet
//! connection, so no connection is quiet while one does.

use super::joint::Connection;
use oxmpi_base::ids::Peer;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Attention {
    peer: Option<Peer>,
    /// Turns in which it had nothing.
    idle_turns: u32,
    /// Reads that brought something since it was another peer.
    reads_in_row: u32,
    /// Its connection, while that is quiet.
    quiet: Option<Arc<Connection>>,
}

/// Turns without anything after which no socket is read in each.
const MOST_IDLE: u32 = 4096;
/// Reads in a row after which a connection becomes quiet.
const STEADY: u32 = 16;
/// Fewer bytes do not make a quiet connection ready. A segment is acknowledged at once while fewer wait.
const QUIET_BYTES: i32 = 64 << 10;

impl Attention {
    pub fn has_peer(&self) -> bool {
        self.peer.is_some()
    }

    /// The socket of this peer is read in every turn from now on.
    pub fn turn_to(&mut self, peer: Peer) {
        self.idle_turns = 0;
        self.set(Some(peer));
    }

    /// Nothing more comes of a peer.
    pub fn forget(&mut self, peer: Peer) {
        if self.peer == Some(peer) {
            self.set(None);
        }
    }

    fn set(&mut self, peer: Option<Peer>) {
        if self.peer != peer {
            self.reads_in_row = 0;
            self.end_quiet();
            self.peer = peer;
        }
    }

    /// The peer whose socket is to be read in this turn in any case.
    pub fn next_turn(&mut self) -> Option<Peer> {
        self.idle_turns = self.idle_turns.saturating_add(1);
        if self.idle_turns > MOST_IDLE {
            self.set(None);
        }
        self.peer
    }

    /// A read brought something of a peer; the peer that had the attention until now. `connection`: the only one of the
    /// peer, unless a thread sleeps.
    pub fn was_read(&mut self, peer: Peer, connection: Option<&Arc<Connection>>) -> Option<Peer> {
        let last = self.peer;
        self.turn_to(peer);
        self.reads_in_row = self.reads_in_row.saturating_add(1);
        if self.reads_in_row == STEADY
            && let Some(connection) = connection
            && connection.set_low_water(QUIET_BYTES).is_ok()
        {
            self.quiet = Some(Arc::clone(connection));
        }
        last
    }

    /// All connections are ready as soon as something comes: a thread is about to sleep.
    pub fn end_quiet(&mut self) {
        if let Some(connection) = self.quiet.take() {
            self.reads_in_row = 0;
            // The value is one that every kernel takes.
            let _ = connection.set_low_water(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_base::socket::{Interest, ReadySet};
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    struct Watched {
        far: TcpStream,
        near: Arc<Connection>,
        set: ReadySet,
        attention: Attention,
    }

    const PEER: Peer = Peer::far(0);
    const OTHER: Peer = Peer::far(1);

    impl Watched {
        /// A connection that has brought something so often, and then one byte more that was not read.
        fn after(reads: u32) -> Watched {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let near = Arc::new(Connection::new(listener.accept().unwrap().0.into()).unwrap());
            let set = ReadySet::new().unwrap();
            set.add(near.socket().unwrap(), 1, Interest::Read).unwrap();
            let mut attention = Attention::default();
            for _ in 0..reads {
                attention.was_read(PEER, Some(&near));
            }
            far.write_all(&[1]).unwrap();
            Watched { far, near, set, attention }
        }

        fn is_ready(&self) -> bool {
            let mut ready = Vec::new();
            self.set.wait(Duration::from_millis(20), &mut ready).unwrap();
            !ready.is_empty()
        }
    }

    #[test]
    fn a_steady_connection_becomes_quiet_until_a_thread_is_about_to_sleep() {
        assert!(Watched::after(STEADY - 1).is_ready());
        let mut watched = Watched::after(STEADY);
        assert!(!watched.is_ready());
        watched.attention.end_quiet();
        assert!(watched.is_ready(), "what came before must be told");
    }

    #[test]
    fn many_bytes_and_the_end_of_a_peer_are_told_of_a_quiet_connection() {
        let mut watched = Watched::after(STEADY);
        watched.far.write_all(&vec![1; QUIET_BYTES as usize]).unwrap();
        assert!(watched.is_ready());
        let watched = Watched::after(STEADY);
        watched.far.shutdown(std::net::Shutdown::Both).unwrap();
        assert!(watched.is_ready());
    }

    #[test]
    fn a_peer_without_attention_is_not_quiet() {
        let mut watched = Watched::after(STEADY);
        watched.attention.turn_to(OTHER);
        assert!(watched.is_ready());
        let mut watched = Watched::after(STEADY);
        watched.attention.forget(PEER);
        assert!(watched.is_ready() && !watched.attention.has_peer());
        let mut watched = Watched::after(STEADY);
        assert!((0..MOST_IDLE).all(|_| watched.attention.next_turn() == Some(PEER)));
        assert_eq!(watched.attention.next_turn(), None);
        assert!(watched.is_ready());
    }

    #[test]
    fn no_connection_becomes_quiet_while_a_thread_sleeps() {
        let mut watched = Watched::after(0);
        for _ in 0..10 * STEADY {
            watched.attention.was_read(PEER, None);
        }
        assert!(watched.is_ready());
        assert_eq!(watched.attention.was_read(OTHER, Some(&watched.near)), Some(PEER));
    }
}
