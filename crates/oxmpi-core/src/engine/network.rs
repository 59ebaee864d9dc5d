//! Messages between nodes: looks at the sockets that are ready, lets long bytes go straight from a socket to the buffer of
//! their receive, and ends what is under way with a peer whose link is broken.

use super::ops::Op;
use super::recv::{Phase, RecvOp};
use super::{Assembly, Engine};
use crate::liveness::died;
use oxmpi_abi::Error;
use oxmpi_transport::Peer;
use oxmpi_transport::tcp::traffic::Travelled;
use std::io;
use std::os::fd::BorrowedFd;

/// Long bytes that were read to their place.
enum Pulled {
    /// There are none now, or they must come as packets.
    Nothing,
    Part,
    /// A receive has got all.
    Last,
}

impl Engine {
    /// Whether a sleep ends when a descriptor that belongs to no link can be read.
    pub fn watch(&self, descriptor: BorrowedFd<'_>, watch: bool) -> io::Result<()> {
        match watch {
            true => self.messages.tx.watch(descriptor),
            false => {
                self.messages.tx.unwatch(descriptor);
                Ok(())
            }
        }
    }

    /// What this process has sent to a peer over the network, and received from it.
    pub fn travelled(&self, peer: Peer) -> (Travelled, Travelled) {
        self.messages.tx.travelled(peer)
    }

    /// The frames that this process has sent to some peers over the network, and those that it has received from them.
    pub fn frames_with(&self, is_meant: impl Fn(Peer) -> bool) -> (u64, u64) {
        self.messages.tx.frames_with(is_meant)
    }

    /// Whether a peer of another node has finalized the world, and all that it sent has come.
    pub fn has_finalized(&self, peer: Peer) -> bool {
        self.messages.tx.has_finalized(peer)
    }

    /// Whether all messages to and from a peer of another node are counted.
    pub fn counts_frames_with(&self, peer: Peer) -> bool {
        self.messages.tx.counts_frames_with(peer)
    }

    /// The connections to processes of other nodes, and the packets of TCP that had to be sent again on them.
    pub fn connections(&self) -> (usize, u64) {
        self.messages.tx.connections()
    }

    /// One turn of the links between nodes; `true` when an operation may have completed.
    #[cold]
    pub(super) fn progress_network(&mut self, all: bool) -> bool {
        self.rx.poll_network(&mut self.messages.tx, all);
        let mut moved = false;
        for peer in self.rx.take_ready() {
            let read = self.read_far(peer);
            moved |= read;
            self.rx.was_read(&mut self.messages.tx, peer, read);
            if let Some(error) = self.rx.failure(peer) {
                if self.node().goes_on() && !self.node().is_foreign(peer) {
                    // `mpirun` says who has died. If nobody has, one of the two is ended.
                    self.broken_links.push((peer, error));
                    self.messages.has_news = true;
                    moved = true;
                    continue;
                }
                moved |= self.break_link(peer, error);
            }
        }
        moved
    }

    /// Takes what has come from a peer of another node.
    fn read_far(&mut self, peer: Peer) -> bool {
        let mut moved = false;
        loop {
            moved |= self.drain(peer, false);
            match self.pull(peer) {
                Pulled::Nothing => return moved,
                Pulled::Part => moved = true,
                // Its receiver need not wait until the kernel has been asked for more, which the next turn does.
                Pulled::Last => return true,
            }
        }
    }

    /// Reads long bytes to their place.
    fn pull(&mut self, peer: Peer) -> Pulled {
        let Some((word, left)) = self.rx.pullable(peer) else { return Pulled::Nothing };
        let op = match (word, self.messages.peers.at(peer).assembly) {
            (None, Assembly::Receive(op, _)) => Some(op),
            (None, _) => None,
            (Some(word), _) => self.messages.ops.named(word).map(|(op, _)| op),
        };
        let Some((op, Op::Recv(recv))) = op.map(|op| (op, self.messages.ops.get_mut(op))) else {
            self.rx.read_as_packets(peer);
            return Pulled::Nothing;
        };
        let RecvOp { buf, cursor, phase, .. } = recv;
        let room = buf.len() - cursor.position();
        let most = match phase {
            Phase::Moving(transfer) if word.is_some() && transfer.peer() == peer => transfer.stream_left(),
            Phase::Arriving if word.is_none() && room >= left => left,
            _ => 0,
        };
        let count = if most == 0 { 0 } else { self.rx.pull(peer, buf, cursor, most.min(left)) };
        if count == 0 {
            if most == 0 {
                self.rx.read_as_packets(peer);
            }
            return Pulled::Nothing;
        }
        let is_over = match phase {
            Phase::Moving(transfer) => transfer.took(count),
            _ => match &mut self.messages.peers.at(peer).assembly {
                Assembly::Receive(_, rest) => {
                    *rest -= count as u64;
                    *rest == 0
                }
                _ => false,
            },
        };
        if !is_over {
            return Pulled::Part;
        }
        if word.is_none() {
            self.messages.peers.at(peer).assembly = Assembly::None;
        }
        self.finish_recv(op);
        Pulled::Last
    }

    /// Whether links have broken of which nobody has been told.
    pub(super) fn has_broken_links(&self) -> bool {
        !self.broken_links.is_empty()
    }

    /// Whether a link has broken, and it is not known yet who has died, or what becomes of that.
    pub fn awaits_verdict(&self) -> bool {
        self.rx.has_breaking() || self.has_broken_links() || !self.lost_links.is_empty()
    }

    /// Peers of other nodes whose links have broken, and of whom nobody has said meanwhile that they have died; since the last
    /// call.
    pub fn take_broken_links(&mut self) -> Vec<(Peer, Error)> {
        self.lost_links.extend(self.broken_links.iter().map(|(peer, _)| *peer));
        std::mem::take(&mut self.broken_links)
    }

    /// The peers of other nodes that have finalized the world, or ended: everything that they sent has come.
    pub fn finalized_far(&self) -> Vec<Peer> {
        self.tx.network_peers().filter(|&peer| self.tx.has_finalized(peer)).collect()
    }

    /// Whether all that was sent to other nodes has arrived there.
    pub fn has_delivered(&self) -> bool {
        self.is_flushed() && self.tx.has_delivered()
    }

    /// Says farewell to all peers of other nodes, once nothing is under way any more; `true` when all have heard it.
    pub fn part(&mut self) -> bool {
        if self.rx.has_network() {
            self.messages.tx.say_leave();
        }
        if !self.is_flushed() {
            return false;
        }
        if !self.rx.has_network() {
            return true;
        }
        self.progress_network(true);
        self.messages.tx.part()
    }

    /// Why a link is broken: a process that has finalized answers no more.
    fn cause(&self, peer: Peer, error: Error) -> Error {
        match self.node().nodes().rank_of(peer).filter(|_| self.tx.has_parted(peer)) {
            Some(rank) => {
                let text = format!("rank {rank} of MPI_COMM_WORLD has called MPI_Finalize: {}", error.text());
                Error::new(error.class(), text)
            }
            None => error,
        }
    }

    /// The link to a peer is broken: what is under way with it ends with the error, and so do the receives that it might
    /// have been for.
    #[cold]
    pub(super) fn break_link(&mut self, peer: Peer, error: Error) -> bool {
        let is_foreign = self.node().is_foreign(peer);
        // A process of another job counts as dead: receives from it end as soon as that is found.
        let error = if is_foreign { died(self.node(), peer, None) } else { self.cause(peer, error) };
        self.rx.refuse(peer);
        self.end_with_dead(peer, &error);
        if !is_foreign {
            self.end_posted(|_| true, &error);
        }
        self.tx.break_link(peer, error);
        true
    }
}
