//! The table of nodes against a plain list of places, and tables that no `mpirun` has made.

use oxmpi_base::ids::{NodeId, Peer, Slot, WorldRank};
use oxmpi_base::segment::Segment;
use oxmpi_boot::deal::{self, NodeSlot};
use oxmpi_boot::nodes::{NodeBlock, NodeTable};
use proptest::prelude::*;

fn rank(index: usize) -> WorldRank {
    WorldRank::new(index).unwrap()
}

fn numbers((node, slot): (NodeId, Slot)) -> NodeSlot {
    (node.number(), slot.index() as u32)
}

/// Compares everything that the table says to some of the ranks with the list.
fn compare(places: &[NodeSlot]) {
    let blocks = deal::blocks(places);
    let some = [0, places.len() / 3, places.len() / 2, places.len() - 1];
    for own in some {
        let table = NodeTable::new(blocks.clone(), rank(own), false).unwrap();
        assert_eq!(table.size(), places.len());
        assert_eq!((table.own_node().number(), table.own_slot().index() as u32), places[own]);
        for (index, &(node, slot)) in places.iter().enumerate() {
            let found = table.place(rank(index)).map(numbers);
            assert_eq!(found, Some((node, slot)), "rank {index}");
            let peer = table.peer(rank(index));
            let expected = if node == places[own].0 { Peer::at_slot(slot as usize) } else { Peer::far(index) };
            assert_eq!(peer, expected, "rank {index} for rank {own}");
        }
        let near: Vec<usize> = (0..places.len()).filter(|&index| places[index].0 == places[own].0).collect();
        let found: Vec<(usize, u32)> =
            table.on_this_node().map(|(rank, slot)| (rank.index(), slot.index() as u32)).collect();
        let expected: Vec<(usize, u32)> = near.iter().map(|&index| (index, places[index].1)).collect();
        assert_eq!(found, expected);
        assert_eq!(table.place(rank(places.len())), None);
    }
    // The way back is a search over the blocks: not for all of a long list.
    let table = NodeTable::new(blocks, rank(0), false).unwrap();
    for index in (0..places.len()).step_by(1 + places.len() / 500) {
        let (node, slot) = places[index];
        let slot = Slot::new(slot as usize).unwrap();
        assert_eq!(table.world_rank(NodeId::new(node), slot), Some(rank(index)));
        assert_eq!(table.rank_of(table.peer(rank(index))), Some(rank(index)));
    }
    let beyond = Slot::new(places.len()).unwrap();
    assert_eq!(table.world_rank(NodeId::FIRST, beyond), None);
    assert_eq!(table.rank_of(Peer::far(places.len())), None);
}

/// How ranks are dealt to nodes of different sizes.
#[derive(Clone, Copy, Debug)]
enum Deal {
    Rows,
    Cyclic,
    /// So many to a node in each turn.
    Turns(usize),
}

fn dealt(sizes: &[usize], deal: Deal) -> Vec<u32> {
    let turn = match deal {
        Deal::Rows => usize::MAX,
        Deal::Cyclic => 1,
        Deal::Turns(ranks) => ranks,
    };
    let mut left = sizes.to_vec();
    let mut nodes = Vec::new();
    while left.iter().any(|&ranks| ranks > 0) {
        for (node, left) in left.iter_mut().enumerate() {
            let here = turn.min(*left);
            *left -= here;
            nodes.extend(std::iter::repeat_n(node as u32, here));
        }
    }
    nodes
}

proptest! {
    #[test]
    fn a_table_says_what_the_list_says(
        sizes in prop::collection::vec(1usize..9, 1..20),
        deal in prop_oneof![Just(Deal::Rows), Just(Deal::Cyclic), (2usize..5).prop_map(Deal::Turns)],
    ) {
        compare(&deal::slots(&dealt(&sizes, deal)));
    }

    #[test]
    fn any_order_of_nodes_has_a_table(nodes in prop::collection::vec(0u32..6, 1..60)) {
        compare(&deal::slots(&nodes));
    }

    /// Every block of a good table with one number changed: the table is refused, or still a table.
    #[test]
    fn hostile_numbers_are_refused_or_harmless(
        nodes in prop::collection::vec(0u32..4, 2..20),
        at in any::<prop::sample::Index>(),
        field in 0usize..6,
        value in prop_oneof![0u32..30, Just(1 << 30), Just(u32::MAX), any::<u32>()],
        cyclic in any::<bool>(),
    ) {
        let mut blocks = deal::blocks(&deal::slots(&nodes));
        let block = at.get(&blocks).first as usize;
        let changed = blocks.iter_mut().find(|found| found.first as usize == block).unwrap();
        let NodeBlock { first, count, first_node, nodes, per_node, first_slot, .. } = changed;
        *[first, count, first_node, nodes, per_node, first_slot][field] = value;
        changed.cyclic = cyclic;
        if let Ok(table) = NodeTable::new(blocks, rank(0), false) {
            let size = table.size().min(200);
            let mut places: Vec<_> = (0..size).map(|index| table.place(rank(index)).unwrap()).collect();
            for (index, &(node, slot)) in places.iter().enumerate() {
                prop_assert_eq!(table.world_rank(node, slot), Some(rank(index)));
            }
            places.sort();
            places.dedup();
            prop_assert_eq!(places.len(), size);
        }
    }
}

#[test]
fn one_node_and_sixteen_thousand() {
    compare(&deal::slots(&[0; 128]));
    let even = deal::slots(&dealt(&[4; 16_384], Deal::Rows));
    let cyclic = deal::slots(&dealt(&[4; 16_384], Deal::Cyclic));
    assert_eq!((deal::blocks(&even).len(), deal::blocks(&cyclic).len()), (1, 1));
    let sizes: Vec<usize> = (0..16_384).map(|node| 1 + node % 3).collect();
    let uneven = deal::slots(&dealt(&sizes, Deal::Rows));
    assert!(deal::blocks(&uneven).len() <= 16_384);
    for places in [even, cyclic, uneven] {
        compare(&places);
    }
}

#[test]
fn one_node_is_the_identity() {
    let table = NodeTable::one_node(rank(3), 8);
    assert_eq!(table, NodeTable::new(deal::blocks(&deal::slots(&[0; 8])), rank(3), false).unwrap());
    assert!((0..8).all(|index| table.peer(rank(index)) == Peer::at_slot(index)));
    assert_eq!(table.nodes(), 1);
}

#[test]
fn what_is_wrong_is_said() {
    let good = NodeBlock { first: 0, count: 4, first_node: 0, nodes: 2, per_node: 2, first_slot: 0, cyclic: false };
    let refused = |blocks: &[NodeBlock]| NodeTable::new(blocks.to_vec(), rank(0), false).unwrap_err();
    let second = NodeBlock { first: 4, ..good };
    assert!(refused(&[good, second]).contains("two ranks have slot 1 of node 0"));
    let beside = NodeBlock { first: 4, first_node: 1, first_slot: 1, ..good };
    assert!(refused(&[good, beside]).contains("two ranks have slot 1 of node 1"));
    assert!(NodeTable::new(vec![good, NodeBlock { first_slot: 2, ..second }], rank(0), false).is_ok());
    assert!(refused(&[good, NodeBlock { first: 5, ..second }]).contains("begins with rank 5"));
    assert!(refused(&[good, NodeBlock { first: 3, ..second }]).contains("begins with rank 3"));
    assert!(refused(&[NodeBlock { nodes: 3, ..good }]).contains("cannot be"));
    assert!(refused(&[NodeBlock { count: 0, ..good }]).contains("no ranks"));
    assert!(refused(&[NodeBlock { first_node: u32::MAX, ..good }]).contains("beyond"));
    assert!(refused(&[NodeBlock { first_slot: u32::MAX, ..good }]).contains("beyond"));
    let most = NodeBlock { count: u32::MAX, per_node: u32::MAX, nodes: 1, ..good };
    assert!(refused(&[most]).contains("beyond"));
    assert!(refused(&[]).contains("no ranks"));
    assert!(NodeTable::new(vec![good], rank(4), false).unwrap_err().contains("no rank 4"));
}

#[test]
fn through_a_segment_and_back() {
    let (_fd, segment) = Segment::create(6, 2).unwrap();
    assert!(NodeTable::load(&segment, rank(0)).unwrap_err().contains("0 blocks"));
    let nodes = dealt(&[3, 1, 2], Deal::Cyclic);
    let apart = deal::blocks(&deal::slots(&nodes));
    NodeTable::new(apart.clone(), rank(0), true).unwrap().store(&segment).unwrap();
    assert!(NodeTable::load(&segment, rank(0)).unwrap_err().contains("of another one"));
    NodeTable::new(apart, rank(0), false).unwrap().store(&segment).unwrap();
    assert!(!NodeTable::load(&segment, rank(0)).unwrap().is_pretended());
    let places = deal::slots_of_one_segment(&nodes);
    compare(&places);
    let table = NodeTable::new(deal::blocks(&places), rank(0), true).unwrap();
    table.store(&segment).unwrap();
    // Ranks 0, 3 and 5 are on node 0, 1 on node 1, 2 and 4 on node 2.
    let peers = [Peer::at_slot(0), Peer::at_slot(1), Peer::at_slot(2), Peer::far(1), Peer::far(2), Peer::far(4)];
    assert_eq!(table.pretended_slots(), peers);
    let (_fd, small) = Segment::create(5, 2).unwrap();
    table.store(&small).unwrap();
    assert!(NodeTable::load(&small, rank(0)).unwrap_err().contains("the segment has 5"));
    let read = NodeTable::load(&segment, rank(5)).unwrap();
    assert_eq!(read, table.for_rank(rank(5)).unwrap());
    assert!(read.is_pretended());
    assert!(NodeTable::load(&segment, rank(6)).unwrap_err().contains("no rank 6"));
    // Scribbled words.
    let words = segment.node_words();
    for (at, value, text) in [(1, 7, "its kind is 7"), (8, 9, "kind of a block is 9"), (2, 1, "begins with rank 1")] {
        let before = words[at].swap(value, std::sync::atomic::Ordering::Relaxed);
        assert!(NodeTable::load(&segment, rank(0)).unwrap_err().contains(text), "{text}");
        words[at].store(before, std::sync::atomic::Ordering::Relaxed);
    }
    words[0].store(u32::MAX, std::sync::atomic::Ordering::Relaxed);
    assert!(NodeTable::load(&segment, rank(0)).unwrap_err().contains("blocks"));
}
