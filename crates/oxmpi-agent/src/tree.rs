//! Which agent starts which: a tree over the nodes of a job, with `mpirun` above them.

/// The nodes, cut into at most `fan_out` runs of about the same length. The first node of a run is started directly,
/// and starts the others of the run in the same way.
pub fn branches(nodes: &[u32], fan_out: usize) -> Vec<Vec<u32>> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let count = fan_out.clamp(1, nodes.len());
    let (short, longer) = (nodes.len() / count, nodes.len() % count);
    let mut rest = nodes;
    let mut runs = Vec::with_capacity(count);
    for run in 0..count {
        let (head, tail) = rest.split_at(short + usize::from(run < longer));
        runs.push(head.to_vec());
        rest = tail;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depth of the tree, and its nodes in the order in which they are met.
    fn walk(nodes: &[u32], fan_out: usize, met: &mut Vec<u32>) -> usize {
        let runs = branches(nodes, fan_out);
        assert!(runs.len() <= fan_out.max(1));
        let below = |run: &Vec<u32>| {
            met.push(run[0]);
            1 + walk(&run[1..], fan_out, met)
        };
        runs.iter().map(below).max().unwrap_or(0)
    }

    #[test]
    fn every_node_is_started_once() {
        for (count, fan_out, depth) in
            [(1, 1, 1), (8, 1, 8), (8, 2, 3), (32, 32, 1), (33, 32, 2), (64, 32, 2), (7, 3, 2)]
        {
            let nodes: Vec<u32> = (0..count).collect();
            let mut met = Vec::new();
            assert_eq!(walk(&nodes, fan_out, &mut met), depth, "{count} nodes, fan-out {fan_out}");
            met.sort();
            assert_eq!(met, nodes);
        }
        let many: Vec<u32> = (0..16_384).collect();
        assert!(walk(&many, 32, &mut Vec::new()) <= 4);
        assert!(branches(&[], 4).is_empty());
    }
}
