//! The plans of the last collective operations on a communicator that went by messages. Most programs repeat few operations,
//! and a plan costs more to make than to find; one over several nodes costs microseconds.
//!
//! A plan depends on nothing but the operation, its sizes and the communicator, so that it may be performed any number of times.

use oxmpi_coll::operation::Operation;
use oxmpi_coll::plan::Plan;
use std::sync::{Arc, Mutex, PoisonError};

/// So many plans are kept.
const PLANS: usize = 8;
/// Longer plans are made again, so that a communicator keeps some tens of KiB at most.
const MOST_STEPS: usize = 256;

#[derive(Default, Debug)]
pub struct PlanCache(Mutex<Kept>);

#[derive(Default, Debug)]
struct Kept {
    plans: Vec<(Operation<'static>, u64, Arc<Plan>)>,
    /// Which plan the next one replaces.
    oldest: usize,
}

impl PlanCache {
    /// The plan of an operation, whose units have so many bytes. `make` makes it where it is not kept.
    pub fn plan(&self, operation: &Operation, unit: u64, make: impl FnOnce() -> Plan) -> Arc<Plan> {
        let Some(operation) = operation.without_arrays() else { return Arc::new(make()) };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., plan)) = kept.plans.iter().find(|(of, bytes, _)| *bytes == unit && *of == operation) {
            return Arc::clone(plan);
        }
        let plan = Arc::new(make());
        if plan.steps.len() <= MOST_STEPS {
            let entry = (operation, unit, Arc::clone(&plan));
            if kept.plans.len() < PLANS {
                kept.plans.push(entry);
            } else {
                let oldest = kept.oldest;
                kept.plans[oldest] = entry;
                kept.oldest = (oldest + 1) % PLANS;
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_coll::plan::Blocks;
    use std::cell::Cell;

    #[test]
    fn a_plan_is_made_once_until_others_replace_it() {
        let (cache, made) = (PlanCache::default(), Cell::new(0));
        let make = || {
            made.set(made.get() + 1);
            Plan { steps: Vec::new(), temp: made.get() }
        };
        let bcast = |root| Operation::Bcast { root, units: 8 };
        assert_eq!(cache.plan(&bcast(0), 1, make).temp, 1);
        assert_eq!(cache.plan(&bcast(0), 1, make).temp, 1);
        assert_eq!(cache.plan(&bcast(0), 2, make).temp, 2, "other units");
        for root in 1..PLANS as u32 {
            assert_eq!(cache.plan(&bcast(root), 1, make).temp, u64::from(root) + 2);
        }
        assert_eq!(cache.plan(&bcast(0), 1, make).temp, PLANS as u64 + 2, "the oldest was replaced");
        assert_eq!(cache.plan(&bcast(0), 2, make).temp, PLANS as u64 + 3);
        assert_eq!(cache.plan(&bcast(2), 1, make).temp, 4, "this one is still there");
    }

    #[test]
    fn operations_with_arrays_and_long_plans_are_not_kept() {
        let cache = PlanCache::default();
        let counts = [1, 2];
        let recv = Blocks::Spread { counts: &counts, displs: &[0, 1] };
        let gatherv = Operation::Gatherv { root: 0, in_place: false, send: 1, recv };
        let made = Cell::new(0);
        let make = |steps| {
            made.set(made.get() + 1);
            Plan { steps: vec![oxmpi_coll::plan::Step::Fence; steps], temp: 0 }
        };
        cache.plan(&gatherv, 1, || make(0));
        cache.plan(&gatherv, 1, || make(0));
        cache.plan(&Operation::Barrier, 0, || make(MOST_STEPS + 1));
        cache.plan(&Operation::Barrier, 0, || make(MOST_STEPS + 1));
        assert_eq!(made.get(), 4);
    }
}
