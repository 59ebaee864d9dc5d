//! Predicted times of every algorithm of the collective operations, up to a million ranks; `*`
//! marks the one that the table chooses.
//!
//! `cargo run -p oxmpi-coll --example predict [node|network] [operation]`; `table` prints the table
//! itself. `tcp` and `fast` predict operations of ranks on several nodes instead, up to 16,384 nodes of 64 ranks, with what
//! they ask of ranks and nodes.

use oxmpi_coll::choose::table;
use oxmpi_coll::cost::{Model, work};
use oxmpi_coll::nodes::{self, Cluster, NodeMap};
use oxmpi_coll::operation::Operation;
use oxmpi_coll::reduce_scatter::Counts;

const RANKS: &[u32] = &[2, 8, 16, 64, 100, 1024, 16_384, 1 << 20];
const BYTES: &[u64] = &[8, 1 << 10, 16 << 10, 256 << 10, 4 << 20];

fn main() {
    let mut model = Model::NODE;
    let mut only = None;
    let mut cluster = None;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "node" => model = Model::NODE,
            "network" => model = Model::NETWORK,
            "tcp" => cluster = Some(Cluster::TCP),
            "fast" => cluster = Some(Cluster::FAST),
            "table" => return print!("{}", table()),
            name if OPERATIONS.iter().any(|(n, _)| *n == name) => only = Some(argument),
            other => {
                let names: Vec<&str> = OPERATIONS.iter().map(|(name, _)| *name).collect();
                eprintln!(
                    "predict: '{other}' is neither node, network, tcp, fast, table nor one of {}",
                    names.join(", ")
                );
                std::process::exit(2);
            }
        }
    }
    if let Some(cluster) = cluster {
        return over_nodes(&cluster, only.as_deref());
    }
    println!(
        "latency {:.2} µs, {:.0} GB/s on the wire, {:.0} GB/s combined; times in µs",
        model.latency * 1e6,
        model.bandwidth / 1e9,
        model.reduction / 1e9
    );
    for (name, shape) in OPERATIONS.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
        println!("\n{name}\n{:>9} {:>9}", "ranks", "bytes");
        for ranks in RANKS {
            for bytes in BYTES {
                let (operation, unit) = shape(*bytes, *ranks);
                let chosen = operation.shape(*ranks, unit).choose().take;
                let mut line = format!("{ranks:>9} {bytes:>9}");
                for algorithm in operation.algorithms(*ranks) {
                    let Some(work) = work(&operation, algorithm, *ranks, unit) else { continue };
                    let mark = if algorithm == chosen { '*' } else { ' ' };
                    let micros = model.seconds(work, unit) * 1e6;
                    line.push_str(&format!("   {mark}{} {micros:.1}", format!("{algorithm:?}").to_lowercase()));
                }
                println!("{line}");
            }
        }
    }
}

/// Nodes and the ranks on each.
const NODES: &[(u32, u32)] = &[(2, 2), (4, 8), (64, 64), (1024, 64), (16_384, 64)];

/// The operations of ranks on several nodes as the table chooses them. Where a plan of a million ranks has a step for each of
/// them, the figures that are read off plans are left out.
fn over_nodes(cluster: &Cluster, only: Option<&str>) {
    println!(
        "between nodes: latency {:.2} µs, {:.0} GB/s a node; depth and messages: between nodes + within",
        cluster.between.latency * 1e6,
        cluster.between.bandwidth / 1e9,
    );
    for (name, shape) in OPERATIONS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        println!("\n{name}\n{:>9} {:>9} {:>9}", "nodes", "ranks", "bytes");
        for (nodes, size) in NODES {
            let Some(map) = NodeMap::new(nodes * size, |rank| rank / size) else { continue };
            for bytes in BYTES {
                let (operation, unit) = shape(*bytes, map.ranks());
                let blocks = u64::from(map.ranks()) * unit;
                if blocks > 2 << 30 {
                    continue;
                }
                let chosen = operation.shape_over_nodes(&map, unit).choose().take;
                let seconds = nodes::seconds(&operation, chosen, &map, unit, cluster);
                let time = seconds.map_or("-".to_string(), |seconds| format!("{:.1} µs", seconds * 1e6));
                print!("{nodes:>9} {:>9} {bytes:>9}   {} {time}", map.ranks(), chosen.describe());
                if matches!(operation, Operation::Alltoall { .. }) && map.ranks() > 1 << 16 {
                    println!();
                    continue;
                }
                if let Some(found) = nodes::figures(&operation, chosen, &map, unit) {
                    print!(
                        "; depth {} + {}; a rank sends at most {} messages, a node {} to others; {} KiB of memory",
                        found.depth_between,
                        found.depth_within,
                        found.messages,
                        found.messages_of_node,
                        (found.temp * unit).div_ceil(1024),
                    );
                }
                println!();
            }
        }
    }
}

/// An operation of so many bytes by so many ranks, and the bytes of its unit.
type Shape = fn(u64, u32) -> (Operation<'static>, u64);

/// Bytes are those of the vector, or of one rank's block where the operation is in blocks.
const OPERATIONS: &[(&str, Shape)] = &[
    ("barrier", |_, _| (Operation::Barrier, 1)),
    ("bcast", |units, _| (Operation::Bcast { root: 0, units }, 1)),
    ("gather", |bytes, _| (Operation::Gather { root: 0, in_place: false }, bytes)),
    ("scatter", |bytes, _| (Operation::Scatter { root: 0, in_place: false }, bytes)),
    ("allgather", |bytes, _| (Operation::Allgather { in_place: false }, bytes)),
    ("alltoall", |bytes, _| (Operation::Alltoall { in_place: false }, bytes)),
    ("reduce", |units, _| (Operation::Reduce { root: 0, units, commutes: true, in_place: false }, 1)),
    ("allreduce", |units, _| (Operation::Allreduce { units, commutes: true, in_place: false }, 1)),
    ("reduce_scatter", |bytes, ranks| {
        let counts = Counts::Equal(bytes.div_ceil(ranks.into()));
        (Operation::ReduceScatter { counts, commutes: true, in_place: false }, 1)
    }),
    ("scan", |units, _| (Operation::Scan { units, in_place: false }, 1)),
    ("exscan", |units, _| (Operation::Exscan { units, in_place: false }, 1)),
];
