//! What this process remembers of the record that says that it can do nothing before others act (`wait/rest.rs`).

use oxmpi_base::rest_record::Rest;

/// The record that is up.
pub(crate) struct Published {
    pub rest: Rest,
    /// The engine's activity and the other threads' at that time.
    pub activity: u64,
    pub threads: u64,
}
