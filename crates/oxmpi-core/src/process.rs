//! The MPI state of this process: every object that has a handle, and the engine that moves
//! messages.
//!
//! There are no globals here, so that a test can run several processes as threads. Nothing here
//! waits or calls user functions: see `wait/` and `call.rs`.

use crate::agent_socket::AgentSocket;
use crate::agents::Agents;
use crate::args;
use crate::buffer::BufferPool;
use crate::check::{self, buffers::Buffers, calls::CallTable};
use crate::collective::{Background, BoardOperation, Run};
use crate::comm::{Comm, Comms};
use crate::contexts::Contexts;
use crate::engine::Engine;
use crate::failures::Failures;
use crate::file::File;
use crate::file_tasks::FileTasks;
use crate::group::Group;
use crate::liveness::{Gone, Polls};
use crate::matching::Envelope;
use crate::memory::Allocations;
use crate::operation::{UserCall, UserFunction};
use crate::partitioned::Receiving;
use crate::pending_comm::PendingComm;
use crate::ranks::Ranks;
use crate::request::{Body, Promise, Request};
use crate::resting::Published;
use crate::settings::{HUGE_PAGES, SINGLE_COPY};
use crate::votes::{OldPlace, Vote, VoteMail};
use crate::wait::debugger::wait_for_debugger;
use crate::window::Win;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::address::JobId;
use oxmpi_base::ids::{Peer, Rank, WorldRank};
use oxmpi_base::slots::{Kind, SlotTable};
use oxmpi_base::{huge, lifeline, limits, thread_checker, valgrind};
use oxmpi_boot::apps::ProcessSet;
use oxmpi_boot::names::Names;
use oxmpi_boot::{Member, Start as Boot};
use oxmpi_coll::nodes::NodeMap;
use oxmpi_datatype::Datatype;
use oxmpi_transport::Links;
use oxmpi_transport::board::SharedBoard;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod arguments;
mod boards;
mod checked_buffers;
mod checked_calls;
mod checked_left;
mod checked_messages;
mod checked_windows;
mod failing;
mod files;
mod messages;
mod objects;
mod pending;
mod progress;
mod votes_by_messages;
mod votes_on_nodes;
mod voting;

/// A sleeping rank wakes up by itself at this interval, in case a wake-up was lost because a rank
/// died.
pub(crate) const SLEEP: Duration = Duration::from_millis(500);

pub struct Process {
    /// Accesses to files under way. Dropped before the engine: a helper thread uses its segment.
    pub(crate) file_tasks: FileTasks,
    pub engine: Engine,
    pub comms: Comms,
    /// Collective calls that are compared for `--check`.
    pub(crate) call_table: CallTable,
    /// Buffers of operations under way, for `--check`.
    pub(crate) buffers: Buffers,
    pub groups: SlotTable<Arc<Group>>,
    pub no_members: Arc<Group>,
    pub contexts: Contexts,
    /// Joins of two groups under way; they may know processes that nothing names yet.
    pub joining: usize,
    /// Names that this process has published.
    pub names: Names,
    /// The agent of this process, for other hosts.
    pub agent_socket: AgentSocket,
    /// The connection to the name server, if this process has asked it.
    pub name_server: Option<OwnedFd>,
    /// Communicators whose members have not agreed on a context yet.
    pub(crate) pending_comms: Vec<PendingComm>,
    /// Communicators whose participants have agreed, with `--check`, before their requests are completed.
    pub(crate) held_members: Vec<(pending::Members, Option<Ranks>)>,
    /// Collective operations that go on while the program does other things.
    pub(crate) runs: Vec<Background>,
    /// Partitioned receives whose announcement has not arrived.
    pub(crate) receiving: Vec<Arc<Mutex<Receiving>>>,
    /// The number of partitions that were ever sent.
    pub(crate) partitions: u64,
    /// Background collective operations that wait for a call of the user's function.
    pub(crate) calls: Vec<(Run, UserCall)>,
    pub requests: SlotTable<Request>,
    /// The request of every send that was complete at once.
    pub sent: handle::Request,
    pub messages: SlotTable<(Envelope, crate::engine::Message, handle::Comm)>,
    pub types: SlotTable<Arc<Datatype>>,
    /// The names that the program gave to types.
    pub type_names: BTreeMap<handle::Datatype, Vec<u8>>,
    /// Handles of predefined types without a name, by the address of the type, which is never
    /// freed.
    pub unnamed_types: BTreeMap<usize, handle::Datatype>,
    /// The program's memory from `MPI_Alloc_mem`.
    pub memory: Allocations,
    pub windows: SlotTable<Box<Win>>,
    /// The windows in which this rank may get assist requests.
    pub(crate) serving_windows: Vec<handle::Win>,
    pub files: SlotTable<Box<File>>,
    /// User-defined reduction operations.
    pub operations: SlotTable<Arc<UserFunction>>,
    pub buffer: Option<BufferPool>,
    /// The buffers of sessions that have or had one.
    pub session_buffers: BTreeMap<handle::Session, Option<BufferPool>>,
    /// How many boards this process takes part in.
    pub(crate) boards: usize,
    /// The promise of every collective operation that had ended when it was started.
    pub(crate) kept: Promise,
    /// Boards owned by this process that it has left, but others may still use.
    pub(crate) left_boards: Vec<SharedBoard>,
    /// Persistent collective operations with boards of their own.
    pub(crate) board_operations: Vec<Arc<BoardOperation>>,
    pub appnum: Option<i32>,
    pub universe_size: i32,
    /// The port of the processes that spawned this job, until this process has connected to them.
    pub parent_port: Option<String>,
    /// The job of the parents, while this process is connected to it.
    pub(crate) parent_job: Option<JobId>,
    /// That job and the jobs that this process has spawned, while it is connected to them.
    pub(crate) related_jobs: BTreeSet<JobId>,
    /// How often this process has published that it can do nothing before others act.
    pub(crate) rests: u64,
    /// The record of that, while it is up.
    pub(crate) published: Option<Published>,
    /// The processes that had left at the last check.
    pub(crate) gone: Gone,
    /// Processes that have failed, and contexts that were revoked.
    pub failures: Failures,
    /// Votes under way, in the order of the calls.
    pub(crate) votes: Vec<Vote>,
    /// How many votes there were among members on several nodes, by the context and a hash of the members.
    pub(crate) votes_on_nodes: BTreeMap<(u32, u64), u64>,
    /// Messages of votes that have come.
    pub(crate) vote_mail: VoteMail,
    /// This process has had a place for its votes.
    pub(crate) has_voted: bool,
    /// Places of votes that other processes may still read.
    pub(crate) old_places: Vec<OldPlace>,
    /// Calls of the program that wait, while calls take the lock.
    pub(crate) waiters: usize,
    /// When a program that polls checks for processes that have ended.
    pub(crate) polls: Polls,
    /// A call that waits in vain checks after this time at most whether its wait can still succeed.
    /// Tests check more often.
    pub longest_sleep: Duration,
    /// The intercommunicator with the parents; it may have been freed.
    pub parent: handle::Comm,
    /// The process sets that `mpirun` defined.
    process_sets: Vec<ProcessSet>,
    /// The connections to agents, once this process uses the network.
    pub agents: Option<Agents>,
    /// What started this process, for people; nothing if it was started alone.
    pub launcher: Option<String>,
    /// A process manager of others has started this process.
    pub is_managed: bool,
    _lifeline: Option<OwnedFd>,
}

impl Process {
    /// Joins the job of this process, as the settings say.
    pub fn start_as_set() -> Result<Process> {
        huge::allow(HUGE_PAGES.is_on());
        Process::start(SINGLE_COPY.is_on())
    }

    /// Joins the job of this process. `single_copy`: use single copies between processes, if the
    /// kernel allows them.
    pub fn start(single_copy: bool) -> Result<Process> {
        if valgrind::detect() {
            args::forbid_short_paths();
            oxmpi_datatype::watch_padding();
        }
        thread_checker::detect();
        let mut started_by = (None, false);
        let ((segment, job, nodes), appnum, universe, process_sets, parent_port, lifeline, network) =
            match oxmpi_boot::start_from_env()? {
                Boot::Alone => {
                    let made = oxmpi_boot::alone().map_err(|error| {
                        Error::new(MPI_ERR_OTHER, format!("cannot make shared memory: {}", limits::explain(&error)))
                    })?;
                    (made, None, 1, Vec::new(), None, None, None)
                }
                Boot::Member(member) => {
                    let Member { nodes, appnum, process_sets, parent, job, mapped, lifeline, network, .. } = *member;
                    wait_for_debugger(&mapped);
                    let universe = member.universe_size as i32;
                    started_by = (Some(member.launcher), member.is_managed);
                    ((mapped, job, nodes), Some(appnum), universe, process_sets, parent, lifeline, network)
                }
            };
        if let Some(lifeline) = &lifeline {
            lifeline::hold(lifeline.as_fd()).map_err(|error| {
                Error::new(
                    MPI_ERR_OTHER,
                    format!("cannot watch mpirun: {error} (is /proc mounted? `oxmpi doctor` tells)"),
                )
            })?;
        }
        let cannot = |error: std::io::Error| Error::new(MPI_ERR_OTHER, format!("cannot join the job: {error}"));
        check::begin(started_by.0.is_some() && !started_by.1);
        if check::is_on() {
            args::forbid_short_paths();
        } else if check::records() {
            args::forbid_short_accesses();
        }
        let links = Links::attach_on(segment, job, nodes).map_err(cannot)?;
        let mut process = Process {
            appnum,
            universe_size: universe,
            parent_port,
            process_sets,
            _lifeline: lifeline,
            agent_socket: AgentSocket::new(network),
            launcher: started_by.0,
            is_managed: started_by.1,
            ..Process::of(links, single_copy)
        };
        if job.is_on_hosts() {
            process.use_network()?;
        }
        Ok(process)
    }

    /// A process of a job of which only the links are known.
    pub fn of(links: Links, single_copy: bool) -> Process {
        let (own, nodes) = (links.node().own(), Arc::clone(links.node().nodes()));
        let mut requests = SlotTable::new(Kind::Request);
        let sent = handle::Request(requests.insert(Request { comm: MPI_COMM_SELF, body: Body::Sent }));
        Process {
            file_tasks: FileTasks::default(),
            engine: Engine::new(links, single_copy),
            comms: Comms {
                world: Comm::world(&nodes),
                own: Comm::own(own),
                has_world: false,
                made: SlotTable::new(Kind::Comm),
            },
            call_table: CallTable::default(),
            buffers: Buffers::default(),
            groups: SlotTable::new(Kind::Group),
            no_members: Arc::new(Group::empty()),
            contexts: Contexts::new(nodes.own(), nodes.size()),
            joining: 0,
            names: Names::default(),
            agent_socket: AgentSocket::default(),
            name_server: None,
            pending_comms: Vec::new(),
            held_members: Vec::new(),
            runs: Vec::new(),
            receiving: Vec::new(),
            partitions: 0,
            calls: Vec::new(),
            requests,
            sent,
            messages: SlotTable::new(Kind::Message),
            types: SlotTable::new(Kind::Datatype),
            type_names: BTreeMap::new(),
            unnamed_types: BTreeMap::new(),
            memory: Allocations::default(),
            windows: SlotTable::new(Kind::Win),
            serving_windows: Vec::new(),
            files: SlotTable::new(Kind::File),
            operations: SlotTable::new(Kind::Op),
            buffer: None,
            session_buffers: BTreeMap::new(),
            boards: 0,
            kept: Promise::ended(None),
            left_boards: Vec::new(),
            board_operations: Vec::new(),
            appnum: None,
            universe_size: nodes.size() as i32,
            parent_port: None,
            parent_job: None,
            related_jobs: BTreeSet::new(),
            rests: 0,
            published: None,
            gone: Gone::default(),
            failures: Failures::default(),
            votes: Vec::new(),
            votes_on_nodes: BTreeMap::new(),
            vote_mail: VoteMail::default(),
            has_voted: false,
            old_places: Vec::new(),
            waiters: 0,
            polls: Polls::default(),
            longest_sleep: SLEEP,
            parent: MPI_COMM_NULL,
            process_sets: Vec::new(),
            agents: None,
            launcher: None,
            is_managed: false,
            _lifeline: None,
        }
    }

    /// The process with a rank in the world.
    fn peer_of(&self, rank: u32) -> Option<Peer> {
        WorldRank::new(rank as usize).map(|rank| self.engine.node().nodes().peer(rank))
    }

    /// Whether all processes of a group are on this node, so that they can share memory.
    pub fn is_on_this_node(&self, group: &Ranks) -> bool {
        match group {
            Ranks::OneNode { .. } => true,
            Ranks::World(nodes) => nodes.nodes() == 1,
            Ranks::List(list) => list.iter().all(|&process| self.engine.node().shares_memory(process)),
        }
    }

    /// Where the ranks of a communicator run, if that is on several nodes. Nothing with processes of other jobs: the table of
    /// nodes knows only the own ones, and all ranks must have the same map.
    pub fn node_map(&self, comm: handle::Comm) -> Result<Option<&Arc<NodeMap>>> {
        let comm = self.comm(comm)?;
        let nodes = self.engine.node().nodes();
        if nodes.nodes() == 1 || comm.is_inter() {
            return Ok(None);
        }
        let place = |rank: usize| nodes.place(nodes.rank_of(comm.group.peer(Rank::new(rank)))?);
        let make = || {
            let size = comm.group.len();
            let is_own_job = (0..size).all(|rank| place(rank).is_some());
            let map = NodeMap::new(size as u32, |rank| place(rank as usize).map_or(0, |(node, _)| node.number()));
            map.filter(|_| is_own_job).map(Arc::new)
        };
        Ok(comm.nodes.get_or_init(make).as_ref())
    }

    /// The name of this node, where the machine has that name: pretended nodes and hosts have names of their own.
    pub fn name_of_host(&self, machine: &[u8]) -> Vec<u8> {
        let pretended = self.agent_socket.network().and_then(|network| network.lock().pretended_host());
        let of_node = || self.engine.node().nodes().name_of_node(machine).to_vec();
        pretended.map_or_else(of_node, String::into_bytes)
    }

    // ---- process sets ----

    /// The names of the process sets that this process is in, always in the same order.
    pub fn process_sets(&self) -> impl Iterator<Item = &str> {
        let own = self.comms.world.rank as u32;
        let others = self.process_sets.iter().filter(move |set| set.ranks.binary_search(&own).is_ok());
        ["mpi://WORLD", "mpi://SELF"].into_iter().chain(others.map(|set| set.name.as_str()))
    }

    /// The members of a process set, which need not include this process.
    pub fn process_set(&self, name: &[u8]) -> Result<Ranks> {
        // The names are URIs: scheme and host are case-insensitive.
        if name.eq_ignore_ascii_case(b"mpi://WORLD") {
            return Ok(self.comms.world.group.clone());
        }
        if name.eq_ignore_ascii_case(b"mpi://SELF") {
            return Ok(self.comms.own.group.clone());
        }
        match self.process_sets.iter().find(|set| set.name.as_bytes() == name) {
            Some(set) => Ok(Ranks::from_list(set.ranks.iter().filter_map(|&rank| self.peer_of(rank)).collect())),
            None => {
                let known: Vec<&str> = self.process_sets().collect();
                bail!(
                    MPI_ERR_ARG,
                    "there is no process set \"{}\"; this process is in {}",
                    String::from_utf8_lossy(name),
                    known.join(", ")
                );
            }
        }
    }
}
