//! The tool information interface, `MPI_T_*`: what a tool can read and change in the library.
//!
//! ```text
//! state.rs       handles of a tool, and its lock
//! cvars.rs       settings                 values are read when they are asked for; nothing that
//! pvars.rs       counters and levels      a message or a collective passes counts for a tool
//! events.rs      calls of the tool's functions
//! enums.rs       names of values
//! category.rs  categories.rs      what belongs together
//! ```
//!
//! It exists beside the world and the sessions, before and after them, so it has a state and a lock
//! of its own. A thread that holds that lock may take the library's
//! ([`Guard`](oxmpi_core::call::Guard)), never the other way round; no function of a tool runs
//! while it is held. Errors are codes without a text, and no error handler gets them.

mod answer;
pub mod categories;
mod category;
pub mod cvars;
pub mod enums;
pub mod events;
pub mod pvars;
mod state;

pub use answer::{Answer, Code, INVALID, INVALID_HANDLE, INVALID_INDEX, INVALID_NAME, Value, at};
pub use state::{State, Subject, Tool};
