//! The rows of the table that chooses (see [`crate::choose`]). Of each kind come first the rows for
//! a board, then those for a board in the background, then those for several nodes, then those for messages; the first row that
//! fits is taken, and the last of each kind always does.
//!
//! Sizes were measured on machines of 2 to 64 CPUs (`bench/NOTES.md`, `bench/run --only coll`).

use crate::choose::{Algorithm, BoardWay, Bytes, Facts, Kind, NodeWay, Rule};
use crate::tuning::Limit;

/// The most ranks whose entries every rank can read one by one: larger communicators have no board.
pub const BOARD_RANKS: u32 = 64;

/// Bytes that fit into a rank's entry on a board, beside the words that say which round and call it is of.
pub const ENTRY_BYTES: u64 = 48;

/// The longest operation of a kind that goes over a board, whatever the facts of the board are.
pub const fn longest_on_board(kind: Kind) -> u64 {
    let mut row = 0;
    let mut longest = 0;
    while row < TABLE.len() {
        let Rule { kind: of, bytes, needs, take, .. } = TABLE[row];
        if of as u8 == kind as u8 && needs.to_bits() == Facts::BOARD.to_bits() && matches!(take, Algorithm::Board(_)) {
            longest = match bytes {
                Bytes::UpTo(most) if most > longest => most,
                Bytes::Any => u64::MAX,
                _ => longest,
            };
        }
        row += 1;
    }
    longest
}

/// Of the kinds whose ranks know only their own lengths, the longest block that goes through other ranks on its way between
/// nodes.
pub(crate) const fn longest_over_nodes(kind: Kind) -> u64 {
    let mut row = 0;
    while row < TABLE.len() {
        if let Rule { kind: of, bytes: Bytes::UpTo(most), take: Algorithm::OverNodes(_), .. } = TABLE[row]
            && of as u8 == kind as u8
        {
            return most;
        }
        row += 1;
    }
    0
}

/// Of each kind, the place of its first row.
pub(crate) const FIRST_ROWS: [usize; Kind::COUNT] = {
    let mut first = [TABLE.len(); Kind::COUNT];
    let mut row = TABLE.len();
    while row > 0 {
        row -= 1;
        first[TABLE[row].kind as usize] = row;
    }
    first
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const ANY: u32 = u32::MAX;

/// A row for messages, up to so many ranks.
const fn row(kind: Kind, ranks: u32, bytes: Bytes, take: Algorithm, why: &'static str) -> Rule {
    Rule { kind, ranks: (1, ranks), nodes: (1, ANY), bytes, limit: None, needs: Facts::NONE, take, why }
}

/// A row for ranks on 2 nodes to so many.
const fn over(kind: Kind, nodes: u32, bytes: Bytes, take: Algorithm, why: &'static str) -> Rule {
    Rule { nodes: (2, nodes), ..row(kind, ANY, bytes, take, why) }
}

/// The same for an operation that is composed of parts within nodes and between them.
const fn over_nodes(kind: Kind, nodes: u32, bytes: Bytes, take: NodeWay, why: &'static str) -> Rule {
    over(kind, nodes, bytes, Algorithm::OverNodes(take), why).if_all(Facts::SHARED_NODES)
}

/// Direct copies over a board, from a limit of the machine on.
const fn direct(kind: Kind, ranks: (u32, u32), limit: Limit, why: &'static str) -> Rule {
    Rule { limit: Some(limit), ..on_board(kind, ranks, From(limit.default_bytes()), Direct, why) }.if_all(DIRECT)
}

/// Pieces through the staging buffers, below a limit of the machine.
const fn before(kind: Kind, ranks: (u32, u32), limit: Limit, why: &'static str) -> Rule {
    Rule { limit: Some(limit), ..on_board(kind, ranks, UpTo(limit.default_bytes() - 1), Pieces, why) }
}

impl Rule {
    const fn if_all(self, needs: Facts) -> Rule {
        Rule { needs: self.needs.and(needs), ..self }
    }

    /// The row ends before so many bytes.
    const fn up_to(self, end: u64) -> Rule {
        match self.bytes {
            From(least) => Rule { bytes: Between(least, end), ..self },
            _ => self,
        }
    }
}

/// A row for a board of so many to so many ranks.
const fn on_board(kind: Kind, ranks: (u32, u32), bytes: Bytes, take: BoardWay, why: &'static str) -> Rule {
    let ranks = if ranks.1 < BOARD_RANKS { ranks } else { (ranks.0, BOARD_RANKS) };
    Rule { kind, ranks, nodes: (1, 1), bytes, limit: None, needs: Facts::BOARD, take: Algorithm::Board(take), why }
}

/// A row for operations that go on in the background, over a board of so many to so many ranks.
const fn in_background(kind: Kind, ranks: (u32, u32), bytes: Bytes, take: BoardWay, why: &'static str) -> Rule {
    Rule { needs: Facts::BACKGROUND_BOARD, ..on_board(kind, ranks, bytes, take, why) }
}

use Algorithm::{
    Batched, Binomial, Bruck, Chain, Dissemination, Doubling, Halving, Linear, Pairwise, Ring, ScatterAllgather,
    ScatterDoubling,
};
use BoardWay::{ChainOrder, Direct, FixedParts, Parts, PartsPastCache, Pieces, PiecesPastCache};
use Bytes::{AllReadFrom, Between, From, PartFrom, ReadFrom, ReadUpTo, UpTo};
use NodeWay::{Leaders, Pipeline, Slices};

const DIRECT: Facts = Facts::DIRECT;
const CPU_EACH: Facts = Facts::CPU_EACH;
const OVERSUBSCRIBED: Facts = Facts::OVERSUBSCRIBED;
const LARGE: Facts = Facts::LARGE_STAGING;
const SMALL: Facts = Facts::SMALL_STAGING;
const KEEPS_ORDER: Facts = Facts::KEEPS_ORDER;
const TWO: (u32, u32) = (2, 2);
const MORE: (u32, u32) = (3, ANY);
const ALL: (u32, u32) = (2, ANY);

const FEW_MESSAGES: &str = "short messages cost latency alone, and this has the fewest one after the other";
const BYTES_COUNT: &str = "bytes cost more than messages here, and this moves each byte the fewest times";
const OVERLAP: &str = "segments overlap on their way from rank to rank";
const STRAIGHT: &str = "blocks go straight to where they belong";
const ONE_WAY: &str = "ranks do not know each other's counts, so that blocks go straight";
const TWO_COPIES: &str = "a copy into the staging buffer and one out of it cost less than messages or system calls";
const ONE_COPY: &str = "one copy by the kernel moves fewer cache lines than a stop in the staging buffer";
const AT_ONCE: &str = "all ranks copy their blocks at the same time, and nothing waits for the root";
const PAST_CACHE: &str = "so many bytes do not stay in the cache of the rank that receives them";
const PAST_CACHES: &str = "ranks that share CPUs share caches, which all their bytes together would overflow";
const ONE_ROUND: &str = "one round costs less than messages, and it goes on in any call";
const SAME_BITS: &str = "operands are combined in the order of the blocking operation, so that both give the same bits";
const CHAIN_KEEPS: &str = "every piece stays in the caches, and all ranks compute at the same time";
const FEW_BETWEEN: &str = "one rank of each node speaks for it, so that the fewest messages go between nodes";
const SHORT_ONES: &str = "blocks up to this length go between nodes in one message, longer ones straight";
const APART_AFTERWARDS: &str = "short blocks take one round together, and long ones follow";
const ALL_LINKS: &str = "every rank moves a part between nodes, so that all links and CPUs work";
const EIGHT: &str = "more long messages to one node would only wait for each other in its link";

pub(crate) const TABLE: &[Rule] = &[
    on_board(Kind::Barrier, ALL, Bytes::Any, Pieces, "every rank sees all others' entries in one round"),
    in_background(Kind::Barrier, ALL, Bytes::Any, Pieces, ONE_ROUND),
    over_nodes(Kind::Barrier, ANY, Bytes::Any, Leaders, FEW_BETWEEN),
    row(Kind::Barrier, ANY, Bytes::Any, Dissemination, FEW_MESSAGES),
    // ---- broadcast
    direct(Kind::Bcast, TWO, Limit::Bcast2, "each of the two copies a half at the same time"),
    on_board(Kind::Bcast, ALL, Bytes::Any, Pieces, "the root writes one piece while the others read the one before"),
    in_background(Kind::Bcast, TWO, UpTo(32 * KIB), Pieces, ONE_ROUND),
    in_background(Kind::Bcast, (3, ANY), UpTo(64 * KIB), Pieces, ONE_ROUND),
    over_nodes(Kind::Bcast, ANY, UpTo(MIB), Leaders, FEW_BETWEEN),
    over_nodes(Kind::Bcast, 16, Bytes::Any, Pipeline, "segments overlap on their way between nodes and within them"),
    over_nodes(Kind::Bcast, ANY, Bytes::Any, Leaders, FEW_BETWEEN),
    row(Kind::Bcast, 64, UpTo(16 * KIB), Binomial, FEW_MESSAGES),
    row(Kind::Bcast, 2, Bytes::Any, Binomial, "with two ranks it is one message"),
    row(Kind::Bcast, 3, Bytes::Any, Chain, OVERLAP),
    row(Kind::Bcast, ANY, UpTo(8 * KIB), Binomial, FEW_MESSAGES),
    row(Kind::Bcast, ANY, UpTo(512 * KIB), ScatterDoubling, BYTES_COUNT),
    row(Kind::Bcast, 8, Bytes::Any, Chain, OVERLAP),
    row(Kind::Bcast, 64, UpTo(2 * MIB), ScatterAllgather, BYTES_COUNT),
    row(Kind::Bcast, 64, Bytes::Any, Chain, OVERLAP),
    row(Kind::Bcast, ANY, Bytes::Any, ScatterDoubling, "a chain of so many ranks takes too long to fill"),
    // ---- gather, scatter
    direct(Kind::Gather, TWO, Limit::Gather2, AT_ONCE),
    direct(Kind::Gather, MORE, Limit::Gather, AT_ONCE),
    on_board(Kind::Gather, ALL, UpTo(64 * KIB), Pieces, TWO_COPIES),
    in_background(Kind::Gather, TWO, UpTo(16 * KIB), Pieces, ONE_ROUND),
    in_background(Kind::Gather, (3, ANY), UpTo(64 * KIB), Pieces, ONE_ROUND),
    over_nodes(Kind::Gather, ANY, UpTo(16 * KIB), Leaders, FEW_BETWEEN),
    over(Kind::Gather, ANY, From(16 * KIB + 1), Batched, EIGHT),
    row(Kind::Gather, 8, UpTo(2 * KIB), Binomial, FEW_MESSAGES),
    row(Kind::Gather, 8, Bytes::Any, Linear, STRAIGHT),
    row(Kind::Gather, ANY, UpTo(16 * KIB), Binomial, FEW_MESSAGES),
    row(Kind::Gather, ANY, Bytes::Any, Linear, STRAIGHT),
    on_board(Kind::Gatherv, TWO, UpTo(8 * KIB), Pieces, TWO_COPIES),
    on_board(Kind::Gatherv, (3, ANY), UpTo(64 * KIB), Pieces, TWO_COPIES),
    in_background(Kind::Gatherv, ALL, Bytes::Any, Pieces, APART_AFTERWARDS),
    over_nodes(Kind::Gatherv, ANY, UpTo(16 * KIB), Leaders, SHORT_ONES),
    over(Kind::Gatherv, ANY, Bytes::Any, Batched, EIGHT),
    row(Kind::Gatherv, ANY, Bytes::Any, Linear, ONE_WAY),
    direct(Kind::Scatter, TWO, Limit::Scatter2, AT_ONCE).up_to(768 * KIB),
    direct(Kind::Scatter, MORE, Limit::Scatter, AT_ONCE),
    on_board(Kind::Scatter, ALL, UpTo(64 * KIB), Pieces, TWO_COPIES),
    in_background(Kind::Scatter, TWO, UpTo(16 * KIB), Pieces, ONE_ROUND),
    in_background(Kind::Scatter, (3, ANY), UpTo(64 * KIB), Pieces, ONE_ROUND),
    over_nodes(Kind::Scatter, ANY, UpTo(16 * KIB), Leaders, FEW_BETWEEN),
    row(Kind::Scatter, 8, UpTo(2 * KIB), Binomial, FEW_MESSAGES),
    row(Kind::Scatter, 8, Bytes::Any, Linear, STRAIGHT),
    row(Kind::Scatter, ANY, UpTo(16 * KIB), Binomial, FEW_MESSAGES),
    row(Kind::Scatter, ANY, Bytes::Any, Linear, STRAIGHT),
    on_board(Kind::Scatterv, TWO, UpTo(32 * KIB), Pieces, TWO_COPIES),
    on_board(Kind::Scatterv, (3, ANY), UpTo(8 * KIB), Pieces, "the root copies into its staging buffer for all others"),
    on_board(Kind::Scatterv, TWO, Between(32 * KIB, 768 * KIB), Direct, AT_ONCE).if_all(DIRECT),
    in_background(Kind::Scatterv, ALL, Bytes::Any, Pieces, APART_AFTERWARDS),
    over_nodes(Kind::Scatterv, ANY, UpTo(16 * KIB), Leaders, SHORT_ONES),
    row(Kind::Scatterv, ANY, Bytes::Any, Linear, ONE_WAY),
    // ---- allgather
    direct(Kind::Allgather, TWO, Limit::Allgather2, ONE_COPY),
    on_board(Kind::Allgather, (3, ANY), From(64 * KIB), Direct, "small staging buffers would take many rounds")
        .if_all(DIRECT.and(SMALL)),
    on_board(
        Kind::Allgather,
        (6, ANY),
        Between(256 * KIB, MIB),
        Direct,
        "a block stays in the cache of its rank, which writes it to all",
    )
    .if_all(DIRECT.and(LARGE).and(CPU_EACH)),
    on_board(Kind::Allgather, ALL, ReadFrom(8 * MIB), PiecesPastCache, PAST_CACHE),
    on_board(Kind::Allgather, ALL, AllReadFrom(32 * MIB), PiecesPastCache, PAST_CACHES).if_all(OVERSUBSCRIBED),
    on_board(Kind::Allgather, ALL, Bytes::Any, Pieces, "one copy into the staging buffer serves all other ranks"),
    in_background(Kind::Allgather, ALL, UpTo(64 * KIB), Pieces, ONE_ROUND),
    over_nodes(Kind::Allgather, ANY, ReadUpTo(256 * KIB), Leaders, FEW_BETWEEN),
    over_nodes(Kind::Allgather, ANY, UpTo(KIB), Leaders, FEW_BETWEEN),
    over_nodes(Kind::Allgather, ANY, Bytes::Any, Slices, ALL_LINKS),
    row(Kind::Allgather, ANY, UpTo(32 * KIB), Doubling, FEW_MESSAGES).if_all(Facts::POWER_OF_TWO),
    row(Kind::Allgather, 64, UpTo(8 * KIB), Bruck, FEW_MESSAGES),
    row(Kind::Allgather, 64, Bytes::Any, Ring, BYTES_COUNT),
    row(Kind::Allgather, ANY, UpTo(32 * KIB), Bruck, FEW_MESSAGES),
    row(Kind::Allgather, ANY, Bytes::Any, Ring, BYTES_COUNT),
    on_board(Kind::Allgatherv, TWO, UpTo(8 * KIB), Pieces, TWO_COPIES),
    on_board(Kind::Allgatherv, TWO, Bytes::Any, Direct, ONE_COPY).if_all(DIRECT),
    on_board(
        Kind::Allgatherv,
        (3, ANY),
        UpTo(64 * KIB),
        Pieces,
        "one copy into the staging buffer serves all other ranks",
    ),
    in_background(Kind::Allgatherv, ALL, UpTo(64 * KIB), Pieces, APART_AFTERWARDS),
    over_nodes(Kind::Allgatherv, ANY, UpTo(256 * KIB), Leaders, FEW_BETWEEN),
    over_nodes(Kind::Allgatherv, ANY, Bytes::Any, Slices, ALL_LINKS),
    row(Kind::Allgatherv, ANY, UpTo(256 * KIB), Bruck, FEW_MESSAGES),
    row(Kind::Allgatherv, ANY, Bytes::Any, Ring, BYTES_COUNT),
    // ---- all-to-all
    before(Kind::Alltoall, TWO, Limit::Alltoall2, TWO_COPIES),
    before(Kind::Alltoall, MORE, Limit::Alltoall, TWO_COPIES),
    on_board(Kind::Alltoall, ALL, Bytes::Any, Direct, "huge pages let the kernel copy soon, whatever the caches hold")
        .if_all(DIRECT.and(OVERSUBSCRIBED).and(Facts::HUGE_PAGES)),
    on_board(Kind::Alltoall, (4, ANY), ReadFrom(8 * MIB), PiecesPastCache, PAST_CACHES)
        .if_all(DIRECT.and(OVERSUBSCRIBED).and(LARGE)),
    on_board(
        Kind::Alltoall,
        (6, ANY),
        ReadFrom(48 * MIB),
        PiecesPastCache,
        "memory is what all wait for, and this fetches less from there than the kernel's copies",
    )
    .if_all(DIRECT.and(CPU_EACH).and(LARGE)),
    on_board(Kind::Alltoall, ALL, Bytes::Any, Direct, ONE_COPY).if_all(DIRECT),
    on_board(Kind::Alltoall, ALL, ReadFrom(8 * MIB), PiecesPastCache, PAST_CACHE),
    on_board(Kind::Alltoall, ALL, AllReadFrom(32 * MIB), PiecesPastCache, PAST_CACHES).if_all(OVERSUBSCRIBED),
    on_board(Kind::Alltoall, ALL, Bytes::Any, Pieces, TWO_COPIES),
    in_background(Kind::Alltoall, ALL, UpTo(16 * KIB), Pieces, ONE_ROUND),
    over_nodes(
        Kind::Alltoall,
        ANY,
        UpTo(2 * KIB),
        Leaders,
        "one message between each two nodes carries all their blocks",
    ),
    over(Kind::Alltoall, ANY, From(2 * KIB + 1), Batched, EIGHT).if_all(Facts::APART),
    row(Kind::Alltoall, 4, UpTo(32 * KIB), Linear, STRAIGHT),
    row(Kind::Alltoall, 8, UpTo(512), Bruck, FEW_MESSAGES),
    row(Kind::Alltoall, 8, UpTo(32 * KIB), Linear, STRAIGHT),
    row(Kind::Alltoall, ANY, UpTo(2 * KIB), Bruck, FEW_MESSAGES),
    row(Kind::Alltoall, 32, UpTo(32 * KIB), Linear, STRAIGHT),
    row(
        Kind::Alltoall,
        ANY,
        Bytes::Any,
        Pairwise,
        "one partner at a time keeps long blocks from waiting for each other",
    ),
    on_board(Kind::Alltoallv, ALL, UpTo(8 * KIB), Pieces, APART_AFTERWARDS),
    on_board(Kind::Alltoallv, ALL, Bytes::Any, Direct, ONE_COPY).if_all(DIRECT),
    in_background(Kind::Alltoallv, ALL, Bytes::Any, Pieces, APART_AFTERWARDS),
    over_nodes(Kind::Alltoallv, ANY, UpTo(2 * KIB), Leaders, SHORT_ONES).if_all(Facts::APART),
    over(Kind::Alltoallv, ANY, Bytes::Any, Batched, EIGHT).if_all(Facts::APART),
    row(Kind::Alltoallv, 64, Bytes::Any, Linear, STRAIGHT).if_all(Facts::APART),
    row(Kind::Alltoallv, ANY, Bytes::Any, Pairwise, "one block at a time is in flight, in place or among many ranks"),
    // ---- reduce
    on_board(Kind::Reduce, TWO, From(128 * KIB), BoardWay::Chain, CHAIN_KEEPS).if_all(LARGE),
    on_board(Kind::Reduce, (3, ANY), From(32 * KIB), BoardWay::Chain, CHAIN_KEEPS),
    direct(Kind::Reduce, TWO, Limit::Reduce2, "each of the two computes a part from the other's memory"),
    on_board(Kind::Reduce, ALL, Bytes::Any, Pieces, "the root combines one piece while the others write the next"),
    in_background(Kind::Reduce, (3, ANY), From(32 * KIB), ChainOrder, SAME_BITS),
    in_background(Kind::Reduce, ALL, Bytes::Any, Pieces, SAME_BITS),
    over_nodes(Kind::Reduce, ANY, Bytes::Any, Leaders, FEW_BETWEEN).if_all(KEEPS_ORDER),
    row(Kind::Reduce, 64, UpTo(16 * KIB), Binomial, FEW_MESSAGES),
    row(Kind::Reduce, ANY, UpTo(8 * KIB), Binomial, FEW_MESSAGES),
    row(Kind::Reduce, ANY, UpTo(512 * KIB), Halving, BYTES_COUNT),
    row(Kind::Reduce, 8, Bytes::Any, Chain, OVERLAP),
    row(Kind::Reduce, ANY, Bytes::Any, Halving, BYTES_COUNT),
    // ---- allreduce
    on_board(Kind::Allreduce, ALL, UpTo(ENTRY_BYTES), Pieces, "one cache line a rank holds the operands"),
    on_board(
        Kind::Allreduce,
        ALL,
        ReadUpTo(16 * KIB),
        Pieces,
        "to combine all operands costs a rank less than a second round",
    ),
    direct(Kind::Allreduce, TWO, Limit::Allreduce2, "each of the two computes a half from the other's memory"),
    on_board(Kind::Allreduce, (3, ANY), PartFrom(128 * KIB), Direct, "small staging buffers would take many rounds")
        .if_all(DIRECT.and(SMALL)),
    on_board(Kind::Allreduce, ALL, ReadFrom(16 * MIB), PartsPastCache, PAST_CACHES).if_all(OVERSUBSCRIBED),
    on_board(Kind::Allreduce, ALL, Bytes::Any, Parts, "each element is combined once, by any rank that is free"),
    in_background(Kind::Allreduce, ALL, UpTo(ENTRY_BYTES), Pieces, SAME_BITS),
    in_background(Kind::Allreduce, ALL, ReadUpTo(16 * KIB), Pieces, SAME_BITS),
    in_background(Kind::Allreduce, ALL, Bytes::Any, FixedParts, SAME_BITS),
    over_nodes(Kind::Allreduce, ANY, UpTo(16 * KIB), Leaders, FEW_BETWEEN).if_all(KEEPS_ORDER),
    over_nodes(Kind::Allreduce, ANY, Bytes::Any, Slices, ALL_LINKS).if_all(KEEPS_ORDER),
    row(Kind::Allreduce, ANY, UpTo(4 * KIB), Doubling, FEW_MESSAGES),
    row(Kind::Allreduce, ANY, Bytes::Any, Halving, BYTES_COUNT).if_all(Facts::POWER_OF_TWO),
    row(Kind::Allreduce, ANY, UpTo(64 * KIB), Halving, BYTES_COUNT),
    row(Kind::Allreduce, 64, Bytes::Any, Ring, "without a power of two, halving moves everything once more")
        .if_all(Facts::COMMUTES),
    row(Kind::Allreduce, ANY, Bytes::Any, Halving, "a ring of so many ranks, or out of order, is no choice"),
    // ---- reduce-scatter, scans
    on_board(Kind::ReduceScatter, ALL, Bytes::Any, Pieces, TWO_COPIES),
    in_background(Kind::ReduceScatter, ALL, Bytes::Any, Pieces, SAME_BITS),
    over_nodes(Kind::ReduceScatter, ANY, UpTo(2 * KIB), Leaders, FEW_BETWEEN).if_all(KEEPS_ORDER),
    over_nodes(Kind::ReduceScatter, ANY, Bytes::Any, Slices, ALL_LINKS).if_all(KEEPS_ORDER),
    row(Kind::ReduceScatter, ANY, Bytes::Any, Halving, BYTES_COUNT).if_all(Facts::POWER_OF_TWO),
    row(Kind::ReduceScatter, ANY, UpTo(64 * KIB), Halving, BYTES_COUNT),
    row(Kind::ReduceScatter, 64, Bytes::Any, Pairwise, "without a power of two, halving moves everything once more"),
    row(Kind::ReduceScatter, ANY, Bytes::Any, Halving, FEW_MESSAGES),
    on_board(Kind::Scan, ALL, UpTo(32 * KIB), Pieces, "every rank reads all before it, which is little here"),
    in_background(Kind::Scan, ALL, UpTo(32 * KIB), Pieces, SAME_BITS),
    over_nodes(Kind::Scan, ANY, Bytes::Any, Leaders, FEW_BETWEEN).if_all(KEEPS_ORDER),
    row(Kind::Scan, ANY, UpTo(256 * KIB), Doubling, FEW_MESSAGES),
    row(Kind::Scan, 16, Bytes::Any, Chain, OVERLAP),
    row(Kind::Scan, ANY, UpTo(MIB), Doubling, FEW_MESSAGES),
    row(Kind::Scan, 64, Bytes::Any, Chain, OVERLAP),
    row(Kind::Scan, ANY, UpTo(4 * MIB), Doubling, FEW_MESSAGES),
    row(Kind::Scan, 256, Bytes::Any, Chain, OVERLAP),
    row(Kind::Scan, ANY, Bytes::Any, Doubling, "a chain of so many ranks takes too long to fill"),
    on_board(Kind::Exscan, ALL, UpTo(32 * KIB), Pieces, "every rank reads all before it, which is little here"),
    in_background(Kind::Exscan, ALL, UpTo(32 * KIB), Pieces, SAME_BITS),
    over_nodes(Kind::Exscan, ANY, Bytes::Any, Leaders, FEW_BETWEEN).if_all(KEEPS_ORDER),
    row(Kind::Exscan, ANY, UpTo(256 * KIB), Doubling, FEW_MESSAGES),
    row(Kind::Exscan, 16, Bytes::Any, Chain, OVERLAP),
    row(Kind::Exscan, ANY, UpTo(MIB), Doubling, FEW_MESSAGES),
    row(Kind::Exscan, 64, Bytes::Any, Chain, OVERLAP),
    row(Kind::Exscan, ANY, UpTo(4 * MIB), Doubling, FEW_MESSAGES),
    row(Kind::Exscan, 256, Bytes::Any, Chain, OVERLAP),
    row(Kind::Exscan, ANY, Bytes::Any, Doubling, "a chain of so many ranks takes too long to fill"),
    // ---- neighbours
    on_board(Kind::Neighbors, ALL, UpTo(8 * KIB), Pieces, APART_AFTERWARDS),
    on_board(Kind::Neighbors, ALL, Bytes::Any, Direct, ONE_COPY).if_all(DIRECT),
    in_background(Kind::Neighbors, ALL, Bytes::Any, Pieces, APART_AFTERWARDS),
    row(Kind::Neighbors, ANY, Bytes::Any, Linear, STRAIGHT),
];
