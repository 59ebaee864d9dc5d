//! What the nodes of a job tell each other through a process manager: one record per node, with its ranks and where it
//! listens. The first rank of a node puts it; the first ranks of all nodes read all of them.
//!
//! A record is found by the lowest rank of its node, so a reader needs no list of nodes: it asks for the record of the
//! lowest rank that no record has named yet. Values of a manager are short and plain, so a record is cut into pieces of
//! letters and digits. Every record is validated before it is used.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::Manager;
use crate::network::{BUILD, MOST_ADDRESSES};

/// The most bytes of a piece, though a manager may take more: some say more than they can.
const PIECE: usize = 900;
/// A manager that takes less than this is of no use.
const LEAST: usize = 64;
/// More pieces are a damaged record.
const MOST_PIECES: usize = 1 << 16;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// Nodes with different builds must not meet.
    pub build: u64,
    pub host: String,
    pub port: u16,
    pub addresses: Vec<IpAddr>,
    /// The ranks, in ascending order.
    pub ranks: Vec<Run>,
    /// In the record of the node of rank 0.
    pub secret: Option<Secret>,
}

/// What the processes of a job know, and nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    pub job: [u8; 16],
    pub key: [u8; 32],
}

/// Ranks at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub first: u32,
    pub step: u32,
    pub count: u32,
}

impl NodeRecord {
    /// A node of these ranks, in ascending order, which cannot be reached yet.
    pub fn new(host: String, ranks: &[u32]) -> NodeRecord {
        NodeRecord { build: BUILD, host, port: 0, addresses: Vec::new(), ranks: runs(ranks), secret: None }
    }

    /// The ranks; `None` if the record makes no sense in a job of this size.
    pub fn ranks(&self, size: usize) -> Option<Vec<u32>> {
        let mut ranks = Vec::new();
        for run in &self.ranks {
            if run.count as usize > size - ranks.len() {
                return None;
            }
            for number in 0..u64::from(run.count) {
                let rank = u64::from(run.first) + number * u64::from(run.step);
                ranks.push(u32::try_from(rank).ok().filter(|&rank| (rank as usize) < size)?);
            }
        }
        ranks.is_sorted_by(|a, b| a < b).then_some(ranks).filter(|ranks| !ranks.is_empty())
    }
}

fn runs(ranks: &[u32]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some(run) if run.count == 1 => (run.step, run.count) = (rank - run.first, 2),
            Some(run) if run.first + run.step * run.count == rank => run.count += 1,
            _ => runs.push(Run { first: rank, step: 1, count: 1 }),
        }
    }
    runs
}

fn key(rank: usize, piece: usize) -> String {
    format!("oxmpi-{rank}-{piece}")
}

/// Gives the record of this process's node to the manager; this process is the first rank of it.
pub fn publish(manager: &mut dyn Manager, record: &NodeRecord) -> Result<(), String> {
    let bytes = postcard::to_stdvec(record).map_err(|error| error.to_string())?;
    let most = manager.most_bytes();
    if most < LEAST {
        return Err(format!("the values that it takes have at most {most} bytes, and {LEAST} are needed"));
    }
    let text = to_letters(&bytes);
    let pieces: Vec<&[u8]> = text.chunks(PIECE.min(most - 8)).collect();
    if pieces.len() >= MOST_PIECES {
        return Err(format!("the record of this node needs {} values of {most} bytes", pieces.len()));
    }
    let (rank, count) = (manager.told().rank, pieces.len());
    for (number, piece) in pieces.into_iter().enumerate() {
        let head = if number == 0 { format!("{count}.") } else { String::new() };
        manager.put(&key(rank, number), &format!("{head}{}", String::from_utf8_lossy(piece)))?;
    }
    Ok(())
}

/// The records of all nodes, in the order of their lowest ranks, and the node of every rank.
pub fn collect(manager: &mut dyn Manager) -> Result<(Vec<NodeRecord>, Vec<u32>), String> {
    let size = manager.told().size;
    let (mut records, mut node_of) = (Vec::new(), vec![u32::MAX; size]);
    let mut lowest = 0;
    while let Some(next) = node_of[lowest..].iter().position(|&node| node == u32::MAX).map(|at| lowest + at) {
        lowest = next;
        let record = read(manager, lowest)?;
        let damaged = |what: &str| format!("the record of the node of rank {lowest} is damaged: {what}");
        let ranks =
            record.ranks(size).filter(|ranks| ranks[0] as usize == lowest).ok_or_else(|| damaged("its ranks"))?;
        for rank in ranks {
            let place = &mut node_of[rank as usize];
            if *place != u32::MAX {
                return Err(damaged(&format!("rank {rank} is on another node, too")));
            }
            *place = records.len() as u32;
        }
        if record.addresses.len() > MOST_ADDRESSES {
            return Err(damaged("it has too many addresses"));
        }
        records.push(record);
    }
    Ok((records, node_of))
}

fn read(manager: &mut dyn Manager, rank: usize) -> Result<NodeRecord, String> {
    let damaged = || format!("the record of the node of rank {rank} is damaged");
    let first = manager.get(rank, &key(rank, 0))?;
    let (count, piece) = first.split_once('.').ok_or_else(damaged)?;
    let count = count.parse().ok().filter(|count| (1..MOST_PIECES).contains(count)).ok_or_else(damaged)?;
    let mut text = piece.to_string();
    for number in 1..count {
        text.push_str(&manager.get(rank, &key(rank, number))?);
    }
    let bytes = from_letters(text.as_bytes()).ok_or_else(damaged)?;
    // The build stands first, so that a record of another build is recognised whatever follows.
    let (build, _): (u64, _) = postcard::take_from_bytes(&bytes).map_err(|_| damaged())?;
    if build != BUILD {
        return Err(format!(
            "the node of rank {rank} has another version of OxMPI than this one; all nodes must have the same"
        ));
    }
    match postcard::take_from_bytes(&bytes) {
        Ok((record, [])) => Ok(record),
        _ => Err(damaged()),
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes as base64url without padding: letters that every manager passes on unchanged.
pub(crate) fn to_letters(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        text.extend((0..=chunk.len()).map(|at| LETTERS[(word >> (18 - 6 * at)) as usize & 63]));
    }
    text
}

/// The inverse; `None` for a text that [`to_letters`] does not make.
pub(crate) fn from_letters(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let mut word = 0u32;
        for &letter in chunk {
            word = word << 6 | LETTERS.iter().position(|&known| known == letter)? as u32;
        }
        let count = chunk.len().checked_sub(1).filter(|&count| count > 0)?;
        word <<= 6 * (4 - chunk.len());
        bytes.extend(&word.to_be_bytes()[1..=count]);
        if word << (8 * count) & 0xff_ffff != 0 {
            return None;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::Told;
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// A manager without other ranks: what was put is found.
    struct Board {
        told: Told,
        most: usize,
        values: HashMap<String, String>,
    }

    impl Manager for Board {
        fn told(&self) -> &Told {
            &self.told
        }
        fn most_bytes(&self) -> usize {
            self.most
        }
        fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
            assert!(value.len() <= self.most && key.len() < 32);
            self.values.insert(key.into(), value.into());
            Ok(())
        }
        fn fence(&mut self) -> Result<(), String> {
            Ok(())
        }
        fn get(&mut self, _: usize, key: &str) -> Result<String, String> {
            self.values.get(key).cloned().ok_or_else(|| format!("no {key}"))
        }
        fn abort(&mut self, _: i32, _: &str) {}
        fn finish(&mut self) {}
    }

    fn board(size: usize, most: usize) -> Board {
        let told = Told { launcher: "x".into(), rank: 0, size, appnum: 0, universe_size: None, job: "j".into() };
        Board { told, most, values: HashMap::new() }
    }

    fn put(board: &mut Board, record: &NodeRecord) {
        board.told.rank = record.ranks[0].first as usize;
        publish(board, record).unwrap();
    }

    fn record(ranks: &[u32]) -> NodeRecord {
        NodeRecord {
            port: 4711,
            addresses: vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
            ..NodeRecord::new("a-host".into(), ranks)
        }
    }

    #[test]
    fn records_of_all_nodes_are_found() {
        for most in [LEAST, 128, 1024] {
            let mut board = board(7, most);
            let secret = Some(Secret { job: [1; 16], key: [2; 32] });
            let all = [NodeRecord { secret, ..record(&[0, 3, 6]) }, record(&[1, 2]), record(&[4, 5])];
            all.iter().for_each(|record| put(&mut board, record));
            let (found, node_of) = collect(&mut board).unwrap();
            assert_eq!(found, all);
            assert_eq!(node_of, [0, 1, 1, 0, 2, 2, 0]);
        }
        assert!(publish(&mut board(1, 20), &record(&[0])).unwrap_err().contains("at most 20 bytes"));
    }

    #[test]
    fn many_ranks_are_few_runs() {
        let cyclic: Vec<u32> = (0..1000).map(|at| 3 + 16 * at).collect();
        assert_eq!(runs(&cyclic), [Run { first: 3, step: 16, count: 1000 }]);
        assert_eq!(NodeRecord::new(String::new(), &cyclic).ranks(16000), Some(cyclic));
        let odd = [0, 1, 2, 9, 11, 12];
        assert_eq!(NodeRecord::new(String::new(), &odd).ranks(13).unwrap(), odd);
        assert_eq!(NodeRecord::new(String::new(), &odd).ranks(12), None);
    }

    #[test]
    fn records_that_cannot_be_are_refused() {
        let fails = |records: &[NodeRecord], part: &str| {
            let mut board = board(4, 1024);
            records.iter().for_each(|record| put(&mut board, record));
            let error = collect(&mut board).unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        };
        fails(&[record(&[0, 1])], "no oxmpi-2-0");
        fails(&[record(&[0, 1, 2]), record(&[3, 3])], "damaged: its ranks");
        let overlap = NodeRecord { ranks: vec![Run { first: 1, step: 2, count: 2 }], ..record(&[1]) };
        fails(&[record(&[0, 3]), overlap], "rank 3 is on another node, too");
        let endless = NodeRecord { ranks: vec![Run { first: 0, step: 0, count: u32::MAX }], ..record(&[0]) };
        fails(&[endless], "damaged: its ranks");
        fails(&[NodeRecord { build: 7, ..record(&[0, 1, 2, 3]) }], "another version of OxMPI");
        let many = NodeRecord { addresses: vec!["10.0.0.1".parse().unwrap(); 99], ..record(&[0, 1, 2, 3]) };
        fails(&[many], "too many addresses");
    }

    proptest! {
        #[test]
        fn letters_are_reversible(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let text = to_letters(&bytes);
            prop_assert!(text.iter().all(|letter| LETTERS.contains(letter)));
            prop_assert_eq!(from_letters(&text), Some(bytes));
        }

        #[test]
        fn no_value_breaks_the_reader(text in "[0-9.A-Za-z_-]{0,80}", count in 0..4u32) {
            let mut board = board(3, 1024);
            board.values.insert(key(0, 0), format!("{count}.{text}"));
            board.values.insert(key(0, 1), text);
            let _ = collect(&mut board);
        }
    }
}
