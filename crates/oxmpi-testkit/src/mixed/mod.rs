//! Random programs of the whole interface: messages, collective operations in their three forms, communicators, windows
//! and files, over a simulated network with faults or over shared memory with pretended nodes.
//!
//! ```text
//! program.rs      what a program is: a list of steps; every list is a program that ends
//! resolve.rs      its serial run, as far as communicators go: who takes part in each step
//! collective.rs   the serial model of collective operations: what each rank gives and gets
//! window.rs       of windows           file.rs   of files
//! strip.rs        the memory of a message, with and without gaps
//! perform.rs      a rank runs a program and notes what it gets
//! perform_coll.rs  perform_window.rs  perform_file.rs   the calls themselves
//! check.rs        compares the notes with the model
//! strategy.rs     how programs are made, so that one that fails can be made smaller
//! ```
//!
//! *Why a program ends.* All ranks perform the steps in one order, each only the steps that concern
//! it. The wait for something that a step has started is at a later step or at the end, when all
//! ranks that it needs have started it, too.

pub mod check;
pub mod collective;
pub mod file;
pub mod perform;
mod perform_coll;
mod perform_file;
mod perform_window;
pub mod program;
pub mod resolve;
pub mod strategy;
pub mod strip;
pub mod window;
