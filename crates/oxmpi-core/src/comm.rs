//! Communicators: one or two groups of processes, and a context that separates their messages from
//! all others.

use crate::agreement::Participants;
use crate::board::{BOARD_AFTER_CALLS, Board};
use crate::buffer::BufferPool;
use crate::call_history::Calls;
use crate::explain::Speaker;
use crate::info::Info;
use crate::plan_cache::PlanCache;
use crate::ranks::Ranks;
use crate::topology::Topology;
use crate::topology::cart::Cart;
use crate::topology::graph::Graph;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm as CommHandle, Errhandler, Session};
use oxmpi_abi::{Error, Result};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_base::message_queues::{CommsPlace, VecPlace, inside_option};
use oxmpi_base::slots::SlotTable;
use oxmpi_boot::nodes::NodeTable;
use oxmpi_coll::nodes::NodeMap;
use oxmpi_coll::rules::BOARD_RANKS;
use std::mem::offset_of;
use std::sync::{Arc, OnceLock};

pub struct Comm {
    pub handle: CommHandle,
    /// The context of point-to-point messages; messages of the library itself use the next one.
    pub context: u32,
    /// This process's rank in its own group.
    pub rank: i32,
    /// The processes that ranks in messages name: the communicator's group, or the remote group of
    /// an intercommunicator.
    pub group: Ranks,
    /// The group of this process, if it is not `group`: in an intercommunicator.
    pub local: Option<Ranks>,
    /// Whether the local group comes first where all processes of an intercommunicator need one
    /// order.
    pub is_first: bool,
    pub errhandler: Errhandler,
    /// Bytes, as C passes them.
    pub name: Vec<u8>,
    /// The buffer for buffered sends on this communicator, if it has one of its own.
    pub buffer: Option<BufferPool>,
    /// The session that it was derived from, if any.
    pub session: Option<Session>,
    /// Whether it was made from a group, or derived from such a communicator: a member may join it
    /// later, even after `MPI_Finalize`.
    pub from_group: bool,
    /// The hints of the program that have an effect here.
    pub hints: Info,
    /// Its virtual topology, if any.
    pub topology: Option<Arc<Topology>>,
    /// The number of collective operations that went by messages, including the library's own; the
    /// same on all ranks.
    pub collectives: u32,
    /// The collective calls that the program has made on it.
    pub calls: Calls,
    /// The board for blocking collective operations.
    pub board: Board,
    /// Where its ranks run, once a collective operation has asked ([`crate::process::Process::node_map`]).
    pub nodes: OnceLock<Option<Arc<NodeMap>>>,
    /// Plans of its last collective operations.
    pub plans: OnceLock<Arc<PlanCache>>,
    /// As many ranks can be addressed in the short ways: all, or none while it is in trouble.
    pub reach: u32,
    /// Why collective calls fail: a member has failed, or it was revoked.
    pub trouble: Option<Error>,
    /// So many of the failures that this process knows are acknowledged.
    pub acknowledged: usize,
}

/// The communicators of a process, by their handles.
pub struct Comms {
    pub world: Comm,
    pub own: Comm,
    /// `MPI_COMM_WORLD` and `MPI_COMM_SELF` exist.
    pub has_world: bool,
    /// All others.
    pub made: SlotTable<Comm>,
}

impl Comms {
    #[inline]
    pub fn get(&self, handle: CommHandle) -> Option<&Comm> {
        if self.has_world {
            if handle == MPI_COMM_WORLD {
                return Some(&self.world);
            }
            if handle == MPI_COMM_SELF {
                return Some(&self.own);
            }
        }
        self.made.get(handle.0)
    }

    /// Where a debugger finds the communicators.
    pub fn place(offset: usize) -> CommsPlace {
        CommsPlace {
            world: (offset + offset_of!(Comms, world)) as u32,
            own: (offset + offset_of!(Comms, own)) as u32,
            has_world: (offset + offset_of!(Comms, has_world)) as u32,
            made: SlotTable::<Comm>::place(offset + offset_of!(Comms, made)),
            handle: offset_of!(Comm, handle) as u32,
            context: offset_of!(Comm, context) as u32,
            rank: offset_of!(Comm, rank) as u32,
            group: offset_of!(Comm, group) as u32,
            local: (offset_of!(Comm, local) + inside_option::<Ranks>()) as u32,
            name: VecPlace::at::<u8>(offset_of!(Comm, name)),
            ranks: Ranks::place(),
        }
    }

    pub fn get_mut(&mut self, handle: CommHandle) -> Option<&mut Comm> {
        match handle {
            MPI_COMM_WORLD if self.has_world => Some(&mut self.world),
            MPI_COMM_SELF if self.has_world => Some(&mut self.own),
            _ => self.made.get_mut(handle.0),
        }
    }
}

impl Comm {
    /// Explains decisions about this communicator; `None` where nothing is to be explained.
    #[inline]
    pub fn speaker(&self) -> Option<Speaker> {
        Speaker::new(self.context, self.rank, || self.describe())
    }

    pub fn world(nodes: &Arc<NodeTable>) -> Comm {
        let group = match nodes.is_one_node() {
            true => Ranks::one_node(nodes.size()),
            false => Ranks::World(Arc::clone(nodes)),
        };
        Comm::predefined(MPI_COMM_WORLD, 0, nodes.own().index() as i32, group, "MPI_COMM_WORLD")
    }

    pub fn own(process: Peer) -> Comm {
        Comm::predefined(MPI_COMM_SELF, 2, 0, Ranks::List(Arc::new([process])), "MPI_COMM_SELF")
    }

    /// Whether its ranks could share a board.
    pub fn may_have_board(&self) -> bool {
        !self.is_inter() && (2..=BOARD_RANKS as usize).contains(&self.group.len())
    }

    fn predefined(handle: CommHandle, context: u32, rank: i32, group: Ranks, name: &str) -> Comm {
        let (name, board) = (name.as_bytes().to_vec(), Board::Wanted(BOARD_AFTER_CALLS));
        Comm { handle, name, board, ..Comm::new(context, rank, group, None, MPI_ERRORS_ARE_FATAL) }
    }

    /// A communicator without dependent objects; it gets its handle when it is
    /// [added](crate::process::Process::add_comm).
    pub fn new(context: u32, rank: i32, group: Ranks, local: Option<Ranks>, errhandler: Errhandler) -> Comm {
        Comm {
            handle: MPI_COMM_NULL,
            reach: group.len() as u32,
            trouble: None,
            acknowledged: 0,
            context,
            rank,
            group,
            local,
            is_first: true,
            errhandler,
            name: Vec::new(),
            buffer: None,
            session: None,
            from_group: false,
            hints: Info::new(),
            topology: None,
            collectives: 0,
            calls: Calls::default(),
            board: Board::Wanted(0),
            nodes: OnceLock::new(),
            plans: OnceLock::new(),
        }
    }

    /// The number of ranks that can be addressed: the size of the group, or of an
    /// intercommunicator's remote group.
    #[inline]
    pub fn size(&self) -> i32 {
        self.group.len() as i32
    }

    /// The process that a checked rank in a message names.
    #[inline]
    pub fn peer(&self, rank: i32) -> Peer {
        self.group.peer(Rank::new(rank as usize))
    }

    pub fn is_inter(&self) -> bool {
        self.local.is_some()
    }

    /// The group that this process is in.
    pub fn local_group(&self) -> &Ranks {
        self.local.as_ref().unwrap_or(&self.group)
    }

    /// The context of the library's own messages.
    pub fn inner_context(&self) -> u32 {
        self.context + 1
    }

    /// All processes of the communicator, in an order that all of them agree on: the group of an
    /// intercommunicator whose first process has the lower id comes first.
    pub fn everybody(&self) -> Ranks {
        match &self.local {
            None => self.group.clone(),
            Some(local) if self.is_first => Ranks::from_list(local.iter().chain(self.group.iter()).collect()),
            Some(local) => Ranks::from_list(self.group.iter().chain(local.iter()).collect()),
        }
    }

    /// The tag, on the inner context, of the messages of the next collective operation. Every
    /// process calls the collective operations of a communicator in the same order, so they agree
    /// on it.
    pub fn collective_tag(&mut self) -> i32 {
        self.collectives = self.collectives.wrapping_add(1);
        i32::MIN | (self.collectives & COLLECTIVE_TAGS) as i32
    }

    /// The participants of an agreement over the whole communicator; an error if a member has failed, or it was revoked.
    pub fn participants(&mut self, process: Peer) -> Result<Participants> {
        self.check_whole()?;
        let (tag, context) = (self.collective_tag(), self.inner_context());
        Ok(match self.local {
            None => Participants { members: self.group.clone(), rank: self.rank as usize, context, tag },
            Some(_) => Participants::new(self.everybody(), process, context, tag),
        })
    }

    /// The grid of a communicator; an error if it has none.
    pub fn cart(&self) -> Result<&Cart> {
        match self.topology.as_deref() {
            Some(Topology::Cart(cart)) => Ok(cart),
            _ => Err(self.other_topology("a Cartesian topology")),
        }
    }

    /// The graph of a communicator; an error if it has none.
    pub fn graph(&self) -> Result<&Graph> {
        match self.topology.as_deref() {
            Some(Topology::Graph(graph)) => Ok(graph),
            _ => Err(self.other_topology("a graph topology")),
        }
    }

    #[cold]
    pub fn other_topology(&self, wanted: &str) -> Error {
        let has = self.topology.as_ref().map_or("no topology", |topology| topology.describe());
        Error::new(MPI_ERR_TOPOLOGY, format!("{} has {has}; this function needs {wanted}", self.describe()))
    }

    /// Its name in error texts.
    pub fn describe(&self) -> String {
        match (self.name.is_empty(), &self.local) {
            (false, _) => String::from_utf8_lossy(&self.name).into_owned(),
            (true, None) if self.size() == 1 => String::from("a communicator of 1 process"),
            (true, None) => format!("a communicator of {} processes", self.size()),
            (true, Some(local)) => format!("an intercommunicator of {} and {} processes", local.len(), self.size()),
        }
    }
}

/// On the inner context, nonnegative tags are those that the program passes to
/// `MPI_Comm_create_group`; collective operations have negative ones. They repeat after so many
/// operations that the earlier one has ended long before.
const COLLECTIVE_TAGS: u32 = (1 << 30) - 1;
