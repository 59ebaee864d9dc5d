//! The types of a one-sided operation: those of the origin's memory against those of the target's.

use super::Process;
use crate::args::At;
use crate::check;
use crate::record;
use oxmpi_abi::constants::MPI_NO_OP;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Datatype, Op};
use oxmpi_check::catalogue::TYPE_RMA;
use oxmpi_datatype::{Classes, Signature};

impl Process {
    /// A call accesses a window.
    #[inline(always)]
    pub fn check_access(&self, fun: Fun, origin: (i64, Datatype), target: At) {
        if check::is_watched() {
            self.compare_access(fun, origin, target);
        }
    }

    /// The same with an operation that may have no operand.
    #[inline(always)]
    pub fn check_operand(&self, fun: Fun, origin: (i64, Datatype), target: At, op: Op) {
        if check::is_watched() && op != MPI_NO_OP {
            self.compare_access(fun, origin, target);
        }
    }

    /// Tells it when the elements of the two sides are of different kinds. Different lengths are errors of the call. A recorder
    /// hears how many bytes there are.
    #[cold]
    fn compare_access(&self, fun: Fun, (count, datatype): (i64, Datatype), target: At) {
        let classes = |count: i64, datatype: Datatype| -> Option<(Classes, i128)> {
            let (found, count) = (self.datatype(datatype).ok()?, u128::try_from(count).ok()?);
            Some((found.classes().repeat(count), found.size().checked_mul(count as i128)?))
        };
        let (Some((own, bytes)), Some((theirs, others))) =
            (classes(count, datatype), classes(target.count, target.datatype))
        else {
            return;
        };
        record::accessed(bytes.max(others).try_into().unwrap_or(0));
        if !check::is_on() {
            return;
        }
        let (Some(one), Some(two)) = (own.whole(), theirs.whole()) else { return };
        if bytes == others && one != two {
            let describe = |classes: Classes| Signature::new(classes).describe();
            let text = format!(
                "{} of {bytes} bytes: the memory of the origin is {}, and that of the target is {}",
                fun.name(),
                describe(own),
                describe(theirs)
            );
            check::tell(self.engine.node(), &TYPE_RMA, text);
        }
    }
}
