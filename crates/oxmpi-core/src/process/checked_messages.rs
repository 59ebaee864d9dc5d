//! The types of messages, for `--check`.

use super::Process;
use crate::args::{SourceArg, TargetArg};
use crate::check;
use crate::check::message::Expected;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle;
use oxmpi_datatype::Signature;
use std::sync::Arc;

impl Process {
    /// What a message says about its type: nothing while programs are not checked.
    #[inline]
    pub fn signature_of(&self, arg: &SourceArg<'_>) -> Signature {
        if check::is_on() { self.checked_signature(arg.count, arg.datatype) } else { Signature::NONE }
    }

    #[cold]
    fn checked_signature(&self, count: i64, datatype: handle::Datatype) -> Signature {
        let Ok(datatype) = self.datatype(datatype) else { return Signature::NONE };
        Signature::new(datatype.classes().repeat(count.max(0) as u128))
    }

    /// The classes of so many elements of a type; 0 for what matches everything, and while programs are not checked.
    pub fn classes_of(&self, count: i64, datatype: handle::Datatype) -> u64 {
        if !check::is_on() {
            return 0;
        }
        let classes = self.datatype(datatype).ok().map(|found| found.classes().repeat(count.max(0) as u128));
        classes.and_then(|classes| classes.whole()).map_or(0, |hash| hash | 1)
    }

    /// What a receive expects: nothing while programs are neither checked nor recorded.
    #[inline]
    pub fn expected_by(&self, fun: Fun, comm: handle::Comm, arg: &TargetArg<'_>) -> Option<Expected> {
        if check::is_watched() { self.checked_expectation(fun, comm, arg.datatype) } else { None }
    }

    #[cold]
    fn checked_expectation(&self, fun: Fun, comm: handle::Comm, datatype: handle::Datatype) -> Option<Expected> {
        if !check::is_on() {
            return Some(Expected::recorded());
        }
        let datatype = Arc::clone(self.datatype(datatype).ok()?);
        let comm = self.comm(comm).ok()?.describe();
        Some(Expected::new(datatype, fun, comm))
    }
}
