//! Ranks that outnumber CPUs, evenly on them. The scheduler evens out over some milliseconds, which is longer than an operation
//! takes: with three of four ranks on one of two CPUs it takes half as long again.

use super::Node;
use oxmpi_base::cpus::{self, CpuPin, CpuSet};

/// Operations that move so many bytes a rank are worth it.
const LONG: usize = 256 << 10;
/// Those that hand on so many at a time are worth it to stay on a CPU.
const LONG_WITH_NEIGHBOURS: usize = 1 << 20;

impl Node {
    /// Before an operation of so many bytes a rank: leaves a CPU that has at least two ranks more than another. What this thread
    /// may run on stays as it is.
    #[inline]
    pub(super) fn balance_cpu(&self, bytes: usize) {
        if bytes >= LONG && self.is_oversubscribed() {
            self.leave_full_cpu();
        }
    }

    /// For the time of an operation when ranks outnumber CPUs that hands so many bytes from one rank to another at a time: neighbours stay on the
    /// same CPU. Along a chain they hand each other what is in its cache; and all have to wait for a rank that is moved in the middle
    /// of long copies. Where ranks share their work, the scheduler does better.
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
        // Nobody else changes its CPU while we look for one.
        self.member.alone_in_move(|| {
            let Some(to) = all.iter().min_by_key(|&cpu| self.ranks_on(cpu)) else { return };
            if self.ranks_on(to) + 2 > self.ranks_on(cpu) {
                return;
            }
            if CpuSet::from_iter([to]).confine().is_ok() {
                self.member.say_cpu(to);
                // It was allowed before; if it is no more, one CPU of those is what remains.
                let _ = all.confine();
            }
        });
    }

    fn ranks_on(&self, cpu: usize) -> usize {
        (0..self.ranks()).filter(|&rank| self.member.cpu_of(rank) == Some(cpu)).count()
    }
}
