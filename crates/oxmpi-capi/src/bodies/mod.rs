//! The bodies of the C functions, by subject. `cargo xtask codegen` finds a body by its name
//! (`MPI_Send` -> `send`), so adding a body here implements the function.
#![allow(clippy::missing_safety_doc, reason = "a body's contract is the standard's text on its function")]
#![allow(clippy::too_many_arguments, reason = "MPI's functions have many")]

pub mod attributes;
pub mod communicators;
pub mod datatype;
pub mod dist_graph;
pub mod environment;
pub mod errhandlers;
pub mod errors;
pub mod file;
pub mod file_access;
pub mod file_datarep;
pub mod groups;
pub mod handles;
pub mod hardware;
pub mod info;
pub mod intercomm;
pub mod memory;
pub mod names;
pub mod ops;
pub mod pack;
pub mod ports;
pub mod sessions;
pub mod spawn;
pub mod status;
pub mod tool;
pub mod tool_cvar;
pub mod tool_event;
pub mod tool_pvar;
pub mod topology;
pub mod type_contents;
pub mod type_removed;
pub mod win;
pub mod win_access;
pub mod win_accumulate;
pub mod win_sync;
pub mod world;
