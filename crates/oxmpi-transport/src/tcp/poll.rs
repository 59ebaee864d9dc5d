//! One turn of the links between nodes: connections that peers have made or that have come to be, sockets that are ready,
//! and bytes that wait for one.

use super::connect::{Arrival, ConnectError, Record};
use super::joint::{Connection, Joint};
use super::network::{ARRIVALS, Contact, Early, Network, PENDING, WATCHED, number};
use super::rx::{Pullable, TcpRx};
use super::traffic::Travelled;
use super::watch::{News, WATCHES};
use crate::far::{Far, FarRx};
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use oxmpi_abi::Error;
use oxmpi_base::ids::Peer;
use oxmpi_base::socket::{Interest, Ready};
use oxmpi_base::wake_pipe::Sleeper;
use oxmpi_datatype::{Cursor, Target};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Connections of processes that are not known.
const MOST_STRANGERS: usize = 256;

impl Incoming {
    /// What [`Incoming::pullable`] says comes as packets.
    pub fn read_as_packets(&mut self, peer: Peer) {
        if let Some(rx) = self.tcp(peer) {
            rx.read_as_packets();
        }
    }

    /// Whether this process has links to other nodes.
    pub fn has_network(&self) -> bool {
        self.polls_network
    }

    /// Why the link to a peer is broken, if it is and the agents have had time to know better. Until then the peer is looked
    /// at in every turn.
    pub fn failure(&mut self, peer: Peer) -> Option<Error> {
        let joint = self.tcp(peer)?.joint();
        let failure = joint.failure_after_verdict().cloned();
        if failure.is_none() && joint.failure().is_some() && !self.breaking.contains(&peer) {
            self.breaking.push(peer);
        }
        failure
    }

    /// Whether a link is broken of which the agents may know more.
    pub fn has_breaking(&self) -> bool {
        !self.breaking.is_empty()
    }

    /// Long bytes of a peer that are next, and that may go straight to their place: the receiver's operation (none for the
    /// rest of the message that the last packet began), and how many.
    pub fn pullable(&mut self, peer: Peer) -> Option<(Option<u64>, usize)> {
        let rx = self.tcp(peer).filter(|rx| !rx.is_dry())?;
        rx.pullable().map(|Pullable { word, left }| (word, left))
    }

    /// Reads those bytes to the next bytes of a buffer, at most so many; how many came.
    pub fn pull(&mut self, peer: Peer, buf: &Target<'_>, cursor: &mut Cursor, most: usize) -> usize {
        self.tcp(peer).map_or(0, |rx| rx.pull(buf, cursor, most))
    }

    /// One turn: takes connections, and finds out who has sent something. `all`: the kernel is asked in any case.
    pub fn poll_network(&mut self, tx: &mut Outgoing, all: bool) {
        let Some(mut network) = tx.network.take() else { return };
        for (peer, joint) in std::mem::take(&mut network.opened) {
            self.open_tcp(peer, joint);
        }
        for peer in network.bursts.drain(..) {
            if let Far::Tcp(tcp) = tx.far_entry(peer) {
                tcp.release();
            }
        }
        for peer in std::mem::take(&mut self.breaking) {
            self.set_ready(peer);
        }
        if let Some(fabric) = &network.fabric {
            fabric.progress().into_iter().for_each(|link| self.set_ready_number(link));
        }
        let has_slept = network.sleeper.has_slept();
        if has_slept {
            for (peer, connection) in std::mem::take(&mut network.writing) {
                // One that is not read any more is not watched, either.
                let change = |socket| network.sleeper.set().change(socket, number(peer), Interest::Read);
                let _ = connection.socket().map(change);
            }
        }
        if network.is_due() || has_slept || all {
            self.ask_kernel(&mut network, tx, Duration::ZERO);
            self.rest_links(&mut network, tx);
        }
        network.busy.retain(|&peer| match tx.far_entry(peer) {
            Far::Tcp(tcp) => {
                tcp.push();
                tcp.wants_room()
            }
            _ => false,
        });
        if !network.strangers.is_empty() {
            self.meet_strangers(&mut network, tx);
        }
        for early in std::mem::take(&mut network.early) {
            self.take_early(&mut network, tx, early);
        }
        if let Some(recent) = network.attention.next_turn() {
            self.set_ready(recent);
        }
        tx.network = Some(network);
    }

    /// Asks the kernel which sockets are ready, at most for so long.
    fn ask_kernel(&mut self, network: &mut Network, tx: &mut Outgoing, limit: Duration) {
        let mut ready = std::mem::take(&mut network.ready);
        ready.clear();
        // A set of descriptors that the process has made fails for no reason that could be mended here.
        let _ = network.sleeper.set().wait(limit, &mut ready);
        for &Ready(found) in ready.iter().filter(|&&found| !Sleeper::is_pipe(found)) {
            match found {
                ARRIVALS => self.take_arrivals(network, tx),
                found if found & (PENDING | WATCHES) != 0 => {}
                found => self.set_ready_number(found),
            }
        }
        network.ready = ready;
        for watch in &mut network.watches {
            let (job, place) = (watch.job, watch.node);
            watch.hear(&network.sleeper, |news| match news {
                News::Stage(slot, stage) => tx.node_mut().note_stage(job, place, slot, stage),
                News::Over => tx.node_mut().node_has_ended(job, place),
            });
        }
        self.step_pending(network, tx);
    }

    fn set_ready_number(&mut self, number: u64) {
        if let Some(peer) = i32::try_from(number).ok().and_then(Peer::from_source) {
            self.set_ready(peer);
        }
    }

    fn set_ready(&mut self, peer: Peer) {
        if let Some(rx) = self.tcp(peer) {
            rx.set_ready();
            if !self.ready.contains(&peer) {
                self.ready.push(peer);
            }
        }
    }

    /// The peers with something to read, which are forgotten then.
    pub fn take_ready(&mut self) -> Vec<Peer> {
        std::mem::take(&mut self.ready)
    }

    /// A peer was read. It is ready again if it was not read to the end; its connections that have ended are let go.
    pub fn was_read(&mut self, tx: &mut Outgoing, peer: Peer, moved: bool) {
        let Some(network) = &mut tx.network else { return };
        if moved {
            let connection = self.tcp(peer).and_then(|rx| rx.only_connection());
            let last = network.attention.was_read(peer, connection.filter(|_| !network.sleeper.is_armed()));
            if let Some(last) = last.filter(|&last| last != peer)
                && let Some(rx) = self.tcp(last)
            {
                rx.acknowledge();
            }
            if let Some(rx) = self.tcp(peer) {
                rx.joint().note_use(network.turn());
            }
        }
        if let Some(last) = self.last_read.replace(peer).filter(|&last| last != peer)
            && let Some(rx) = self.tcp(last)
        {
            rx.lend_buffers();
        }
        let Some(rx) = self.tcp(peer) else { return };
        let is_dry = rx.is_dry();
        let offer = rx.joint().take_offer();
        let fabric = rx.joint().fabric().cloned();
        let (leaves, has_bye, rests) = (rx.joint().leaves(), rx.joint().has_bye(), rx.joint().rests());
        let shall_rest = rx.joint().take_rest_asked() && rx.is_idle();
        for connection in rx.take_dropped() {
            if let Some(socket) = connection.socket() {
                network.sleeper.set().remove(socket);
            }
        }
        if rx.joint().is_given_up() {
            *self.far_entry(peer) = FarRx::None;
            network.let_go(peer);
            *tx.far_entry(peer) = Far::Unopened;
            return;
        }
        if !is_dry && !self.ready.contains(&peer) {
            self.ready.push(peer);
        }
        if let (Some(offer), Some(connection)) = (offer, fabric)
            && let Some(end) = connection.fabric()
            && let Far::Tcp(tcp) = tx.far_entry(peer)
        {
            match end.accept(&offer) {
                Ok(()) => {
                    tcp.use_fabric(Arc::clone(&connection));
                    tx.note_sent(peer);
                }
                // It is reached over its socket, as one without an endpoint.
                Err(why) => {
                    tcp.joint().stay_on_sockets();
                    tx.warn_of_fabric(peer, &why);
                }
            }
        }
        if shall_rest
            && let Far::Tcp(tcp) = tx.far_entry(peer)
            && tcp.rest_if_asked()
            && let Some(network) = &mut tx.network
        {
            network.note_resting(peer);
        }
        // A farewell is answered at once. What is sent later goes over a new link.
        if has_bye && let Far::Tcp(tcp) = tx.far_entry(peer) {
            // The answer to our own farewell does not say that the peer leaves.
            let is_answer = tcp.has_said_bye() && !leaves;
            if !tcp.say_bye() {
                tx.note_sent(peer);
            }
            match rests {
                true => tx.network.iter_mut().for_each(|network| network.note_resting(peer)),
                false if !is_answer => tx.node_mut().note_farewell(peer),
                false => {}
            }
        }
    }

    pub(super) fn open_tcp(&mut self, peer: Peer, joint: Arc<Joint>) {
        let fabric = joint.fabric().cloned();
        let mut rx = TcpRx::new(joint);
        fabric.into_iter().for_each(|connection| rx.use_connection(connection));
        *self.far_entry(peer) = FarRx::Tcp(Box::new(rx));
        // Its failure, should there be one, is found by reading.
        self.ready.push(peer);
    }

    /// Goes on with connections that are being made.
    fn step_pending(&mut self, network: &mut Network, tx: &mut Outgoing) {
        let mut index = 0;
        while index < network.pending.len() {
            let (peer, pending) = &mut network.pending[index];
            let peer = *peer;
            let step = pending.step();
            if let Ok(None) = step {
                index += 1;
                continue;
            }
            let (_, pending) = network.pending.swap_remove(index);
            network.sleeper.set().remove(pending.readiness());
            let Far::Tcp(tcp) = tx.far_entry(peer) else { continue };
            let joint = Arc::clone(tcp.joint());
            joint.set_connecting(false);
            match step.and_then(|fd| fd.ok_or_else(|| ConnectError("no connection".into()))) {
                Ok(fd) => match Connection::new(fd) {
                    Ok(connection) => {
                        let connection = Arc::new(connection);
                        tcp.use_own_connection(Arc::clone(&connection));
                        self.read_from(network, peer, connection);
                    }
                    Err(error) => joint.fail(&error.to_string()),
                },
                // The peer may have come meanwhile.
                Err(error) => match tcp.take_fallback() {
                    Some(connection) => {
                        joint.set_awaits_second(false);
                        tcp.use_connection(connection);
                    }
                    None => joint.fail(&error.to_string()),
                },
            }
            self.set_ready(peer);
        }
    }

    /// From now on a connection is read.
    pub(super) fn read_from(&mut self, network: &Network, peer: Peer, connection: Arc<Connection>) {
        let add = |socket| network.sleeper.set().add(socket, number(peer), Interest::Read);
        let added = connection.socket().map_or(Ok(()), add);
        let Some(rx) = self.tcp(peer) else { return };
        if let Err(error) = added {
            rx.joint().fail_on(&connection, &format!("it cannot be watched: {error}"));
        }
        rx.use_connection(connection);
        self.set_ready(peer);
    }

    /// A connection for the next link of a peer, when the last one may be over.
    fn take_early(&mut self, network: &mut Network, tx: &mut Outgoing, early: Early) {
        match tx.is_link_over(early.peer) {
            // The peer may have given it up.
            true if early.connection.is_closed() => {}
            true => self.begin_link(network, tx, early),
            false => network.early.push(early),
        }
    }

    fn take_arrivals(&mut self, network: &mut Network, tx: &mut Outgoing) {
        while self.may_accept(network, tx) {
            match network.arrivals.take() {
                Ok(Some(Record::Connection(arrival, fd))) => self.take_arrival(network, tx, &arrival, fd),
                Ok(Some(Record::Answer(answer))) => network.answers.push(answer),
                Ok(None) => return,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                // The agent has ended: no connection comes any more.
                Err(_) => return network.sleeper.set().remove(network.arrivals.as_fd()),
            }
        }
    }

    /// A process has connected.
    fn take_arrival(&mut self, network: &mut Network, tx: &mut Outgoing, arrival: &Arrival, fd: OwnedFd) {
        if let Some(port) = arrival.port {
            // The port may have been closed since the agent let the caller in.
            if !tx.node().is_port_open(tx.own(), port) {
                return;
            }
            return network.contacts.push(Contact { port, from: arrival.id(), connection: fd });
        }
        if let Ok(connection) = Connection::new(fd) {
            network.strangers.push((arrival.id(), Arc::new(connection)));
            self.meet_strangers(network, tx);
        }
    }

    /// Takes the connections of processes that are known now. Of the others, those are given up that the process has closed,
    /// and the oldest if there are too many.
    fn meet_strangers(&mut self, network: &mut Network, tx: &mut Outgoing) {
        for (id, connection) in std::mem::take(&mut network.strangers) {
            match tx.node().far_peer(id) {
                Some(peer) => self.take_connection(network, tx, peer, connection),
                None if connection.is_closed() => {}
                None => network.strangers.push((id, connection)),
            }
        }
        let too_many = network.strangers.len().saturating_sub(MOST_STRANGERS);
        network.strangers.drain(..too_many);
    }

    /// A peer has connected.
    fn take_connection(&mut self, network: &mut Network, tx: &mut Outgoing, peer: Peer, connection: Arc<Connection>) {
        let is_lower = tx.node().own_id() < tx.node().id_of(peer);
        let early = Early { peer, connection: Arc::clone(&connection), is_arrival: true };
        network.parted.retain(|parted| *parted != peer);
        let tcp = match tx.far_entry(peer) {
            Far::Unopened => return self.begin_link(network, tx, early),
            // The next link of a peer whose farewell has not been read yet.
            Far::Tcp(tcp) if tcp.has_said_bye() && !tcp.is_over() => return network.early.push(early),
            // The peer has given up the one before, and that is not seen yet.
            Far::Tcp(tcp) if tcp.joint().awaits_greeting() => return self.begin_link(network, tx, early),
            Far::Tcp(tcp) if tcp.is_over() => {
                // The peer may have given it up before the last link was over.
                if !connection.is_closed() {
                    self.begin_link(network, tx, early);
                }
                return;
            }
            Far::Tcp(tcp) => tcp,
            _ => return,
        };
        if !tcp.joint().note_arrival() {
            return tcp.joint().fail_on(&connection, "the peer has connected twice");
        }
        let own = network.pending.iter().position(|(pending, _)| *pending == peer);
        match (own, is_lower) {
            // Our own will be the one that stays; if it cannot be made, there is this one.
            (Some(_), true) => tcp.set_fallback(Arc::clone(&connection)),
            (Some(index), false) => {
                let (_, pending) = network.pending.swap_remove(index);
                network.sleeper.set().remove(pending.readiness());
                tcp.joint().set_connecting(false);
                tcp.use_connection(Arc::clone(&connection));
            }
            (None, true) if tcp.connection().is_some() => {}
            (None, _) => tcp.switch_to(Arc::clone(&connection)),
        }
        if tcp.is_waiting() && !network.busy.contains(&peer) {
            network.busy.push(peer);
        }
        self.read_from(network, peer, connection);
    }
}

impl Outgoing {
    /// Whether messages to a peer go between nodes.
    pub(crate) fn goes_by_network(&self, peer: Peer) -> bool {
        let nodes = self.node().nodes();
        self.network.is_some()
            && peer.is_far()
            && (!nodes.is_pretended() && nodes.rank_of(peer).is_some() || self.node().is_networked(peer))
    }

    /// A new link to a peer of another node, where there is a network.
    pub(crate) fn open_tcp(&mut self, peer: Peer) -> Option<Far> {
        if !self.goes_by_network(peer) {
            return None;
        }
        if !self.may_connect() {
            return Some(Far::Unopened);
        }
        let (name, id, own) =
            (self.name_of(peer, self.network.as_deref()), self.node().id_of(peer), self.node().own_id());
        self.network.as_mut().map(|network| Far::Tcp(Box::new(network.open(peer, name, id, own))))
    }

    /// Says that the endpoint of a peer cannot be used, unless a rank of this node has said so.
    #[cold]
    fn warn_of_fabric(&self, peer: Peer, why: &str) {
        let name = self.name_of(peer, self.network.as_deref());
        if self.node().job().tells_of_tcp() {
            eprintln!("oxmpi: messages to {name} go over TCP, because {why}");
        }
    }

    pub(super) fn name_of(&self, peer: Peer, network: Option<&Network>) -> String {
        let id = self.node().id_of(peer);
        let host = network.and_then(|network| network.connector.host(id));
        match (self.node().nodes().rank_of(peer), host) {
            (Some(rank), Some(host)) => format!("rank {rank} on host {host}"),
            (Some(rank), None) => format!("rank {rank} on node {}", id.node),
            (None, _) => format!("process {} on node {} of another job", id.slot.index(), id.node),
        }
    }

    /// Whether a long frame to a peer has begun and is not finished.
    pub(crate) fn is_mid_frame(&self, peer: Peer) -> bool {
        matches!(self.far_known(peer), Some(Far::Tcp(tcp)) if tcp.is_mid_frame())
    }

    /// Notes that a peer has said farewell on the link before the one that is opened now.
    pub(crate) fn note_parted(&mut self, peer: Peer) {
        let has_finalized = self.has_finalized(peer);
        if let Some(network) = &mut self.network
            && has_finalized
            && !network.finalized.contains(&peer)
        {
            network.finalized.push(peer);
        }
        if let Some(network) = &mut self.network
            && !network.parted.contains(&peer)
        {
            network.parted.push(peer);
        }
    }

    /// Whether a peer takes no part in `MPI_COMM_WORLD` any more, and all that it sent before has come.
    pub fn has_finalized(&self, peer: Peer) -> bool {
        let earlier = self.network.as_ref().is_some_and(|network| network.finalized.contains(&peer));
        earlier || matches!(self.far_known(peer), Some(Far::Tcp(tcp)) if tcp.joint().has_finalized())
    }

    /// Whether a peer has said farewell, and nothing of it has come since.
    pub fn has_parted(&self, peer: Peer) -> bool {
        self.network.as_ref().is_some_and(|network| network.parted.contains(&peer))
    }

    /// The processes of other nodes that this one has links with.
    pub fn network_peers(&self) -> impl Iterator<Item = Peer> + '_ {
        self.network.iter().flat_map(|network| network.peers.iter().copied())
    }

    /// How many processes of other nodes this one has links with.
    pub fn network_links(&self) -> usize {
        self.network.as_ref().map_or(0, |network| network.peers.len())
    }

    /// Notes that a peer is to be told whether it may send messages that would have to be stored.
    pub fn note_pressure(&mut self, peer: Peer) {
        if self.goes_by_network(peer) {
            self.note_sent(peer);
        }
    }

    /// Notes that something was sent to a peer of another node, or is to be.
    pub(crate) fn note_sent(&mut self, peer: Peer) {
        let (is_waiting, may_be_burst) = match self.far_entry(peer) {
            Far::Tcp(tcp) => (tcp.wants_room(), tcp.may_be_burst()),
            _ => (false, false),
        };
        if let (Some(network), Some(Far::Tcp(tcp))) = (&self.network, self.far_known(peer)) {
            tcp.joint().note_use(network.turn());
        }
        if let Some(network) = &mut self.network {
            network.note_sent(peer, is_waiting, may_be_burst);
        }
    }

    /// A sleep ends from now on when a descriptor that belongs to no link can be read. Its user reads it.
    pub fn watch(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        match &self.network {
            Some(network) => network.sleeper.set().add(descriptor, WATCHED, Interest::Read),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub fn unwatch(&self, descriptor: BorrowedFd<'_>) {
        if let Some(network) = &self.network {
            network.sleeper.set().remove(descriptor);
        }
    }

    /// Watches the sockets that have no room for what waits, until a thread has slept.
    pub(crate) fn watch_for_room(&mut self) {
        let Some(network) = &self.network else { return };
        let (set, mut writing) = (Arc::clone(&network.sleeper), Vec::new());
        for &peer in &network.busy {
            if let Some(Far::Tcp(tcp)) = self.far_known(peer)
                && let Some(connection) = tcp.connection().filter(|_| tcp.wants_room())
                && let Some(socket) = connection.socket()
                && set.set().change(socket, number(peer), Interest::ReadAndWrite).is_ok()
            {
                writing.push((peer, Arc::clone(connection)));
            }
        }
        if let Some(network) = &mut self.network {
            network.writing.append(&mut writing);
        }
    }

    /// Whether bytes wait for room in a socket.
    pub fn wants_room(&self) -> bool {
        let Some(network) = &self.network else { return false };
        network.busy.iter().any(|&peer| matches!(self.far_known(peer), Some(Far::Tcp(tcp)) if tcp.wants_room()))
    }

    /// What this process has sent to a peer over the network, and received from it.
    pub fn travelled(&self, peer: Peer) -> (Travelled, Travelled) {
        let traffic = self.network.as_ref().and_then(|network| network.traffic.get(&peer));
        traffic.map_or_else(Default::default, |traffic| traffic.travelled())
    }

    /// Whether all that goes to a peer and comes from it is in frames that are counted. A fabric may do more.
    pub fn counts_frames_with(&self, peer: Peer) -> bool {
        self.goes_by_network(peer) && self.network.as_ref().is_some_and(|network| network.fabric.is_none())
    }

    /// The frames that this process has sent over the network to some peers, and those that it has received from them.
    pub fn frames_with(&self, is_meant: impl Fn(Peer) -> bool) -> (u64, u64) {
        let traffic = self.network.iter().flat_map(|network| &network.traffic).filter(|(peer, _)| is_meant(**peer));
        traffic.fold((0, 0), |(all_sent, all_received): (u64, u64), (_, traffic)| {
            let (sent, received) = traffic.travelled();
            (all_sent.wrapping_add(sent.packets), all_received.wrapping_add(received.packets))
        })
    }

    /// The connections to processes of other nodes, and the packets of TCP that had to be sent again on them.
    pub fn connections(&self) -> (usize, u64) {
        let peers = self.network.iter().flat_map(|network| &network.peers);
        let connections = peers.filter_map(|&peer| match self.far_known(peer) {
            Some(Far::Tcp(tcp)) => tcp.connection(),
            _ => None,
        });
        let retransmits = connections.map(|connection| connection.retransmits());
        retransmits.fold((0, 0), |(count, sum), again| (count + 1, sum + u64::from(again)))
    }

    /// Whether the kernels of all peers have what was sent to them.
    pub fn has_delivered(&self) -> bool {
        let delivered = |peer: Peer| match self.far_known(peer) {
            Some(Far::Tcp(tcp)) => tcp.has_delivered(),
            _ => true,
        };
        self.network_peers().all(delivered)
    }

    /// Whether nothing that was sent waits for a socket.
    pub fn is_network_flushed(&self) -> bool {
        let waits = |&peer: &Peer| matches!(self.far_known(peer), Some(Far::Tcp(tcp)) if tcp.is_waiting());
        !self.network.as_ref().is_some_and(|network| network.busy.iter().any(waits))
    }

    /// Tells all peers that this process receives nothing more, so that none waits for that.
    pub fn say_leave(&mut self) {
        let finalized = self.node().block().world_ended.load(Relaxed) != 0;
        let peers = self.network.as_ref().map_or(Vec::new(), |network| network.peers.clone());
        for peer in peers {
            if let Far::Tcp(tcp) = self.far_entry(peer) {
                tcp.say_leave(finalized);
            }
        }
    }

    /// Says farewell to all peers; `true` when all have been told. Nothing may be sent any more.
    pub fn part(&mut self) -> bool {
        let peers = self.network.as_ref().map_or(Vec::new(), |network| network.peers.clone());
        let mut all = true;
        for peer in peers {
            if let Far::Tcp(tcp) = self.far_entry(peer) {
                // Closing a connection with unread bytes resets it. That harms nobody who has all of ours.
                all &= tcp.say_bye() && tcp.has_delivered();
            }
        }
        all
    }
}
