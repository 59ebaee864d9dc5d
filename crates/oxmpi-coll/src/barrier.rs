//! Barrier: no rank leaves before all ranks have entered.

use crate::plan::Plan;
use crate::tree::{after, before, log2_ceil};

/// In round `k` a rank signals the one `2^k` further that `2^k` ranks have entered. ceil(log2 n)
/// rounds.
pub fn dissemination(rank: u32, size: u32) -> Plan {
    let mut plan = Plan::default();
    for round in 0..log2_ceil(size) {
        plan.signal(after(rank, 1 << round, size));
        plan.await_signal(before(rank, 1 << round, size));
        plan.received();
    }
    plan
}
