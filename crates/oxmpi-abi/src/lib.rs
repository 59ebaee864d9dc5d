//! What the standard ABI fixes: constants, handle newtypes, the layout of a status, error classes;
//! and the one error type that travels through OxMPI. Nothing here touches memory that it does not
//! own, and nothing here depends on another crate.
#![forbid(unsafe_code)]

pub mod callback_table;
pub mod error;
pub mod functions;
pub mod handle;
pub mod status;
pub mod types;

mod generated {
    pub mod callbacks;
    pub mod constants;
    pub mod foreign_integers;
    pub mod functions;
}

pub use generated::{callbacks, constants, foreign_integers};

pub use error::{Error, Result};
pub use status::Status;
