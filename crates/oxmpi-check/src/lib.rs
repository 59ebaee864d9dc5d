//! What `--check` says about a program: the words of the option, the names of findings with their explanations, how a
//! rank writes a finding for `mpirun`, and how the findings of all ranks become one report. Nothing here looks at a
//! program: `oxmpi-core/src/check/` does.

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod finding;
mod html;
mod json;
pub mod mode;
pub mod report;
pub mod suppress;

pub use finding::Finding;
pub use mode::Mode;
pub use report::Report;
