//! What MPI's objects are and how messages find each other, above any transport and below the C interface.
//!
//! ```text
//! process.rs   every object that a handle names       comm.rs  group.rs  request.rs  buffer.rs  window.rs  file.rs
//!    |                                                 errors.rs  errhandler.rs  info.rs  attributes.rs  operation.rs
//! collective.rs  plans of oxmpi-coll carried out      partitioned.rs  messages that are marked ready part by part
//!    |
//! contexts.rs  how processes agree on a new communicator, in the words of talk.rs
//! connections.rs  other jobs: ports, and when nothing names them any more      names.rs  names that are published
//!    |
//! engine/      sends, receives, progress
//!    |
//! matching/    posted receives and unexpected messages
//! ```
//!
//! Nothing here calls the user's code or an `MPI_*` entry point.
#![deny(unsafe_code)]

pub mod buffer;
pub mod collective;
pub mod comm;
pub mod connections;
pub mod contexts;
pub mod engine;
pub mod file;
pub mod group;
pub mod names;
pub mod node;
pub mod operation;
pub mod partitioned;
pub mod process;
pub mod request;
pub mod talk;
pub mod topology;
pub mod window;

pub mod attributes;
pub mod errhandler;
pub mod errors;
pub mod info;
pub mod making;
pub mod matching;
