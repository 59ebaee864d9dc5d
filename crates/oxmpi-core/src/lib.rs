//! What MPI's objects are and how messages find each other, above any transport and below the C interface.
//!
//! ```text
//! process.rs   every object that a handle names       comm.rs  request.rs  buffer.rs  errors.rs  errhandler.rs
//!    |                                                 info.rs  attributes.rs
//! engine/      sends, receives, progress
//!    |
//! matching/    posted receives and unexpected messages
//! ```
//!
//! Nothing here calls the user's code or an `MPI_*` entry point.
#![deny(unsafe_code)]

pub mod buffer;
pub mod comm;
pub mod engine;
pub mod process;
pub mod request;

pub mod attributes;
pub mod errhandler;
pub mod errors;
pub mod info;
pub mod matching;
