//! The lowest layer: the shared segment of a node, the rings in it, sleeping and waking, slot
//! tables behind handles, and single-copy access to a peer's memory.
//!
//! Most of the lock-free and unsafe code below the C shell is here. The crate knows nothing of
//! MPI's objects and must never interpret a message: cells carry bytes for the transport above.
//! Start with `segment.rs`, `ring.rs` and `wait.rs`.

pub mod address;
pub mod arena;
pub mod board;
pub mod bystanders;
pub mod callers;
pub mod cma;
pub mod copy;
pub mod cpus;
pub mod death_log;
pub mod descriptors;
pub mod dial;
pub mod filesystem;
pub mod finding_log;
pub mod foreign_senders;
pub mod hold;
pub mod huge;
pub mod ids;
pub mod lifeline;
pub mod limits;
pub mod load;
pub mod lock;
pub mod message_queues;
pub mod offer_cell;
pub mod orphan;
pub mod own_slot;
pub mod pid;
pub mod prefetch;
pub mod real_symbol;
pub mod rest_record;
pub mod ring;
pub mod segment;
pub mod seq_record;
pub mod signals;
pub mod slots;
pub mod socket;
pub mod steal_table;
pub mod stripe;
pub mod sync;
pub mod terminal;
pub mod thread_checker;
pub mod thread_number;
pub mod time_slice;
pub mod trust;
pub mod valgrind;
pub mod votes;
pub mod wait;
pub mod wait_record;
pub mod wake_pipe;
pub mod watchpoint;
pub mod work_request;
