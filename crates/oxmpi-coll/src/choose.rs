//! Which algorithm an operation takes: the one table for all collective operations, over messages and over the board that the
//! ranks of a node share.
//!
//! All ranks must choose alike. A [`Shape`] therefore holds only what is the same on all of them: never a buffer that only some
//! have, counts that only the root knows, or "in place" where each rank decides it; and of the machine only what comes from the
//! job description or was agreed when the board was made. The rows, with their reasons, are in `rules.rs`; [`crate::operation`]
//! leads from an algorithm to a plan, `oxmpi-transport/src/board` carries out the ways over a board.

use crate::rules::{FIRST_ROWS, TABLE};
use crate::tuning::{Limit, Tuning};
use smallvec::SmallVec;

/// What the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub kind: Kind,
    pub ranks: u32,
    /// Nodes that the ranks run on.
    pub nodes: u32,
    /// The bytes that [`Kind::measured`] names; 0 where ranks do not know the same.
    pub bytes: u64,
    pub facts: Facts,
    /// The limits of the machine.
    pub tuning: Tuning,
}

impl Shape {
    /// The shape of an operation of ranks on one node.
    #[inline]
    pub fn new(kind: Kind, ranks: u32, bytes: u64, facts: Facts) -> Shape {
        let facts = facts.and(Facts::POWER_OF_TWO.when(ranks.is_power_of_two()));
        Shape { kind, ranks, nodes: 1, bytes, facts, tuning: Tuning::NONE }
    }

    /// The same on a machine with these limits.
    #[must_use]
    pub fn tuned(self, tuning: Tuning) -> Shape {
        Shape { tuning, ..self }
    }

    /// The row that decides: the first that fits.
    pub fn choose(&self) -> &'static Rule {
        match TABLE[FIRST_ROWS[self.kind as usize]..].iter().find(|rule| rule.fits(self)) {
            Some(rule) => rule,
            None => unreachable!("each kind has a row that fits every shape; a test checks it"),
        }
    }

    /// The choices for all sizes: from so many bytes on, this one. What a communicator keeps, so that a call does not look at
    /// the table.
    pub fn choices(kind: Kind, ranks: u32, facts: Facts, tuning: Tuning) -> SmallVec<[(u64, Algorithm); 8]> {
        let shape = Shape::new(kind, ranks, 0, facts);
        let rows: SmallVec<[(&Rule, Bytes); 16]> = TABLE[FIRST_ROWS[kind as usize]..]
            .iter()
            .filter(|rule| rule.fits_some_size_of(&shape))
            .map(|rule| (rule, rule.bytes_on(tuning)))
            .collect();
        let mut sizes: SmallVec<[u64; 16]> = SmallVec::new();
        sizes.push(0);
        sizes.extend(rows.iter().flat_map(|(_, of)| of.changes(ranks.into())));
        sizes.sort_unstable();
        let mut choices = SmallVec::new();
        for bytes in sizes {
            // Each kind has a row that fits every shape: see `choose`.
            let Some((rule, _)) = rows.iter().find(|(_, of)| of.contains(bytes, ranks.into())) else { continue };
            if choices.last().is_none_or(|&(_, algorithm)| algorithm != rule.take) {
                choices.push((bytes, rule.take));
            }
        }
        choices
    }

    /// The choice in words; its reason is the row's.
    pub fn describe(&self, rule: &Rule) -> String {
        let measured = self.kind.measured().map_or(String::new(), |what| format!(", {} bytes {what}", self.bytes));
        let nodes = if self.nodes > 1 { format!(" on {} nodes", self.nodes) } else { String::new() };
        format!("{} ranks{nodes}{measured}: {}", self.ranks, rule.take.describe())
    }
}

/// What is true of an operation, of its communicator's board and of the machine: a set of facts, equal on all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts(u16);

impl Facts {
    pub const NONE: Facts = Facts(0);
    /// The operation of a reduction commutes.
    pub const COMMUTES: Facts = Facts(1);
    /// What is sent and what is received is not the same memory.
    pub const APART: Facts = Facts(1 << 1);
    /// The number of ranks is a power of two.
    pub const POWER_OF_TWO: Facts = Facts(1 << 2);
    /// The ranks share a board, and the arguments are such that it can be used.
    pub const BOARD: Facts = Facts(1 << 3);
    /// The kernel lets all ranks copy from and to each other's memory.
    pub const DIRECT: Facts = Facts(1 << 4);
    /// All ranks may move buffers that come again to huge pages, which the kernel copies sooner.
    pub const HUGE_PAGES: Facts = Facts(1 << 5);
    /// Ranks outnumber CPUs, or they do not: exactly one of the two is true of a board.
    pub const OVERSUBSCRIBED: Facts = Facts(1 << 6);
    pub const CPU_EACH: Facts = Facts(1 << 7);
    /// Staging buffers of the board are large, or small because there are many boards: exactly one of the two.
    pub const LARGE_STAGING: Facts = Facts(1 << 8);
    pub const SMALL_STAGING: Facts = Facts(1 << 9);
    /// The ranks share a board, and the operation goes on in the background: instead of [`Facts::BOARD`], since nobody waits
    /// in such an operation.
    pub const BACKGROUND_BOARD: Facts = Facts(1 << 10);
    /// Some node has several of the ranks.
    pub const SHARED_NODES: Facts = Facts(1 << 11);
    /// The result may combine the operands of each node first: the operation commutes, or nodes have ranks in a row.
    pub const KEEPS_ORDER: Facts = Facts(1 << 12);

    /// These facts and others.
    #[must_use]
    pub const fn and(self, others: Facts) -> Facts {
        Facts(self.0 | others.0)
    }

    /// These facts if they are true, else none.
    #[must_use]
    pub const fn when(self, is_true: bool) -> Facts {
        if is_true { self } else { Facts::NONE }
    }

    pub const fn has(self, all: Facts) -> bool {
        self.0 & all.0 == all.0
    }

    /// As a word in which ranks tell each other what is true of them.
    pub const fn to_bits(self) -> u64 {
        self.0 as u64
    }

    /// The facts of such a word; bits that mean nothing are passed over.
    pub const fn from_bits(bits: u64) -> Facts {
        Facts(bits as u16 & 0x3ff)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
    /// The operations among the neighbours of a topology.
    Neighbors,
}

/// How the ranks of several nodes work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeWay {
    /// One rank of each node speaks for the others of its node.
    Leaders,
    /// The same in segments, from node to node and from rank to rank.
    Pipeline,
    /// Every rank speaks for its node about a part of the data.
    Slices,
}

/// A way to do an operation. The same name stands for the same idea in several operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Over the board of the node, without messages.
    Board(BoardWay),
    /// Composed of operations within nodes and between them ([`crate::nodes`]).
    OverNodes(NodeWay),
    /// All messages at once, straight from where data is to where it goes.
    Linear,
    /// The same, eight messages to a receiver at a time.
    Batched,
    /// A tree with a root of log2 n children.
    Binomial,
    /// Each rank tells the one `2^k` further.
    Dissemination,
    /// Exchange with a partner at distance 1, 2, 4, …
    Doubling,
    /// Doubling for any number of ranks, through packed blocks.
    Bruck,
    /// Shares by an exchange of halves (and then gathered).
    Halving,
    /// Shares down a tree, then around a ring.
    ScatterAllgather,
    /// Shares down a tree, then doubled.
    ScatterDoubling,
    /// From neighbour to neighbour, all the way round.
    Ring,
    /// One partner at a time.
    Pairwise,
    /// Segments along the row of ranks.
    Chain,
}

/// What ranks do at a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoardWay {
    /// One piece after the other through the staging buffers, a round each; short ones in one round.
    Pieces,
    /// The same, written past the cache of the rank that receives.
    PiecesPastCache,
    /// Straight from one rank's memory to another's, by the kernel; the board carries addresses.
    Direct,
    /// Each piece has a part for every rank, computed by any rank that is free.
    Parts,
    /// The same, with results written past the cache.
    PartsPastCache,
    /// From rank to rank, each of which adds its elements.
    Chain,
    /// In pieces of which the root alone combines all operands, in the order in which a chain would.
    ChainOrder,
    /// Each piece has a part for every rank, which computes it and shows it to all in a second round.
    FixedParts,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub(crate) kind: Kind,
    /// From so many ranks to so many.
    pub(crate) ranks: (u32, u32),
    /// On so many nodes to so many.
    pub(crate) nodes: (u32, u32),
    pub(crate) bytes: Bytes,
    /// The limit of the machine that the bytes begin or end at, where it was measured.
    pub(crate) limit: Option<Limit>,
    pub(crate) needs: Facts,
    pub take: Algorithm,
    pub why: &'static str,
}

/// Which sizes a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    Any,
    UpTo(u64),
    From(u64),
    /// From the first on, but less than the second.
    Between(u64, u64),
    /// The bytes times the ranks: what one rank reads from all.
    ReadUpTo(u64),
    ReadFrom(u64),
    /// The bytes times the square of the ranks: what all of them read from all.
    AllReadFrom(u64),
    /// The bytes divided by the ranks: what one rank computes for all.
    PartFrom(u64),
}

impl Rule {
    fn fits(&self, shape: &Shape) -> bool {
        self.fits_some_size_of(shape) && self.bytes_on(shape.tuning).contains(shape.bytes, shape.ranks.into())
    }

    /// The sizes that the row is for, on a machine with these limits.
    fn bytes_on(&self, tuning: Tuning) -> Bytes {
        let Some(limit) = self.limit else { return self.bytes };
        let bytes = tuning.bytes(limit);
        match self.bytes {
            Bytes::From(_) => Bytes::From(bytes),
            Bytes::Between(_, end) => Bytes::Between(bytes, end),
            Bytes::UpTo(_) => Bytes::UpTo(bytes - 1),
            other => other,
        }
    }

    /// Whether the row fits the shape if the bytes are not looked at.
    fn fits_some_size_of(&self, shape: &Shape) -> bool {
        self.kind == shape.kind
            && (self.ranks.0..=self.ranks.1).contains(&shape.ranks)
            && shape.facts.has(self.needs)
            && (self.nodes.0..=self.nodes.1).contains(&shape.nodes)
    }
}

impl Bytes {
    fn contains(self, bytes: u64, ranks: u64) -> bool {
        match self {
            Bytes::Any => true,
            Bytes::UpTo(most) => bytes <= most,
            Bytes::From(least) => bytes >= least,
            Bytes::Between(least, end) => (least..end).contains(&bytes),
            Bytes::ReadUpTo(most) => bytes.saturating_mul(ranks) <= most,
            Bytes::ReadFrom(least) => bytes.saturating_mul(ranks) >= least,
            Bytes::AllReadFrom(least) => bytes.saturating_mul(ranks * ranks) >= least,
            Bytes::PartFrom(least) => bytes / ranks >= least,
        }
    }

    /// The sizes at which a row begins or ceases to fit.
    fn changes(self, ranks: u64) -> impl Iterator<Item = u64> {
        let (begins, ends) = match self {
            Bytes::Any => (None, None),
            Bytes::UpTo(most) => (None, Some(most + 1)),
            Bytes::From(least) => (Some(least), None),
            Bytes::Between(least, end) => (Some(least), Some(end)),
            Bytes::ReadUpTo(most) => (None, Some(most / ranks + 1)),
            Bytes::ReadFrom(least) => (Some(least.div_ceil(ranks)), None),
            Bytes::AllReadFrom(least) => (Some(least.div_ceil(ranks * ranks)), None),
            Bytes::PartFrom(least) => (Some(least * ranks), None),
        };
        begins.into_iter().chain(ends)
    }

    fn describe(self) -> String {
        match self {
            Bytes::Any => "any".to_string(),
            Bytes::UpTo(most) => format!("up to {most}"),
            Bytes::From(least) => format!("from {least}"),
            Bytes::Between(least, end) => format!("{least} to {}", end - 1),
            Bytes::ReadUpTo(most) => format!("x ranks up to {most}"),
            Bytes::ReadFrom(least) => format!("x ranks from {least}"),
            Bytes::AllReadFrom(least) => format!("x ranks^2 from {least}"),
            Bytes::PartFrom(least) => format!("/ ranks from {least}"),
        }
    }
}

/// The whole table, in words.
pub fn table() -> String {
    let mut text = String::new();
    for rule in TABLE {
        let ranks = match rule.ranks {
            (least, u32::MAX) => format!("{least} or more"),
            (least, most) => format!("{least} to {most}"),
        };
        let nodes = match rule.nodes {
            (1, _) => String::new(),
            (least, u32::MAX) => format!(" on {least} or more nodes"),
            (least, most) => format!(" on {least} to {most} nodes"),
        };
        text.push_str(&format!(
            "{:14} {:11} ranks{nodes}, bytes {:24} {}, because {}{}{}\n",
            rule.kind.name(),
            ranks,
            rule.bytes.describe(),
            rule.take.describe(),
            rule.why,
            rule.needs.describe(),
            rule.limit.map_or(String::new(), |limit| format!(" (oxmpi tune measures {})", limit.name())),
        ));
    }
    text
}

impl Facts {
    fn describe(self) -> String {
        let names: Vec<&str> = NAMES.iter().filter(|(fact, _)| self.has(*fact)).map(|(_, name)| *name).collect();
        if names.is_empty() { String::new() } else { format!(" (needs: {})", names.join(", ")) }
    }
}

const NAMES: &[(Facts, &str)] = &[
    (Facts::COMMUTES, "commutes"),
    (Facts::APART, "not in place"),
    (Facts::POWER_OF_TWO, "power of two"),
    (Facts::BOARD, "board"),
    (Facts::DIRECT, "direct copy"),
    (Facts::HUGE_PAGES, "huge pages"),
    (Facts::OVERSUBSCRIBED, "oversubscribed"),
    (Facts::CPU_EACH, "a CPU each"),
    (Facts::LARGE_STAGING, "large staging buffers"),
    (Facts::SMALL_STAGING, "small staging buffers"),
    (Facts::BACKGROUND_BOARD, "board in the background"),
    (Facts::SHARED_NODES, "several ranks on a node"),
    (Facts::KEEPS_ORDER, "commutes, or nodes have ranks in a row"),
];

impl Kind {
    pub const COUNT: usize = Kind::ALL.len();

    /// All kinds, each at its place.
    pub const ALL: [Kind; 16] = [
        Kind::Barrier,
        Kind::Bcast,
        Kind::Gather,
        Kind::Gatherv,
        Kind::Scatter,
        Kind::Scatterv,
        Kind::Allgather,
        Kind::Allgatherv,
        Kind::Alltoall,
        Kind::Alltoallv,
        Kind::Reduce,
        Kind::Allreduce,
        Kind::ReduceScatter,
        Kind::Scan,
        Kind::Exscan,
        Kind::Neighbors,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Bcast => "bcast",
            Kind::Gather => "gather",
            Kind::Gatherv => "gatherv",
            Kind::Scatter => "scatter",
            Kind::Scatterv => "scatterv",
            Kind::Allgather => "allgather",
            Kind::Allgatherv => "allgatherv",
            Kind::Alltoall => "alltoall",
            Kind::Alltoallv => "alltoallv, w",
            Kind::Reduce => "reduce",
            Kind::Allreduce => "allreduce",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::Scan => "scan",
            Kind::Exscan => "exscan",
            Kind::Neighbors => "neighbours",
        }
    }

    /// What the bytes of the table are; nothing where ranks do not know the same.
    fn measured(self) -> Option<&'static str> {
        match self {
            Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall => Some("a block"),
            // Each block has a size of its own, on a board and over nodes.
            Kind::Barrier | Kind::Gatherv | Kind::Scatterv | Kind::Alltoallv | Kind::Neighbors => None,
            _ => Some("in all"),
        }
    }
}

impl Algorithm {
    pub fn describe(self) -> &'static str {
        match self {
            Algorithm::Board(BoardWay::Pieces) => "over the board, in pieces",
            Algorithm::Board(BoardWay::PiecesPastCache) => "over the board, in pieces written past the cache",
            Algorithm::Board(BoardWay::Direct) => "over the board, with direct copies",
            Algorithm::Board(BoardWay::Parts) => "over the board, in parts that free ranks compute",
            Algorithm::Board(BoardWay::PartsPastCache) => "over the board, in parts written past the cache",
            Algorithm::Board(BoardWay::Chain) => "over the board, along a chain",
            Algorithm::Board(BoardWay::ChainOrder) => "over the board, in pieces combined in the order of a chain",
            Algorithm::Board(BoardWay::FixedParts) => "over the board, in parts that every rank computes for all",
            Algorithm::OverNodes(NodeWay::Leaders) => "over nodes, through a leader of each",
            Algorithm::OverNodes(NodeWay::Pipeline) => "over nodes, in segments from node to node",
            Algorithm::OverNodes(NodeWay::Slices) => "over nodes, every rank with a part",
            Algorithm::Batched => "linear, eight messages to a receiver at a time",
            Algorithm::Linear => "linear (all messages at once)",
            Algorithm::Binomial => "binomial tree",
            Algorithm::Dissemination => "dissemination",
            Algorithm::Doubling => "recursive doubling",
            Algorithm::Bruck => "Bruck (doubling with packed blocks)",
            Algorithm::Halving => "recursive halving (Rabenseifner)",
            Algorithm::ScatterAllgather => "scatter and ring (van de Geijn)",
            Algorithm::ScatterDoubling => "scatter and doubling (van de Geijn)",
            Algorithm::Ring => "ring",
            Algorithm::Pairwise => "pairwise exchange",
            Algorithm::Chain => "pipelined chain",
        }
    }
}
