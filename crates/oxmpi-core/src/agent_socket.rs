//! The agent of this process, as the process sees it: it lets in processes of other jobs, answers requests about names,
//! and tells other jobs how this process ends (`oxmpi_boot::requests`). A rank has one from `mpirun`; a process that was
//! started alone starts one when it needs it.
//!
//! Nothing here waits. Until the first request, the process has no network, and pays nothing for one.

use crate::agents::Agents;
use crate::dialer::SharedNetwork;
use crate::explain;
use crate::process::Process;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_PORT};
use oxmpi_abi::{Error, Result};
use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_base::ids::{NodeId, Peer, Slot};
use oxmpi_base::{descriptors, trust};
use oxmpi_boot::Reached;
use oxmpi_boot::handshake::{Key, KeyId, Secret, random};
use oxmpi_boot::net::{self, Net};
use oxmpi_boot::network::{Introduction, KEY_WORDS, NodePort, Place};
use oxmpi_boot::requests::{self, Answer, Ballots, NameRequest, Purpose, Request, SentBallot, Stage, VoteId};
use oxmpi_transport::tcp::connect::Arrivals;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Descriptors for a process of another host while its connection and ours are being made.
const DESCRIPTORS_PER_PEER: u64 = 5;
/// Those for processes of other jobs, agents and pipes.
const SPARE_DESCRIPTORS: u64 = 256;

/// The agent of a process and what the two have agreed on.
#[derive(Default)]
pub struct AgentSocket {
    /// What is needed to use the network, until it is used.
    unused: Option<Reached>,
    /// The socket to the agent.
    socket: Option<OwnedFd>,
    network: Option<SharedNetwork>,
    /// Numbers of the keys whose callers are let in for this process.
    admitted: BTreeSet<KeyId>,
    /// The secrets of the ports that were opened for other hosts.
    ports: BTreeMap<u32, Secret>,
    next_ticket: u32,
    answers: BTreeMap<u32, Answer>,
    /// The ballots of votes that have come so far.
    ballots: BTreeMap<VoteId, Vec<Ballots>>,
    /// Requests that the socket had no room for.
    waiting: Vec<Request>,
}

impl AgentSocket {
    pub fn new(reached: Option<Reached>) -> AgentSocket {
        AgentSocket { unused: reached, ..AgentSocket::default() }
    }

    /// Whether there is an agent, or could be one without starting it.
    pub fn exists(&self) -> bool {
        self.unused.is_some() || self.network.is_some()
    }

    /// What this process knows of the network, once it uses it.
    pub fn network(&self) -> Option<&SharedNetwork> {
        self.network.as_ref()
    }

    fn ask(&mut self, request: Request) -> Result<()> {
        if self.socket.is_none() {
            return Err(Error::new(
                MPI_ERR_OTHER,
                "this process has no agent, which other hosts would find it through",
            ));
        }
        self.waiting.push(request);
        self.send_waiting()
    }

    /// Sends the requests that the socket had no room for.
    fn send_waiting(&mut self) -> Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        while let Some(first) = self.waiting.first() {
            match requests::send(socket.as_fd(), first) {
                Ok(()) => drop(self.waiting.remove(0)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.waiting.remove(0);
                    return Err(Error::new(MPI_ERR_OTHER, format!("the agent of this node cannot be asked: {error}")));
                }
            }
        }
        Ok(())
    }
}

impl Process {
    /// From now on this process can be reached by other hosts, and reaches them; an error where it has no agent.
    pub fn use_network(&mut self) -> Result<()> {
        let Some(Reached { network, agent }) = self.agent_socket.unused.take() else {
            return match self.agent_socket.network {
                Some(_) => Ok(()),
                None => {
                    Err(Error::new(MPI_ERR_OTHER, "this process has no agent, which other hosts would find it through"))
                }
            };
        };
        let cannot = |error: io::Error| Error::new(MPI_ERR_OTHER, format!("other hosts cannot be reached: {error}"));
        let processes = self.engine.node().nodes().size() as u64;
        descriptors::allow_out_of_the_way(DESCRIPTORS_PER_PEER * processes + SPARE_DESCRIPTORS);
        let network = SharedNetwork::new(network);
        self.agent_socket.socket = Some(agent.try_clone().map_err(cannot)?);
        self.engine.use_network(Box::new(network.clone()), Arrivals::new(agent)).map_err(cannot)?;
        self.agents = Some(Agents::new(network.clone(), self.engine.node()));
        self.agent_socket.network = Some(network);
        self.use_fabric()
    }

    /// Links to other nodes go over a fabric from now on, if the user wants that and there is one.
    fn use_fabric(&mut self) -> Result<()> {
        let wanted = Net::from(&trust::text).map_err(|text| Error::new(MPI_ERR_OTHER, text))?;
        let is_told = trust::text(net::VARIABLE).is_some();
        let nodes = self.engine.node().nodes();
        if nodes.nodes() == 1 || nodes.is_pretended() {
            return Ok(());
        }
        let rank = nodes.own().index();
        let says = explain::is_on() || self.engine.node().own_id().slot.index() == 0 && trust::text(net::SAY).is_some();
        let say = |over: &str, why: &str| {
            if says {
                eprintln!("oxmpi: rank {rank}: messages to other hosts go over {over}, because {why}");
            }
        };
        let (provider, why) = match wanted {
            Net::Tcp => {
                say("TCP", if is_told { "--net or OXMPI_NET says so" } else { "that is the default" });
                return Ok(());
            }
            Net::Auto => {
                let cards = net::cards(Path::new("/sys"));
                if cards.is_empty() {
                    say("TCP", "this host has no card of a fast network");
                    return Ok(());
                }
                (None, format!("this host has {}", cards.join(", ")))
            }
            Net::Fabric(provider) => (provider, "--net or OXMPI_NET says so".into()),
        };
        match self.engine.use_fabric(provider.as_deref()) {
            Ok(name) => say(&name, &why),
            // A rank without an endpoint is reached over TCP by all others. One rank of a node tells of it.
            Err(error) if self.engine.node().job().tells_of_tcp() => {
                eprintln!("oxmpi: rank {rank}: {error}; messages to and from other hosts go over TCP");
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// An agent that was started for this process alone.
    pub fn use_agent(&mut self, reached: Reached) -> Result<()> {
        self.agent_socket.unused = Some(reached);
        self.use_network()
    }

    /// Asks the agent where others find this node; the ticket of its answer, or nothing if that is known.
    pub fn ask_to_listen(&mut self) -> Result<Option<u32>> {
        self.use_network()?;
        if self.here().is_some() {
            return Ok(None);
        }
        let ticket = self.next_ticket();
        self.agent_socket.ask(Request::Listen { ticket })?;
        Ok(Some(ticket))
    }

    /// Takes the answer to [`Process::ask_to_listen`].
    pub fn heard_listening(&mut self, ticket: u32) -> Option<Result<()>> {
        let Answer::Listening { at, .. } = self.take_answer(ticket)? else {
            return Some(Err(Error::new(MPI_ERR_OTHER, "the agent of this node gave a wrong answer")));
        };
        Some(match at {
            Ok(at) => {
                if let Some(network) = &self.agent_socket.network {
                    network.lock().set_here(requests::node_port(at));
                }
                Ok(())
            }
            Err(text) => Err(Error::new(MPI_ERR_PORT, text)),
        })
    }

    /// Where others find this node, if that is known.
    pub fn here(&self) -> Option<NodePort> {
        self.agent_socket.network.as_ref()?.lock().here()
    }

    /// Lets in who calls at a port of this process with a new secret, which is returned.
    pub fn admit_to_port(&mut self, number: u32) -> Result<Secret> {
        let secret = random().map_err(|error| Error::new(MPI_ERR_OTHER, error.to_string()))?;
        let (key_id, key) = Key::of_secret(&secret);
        let purpose = Purpose::Port { number };
        self.agent_socket.ask(Request::Admit { key_id, key: *key.as_bytes(), purpose })?;
        self.agent_socket.ports.insert(number, secret);
        Ok(secret)
    }

    /// The secret of a port of this process, if it was opened for other hosts.
    pub fn secret_of_port(&self, number: u32) -> Option<Secret> {
        self.agent_socket.ports.get(&number).copied()
    }

    /// A port is closed: nobody is let in any more, and those who wait there are sent away.
    pub fn dismiss_port(&mut self, number: u32) {
        self.engine.drop_contacts(number);
        if let Some(secret) = self.agent_socket.ports.remove(&number) {
            // An agent that cannot be asked lets nobody in.
            let _ = self.agent_socket.ask(Request::Dismiss { key_id: Key::of_secret(&secret).0 });
        }
    }

    /// Where the nodes of some processes are found, as words for a message: empty if this process has no network.
    pub(crate) fn places_of(&self, ids: &[ProcessId]) -> Vec<u64> {
        let Some(network) = &self.agent_socket.network else { return Vec::new() };
        let network = network.lock();
        let nodes: BTreeSet<(JobId, u32)> = ids.iter().map(|id| (id.job, id.node.number())).collect();
        let place = |(job, node): (JobId, u32)| Some((job, node, network.place(job, node)?));
        Introduction::words_of(&nodes.into_iter().filter_map(place).collect::<Vec<Place>>())
    }

    /// A key, with its number, for processes that are introduced to each other.
    pub(crate) fn fresh_key(&self) -> [u64; KEY_WORDS] {
        // Without random bytes nobody is let in, which is an error later.
        Introduction::fresh().unwrap_or_default()
    }

    /// Takes an introduction of the processes of a group that are on other hosts, if there is one, and makes peers of the
    /// group.
    pub(crate) fn meet(&mut self, introduction: &[u64], ids: &[ProcessId]) -> Result<()> {
        let own = self.engine.node().own_id().job;
        let is_elsewhere = |id: &&ProcessId| id.job != own && !self.engine.node().shares_machine(&id.job);
        let elsewhere: Vec<ProcessId> = ids.iter().filter(is_elsewhere).copied().collect();
        if elsewhere.is_empty() || introduction.is_empty() {
            return Ok(());
        }
        let Some(introduction) = Introduction::from_words(introduction) else {
            return Err(Error::new(
                MPI_ERR_OTHER,
                "the other group's leader introduces it with words that make no sense",
            ));
        };
        self.use_network()?;
        let (key_id, key) = (introduction.key_id, *introduction.key.as_bytes());
        if self.agent_socket.admitted.insert(key_id) {
            self.agent_socket.ask(Request::Admit { key_id, key, purpose: Purpose::Links })?;
        }
        if let Some(network) = &self.agent_socket.network {
            network.lock().meet(&introduction);
        }
        for id in elsewhere {
            let is_introduced = self
                .agent_socket
                .network
                .as_ref()
                .is_some_and(|network| network.lock().place(id.job, id.node.number()).is_some());
            if !is_introduced {
                let text = format!("where node {} of its job can be reached is not known", id.node);
                return Err(Error::new(MPI_ERR_OTHER, text));
            }
            self.engine.meet(id, true);
        }
        Ok(())
    }

    /// Jobs that were left: their processes are not let in any more.
    pub(crate) fn forget_jobs(&mut self, jobs: Vec<JobId>) {
        let Some(network) = &self.agent_socket.network else { return };
        if let Some(agents) = &mut self.agents {
            agents.forget(&jobs);
        }
        let unused: Vec<KeyId> = {
            let mut network = network.lock();
            jobs.into_iter().for_each(|job| network.forget(job));
            self.agent_socket.admitted.iter().filter(|key_id| !network.uses(key_id)).copied().collect()
        };
        for key_id in unused {
            self.agent_socket.admitted.remove(&key_id);
            let _ = self.agent_socket.ask(Request::Dismiss { key_id });
        }
    }

    /// This process receives nothing more.
    pub fn prepare_to_leave_all(&mut self) {
        self.engine.node().prepare_to_leave();
        self.tell_stage(Stage::Leaving);
    }

    /// Tells other jobs how far this process is from its end.
    pub fn tell_stage(&mut self, stage: Stage) {
        if self.agent_socket.network.is_some() {
            let _ = self.agent_socket.ask(Request::Stage(stage));
        }
    }

    /// Asks about published names; the ticket of the answer.
    pub fn ask_names(&mut self, what: NameRequest) -> Result<u32> {
        self.use_network()?;
        let ticket = self.next_ticket();
        self.agent_socket.ask(Request::Names { ticket, what })?;
        Ok(ticket)
    }

    /// Takes the answer to [`Process::ask_names`].
    pub fn heard_names(&mut self, ticket: u32) -> Option<Result<Vec<u8>>> {
        Some(match self.take_answer(ticket)? {
            Answer::Names { result, .. } => result.map_err(|(class, text)| Error::new(class, text)),
            _ => Err(Error::new(MPI_ERR_OTHER, "the agent of this node gave a wrong answer")),
        })
    }

    fn next_ticket(&mut self) -> u32 {
        self.agent_socket.next_ticket = self.agent_socket.next_ticket.wrapping_add(1);
        self.agent_socket.next_ticket
    }

    fn take_answer(&mut self, ticket: u32) -> Option<Answer> {
        self.hear_agent();
        self.agent_socket.answers.remove(&ticket)
    }

    fn hear_agent(&mut self) {
        for bytes in self.engine.take_answers() {
            // An answer that makes no sense is none.
            let Some(answer) = requests::read::<Answer>(&bytes) else { continue };
            match answer {
                Answer::Listening { ticket, .. } | Answer::Names { ticket, .. } => {
                    self.agent_socket.answers.insert(ticket, answer);
                }
                Answer::Voted { vote, ballots } => {
                    self.agent_socket.ballots.entry(vote).or_default().push(ballots);
                }
            }
        }
    }

    /// Sends a ballot for a vote of processes of several nodes.
    pub(crate) fn send_ballot(&mut self, vote: VoteId, members: Vec<(u32, u32)>, ballot: SentBallot) -> Result<()> {
        self.agent_socket.ask(Request::Vote { vote, members, ballot })
    }

    /// What all members have said in such a vote, once all have; nothing from those that have ended without a ballot.
    pub(crate) fn take_ballots(&mut self, vote: VoteId) -> Option<Vec<Option<SentBallot>>> {
        // An agent that cannot be asked has ended, and ends this process.
        let _ = self.agent_socket.send_waiting();
        self.hear_agent();
        let parts = self.agent_socket.ballots.get(&vote)?;
        // They come in order.
        let members = parts.first()?.members as usize;
        if parts.iter().map(|part| part.said.len()).sum::<usize>() < members {
            return None;
        }
        Some(self.agent_socket.ballots.remove(&vote)?.into_iter().flat_map(|part| part.said).collect())
    }

    /// Revokes a context that processes of other nodes have, too.
    pub(crate) fn revoke_on_hosts(&mut self, context: u32) -> Result<()> {
        self.agent_socket.ask(Request::Revoke { context })
    }

    /// Has processes of other nodes ended, with which this one aborts a communicator.
    pub(crate) fn abort_on_hosts(&mut self, members: &[Peer]) {
        let members = self.world_ranks(members.iter().copied());
        // An agent that cannot be asked has ended, and ends all its ranks.
        let _ = self.agent_socket.ask(Request::Abort { members });
    }

    /// Tells `mpirun` of links that have broken although nobody is known to have died.
    pub(crate) fn tell_broken_links(&mut self) {
        for (peer, error) in self.engine.take_broken_links() {
            if let Some(rank) = self.engine.node().nodes().rank_of(peer) {
                let (rank, why) = (rank.index() as u32, error.text().into());
                let _ = self.agent_socket.ask(Request::LinkBroken { rank, why });
            }
        }
        // Without the agent of a node, this process has lost the ranks there.
        for (node, why) in self.agents.as_mut().map_or(Vec::new(), Agents::take_cut_off) {
            let node_memory = self.engine.node();
            let nodes = node_memory.nodes();
            let ranks = (0..).map_while(Slot::new).map_while(|slot| nodes.world_rank(NodeId::new(node), slot));
            if let Some(rank) = ranks.into_iter().find(|rank| node_memory.end_in_log(nodes.peer(*rank)).is_none()) {
                let _ = self.agent_socket.ask(Request::LinkBroken { rank: rank.index() as u32, why });
            }
        }
    }
}
