//! Balances ranks over CPUs when ranks outnumber CPUs. The scheduler needs some milliseconds to
//! balance them, which is longer than an operation: with three of four ranks on one of two CPUs the
//! operation takes half as long again.

use super::SharedBoard;
use oxmpi_base::cpus::{self, CpuPin, CpuSet};

/// Balancing pays from this many bytes per rank on.
const LONG: usize = 256 << 10;
/// Pinning pays from this many bytes per hop on.
const LONG_WITH_NEIGHBOURS: usize = 1 << 20;

impl SharedBoard {
    /// Before an operation of so many bytes per rank: leaves a CPU that has at least two ranks more
    /// than another. The affinity of this thread stays as it is.
    #[inline]
    pub(super) fn balance_cpu(&self, bytes: usize) {
        if bytes >= LONG && self.is_oversubscribed() {
            self.leave_full_cpu();
        }
    }

    /// During an operation in which each rank passes so many bytes to the next while ranks
    /// outnumber CPUs: pins neighbours to the same CPU. Along a chain they pass on what is in its
    /// cache, and all ranks would wait for one that is moved in the middle of a long copy. For
    /// operations that share work between ranks, the scheduler does better.
    pub(super) fn pin_with_neighbours(&self, bytes: usize) -> Option<CpuPin> {
        if bytes < LONG_WITH_NEIGHBOURS || !self.is_oversubscribed() {
            return None;
        }
        let all = CpuSet::affinity().ok().filter(|all| (2..self.ranks()).contains(&all.len()))?;
        let cpu = all.iter().nth(self.rank() * all.len() / self.ranks())?;
        CpuPin::on(cpu, all)
    }

    #[cold]
    fn leave_full_cpu(&self) {
        let Some(cpu) = cpus::current() else { return };
        self.member.say_cpu(cpu);
        if self.ranks_on(cpu) < 2 {
            return;
        }
        let Ok(all) = CpuSet::affinity() else { return };
        // Only one rank moves at a time.
        self.member.alone_in_move(|| {
            let Some(to) = all.iter().min_by_key(|&cpu| self.ranks_on(cpu)) else { return };
            if self.ranks_on(to) + 2 > self.ranks_on(cpu) {
                return;
            }
            if CpuSet::from_iter([to]).confine().is_ok() {
                self.member.say_cpu(to);
                // The old affinity was allowed before. If it no longer is, the thread stays on one
                // CPU of it.
                let _ = all.confine();
            }
        });
    }

    fn ranks_on(&self, cpu: usize) -> usize {
        (0..self.ranks()).filter(|&rank| self.member.cpu_of(rank) == Some(cpu)).count()
    }
}
