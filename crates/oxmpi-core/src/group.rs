//! Groups: ordered sets of processes. A group never changes, so communicators and handles share it.
//!
//! From rank to process is an array access; the inverse is a sorted list that is built at the first
//! query.

use crate::ranks::Ranks;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Session;
use oxmpi_abi::{Result, bail};
use oxmpi_base::ids::{Peer, Rank};
use std::sync::OnceLock;

pub struct Group {
    ranks: Ranks,
    /// The session that it comes from, if any.
    pub session: Option<Session>,
    /// The members with their ranks, ordered by peer.
    inverse: OnceLock<Box<[(Peer, u32)]>>,
}

impl Group {
    pub fn new(ranks: Ranks, session: Option<Session>) -> Group {
        Group { ranks, session, inverse: OnceLock::new() }
    }

    pub fn empty() -> Group {
        Group::new(Ranks::one_node(0), None)
    }

    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// The process with a checked rank.
    pub fn member(&self, rank: i32) -> Peer {
        self.ranks.peer(Rank::new(rank as usize))
    }

    /// The processes in the order of their ranks.
    pub fn iter(&self) -> impl Iterator<Item = Peer> + '_ {
        self.ranks.iter()
    }

    /// The rank of a process, by binary search.
    pub fn rank_of(&self, process: Peer) -> Option<usize> {
        // The other forms know it without a search.
        let Ranks::List(list) = &self.ranks else { return self.ranks.position(process) };
        let inverse = self.inverse.get_or_init(|| {
            let mut inverse: Box<[(Peer, u32)]> =
                list.iter().enumerate().map(|(rank, &process)| (process, rank as u32)).collect();
            inverse.sort_unstable();
            inverse
        });
        let found = inverse.binary_search_by_key(&process, |&(member, _)| member).ok()?;
        Some(inverse[found].1 as usize)
    }

    /// `MPI_IDENT`, `MPI_SIMILAR` or `MPI_UNEQUAL`.
    pub fn compare(&self, other: &Group) -> i32 {
        if self.len() != other.len() {
            MPI_UNEQUAL
        } else if self.iter().eq(other.iter()) {
            MPI_IDENT
        } else if self.iter().all(|process| other.rank_of(process).is_some()) {
            MPI_SIMILAR
        } else {
            MPI_UNEQUAL
        }
    }

    /// The members of this group, then those of the other that are not in it.
    pub fn union(&self, other: &Group) -> Group {
        let added = other.iter().filter(|&process| self.rank_of(process).is_none());
        self.derive(self.iter().chain(added).collect(), other)
    }

    pub fn intersection(&self, other: &Group) -> Group {
        self.derive(self.iter().filter(|&process| other.rank_of(process).is_some()).collect(), other)
    }

    pub fn difference(&self, other: &Group) -> Group {
        self.derive(self.iter().filter(|&process| other.rank_of(process).is_none()).collect(), other)
    }

    /// The members with these ranks, in this order. Each rank must exist and occur once.
    pub fn include(&self, ranks: impl Iterator<Item = i64>) -> Result<Group> {
        let mut chosen = Chosen::new(self);
        let mut list = Vec::new();
        for rank in ranks {
            list.push(self.ranks.peer(Rank::new(chosen.take(rank)?)));
        }
        Ok(self.derive(list, self))
    }

    /// The members without these ranks. Each rank must exist and occur once.
    pub fn exclude(&self, ranks: impl Iterator<Item = i64>) -> Result<Group> {
        let mut chosen = Chosen::new(self);
        for rank in ranks {
            chosen.take(rank)?;
        }
        let kept = self.iter().zip(&chosen.taken).filter(|(_, taken)| !**taken).map(|(process, _)| process);
        Ok(self.derive(kept.collect(), self))
    }

    fn derive(&self, list: Vec<Peer>, other: &Group) -> Group {
        Group::new(Ranks::from_list(list), self.session.or(other.session))
    }
}

/// The ranks of a range triplet: first, last and stride.
pub fn range([first, last, stride]: [i32; 3]) -> Result<impl Iterator<Item = i64> + Clone> {
    let (first, last, stride) = (i64::from(first), i64::from(last), i64::from(stride));
    if stride == 0 {
        bail!(MPI_ERR_ARG, "the stride of the range {first}:{last}:{stride} is zero");
    }
    let count = if (last - first) * stride.signum() < 0 { 0 } else { (last - first) / stride + 1 };
    Ok((0..count).map(move |step| first + step * stride))
}

/// Ranks that were listed; each may be listed once.
struct Chosen {
    taken: Vec<bool>,
}

impl Chosen {
    fn new(group: &Group) -> Chosen {
        Chosen { taken: vec![false; group.len()] }
    }

    fn take(&mut self, rank: i64) -> Result<usize> {
        let size = self.taken.len();
        match usize::try_from(rank).ok().and_then(|rank| self.taken.get_mut(rank)) {
            None if size == 0 => bail!(MPI_ERR_RANK, "rank {rank} does not exist in the group, which is empty"),
            None => bail!(
                MPI_ERR_RANK,
                "rank {rank} does not exist in the group, which has {size} processes (ranks 0 to {})",
                size - 1
            ),
            Some(true) => bail!(MPI_ERR_RANK, "rank {rank} is named twice"),
            Some(taken) => *taken = true,
        }
        Ok(rank as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(list: &[usize]) -> Group {
        Group::new(Ranks::from_list(list.iter().map(|&slot| Peer::at_slot(slot)).collect()), None)
    }

    fn list(group: &Group) -> Vec<usize> {
        group.iter().map(|peer| peer.slot().unwrap().index()).collect()
    }

    fn rank_of(group: &Group, slot: usize) -> Option<usize> {
        group.rank_of(Peer::at_slot(slot))
    }

    #[test]
    fn sets_keep_the_order_of_the_first() {
        let (a, b) = (group(&[7, 2, 5]), group(&[5, 1, 7, 9]));
        assert_eq!(list(&a.union(&b)), [7, 2, 5, 1, 9]);
        assert_eq!(list(&a.intersection(&b)), [7, 5]);
        assert_eq!(list(&a.difference(&b)), [2]);
        assert_eq!(list(&b.difference(&a)), [1, 9]);
        assert!(a.intersection(&group(&[])).is_empty());
        assert_eq!(a.compare(&group(&[5, 7, 2])), MPI_SIMILAR);
        assert_eq!(a.compare(&group(&[7, 2, 5])), MPI_IDENT);
        assert_eq!(a.compare(&group(&[7, 2, 6])), MPI_UNEQUAL);
        assert_eq!(group(&[0, 1, 2]).compare(&group(&[2, 1, 0])), MPI_SIMILAR);
    }

    #[test]
    fn ranks_are_found() {
        let a = group(&[7, 2, 5]);
        assert_eq!((rank_of(&a, 5), rank_of(&a, 3), rank_of(&a, 8)), (Some(2), None, None));
        assert_eq!(a.rank_of(Peer::far(5)), None);
        let all = group(&[0, 1, 2]);
        assert!(matches!(all.ranks(), Ranks::OneNode { count: 3 }));
        assert_eq!((rank_of(&all, 2), rank_of(&all, 3), all.rank_of(Peer::far(1))), (Some(2), None, None));
    }

    #[test]
    fn choosing_by_rank() {
        let a = group(&[10, 11, 12, 13, 14]);
        assert_eq!(list(&a.include([3, 0].into_iter()).unwrap()), [13, 10]);
        assert_eq!(list(&a.exclude([3, 0].into_iter()).unwrap()), [11, 12, 14]);
        for wrong in [[5, 0], [-1, 0], [2, 2]] {
            assert_eq!(a.include(wrong.into_iter()).err().unwrap().class(), MPI_ERR_RANK);
            assert_eq!(a.exclude(wrong.into_iter()).err().unwrap().class(), MPI_ERR_RANK);
        }
    }

    #[test]
    fn ranges() {
        let ranks = |triplet| range(triplet).unwrap().collect::<Vec<_>>();
        assert_eq!(ranks([1, 7, 3]), [1, 4, 7]);
        assert_eq!(ranks([1, 6, 3]), [1, 4]);
        assert_eq!(ranks([6, 1, -2]), [6, 4, 2]);
        assert_eq!(ranks([3, 3, 100]), [3]);
        assert!(ranks([3, 1, 1]).is_empty() && ranks([1, 3, -1]).is_empty());
        assert_eq!(range([0, 1, 0]).err().unwrap().class(), MPI_ERR_ARG);
        assert_eq!(range([i32::MIN, i32::MAX, 1]).unwrap().take(2).count(), 2);
    }
}
