//! The table of nodes: which node and which slot every rank of a job has. `mpirun` makes it and stores it in the
//! segment of each node; a rank reads it once, at its start.
//!
//! A table is a list of [`NodeBlock`]s, each a run of world ranks that is dealt to a run of nodes by a rule, so that a
//! job on 16,384 equal nodes has one block. What is read from the segment is validated as a whole before it is used,
//! and copied, so that nothing that another process writes there later is believed.
//!
//! `Ranks` (oxmpi-core) asks the table for peers; boards, windows, files and topologies ask it which ranks share
//! memory. It knows nothing of how a rank of another node is reached: that is the links' business.

use oxmpi_base::ids::{NodeId, Peer, Slot, WorldRank};
use oxmpi_base::segment::Segment;
use oxmpi_base::sync::shared::AtomicU32;
use std::borrow::Cow;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::atomic::Ordering::Relaxed;

/// World ranks in a row and the nodes that they are dealt to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeBlock {
    /// The first world rank, and how many there are.
    pub first: u32,
    pub count: u32,
    /// The first node, and how many there are. Every one of them has a rank of the block.
    pub first_node: u32,
    pub nodes: u32,
    /// The most ranks of the block that a node has.
    pub per_node: u32,
    /// The slot of the first of them on each node; the others follow.
    pub first_slot: u32,
    /// One rank to each node in turn, instead of `per_node` ranks to a node before the next.
    pub cyclic: bool,
}

/// Words of a block in the segment, and those before the first block.
pub const BLOCK_WORDS: usize = 7;
const HEAD_WORDS: usize = 2;

/// The second word of the head.
const REAL: u32 = 0;
const PRETENDED: u32 = 1;

/// More than any job has: with it, sums of what a table says fit.
const MOST: u64 = 1 << 30;

impl NodeBlock {
    fn place(&self, rank: u32) -> (NodeId, Option<Slot>) {
        let index = rank - self.first;
        let (node, slot) = match self.cyclic {
            true => (index % self.nodes, index / self.nodes),
            false => (index / self.per_node, index % self.per_node),
        };
        (NodeId::new(self.first_node + node), Slot::new((self.first_slot + slot) as usize))
    }

    /// How many ranks of the block a node has, by its number among the block's.
    fn ranks_on(&self, node: u32) -> u32 {
        match self.cyclic {
            true => self.count / self.nodes + u32::from(node < self.count % self.nodes),
            false => self.per_node.min(self.count - node * self.per_node),
        }
    }

    /// The rank of the block with that number on one of its nodes.
    fn rank_at(&self, node: u32, number: u32) -> u32 {
        let index = if self.cyclic { number * self.nodes + node } else { node * self.per_node + number };
        self.first + index
    }

    /// The number of a node among the block's.
    fn number_of(&self, node: NodeId) -> Option<u32> {
        node.number().checked_sub(self.first_node).filter(|&number| number < self.nodes)
    }

    /// The ranks and slots of a node.
    fn ranks_of(self, node: NodeId) -> impl Iterator<Item = (u32, u32)> {
        let number = self.number_of(node);
        let count = number.map_or(0, |number| self.ranks_on(number));
        (0..count).map(move |at| (self.rank_at(number.unwrap_or(0), at), self.first_slot + at))
    }

    /// The nodes and slots of the block as at most two rectangles: all nodes that have the most ranks, and the others.
    fn rectangles(&self) -> [Rectangle; 2] {
        let least = self.ranks_on(self.nodes - 1);
        let full = if self.cyclic { self.count % self.nodes } else { self.nodes - 1 };
        let most = self.ranks_on(0);
        let nodes = |from: u32, to: u32| (u64::from(self.first_node + from), u64::from(self.first_node + to));
        let slots = |count: u32| (u64::from(self.first_slot), u64::from(self.first_slot) + u64::from(count));
        [(nodes(0, full), slots(most)), (nodes(full, self.nodes), slots(least))]
    }

    /// The block as numbers, for a segment or a message.
    pub fn words(&self) -> [u32; BLOCK_WORDS] {
        let NodeBlock { first, count, first_node, nodes, per_node, first_slot, cyclic } = *self;
        [first, count, first_node, nodes, per_node, first_slot, u32::from(cyclic)]
    }
}

impl NodeBlock {
    /// The inverse of [`NodeBlock::words`]. Whether the numbers fit each other is checked by [`NodeTable::new`].
    pub fn from_words(words: [u32; BLOCK_WORDS]) -> Result<NodeBlock, String> {
        let [first, count, first_node, nodes, per_node, first_slot, kind] = words;
        let cyclic = match kind {
            0 => false,
            1 => true,
            other => return Err(format!("the kind of a block is {other}; 0 and 1 are possible")),
        };
        Ok(NodeBlock { first, count, first_node, nodes, per_node, first_slot, cyclic })
    }
}

/// Nodes from one number to before another, and slots likewise.
type Rectangle = ((u64, u64), (u64, u64));

/// The table of a job, as one of its ranks knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTable {
    blocks: Box<[NodeBlock]>,
    size: u32,
    nodes: u32,
    /// This rank, its node and slot.
    own: WorldRank,
    node: NodeId,
    slot: Slot,
    /// Ranks of this node in a row, around this one, and the slot of the first: they need no search.
    near: NodeBlock,
    pretended: bool,
}

impl NodeTable {
    /// The table of a job on one node, whose slots are the ranks.
    pub fn one_node(own: WorldRank, size: usize) -> NodeTable {
        let count = size as u32;
        let block =
            NodeBlock { first: 0, count, first_node: 0, nodes: 1, per_node: count, first_slot: 0, cyclic: false };
        NodeTable {
            blocks: Box::new([block]),
            size: count,
            nodes: 1,
            own,
            node: NodeId::FIRST,
            slot: Slot::new(own.index()).unwrap_or(Slot::FIRST),
            near: block,
            pretended: false,
        }
    }

    /// The table that some blocks make, for one of its ranks; an error says what is wrong with them.
    pub fn new(blocks: Vec<NodeBlock>, own: WorldRank, pretended: bool) -> Result<NodeTable, String> {
        let (size, nodes) = validate(&blocks)?;
        let Some(block) = find(&blocks, own) else {
            return Err(format!("it has {size} ranks, so there is no rank {own}"));
        };
        let (node, slot) = block.place(own.index() as u32);
        let slot = slot.ok_or("a slot is too large")?;
        let near = match block.cyclic {
            true => NodeBlock { first: own.index() as u32, count: 1, ..*block },
            false => {
                let number = node.number() - block.first_node;
                NodeBlock { first: block.rank_at(number, 0), count: block.ranks_on(number), ..*block }
            }
        };
        let first_slot = slot.index() as u32 - (own.index() as u32 - near.first);
        let near = NodeBlock { first_node: node.number(), nodes: 1, first_slot, cyclic: false, ..near };
        Ok(NodeTable { blocks: blocks.into(), size, nodes, own, node, slot, near, pretended })
    }

    /// The table that the job's segment has.
    pub fn load(segment: &Segment, own: WorldRank) -> Result<NodeTable, String> {
        let words = segment.node_words();
        let count = words[0].load(Relaxed) as usize;
        let most = (words.len() - HEAD_WORDS) / BLOCK_WORDS;
        if count == 0 || count > most {
            return Err(format!("it has {count} blocks; 1 to {most} are possible"));
        }
        let blocks =
            words[HEAD_WORDS..].chunks_exact(BLOCK_WORDS).take(count).map(read_block).collect::<Result<_, _>>()?;
        let pretended = match words[1].load(Relaxed) {
            REAL => false,
            PRETENDED => true,
            other => return Err(format!("its kind is {other}; 0 and 1 are possible")),
        };
        let table = NodeTable::new(blocks, own, pretended)?;
        table.check_slots(segment.ranks())?;
        Ok(table)
    }

    /// An error when the segment does not have the slots of all ranks that use it.
    fn check_slots(&self, slots: usize) -> Result<(), String> {
        let beyond = |slot: Slot| Err(format!("it has slot {}, and the segment has {slots}", slot.index()));
        if !self.pretended {
            let last = self.on_this_node().map(|(_, slot)| slot).max();
            return last.filter(|slot| slot.index() >= slots).map_or(Ok(()), beyond);
        }
        let mut taken = vec![false; slots];
        for (rank, slot) in self.places() {
            match taken.get_mut(slot.index()) {
                None => return beyond(slot),
                Some(true) => return Err(format!("rank {rank} has slot {} of another one", slot.index())),
                Some(free) => *free = true,
            }
        }
        Ok(())
    }

    /// All ranks with their slots.
    fn places(&self) -> impl Iterator<Item = (WorldRank, Slot)> + '_ {
        let ranks = (0..self.size()).filter_map(WorldRank::new);
        ranks.filter_map(|rank| Some((rank, self.place(rank)?.1)))
    }

    /// The processes by their slots, where all nodes have one segment.
    pub fn pretended_slots(&self) -> Vec<Peer> {
        if !self.pretended {
            return Vec::new();
        }
        let mut slots: Vec<(Slot, WorldRank)> = self.places().map(|(rank, slot)| (slot, rank)).collect();
        slots.sort_unstable();
        slots.into_iter().map(|(_, rank)| self.peer(rank)).collect()
    }

    /// Puts the table into a segment for the ranks of a node; an error when it has too many blocks.
    pub fn store(&self, segment: &Segment) -> Result<(), String> {
        let words = segment.node_words();
        let most = (words.len() - HEAD_WORDS) / BLOCK_WORDS;
        if self.blocks.len() > most {
            return Err(format!("the placement of the ranks needs {} blocks; {most} are possible", self.blocks.len()));
        }
        for (place, block) in words[HEAD_WORDS..].chunks_exact(BLOCK_WORDS).zip(&self.blocks) {
            place.iter().zip(block.words()).for_each(|(place, word)| place.store(word, Relaxed));
        }
        words[0].store(self.blocks.len() as u32, Relaxed);
        words[1].store(if self.pretended { PRETENDED } else { REAL }, Relaxed);
        Ok(())
    }

    /// The same table for another rank of the job.
    pub fn for_rank(&self, own: WorldRank) -> Result<NodeTable, String> {
        NodeTable::new(self.blocks.to_vec(), own, self.pretended)
    }

    pub fn blocks(&self) -> &[NodeBlock] {
        &self.blocks
    }

    /// How many ranks the job has.
    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// How many nodes the job has.
    pub fn nodes(&self) -> usize {
        self.nodes as usize
    }

    /// All ranks are on this node, and their slots are the ranks.
    pub fn is_one_node(&self) -> bool {
        self.nodes == 1 && matches!(&self.blocks[..], [block] if block.first_slot == 0)
    }

    /// All nodes are this machine: a test of what happens on several. Their ranks have one segment.
    pub fn is_pretended(&self) -> bool {
        self.pretended
    }

    /// The name of this node, where the machine has that name: pretended nodes have names of their own.
    pub fn name_of_node<'n>(&self, machine: &'n [u8]) -> Cow<'n, [u8]> {
        match self.pretended {
            true => Cow::Owned([machine, format!("-node{}", self.node).as_bytes()].concat()),
            false => Cow::Borrowed(machine),
        }
    }

    /// This rank, its node and its slot.
    pub fn own(&self) -> WorldRank {
        self.own
    }

    pub fn own_node(&self) -> NodeId {
        self.node
    }

    pub fn own_slot(&self) -> Slot {
        self.slot
    }

    /// The node and the slot of a rank; `None` for a number that is no rank of the job.
    pub fn place(&self, rank: WorldRank) -> Option<(NodeId, Slot)> {
        let (node, slot) = find(&self.blocks, rank)?.place(rank.index() as u32);
        Some((node, slot?))
    }

    /// The process that has a rank. Nothing else makes a peer of a world rank.
    #[inline]
    pub fn peer(&self, rank: WorldRank) -> Peer {
        let number = (rank.index() as u32).wrapping_sub(self.near.first);
        if number < self.near.count {
            return Peer::at_slot((self.near.first_slot + number) as usize);
        }
        match self.place(rank) {
            Some((node, slot)) if node == self.node => Peer::local(slot),
            _ => Peer::far(rank.index()),
        }
    }

    /// The rank of a process, if it is one of the job.
    pub fn rank_of(&self, peer: Peer) -> Option<WorldRank> {
        match peer.slot() {
            Some(slot) => self.world_rank(self.node, slot),
            None => peer.far_index().and_then(WorldRank::new).filter(|rank| rank.index() < self.size()),
        }
    }

    /// The rank in a slot of a node.
    pub fn world_rank(&self, node: NodeId, slot: Slot) -> Option<WorldRank> {
        let slot = slot.index() as u32;
        let found = self.blocks.iter().find_map(|block| {
            let (node, number) = (block.number_of(node)?, slot.checked_sub(block.first_slot)?);
            (number < block.ranks_on(node)).then(|| block.rank_at(node, number))
        });
        found.and_then(|rank| WorldRank::new(rank as usize))
    }

    /// The ranks of this node with their slots, in the order of ranks.
    pub fn on_this_node(&self) -> impl Iterator<Item = (WorldRank, Slot)> + '_ {
        let ranks = self.blocks.iter().flat_map(|block| block.ranks_of(self.node));
        ranks.filter_map(|(rank, slot)| Some((WorldRank::new(rank as usize)?, Slot::new(slot as usize)?)))
    }
}

/// The block that has a rank; blocks stand in the order of ranks.
fn find(blocks: &[NodeBlock], rank: WorldRank) -> Option<&NodeBlock> {
    let rank = u32::try_from(rank.index()).ok()?;
    let after = blocks.partition_point(|block| block.first <= rank);
    blocks[..after].last().filter(|block| rank - block.first < block.count)
}

fn read_block(words: &[AtomicU32]) -> Result<NodeBlock, String> {
    NodeBlock::from_words(std::array::from_fn(|index| words[index].load(Relaxed)))
}

/// The number of ranks and nodes, if the blocks give every rank one place and no place to two ranks.
fn validate(blocks: &[NodeBlock]) -> Result<(u32, u32), String> {
    let mut size = 0u64;
    let mut nodes = 0u64;
    for (number, block) in blocks.iter().enumerate() {
        let [first, count, first_node, of_block, per_node, first_slot] =
            [block.first, block.count, block.first_node, block.nodes, block.per_node, block.first_slot].map(u64::from);
        let wrong = |what: String| Err(format!("block {number} {what}"));
        if first != size {
            return wrong(format!("begins with rank {first}, and the ones before it end with {size} ranks"));
        }
        if count == 0 || of_block == 0 || per_node == 0 {
            return wrong("has no ranks or no nodes".into());
        }
        let fits = match block.cyclic {
            true => count >= of_block && count.div_ceil(of_block) == per_node,
            false => count.div_ceil(per_node) == of_block,
        };
        if !fits {
            return wrong(format!("deals {count} ranks to {of_block} nodes with {per_node} on each, which cannot be"));
        }
        size += count;
        nodes = nodes.max(first_node + of_block);
        if size >= MOST || first_node + of_block > MOST || first_slot + per_node > MOST {
            return wrong(format!("has ranks, nodes or slots beyond {MOST}"));
        }
    }
    if size == 0 {
        return Err("it has no ranks".into());
    }
    disjoint(blocks)?;
    Ok((size as u32, nodes as u32))
}

/// An error when two ranks have the same slot of a node: a sweep over the nodes, with the slots that are taken there.
fn disjoint(blocks: &[NodeBlock]) -> Result<(), String> {
    let mut rectangles: Vec<Rectangle> = blocks.iter().flat_map(NodeBlock::rectangles).collect();
    rectangles.retain(|((from, to), _)| from < to);
    rectangles.sort_unstable();
    // The slots of rectangles that the sweep is in; where they end, soonest first.
    let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
    let mut ends: BinaryHeap<std::cmp::Reverse<(u64, u64)>> = BinaryHeap::new();
    for ((node, last), (from, to)) in rectangles {
        while let Some(&std::cmp::Reverse((end, slot))) = ends.peek()
            && end <= node
        {
            taken.remove(&slot);
            ends.pop();
        }
        let before = taken.range(..to).next_back();
        if let Some((_, &end)) = before.filter(|(_, end)| **end > from) {
            let slot = from.max(end.min(to) - 1);
            return Err(format!("two ranks have slot {slot} of node {node}"));
        }
        taken.insert(from, to);
        ends.push(std::cmp::Reverse((last, from)));
    }
    Ok(())
}
