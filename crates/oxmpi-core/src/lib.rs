//! MPI's objects, and how messages are matched: above all transports and below the C interface.
//!
//! ```text
//! library.rs   one instance of the library            call.rs  a call of it
//!    |
//! wait/        calls wait here and nowhere else        call.rs  a call; how a thread gets the state for itself
//!    |
//! process.rs   every object that a handle names       comm.rs  ranks.rs  group.rs  request.rs  buffer.rs  window.rs  file.rs
//!    |                                                 errors.rs  errhandler.rs  info.rs  attributes.rs  operation.rs
//! collective.rs  plans of oxmpi-coll carried out      partitioned.rs  messages that are marked ready part by part
//!    |
//! contexts.rs  how processes agree on a new communicator, in the words of agreement.rs
//! connections.rs  other jobs: ports, and when nothing names them any more      names.rs  names that are published
//!    |
//! failures.rs  going on after deaths and revocations      votes.rs  how processes agree although some of them die
//!    |
//! engine/      sends, receives, progress
//!    |
//! matching/    posted receives and unexpected messages
//! ```
//!
//! Nothing here calls an `MPI_*` entry point, and the user's code through [`call::Guard::call_user`] alone.
#![deny(unsafe_code)]

pub mod agent_socket;
pub mod agents;
pub mod agreement;
pub mod args;
pub mod board;
pub mod buffer;
pub mod call;
pub mod call_history;
pub mod call_tag;
pub mod callback;
pub mod check;
mod checked;
pub mod checks;
pub mod collective;
pub mod comm;
pub mod connections;
pub mod contexts;
mod debugger;
mod dialer;
pub mod engine;
pub mod explain;
pub mod failures;
pub mod file;
pub mod file_tasks;
mod foreign;
pub mod group;
mod helper;
pub mod jobs;
pub mod library;
pub mod liveness;
pub mod operation;
pub mod partitioned;
mod pending_comm;
pub mod plan_cache;
pub mod process;
pub mod ranks;
pub mod record;
pub mod request;
mod resting;
pub mod settings;
pub mod topology;
pub mod votes;
pub mod wait;
pub mod window;

pub mod attributes;
pub mod errhandler;
pub mod errors;
pub mod info;
mod infos;
pub mod keyvals;
pub mod matching;
pub mod memory;
