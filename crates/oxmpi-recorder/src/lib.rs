//! `liboxmpi_recorder.so`, which `mpirun --profile` and `--trace` let the loader put in front of all libraries of a rank. It has
//! a stub for each function of MPI, which notes who calls and when, and goes on to the function itself. Programs that run
//! without these options never load it.
//!
//! ```text
//! stubs.rs     the functions of MPI: from the caller to `enter`, the real function, `leave`
//!    |
//! calls.rs     a thread's calls and their places in the program; what the library tells of them in between
//!    |
//! messages.rs  who gets how much, and the numbers of messages for the arrows of a timeline
//! real.rs      where the real functions are; clock.rs: ticks and time; finish.rs: what is written at the end
//! ```
//!
//! All memory that grows is bounded. Nothing here calls MPI.

#[cfg(target_arch = "x86_64")]
mod calls;
#[cfg(target_arch = "x86_64")]
mod clock;
#[cfg(target_arch = "x86_64")]
mod finish;
#[cfg(target_arch = "x86_64")]
mod messages;
#[cfg(target_arch = "x86_64")]
mod real;
#[cfg(target_arch = "x86_64")]
mod stubs;
