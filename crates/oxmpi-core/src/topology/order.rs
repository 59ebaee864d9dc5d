//! Assigns processes to the nodes of a topology when the program allows it (`reorder`): neighbours
//! get CPUs that share caches and memory.
//!
//! Everything here is a function of what all processes know, so they compute the same order without
//! communication. It is a heuristic with one promise: an order is returned only when the total
//! length of the edges is shorter than in the existing order.

use super::cart::Cart;
use oxmpi_abi::constants::MPI_UNDEFINED;

/// The number of kinds of hardware, each a part of the one before; the first is the node.
pub const LEVELS: usize = 6;

/// Where a process runs: the instance of every kind of hardware, the largest first.
pub type Position = [u32; LEVELS];

/// For more processes the search would take longer than it can save.
const MOST: usize = 4096;
/// Up to this many processes, pairwise exchanges are tried.
const MOST_TO_SWAP: usize = 1024;
const PASSES: usize = 4;

/// An edge of the topology between two nodes, and how much it counts.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub ends: [u32; 2],
    pub weight: u64,
}

/// Whether there is anything to choose: not all processes are at the same position.
pub fn matters(positions: &[Position]) -> bool {
    positions.windows(2).any(|pair| pair[0] != pair[1]) && positions.len() <= MOST
}

/// The process, by its index in `positions`, for each rank of the grid; `None` when the existing
/// order is as good.
pub fn for_grid(cart: &Cart, positions: &[Position]) -> Option<Vec<u32>> {
    let positions = positions.get(..cart.size() as usize)?;
    if !matters(positions) {
        return None;
    }
    let links = grid_links(cart);
    let machine = MachinePart::of_all(positions);
    let sorted = machine.ranks.clone();
    let tiled = tile(cart.dims(), cart.periods(), &machine);
    better(&links, positions, [sorted, tiled])
}

/// As [`for_grid`], for each node of a graph.
pub fn for_graph(nodes: usize, links: &[Link], positions: &[Position]) -> Option<Vec<u32>> {
    let positions = positions.get(..nodes)?;
    if !matters(positions) {
        return None;
    }
    let neighbors = neighbors(nodes, links);
    let machine = MachinePart::of_all(positions);
    let mut grown = vec![0; nodes];
    grow(&(0..nodes as u32).collect::<Vec<_>>(), &machine, &neighbors, &mut grown);
    if nodes <= MOST_TO_SWAP {
        swap(&mut grown, &neighbors, positions);
    }
    better(links, positions, [machine.ranks, grown])
}

/// The new rank of the process with this rank; `MPI_UNDEFINED` beyond the count.
pub fn new_rank(rank: i32, count: i32, order: Option<&[u32]>) -> i32 {
    match order {
        _ if rank >= count => MPI_UNDEFINED,
        None => rank,
        Some(order) => order.iter().position(|&old| old as i32 == rank).map_or(MPI_UNDEFINED, |new| new as i32),
    }
}

/// The best of some orders, if it is better than the existing one.
fn better<const N: usize>(links: &[Link], positions: &[Position], orders: [Vec<u32>; N]) -> Option<Vec<u32>> {
    let length = |order: &dyn Fn(u32) -> u32| -> u128 {
        let distance = |link: &Link| {
            let [a, b] = link.ends.map(|end| &positions[order(end) as usize]);
            u128::from(link.weight) * u128::from(distance(a, b))
        };
        links.iter().map(distance).sum()
    };
    let now = length(&|node| node);
    let measured = orders.into_iter().map(|order| (length(&|node| order[node as usize]), order));
    let (best, order) = measured.min_by_key(|(length, _)| *length)?;
    (best < now).then_some(order)
}

/// The distance of two positions: the number of levels that they do not share.
fn distance(a: &Position, b: &Position) -> u32 {
    (LEVELS - a.iter().zip(b).take_while(|(a, b)| a == b).count()) as u32
}

/// A part of the machine: its processes, and its own parts, if it has several.
struct MachinePart {
    ranks: Vec<u32>,
    parts: Vec<MachinePart>,
}

impl MachinePart {
    fn of_all(positions: &[Position]) -> MachinePart {
        MachinePart::new((0..positions.len() as u32).collect(), positions, 0)
    }

    /// Sorts the ranks by part, and keeps their order within a part.
    fn new(ranks: Vec<u32>, positions: &[Position], level: usize) -> MachinePart {
        if level == LEVELS {
            return MachinePart { ranks, parts: Vec::new() };
        }
        let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
        for &rank in &ranks {
            let instance = positions[rank as usize][level];
            match groups.iter_mut().find(|(known, _)| *known == instance) {
                Some((_, group)) => group.push(rank),
                None => groups.push((instance, vec![rank])),
            }
        }
        if groups.len() == 1 {
            return MachinePart::new(ranks, positions, level + 1);
        }
        let parts: Vec<MachinePart> =
            groups.into_iter().map(|(_, group)| MachinePart::new(group, positions, level + 1)).collect();
        MachinePart { ranks: parts.iter().flat_map(|part| part.ranks.iter().copied()).collect(), parts }
    }
}

// ---- grids ----

fn grid_links(cart: &Cart) -> Vec<Link> {
    let forward = |rank: i32| {
        (0..cart.dims().len()).filter_map(move |direction| {
            let dest = cart.shift(rank, direction as i32, 1).ok()?.dest;
            (dest >= 0 && dest != rank).then_some(Link { ends: [rank as u32, dest as u32], weight: 1 })
        })
    };
    (0..cart.size()).flat_map(forward).collect()
}

/// Cuts a box into equal boxes, one for each part, recursively; ranks are in row-major order. If
/// the parts cannot be equal boxes, they follow each other.
fn tile(dims: &[i32], periods: &[bool], part: &MachinePart) -> Vec<u32> {
    let Some(first) = part.parts.first() else { return part.ranks.clone() };
    let equal = part.parts.iter().all(|other| other.ranks.len() == first.ranks.len());
    let Some(side) = equal.then(|| best_tile(dims, periods, first.ranks.len() as i32)).flatten() else {
        return part.ranks.clone();
    };
    // A dimension that is cut is not periodic within the box.
    let around: Vec<bool> = periods.iter().zip(dims).zip(&side).map(|((&p, d), s)| p && d == s).collect();
    let tiles: Vec<Vec<u32>> = part.parts.iter().map(|part| tile(&side, &around, part)).collect();
    let count: i32 = dims.iter().product();
    let mut order = vec![0; count as usize];
    for (place, slot) in order.iter_mut().enumerate() {
        // The tile, and the position in it: the coordinates in units of the tile's sides, and the
        // remainders.
        let (mut rest, mut which, mut within, mut tiles_below, mut below) = (place, 0, 0, 1, 1);
        for (&length, &side) in dims.iter().zip(&side).rev() {
            let (length, side) = (length as usize, side as usize);
            let coord = rest % length;
            rest /= length;
            which += coord / side * tiles_below;
            within += coord % side * below;
            tiles_below *= length / side;
            below *= side;
        }
        *slot = tiles[which][within];
    }
    order
}

/// The sides of boxes of so many nodes each that fill a box, with the fewest edges between them.
fn best_tile(dims: &[i32], periods: &[bool], nodes: i32) -> Option<Vec<i32>> {
    fn search(
        dims: &[i32],
        periods: &[bool],
        nodes: i32,
        whole: i64,
        side: &mut Vec<i32>,
        cut: i64,
        best: &mut Option<(i64, Vec<i32>)>,
    ) {
        let at = side.len();
        if at == dims.len() {
            if nodes == 1 && best.as_ref().is_none_or(|(least, _)| cut < *least) {
                *best = Some((cut, side.clone()));
            }
            return;
        }
        let length = dims[at];
        for candidate in (1..=length.min(nodes)).filter(|&side| length % side == 0 && nodes % side == 0) {
            let pieces = i64::from(length / candidate);
            let seams = pieces - 1 + i64::from(periods[at] && pieces > 1 && length > 2);
            side.push(candidate);
            let cut = cut + seams * (whole / i64::from(length));
            search(dims, periods, nodes / candidate, whole, side, cut, best);
            side.pop();
        }
    }
    let whole = dims.iter().map(|&length| i64::from(length)).product();
    let mut best = None;
    search(dims, periods, nodes, whole, &mut Vec::new(), 0, &mut best);
    best.map(|(_, side)| side)
}

// ---- graphs ----

/// The neighbours of every node, with the total weight of the edges between the two in both
/// directions.
fn neighbors(nodes: usize, links: &[Link]) -> Vec<Vec<(u32, u64)>> {
    let mut lists = vec![Vec::new(); nodes];
    for Link { ends: [a, b], weight } in links.iter().copied().filter(|link| link.ends[0] != link.ends[1]) {
        lists[a as usize].push((b, weight));
        lists[b as usize].push((a, weight));
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
    }
    lists
}

/// Distributes nodes to the parts of a machine: each part takes the node with the most weight to
/// what it has taken, and the least to what is left. `order` gets the process of each node.
fn grow(nodes: &[u32], part: &MachinePart, neighbors: &[Vec<(u32, u64)>], order: &mut [u32]) {
    if part.parts.is_empty() {
        nodes.iter().zip(&part.ranks).for_each(|(&node, &rank)| order[node as usize] = rank);
        return;
    }
    // The weight from each node to the growing part, and to all nodes that are not taken.
    let mut near = vec![0u64; order.len()];
    let mut open = vec![0u64; order.len()];
    let mut left: Vec<u32> = nodes.to_vec();
    let is_left: std::collections::BTreeSet<u32> = nodes.iter().copied().collect();
    for &node in nodes {
        open[node as usize] =
            neighbors[node as usize].iter().filter(|(peer, _)| is_left.contains(peer)).map(|(_, weight)| weight).sum();
    }
    for part in &part.parts {
        let mut taken = Vec::with_capacity(part.ranks.len());
        near.fill(0);
        for _ in 0..part.ranks.len() {
            let key = |node: u32| (std::cmp::Reverse(near[node as usize]), open[node as usize], node);
            let Some(at) = (0..left.len()).min_by_key(|&at| key(left[at])) else { return };
            let node = left.swap_remove(at);
            for &(peer, weight) in &neighbors[node as usize] {
                near[peer as usize] = near[peer as usize].saturating_add(weight);
                open[peer as usize] = open[peer as usize].saturating_sub(weight);
            }
            taken.push(node);
        }
        taken.sort_unstable();
        grow(&taken, part, neighbors, order);
    }
}

/// Exchanges the processes of pairs of nodes while that makes edges shorter.
fn swap(order: &mut [u32], neighbors: &[Vec<(u32, u64)>], positions: &[Position]) {
    let length = |order: &[u32], node: usize| -> u128 {
        let own = &positions[order[node] as usize];
        let peers = neighbors[node].iter();
        peers
            .map(|&(peer, weight)| {
                u128::from(weight) * u128::from(distance(own, &positions[order[peer as usize] as usize]))
            })
            .sum()
    };
    for _ in 0..PASSES {
        let mut changed = false;
        for a in 0..order.len() {
            for b in a + 1..order.len() {
                if positions[order[a] as usize] == positions[order[b] as usize] {
                    continue;
                }
                let before = length(order, a) + length(order, b);
                order.swap(a, b);
                if length(order, a) + length(order, b) < before {
                    changed = true;
                } else {
                    order.swap(a, b);
                }
            }
        }
        if !changed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes on a machine of sockets with so many caches of so many cores each, one process per
    /// core, with ranks from `number`.
    fn machine(sockets: u32, caches: u32, cores: u32, number: impl Fn(u32) -> u32) -> Vec<Position> {
        let count = sockets * caches * cores;
        let mut positions = vec![[0; LEVELS]; count as usize];
        for core in 0..count {
            let socket = core / (caches * cores);
            positions[number(core) as usize] = [0, socket, socket, core / cores, core, core];
        }
        positions
    }

    fn cart(dims: &[i32], periodic: bool) -> Cart {
        Cart::new(dims.to_vec(), vec![periodic; dims.len()], 100_000).unwrap()
    }

    fn crossings(links: &[Link], positions: &[Position], order: &[u32], level: usize) -> usize {
        let at = |end: u32| positions[order[end as usize] as usize][level];
        links.iter().filter(|link| at(link.ends[0]) != at(link.ends[1])).count()
    }

    fn is_permutation(order: &[u32]) {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(at, &rank)| at == rank as usize));
    }

    #[test]
    fn the_order_is_kept_if_no_other_is_better() {
        let flat = vec![[0; LEVELS]; 16];
        assert_eq!(for_grid(&cart(&[4, 4], false), &flat), None);
        assert_eq!(for_grid(&cart(&[], false), &flat), None);
        // A chain in the order of the cores is already optimal.
        assert_eq!(for_grid(&cart(&[16], true), &machine(2, 2, 4, |core| core)), None);
        assert_eq!(for_graph(16, &[], &machine(2, 2, 4, |core| core)), None);
        assert_eq!(for_graph(0, &[], &[]), None);
    }

    #[test]
    fn grids_become_tiles() {
        // Rows of 8 over parts of 4 cut every row twice; tiles of 2 x 2 do better.
        let positions = machine(2, 2, 4, |core| core);
        let grid = cart(&[4, 4], false);
        let order = for_grid(&grid, &positions).unwrap();
        is_permutation(&order);
        assert_eq!(crossings(&grid_links(&grid), &positions, &order, 1), 4);
        assert_eq!(crossings(&grid_links(&grid), &positions, &order, 3), 8);
        let grid = cart(&[4, 4, 4], false);
        let positions = machine(2, 4, 8, |core| core);
        let order = for_grid(&grid, &positions).unwrap();
        is_permutation(&order);
        assert_eq!(crossings(&grid_links(&grid), &positions, &order, 3), 3 * 16);
    }

    #[test]
    fn cyclic_ranks_are_gathered() {
        // Neighbours on different sockets, as `--map-by socket` puts them.
        let positions = machine(2, 1, 4, |core| core % 4 * 2 + core / 4);
        for grid in [cart(&[8], false), cart(&[2, 4], false)] {
            let order = for_grid(&grid, &positions).unwrap();
            is_permutation(&order);
            let least = if grid.dims().len() == 1 { 1 } else { 2 };
            assert_eq!(crossings(&grid_links(&grid), &positions, &order, 1), least);
        }
        // The same for nodes, without further hardware levels.
        let nodes: Vec<Position> = (0..8).map(|rank| [rank % 2, 0, 0, 0, 0, 0]).collect();
        let order = for_grid(&cart(&[8], false), &nodes).unwrap();
        assert_eq!(crossings(&grid_links(&cart(&[8], false)), &nodes, &order, 0), 1);
        // A grid that is smaller than the machine: only its own processes count.
        let order = for_grid(&cart(&[6], false), &positions).unwrap();
        is_permutation(&order);
        assert_eq!(order.len(), 6);
    }

    #[test]
    fn graphs_keep_neighbours_together() {
        // Two cliques, numbered alternately, with one thin edge between them.
        let clique = |which: u32| {
            let members = move || (0..4u32).map(move |at| 2 * at + which);
            members()
                .flat_map(move |a| members().filter(move |&b| a < b).map(move |b| Link { ends: [a, b], weight: 5 }))
        };
        let links: Vec<Link> = clique(0).chain(clique(1)).chain([Link { ends: [0, 1], weight: 1 }]).collect();
        let positions = machine(2, 1, 4, |core| core);
        let order = for_graph(8, &links, &positions).unwrap();
        is_permutation(&order);
        assert_eq!(crossings(&links, &positions, &order, 1), 1);
        // Weights decide: the heavy pairs share a cache.
        let positions = machine(1, 2, 2, |core| core);
        let links = [([0, 2], 9), ([1, 3], 9), ([0, 1], 1), ([2, 3], 1)].map(|(ends, weight)| Link { ends, weight });
        let order = for_graph(4, &links, &positions).unwrap();
        assert_eq!(crossings(&links, &positions, &order, 3), 2);
        assert_eq!(positions[order[0] as usize][3], positions[order[2] as usize][3]);
    }

    #[test]
    fn never_longer_than_before() {
        let mut seed = 1u64;
        let mut draw = |bound: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % bound
        };
        for _ in 0..200 {
            let nodes = draw(20) + 1;
            let positions: Vec<Position> = (0..nodes + draw(3)).map(|_| [0, draw(2), 0, draw(2), draw(3), 0]).collect();
            let count = draw(40);
            let links: Vec<Link> =
                (0..count).map(|_| Link { ends: [draw(nodes), draw(nodes)], weight: u64::from(draw(5)) }).collect();
            let length = |order: &dyn Fn(u32) -> usize| -> u64 {
                links
                    .iter()
                    .map(|l| l.weight * u64::from(distance(&positions[order(l.ends[0])], &positions[order(l.ends[1])])))
                    .sum()
            };
            if let Some(order) = for_graph(nodes as usize, &links, &positions) {
                is_permutation(&order);
                assert!(length(&|node| order[node as usize] as usize) < length(&|node| node as usize));
            }
        }
    }
}
