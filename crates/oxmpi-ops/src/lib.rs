//! The predefined reduction operations: which types each allows, and the loops that compute them.
//!
//! ```text
//! lib.rs        operations, the standard's table of allowed types
//!    |
//! reduction.rs  an operation over elements of any datatype
//!    |
//! select.rs     from operation and element to a kernel
//!    |
//! binary.rs  logical.rs  pair.rs  copy.rs   the loops
//!    |
//! number.rs  half.rs  bfloat.rs  wide.rs    arithmetic of one element
//! ```
//!
//! This crate knows no communicators and no handles of the user, takes no locks and does not
//! allocate during a reduction. A kernel reads and writes exactly the elements that it is given,
//! never the gaps inside and after pairs.

mod bfloat;
mod binary;
mod copy;
mod half;
mod logical;
mod number;
mod pair;
mod reduction;
mod select;
mod wide;

#[cfg(test)]
mod tests;

use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Group, NAMED, NULL, Named, dense_size};
use std::sync::OnceLock;

pub use logical::set_fortran_false;
pub use reduction::{Operands, Reduction};

/// A predefined operation. All are commutative and associative except the last two, which only
/// one-sided communication has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    Minloc,
    Maxloc,
    /// The result is the right operand.
    Replace,
    /// The result is the left operand.
    NoOp,
}

/// `out[i] = left[i] op right[i]` over `count` elements; their distance is the extent of the type.
///
/// # Safety
/// `left` and `right` are valid to read and `out` to write for `count` elements, at any alignment.
/// `out` is exactly `left`, exactly `right`, or overlaps neither.
pub type Kernel = unsafe fn(left: *const u8, right: *const u8, out: *mut u8, count: usize);

/// The operation of a constant of the ABI.
#[inline]
pub fn predefined(handle: usize) -> Option<Op> {
    Some(match handle::Op(handle) {
        MPI_MAX => Op::Max,
        MPI_MIN => Op::Min,
        MPI_SUM => Op::Sum,
        MPI_PROD => Op::Prod,
        MPI_LAND => Op::Land,
        MPI_BAND => Op::Band,
        MPI_LOR => Op::Lor,
        MPI_BOR => Op::Bor,
        MPI_LXOR => Op::Lxor,
        MPI_BXOR => Op::Bxor,
        MPI_MINLOC => Op::Minloc,
        MPI_MAXLOC => Op::Maxloc,
        MPI_REPLACE => Op::Replace,
        MPI_NO_OP => Op::NoOp,
        _ => return None,
    })
}

/// The loop for an operation on elements of a predefined type; `MPI_ERR_OP` when the standard does
/// not allow the pair.
pub fn kernel(op: Op, named: &Named) -> Result<Kernel> {
    match find(op, named) {
        Some(kernel) => Ok(kernel),
        None => {
            let name = if named.name.is_empty() { "a pair of a value and an index" } else { named.name };
            let hint = match named.group {
                Group::Character => {
                    " (MPI_CHAR, MPI_SIGNED_CHAR and MPI_UNSIGNED_CHAR are integers, other characters are not)"
                }
                _ => "",
            };
            bail!(MPI_ERR_OP, "{} is not defined for {name}; it is for {}{hint}", op.name(), op.meant_for())
        }
    }
}

fn find(op: Op, named: &Named) -> Option<Kernel> {
    if op.allows(kind(named)) { select::kernel(op, named) } else { None }
}

/// The kind of a type in the table of operations. C's `char` is an integer in reductions: the standard
/// says that it is none, but MPICH, Intel MPI and Open MPI all reduce it, and programs rely on that.
fn kind(named: &Named) -> Group {
    if usize::from(named.handle) == MPI_CHAR.0 { Group::CInteger } else { named.group }
}

/// An operation on a predefined type whose elements lie side by side.
#[derive(Clone, Copy, Debug)]
pub struct Dense {
    pub op: Op,
    pub kernel: Kernel,
    /// Bytes of an element.
    pub size: usize,
}

/// From the handles of an operation and of a type, for the fastest calls: `None` unless both are
/// predefined, match, and the type has no gaps. It takes a few loads from tables.
#[inline]
pub fn dense(op: usize, datatype: usize) -> Option<Dense> {
    const OPS: usize = 32;
    // Of each operation that was used, the kernels by type: the first reduction of a program does not pay for all.
    static KERNELS: [OnceLock<Box<[Option<Kernel>; 256]>>; OPS] = [const { OnceLock::new() }; OPS];
    let (size, found) = (dense_size(datatype)?, predefined(op)?);
    let kernels = KERNELS[op - MPI_OP_NULL.0].get_or_init(|| dense_kernels(found));
    let kernel = kernels[datatype - NULL]?;
    Some(Dense { op: found, kernel, size })
}

#[cold]
fn dense_kernels(op: Op) -> Box<[Option<Kernel>; 256]> {
    let mut kernels = Box::new([None; 256]);
    for named in NAMED.iter().filter(|named| dense_size(named.handle.into()).is_some()) {
        kernels[named.handle as usize - NULL] = find(op, named);
    }
    kernels
}

impl Op {
    pub fn name(self) -> &'static str {
        match self {
            Op::Max => "MPI_MAX",
            Op::Min => "MPI_MIN",
            Op::Sum => "MPI_SUM",
            Op::Prod => "MPI_PROD",
            Op::Land => "MPI_LAND",
            Op::Band => "MPI_BAND",
            Op::Lor => "MPI_LOR",
            Op::Bor => "MPI_BOR",
            Op::Lxor => "MPI_LXOR",
            Op::Bxor => "MPI_BXOR",
            Op::Minloc => "MPI_MINLOC",
            Op::Maxloc => "MPI_MAXLOC",
            Op::Replace => "MPI_REPLACE",
            Op::NoOp => "MPI_NO_OP",
        }
    }

    /// The standard's table, and logical operations on `MPI_AINT`, `MPI_OFFSET` and `MPI_COUNT`, which all
    /// others allow.
    fn allows(self, group: Group) -> bool {
        use Group::*;
        match self {
            Op::Max | Op::Min => matches!(group, CInteger | FortranInteger | Floating | MultiLanguage),
            Op::Sum | Op::Prod => matches!(group, CInteger | FortranInteger | Floating | Complex | MultiLanguage),
            Op::Land | Op::Lor | Op::Lxor => matches!(group, CInteger | Logical | MultiLanguage),
            Op::Band | Op::Bor | Op::Bxor => matches!(group, CInteger | FortranInteger | Byte | MultiLanguage),
            Op::Minloc | Op::Maxloc => matches!(group, Pair),
            Op::Replace | Op::NoOp => true,
        }
    }

    fn meant_for(self) -> &'static str {
        match self {
            Op::Max | Op::Min => "integers and real numbers",
            Op::Sum | Op::Prod => "integers, real and complex numbers",
            Op::Land | Op::Lor | Op::Lxor => "C integers and logicals",
            Op::Band | Op::Bor | Op::Bxor => "integers and MPI_BYTE",
            Op::Minloc | Op::Maxloc => "pairs such as MPI_DOUBLE_INT",
            Op::Replace | Op::NoOp => "every predefined type",
        }
    }
}
