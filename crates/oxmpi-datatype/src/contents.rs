//! Which call made a type, and with which arguments: what `MPI_Type_get_envelope` and `MPI_Type_get_contents` answer.

use std::sync::Arc;

use crate::datatype::Datatype;
use crate::named::Named;

/// The constructor, with those of its arguments that the shape does not hold.
pub(crate) enum Origin {
    Named,
    Dup,
    Contiguous,
    Vector { step: i64 },
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Resized,
    Subarray(Box<ArrayArgs>),
    Darray(Box<ArrayArgs>),
    F90Real(i32, i32),
    F90Complex(i32, i32),
    F90Integer(i32),
    ValueIndex(&'static Named, &'static Named),
}

pub(crate) struct ArrayArgs {
    pub old: Option<Arc<Datatype>>,
}
