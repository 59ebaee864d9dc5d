//! Datatypes. Constructors build a tree, [`Datatype::commit`] lowers it to a flat program of nested
//! strided blocks, and a [`Cursor`] runs that program over a [`Source`] or a [`Target`], from any
//! byte to any byte.
//!
//! This crate knows no handles except the predefined ones, no communicators and no files. It
//! accesses user memory only in `kernel.rs`, for a [`Cursor`] over a source or a target; creating
//! these is the promise that the memory is valid. Start with `datatype.rs`, then `lower.rs` and
//! `walk.rs`.

mod array;
mod buf;
mod class_hash;
mod class_walk;
mod construct;
mod contents;
mod datatype;
mod elements;
mod external;
mod facts;
mod kernel;
mod layout;
mod lower;
mod named;
mod owned;
mod padding;
mod program;
mod restate;
mod unnamed;
mod walk;

pub use buf::{Cursor, Region, Source, Target};
pub use class_hash::{Class, Classes, Signature};
pub use contents::{Combiner, Contents, Envelope};
pub use datatype::{Datatype, Wide, predefined, predefined_or_marker};
pub use elements::{Run, Runs};
pub use external::{pack_external, unpack_external, unpack_external_part};
pub use named::{Group, Index, LB, NAMED, NULL, Named, Scalar, UB, dense_size, match_size, named};
pub use owned::OwnedBytes;
pub use padding::{define_padding, watch_padding};
pub use program::Program;
pub use unnamed::{element_on_wire, number_on_wire};
