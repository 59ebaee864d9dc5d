//! The tool information interface, `MPI_T_*`: what a tool may see of the library, and change in it.
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
//! It lives beside the world and the sessions, before and after them, so it has a state and a lock of its own. Whoever holds
//! that lock may take the library's ([`Guard`](oxmpi_core::guard::Guard)), never the other way round; no function of a tool runs
//! while it is held. The answers are codes without a text, and no error handler hears of them.

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
