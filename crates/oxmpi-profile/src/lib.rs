//! What a program does with MPI: its calls by place, its messages, its time (`mpirun --profile`, `--trace`).
//!
//! ```text
//! hooks.rs     what the library tells the recorder (oxmpi-recorder) in its process
//!    |
//! record.rs    what a rank writes at its end, as mpirun reads it
//!    |
//! profile.rs   the records of all ranks together
//!    |
//! text.rs json.rs html.rs      as ten lines, for machines, as a page
//! trace.rs     the events of all ranks as one timeline; clocks.rs: the clocks of hosts against each other
//! ```

#![forbid(unsafe_code)]

mod clocks;
pub mod hooks;
mod html;
mod json;
pub mod profile;
pub mod record;
mod text;
pub mod trace;

pub use profile::Profile;
